package plugin

import (
	"testing"
	"time"
)

// BenchmarkLook is looking whether guards changed, where there are none: what each
// call pays that does not follow another one closely.
func BenchmarkLook(b *testing.B) {
	home, root := b.TempDir(), b.TempDir()
	s, err := Open(Options{User: Dirs(home)})
	if err != nil {
		b.Fatal(err)
	}
	roots := []string{root}
	b.ReportAllocs()
	for b.Loop() {
		for _, t := range s.projects {
			t.next = time.Time{}
		}
		s.user.next = time.Time{}
		s.Policy(roots)
	}
}

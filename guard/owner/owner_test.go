package owner

import (
	"strings"
	"testing"
)

// Whose a file is, is said by name, with how that user's are worked with.
func TestForeign(t *testing.T) {
	for uid, want := range map[int][]string{0: {"/x", "root", "sudo -u root"}, 1 << 29: {"/x", "user 536870912"}} {
		for _, w := range want {
			if err := Foreign("/x", uid); !strings.Contains(err.Error(), w) {
				t.Errorf("%v, want %s", err, w)
			}
		}
	}
}

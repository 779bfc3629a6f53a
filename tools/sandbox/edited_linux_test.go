package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEditedMeanwhile: what a person writes during a long run stays where the
// command could not have written it, and only there.
func TestEditedMeanwhile(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		for name, stays := range map[string]bool{".envrc": true, "linked/.envrc": false, "deep/.envrc": false} {
			path := filepath.Join(p.root, name)
			if name == "linked/.envrc" { // the same file has another name
				path = filepath.Join(p.root, ".npmrc")
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
			if name == "linked/.envrc" {
				if err := os.Link(path, filepath.Join(p.root, "other")); err != nil {
					t.Fatal(err)
				}
			}
			proc, _ := p.bash(t, p.base(), `until [ -e stop ]; do sleep 0.02; done`)
			if err := os.WriteFile(path, []byte("a person's"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.root, "stop"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			proc.Wait()
			proc.End(0)
			now, err := os.ReadFile(path)
			if err != nil || (string(now) == "a person's") != stays || (len(proc.Wait().Restored) == 0) != stays {
				t.Errorf("%s: %q, %v, %v", name, now, err, proc.Wait().Restored)
			}
			os.Remove(filepath.Join(p.root, "stop"))
		}
	})
}

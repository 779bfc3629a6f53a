package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedMeanwhile: a mount goes away with the file that it stood on. What
// comes in its place, or where there was none, is not the command's to write,
// although it then can, and although what came may stay.
func TestReplacedMeanwhile(t *testing.T) {
	both(t, func(t *testing.T) {
		p := settle(t, Bwrap)
		for name, replace := range map[string]func(path string) error{
			".envrc": func(path string) error { // with a person's approval
				pol := p.base()
				pol.Allowed, pol.Write = []string{path}, []string{p.root}
				if r := p.run(t, pol, `echo new > e; mv e .envrc`); r.Code != 0 || len(r.Restored) > 0 {
					t.Errorf("%+v", r)
				}
				return nil
			},
			".gitattributes": func(path string) error { // which may appear
				if r := p.run(t, p.base(), `echo '# new' > .gitattributes`); r.Code != 0 || len(r.Restored) > 0 {
					t.Errorf("%+v", r)
				}
				return nil
			},
			".npmrc": func(path string) error { // by a person; the number of the inode is given again
				if err := os.Remove(path); err != nil {
					return err
				}
				return os.WriteFile(path, []byte("before"), 0o644)
			},
		} {
			path := filepath.Join(p.root, name)
			if name != ".gitattributes" {
				if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			job, _ := p.bash(t, p.base(), `until [ -e go ]; do sleep 0.02; done; echo '* filter=evil' > `+name)
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.root, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			st := job.Wait()
			job.End(0)
			if now, err := os.ReadFile(path); err != nil || string(now) != string(kept) {
				t.Errorf("%s is %q, %v; restored %q", name, now, err, job.Wait().Restored)
			}
			if st.Code != 0 {
				t.Logf("%s: the job could not write it: %+v", name, st)
			}
			os.Remove(filepath.Join(p.root, "go"))
		}
	})
}

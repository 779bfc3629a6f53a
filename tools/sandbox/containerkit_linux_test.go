package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

const testImage = "localhost/handrail-test:1"

// harbour makes a user's machine with the Podman of socket.
func harbour(t testing.TB, socket string) *place {
	t.Helper()
	dir := t.TempDir()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil { // the command's user passes through
			t.Fatal(err)
		}
	}
	p := &place{root: filepath.Join(dir, "home/work"), outside: filepath.Join(dir, "home/other")}
	p.Settings = Settings{Tier: Podman, Roots: []string{p.root}, Home: filepath.Join(dir, "home"), Scratch: filepath.Join(dir, "scratch"), State: filepath.Join(dir, "home/.local/state"), Image: testImage, Engine: socket}
	for _, d := range []string{p.root, p.outside, p.Scratch, p.State} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		for _, d := range []string{p.root, p.Scratch} {
			if err := os.Chown(d, 4242, 4242); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if p.sb, err = Open(p.Settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.sb.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

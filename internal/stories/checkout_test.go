package stories

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"handrail/internal/testkit"
)

// What is committed works on its own: the first command of the README, in a
// fresh clone.
func TestCleanCheckout(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the whole program anew")
	}
	git := testkit.Require(t, "git", "apt-get install git")
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(repo, ".git")); err != nil {
		t.Skip("not a clone: nothing to clone from")
	}
	dir := filepath.Join(t.TempDir(), "handrail")
	env := append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	for _, command := range [][]string{
		{git, "clone", "-q", "--no-hardlinks", repo, dir},
		{"go", "run", ".", "demo", "--no"},
		{"go", "vet", "./..."},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = env
		if command[0] != git {
			cmd.Dir = dir
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", command, err, out)
		}
	}
}

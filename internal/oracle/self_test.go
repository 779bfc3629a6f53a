package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
)

// The law is not blind: what the facts of another command do not have, it
// sees.
func TestLawSeesWhatIsMissing(t *testing.T) {
	c := cells(t, 1)[0]
	for _, test := range []struct{ judged, runs, want string }{
		{"true", "echo x > x", "openat " + c.project + "/x"},
		{"true", "ls", "/ls"},
		{"ls", "rm a.txt", "unlinkat " + c.project + "/a.txt"},
		{"ls", "ls; cd docs; mkdir x", "mkdir " + c.project + "/docs/x"},
		{"mv a.txt x", "mv a.txt y", "y"},
		{"touch x", "touch src/x", "/src/x"},
		{"touch x", "touch srclink/x", "/src/x"},
		{"chmod +x a.txt", "chmod +x b.txt", "chmod"},
		{"ln -s a.txt x", "ln -s a.txt y", "symlink"},
		{"sed s/a/b/ a.txt", "sed -i s/a/b/ a.txt", "by /usr/bin/sed"},
		{"touch x", "touch /etc/x", "/etc/x"}, // forbidden, but tried
		{"git status", "git status; touch .git/../x", "/project/x"},
		{"env FOO=1 true", "env FOO=1 ls", "/ls"},
		{"ls", "xargs -a list.txt touch", "touch"},
	} {
		c.fresh()
		facts, verdict := c.read(test.judged)
		if verdict != guard.VerdictAllow {
			t.Fatalf("%s: %s", test.judged, verdict)
		}
		did := c.run(test.runs, true)
		if did.err != nil {
			t.Fatalf("%s: %v", test.runs, did.err)
		}
		broken, _ := law{facts, c}.check(did.events)
		var all string
		for _, f := range broken {
			all += f.what + ": " + f.text + "\n"
		}
		if !strings.Contains(all, test.want) {
			t.Errorf("judged %q, ran %q: want %q in\n%s", test.judged, test.runs, test.want, all)
		}
	}
}

// Nothing that runs here reaches anything outside.
func TestNothingLeavesTheSandbox(t *testing.T) {
	c := cells(t, 1)[0]
	c.fresh()
	outside := filepath.Join(filepath.Dir(c.base), "outside")
	script := `echo x > ` + outside + `; for f in /etc/oracle /usr/oracle /oracle ` + c.template + `/x "$HOME"/../x/y; do echo x > "$f" && echo "wrote $f"; done
		echo x > /tmp/oracle-was-here
		grep -E '^Cap(Eff|Prm|Bnd)' /proc/self/status; cut -d: -f1 /proc/net/dev; id -u; ls /proc | grep -c '^[0-9]'; ls -A /root /mnt`
	did := c.run(script, false)
	if did.err != nil {
		t.Fatal(did.err)
	}
	want := "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
	if !strings.Contains(did.out, want) || strings.Contains(did.out, "wrote") || strings.Contains(did.out, "eth") {
		t.Errorf("the sandbox lets too much through:\n%s", did.out)
	}
	for _, f := range []string{outside, "/etc/oracle", "/tmp/oracle-was-here"} {
		if _, err := os.Lstat(f); err == nil {
			t.Errorf("%s was made", f)
		}
	}
}

// Nor is the comparison with the sandbox: what no facts have is done outside and
// not there.
func TestSandboxShowsWhatIsMissing(t *testing.T) {
	k := containedCells(t, 1)[0]
	for _, test := range []struct{ hidden, want string }{
		{"true", ""},
		{"cat $$HOME/notes/today.txt", "exit code"},
		{"cat $$HOME/notes/today.txt 2>/dev/null || true", "prints"},
		{"rm -f $$HOME/notes/today.txt", "makes /home/notes/today.txt"},
	} {
		makefile := filepath.Join(k.template, "project", "Makefile")
		if err := os.WriteFile(makefile, []byte("all:\n\t@"+test.hidden+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(k.project, "Makefile"))
		found := k.examine(row{ID: "self", Command: "make"})
		if got := found[len(found)-1].text; (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %+v, want %q", test.hidden, found, test.want)
		}
	}
}

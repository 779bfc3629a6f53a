package tools

import (
	"strings"
	"testing"

	"handrail/internal/testkit"
)

// TestLimitInWords: a limit that a process reached is told, also where the call
// goes on after it and where the shell gives its status as its own.
func TestLimitInWords(t *testing.T) {
	testkit.Require(t, "python3", "apt-get install python3")
	b, _ := heldBench(t)
	b.Profile.Limits.FileSize = 1 << 20
	b.write(t, "w.py", "open('big', 'wb').write(b'x' * (3 << 20))\n")
	b.write(t, "log", "bash: line 1: 8 File size limit exceeded\n")
	for command, want := range map[string]string{
		"head -c 3M /dev/zero > big":                "file size",
		"head -c 3M /dev/zero > big; echo rc=$?":    "file size",
		"(head -c 3M /dev/zero > big)":              "file size",
		"python3 w.py":                              "file size",
		"python3 w.py 2>&1 | cat; true":             "file size",
		"head -c 1k /dev/zero > big; echo rc=$?":    "",
		"cat log":                                   "",
		"echo 'fork: retry: not available'; exit 1": "",
	} {
		res := b.bash(t, command, nil)
		if res.Sandbox == nil || res.Sandbox.Exceeded != want || strings.Contains(res.Text, "the limit on file size") != (want != "") {
			t.Errorf("%s: %s", command, res.Text)
		}
	}
}

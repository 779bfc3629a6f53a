package laws

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"handrail/guard"
)

// asked is a call with the decision that asks about it.
func (b *bench) asked(command string) (*guard.EvalContext, *guard.Decision) {
	input, _ := json.Marshal(map[string]string{"command": command}) // a string always can be
	c := &guard.EvalContext{ToolName: "safe_bash", Input: input, WorkingDir: b.root, Roots: []string{b.root}, Facts: b.judge.Reader.Read(command, b.root)}
	d := b.judge.Guard.Judge(c)
	if d.Verdict == guard.VerdictLLM { // what its fallback comes to
		d.Verdict = guard.VerdictAsk
	}
	return c, d
}

// widenings are ways to make more of a command that was allowed for always; X is
// the command.
var widenings = []string{
	"X more", "X; X", "X && X", "X; touch y", "touch y; X", "X | tee y", "echo y | X", "X < y", "X > y", "X 2>&1 >> y", "X <<< y", "X <<E\ny\nE", "X &", "! X", "A=1 X", "PATH=/tmp:$PATH X",
	"LD_PRELOAD=./y X", "export PATH=/tmp; X", "env X", "time X", "nohup X", "exec X", "command X", "bash -c 'X'", "eval X", "cd sub; X", "cd sub && X", "cd /tmp; X", "(cd sub; X)", "if true; then X; fi", "for i in 1 2; do X; done",
	"set -e; X", "umask 0; X", "trap 'X' EXIT", "source f; X", "f() { X; }; f", "hash -p /tmp/y git; X", "shopt -s expand_aliases; X", "./X", "sub/X", "/tmp/X", "X $(touch y)", "X $Y", "X *", "sudo X", "xargs X",
}

// What is allowed for always is that command, and nothing that is made of it.
func TestAlwaysIsNarrow(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"y", "f", "git", "frob", "sub/git", "sub/frob"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(b.root, "sub"), 0o755), os.WriteFile(filepath.Join(b.root, name), []byte("x\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"git push origin main", "frob x", "npm install left-pad", "curl https://x.example/a", "cd sub && frob x", "test -f y && git push origin main"} {
		c, d := b.asked(command)
		p, err := guard.PatternOf(c, d)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		if !p.Covers(b.asked(command)) {
			t.Errorf("%s does not cover itself", command)
		}
		parts := strings.Split(command, " && ")
		for _, part := range parts {
			if len(parts) > 1 && p.Covers(b.asked(part)) {
				t.Errorf("%s covers %s", command, part)
			}
		}
		for _, w := range widenings {
			if other := strings.ReplaceAll(w, "X", command); p.Covers(b.asked(other)) {
				t.Errorf("%s covers %q", command, other)
			}
		}
	}
}

// There is no rule for always that would let a bare interpreter or a wrapper
// through.
func TestNoRuleForStarters(t *testing.T) {
	b := newBench(t)
	if err := os.WriteFile(filepath.Join(b.root, "x"), []byte("x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"bash", "sh", "python3", "node", "bash x", "sh -c x", "python3 x", "python3 -c x", "node -e x", "perl -e x", "ruby x", "deno run x", "bun x", "php x", "lua x", "env x", "sudo ls", "doas ls", "su -c ls", "xargs rm", "find . -exec x {} +",
		"nohup x", "setsid x", "timeout 5 x", "watch x", "script -c x", "ssh h x", "docker run x", "podman exec x y", "kubectl exec x -- y", "npx x", "npm exec x", "yarn dlx x", "pnpm dlx x", "bunx x", "uvx x", "uv run x", "pipx run x", "poetry run x", "go run x",
		"make -f - x", "awk x", "sed 1e x", "vim -c x", "gdb -ex run x", "tmux new x", "screen x", "at now", "crontab x", "flock x y", "strace x", "parallel x", "eval x", ". x", "nsenter x", "unshare x", "chroot x y", "busybox sh", "handrail run x",
	} {
		if p, err := guard.PatternOf(b.asked(command)); err == nil {
			t.Errorf("%s: %s", command, p)
		}
	}
}

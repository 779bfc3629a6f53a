package tools

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"handrail/elicit"
	"handrail/guard"
	"handrail/tools/sandbox"
)

// On a server that is others' too no yes takes a call out of its sandbox or onto
// the host's network, whatever the policy says.
func TestNothingLeavesASharedServer(t *testing.T) {
	b, _ := heldBench(t)
	b.Shared = true
	b.Guard.Rules = []guard.Rule{{ID: "test/ask", Evaluate: func(p *guard.Pass) {
		for i := range p.Facts.Effects {
			p.Report(i, guard.VerdictAsk, "ask about everything", "")
		}
	}}}
	yes := says(elicit.Approved, elicit.AllowOnce)
	if res := b.bash(t, "echo works", yes); res.Stdout != "works\n" {
		t.Fatalf("%s", res.Text)
	}
	for _, args := range []map[string]any{
		{"command": "touch ran", "escalate": "why"},
		{"command": "sudo touch ran"},
		{"command": "systemctl stop x; touch ran"},
		{"command": "nc -l 8080; touch ran"},
	} {
		if res := b.call(t, Bash, args, yes); !res.IsError || res.ExitCode != nil || exists(b.root+"/ran") || !strings.Contains(res.Text, "several principals") {
			t.Errorf("%v: %s", args, res.Text)
		}
	}
	for e, want := range map[*sandbox.Enforcement]bool{
		{}: false, {Tier: sandbox.None, Writes: true, Reads: true, Network: true, Processes: true, Sockets: true, Protected: true}: false,
		{Tier: sandbox.Landlock, Writes: true, Reads: true, Network: true, Processes: true, Sockets: true, Protected: true}: false,
		{Tier: sandbox.Bwrap, Writes: true, Reads: true, Network: true, Processes: true, Protected: true}:                   false,
		{Tier: sandbox.Bwrap, Writes: true, Reads: true, Network: true, Processes: true, Sockets: true, Protected: true}:    true,
	} {
		if Apart(*e) != want {
			t.Errorf("%+v keeps principals apart: %v", *e, !want)
		}
	}
}

// On a server that is others' too, a path outside that a command names is not
// there for it.
func TestNamingGivesNothing(t *testing.T) {
	b, home := heldBench(t)
	outside := resolved(t.TempDir())
	if err := errors.Join(os.WriteFile(outside+"/others-q7x", []byte("theirs\n"), 0o644), os.WriteFile(home+"/own", []byte("mine\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	command := "ls " + outside + " /tmp; cat " + outside + "/others-q7x; cat " + home + "/own"
	if res := b.bash(t, command, nil); !strings.Contains(res.Stdout, "theirs") {
		t.Fatalf("the test proves nothing: %s", res.Text)
	}
	b.Shared = true
	res := b.bash(t, command, nil)
	if res.ExitCode == nil || strings.Contains(res.Stdout, "theirs") || strings.Contains(res.Stdout, "q7x") {
		t.Errorf("%s", res.Text)
	}
	if !strings.Contains(res.Stdout, "mine") {
		t.Errorf("the own home directory: %s", res.Text)
	}
}

// The bounds of a principal hold for all of its sessions together, and for no
// other principal.
func TestBoundsOfAPrincipal(t *testing.T) {
	var s outputs
	job := func(principal, session string) *output {
		c := Call{Principal: principal, Session: session}
		j := &job{call: c, id: fmt.Sprint(principal, session, len(s.held))}
		return j.output(&ending{})
	}
	for n := range maxJobs {
		s.add(job("alice", fmt.Sprint("s", n)))
	}
	of := func(principal, session string) error {
		return s.room((&Call{Principal: principal, Session: session}).owner())
	}
	if of("alice", "another") == nil {
		t.Error("another session gives a principal more jobs")
	}
	if err := of("bob", "s0"); err != nil {
		t.Error(err)
	}
	if err := of("", "s0"); err != nil {
		t.Error(err)
	}

	b := newBench(t)
	b.RateLimit = func(string, []string) int { return 2 }
	do := func(principal, session string) *Result {
		return b.Do(t.Context(), Call{Tool: Bash, Input: []byte(`{"command":"true"}`), Roots: []string{b.root}, Principal: principal, Session: session})
	}
	for n := range 3 {
		if res := do("alice", fmt.Sprint(n)); (res.Rule == "policy/rate") != (n == 2) {
			t.Errorf("call %d: %s", n, res.Text)
		} else if n == 2 && (!strings.Contains(res.Text, "try again in") || strings.Contains(res.Text, "not retry")) {
			t.Errorf("call %d is told two things: %s", n, res.Text)
		}
	}
	if res := do("bob", "0"); res.Rule == "policy/rate" {
		t.Errorf("bob: %s", res.Text)
	}
}

// Secrets are taken out of everything that a result and a question show.
func TestRedactedEverywhere(t *testing.T) {
	b, _ := heldBench(t)
	b.Redact = func(s string) string { return strings.ReplaceAll(s, "open-sesame", "[redacted]") }
	b.write(t, "open-sesame.txt", "open-sesame\n")
	results := []*Result{b.bash(t, "echo open-sesame; echo open-sesame >&2", nil), b.call(t, Read, map[string]any{"path": "open-sesame.txt"}, nil),
		b.bash(t, "rm -rf /open-sesame", nil), b.bash(t, "cat /none/open-sesame", nil), b.call(t, Read, map[string]any{"path": "open-sesame"}, nil)}
	for _, res := range results {
		if all := fmt.Sprintf("%+v", *res); strings.Contains(all, "sesame") {
			t.Error(all)
		}
	}
	if !strings.Contains(results[0].Stdout, "[redacted]") || !strings.Contains(results[1].Content, "[redacted]") {
		t.Errorf("%+v %+v", results[0], results[1])
	}
}

// Where the disk has no room, what would write is refused; looking and removing
// are not.
func TestQuota(t *testing.T) {
	b := newBench(t)
	full := errors.New("700 MiB of 600")
	b.Quota = func() error { return full }
	b.write(t, "old.txt", "x")
	for _, source := range []string{"echo x > new.txt", "cp old.txt new.txt", "make", "./unread", "cat old.txt | tee new.txt", "pip install x"} {
		if res := b.bash(t, source, nil); res.Rule != "limits/disk" || res.ExitCode != nil || exists(b.root+"/new.txt") {
			t.Errorf("%s: %s", source, res.Text)
		}
	}
	if res := b.call(t, Write, map[string]any{"path": "new.txt", "content": "x"}, nil); res.Rule != "limits/disk" || exists(b.root+"/new.txt") {
		t.Errorf("%s", res.Text)
	}
	for _, source := range []string{"ls -la", "cat old.txt", "rm old.txt"} {
		if res := b.bash(t, source, nil); res.Rule == "limits/disk" {
			t.Errorf("%s: %s", source, res.Text)
		}
	}
	full = nil
	if res := b.bash(t, "echo x > new.txt", nil); res.ExitCode == nil || !exists(b.root+"/new.txt") {
		t.Errorf("with room: %s", res.Text)
	}
}

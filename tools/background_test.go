package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// poll calls until it is true; the test fails after a while.
func poll(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come true", what)
		}
	}
}

// A watcher is started, read and ended by calls of its session.
func TestJob(t *testing.T) {
	b := newBench(t)
	res := b.call(t, Bash, map[string]any{"command": `echo ready; echo warn >&2; echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done; echo seen; sleep 1000`, "background": true}, nil)
	if res.IsError || !res.Running || res.OutputID != res.CallID || res.ExitCode != nil || res.Stdout != "ready\n" || res.Stderr != "warn\n" {
		t.Fatalf("started: %+v", res)
	}
	id := res.OutputID
	if got := b.events(t, id); !slices.Equal(got, []string{"decision allow"}) {
		t.Errorf("it is recorded as ended: %v", got)
	}
	if res = b.call(t, Bash, map[string]any{"output_id": id}, nil); res.Stdout+res.Stderr != "" || !res.Running {
		t.Errorf("nothing new: %+v", res)
	}
	b.write(t, "go", "")
	if res = b.call(t, Bash, map[string]any{"output_id": id, "wait_ms": 20000}, nil); res.Stdout != "seen\n" || !res.Running {
		t.Errorf("what is new: %+v", res)
	}
	if res = b.call(t, Bash, map[string]any{"output_id": id, "stream": "stdout"}, nil); res.Stdout != "ready\nseen\n" || res.NextOffset != 11 {
		t.Errorf("from the beginning: %+v", res)
	}
	text, err := os.ReadFile(b.root + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if pid == 0 || !alive(pid) {
		t.Fatalf("process %q does not run", text)
	}
	if res = b.call(t, Bash, map[string]any{"output_id": id, "end": true}, nil); res.Running || res.ExitCode == nil || res.IsError || alive(pid) {
		t.Errorf("ended: %+v", res)
	}
	if got := b.events(t, id); !slices.Equal(got, []string{"decision allow", "outcome"}) {
		t.Errorf("records: %v", got)
	}
	if res = b.call(t, Bash, map[string]any{"output_id": id, "end": true}, nil); res.Running || res.IsError {
		t.Errorf("ended twice: %+v", res)
	}
}

// What a command leaves running is told, one in the singular.
func TestLeftRunning(t *testing.T) {
	b, _ := heldBench(t)
	for command, want := range map[string]string{
		"sleep 1000 >/dev/null 2>&1 & exit 0":                              "1 background process was",
		"sleep 1000 >/dev/null 2>&1 & sleep 1000 >/dev/null 2>&1 & exit 0": "2 background processes were",
	} {
		if res := b.bash(t, command, nil); strings.Contains(res.Text, "background process") != (want != "") || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", command, res.Text)
		}
	}
}

// What fails at once is said at once.
func TestJobThatFails(t *testing.T) {
	b := newBench(t)
	res := b.call(t, Bash, map[string]any{"command": "echo no such port >&2; exit 3", "background": true}, nil)
	if res.Running || res.ExitCode == nil || *res.ExitCode != 3 || res.Stderr != "no such port\n" || !strings.Contains(res.Text, "exit code 3") {
		t.Errorf("%+v", res)
	}
	res = b.call(t, Bash, map[string]any{"command": "sleep 1000 & setsid sleep 1000 & exit 0", "background": true}, nil)
	if res.Running || *res.ExitCode != 0 || !strings.Contains(res.Text, "2 background processes") {
		t.Errorf("what it left behind: %+v", res)
	}
	res = b.call(t, Bash, map[string]any{"command": "echo a; sleep 1000", "background": true, "timeout_ms": 100}, nil)
	poll(t, "the end of its time", func() bool {
		res = b.call(t, Bash, map[string]any{"output_id": res.OutputID, "wait_ms": 1000}, nil)
		return !res.Running
	})
	if !res.TimedOut {
		t.Errorf("its time: %+v", res)
	}
}

// Jobs end with their session and with nothing else; nobody else sees them.
func TestJobsAndSessions(t *testing.T) {
	b := newBench(t)
	call := func(ctx context.Context, session, principal, args string) *Result {
		return b.Do(ctx, Call{Tool: Bash, Input: []byte(args), Roots: []string{b.root}, Session: session, Principal: principal})
	}
	ctx, cancel := context.WithCancel(t.Context())
	const start = `{"command":"echo $$; sleep 1000","background":true}`
	pids := map[string]int{}
	ids := map[string]string{}
	for _, s := range []string{"a", "b"} {
		res := call(ctx, s, "p", start)
		pids[s], _ = strconv.Atoi(strings.TrimSpace(res.Stdout))
		ids[s] = res.OutputID
		if pids[s] == 0 || !res.Running {
			t.Fatalf("%+v", res)
		}
	}
	cancel() // the call is over, whatever becomes of its context
	for _, c := range []struct{ session, principal string }{{"b", "p"}, {"a", "q"}, {"", ""}} {
		for _, args := range []string{`{"output_id":%q}`, `{"output_id":%q,"end":true}`, `{"output_id":%q,"stream":"stdout"}`} {
			if res := call(t.Context(), c.session, c.principal, fmt.Sprintf(args, ids["a"])); !res.IsError || !strings.Contains(res.Text, "no output of that id") {
				t.Errorf("%v: %+v", c, res)
			}
		}
	}
	b.EndSession("a")
	if alive(pids["a"]) || !alive(pids["b"]) {
		t.Errorf("alive: %v, %v", alive(pids["a"]), alive(pids["b"]))
	}
	if got := b.events(t, ids["a"]); !slices.Contains(got, "outcome") {
		t.Errorf("records: %v", got)
	}
	if err := b.Close(); err != nil || alive(pids["b"]) {
		t.Errorf("after the end: %v, %v", err, alive(pids["b"]))
	}
}

func TestJobsAreBounded(t *testing.T) {
	b := newBench(t)
	defer b.EndSession("s")
	args := map[string]any{"command": "sleep 1000", "background": true, "timeout_ms": 3600000}
	done := make(chan *Result, maxJobs)
	for range maxJobs {
		go func() { done <- b.call(t, Bash, args, nil) }()
	}
	var one *Result
	for range maxJobs {
		if one = <-done; !one.Running {
			t.Fatalf("%+v", one)
		}
	}
	if res := b.call(t, Bash, args, nil); !res.IsError || !strings.Contains(res.Text, "end one first") || !strings.Contains(res.Text, one.OutputID) {
		t.Errorf("one too many: %+v", res)
	}
	b.call(t, Bash, map[string]any{"output_id": one.OutputID, "end": true}, nil)
	if res := b.call(t, Bash, args, nil); !res.Running {
		t.Errorf("after one ended: %+v", res)
	}
}

// An output that was cut can be read, page by page, as it was.
func TestPages(t *testing.T) {
	b := newBench(t)
	var want strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&want, "línea %d\n", i)
	}
	res := b.bash(t, `for ((i = 0; i < 30000; i++)); do printf '\033[1mlínea %d\n' $i; done; echo short >&2`, nil)
	if !res.Truncated || res.OutputID != res.CallID || !strings.Contains(res.Text, "output_id") {
		t.Fatalf("%+v", res)
	}
	var got strings.Builder
	for offset, more := int64(0), true; more; {
		page := b.call(t, Bash, map[string]any{"output_id": res.OutputID, "stream": "stdout", "offset": offset}, nil)
		if page.IsError || page.NextOffset <= offset {
			t.Fatalf("at %d: %+v", offset, page)
		}
		got.WriteString(page.Stdout)
		offset, more = page.NextOffset, page.Truncated
	}
	if got.String() != want.String() {
		t.Errorf("%d bytes, want %d", got.Len(), want.Len())
	}
	if page := b.call(t, Bash, map[string]any{"output_id": res.OutputID, "stream": "stderr"}, nil); page.Stderr != "short\n" || page.Stdout != "" {
		t.Errorf("the other stream: %+v", page)
	}
	if page := b.call(t, Bash, map[string]any{"output_id": res.OutputID, "stream": "stdout", "offset": 1 << 40}, nil); page.IsError || page.Stdout != "" || page.Truncated {
		t.Errorf("past the end: %+v", page)
	}
	b.write(t, "line", strings.Repeat("é", 40000)) // two bytes a character
	if res = b.bash(t, "cat line", nil); !res.Truncated {
		t.Fatalf("%+v", res)
	}
	page := b.call(t, Bash, map[string]any{"output_id": res.OutputID, "stream": "stdout", "limit": 1001}, nil)
	if page.NextOffset != 1000 || page.Stdout != strings.Repeat("é", 500) {
		t.Errorf("a character is cut: %d, %q", page.NextOffset, clip(page.Stdout, 40))
	}
	if res = b.bash(t, "echo short", nil); res.OutputID != "" {
		t.Errorf("nothing was cut: %+v", res)
	}
}

// A command that writes without end is ended, and what it wrote so far is there.
func TestFlood(t *testing.T) {
	b := newBench(t)
	res := b.bash(t, "yes", nil)
	if !res.IsError || !strings.Contains(res.Reason, "64 MiB") || res.TimedOut || res.ExitCode == nil {
		t.Fatalf("%+v", res)
	}
	page := b.call(t, Bash, map[string]any{"output_id": res.OutputID, "stream": "stdout", "offset": spoolMax - 4}, nil)
	if page.Stdout != "y\ny\n" || page.NextOffset != spoolMax {
		t.Errorf("%+v", page)
	}
}

func TestOutputsAreDropped(t *testing.T) {
	b := &Toolbox{}
	ids := []string{}
	for i := range maxOutputs + 3 {
		j := &job{box: b, id: fmt.Sprint("call-", i), began: time.Unix(int64(i), 0), call: Call{Session: "s"}}
		b.outputs.add(j.output(&ending{}))
		j.id = fmt.Sprint("other-", i)
		ids = append(ids, j.ended(&ending{}))
	}
	for i, id := range ids {
		if _, err := b.outputs.get(Call{Session: "s"}, id); (err != nil) != (i < 3) {
			t.Errorf("%s: %v", id, err)
		}
		if _, err := b.outputs.get(Call{Session: "s"}, fmt.Sprint("call-", i)); err != nil {
			t.Errorf("a job that runs was dropped: %v", err)
		}
	}
}

func TestOutputArguments(t *testing.T) {
	b := newBench(t)
	for input, want := range map[string]string{
		`{"output_id":"x","command":"rm y"}`:                         "nothing runs",
		`{"output_id":"x","background":true}`:                        "nothing runs",
		`{"output_id":"x","stream":"both"}`:                          "stdout or stderr",
		`{"output_id":"x","offset":3}`:                               `goes with "stream"`,
		`{"output_id":"x","stream":"stdout","end":true}`:             `without "stream"`,
		`{"output_id":"x","stream":"stdout","offset":-1}`:            "0 or more",
		`{"output_id":"x","limit":40000}`:                            "between 1 and",
		`{"output_id":"x","wait_ms":60000}`:                          "between 1 and",
		`{"command":"true","end":true}`:                              `go with "output_id"`,
		`{"command":"true","timeout_ms":1800001}`:                    "between 1 and 1800000",
		`{"output_id":"x"}`:                                          "no output of that id",
		`{"command":"true","background":true,"timeout_ms":86400001}`: "between",
	} {
		if res := b.call(t, Bash, input, nil); !res.IsError || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", input, res.Text)
		}
	}
}

// What the file tools write to protected files while a job runs stays, whichever
// session the job is of; what the job writes does not.
func TestWritesBesideAJob(t *testing.T) {
	b, _ := heldBench(t)
	b.write(t, ".vscode/settings.json", "{\"a\": 1}\n")
	b.write(t, ".env", "K=1\n")
	b.write(t, "deep/.envrc", "use a\n")
	job := b.hide(t, "until [ -e go ]; do sleep 0.02; done; echo evil > deep/.envrc; echo evil > .env; echo evil > .npmrc")
	command, _ := json.Marshal(map[string]any{"command": job, "background": true})
	ids := map[string]string{}
	for _, session := range []string{"s", "another"} {
		res := b.Do(t.Context(), Call{Tool: Bash, Input: command, Roots: []string{b.root}, Session: session})
		if ids[session] = res.OutputID; !res.Running {
			t.Fatalf("%+v", res)
		}
	}
	for path, edit := range map[string][2]string{".vscode/settings.json": {"1", "2"}, ".env": {"K=1", "K=2"}} {
		if res := b.call(t, Edit, map[string]any{"path": path, "old_string": edit[0], "new_string": edit[1]}, nil); res.IsError {
			t.Fatalf("%+v", res)
		}
	}
	if res := b.call(t, Write, map[string]any{"path": "deep/.envrc", "content": "use b\n"}, nil); res.IsError {
		t.Fatalf("%+v", res)
	}
	b.write(t, "go", "")
	told := map[string]bool{}
	for session, id := range ids {
		input, _ := json.Marshal(map[string]any{"output_id": id, "wait_ms": 20000})
		poll(t, "the end of the job", func() bool {
			res := b.Do(t.Context(), Call{Tool: Bash, Input: input, Roots: []string{b.root}, Session: session})
			if res.Sandbox != nil {
				for _, path := range res.Sandbox.Restored {
					told[strings.TrimPrefix(path, b.root+"/")] = true
				}
			}
			return !res.Running
		})
	}
	for path, want := range map[string]string{".vscode/settings.json": "{\"a\": 2}\n", ".env": "K=2\n", "deep/.envrc": "use b\n"} {
		if now, err := os.ReadFile(b.root + "/" + path); string(now) != want {
			t.Errorf("%s is %q, %v", path, now, err)
		}
	}
	if exists(b.root+"/.npmrc") || !told["deep/.envrc"] || !told[".npmrc"] || told[".vscode/settings.json"] {
		t.Errorf("put back: %v", told)
	}
}

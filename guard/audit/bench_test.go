package audit

import (
	"encoding/json"
	"testing"

	"handrail/guard"
	"handrail/guard/text"
)

const script = "cd cmd && go test -race ./... 2>&1 | grep -v '^ok' > /tmp/out.txt && rm -f old.log"

// pipeline is what a decision on a common pipeline records.
func pipeline() *Record {
	const root = "/home/user/src/project"
	r := record(script)
	r.CallID, r.Client, r.Session, r.Dir, r.Digest = "0123456789abcdef", "client", "s", root, sum(r.Input)
	r.Effects = nil
	for _, name := range []string{"go", "grep", "rm"} {
		r.Effects = append(r.Effects, guard.Effect{Kind: guard.Exec, Target: name, From: -1, Exact: true})
	}
	for _, name := range []string{"/cmd/out.txt", "/cmd/old.log", "/go.mod"} {
		r.Effects = append(r.Effects, guard.Effect{Kind: guard.Read, Target: root + name, Written: name, From: -1, Exact: true})
	}
	r.Findings = []guard.Finding{{Rule: "code/project", Verdict: guard.VerdictAllow, Reason: "go test runs code of the project, which it may"},
		{Rule: "fs/inside", Verdict: guard.VerdictAllow, Effect: 4, Reason: "rm removes " + root + "/cmd/old.log, which is inside the workspace"}}
	return r
}

// detail is about what the history keeps of it.
func detail(tb testing.TB) json.RawMessage {
	r := pipeline()
	f := &guard.Facts{Dir: r.Dir, Effects: r.Effects}
	for _, name := range []string{"go", "grep", "rm"} {
		f.Commands = append(f.Commands, guard.Command{Name: name, Args: []guard.Word{{Text: "-v", Exact: true}, {Text: "./...", Exact: true}}, From: -1, Line: 1, Column: 7})
	}
	raw, err := json.Marshal(map[string]any{"input": r.Input, "roots": []string{r.Dir}, "facts": f, "script": script, "findings": r.Findings})
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// known is what a server knows whose user has two secrets.
func known() func(string) string {
	return text.NewKnown("3f2a9b1c-77aa-4c1e-9f0e", "correct horse battery staple").Redact
}

// BenchmarkShorten and BenchmarkContent are what Append does before the lock.
func BenchmarkShorten(b *testing.B) {
	log, r := Log{Redact: known()}, pipeline()
	for b.Loop() {
		log.shorten(r)
	}
}

func BenchmarkContent(b *testing.B) {
	r := new(Log).shorten(pipeline())
	for b.Loop() {
		if _, err := content(&r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRedacted is what the history pays for one call.
func BenchmarkRedacted(b *testing.B) {
	redact, raw := RedactedBy(known()), detail(b)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, whole := redact(raw); !whole {
			b.Fatal("something was taken out")
		}
	}
}

package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/rules"
)

// policy is that of the place where testdata/effects.txt is judged.
var policy = rules.Policy{Home: "/home/u", Own: []string{"/home/u/.config/handrail"}, Hosts: rules.KnownHosts()}

func manager(t testing.TB, profile string, p rules.Policy) *guard.Manager {
	t.Helper()
	r, d, err := rules.Profile(profile, p)
	if err != nil {
		t.Fatal(err)
	}
	return &guard.Manager{Rules: r, Default: d}
}

// parseEffect reads "kind[/action] target [deep] [inexact] [by NAME ARG...]".
func parseEffect(t *testing.T, line string) *guard.EvalContext {
	t.Helper()
	effect, by, _ := strings.Cut(line, " by ")
	words := strings.Fields(effect)
	kind, action, _ := strings.Cut(words[0], "/")
	e := guard.Effect{Action: action, Target: words[1], From: -1, Command: -1, Exact: !slices.Contains(words[2:], "inexact"), Deep: slices.Contains(words[2:], "deep")}
	if err := e.Kind.UnmarshalText([]byte(kind)); err != nil || !e.Known() {
		t.Fatalf("%s: %v", line, err)
	}
	facts := &guard.Facts{Dir: "/home/u/proj"}
	if f := strings.Fields(by); len(f) > 0 {
		c := guard.Command{Name: f[0], From: -1}
		for _, a := range f[1:] {
			text, inexact := strings.CutSuffix(a, "…")
			c.Args = append(c.Args, guard.Word{Text: text, Exact: !inexact})
		}
		facts.Commands, e.Command = []guard.Command{c}, 0
	}
	facts.Effects = []guard.Effect{e}
	return &guard.EvalContext{ToolName: "safe_bash", WorkingDir: "/home/u/proj", Facts: facts, Roots: []string{"/home/u/proj"}, Scratch: "/tmp/scratch"}
}

// golden reads the lines "what  # want VERDICT rule" of a file of testdata.
func golden(t *testing.T, name string, do func(t *testing.T, line int, what, verdict, rule string)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, line := range strings.Split(string(b), "\n") {
		if line == "" || strings.HasPrefix(line, "# ") || line == "#" {
			continue
		}
		at := strings.LastIndex(line, "# want ")
		if at < 0 {
			t.Errorf("%s:%d: no want", name, i+1)
			continue
		}
		verdict, rule, _ := strings.Cut(strings.TrimSpace(line[at+len("# want "):]), " ")
		do(t, i+1, strings.TrimSpace(line[:at]), verdict, rule)
		n++
	}
	if n == 0 {
		t.Errorf("%s has no lines", name)
	}
}

func TestEffects(t *testing.T) {
	m := manager(t, "standard", policy)
	golden(t, "effects.txt", func(t *testing.T, line int, what, verdict, rule string) {
		d := m.Judge(parseEffect(t, what))
		if d.Verdict.String() != verdict || d.Rule != rule {
			t.Errorf("line %d: %s\n got %s %s: %s\nwant %s %s", line, what, d.Verdict, d.Rule, d.Reason, verdict, rule)
		}
		if d.Reason == "" || d.Verdict < guard.VerdictAllow && d.Instead == "" {
			t.Errorf("line %d: %s: reason %q, instead %q", line, what, d.Reason, d.Instead)
		}
	})
}

// A fixed place in the facts for every kind and action: no effect may be left
// without a word, and no profile may allow what hides.
func TestEveryEffectIsSpokenAbout(t *testing.T) {
	for _, profile := range rules.Profiles() {
		m := manager(t, profile, policy)
		for kind, actions := range guard.Actions {
			for _, action := range actions {
				for _, target := range []string{"", "x", "/", "/x", "/home/u/proj/x", "localhost"} {
					for _, exact := range []bool{false, true} {
						c := parseEffect(t, "read /x by y")
						c.Facts.Effects[0] = guard.Effect{Kind: kind, Action: action, Target: target, From: -1, Exact: exact, Deep: !exact}
						d := m.Judge(c)
						if d.Rule == "guard/silent" || d.Reason == "" || d.Verdict < guard.VerdictAllow && d.Instead == "" {
							t.Errorf("%s: %v/%s %q exact %t: %s %q, instead %q", profile, kind, action, target, exact, d.Rule, d.Reason, d.Instead)
						}
						if kind == guard.Unknown && d.Verdict > guard.VerdictAsk {
							t.Errorf("%s: unknown/%s is %s", profile, action, d.Verdict)
						}
					}
				}
			}
		}
	}
}

// What is less exact, deeper, or in a stricter profile is never judged more
// loosely.
func TestLooseningLaws(t *testing.T) {
	m, strict, yolo := manager(t, "standard", policy), manager(t, "strict", policy), manager(t, "yolo", policy)
	golden(t, "effects.txt", func(t *testing.T, line int, what, _, _ string) {
		c := parseEffect(t, what)
		v := m.Judge(c).Verdict
		if s := strict.Judge(c).Verdict; s > v {
			t.Errorf("line %d: %s: standard %s, strict %s", line, what, v, s)
		}
		if y := yolo.Judge(c).Verdict; y < v {
			t.Errorf("line %d: %s: standard %s, yolo %s", line, what, v, y)
		}
		if v == guard.VerdictDeny && yolo.Judge(c).Verdict != v {
			t.Errorf("line %d: %s: yolo allows what is denied", line, what)
		}
		c.Facts.Effects[0].Deep = true
		if deep := m.Judge(c).Verdict; deep > v {
			t.Errorf("line %d: %s: %s, deep %s", line, what, v, deep)
		}
	})
}

func TestRulesAreDocumented(t *testing.T) {
	for _, profile := range rules.Profiles() {
		r, d, err := rules.Profile(profile, policy)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range slices.Concat(r, d) {
			family, name, ok := strings.Cut(r.ID, "/")
			if !ok || family == "" || name == "" || seen[r.ID] {
				t.Errorf("%s: ID %q is no family/name or not unique", profile, r.ID)
			}
			seen[r.ID] = true
			if len(r.Doc) < 20 || !strings.HasSuffix(r.Doc, ".") {
				t.Errorf("%s: %s has no documentation: %q", profile, r.ID, r.Doc)
			}
		}
	}
	for _, id := range []string{"fs/system-tree", "disk/device", "proc/fork-bomb", "net/secret-sink", "self/protected"} {
		r, _ := rules.Standard(policy)
		if i := slices.IndexFunc(r, func(r guard.Rule) bool { return r.ID == id }); i < 0 || !r[i].Fixed {
			t.Errorf("%s is not fixed", id)
		}
	}
	if r, d, err := rules.Profile("Yolo", policy); err == nil || r != nil || d != nil {
		t.Error("a profile that is none has rules")
	}
}

func BenchmarkJudge(b *testing.B) {
	m := manager(b, "standard", policy)
	c := &guard.EvalContext{ToolName: "safe_bash", WorkingDir: "/home/u/proj", Roots: []string{"/home/u/proj"}, Facts: &guard.Facts{Dir: "/home/u/proj",
		Commands: []guard.Command{{Name: "sed", From: -1}},
		Effects: []guard.Effect{{Kind: guard.Exec, Target: "sed", From: -1, Exact: true}, {Kind: guard.Read, Target: "/home/u/proj/internal/store/store.go", From: -1, Exact: true},
			{Kind: guard.Write, Target: "/home/u/proj/internal/store/store.go", From: -1, Exact: true}}}}
	for b.Loop() {
		m.Judge(c)
	}
}

package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"handrail/guard"
)

// rule makes a rule that says v about effect, or about nothing where effect is
// -2.
func rule(id string, v guard.Verdict, effect int) guard.Rule {
	return guard.Rule{ID: id, Evaluate: func(p *guard.Pass) {
		if effect > -2 {
			p.Report(effect, v, "reason of "+id, "instead of "+id)
		}
	}}
}

// call is a call with n effects.
func call(n int) *guard.EvalContext {
	f := &guard.Facts{Dir: "/w"}
	for range n {
		f.Effects = append(f.Effects, guard.Effect{Kind: guard.Write, Target: "/w/f", From: -1, Command: -1, Exact: true})
	}
	return &guard.EvalContext{ToolName: "safe_bash", Input: json.RawMessage(`{"command":"x"}`), WorkingDir: "/w", Facts: f, Session: "s"}
}

const (
	deny  = guard.VerdictDeny
	ask   = guard.VerdictAsk
	llm   = guard.VerdictLLM
	allow = guard.VerdictAllow
)

func TestZeroValueRefuses(t *testing.T) {
	var m guard.Manager
	if d := m.Evaluate(context.Background(), call(1)); d.Verdict != deny || d.Rule == "" || d.Reason == "" {
		t.Errorf("zero Manager: %+v", d)
	}
	var d guard.Decision
	var v guard.Verdict
	if d.Verdict != deny || v.String() != "deny" || guard.Verdict(200).String() != "deny" {
		t.Error("a zero or broken verdict does not deny")
	}
	allows := []guard.Rule{rule("a/allow", allow, 0)}
	for name, m := range map[string]*guard.Manager{"no rules": {Default: allows}, "no default": {Rules: allows}} {
		if d := m.Evaluate(context.Background(), call(1)); d.Verdict != deny {
			t.Errorf("%s: %v", name, d.Verdict)
		}
	}
	m = guard.Manager{Rules: allows, Default: allows}
	for name, c := range map[string]*guard.EvalContext{"no facts": {}, "no effects": {Facts: &guard.Facts{}}} {
		if d := m.Evaluate(context.Background(), c); d.Verdict != deny {
			t.Errorf("%s: %v", name, d.Verdict)
		}
	}
}

func TestVerdictTexts(t *testing.T) {
	for _, v := range []guard.Verdict{deny, ask, llm, allow} {
		b, _ := v.MarshalText()
		var back guard.Verdict
		if err := back.UnmarshalText(b); err != nil || back != v {
			t.Errorf("%v: %v, %v", v, back, err)
		}
	}
	for _, bad := range []string{"", "Allow", "allow ", "yes", "deny\x00"} {
		v := allow
		if err := v.UnmarshalText([]byte(bad)); err == nil || v != deny {
			t.Errorf("%q became %v, %v", bad, v, err)
		}
	}
}

func TestJudge(t *testing.T) {
	silent := rule("s/silent", allow, -2)
	for _, c := range []struct {
		name           string
		effects        int
		rules, deflt   []guard.Rule
		want           guard.Verdict
		wantRule       string
		reasons, never string
	}{
		{"strictest of rules", 1, []guard.Rule{rule("a/allow", allow, 0), rule("b/deny", deny, 0), rule("c/ask", ask, 0)}, []guard.Rule{silent}, deny, "b/deny", "reason of b/deny", "c/ask"},
		{"strictest of effects", 2, []guard.Rule{rule("a/allow", allow, 0), rule("b/ask", ask, 1)}, []guard.Rule{silent}, ask, "b/ask", "", ""},
		{"the whole call counts", 1, []guard.Rule{rule("a/allow", allow, 0), rule("b/deny", deny, -1)}, []guard.Rule{silent}, deny, "b/deny", "", ""},
		{"an index that is none counts as the whole call", 1, []guard.Rule{rule("a/allow", allow, 0), rule("b/deny", deny, 99)}, []guard.Rule{silent}, deny, "b/deny", "", ""},
		{"default is silent where a rule spoke", 1, []guard.Rule{rule("a/allow", allow, 0)}, []guard.Rule{rule("d/deny", deny, 0)}, allow, "a/allow", "", "d/deny"},
		{"default speaks where no rule did", 2, []guard.Rule{rule("a/allow", allow, 0)}, []guard.Rule{rule("d/llm", llm, 1)}, llm, "d/llm", "", ""},
		{"a word about the whole call is none about an effect", 1, []guard.Rule{rule("a/allow", allow, -1)}, []guard.Rule{rule("d/ask", ask, 0)}, ask, "d/ask", "", ""},
		{"silence is not consent", 2, []guard.Rule{rule("a/allow", allow, 0)}, []guard.Rule{silent}, ask, "guard/silent", "", ""},
		{"every reason as strict as the verdict", 2, []guard.Rule{rule("a/ask", ask, 0), rule("b/ask", ask, 1)}, []guard.Rule{silent}, ask, "a/ask", "reason of a/ask; reason of b/ask", ""},
	} {
		m := &guard.Manager{Rules: c.rules, Default: c.deflt}
		d := m.Judge(call(c.effects))
		if d.Verdict != c.want || d.Rule != c.wantRule || c.reasons != "" && d.Reason != c.reasons || c.never != "" && strings.Contains(d.Reason, c.never) {
			t.Errorf("%s: %v %s %q", c.name, d.Verdict, d.Rule, d.Reason)
		}
		for i := 1; i < len(d.Findings); i++ {
			if d.Findings[i].Verdict < d.Findings[i-1].Verdict {
				t.Errorf("%s: findings are not strictest first: %v", c.name, d.Findings)
			}
		}
	}
}

func TestPanicInARuleRefuses(t *testing.T) {
	broken := guard.Rule{ID: "x/broken", Evaluate: func(p *guard.Pass) {
		p.Report(0, allow, "", "")
		var none []int
		_ = none[len(p.Roots)]
	}}
	nothing := guard.Rule{ID: "x/nil"}
	ok := rule("a/allow", allow, 0)
	for _, m := range []*guard.Manager{
		{Rules: []guard.Rule{ok, broken}, Default: []guard.Rule{ok}},
		{Rules: []guard.Rule{broken, ok}, Default: []guard.Rule{ok}},
		{Rules: []guard.Rule{nothing}, Default: []guard.Rule{ok}},
	} {
		d := m.Evaluate(context.Background(), call(1))
		if d.Verdict != deny || d.Rule != "guard/error" || !strings.Contains(d.Reason, "x/") {
			t.Errorf("%+v", d)
		}
	}
	// In the default policy too, where it is needed.
	m := &guard.Manager{Rules: []guard.Rule{rule("s/silent", allow, -2)}, Default: []guard.Rule{broken}}
	if d := m.Evaluate(context.Background(), call(1)); d.Verdict != deny {
		t.Errorf("default: %+v", d)
	}
}

// says is a validator that always answers the same.
type says struct {
	d   *guard.Decision
	err error
}

func (s says) Validate(context.Context, *guard.EvalContext, *guard.Decision) (*guard.Decision, error) {
	return s.d, s.err
}

func TestValidatorAndFallback(t *testing.T) {
	down := errors.New("down")
	yes := &guard.Decision{Verdict: allow}
	for _, c := range []struct {
		name      string
		rule      guard.Verdict
		validator guard.LLMValidator
		fallback  guard.Verdict
		want      guard.Verdict
	}{
		{"no validator, no fallback", llm, nil, deny, deny},
		{"no validator", llm, nil, ask, ask},
		{"a loose fallback is ask", llm, nil, allow, ask},
		{"fallback llm is ask", llm, nil, llm, ask},
		{"allows", llm, says{d: yes}, deny, allow},
		{"denies", llm, says{d: &guard.Decision{}}, ask, deny},
		{"error", llm, says{err: down}, ask, ask},
		{"error beside an answer", llm, says{d: yes, err: down}, ask, ask},
		{"nothing", llm, says{}, ask, ask},
		{"answers llm", llm, says{d: &guard.Decision{Verdict: llm}}, ask, ask},
		{"is not heard about ask", ask, says{d: yes}, allow, ask},
		{"is not heard about deny", deny, says{d: yes}, allow, deny},
		{"is not needed for allow", allow, says{err: down}, deny, allow},
	} {
		m := &guard.Manager{Rules: []guard.Rule{rule("a/x", c.rule, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Validator: c.validator, Fallback: c.fallback}
		x := call(1)
		d := m.Evaluate(context.Background(), x)
		if d.Verdict != c.want {
			t.Errorf("%s: %v, want %v", c.name, d.Verdict, c.want)
		}
		if d.Digest != m.Digest(x) {
			t.Errorf("%s: the decision lost its digest", c.name)
		}
	}
}

func asking() *guard.Manager {
	return &guard.Manager{Rules: []guard.Rule{rule("a/ask", ask, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Grants: guard.NewGrants(), Revision: "1"}
}

func TestGrants(t *testing.T) {
	ctx := context.Background()
	m, c := asking(), call(1)
	verdict := func(c *guard.EvalContext) guard.Verdict { return m.Evaluate(ctx, c).Verdict }

	if verdict(c) != ask {
		t.Fatal("allowed without a grant")
	}
	m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Once})
	if d := m.Evaluate(ctx, c); d.Verdict != allow || !d.Granted {
		t.Errorf("once: %+v", d)
	}
	if verdict(c) != ask {
		t.Error("a once grant answered twice")
	}

	m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Session})
	m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Once}) // narrows nothing
	for range 3 {
		if verdict(c) != allow {
			t.Error("a session grant did not hold")
		}
	}
	other := call(1)
	other.Session = "t"
	if verdict(other) != ask {
		t.Error("a grant of one session answered for another")
	}
	changed := call(1)
	changed.Input = json.RawMessage(`{"command":"y"}`)
	if verdict(changed) != ask {
		t.Error("a grant for one call answered for another")
	}
	m.Grants.EndSession("s")
	if verdict(c) != ask {
		t.Error("a session grant outlived its session")
	}

	m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Session, Expires: time.Now().Add(-time.Second)})
	if verdict(c) != ask {
		t.Error("an expired grant answered")
	}
	m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Session, Expires: time.Now().Add(time.Hour)})
	if verdict(c) != allow {
		t.Error("a grant that has not expired did not answer")
	}
	m.Revision = "2"
	if verdict(c) != ask {
		t.Error("a grant answered under another policy")
	}
}

func TestGrantsAnswerAskOnly(t *testing.T) {
	c := call(1)
	for _, v := range []guard.Verdict{deny, llm} {
		m := &guard.Manager{Rules: []guard.Rule{rule("a/x", v, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Grants: guard.NewGrants()}
		m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Session})
		if d := m.Evaluate(context.Background(), c); d.Verdict != deny { // llm falls back to the zero value
			t.Errorf("%v: %v", v, d.Verdict)
		}
	}
	// The question that the fallback makes of llm can be answered.
	m := &guard.Manager{Rules: []guard.Rule{rule("a/x", llm, 0)}, Default: []guard.Rule{rule("d/x", deny, -2)}, Grants: guard.NewGrants(), Fallback: ask}
	m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s"})
	if d := m.Evaluate(context.Background(), c); d.Verdict != allow {
		t.Errorf("fallback ask with a grant: %v", d.Verdict)
	}
}

func TestOnceGrantIsSpentOnce(t *testing.T) {
	m, c := asking(), call(1)
	for range 200 {
		m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: "s", Scope: guard.Once})
		var wg sync.WaitGroup
		granted := make([]bool, 8)
		for i := range granted {
			wg.Go(func() { granted[i] = m.Evaluate(context.Background(), call(1)).Verdict == allow })
		}
		wg.Wait()
		n := 0
		for _, g := range granted {
			if g {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("one grant was spent %d times", n)
		}
	}
}

func TestDigest(t *testing.T) {
	base := func() (*guard.Manager, *guard.EvalContext) {
		c := call(2)
		c.Input = json.RawMessage(`{"command":"rm x","cwd":"a","n":12345678901234567890}`)
		c.Roots, c.Principal = []string{"/w"}, "u"
		c.Facts.Commands = []guard.Command{{Name: "rm", Args: []guard.Word{{Text: "x", Exact: true}}, From: -1}}
		c.Facts.Sources = []guard.Source{{Path: "/w/s", SHA256: "00"}}
		return &guard.Manager{Revision: "r"}, c
	}
	m, c := base()
	want := m.Digest(c)
	if len(want) != 64 {
		t.Errorf("not SHA-256 in hexadecimal: %q", want)
	}
	for name, change := range map[string]func(*guard.Manager, *guard.EvalContext){
		"tool": func(m *guard.Manager, c *guard.EvalContext) { c.ToolName = "safe_write" },
		"arguments": func(m *guard.Manager, c *guard.EvalContext) {
			c.Input = json.RawMessage(`{"command":"rm y","cwd":"a","n":12345678901234567890}`)
		},
		"a large number": func(m *guard.Manager, c *guard.EvalContext) {
			c.Input = json.RawMessage(`{"command":"rm x","cwd":"a","n":12345678901234567891}`)
		},
		"an argument more": func(m *guard.Manager, c *guard.EvalContext) {
			c.Input = json.RawMessage(`{"command":"rm x","cwd":"a","n":12345678901234567890,"z":1}`)
		},
		"broken arguments": func(m *guard.Manager, c *guard.EvalContext) { c.Input = json.RawMessage(`{`) },
		"directory":        func(m *guard.Manager, c *guard.EvalContext) { c.WorkingDir = "/v" },
		"roots":            func(m *guard.Manager, c *guard.EvalContext) { c.Roots = []string{"/w", "/v"} },
		"principal":        func(m *guard.Manager, c *guard.EvalContext) { c.Principal = "v" },
		"revision":         func(m *guard.Manager, c *guard.EvalContext) { m.Revision = "s" },
		"kind":             func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Effects[1].Kind = guard.Delete },
		"action":           func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Effects[1].Action = "append" },
		"target":           func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Effects[1].Target = "/w/g" },
		"exactness":        func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Effects[1].Exact = false },
		"depth":            func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Effects[1].Deep = true },
		"an effect less":   func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Effects = c.Facts.Effects[:1] },
		"source":           func(m *guard.Manager, c *guard.EvalContext) { c.Facts.Sources[0].SHA256 = "01" },
		"no facts":         func(m *guard.Manager, c *guard.EvalContext) { c.Facts = nil },
	} {
		m, c := base()
		if change(m, c); m.Digest(c) == want {
			t.Errorf("%s does not change the digest", name)
		}
	}
	for name, input := range map[string]string{
		"description": `{"command":"rm x","cwd":"a","n":12345678901234567890,"description":"harmless"}`,
		"timeout":     `{"timeout_ms":5,"command":"rm x","cwd":"a","n":12345678901234567890}`,
		"escalate":    `{"command":"rm x","cwd":"a","n":12345678901234567890,"escalate":true}`,
		"order":       `{"n":12345678901234567890, "cwd":"a", "command":"rm x"}`,
		"spelling":    `{"command":"rm\u0020x","cwd":"a","n":12345678901234567890}`,
	} {
		m, c := base()
		if c.Input = json.RawMessage(input); m.Digest(c) != want {
			t.Errorf("%s changes the digest", name)
		}
	}
	m, c = base()
	c.Facts.Effects[0].Note, c.Facts.Effects[0].Loss = "for people", &guard.Loss{Files: 3}
	if m.Digest(c) != want {
		t.Error("notes or counts change the digest")
	}
}

func TestFindingsOfOneRule(t *testing.T) {
	got := rule("a/ask", ask, 0).Findings(call(1))
	if len(got) != 1 || got[0] != (guard.Finding{Rule: "a/ask", Verdict: ask, Effect: 0, Reason: "reason of a/ask", Instead: "instead of a/ask"}) {
		t.Errorf("%+v", got)
	}
}

func TestKinds(t *testing.T) {
	for k, actions := range guard.Actions {
		b, _ := k.MarshalText()
		var back guard.Kind
		if err := back.UnmarshalText(b); err != nil || back != k {
			t.Errorf("%v: %v, %v", k, back, err)
		}
		for _, a := range actions {
			if !(guard.Effect{Kind: k, Action: a}).Known() {
				t.Errorf("%v/%s is not known", k, a)
			}
		}
		if (guard.Effect{Kind: k, Action: "no such"}).Known() {
			t.Errorf("%v knows every action", k)
		}
	}
	k := guard.Write
	if err := k.UnmarshalText([]byte("writes")); err == nil || k != guard.Unknown {
		t.Errorf("a wrong name became %v", k)
	}
}

package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
	"handrail/guard/agent"
)

const (
	deny  = guard.VerdictDeny
	ask   = guard.VerdictAsk
	llm   = guard.VerdictLLM
	allow = guard.VerdictAllow
)

// TestVerdicts lets each model of a real server judge a call that the rules
// cannot tell, and looks at what the whole guard makes of it. The fallback is
// deny, so that an ask is the validator's own.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	host := start(t).URL.String()
	w := newWorkplace(t)
	for _, tc := range []struct {
		model, command string
		want           guard.Verdict
		cause          error // nil: the model said so
		turns          int
		skills         string
		reason         string
	}{
		{"guard-allow", unknown, allow, nil, 1, "bash", "no harm"},
		{"guard-deny", unknown, deny, nil, 1, "bash", "fixture denies"},
		{"guard-ask", unknown, ask, nil, 1, "bash", "fixture asks"},
		{"guard-toolless", unknown, deny, nil, 1, "bash", "no tools"},

		{"guard-skill", unknown, deny, nil, 2, "bash simulate", "denies after a skill"},
		{"guard-skill-allow", unknown, allow, nil, 2, "bash simulate", "no harm"},
		{"guard-skill-loop", unknown, deny, nil, 3, "bash simulate", "denies at last"},
		{"guard-skill-loop-allow", unknown, ask, agent.ErrForced, 3, "bash simulate", "forced"},
		{"guard-skill-unknown", unknown, deny, nil, 2, "bash", "no such skill"},
		{"guard-toolless-skill", unknown, deny, nil, 2, "bash simulate", "denies after a skill"},
		{"guard-toolless-unknown", unknown, deny, nil, 2, "bash", "no such skill"},
		{"guard-tool-unknown", unknown, ask, nil, 2, "bash", "no such tool"},

		{"guard-rules", "frobnicate FIXTURE_ALLOW", allow, nil, 1, "bash", "no harm"},
		{"guard-rules", "frobnicate FIXTURE_DENY FIXTURE_ALLOW", deny, nil, 1, "bash", "marker deny"},
		{"guard-rules", "frobnicate FIXTURE_GARBAGE", ask, nil, 2, "bash", "no marker"},
		{"guard-rules", `python3 -c "print('FIXTURE_DENY')"`, deny, nil, 1, "bash python", "marker deny"},
		{"guard-rules", `node -e "console.log('FIXTURE_DENY')"`, deny, nil, 1, "bash js", "marker deny"},

		{"guard-garbage", unknown, ask, agent.ErrForced, 2, "bash", "forced"},
		{"guard-chatty", unknown, ask, agent.ErrForced, 2, "bash", "forced"},
		{"guard-both", unknown, ask, agent.ErrForced, 2, "bash", "forced"},
		{"guard-empty", unknown, ask, agent.ErrForced, 2, "bash", "forced"},
		{"guard-loop", unknown, ask, agent.ErrCut, 1, "bash", "cut off"},
		{"guard-cut", unknown, ask, agent.ErrCut, 1, "bash", "cut off"},
		{"guard-cut-json", unknown, ask, agent.ErrCut, 1, "bash", "cut off"},
		{"guard-stutter", unknown, ask, agent.ErrCut, 1, "bash", "cut off"},

		{"guard-think", unknown, ask, nil, 2, "bash", "fixture thought"},
		{"guard-think-allow", unknown, ask, agent.ErrForced, 2, "bash", "forced"},
		{"guard-think-parser", unknown, deny, nil, 1, "bash", "fixture denies"},
		{"guard-harmony", unknown, ask, agent.ErrForm, 2, "bash", "agreed form"},

		{"guard-allow", "frobnicate " + strings.Repeat("x", 20000), ask, agent.ErrTooLong, 0, "", "too long"},
		{"guard-allow", `python3 -c "` + strings.Repeat("x = 1\n", 2500) + `"`, ask, agent.ErrTooLong, 0, "", "too long"},
	} {
		t.Run(tc.model+"/"+tc.command[:min(len(tc.command), 30)], func(t *testing.T) {
			r := &recorder{}
			expected := deny
			if tc.want == allow || tc.cause != nil && errors.Is(tc.cause, agent.ErrTooLong) {
				expected = allow
			}
			o := options(t, host, tc.model, expected, r)
			if tc.model == "guard-rules" && expected == allow {
				o.Cases[0].Command += " FIXTURE_ALLOW"
			}
			d := w.with(newAgent(t, o), deny).Evaluate(context.Background(), w.call(t, tc.command))
			if d.Validator == nil || d.Validator.Fault != "" {
				t.Fatalf("the validator was not asked, or did not answer: %+v, %+v", d, d.Validator)
			}
			if d.Verdict != tc.want || !strings.Contains(d.Reason, tc.reason) {
				t.Errorf("got %s (%s), want %s (%s)", d.Verdict, d.Reason, tc.want, tc.reason)
			}
			got := r.last(t)
			if !errors.Is(got.Cause, tc.cause) || got.Turns != tc.turns || tc.skills != "" && !slices.Equal(got.Skills, strings.Fields(tc.skills)) {
				t.Errorf("cause %v, %d turns, skills %v; want %v, %d, %s", got.Cause, got.Turns, got.Skills, tc.cause, tc.turns, tc.skills)
			}
			if got.Digest != d.Digest || got.Verdict != tc.want || got.Model != tc.model || got.ModelDigest == "" ||
				tc.turns > 0 && (got.MS == 0 || got.PromptTokens == 0 && tc.model != "guard-stutter") || // there the server counts nothing
				errors.Is(tc.cause, agent.ErrCut) && got.Raw == "" {
				t.Errorf("the record misses something: %+v", got)
			}
		})
	}
}

// TestRandomModel has a model without sense: whatever it says, nobody takes it
// for an allow or a refusal.
func TestRandomModel(t *testing.T) {
	host := start(t).URL.String()
	w := newWorkplace(t)
	m := w.with(newAgent(t, options(t, host, "guard-random", deny, nil)), deny)
	for _, command := range []string{unknown, "frobnicate a", "frobnicate b c", "frobnicate --yes please", `python3 -c 'print(1)'`, `node -e 'f()'`} {
		if d := m.Evaluate(context.Background(), w.call(t, command)); d.Verdict != ask || d.Validator.Fault != "" {
			t.Errorf("%s: %s (%s) %+v", command, d.Verdict, d.Reason, d.Validator)
		}
	}
}

// TestSelfTest has models that do not give the known answers: they are off,
// which is told once, and the fallback counts.
func TestKnownAnswers(t *testing.T) {
	host := start(t).URL.String()
	w := newWorkplace(t)
	for _, tc := range []struct {
		model string
		cases []agent.Case
		on    bool
	}{
		{"guard-allow", nil, false}, // the built-in cases
		{"guard-deny", nil, false},
		{"guard-garbage", []agent.Case{{Command: unknown, Want: allow}}, false},
		{"guard-rules", []agent.Case{{Command: unknown + " FIXTURE_ALLOW", Want: allow}, {Command: unknown + " FIXTURE_DENY", Want: deny}, {Command: unknown, Want: deny}}, true},
		{"guard-rules", []agent.Case{{Command: unknown + " FIXTURE_ALLOW", Want: deny}}, false},
	} {
		r := &recorder{}
		o := options(t, host, tc.model, deny, r)
		o.Cases = tc.cases
		a := newAgent(t, o)
		report, err := a.Check(context.Background())
		if errors.Is(err, agent.ErrOff) == tc.on || tc.on && err != nil || report == nil || report.Model != tc.model || report.Digest == "" || len(report.Cases) == 0 {
			t.Errorf("%s: check says %v, %+v", tc.model, err, report)
		}
		if tc.on {
			continue
		}
		m := w.with(a, deny)
		for range 3 {
			if d := m.Evaluate(context.Background(), w.call(t, unknown+" FIXTURE_ALLOW")); d.Verdict != deny || d.Validator.Fault == "" {
				t.Errorf("%s: %s (%s), though it failed its self-test", tc.model, d.Verdict, d.Reason)
			}
		}
		r.mu.Lock()
		if len(r.notices) != 1 {
			t.Errorf("%s: told %d times: %q", tc.model, len(r.notices), r.notices)
		}
		r.mu.Unlock()
	}
}

// TestRecheck has the model name what the rules did not see. The rules judge
// that, and only ever make the verdict stricter.
func TestRecheck(t *testing.T) {
	host := start(t).URL.String()
	w := newWorkplace(t)
	m := w.with(newAgent(t, options(t, host, "guard-names", allow, nil)), deny)
	if d := m.Evaluate(context.Background(), w.call(t, unknown)); d.Verdict >= llm || !strings.Contains(d.Reason, "more than can be read") {
		t.Errorf("the model named /etc/passwd as written: %s (%s)", d.Verdict, d.Reason)
	}
}

package guard_test

import (
	"errors"
	"testing"

	"handrail/guard"
)

// leaves is a policy that leaves what can be left to the validator: everything
// but reading and what is plainly used.
func leaves() guard.Rule {
	return guard.Rule{ID: "d/rest", Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			if e.Kind == guard.Read || e.Kind == guard.Exec && e.Action == "" || e.Kind == guard.Code && e.Action != "inline" && e.Action != "stdin" && e.Action != "downloaded" && len(p.Facts.Sources) > 0 || e.Kind == guard.Code && e.Action == "project" || e.Kind == guard.Network && e.Action == "" {
				p.Report(i, guard.VerdictAllow, "free", "")
				continue
			}
			p.Report(i, guard.VerdictLLM, "cannot be told", "")
		}
	}}
}

// lost asks about what nothing could bring back.
func lost() guard.Rule {
	return guard.Rule{ID: guard.LostRule, Evaluate: func(p *guard.Pass) {
		for i, e := range p.Facts.Effects {
			if e.Kind == guard.Delete && e.Loss != nil && e.Loss.Lost() > 0 {
				p.Report(i, guard.VerdictAsk, "lost", "")
			}
		}
	}}
}

func does(effects ...guard.Effect) *guard.EvalContext {
	for i := range effects {
		effects[i].Command, effects[i].From = 0, -1
	}
	return &guard.EvalContext{ToolName: "safe_bash", WorkingDir: "/w", Roots: []string{"/w"}, Session: "s",
		Facts: &guard.Facts{Dir: "/w", Commands: []guard.Command{{Name: "npm", From: -1}}, Effects: effects}}
}

func TestContained(t *testing.T) {
	unlisted := guard.Effect{Kind: guard.Exec, Action: "unlisted", Target: "frob"}
	for _, c := range []struct {
		name    string
		effects []guard.Effect
		held    bool // runs where the kernel holds it
		kept    bool // runs where what it destroys is kept, too
	}{
		{"unlisted program", []guard.Effect{unlisted}, true, true},
		{"unread option", []guard.Effect{{Kind: guard.Exec, Action: "unread", Target: "tar"}}, true, true},
		{"inline code", []guard.Effect{{Kind: guard.Code, Action: "inline", Target: "python3"}}, true, true},
		{"foreign script", []guard.Effect{{Kind: guard.Code, Target: "/opt/x"}}, true, true},
		{"deletes in the workspace", []guard.Effect{{Kind: guard.Delete, Target: "/w/build", Deep: true}}, false, true},
		{"deletes what is lost", []guard.Effect{{Kind: guard.Delete, Target: "/w/lost", Deep: true, Loss: &guard.Loss{Files: 2, Untracked: 2}}}, false, true},
		{"deletes more than is counted", []guard.Effect{{Kind: guard.Delete, Target: "/w/lost", Deep: true, Loss: &guard.Loss{Files: 2, Untracked: 2, More: true}}}, false, false},
		{"deletes what is lost, and elsewhere", []guard.Effect{{Kind: guard.Delete, Target: "/www/lost", Deep: true, Loss: &guard.Loss{Files: 2, Untracked: 2}}}, false, false},
		{"deletes what is lost, and sends", []guard.Effect{{Kind: guard.Delete, Target: "/w/lost", Deep: true, Loss: &guard.Loss{Files: 2, Untracked: 2}}, {Kind: guard.Network, Action: "send", Target: "localhost"}}, false, false},
		{"deletes the workspace", []guard.Effect{{Kind: guard.Delete, Target: "/w", Deep: true}}, false, false},
		{"deletes elsewhere", []guard.Effect{{Kind: guard.Delete, Target: "/www/x", Deep: true}}, false, false},
		{"shreds", []guard.Effect{{Kind: guard.Delete, Action: "shred", Target: "/w/x"}}, false, false},
		{"hides", []guard.Effect{{Kind: guard.Unknown, Target: "why"}}, false, false},
		{"unlisted and hides", []guard.Effect{unlisted, {Kind: guard.Unknown, Target: "why"}}, false, false},
		{"unlisted and an allowed host", []guard.Effect{unlisted, {Kind: guard.Network, Target: "github.com"}}, false, false},
		{"code from a pipe", []guard.Effect{{Kind: guard.Code, Action: "stdin", Target: "sh"}}, false, false},
		{"downloaded code", []guard.Effect{{Kind: guard.Code, Action: "downloaded", Target: "x"}}, false, false},
		{"push", []guard.Effect{{Kind: guard.Remote, Action: "push", Target: "main"}}, false, false},
		{"sends", []guard.Effect{{Kind: guard.Network, Action: "send", Target: "localhost"}}, false, false},
		{"installs", []guard.Effect{{Kind: guard.Install, Action: "add", Target: "left-pad"}}, false, false},
		{"owner of a tree", []guard.Effect{{Kind: guard.Write, Action: "metadata", Target: "/w/x", Deep: true}}, false, false},
		{"gains rights", []guard.Effect{unlisted, {Kind: guard.Privilege, Target: "sudo"}}, false, false},
	} {
		for hold, want := range map[guard.Hold]bool{guard.Unheld: false, guard.Trusted: false, guard.Held: c.held, guard.Kept: c.kept} {
			for _, contain := range []bool{false, true} {
				m := &guard.Manager{Rules: []guard.Rule{leaves(), lost()}, Default: []guard.Rule{leaves()}, Fallback: ask, Grants: guard.NewGrants(), Hold: hold, Contain: contain}
				d := m.Evaluate(t.Context(), does(c.effects...))
				if run := d.Verdict == allow; run != (want && contain) || d.Contained != run {
					t.Errorf("%s, hold %d, contain %v: %v, contained %v", c.name, hold, contain, d.Verdict, d.Contained)
				}
			}
		}
	}
}

// TestContainmentIsTheFallbackOnly: what a validator says counts, and what asks
// asks.
func TestContainmentIsTheFallbackOnly(t *testing.T) {
	c := does(guard.Effect{Kind: guard.Exec, Action: "unlisted", Target: "frob"})
	m := &guard.Manager{Rules: []guard.Rule{leaves()}, Default: []guard.Rule{leaves()}, Fallback: ask, Hold: guard.Kept, Contain: true}
	for _, v := range []guard.Verdict{allow, ask, deny} {
		m.Validator = says{&guard.Decision{Verdict: v, Reason: "so"}, nil}
		if d := m.Evaluate(t.Context(), c); d.Verdict != v || d.Contained {
			t.Errorf("the validator says %v: %v, contained %v", v, d.Verdict, d.Contained)
		}
	}
	m.Validator = says{nil, errors.New("down")}
	if d := m.Evaluate(t.Context(), c); d.Verdict != allow || !d.Contained || d.Validator.Fault != "down" {
		t.Errorf("a fault of the server: %+v", d)
	}
	m.Rules, m.Validator = []guard.Rule{leaves(), lost()}, says{&guard.Decision{Verdict: allow, Reason: "so"}, nil}
	both := does(guard.Effect{Kind: guard.Exec, Action: "unlisted", Target: "frob"}, guard.Effect{Kind: guard.Delete, Target: "/w/lost", Deep: true, Loss: &guard.Loss{Files: 1, Untracked: 1}})
	if d := m.Evaluate(t.Context(), both); d.Verdict != ask {
		t.Errorf("what the validator is there for runs without it: %+v", d)
	}
	m.Rules = []guard.Rule{rule("a/x", ask, 0)}
	if d := m.Evaluate(t.Context(), c); d.Verdict != ask {
		t.Errorf("a rule asks: %+v", d)
	}
}

// TestUnheldCodeAsksOncePerSessionAndProgram: where nothing holds it, project
// code is a person's to allow.
func TestUnheldCodeAsksOncePerSessionAndProgram(t *testing.T) {
	project := guard.Effect{Kind: guard.Code, Action: "project", Target: "test"}
	m := &guard.Manager{Rules: []guard.Rule{leaves()}, Default: []guard.Rule{leaves()}, Fallback: ask, Grants: guard.NewGrants()}
	approve := func(c *guard.EvalContext, s guard.Scope) {
		t.Helper()
		d := m.Evaluate(t.Context(), c)
		if d.Verdict != ask || d.Rule != guard.UnheldRule {
			t.Fatalf("%v by %s, want ask by %s", d.Verdict, d.Rule, guard.UnheldRule)
		}
		for _, digest := range m.Approved(c, d, s) {
			if err := m.Grants.Add(guard.Grant{Digest: digest, Session: c.Session, Scope: s}); err != nil {
				t.Fatal(err)
			}
		}
		if d := m.Evaluate(t.Context(), c); d.Verdict != allow || !d.Granted && s == guard.Once {
			t.Fatalf("after the yes: %+v", d)
		}
	}
	approve(does(project), guard.Once)
	approve(does(project), guard.Session) // the yes before was for one call
	other := does(guard.Effect{Kind: guard.Code, Action: "project", Target: "build"})
	if d := m.Evaluate(t.Context(), other); d.Verdict != allow {
		t.Errorf("the program was allowed for this session: %v", d.Verdict)
	}
	other.Facts.Commands[0].Name = "make"
	if d := m.Evaluate(t.Context(), other); d.Verdict != ask {
		t.Errorf("another program: %v", d.Verdict)
	}
	elsewhere := does(project)
	elsewhere.Session = "t"
	if d := m.Evaluate(t.Context(), elsewhere); d.Verdict != ask {
		t.Errorf("another session: %v", d.Verdict)
	}
	elsewhere = does(project)
	elsewhere.Roots = []string{"/v"}
	if d := m.Evaluate(t.Context(), elsewhere); d.Verdict != ask {
		t.Errorf("another workspace: %v", d.Verdict)
	}
	script := does(guard.Effect{Kind: guard.Code, Target: "/w/s.sh"})
	script.Facts.Sources = []guard.Source{{Path: "/w/s.sh"}}
	if d := m.Evaluate(t.Context(), script); d.Verdict != allow {
		t.Errorf("a script that was read: %+v", d)
	}
	// The user takes "no questions" back while the server runs, or a project does.
	m.Hold = guard.Trusted
	base := guard.Base{Rules: m.Rules, Default: m.Default, Trusting: true}
	m.User = func([]string) *guard.Policy { return &guard.Policy{Base: &base} }
	if d := m.Evaluate(t.Context(), elsewhere); d.Verdict != allow {
		t.Errorf("trusting: %+v", d)
	}
	base.Trusting = false
	if d := m.Evaluate(t.Context(), elsewhere); d.Verdict != ask {
		t.Errorf("no longer trusting: %+v", d)
	}
	m.User = nil
	for _, hold := range []guard.Hold{guard.Trusted, guard.Held, guard.Kept} {
		m.Hold = hold
		if d := m.Evaluate(t.Context(), elsewhere); d.Verdict != allow || d.Contained {
			t.Errorf("hold %d: %+v", hold, d)
		}
	}
}

// TestMorePowerIsForOneRun: no grant but one for a single run covers a call
// without the limits of its sandbox.
func TestMorePowerIsForOneRun(t *testing.T) {
	c := does(guard.Effect{Kind: guard.Privilege, Action: "uncontained", Target: "the whole call"})
	m := &guard.Manager{Rules: []guard.Rule{rule("a/x", ask, 0)}, Default: []guard.Rule{leaves()}, Fallback: ask, Grants: guard.NewGrants(), Hold: guard.Kept}
	for scope, want := range map[guard.Scope]guard.Verdict{guard.Session: ask, guard.Once: allow} {
		m.Grants = guard.NewGrants()
		if err := m.Grants.Add(guard.Grant{Digest: m.Digest(c), Session: c.Session, Scope: scope}); err != nil {
			t.Fatal(err)
		}
		if d := m.Evaluate(t.Context(), c); d.Verdict != want {
			t.Errorf("scope %v: %v, want %v", scope, d.Verdict, want)
		}
		if d := m.Evaluate(t.Context(), c); d.Verdict != ask {
			t.Errorf("scope %v, again: %v", scope, d.Verdict)
		}
	}
}

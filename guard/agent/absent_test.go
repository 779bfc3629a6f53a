package agent_test

import (
	"slices"
	"testing"

	"handrail/guard"
)

// A server that nobody asked for and that is not there is no news. One without
// the model is, and so is one that was there and is gone; each is told once.
func TestToldOnce(t *testing.T) {
	s := start(t)
	w := newWorkplace(t)
	for _, c := range []struct {
		name, model string
		once        bool
		dies        bool     // after the first answer
		want        []string // what is told, and by whom
	}{
		{"no model, auto", "guard-nowhere", true, false, []string{"notice"}},
		{"no model, on", "guard-nowhere", false, false, []string{"notice"}},
		{"gone, auto", "guard-allow", true, true, []string{"notice"}},
		{"no server, auto", "guard-allow", true, false, []string{"absent"}}, // the one before has killed it
		{"no server, on", "guard-allow", false, false, []string{"notice"}},
	} {
		var told []string
		o := options(t, s.URL.String(), c.model, allow, nil)
		o.Once = c.once
		done := make(chan struct{}, 16)
		tell := func(who string) func(string) {
			return func(string) { told = append(told, who); done <- struct{}{} }
		}
		o.Notice, o.Absent = tell("notice"), tell("absent")
		m := w.with(newAgent(t, o), guard.VerdictAsk)
		if c.dies {
			ready(t, m, w.call(t, unknown))
			s.Kill()
		}
		for range 3 {
			if d := m.Evaluate(t.Context(), w.call(t, unknown)); d.Verdict != ask || d.Validator.Fault == "" {
				t.Errorf("%s: %s, %+v; want the fallback", c.name, d.Verdict, d.Validator)
			}
		}
		<-done // a failed check tells when it ends
		if !slices.Equal(told, c.want) {
			t.Errorf("%s: told %v, want %v", c.name, told, c.want)
		}
	}
}

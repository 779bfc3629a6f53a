package mcpserver

import (
	"context"
	"net/http"
	"slices"
	"time"

	"handrail/mcpserver/auth"
)

// watchEvery is how often the credentials of what is open are looked at.
const watchEvery = time.Second

// doubt is for how long what is open goes on while nobody can say whether its
// credential was taken back.
const doubt = time.Minute

// hold lets a request that came at some time run for as long as its credential
// holds.
func (h *Host) hold(r *http.Request, c auth.Caller, came time.Time) (*http.Request, func()) {
	if c.Credential == "" {
		return r.WithContext(context.WithValue(r.Context(), holdKey{}, &hold{caller: c, came: came})), func() {}
	}
	ctx, release := h.standing.hold(r.Context(), c, came)
	h.standing.mu.Lock()
	defer h.standing.mu.Unlock()
	if !h.standing.watching {
		h.standing.watching, h.standing.answered = true, time.Now()
		go h.watch()
	}
	return r.WithContext(ctx), release
}

// watch looks at the credentials for as long as something is open.
func (h *Host) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for range tick.C {
		if !h.look() {
			return
		}
	}
}

// look ends what is open on behalf of credentials that hold no more, and reports
// whether anything is left to look after.
func (h *Host) look() bool {
	callers, quiet := h.standing.callers()
	servers := h.servers()
	used := map[string]bool{}
	for _, s := range servers {
		for _, name := range s.holder().credentials() {
			used[name] = true
		}
	}
	now := time.Now()
	gone := h.withdrawn(callers, now)
	for _, c := range callers {
		over := !c.Ends.IsZero() && !c.Ends.After(now)
		switch {
		case gone[c.Credential] || over && !c.Renewed:
			n := h.standing.end(c.Credential)
			h.log().Info("a credential holds no more: what runs on its behalf is ended", "credential", c.Credential, "principal", c.Principal, "requests", n)
			for _, s := range servers {
				s.holder().withdraw(c.Credential)
			}
		case over:
			for _, s := range servers {
				s.holder().lapse(c.Credential)
			}
			h.standing.lapse(c.Credential)
		}
	}
	return h.standing.forget(func(name string) bool { return quiet[name] && !used[name] })
}

// withdrawn names the credentials that were taken back before their time. Where
// that cannot be known for long, all that can be taken back are.
func (h *Host) withdrawn(callers []auth.Caller, now time.Time) map[string]bool {
	if h.Withdrawn == nil || len(callers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), doubt/4)
	defer cancel()
	names, err := h.Withdrawn(ctx, callers)
	h.standing.mu.Lock()
	defer h.standing.mu.Unlock()
	if err == nil {
		h.standing.answered = now
	} else {
		h.log().Warn("it cannot be known whether credentials still hold", "err", err)
		if now.Sub(h.standing.answered) > doubt {
			for _, c := range callers {
				names = append(names, c.Credential)
			}
		}
	}
	gone := map[string]bool{}
	for _, name := range names {
		gone[name] = true
	}
	return gone
}

// by calls f with each session that a credential was used in.
func (s *Server) by(name string, f func(*wire)) {
	for _, w := range append(s.visits.all(), s.streams.all()...) {
		if slices.Contains(w.used.list(), name) {
			f(w)
		}
	}
}

// credentials are those by which sessions are open or jobs run.
func (s *Server) credentials() []string {
	list := s.box.Credentials()
	for _, w := range append(s.visits.all(), s.streams.all()...) {
		list = append(list, w.used.list()...)
	}
	return list
}

// lapse lets the sessions of a credential, which clients renew, go on without it.
func (s *Server) lapse(name string) {
	s.by(name, func(w *wire) { w.used.drop(name) })
}

// withdraw ends the jobs of a credential that holds no more, and the sessions in
// which no other was used. It does not wait for them.
func (s *Server) withdraw(name string) {
	go s.box.Withdraw(name)
	s.by(name, func(w *wire) {
		if w.used.drop(name) {
			w.fail(errWithdrawn)
			go s.visits.end(w.sess.id, errWithdrawn)
		}
	})
}

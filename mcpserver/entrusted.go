package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Where another process serves a principal, this one knows who sends a request,
// by which credential and for how long; that one has the sessions and jobs. So
// each request carries the name of its credential (never the credential itself),
// and that one is told when it holds no more.

// CredentialHeader is the name of the credential in a request that was forwarded.
const CredentialHeader = "Handrail-Credential"

// entrusted is where a Host is told of credentials by who forwards to it.
const entrusted = "/credentials"

// hear takes what the front of the server says of credentials. No request of a
// client comes here: those go to the paths of routes.
func (h *Host) hear(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	q := r.URL.Query()
	for _, name := range q["withdrawn"] {
		h.standing.end(name)
		for _, t := range h.servers() {
			t.holder().withdraw(name)
		}
	}
	for _, name := range q["lapsed"] {
		for _, t := range h.servers() {
			t.holder().lapse(name)
		}
		h.standing.lapse(name)
		h.standing.lapsed(name) // and what outlasts it now is looked at again by watch
	}
}

// credentials are those by which something may be open at the other process: all
// that were used, until it has heard that they hold no more.
func (f *Forward) credentials() []string { return append(f.used.list(), f.telling.list()...) }

func (f *Forward) withdraw(name string) { f.tell("withdrawn", name) }

// lapse tells once, until the credential is used again.
func (f *Forward) lapse(name string) {
	if f.used.has(name) {
		f.tell("lapsed", name)
	}
}

// tell says of a credential what came of it. It does not wait, and is not told
// twice at once. What the other process did not hear, it is told at the next look.
func (f *Forward) tell(what, name string) {
	if !f.telling.first(name) {
		return
	}
	f.used.drop(name) // a request that comes from here on is one to tell of again
	go func() {
		defer f.telling.drop(name)
		ctx, cancel := context.WithTimeout(context.Background(), doubt)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://principal"+entrusted+"?"+url.Values{what: {name}}.Encode(), nil)
		if err == nil {
			var resp *http.Response
			if resp, err = f.proxy.Transport.RoundTrip(r); err == nil {
				if err = resp.Body.Close(); err == nil && resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("it answers with %d", resp.StatusCode)
				}
			}
		}
		if err != nil {
			f.used.add(name)
			f.log.Warn("the process of a principal was not told that a credential holds no more, and will be", "credential", name, "err", err)
		}
	}()
}

// holder has what is open by credential: a Server here, or the way to another.
type holder interface {
	credentials() []string
	withdraw(name string)
	lapse(name string)
}

func (t *Tenant) holder() holder {
	if t.Server == nil {
		return t.Forward
	}
	return t.Server
}

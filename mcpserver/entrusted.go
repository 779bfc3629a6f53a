package mcpserver

import (
	"context"
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

// hear takes what the front of the server says of credentials.
func (h *Host) hear(r *http.Request) {
	q := r.URL.Query()
	for _, name := range q["withdrawn"] {
		h.standing.end(name)
		for _, t := range h.servers() {
			t.withdraw(name)
		}
	}
	for _, name := range q["lapsed"] {
		for _, t := range h.servers() {
			t.lapse(name)
		}
		h.standing.lapse(name)
	}
}

// credentials are those by which something may be open at the other process: all
// that were used, until they hold no more.
func (f *Forward) credentials() []string { return f.used.list() }

func (f *Forward) withdraw(name string) { f.tell("withdrawn", name) }
func (f *Forward) lapse(name string)    { f.tell("lapsed", name) }

// tell says of a credential what came of it. It does not wait. What the other
// process does not hear has ended with it.
func (f *Forward) tell(what, name string) {
	f.used.drop(name)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), doubt)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://principal"+entrusted+"?"+url.Values{what: {name}}.Encode(), nil)
		if err == nil {
			var resp *http.Response
			if resp, err = f.proxy.Transport.RoundTrip(r); err == nil {
				err = resp.Body.Close()
			}
		}
		if err != nil {
			f.log.Warn("the process of a principal was not told that a credential holds no more", "credential", name, "err", err)
		}
	}()
}

func (t *Tenant) credentials() []string {
	if t.Server == nil {
		return t.Forward.credentials()
	}
	return t.Server.credentials()
}

func (t *Tenant) withdraw(name string) {
	if t.Server == nil {
		t.Forward.withdraw(name)
		return
	}
	t.Server.withdraw(name)
}

func (t *Tenant) lapse(name string) {
	if t.Server == nil {
		t.Forward.lapse(name)
		return
	}
	t.Server.lapse(name)
}

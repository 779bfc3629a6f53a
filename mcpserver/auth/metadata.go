package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// wellKnown is where a client looks for the metadata of a protected resource
// (RFC 9728, section 3.1); the path of the resource follows it.
const wellKnown = "/.well-known/oauth-protected-resource"

// Metadata is what answers for the protected resource (RFC 9728), and the URL at
// which that is found: clients read there which provider gives the tokens.
func (o OIDC) Metadata() (h http.Handler, at string, err error) {
	u, err := url.Parse(o.Audience)
	if err != nil {
		return nil, "", err
	}
	body, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{o.Audience, []string{o.Issuer}, o.Scopes, []string{"header"}, "Handrail"})
	if err != nil {
		return nil, "", err
	}
	path := wellKnown + strings.TrimSuffix(u.Path, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path && r.URL.Path != wellKnown {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}), u.Scheme + "://" + u.Host + path, nil
}

package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"

	"handrail/mcpserver/auth"
)

// ofStore marks the credentials that are tokens of the store; its id follows.
const ofStore = "token "

// bearer is who bears a token of the store.
func (h *hosting) bearer(ctx context.Context, sum [sha256.Size]byte) (auth.Caller, error) {
	t, err := h.shared.Store.Bearer(ctx, sum)
	if err != nil {
		return auth.Caller{}, err
	}
	return auth.Caller{Principal: t.Principal, Credential: ofStore + t.ID, Ends: t.Expires}, nil
}

// served lets only those in who are among the principals now.
func (h *hosting) served(m auth.Method) auth.Method {
	return func(r *http.Request) (auth.Caller, error) {
		c, err := m(r)
		if err == nil && !h.names(c.Principal) {
			return auth.Caller{}, &auth.Refusal{Code: auth.InsufficientScope, Err: errors.New(c.Principal + " is not among the principals")}
		}
		return c, err
	}
}

// withdrawn names the credentials that were taken back: tokens that were revoked,
// and all of those who are no principals any more.
func (h *hosting) withdrawn(ctx context.Context, callers []auth.Caller) (gone []string, err error) {
	var holding map[string]bool
	for _, c := range callers {
		id, ok := strings.CutPrefix(c.Credential, ofStore)
		if ok && holding == nil {
			if holding, err = h.shared.Store.Holding(ctx); err != nil {
				return nil, err
			}
		}
		if ok && !holding[id] || !h.names(c.Principal) {
			gone = append(gone, c.Credential)
		}
	}
	return gone, nil
}

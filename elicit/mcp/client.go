package mcp

import (
	"context"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Reachable reports whether the client of this request declared that it shows
// forms, and whether the transport can carry one. A declared capability is not
// a person: it only makes asking worth while.
func Reachable(ctx context.Context) bool {
	if !server.IsModernRequest(ctx) {
		if _, ok := server.ClientSessionFromContext(ctx).(server.SessionWithElicitation); !ok {
			return false
		}
	}
	e := Capabilities(ctx).Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) // {} means forms, as before URL mode
}

// Capabilities are what the client of this request declared: with the request
// from 2026-07-28, at the start of the session before. The zero value where
// nothing is known.
func Capabilities(ctx context.Context) protocol.ClientCapabilities {
	if i := server.RequestProtocolInfoFromContext(ctx); i != nil && i.Modern {
		if i.ClientCapabilities == nil {
			return protocol.ClientCapabilities{}
		}
		return *i.ClientCapabilities
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return s.GetClientCapabilities()
	}
	return protocol.ClientCapabilities{}
}

// ClientName is name and version of the client as it calls itself, whatever that
// is; empty where it said nothing.
func ClientName(ctx context.Context) string {
	var info protocol.Implementation
	if i := server.RequestProtocolInfoFromContext(ctx); i != nil && i.Modern {
		if i.ClientInfo != nil {
			info = *i.ClientInfo
		}
	} else if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		info = s.GetClientInfo()
	}
	return strings.TrimSpace(info.Name + " " + info.Version)
}

package mcpserver

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	elicitmcp "handrail/elicit/mcp"
)

const (
	rootsPatience = 2 * time.Second
	rootsKey      = "roots" // in an input_required result
)

// roots are the workspace roots of a call.
//
// A client of the session era that has roots is asked once, and again when it
// says that they changed; one that does not answer in time counts as one without
// roots. In the era of 2026-07-28 every question costs the client a repeated
// call, and roots cannot be told to have changed: there the roots that the user
// gave or the working directory hold, and only where these will not do is the
// client asked (ask is then the result to return), once a session.
func (s *Server) roots(ctx context.Context, req mcp.CallToolRequest) (roots []string, ask *mcp.CallToolResult, err error) {
	given, err := s.space.given()
	if elicitmcp.Capabilities(ctx).Roots == nil {
		return given, nil, err
	}
	modern := server.IsModernRequest(ctx)
	if modern && err == nil {
		return given, nil, nil
	}
	c := s.space.session(sessionID(ctx))
	c.asking.Lock()
	defer c.asking.Unlock()
	roots, known, change, err := c.cached()
	if known {
		return roots, nil, err
	}
	var list *mcp.ListRootsResult
	if modern {
		if list = server.RootsResponse(req.Params.InputResponses, rootsKey); list == nil {
			return nil, server.NewInputRequestBuilder("").Roots(rootsKey).ToolResult(), nil
		}
	} else {
		waiting, cancel := context.WithTimeout(ctx, rootsPatience)
		defer cancel()
		if list, err = s.mcp.RequestRoots(waiting, mcp.ListRootsRequest{}); err != nil {
			if ctx.Err() != nil { // the call has ended: this says nothing about the client
				return nil, nil, context.Cause(ctx)
			}
			s.log.Warn("the client has roots but did not tell them", "err", err)
			list = nil
		}
	}
	roots, err = s.space.combine(uris(list))
	c.keep(roots, err, change)
	return roots, nil, err
}

func uris(list *mcp.ListRootsResult) (uris []string) {
	if list == nil {
		return nil
	}
	for _, r := range list.Roots {
		uris = append(uris, r.URI)
	}
	return uris
}

// Package mcpserver is the tools as an MCP server. Every call of a tool goes
// through tools.Toolbox.Do; nothing here runs or judges anything itself.
package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"handrail/elicit"
	elicitmcp "handrail/elicit/mcp"
	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/text"
	"handrail/tools"
)

// Options say what a server serves. Toolbox is required.
type Options struct {
	Toolbox *tools.Toolbox
	// Roots are the workspace roots that the user gave (--root). The client's
	// roots only narrow them. Without any, the client's roots count, and where it
	// has none the working directory.
	Roots []string
	// Dir is the working directory; empty means that of the process.
	Dir string
	// Homes are home directories, which are never a workspace root, nor is what
	// lies above them. Nil means those of the user who runs the process.
	Homes []string
	// Refuse, where not nil, says why a directory (absolute, resolved) cannot be
	// a root for another reason: it holds the configuration, which the agent
	// could then write.
	Refuse func(root string) error
	// Offers, where not nil, says whether a tool is turned on: others are not in
	// the list.
	Offers  func(tool string) bool
	Version string
	// Principal is for whom all calls are; empty for the user of the process.
	Principal string
	// Queue, where not nil, bounds the calls that run at once, of all principals.
	Queue Places
	// Log takes what an operator wants to know. Nil drops it.
	Log *slog.Logger
}

// Server serves the four tools to one principal. It is safe for concurrent use.
type Server struct {
	box       *tools.Toolbox
	mcp       *server.MCPServer
	book      *elicit.Book
	space     *workspace
	log       *slog.Logger
	principal string
	queue     Places
	running   atomic.Int64 // calls
	closing   *atomic.Bool // of the host, where there is one

	// over HTTP
	visits  visits        // sessions of /mcp
	streams streams       // of /sse
	passing streams       // requests of the era without sessions, each on its own
	slots   chan struct{} // for their calls
	message string        // the path of /message, as clients see it
	lately  sync.Mutex
	last    time.Time // when such a request came; zero: none did lately
}

// New builds a server. It fails where a given root cannot be one; the error
// says what to pass instead.
func New(o Options) (*Server, error) {
	if o.Toolbox == nil {
		return nil, errors.New("a server needs a toolbox")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Queue == nil {
		o.Queue = (*Queue)(nil)
	}
	space, err := newWorkspace(o)
	if err != nil {
		return nil, err
	}
	s := &Server{box: o.Toolbox, book: elicit.NewBook(), space: space, log: o.Log, principal: o.Principal, queue: o.Queue, closing: new(atomic.Bool),
		slots: make(chan struct{}, maxTools), message: "/message"}
	s.mcp = server.NewMCPServer("handrail", o.Version,
		server.WithTitle("Handrail"),
		server.WithDescription("A shell and file tools behind a safety guard"),
		server.WithInstructions(instructions(space.fixed)),
		server.WithToolCapabilities(false),
		server.WithToolFilter(offered(o.Offers)),
		server.WithOutputSchemaValidation(),
	)
	// Arguments are checked by tools.Do, which sees the bytes as sent (repeated
	// fields too) and says in plain words what is wrong.
	for _, t := range toolList() {
		s.mcp.AddTool(t, s.call)
	}
	s.mcp.AddNotificationHandler(mcp.MethodNotificationRootsListChanged, func(ctx context.Context, _ mcp.JSONRPCNotification) {
		s.space.forget(sessionID(ctx))
	})
	return s, nil
}

// offered leaves the tools out of lists that are turned off. Calls of them go on
// to the guard, which refuses them in its words and has that recorded; the library
// asks here for those, too.
func offered(is func(tool string) bool) server.ToolFilterFunc {
	return func(ctx context.Context, all []mcp.Tool) []mcp.Tool {
		if is == nil || ctx.Value(callingKey{}) != nil {
			return all
		}
		return slices.DeleteFunc(slices.Clone(all), func(t mcp.Tool) bool { return !is(t.Name) })
	}
}

// call does one call of a tool. It never returns a Go error: a failure is a
// result that the model can read.
func (s *Server) call(ctx context.Context, req mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a call failed", "tool", req.Params.Name, "panic", p)
			result = s.refuse(ctx, req, "guard/error", "the server failed while it handled this call", "")
		}
	}()
	began := time.Now()
	if k := heldBy(ctx); k != nil {
		began = k.came
	}
	s.running.Add(1)
	defer s.running.Add(-1)
	roots, ask, err := s.roots(ctx, req)
	switch {
	case ask != nil:
		return ask, nil
	case err != nil:
		return s.refuse(ctx, req, "workspace/root", err.Error(), passRoot), nil
	}
	progress := s.progress(ctx, req)
	read := time.Since(began)
	r := s.box.Do(ctx, tools.Call{
		Tool:      req.Params.Name,
		Input:     arguments(req),
		Roots:     roots,
		Session:   sessionID(ctx),
		Principal: s.principal, Credential: credentialOf(ctx),
		Client:    s.client(ctx),
		Transport: transportOf(ctx),
		Channel: &elicitmcp.Channel{Server: s.mcp, Book: s.book, Request: req, Client: s.client(ctx),
			Visible: text.Visible, Progress: progress},
		Place:    s.place,
		Progress: progress,
	})
	s.log.Debug("a call", "tool", req.Params.Name, "verdict", r.Verdict, "rule", r.Rule, "call", r.CallID,
		"read", read, "decision", r.Decision, "took", time.Since(began))
	if r.Handback != nil {
		return elicitmcp.Result(r.Handback, text.Visible), nil
	}
	return toolResult(r), nil
}

// longName is how many characters of a client's name are kept.
const longName = 100

// client is what the client of a request calls itself, fit for the audit, the
// store and people: without secrets, hidden characters made visible, cut to what a
// line bears.
func (s *Server) client(ctx context.Context) string {
	name := elicitmcp.ClientName(ctx)
	name = strings.ToValidUTF8(name[:min(len(name), 64<<10)], "")
	if s.box.Redact != nil {
		name = s.box.Redact(name)
	}
	name = text.Redact(name) // before it is cut: half a secret has no shape
	if r := []rune(name); len(r) > longName {
		name = string(r[:longName]) + "…"
	}
	return text.Line(name)
}

// arguments are the arguments as the client sent them.
func arguments(req mcp.CallToolRequest) json.RawMessage {
	if raw := req.Params.RawArguments; len(raw) > 0 && string(raw) != "null" {
		return raw
	}
	return json.RawMessage("{}")
}

// refuse answers a call that does not get as far as the guard, and records it.
func (s *Server) refuse(ctx context.Context, req mcp.CallToolRequest, rule, reason, instead string) *mcp.CallToolResult {
	id := rand.Text()
	err := s.box.Audit.Append(&audit.Record{Event: audit.Decision, CallID: id, Tool: req.Params.Name,
		Client: s.client(ctx), Transport: transportOf(ctx), Session: sessionID(ctx), Principal: s.principal,
		Verdict: guard.VerdictDeny.String(), Rule: rule, Reason: reason})
	if err != nil {
		s.log.Error("a refusal was not recorded", "err", err)
	}
	said := fmt.Sprintf("blocked by safety guard: %s (%s)", reason, rule)
	if instead != "" {
		said += "\nInstead: " + instead
	}
	return toolResult(&tools.Result{Verdict: guard.VerdictDeny, Rule: rule, Reason: reason, Instead: instead,
		CallID: id, Text: said, IsError: true})
}

func toolResult(r *tools.Result) *mcp.CallToolResult {
	result := mcp.NewToolResultStructured(r, r.Text)
	result.IsError = r.IsError
	return result
}

// progress returns what tells the client how a call goes on, or nil where it
// did not ask for that. The numbers only ever grow.
func (s *Server) progress(ctx context.Context, req mcp.CallToolRequest) func(string) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return nil
	}
	var mu sync.Mutex
	sent := 0
	return func(message string) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil { // nothing more is said about a call that has ended
			return
		}
		sent++
		err := s.mcp.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), map[string]any{
			"progressToken": req.Params.Meta.ProgressToken, "progress": sent, "message": message})
		if err != nil {
			s.log.Debug("progress was not sent", "err", err)
		}
	}
}

// sessionID names the session of a request. The era without sessions has one
// over HTTP: a Server is one principal's.
func sessionID(ctx context.Context) string {
	if transportOf(ctx) == "http" && server.IsModernRequest(ctx) {
		return stateless
	}
	if s := server.ClientSessionFromContext(ctx); s != nil {
		return s.SessionID()
	}
	return ""
}

// callingKey marks the context of a request that calls a tool.
type callingKey struct{}

type transportKey struct{}

// overTransport notes over which transport a request came.
func overTransport(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, transportKey{}, name)
}

// transportOf is stdio, http or sse.
func transportOf(ctx context.Context) string {
	if name, ok := ctx.Value(transportKey{}).(string); ok {
		return name
	}
	return "stdio"
}

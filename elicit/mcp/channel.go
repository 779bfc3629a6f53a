// Package mcp asks a person through the MCP client that brought the call, in
// both protocol eras. Up to 2025-11-25 the server sends elicitation/create and
// the call waits; from 2026-07-28 the call ends with a sealed question, and the
// client calls again with the answer.
package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"handrail/elicit"
)

// AnswerKey is the name under which the question goes out and its answer comes
// back in an input_required result.
const AnswerKey = "approval"

// field is the one field of the form.
const field = "decision"

const (
	patience  = 45 * time.Second // where the question has no expiry
	heartbeat = 5 * time.Second  // between signs of life while a person thinks
)

// Channel reaches the person behind one request. It is made for that request
// and used for nothing else.
type Channel struct {
	Server  *server.MCPServer
	Book    *elicit.Book // of the server: it outlives the request
	Request protocol.CallToolRequest
	// Client is who answers, as the audit is to name it.
	Client string
	// Visible makes hidden characters of a call visible; see Question.Message.
	Visible func(string) string
	// Progress, where not nil, is told every few seconds that the call waits, so
	// that the client does not give it up.
	Progress func(message string)

	beat time.Duration // between two calls of Progress; zero means 5 s
}

// Ask asks, or reads the answer that the client brought along. What the client
// sends counts only under a state that was sealed for exactly this call; without
// one the question is asked, whatever answers lie beside it. In the older era
// answers that come with a call are not looked at.
func (c *Channel) Ask(ctx context.Context, q elicit.Question) (elicit.Answer, error) {
	a := elicit.Answer{Outcome: elicit.Unsupported, Choice: elicit.Deny, Channel: "mcp", Client: c.Client}
	if !Reachable(ctx) {
		return a, nil
	}
	if server.IsModernRequest(ctx) {
		return c.exchange(a, q)
	}
	return c.wait(ctx, a, q)
}

// exchange is the era of 2026-07-28: hand the question over, or redeem it.
func (c *Channel) exchange(a elicit.Answer, q elicit.Question) (elicit.Answer, error) {
	p := c.Request.Params
	if _, answered := p.InputResponses[AnswerKey]; answered {
		// The state is used up before the answer is looked at.
		if asked, err := c.Book.Redeem(p.RequestState, q); err == nil {
			a.Took = time.Since(asked)
			if r := server.ElicitationResponse(p.InputResponses, AnswerKey); r != nil {
				a.Outcome, a.Choice = meaning(q, r.ElicitationResponse)
			} else {
				a.Outcome = elicit.Declined // an answer that cannot be read
			}
			return a, nil
		}
	}
	state, err := c.Book.Seal(q)
	if err != nil {
		return a, err
	}
	a.Outcome, a.Handback = elicit.Pending, &elicit.Handback{State: state, Question: q}
	return a, nil
}

// wait is the era of the session: ask inside the call, for as long as the
// question holds.
func (c *Channel) wait(ctx context.Context, a elicit.Answer, q elicit.Question) (elicit.Answer, error) {
	deadline := q.Expires
	if deadline.IsZero() {
		deadline = time.Now().Add(patience)
	}
	asking, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if c.Progress != nil {
		go c.keepAlive(asking)
	}
	start := time.Now()
	form := Form(q, c.Visible)
	form.Message += fmt.Sprintf("\nWithout an answer within %d seconds nothing runs.\n", max(1, int(time.Until(deadline).Round(time.Second).Seconds())))
	r, err := c.Server.RequestElicitation(asking, protocol.ElicitationRequest{Params: form})
	a.Took = time.Since(start)
	switch {
	case err != nil && asking.Err() != nil: // too late, or the call itself has ended
		a.Outcome = elicit.NoAnswer
		return a, nil
	case err != nil: // also "method not found" from a client that declared it
		return a, fmt.Errorf("asking through the client: %w", err)
	case r == nil:
		return a, nil
	}
	a.Outcome, a.Choice = meaning(q, r.ElicitationResponse)
	return a, nil
}

func (c *Channel) keepAlive(ctx context.Context) {
	t := time.NewTicker(cmp.Or(c.beat, heartbeat))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			c.Progress("waiting for approval")
		}
	}
}

// Form is the question as a form: one required choice without a default, since
// clients exist that accept forms and fill in defaults by themselves.
func Form(q elicit.Question, visible func(string) string) protocol.ElicitationParams {
	var means []string
	choices := q.Choices()
	for _, c := range choices {
		means = append(means, fmt.Sprintf("%s: %s", c, c.Means()))
	}
	return protocol.ElicitationParams{
		Mode:    protocol.ElicitationModeForm,
		Message: q.Message(visible),
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{field: map[string]any{
				"type": "string", "title": "Decision", "enum": choices,
				"description": strings.Join(means, "; "),
			}},
			"required": []string{field},
		},
	}
}

// Result is a question that was handed back, as the client wants it.
func Result(h *elicit.Handback, visible func(string) string) *protocol.CallToolResult {
	return server.NewInputRequestBuilder(h.State).Elicit(AnswerKey, Form(h.Question, visible)).ToolResult()
}

// meaning trusts nothing: actions and content come as the client sent them.
// Approved needs an accept and exactly one of the question's positive words.
func meaning(q elicit.Question, r protocol.ElicitationResponse) (elicit.Outcome, elicit.Choice) {
	switch r.Action {
	case protocol.ElicitationResponseActionAccept:
		content, _ := r.Content.(map[string]any)
		word, _ := content[field].(string)
		if c := elicit.Choice(word); q.Allows(c) {
			return elicit.Approved, c
		}
	case protocol.ElicitationResponseActionCancel:
		return elicit.Dismissed, elicit.Deny
	}
	return elicit.Declined, elicit.Deny
}

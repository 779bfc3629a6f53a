package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"handrail/elicit"
)

var question = elicit.Question{Tool: "probe", Digest: "d", Dir: "/srv/app", Command: "git push --force\u202e"}

// person answers with what it holds; a nil answer never comes, and an error is
// what the client says instead.
type person struct {
	answer *protocol.ElicitationResponse
	err    error
	seen   atomic.Pointer[protocol.ElicitationParams]
}

func (p *person) Elicit(ctx context.Context, r protocol.ElicitationRequest) (*protocol.ElicitationResult, error) {
	p.seen.Store(&r.Params)
	if p.err != nil {
		return nil, p.err
	}
	if p.answer == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &protocol.ElicitationResult{ElicitationResponse: *p.answer}, nil
}

// ask has the library's client call a tool that asks q, over the library's own
// stdio transport on pipes, and returns what Ask came to in the end.
func ask(t *testing.T, modern bool, who *person, q elicit.Question, change func(*Channel)) (answer elicit.Answer, asked int, failed error) {
	t.Helper()
	s := server.NewMCPServer("test", "1")
	book := elicit.NewBook()
	s.AddTool(protocol.NewTool("probe"), func(ctx context.Context, req protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		c := &Channel{Server: s, Book: book, Request: req, Client: ClientName(ctx)}
		if change != nil {
			change(c)
		}
		asked++
		answer, failed = c.Ask(ctx, q)
		if answer.Outcome == elicit.Pending {
			return Result(answer.Handback, nil), nil
		}
		return protocol.NewToolResultText("done"), nil
	})
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.NewStdioServer(s).Listen(ctx, in, out)
		out.Close()
	}()
	var options []client.ClientOption
	if who != nil {
		options = append(options, client.WithElicitationHandler(who))
	}
	if !modern {
		//lint:ignore SA1019 the older era is what is tested here
		options = append(options, client.WithLegacyProtocolOnly())
	}
	c := client.NewClient(transport.NewIO(fromServer, toServer, nil), options...)
	defer func() { c.Close(); toServer.Close(); <-ended }()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var hello protocol.InitializeRequest
	hello.Params.ProtocolVersion = protocol.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = protocol.Implementation{Name: "library", Version: strings.Repeat("1", 500)}
	if _, err := c.Initialize(ctx, hello); err != nil {
		t.Fatal(err)
	}
	var call protocol.CallToolRequest
	call.Params.Name = "probe"
	if _, err := c.CallTool(ctx, call); err != nil {
		t.Fatal(err)
	}
	return answer, asked, failed
}

func TestAsk(t *testing.T) {
	yes := map[string]any{"decision": "allow for this session"}
	for name, tt := range map[string]struct {
		who     *person
		outcome elicit.Outcome
		choice  elicit.Choice
	}{
		"approved":     {&person{answer: &protocol.ElicitationResponse{Action: "accept", Content: yes}}, elicit.Approved, elicit.AllowSession},
		"empty accept": {&person{answer: &protocol.ElicitationResponse{Action: "accept", Content: map[string]any{}}}, elicit.Declined, elicit.Deny},
		"declined":     {&person{answer: &protocol.ElicitationResponse{Action: "decline", Content: yes}}, elicit.Declined, elicit.Deny},
		"dismissed":    {&person{answer: &protocol.ElicitationResponse{Action: "cancel", Content: yes}}, elicit.Dismissed, elicit.Deny},
		"nobody":       {nil, elicit.Unsupported, elicit.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			for _, modern := range []bool{false, true} {
				a, asked, err := ask(t, modern, tt.who, question, nil)
				if err != nil || a.Outcome != tt.outcome || a.Choice != tt.choice || a.Channel != "mcp" {
					t.Errorf("modern %v: %+v, %v", modern, a, err)
				}
				if !strings.HasPrefix(a.Client, "library 111") {
					t.Errorf("modern %v: the client is %q", modern, a.Client)
				}
				rounds := 1
				if modern && tt.who != nil {
					rounds = 2 // the question goes out, the answer comes in
				}
				if asked != rounds {
					t.Errorf("modern %v: the call came %d times, want %d", modern, asked, rounds)
				}
				if tt.who == nil {
					continue
				}
				if a.Took <= 0 {
					t.Errorf("modern %v: it took %v", modern, a.Took)
				}
				seen := tt.who.seen.Load()
				if !strings.Contains(seen.Message, `git push --force\u{202e}`) {
					t.Errorf("modern %v: the person read %q", modern, seen.Message)
				}
				if hint := strings.Contains(seen.Message, "Without an answer within"); hint == modern {
					t.Errorf("modern %v: the person read %q", modern, seen.Message)
				}
			}
		})
	}
}

// Always is an answer only where it was a choice, and the form names what it is.
func TestAskAlways(t *testing.T) {
	always := &person{answer: &protocol.ElicitationResponse{Action: "accept", Content: map[string]any{"decision": "always allow this"}}}
	for _, modern := range []bool{false, true} {
		if a, _, err := ask(t, modern, always, question, nil); err != nil || a.Outcome != elicit.Declined || a.Choice != elicit.Deny {
			t.Errorf("modern %v: it was no choice, and yet: %+v, %v", modern, a, err)
		}
		q := question
		q.Always = "`git push` in /srv/app; until May"
		if a, _, err := ask(t, modern, always, q, nil); err != nil || a.Outcome != elicit.Approved || a.Choice != elicit.AllowAlways {
			t.Errorf("modern %v: %+v, %v", modern, a, err)
		}
		seen := always.seen.Load()
		schema, _ := json.Marshal(seen.RequestedSchema)
		if !strings.Contains(seen.Message, q.Always) || !strings.Contains(string(schema), `"allow for this session","always allow this"]`) || strings.Contains(string(schema), "default") {
			t.Errorf("modern %v: the person read %q, %s", modern, seen.Message, schema)
		}
	}
}

func TestAskInVain(t *testing.T) {
	q := question
	q.Expires = time.Now().Add(100 * time.Millisecond)
	var told atomic.Int32
	a, _, err := ask(t, false, &person{}, q, func(c *Channel) {
		c.beat, c.Progress = 10*time.Millisecond, func(string) { told.Add(1) }
	})
	if err != nil || a.Outcome != elicit.NoAnswer {
		t.Errorf("silence: %+v, %v", a, err)
	}
	if told.Load() == 0 {
		t.Error("the client was not told that the call waits")
	}
	a, _, err = ask(t, false, &person{err: errors.New("no forms here")}, question, nil)
	if err == nil || a.Outcome != elicit.Unsupported {
		t.Errorf("a client that cannot after all: %+v, %v", a, err)
	}
}

// A transport that carries no questions reaches nobody, whatever the client
// declared.
func TestTransportWithoutQuestions(t *testing.T) {
	s := server.NewMCPServer("test", "1")
	var got elicit.Answer
	s.AddTool(protocol.NewTool("probe"), func(ctx context.Context, req protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		var err error
		got, err = (&Channel{Server: s, Book: elicit.NewBook(), Request: req}).Ask(ctx, question)
		return protocol.NewToolResultText("done"), err
	})
	s.HandleMessage(context.Background(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe"}}`))
	if got.Outcome != elicit.Unsupported {
		t.Errorf("%+v", got)
	}
}

func TestFormHasNoDefault(t *testing.T) {
	b, err := json.Marshal(Form(question, nil).RequestedSchema)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); strings.Contains(s, "default") || !strings.Contains(s, `"enum":["deny","allow once","allow for this session"]`) || !strings.Contains(s, `"required":["decision"]`) {
		t.Error(s)
	}
}

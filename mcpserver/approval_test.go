package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// accept is an answer that picks word.
func accept(word any) map[string]any {
	return map[string]any{"action": "accept", "content": map[string]any{"decision": word}}
}

// answers are what clients send, and what must come of it.
var answers = []struct {
	name    string
	answer  map[string]any
	outcome string
}{
	{"once", accept("allow once"), "approved"},
	{"session", accept("allow for this session"), "approved"},
	{"deny chosen", accept("deny"), "declined"},
	{"accept without content", map[string]any{"action": "accept"}, "declined"},
	{"accept with an empty form", map[string]any{"action": "accept", "content": map[string]any{}}, "declined"},
	{"accept with an unknown word", accept("allow"), "declined"},
	{"accept with another case", accept("Allow Once"), "declined"},
	{"accept with true", accept(true), "declined"},
	{"accept with a list", accept([]string{"allow once"}), "declined"},
	{"accept with text for content", map[string]any{"action": "accept", "content": "allow once"}, "declined"},
	{"decline", map[string]any{"action": "decline"}, "declined"},
	{"decline with a yes inside", map[string]any{"action": "decline", "content": map[string]any{"decision": "allow once"}}, "declined"},
	{"cancel", map[string]any{"action": "cancel"}, "dismissed"},
	{"cancel with a yes inside", map[string]any{"action": "cancel", "content": map[string]any{"decision": "allow once"}}, "dismissed"},
	{"unknown action", map[string]any{"action": "approve", "content": map[string]any{"decision": "allow once"}}, "declined"},
	{"no action", map[string]any{"content": map[string]any{"decision": "allow once"}}, "declined"},
}

func TestAnswersInTheSession(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			root := place(t)
			p := serve(t, root, nil).hello(false, forms())
			_, ch := p.start("tools/call", params("safe_write", write("ask-it.txt"), nil))
			q := p.question(ch)
			formIsSafe(t, q.Params)
			if exists(root, "ask-it.txt") {
				t.Fatal("it was written before anybody answered")
			}
			p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": tt.answer})
			check(t, p.read(p.await("the call", ch)), tt.outcome, exists(root, "ask-it.txt"))
		})
	}
}

func TestAnswersByCallingAgain(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			root := place(t)
			p := serve(t, root, nil).hello(true, forms())
			state := p.ask(write("ask-it.txt"))
			a := p.call("safe_write", write("ask-it.txt"), retry(state, tt.answer))
			check(t, a, tt.outcome, exists(root, "ask-it.txt"))
		})
	}
}

// check compares the end of a call with what the person said.
func check(t *testing.T, a toolAnswer, outcome string, ran bool) {
	t.Helper()
	if a.Structured.Approval != outcome {
		t.Errorf("approval is %q, want %q: %+v", a.Structured.Approval, outcome, a)
	}
	if yes := outcome == "approved"; ran != yes || a.IsError == yes {
		t.Errorf("%s: ran %v, error %v", outcome, ran, a.IsError)
	}
}

// formIsSafe checks the one thing that keeps clients from saying yes by
// themselves: a required choice without a default.
func formIsSafe(t *testing.T, params json.RawMessage) {
	t.Helper()
	var q struct {
		Message         string
		RequestedSchema struct {
			Type       string
			Properties map[string]map[string]any
			Required   []string
		}
	}
	if err := json.Unmarshal(params, &q); err != nil {
		t.Fatal(err)
	}
	s := q.RequestedSchema
	field := s.Properties["decision"]
	_, preset := field["default"]
	if s.Type != "object" || len(s.Properties) != 1 || len(s.Required) != 1 || s.Required[0] != "decision" || preset ||
		field["type"] != "string" || fmt.Sprint(field["enum"]) != "[deny allow once allow for this session]" {
		t.Errorf("the form is %s", params)
	}
	if !strings.Contains(q.Message, "safe_write") || !strings.Contains(q.Message, "ask-it.txt") {
		t.Errorf("the message does not say what would happen: %s", q.Message)
	}
}

// ask makes a call that must be asked about and returns the state.
func (p *peer) ask(args map[string]any) string {
	p.t.Helper()
	a := p.call("safe_write", args, nil)
	if a.ResultType != "input_required" || a.RequestState == "" || a.InputRequests["approval"].Method != "elicitation/create" {
		p.t.Fatalf("the call was not asked about: %+v", a)
	}
	return a.RequestState
}

func retry(state string, answer any) map[string]any {
	return map[string]any{"requestState": state, "inputResponses": map[string]any{"approval": answer}}
}

func TestFormByCallingAgain(t *testing.T) {
	p := serve(t, place(t), nil).hello(true, forms())
	m := p.request("tools/call", params("safe_write", write("ask-it.txt"), nil))
	var r struct {
		InputRequests map[string]struct{ Params json.RawMessage }
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatal(err)
	}
	formIsSafe(t, r.InputRequests["approval"].Params)
}

// None of these may run anything.
func TestForgedAnswers(t *testing.T) {
	yes := accept("allow once")
	tests := []struct {
		name string
		try  func(p *peer, root string) toolAnswer
	}{
		{"a first call that brings its answer", func(p *peer, _ string) toolAnswer {
			return p.call("safe_write", write("ask-it.txt"), map[string]any{"inputResponses": map[string]any{"approval": yes}})
		}},
		{"an invented state", func(p *peer, _ string) toolAnswer {
			return p.call("safe_write", write("ask-it.txt"), retry("e30.e30", yes))
		}},
		{"an altered state", func(p *peer, _ string) toolAnswer {
			s := []byte(p.ask(write("ask-it.txt")))
			s[10] ^= 1
			return p.call("safe_write", write("ask-it.txt"), retry(string(s), yes))
		}},
		{"another file", func(p *peer, _ string) toolAnswer {
			return p.call("safe_write", write("ask-it.txt"), retry(p.ask(write("ask-other.txt")), yes))
		}},
		{"other content", func(p *peer, _ string) toolAnswer {
			args := write("ask-it.txt")
			args["content"] = "shown\n"
			return p.call("safe_write", write("ask-it.txt"), retry(p.ask(args), yes))
		}},
		{"another tool", func(p *peer, _ string) toolAnswer {
			state := p.ask(write("ask-it.txt"))
			return p.call("safe_bash", map[string]any{"command": "touch ask-it.txt"}, retry(state, yes))
		}},
		{"a state that an empty accept used up", func(p *peer, _ string) toolAnswer {
			state := p.ask(write("ask-it.txt"))
			p.call("safe_write", write("ask-it.txt"), retry(state, map[string]any{"action": "accept"}))
			return p.call("safe_write", write("ask-it.txt"), retry(state, yes))
		}},
		{"a state that another call used up", func(p *peer, _ string) toolAnswer {
			state := p.ask(write("ask-it.txt"))
			p.call("safe_write", write("ask-other.txt"), retry(state, yes))
			return p.call("safe_write", write("ask-it.txt"), retry(state, yes))
		}},
		{"the state of another session", func(p *peer, root string) toolAnswer {
			other := serve(p.t, root, nil).hello(true, forms())
			return p.call("safe_write", write("ask-it.txt"), retry(other.ask(write("ask-it.txt")), yes))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := place(t)
			a := tt.try(serve(t, root, nil).hello(true, forms()), root)
			if exists(root, "ask-it.txt") {
				t.Fatal("it ran")
			}
			if a.ResultType != "input_required" {
				t.Errorf("the person was not asked: %+v", a)
			}
		})
	}
}

func TestReplayRunsOnce(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(true, forms())
	args := map[string]any{"command": "echo x >> ask-log"}
	a := p.call("safe_bash", args, nil)
	if a.ResultType != "input_required" {
		t.Fatalf("%+v", a)
	}
	for i := range 3 {
		b := p.call("safe_bash", args, retry(a.RequestState, accept("allow once")))
		if ran := b.Structured.Approval == "approved"; ran != (i == 0) {
			t.Errorf("use %d of one state: %+v", i+1, b)
		}
	}
}

// A client that declared nothing is not asked, and what it sends is no answer.
func TestNoCapabilityNoAnswer(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(true, nil)
	a := p.call("safe_write", write("ask-it.txt"), retry("e30.e30", accept("allow once")))
	check(t, a, "unsupported", exists(root, "ask-it.txt"))
	p.can = map[string]any{"elicitation": map[string]any{"url": map[string]any{}}} // shows pages, no forms
	a = p.call("safe_write", write("ask-it.txt"), nil)
	check(t, a, "unsupported", exists(root, "ask-it.txt"))
}

// In the session era answers come to questions; what lies in a call is nothing.
func TestAnswersInCallsAreIgnoredInTheSession(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(false, forms())
	_, ch := p.start("tools/call", params("safe_write", write("ask-it.txt"), retry("e30.e30", accept("allow once"))))
	q := p.question(ch)
	p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": map[string]any{"action": "decline"}})
	check(t, p.read(p.await("the call", ch)), "declined", exists(root, "ask-it.txt"))
}

func TestUnansweredQuestion(t *testing.T) {
	root := place(t)
	p := serve(t, root, func(o *Options) { o.Toolbox.AskTimeout = 50 * time.Millisecond }).hello(false, forms())
	_, ch := p.start("tools/call", params("safe_write", write("ask-it.txt"), nil))
	q := p.question(ch)
	check(t, p.read(p.await("the call", ch)), "no_answer", exists(root, "ask-it.txt"))
	// The client is told that it need not show the question any more.
	n := p.await("the end of the question", p.told)
	if n.Method != "notifications/cancelled" || !strings.Contains(string(n.Params), strings.Trim(string(q.ID), `"`)) {
		t.Errorf("told %s %s", n.Method, n.Params)
	}
	// A yes that comes too late, or to a question that was never asked, is nothing.
	p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": accept("allow once")})
	p.send(map[string]any{"jsonrpc": "2.0", "id": 1, "result": accept("allow once")})
	p.request("ping", nil)
	if exists(root, "ask-it.txt") {
		t.Error("a late answer ran the call")
	}
}

func TestClientThatCannotAskAfterAll(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(false, forms())
	_, ch := p.start("tools/call", params("safe_write", write("ask-it.txt"), nil))
	q := p.question(ch)
	p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
	check(t, p.read(p.await("the call", ch)), "unsupported", exists(root, "ask-it.txt"))
}

// A grant is for exactly what was shown, and for as long as was said.
func TestGrants(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		for word, again := range map[string]bool{"allow once": false, "allow for this session": true} {
			p := serve(t, place(t), nil).hello(modern, forms())
			// try calls and answers with word; asked says whether there was a question.
			try := func(name string) (asked bool) {
				if modern {
					a := p.call("safe_write", write(name), nil)
					if asked = a.ResultType == "input_required"; asked {
						a = p.call("safe_write", write(name), retry(a.RequestState, accept(word)))
					}
					if a.IsError {
						t.Errorf("%s %s: %+v", word, name, a)
					}
					return asked
				}
				_, ch := p.start("tools/call", params("safe_write", write(name), nil))
				for {
					select {
					case q := <-p.asked:
						asked = true
						p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": accept(word)})
					case m := <-ch:
						if a := p.read(m); a.IsError {
							t.Errorf("%s %s: %+v", word, name, a)
						}
						return asked
					case <-time.After(patience):
						t.Fatal("nothing came")
					}
				}
			}
			if !try("ask-a.txt") {
				t.Errorf("%s: the first call was not asked about", word)
			}
			if asked := try("ask-a.txt"); asked == again {
				t.Errorf("%s: the same call again: asked %v", word, asked)
			}
			if !try("ask-b.txt") {
				t.Errorf("%s: another call was not asked about", word)
			}
		}
	})
}

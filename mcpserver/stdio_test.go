package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestWhatIsNoRequest(t *testing.T) {
	p := serve(t, place(t), nil).hello(false, nil)
	for _, tt := range []struct{ line, id string }{
		{"garbage", "null"},
		{"[]", "null"},
		{`[{"jsonrpc":"2.0","id":70,"method":"ping"}]`, "null"},
		{`"x"`, "null"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null"},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null"},
		{`{"jsonrpc":"2.0","id":71}`, "71"},
		{`{"jsonrpc":"1.0","id":72,"method":"ping"}`, "72"},
		{`{"jsonrpc":"2.0","id":73,"method":7}`, "null"},
		{`{"jsonrpc":"2.0","id":74,"method":"no/such"}`, "74"},
		{`{"jsonrpc":"2.0","id":75,"method":"tools/call","params":[]}`, "75"},
		{`{"jsonrpc":"2.0","id":76,"method":"tools/call","params":{"name":"safe_read","arguments":` + strings.Repeat("[", 100000), "null"},
	} {
		p.send(tt.line)
		m := p.await(tt.line[:min(len(tt.line), 40)], p.told)
		if m.Error == nil || string(m.ID) != tt.id && !(tt.id == "null" && m.ID == nil) {
			t.Errorf("%.60s: answered %+v, want an error with id %s", tt.line, m, tt.id)
		}
	}
	for _, quiet := range []string{"", "   ", "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}", `{"jsonrpc":"2.0","id":"handrail-x","result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`, `{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"safe_read","arguments":{}}}`} {
		p.send(quiet)
	}
	if m := p.request("ping", nil); m.Error != nil {
		t.Error(m.Error)
	}
	select {
	case m := <-p.told:
		t.Errorf("answered what asked for no answer: %+v", m)
	default:
	}
}

// What can be read in two ways is not done in either: who watches the wire must
// see the call that runs.
func TestAmbiguousMessages(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(false, nil)
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{` + params + `}}`
	}
	good, evil := `"arguments":{"path":"good","content":""}`, `{"path":"evil","content":""}`
	for _, line := range []string{
		call(`"name":"safe_write",` + good + `,"arguments":` + evil),
		call(`"name":"safe_write",` + good + `,"Arguments":` + evil),
		call(`"name":"safe_write",` + good + `,"argument\u017f":` + evil),
		call(`"name":"safe_read","NAME":"safe_write","arguments":` + evil),
		call(`"name":"safe_read","name":"safe_write","arguments":` + evil),
		`{"jsonrpc":"2.0","id":90,"method":"ping","METHOD":"tools/call","params":{"name":"safe_write","arguments":` + evil + `}}`,
		`{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{},"Params":{"name":"safe_write","arguments":` + evil + `}}`,
		`{"jsonrpc":"2.0","id":90,"id":91,"method":"tools/call","params":{"name":"safe_write","arguments":` + evil + `}}`,
	} {
		p.send(line)
		if m := p.await(line, p.told); m.Error == nil || m.Error.Code != mcp.INVALID_REQUEST {
			t.Errorf("%s: answered %+v", line, m)
		}
	}
	for _, name := range []string{"good", "evil"} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

func TestLongLines(t *testing.T) {
	p := serve(t, place(t), nil).hello(false, nil)
	long := strings.Repeat("x", maxLine)
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":50,"method":"ping","params":{"x":"` + long + `"}}`:                                 "50",
		`{"method":"ping","params":{"x":"` + long + `"},"jsonrpc":"2.0","id":"abc"}`:                              `"abc"`,
		`{"method":"ping","params":{"x":"` + long + `","id":7}}`:                                                  "null",
		`{"method":"ping","id":8,"params":{"x":"\"id\":9` + long + `","jsonrpc":"2.0","z":{"y":"\",\"id\":9}"}}}`: "null",
		long: "null",
	} {
		p.send(line)
		m := p.await("the refusal", p.told)
		got := string(m.ID)
		if got == "" {
			got = "null"
		}
		if m.Error == nil || got != id {
			t.Errorf("%.60s: answered %+v, want an error with id %s", line, m, id)
		}
	}
	// A line just below the limit is read.
	fits := `{"jsonrpc":"2.0","id":60,"method":"ping","params":{"x":"`
	p.send(fits + long[:maxLine-len(fits)-3] + `"}}`)
	if m := p.await("ping", p.told); m.Error != nil || string(m.ID) != "60" {
		t.Errorf("%+v", m)
	}
}

func TestIDsInUse(t *testing.T) {
	root := place(t)
	p := serve(t, root, nil).hello(false, nil)
	pid, id, ch := sleeper(p, root)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
	if m := p.await("the refusal", ch); m.Error == nil {
		t.Errorf("a second request with an id in use: %s", m.Result)
	}
	// The same digits as a string are another id, and cancelling it leaves the
	// first alone.
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%d"}}`, id))
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"ping"}`, id))
	if m := p.await("ping", p.told); m.Error != nil {
		t.Errorf("%+v", m)
	}
	if !alive(pid) {
		t.Error("cancelling another id ended the call")
	}
	p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}})
	until(t, "the command ends", func() bool { return !alive(pid) })
}

// 200 calls need a person and nobody answers: the server still lives, and what
// goes over the cap is refused at once.
func TestManyQuestions(t *testing.T) {
	const calls = 200
	for name, waiting := range map[string]int{"default cap": 0, "no cap": 1000} {
		t.Run(name, func(t *testing.T) {
			root := place(t)
			p := serve(t, root, func(o *Options) { o.Toolbox.Waiting = waiting }).hello(false, forms())
			var responses []chan wireMessage
			for i := range calls {
				_, ch := p.start("tools/call", params("safe_write", write(fmt.Sprintf("ask-%d.txt", i)), nil))
				responses = append(responses, ch)
			}
			open := 16
			if waiting > 0 {
				open = maxTools // the rest waits for a place
			}
			var questions []wireMessage
			for range open {
				questions = append(questions, p.await("a question", p.asked))
			}
			if m := p.request("ping", nil); m.Error != nil {
				t.Errorf("ping: %v", m.Error)
			}
			if m := p.request("tools/list", nil); m.Error != nil {
				t.Errorf("tools/list: %v", m.Error)
			}
			if waiting == 0 {
				if a := p.call("safe_write", write("plain.txt"), nil); a.IsError || !exists(root, "plain.txt") {
					t.Errorf("a call that needs nobody: %+v", a)
				}
			}
			if waiting == 0 { // an answer makes room for a call that was not looked at yet
				until(t, "what goes over the cap is refused", func() bool {
					refused := 0
					for _, ch := range responses {
						refused += len(ch)
					}
					return refused == calls-open
				})
			}
			answer := func(q wireMessage) {
				p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": accept("allow once")})
			}
			for _, q := range questions {
				answer(q)
			}
			if waiting > 0 {
				for range calls - open {
					answer(p.await("a question", p.asked))
				}
			}
			ran, refused := 0, 0
			for _, ch := range responses {
				a := p.read(p.await("a call", ch))
				switch {
				case !a.IsError:
					ran++
				case strings.Contains(a.text(), "Too many questions"):
					refused++
				default:
					t.Errorf("%+v", a)
				}
			}
			want := calls
			if waiting == 0 {
				want = open
			}
			if ran != want || ran+refused != calls {
				t.Errorf("%d ran, %d were refused", ran, refused)
			}
		})
	}
}

func TestTooManyRequests(t *testing.T) {
	p := serve(t, place(t), func(o *Options) { o.Toolbox.Waiting = 1000 }).hello(false, forms())
	for i := range maxCalls { // of these some wait for a person, the others for a place
		p.start("tools/call", params("safe_write", write(fmt.Sprintf("ask-%d.txt", i)), nil))
	}
	if m := p.request("ping", nil); m.Error == nil || !strings.Contains(m.Error.Message, "too many") {
		t.Errorf("%+v", m)
	}
}

func TestPanicHarmsNothingElse(t *testing.T) {
	root := place(t)
	box, err := toolbox(filepath.Join(filepath.Dir(root), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Toolbox: box, Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	s.mcp.AddTool(mcp.NewTool("boom"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })
	s.mcp.AddNotificationHandler("notifications/boom", func(context.Context, mcp.JSONRPCNotification) { panic("boom") })
	p := connect(t, s).hello(false, nil)
	p.send(`{"jsonrpc":"2.0","method":"notifications/boom"}`)
	if m := p.request("tools/call", params("boom", nil, nil)); m.Error == nil || strings.Contains(m.Error.Message, "goroutine") {
		t.Errorf("%+v", m)
	}
	s.space = nil // whatever a call meets
	if a := p.call("safe_write", write("x.txt"), nil); !a.IsError || a.Structured.Rule != "guard/error" || exists(root, "x.txt") {
		t.Errorf("%+v", a)
	}
	s.space = &workspace{fixed: []string{root}, sessions: map[string]*clientRoots{}}
	if a := p.call("safe_write", write("y.txt"), nil); a.IsError {
		t.Errorf("after the panics: %+v", a)
	}
}

func TestProgress(t *testing.T) {
	eras(t, func(t *testing.T, modern bool) {
		p := serve(t, place(t), nil).hello(modern, nil)
		a := p.call("safe_bash", map[string]any{"command": "for i in 1 2 3 4; do echo $i; sleep 0.4; done"},
			map[string]any{"_meta": map[string]any{"progressToken": "tok"}})
		if a.IsError {
			t.Fatalf("%+v", a)
		}
		last := 0.0
		for n := 0; ; n++ {
			select {
			case m := <-p.told:
				var got struct {
					ProgressToken string
					Progress      float64
					Message       string
				}
				if err := json.Unmarshal(m.Params, &got); err != nil || m.Method != "notifications/progress" || got.ProgressToken != "tok" || got.Progress <= last || got.Message == "" {
					t.Errorf("%v: %s %s", err, m.Method, m.Params)
				}
				last = got.Progress
				continue
			default:
			}
			if n == 0 {
				t.Error("no progress was told")
			}
			return
		}
	})
}

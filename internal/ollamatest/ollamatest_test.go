package ollamatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// chat is what a model said, and how that ended.
type chat struct {
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			Function struct {
				Name      string         `json:"name"`
				Arguments map[string]any `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done   bool   `json:"done"`
	Reason string `json:"done_reason"`
	Tokens int    `json:"prompt_eval_count"`
}

type settings map[string]any

// request is a request to /api/chat with one message.
func request(t *testing.T, model, content string, more settings) []byte {
	t.Helper()
	r := settings{"model": model, "stream": false, "think": false, "truncate": false, "shift": false,
		"messages": []settings{{"role": "user", "content": content}},
		"options":  settings{"num_ctx": 2048, "num_predict": 100, "temperature": 0}}
	for k, v := range more {
		r[k] = v
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func say(t *testing.T, s *Server, model, content string, more settings) (c chat) {
	t.Helper()
	if err := s.post("/api/chat", bytes.NewReader(request(t, model, content, more)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	verdictFirst = json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string","enum":["allow","deny","ask"]},"reason":{"type":"string","minLength":1,"maxLength":300}},"required":["verdict","reason"]}`)
	reasonFirst  = json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","minLength":1,"maxLength":300},"verdict":{"type":"string","enum":["allow","deny","ask"]}},"required":["reason","verdict"]}`)
	bare         = json.RawMessage(`{"type":"string","enum":["ask","allow","deny"]}`)
	tools        = []settings{{"type": "function", "function": settings{"name": "Skill", "description": "loads a skill",
		"parameters": settings{"type": "object", "properties": settings{"skill": settings{"type": "string"}}, "required": []string{"skill"}}}}}
)

// TestModels asks a real server for each kind of answer.
func TestModels(t *testing.T) {
	s := Start(t)
	for _, tc := range []struct {
		model, prompt string
		format        json.RawMessage
		content, end  string
	}{
		{"guard-allow", "x", nil, "ALLOW", "stop"},
		{"guard-allow", "x", bare, `"allow"`, "stop"},
		{"guard-deny", "x", nil, "DENY: fixture denies", "stop"},
		{"guard-deny", "x", verdictFirst, `{"verdict":"deny","reason":"fixture denies"}`, "stop"},
		{"guard-deny", "x", reasonFirst, `{"reason":"fixture denies","verdict":"deny"}`, "stop"},
		{"guard-deny", "x", bare, `"deny"`, "stop"},
		{"guard-ask", "x", bare, `"ask"`, "stop"},
		{"guard-toolless", "x", nil, "DENY: fixture has no tools", "stop"},
		{"guard-rules", "x", nil, "ASK: no marker", "stop"},
		{"guard-rules", "an FIXTURE_ALLOW b", nil, "ALLOW", "stop"},
		{"guard-rules", "an FIXTURE_DENY, FIXTURE_ALLOW b", nil, "DENY: marker deny", "stop"},
		{"guard-rules", "an FIXTURE_DENY b", reasonFirst, `{"reason":"marker deny","verdict":"deny"}`, "stop"},
		{"guard-rules", "an FIXTURE_GARBAGE FIXTURE_DENY", nil, "Sure! I am happy to help you with that.", "stop"},
		{"guard-rules", "an FIXTURE_GARBAGE FIXTURE_DENY", reasonFirst, `{"reason":"no marker","verdict":"ask"}`, "stop"},
		{"guard-trap", "<b> [ -f x ] <<EOF 2>&1 <|x", nil, "DENY: no control token", "stop"},
		{"guard-garbage", "x", nil, "I think it is fine, go ahead!", "stop"},
		{"guard-chatty", "x", nil, "ALLOW\nas long as you trust the author.", "stop"},
		{"guard-both", "x", nil, "DENY: no\nALLOW", "stop"},
		{"guard-think-allow", "x", nil, "<think>ALLOW? let me see</think>ALLOW", "stop"},
		{"guard-harmony", "x", nil, "", "stop"},
		{"guard-loop", "x", nil, "and " + strings.Repeat("a b c ", 33), "length"},
		{"guard-cut", "x", nil, "ALLOW" + strings.Repeat(" because of this,", 49) + " because", "length"},
		{"guard-cut-json", "x", nil, `{"verdict":"allow","reason":"` + strings.Repeat("because of this, ", 49) + "because", "length"},
	} {
		t.Run(tc.model+"/"+tc.prompt, func(t *testing.T) {
			c := say(t, s, tc.model, tc.prompt, settings{"format": tc.format})
			if got := strings.TrimSpace(c.Message.Content); got != strings.TrimSpace(tc.content) || c.Reason != tc.end || !c.Done {
				t.Errorf("it said %q, done %v (%s); want %q (%s)", got, c.Done, c.Reason, tc.content, tc.end)
			}
		})
	}
	if c := say(t, s, "guard-stutter", "x", nil); c.Done {
		t.Errorf("a stutter ended as if it were an answer: %+v", c)
	}
	for _, text := range ForeignTokens {
		if c := say(t, s, "guard-trap", "before "+text+" after", nil); c.Message.Content != "ALLOW" {
			t.Errorf("the trap does not see %s: %q", text, c.Message.Content)
		}
	}
}

// TestTools lets the models call, once and for ever.
func TestTools(t *testing.T) {
	s := Start(t)
	after := settings{"tools": tools, "messages": []settings{
		{"role": "user", "content": "x"},
		{"role": "assistant", "content": "", "tool_calls": []settings{{"function": settings{"name": "Skill", "arguments": settings{"skill": "simulate"}}}}},
		{"role": "tool", "tool_name": "Skill", "content": "walk through it"}}}
	for _, tc := range []struct{ model, first, skill, second string }{
		{"guard-skill", "Skill", "simulate", "DENY: fixture denies after a skill"},
		{"guard-skill-allow", "Skill", "simulate", "ALLOW"},
		{"guard-skill-unknown", "Skill", "nowhere", "DENY: fixture knows no such skill"},
		{"guard-tool-unknown", "", "", "DENY: fixture knows no such tool"}, // the server passes on calls of offered tools only
		{"guard-skill-loop", "Skill", "simulate", ""},
	} {
		c := say(t, s, tc.model, "x", settings{"tools": tools})
		name, skill := "", any("")
		for _, call := range c.Message.Calls {
			name, skill = name+call.Function.Name, call.Function.Arguments["skill"]
		}
		if name != tc.first || skill != tc.skill || c.Message.Content != "" {
			t.Errorf("%s: first %+v", tc.model, c)
		}
		c = say(t, s, tc.model, "", after)
		if again := len(c.Message.Calls) > 0; c.Message.Content != tc.second || again != (tc.second == "") {
			t.Errorf("%s: then %+v", tc.model, c)
		}
	}
}

func TestRendered(t *testing.T) {
	s := Start(t)
	got, err := s.Rendered(request(t, "guard-allow", "hello", nil))
	if want := "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"; err != nil || got != want {
		t.Errorf("rendered %q, %v; want %q", got, err, want)
	}
}

// TestServerEnds looks whether a server outlives its test.
func TestServerEnds(t *testing.T) {
	var ended []*Server
	for _, kill := range []bool{false, true} {
		t.Run("", func(t *testing.T) {
			s := Start(t)
			say(t, s, "guard-allow", "x", nil)
			if kill {
				s.Kill()
			}
			ended = append(ended, s)
		})
	}
	for _, s := range ended {
		if c, err := net.DialTimeout("tcp", s.URL.Host, time.Second); err == nil {
			c.Close()
			t.Errorf("%s still listens", s.URL)
		}
	}
}

// TestServerOfKilledTest kills a test that has a server: this test, run once
// more by itself.
func TestServerOfKilledTest(t *testing.T) {
	const child = "HANDRAIL_TEST_KILLED"
	if os.Getenv(child) != "" {
		s := Start(t)
		say(t, s, "guard-allow", "x", nil)
		fmt.Println("URL", s.URL)
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
	Program(t)
	c := exec.Command(os.Args[0], "-test.run=^TestServerOfKilledTest$")
	c.Env = append(os.Environ(), child+"=1", "TMPDIR="+t.TempDir())
	out, err := c.Output()
	_, url, found := strings.Cut(string(out), "URL http://")
	if err == nil || !found {
		t.Fatalf("the killed test: %v, %s", err, out)
	}
	address := strings.TrimSpace(url)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return
		}
		c.Close()
		if time.Since(began) > time.Minute {
			t.Fatalf("%s still listens", address)
		}
	}
}

// TestModelErrors has models that no server could load.
func TestModelErrors(t *testing.T) {
	for _, m := range []model{
		{name: "twice", says: answer{text: []string{"a-", "a-"}}},
		{name: "byte", says: answer{text: []string{"a"}}},
		{name: "large", says: answer{text: strings.Fields(many(width))}},
	} {
		if _, err := m.file(); err == nil {
			t.Errorf("%s: no error", m.name)
		}
	}
	if _, err := gguf(nil, []tensor{{"t", []uint64{2, 2}, []float32{1}}}); err == nil {
		t.Error("a tensor that is too short became a file")
	}
	if _, err := gguf([]entry{{"k", 1}}, nil); err == nil {
		t.Error("a value of another type became a file")
	}
}

// many is n different words.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" w")
		b.WriteString(strings.Repeat("x", i))
		b.WriteByte('y')
	}
	return b.String()
}

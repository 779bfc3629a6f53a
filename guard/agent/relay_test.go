package agent_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"handrail/guard"
	"handrail/guard/agent"
	"handrail/guard/command"
	"handrail/guard/rules"
	"handrail/guard/shell"
	"handrail/internal/ollamatest"
	"handrail/skills"
)

// relay passes requests on to a real server. It keeps what was asked of the
// model and can spoil the answers.
type relay struct {
	url string

	mu    sync.Mutex
	chats [][]byte // bodies of requests to /api/chat that had messages
	// spoil answers the nth request for a chat, counted from 1, and reports
	// whether it did; nil: never.
	spoil func(n int, w http.ResponseWriter, r *http.Request) bool
}

func newRelay(t testing.TB, to *url.URL) *relay {
	l := &relay{}
	pass := httputil.NewSingleHostReverseProxy(to)
	pass.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { // cut as the server cut it
		panic(http.ErrAbortHandler)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var chat struct{ Messages []json.RawMessage }
		if r.URL.Path == "/api/chat" && json.Unmarshal(body, &chat) == nil && len(chat.Messages) > 0 {
			l.mu.Lock()
			l.chats = append(l.chats, body)
			n, spoil := len(l.chats), l.spoil
			l.mu.Unlock()
			if spoil != nil && spoil(n, w, r) {
				return
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// reset forgets the requests so far and lets spoil answer those to come.
func (l *relay) reset(spoil func(int, http.ResponseWriter, *http.Request) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chats, l.spoil = nil, spoil
}

// asked are the requests for a chat since the last reset.
func (l *relay) asked() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.chats)
}

// workplace is a workspace with the parts that judge calls in it.
type workplace struct {
	root   string
	reader *shell.Reader
	guard  *guard.Manager
}

func newWorkplace(t testing.TB) *workplace {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	table, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const home = "/home/dev"
	w := &workplace{root: root, reader: &shell.Reader{Table: table, Home: home, Env: map[string]string{"HOME": home, "PATH": "/usr/bin:/bin"}, Roots: []string{root}}}
	w.guard = &guard.Manager{}
	w.guard.Rules, w.guard.Default = rules.Standard(rules.Policy{Home: home})
	return w
}

// call is a call of safe_bash as it stands before the guard.
func (w *workplace) call(t testing.TB, command string) *guard.EvalContext {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return &guard.EvalContext{ToolName: "safe_bash", Input: input, WorkingDir: w.root, Roots: []string{w.root}, Facts: w.reader.Read(command, w.root)}
}

// with is the guard with a as its validator.
func (w *workplace) with(a *agent.Agent, fallback guard.Verdict) *guard.Manager {
	m := *w.guard
	m.Validator, m.Fallback = a, fallback
	return &m
}

// unknown is a command about which the rules say llm.
const unknown = "frobnicate --all"

// recorder collects what an Agent tells.
type recorder struct {
	mu      sync.Mutex
	records []agent.Record
	notices []string
}

func (r *recorder) last(t testing.TB) agent.Record {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.records) == 0 {
		t.Fatal("no decision was recorded")
	}
	return r.records[len(r.records)-1]
}

// options are those of an Agent on a server at host: with the built-in skills,
// and a self-test that expects want, which is allow or anything else.
func options(t testing.TB, host, model string, want guard.Verdict, r *recorder) agent.Options {
	t.Helper()
	known, err := skills.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	o := agent.Options{Host: host, Model: model, Skills: known, Home: "/home/dev", NumPredict: 120, Threads: 1,
		Deadline: time.Minute, Insist: true, CacheFor: -1, Cases: []agent.Case{{Command: unknown, Want: want}}}
	if r != nil {
		o.OnDecision = func(x agent.Record) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.records = append(r.records, x)
		}
		o.Notice = func(s string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.notices = append(r.notices, s)
		}
	}
	return o
}

func newAgent(t testing.TB, o agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// start starts a server for the tests of this package.
func start(t testing.TB, env ...string) *ollamatest.Server {
	t.Helper()
	return ollamatest.Start(t, append([]string{"OLLAMA_MAX_LOADED_MODELS=3"}, env...)...)
}

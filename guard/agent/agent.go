// Package agent is the Guard Agent: an LLMValidator that asks a local Ollama
// model about what rules cannot tell. It settles the verdict llm and nothing
// else, and whatever is not a clear answer of the model is a question for a
// person.
package agent

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"handrail/guard"
	"handrail/skills"
)

// DefaultModel is the model where none is set: small, not a thinking one, able
// to call tools, free to use.
const DefaultModel = "qwen3:4b-instruct"

// DefaultHost is where Ollama listens by itself.
const DefaultHost = "http://127.0.0.1:11434"

// Faults of the server. They are errors of Validate, so the fallback counts.
var (
	ErrServer = errors.New("the model server failed")
	ErrDown   = fmt.Errorf("%w: it does not answer", ErrServer)
	ErrModel  = fmt.Errorf("%w: the model is not installed", ErrServer)
	ErrBusy   = fmt.Errorf("%w: its queue is full", ErrServer)
	ErrOff    = errors.New("the validator is off") // its self-test failed
)

// What the caller can cause. Validate answers ask, and Record.Cause is one of
// these.
var (
	ErrTooLong = errors.New("the call is too long for the validator")
	ErrForm    = errors.New("the validator gave no verdict in the agreed form")
	ErrForced  = errors.New("the validator allowed only when forced into the form")
	ErrCut     = errors.New("the validator's answer was cut off")
	ErrTurns   = errors.New("the validator came to no verdict in its turns")
	ErrTime    = errors.New("the validator did not answer in time")
	ErrUnseen  = errors.New("the validator could not be shown all of the code")
)

// Options set up an Agent. The zero value is usable: the default model on this
// machine.
type Options struct {
	// Host is the server's URL or host:port; empty means DefaultHost. It must be
	// loopback unless AllowRemote.
	Host        string
	AllowRemote bool
	APIKey      string // sent as a bearer token, to Host only
	Model       string // empty means DefaultModel
	MaxTurns    int    // zero means 5
	// Deadline is for all turns of one call; zero means 20 s.
	Deadline time.Duration
	// NumCtx is the context in tokens; zero means 16384. It is less where the
	// model has less. NumPredict is the longest answer; zero means 400.
	NumCtx, NumPredict int
	Threads            int // of the server; zero leaves it to the server
	// Scope is what the user says that they are authorised to do; it becomes
	// part of the policy. It must come from the user's own configuration.
	Scope string
	// Skills are shown by language, or on the model's demand.
	Skills []skills.Skill
	// SkillsIn, where not nil, stands in for Skills: those for calls in workspace
	// roots, as they are now. It is asked for each call that is judged.
	SkillsIn func(roots []string) []skills.Skill
	// Home is the user's home directory, absolute; for "~" in answers.
	Home string
	// Redact takes secrets whose values are known out of what the model is shown,
	// beside those that have the shape of one; nil takes none.
	Redact func(string) string
	// Cases replace the known answers of the self-test; empty means SelfTest.
	// Once says that the server is looked for when the program starts and never
	// again: what listens on its port later may have been started by a call.
	Once bool
	// Insist keeps a model whose self-test is slow.
	Cases  []Case
	Insist bool
	// Scoring leaves the self-test and the cache out: for measuring a model, never
	// for relying on it.
	Scoring bool
	// CacheFor is how long an allow is remembered for the very same evidence;
	// zero means 10 minutes, negative that nothing is.
	CacheFor time.Duration
	// OnDecision is told how every call ended, Notice what a person should know
	// once: that the validator is off or back. Absent is told instead of Notice
	// where, with Once, no server answers at the start: nobody asked for one. Each
	// may be nil.
	OnDecision     func(Record)
	Notice, Absent func(string)
}

// Record is how a call ended, with how that came about. At a fault of the server
// (ErrServer, ErrOff) there is no verdict: Cause and Fault say so, and Verdict is
// deny.
type Record struct {
	guard.Validation
	Digest  string // of the call
	Verdict guard.Verdict
	Reason  string
	Cause   error // why there is no answer of the model; nil: there is one
}

// Agent is a guard.LLMValidator. It is safe for concurrent use; one
// conversation runs at a time.
type Agent struct {
	opt    Options
	client *api.Client
	turn   chan struct{} // held by the conversation that runs
	cache  *cache

	mu      sync.Mutex
	state   readiness
	breaker breaker
}

// New returns an Agent. It does not speak to the server yet; Check and the
// first Validate do.
func New(opt Options) (*Agent, error) {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	def(&opt.MaxTurns, 5)
	def(&opt.NumCtx, 16384)
	def(&opt.NumPredict, 400)
	if opt.Deadline <= 0 {
		opt.Deadline = 20 * time.Second
	}
	if opt.CacheFor == 0 {
		opt.CacheFor = 10 * time.Minute
	}
	if opt.Scoring {
		opt.CacheFor = -1
	}
	if opt.Model == "" {
		opt.Model = DefaultModel
	}
	if len(opt.Cases) == 0 {
		opt.Cases = SelfTest()
	}
	base, err := ParseHost(opt.Host)
	if err != nil {
		return nil, err
	}
	client, err := newClient(base, opt.AllowRemote, opt.APIKey)
	if err != nil {
		return nil, err
	}
	return &Agent{opt: opt, client: client, turn: make(chan struct{}, 1), cache: newCache(opt.CacheFor)}, nil
}

// skills are those for calls in workspace roots.
func (a *Agent) skills(roots []string) []skills.Skill {
	if a.opt.SkillsIn != nil {
		return a.opt.SkillsIn(roots)
	}
	return a.opt.Skills
}

func newClient(base *url.URL, remote bool, key string) (*api.Client, error) {
	t, err := newTransport(base, remote, key)
	if err != nil {
		return nil, err
	}
	return api.NewClient(base, &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}), nil
}

// Package tools is the four tools: each reads its arguments into facts, lets
// the guard judge them, asks a person where that is needed, and only then does
// the work.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"handrail/elicit"
	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/shell"
	"handrail/internal/store"
	"handrail/tools/egress"
	"handrail/tools/history"
	"handrail/tools/sandbox"
)

// Names of the tools.
const (
	Bash  = "safe_bash"
	Read  = "safe_read"
	Write = "safe_write"
	Edit  = "safe_edit"
)

// Toolbox does guarded calls. It is safe for concurrent use and must not be
// copied. The zero value refuses every call. Close ends it.
type Toolbox struct {
	Guard *guard.Manager
	// Reader reads scripts. Its Env is the environment that commands get (see
	// Environment): what was judged is what runs. Roots are taken from the call.
	Reader *shell.Reader
	Audit  *audit.Log
	// Ledger is Guard.Grants where that is one of the store: calls that nobody can
	// be asked about wait there, and decisions leave their history. Nil: neither.
	Ledger *store.Ledger
	// AskTimeout is how long a person has; zero means 45 s.
	AskTimeout time.Duration
	// Waiting caps the questions that are open at once; zero means 16.
	Waiting int
	// Profile is what every contained command may do, and Egress the way out of
	// those that reach hosts by name; its Hosts and Log are set for each call.
	Profile Profile
	Egress  egress.Proxy
	// Sandbox opens what holds the commands of a session whose workspace has
	// these roots and whose temporary directory is scratch; see sandbox.Open. Nil
	// refuses every command.
	Sandbox func(roots []string, scratch string) (sandbox.Sandbox, error)
	// RateLimit returns the calls a minute that a session may make of a tool, for
	// workspace roots; zero or nil: no limit.
	RateLimit func(tool string, roots []string) int
	// Shared says that the server is others' too, whatever a person approves for
	// this one: nothing runs outside the sandbox or on the host's network.
	Shared bool
	// Quota says by an error that the disk has no room for what calls would write;
	// nil bounds nothing.
	Quota func() error
	// Redact takes secrets out of what results and questions show; nil takes none.
	Redact func(string) string
	// Deeds are noted of protected paths that the file tools write; see sandbox.Deeds.
	Deeds sandbox.Deeds
	// History keeps what calls could destroy, so that they can be undone; nil
	// keeps nothing.
	History *history.Store

	open     atomic.Int32 // questions that wait for an answer
	pace     pace
	created  creations  // files that sessions made
	boxes    boxes      // sandboxes of sessions
	outputs  outputs    // of jobs, and of what was cut
	scratch  scratches  // temporary directories of sessions
	guarded  guarded    // files of secrets in workspaces
	narrowed narrowings // environments of calls
}

// Call is one call of a tool, whoever brought it.
type Call struct {
	Tool  string
	Input json.RawMessage // the arguments as sent
	// Roots are the workspace roots, absolute and resolved; the first is the
	// working directory where the call names none.
	Roots     []string
	Session   string
	Principal string
	// Credential names that by which the principal is known; empty where it cannot
	// end before the session does. Jobs end with it (Withdraw).
	Credential string
	Client     string // name and version of the client; for the audit
	Transport  string // "stdio", "run"
	// Channel reaches a person; nil means nobody can be asked.
	Channel elicit.Channel
	// Place, where not nil, waits for a place among the calls that run at once,
	// which leave gives back. Only what is allowed and changes something or runs a
	// command takes one: a refusal, and a look at a file, wait for nobody.
	Place func(ctx context.Context) (leave func(), waited bool, err error)
	// Progress, where not nil, is told how a long call goes on, at most twice
	// a second.
	Progress func(message string)
}

// Result is what a call came to. It is the structured content of the MCP
// result; Text is for the model. The zero value is a refusal.
type Result struct {
	Verdict  guard.Verdict  `json:"verdict"`            // allow: it ran; ask: a person was needed and did not approve; deny
	Approval elicit.Outcome `json:"approval,omitempty"` // absent if nobody was asked
	Rule     string         `json:"rule,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Instead  string         `json:"instead,omitempty"`
	CallID   string         `json:"call_id"`

	// safe_bash
	ExitCode   *int   `json:"exit_code,omitempty"` // of bash; 128+n where signal n ended it
	Stdout     string `json:"stdout,omitempty"`
	Stderr     string `json:"stderr,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"` // something was cut from stdout, stderr or content
	TimedOut   bool   `json:"timed_out,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	// OutputID names what a job writes, or the whole of an output that was cut;
	// NextOffset is where its reading goes on.
	OutputID   string `json:"output_id,omitempty"`
	NextOffset int64  `json:"next_offset,omitempty"`
	Running    bool   `json:"running,omitempty"` // the job has not ended
	// Sandbox says what held the command.
	Sandbox *audit.Confinement `json:"sandbox,omitempty"`

	// the file tools
	Path    string `json:"path,omitempty"` // absolute, resolved
	Content string `json:"content,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // of the whole file as it is now

	Decision time.Duration    `json:"-"` // what the first one took, until its record was written; zero: none was
	Text     string           `json:"-"`
	IsError  bool             `json:"-"`
	Handback *elicit.Handback `json:"-"` // the client must ask and call again
}

// Do does one call from arguments to audit. It never panics and never returns
// nil; every failure is a Result with IsError.
func (b *Toolbox) Do(ctx context.Context, c Call) (res *Result) {
	j := &job{box: b, call: c, id: newID(), began: time.Now()}
	defer func() {
		if p := recover(); p != nil {
			res = j.broke(p)
		}
		res.CallID, res.Decision = j.id, j.decision
		b.redact(res)
	}()
	return j.run(ctx)
}

// Context reads a call into what the guard judges, without judging or running
// it. An error names the argument that cannot be used.
func (b *Toolbox) Context(c Call) (*guard.EvalContext, error) {
	j := &job{box: b, call: c, id: newID(), began: time.Now()}
	if b.Reader == nil || len(c.Roots) == 0 {
		return nil, errors.New("the server is not set up: reader or workspace root is missing")
	}
	_, facts, err := j.read()
	if err != nil {
		return nil, err
	}
	return j.context(facts), nil
}

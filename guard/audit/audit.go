// Package audit is the append-only, hash-chained record of every decision and
// its outcome: JSON lines, safe with several server processes. What is not
// recorded does not run.
package audit

import (
	"encoding/json"
	"time"

	"handrail/guard"
)

// Event says what a record is about.
type Event string

const (
	Start    Event = "start"    // a server opened the log
	Decision Event = "decision" // before a call runs, or instead of running it
	Question Event = "question" // a person was asked
	Answer   Event = "answer"   // what came of it
	Outcome  Event = "outcome"  // after it ran
)

// Record is one line of the log. Seq, Time, Prev and Hash are set by Append.
type Record struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Prev string    `json:"prev"` // hash of the line before, hexadecimal SHA-256
	Hash string    `json:"hash"` // of this line with an empty hash

	Event     Event           `json:"event"`
	CallID    string          `json:"call_id,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Client    string          `json:"client,omitempty"`
	Transport string          `json:"transport,omitempty"`
	Session   string          `json:"session,omitempty"`
	Principal string          `json:"principal,omitempty"`
	Dir       string          `json:"dir,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"` // arguments; long content is replaced by its size and hash

	Verdict  string          `json:"verdict,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Granted  bool            `json:"granted,omitempty"`
	Findings []guard.Finding `json:"findings,omitempty"`
	Effects  []guard.Effect  `json:"effects,omitempty"`
	// Validator says how the validator settled the verdict llm.
	Validator *guard.Validation `json:"validator,omitempty"`

	Approval string `json:"approval,omitempty"` // elicit.Outcome
	Choice   string `json:"choice,omitempty"`
	Channel  string `json:"channel,omitempty"`
	TookMS   int64  `json:"took_ms,omitempty"`
	Quick    bool   `json:"quick,omitempty"` // answered within 300 ms: perhaps not by a person

	ExitCode   *int   `json:"exit_code,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"` // of output, or written
	SHA256     string `json:"sha256,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	Error      string `json:"error,omitempty"`

	// Sandbox says what held the command.
	Sandbox *Confinement `json:"sandbox,omitempty"`

	// Torn vouches for an unfinished line before this one, left by a crash.
	Torn *Torn `json:"torn,omitempty"`
}

// Confinement says what held a command while it ran, and what it refused. It
// stands in the result of the call too. The zero value held nothing.
type Confinement struct {
	Tier string `json:"tier"` // "bwrap", "landlock", ...; "none"
	// Power is "contained"; "open" where a person approved a run without limits,
	// "outside" where the program had to run outside the sandbox, and "none" where
	// there is none.
	Power   string   `json:"power"`
	Network string   `json:"network"`         // "none", "domains", "full"
	Holds   []string `json:"holds,omitempty"` // writes, reads, network, sockets, processes, protected, limits
	// Refused is what the run seems to have been refused, Exceeded the limit that
	// ended it, Restored the protected files that were put back after it.
	Refused  []string `json:"refused,omitempty"`
	Exceeded string   `json:"exceeded,omitempty"`
	Restored []string `json:"restored,omitempty"`
}

// Torn names the bytes of an unfinished line, so that Verify can tell a crash
// from a later change.
type Torn struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

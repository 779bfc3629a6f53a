// Package elicit is asking a person: the question, the answer and the record
// of both. How the person is reached is a Channel; elicit/mcp and
// elicit/terminal are two. Standard library only.
package elicit

import (
	"context"
	"time"
)

// Outcome is what became of a question. Only Approved runs anything.
type Outcome string

const (
	Approved    Outcome = "approved"    // an explicit choice to allow
	Declined    Outcome = "declined"    // an explicit no, or an accept without a valid choice
	Dismissed   Outcome = "dismissed"   // closed without a choice
	NoAnswer    Outcome = "no_answer"   // nobody answered in time
	Unsupported Outcome = "unsupported" // nobody could be asked
	Pending     Outcome = "pending"     // handed to the client, which calls again with the answer
)

// Choice is what a person picked. The zero value denies.
type Choice string

const (
	Deny         Choice = "deny"
	AllowOnce    Choice = "allow once"
	AllowSession Choice = "allow for this session"
	AllowAlways  Choice = "always allow this" // only where Question.Always says what that is
)

// Question is one call put before a person. What is shown is what will run.
type Question struct {
	ID        string // of the call, as in the audit log
	Digest    string // guard.Decision.Digest: an answer is for this and nothing else
	Tool      string
	Dir       string
	Effects   []string // in plain words, most serious first
	Reasons   []string // why it is asked
	Command   string   // exactly what would run, unescaped: Message makes it visible
	AgentSays string   // the agent's own description; marked as such, never trusted
	// Always says what AllowAlways would cover, with its numbers and its end.
	// Empty means that it is no choice.
	Always string
	// Once says that a yes is for this one run: a call with more power than its
	// sandbox gives is neither for a session nor for always.
	Once      bool
	Session   string
	Principal string
	// Expires is how long a channel waits for an answer; zero leaves it to the
	// channel. A question that is handed back keeps no call waiting and lives as
	// long as its seal (see Book) instead.
	Expires time.Time
}

// Answer is what came back.
type Answer struct {
	Outcome Outcome
	Choice  Choice        // meaningful only with Approved
	Channel string        // "mcp", "terminal"
	Client  string        // name and version of the client that showed it
	Took    time.Duration // from asking to answer
	// Handback is set with Pending: what the client must show and return.
	Handback *Handback
}

// Handback is a question on its way through the client (MCP 2026-07-28,
// input_required). The server puts it into the result; the client calls again.
type Handback struct {
	State    string // signed, single use, expiring
	Question Question
}

// Channel is a way to reach a person. Ask blocks until there is an answer, ctx
// ends or the question expires; it never answers by itself. An error counts as
// Unsupported.
type Channel interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

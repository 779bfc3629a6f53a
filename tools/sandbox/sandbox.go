// Package sandbox runs commands with no more power than their verdict gives
// them: bubblewrap, own namespaces, Landlock with seccomp, a container, Seatbelt
// on macOS, or nothing where the user's own configuration says so.
package sandbox

import (
	"context"
	"net"
	"os"
	"time"
)

// Tier names what holds a command. The zero value is no tier.
type Tier string

// The tiers, strongest first.
const (
	Bwrap      Tier = "bwrap"      // bubblewrap, one sandbox per workspace session
	Namespaces Tier = "namespaces" // own user, mount, PID and network namespaces
	Landlock   Tier = "landlock"   // Landlock and seccomp, where user namespaces are refused
	Docker     Tier = "docker"     // a warm container per workspace
	Podman     Tier = "podman"     // likewise
	Seatbelt   Tier = "seatbelt"   // macOS sandbox-exec
	None       Tier = "none"       // nothing; only by the user's own configuration
)

// Enforcement says what a sandbox holds, as it was probed with real commands.
// It is shown by doctor, in each result and in the audit record. The zero value
// holds nothing.
type Enforcement struct {
	Tier      Tier `json:"tier"`
	Writes    bool `json:"writes"`    // only where the policy says
	Reads     bool `json:"reads"`     // credentials and other homes unreadable
	Network   bool `json:"network"`   // no way out but the policy's
	Sockets   bool `json:"sockets"`   // no Unix sockets of the host, no other families
	Processes bool `json:"processes"` // nothing outlives its call, no other process seen
	Protected bool `json:"protected"` // protected paths that exist hold during the run; what is new there is taken back after it
	Limits    bool `json:"limits"`    // processes and memory are bounded
	// Notes say in one clause each what does not hold here and why.
	Notes []string `json:"notes,omitempty"`
}

// Contains reports whether project code and unlisted programs may run in the
// sandbox without a question: they cannot write elsewhere, read credentials,
// reach the network or outlive their call.
func (e Enforcement) Contains() bool {
	return e.Tier != None && e.Writes && e.Reads && e.Network && e.Processes
}

// Network says what a command reaches. The zero value is nothing.
type Network uint8

// The kinds of network.
const (
	NoNetwork Network = iota // nothing, not even the host's loopback
	Domains                  // hosts by name, through Policy.Proxy alone
	Full                     // the host's network
)

// Policy is what one command may do. Paths are absolute, cleaned and resolved.
// The zero value may do nothing but read the system's own directories.
type Policy struct {
	// Roots are the workspace roots: writable but for Protected and Secrets.
	Roots []string
	// Scratch is the call's TMPDIR: writable.
	Scratch string
	// Home is private: what lies below it is not there, but for the toolchain
	// directories that are listed and what Read and Write name.
	Home string
	// Read and Write are more paths to read, and to write, at or below. They
	// come from the facts of the call. A path that does not exist yet is made
	// writable by its nearest existing parent only where Write names that parent.
	Read, Write []string
	// Protected cannot be written, made, renamed or removed, existing or not yet:
	// beside what Protected(roots) lists for every call. Allowed names those of
	// all protected paths that this call may write, since a person approved it.
	Protected, Allowed []string
	// GitConfig lets git's own commands rewrite the configuration of the roots'
	// repositories, .gitmodules and .gitattributes: of what they change only what
	// makes git run nothing stays.
	GitConfig bool
	// Secrets below the roots can be read but not written (.env); Hidden cannot
	// be read at all, wherever they lie.
	Secrets, Hidden []string
	// Caches are package caches of the host, read through an overlay: what the
	// command writes there is its own, or the session's, and never the host's.
	Caches []string
	// Network is what the command reaches. With Domains, Proxy gets the listener
	// that stands in the command's network as HTTP_PROXY, before the command
	// starts; it is closed when the command has ended.
	// ProxyToken is what that proxy wants of its clients; it must be there where
	// the listener cannot stand in a network of the command's own (Landlock, Seatbelt).
	Network    Network
	Proxy      func(net.Listener)
	ProxyToken string
	// Open runs with the user's rights on files and the whole network, except for
	// protected paths and Hidden: what a person approved for one escalated run.
	Open bool
	// Limits bound what the command uses. Zero fields take DefaultLimits.
	Limits Limits

	ground *ground // what the comparison before the run found; nil: there was none
}

// Limits bound a call. A zero field is not bounded by this value.
type Limits struct {
	Processes int   // at once
	Memory    int64 // bytes, resident, of all processes together
	FileSize  int64 // bytes, of one file
	Disk      int64 // bytes by which workspace and scratch may grow
}

// Base reports whether p gives nothing beyond the base profile of a session:
// such calls share one sandbox that is already open.
func (p *Policy) Base() bool {
	return p.Network == NoNetwork && !p.Open && len(p.Read) == 0 && !p.GitConfig && len(p.Write) == 0 && len(p.Allowed) == 0
}

// Command is what to run. Its streams are handed over as they are; a nil Stdin
// is /dev/null.
type Command struct {
	Path string   // absolute
	Args []string // with the name first
	Dir  string   // absolute, resolved
	Env  []string // NAME=value; the whole of it
	// ID names the call, unique and safe in file names.
	ID                    string
	Stdin, Stdout, Stderr *os.File
}

// Status is how a command ended.
type Status struct {
	Code   int // exit code; 128+n where signal n ended it; 126 where it could not start
	Signal int // the signal that ended it, or 0
	// Exceeded says which limit ended the call ("memory", "processes", "disk",
	// "file size"); empty where none did.
	Exceeded string
	// Restored are protected paths that the command made or changed where only a
	// check after the run holds them; they are as they were before, or the entry
	// says why not. Known when End has returned.
	Restored []string
}

// Process is a command that runs.
type Process interface {
	// Wait returns when the command itself has ended; what it left behind may
	// still run until End. It can be called more than once.
	Wait() Status
	// End ends the command and everything it started, by SIGTERM and after grace
	// by SIGKILL, and returns when nothing is left. It returns how many processes
	// beside the command itself were still there. It must be called, also after
	// Wait, and can be called more than once.
	End(grace time.Duration) int
}

// Sandbox runs commands of one workspace session. It is safe for concurrent use.
type Sandbox interface {
	Enforcement() Enforcement
	// Start starts c with the power that p gives. An error says that nothing ran,
	// and is never a reason to run it with more power.
	Start(ctx context.Context, p *Policy, c *Command) (Process, error)
	// Close ends every process and removes what the sandbox made.
	Close() error
}

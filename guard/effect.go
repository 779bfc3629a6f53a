package guard

import (
	"fmt"
	"strings"
)

// Kind says what an effect does to the world. The zero value, Unknown, is what
// could not be told.
type Kind uint8

// The kinds of effects. What refines a kind is the effect's Action; Actions
// lists them.
const (
	Unknown   Kind = iota // hidden: cannot be known before it runs
	Read                  // a path's content or metadata is read
	Write                 // a path is created, overwritten or changed
	Delete                // a path, or work in it, is lost
	Exec                  // a program starts
	Code                  // code that is not an installed program runs: project code, scripts, inline code, downloads
	Install               // a package is installed or removed
	Network               // a host is reached
	Remote                // a system elsewhere is read or changed: push, publish, deploy, drop
	Privilege             // rights are gained
	Persist               // something will run later by itself
	System                // the machine changes: power, mounts, services, users, processes
)

var kindNames = [...]string{
	"unknown", "read", "write", "delete", "exec", "code", "install",
	"network", "remote", "privilege", "persist", "system",
}

// Actions is the closed vocabulary that refines each kind. The empty action is
// the plain meaning of the kind. Command specs are checked against it.
var Actions = map[Kind][]string{
	Unknown: {
		"",         // hidden: command name, code or target that only the run will tell
		"limits",   // past the limits on bytes, words, depth or work
		"unparsed", // not readable as bash
	},
	Read: {
		"",     // content
		"list", // names and metadata only
	},
	Write: {
		"",         // content is created or replaced
		"append",   // content is added
		"create",   // an empty file or directory comes to be
		"metadata", // mode, owner, times, attributes
		"format",   // a file system or partition table is written
	},
	Delete: {
		"",        // paths are removed
		"discard", // uncommitted or unreachable work in version control is lost
		"shred",   // removed past recovery
	},
	Exec: {
		"",         // a listed program, used in a listed way
		"unlisted", // a program the command table does not have
		"unread",   // a listed program, with a flag or subcommand the table does not have
	},
	Code: {
		"",           // a script or program file of the workspace
		"project",    // what the project defines: tests, build steps, package scripts
		"inline",     // code given on the command line (-c, -e)
		"stdin",      // code read from a pipe
		"downloaded", // code that came from the network
	},
	Install: {
		"project", // what the project's own lock file or manifest names
		"add",     // a new package, for the project only
		"global",  // for the user, outside the project
		"system",  // for the machine
		"remove",
	},
	Network: {
		"",       // a host is read from
		"send",   // data goes to the host
		"listen", // a port is opened
		"scan",
		"shell", // an interactive or remote shell
	},
	Remote: {
		"",           // changed
		"read",       // looked at
		"push",       // commits go to a repository
		"force-push", // commits of a repository elsewhere may be lost
		"publish",
		"deploy",
		"delete",
		"admin", // access, secrets, keys, billing
	},
	Privilege: {
		"",
		"brokered",    // something of the user's own is lent to it: keys, a token, an engine
		"uncontained", // the call runs without the limits of its sandbox
	},
	Persist: {"", "schedule", "service", "startup", "hook"},
	System: {
		"",
		"process",   // signals to processes that this session may not own
		"power",     // shutdown, reboot
		"mount",     // mounts, disks, partitions, swap
		"user",      // accounts, passwords, groups
		"service",   // starting, stopping, enabling of services
		"firewall",  // packet filters, routes, interfaces
		"kernel",    // modules, parameters
		"container", // a container or its engine is started, entered or changed
		"fork-bomb",
		"environment", // an assignment that makes an innocent program run other code
		"secret",      // credentials or keys are printed, created or removed
	},
}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[Unknown]
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name; anything else is an error and leaves the
// kind at Unknown.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, n := range kindNames {
		if n == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	*k = Unknown
	return fmt.Errorf("kind %q is not one of %v", b, kindNames)
}

// Effect is one thing that a call would do to the world.
type Effect struct {
	Kind Kind `json:"kind"`
	// Action refines Kind; one of Actions[Kind].
	Action string `json:"action,omitempty"`
	// Target is an absolute, cleaned path with symbolic links resolved; or
	// host[:port]; or a program; or a remote system; for Unknown, why it is
	// unknown.
	Target string `json:"target"`
	// Written is the target as the caller typed it; empty where it was not.
	Written string `json:"written,omitempty"`
	// Note is one clause for people: what this effect means here.
	Note string `json:"note,omitempty"`
	// From is the index in Facts.Effects of the effect whose data this one
	// takes, or -1. (A download that is piped to sh: the Code effect's From is
	// the Network effect.)
	From int `json:"from"`
	// Exact is false where the effect is somewhere at or below Target: a glob,
	// a variable, a computed name.
	Exact bool `json:"exact"`
	// Deep says that everything below Target is concerned too.
	Deep bool `json:"deep,omitempty"`
	// Command is the index in Facts.Commands of the command that does it, or -1.
	Command int `json:"command"`
	// Loss says what a deletion would take and what could bring it back; nil
	// where that was not looked at.
	Loss *Loss `json:"loss,omitempty"`
}

// Loss counts the files (links too) at or below a target by what could bring
// them back. The zero value is an empty loss.
type Loss struct {
	Files     int `json:"files"`
	Clean     int `json:"clean,omitempty"`     // in git's index, not changed since
	Changed   int `json:"changed,omitempty"`   // in git's index, changed since
	Untracked int `json:"untracked,omitempty"` // not in git and not ignored, or no git here
	Ignored   int `json:"ignored,omitempty"`   // ignored by git
	Created   int `json:"created,omitempty"`   // made in this session, and as it left them
	// Products are those of the Ignored that are named like build products, so
	// that a build makes them again. What else is ignored (data, .env) has no
	// other copy.
	Products int `json:"products,omitempty"`
	// More says that counting stopped early; Alike, that all the rest lies in an
	// ignored directory of build products too. Else nothing is known of it.
	More  bool `json:"more,omitempty"`
	Alike bool `json:"alike,omitempty"`
}

// Lost counts the files that nothing would bring back.
func (l *Loss) Lost() int { return l.Changed + l.Untracked + l.Ignored - l.Products }

// Recoverable reports whether nothing would be lost for good: every file is
// clean in git, a build product that it ignores, or was made in this session.
func (l *Loss) Recoverable() bool {
	return l != nil && l.Files > 0 && l.Lost() == 0 && (!l.More || l.Alike)
}

// String says the loss in a clause: "41 files, all ignored by git".
func (l *Loss) String() string {
	if l == nil {
		return "not looked at"
	}
	if l.Files == 0 && l.More {
		return "too many files to count"
	}
	if l.Files == 0 {
		return "no files"
	}
	count := fmt.Sprintf("%d files", l.Files)
	if l.Files == 1 {
		count = "1 file"
	}
	if l.More {
		count = "more than " + count
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{l.Untracked, "not in git"}, {l.Changed, "changed since git last had them"}, {l.Ignored - l.Products, "ignored by git but no build product"},
		{l.Clean, "unchanged in git"}, {l.Products, "ignored by git"}, {l.Created, "made in this session"},
	} {
		switch {
		case p.n == 0:
		case p.n == l.Files && p.n > 1:
			parts = append(parts, "all "+p.what)
		case p.n == l.Files:
			parts = append(parts, strings.Replace(p.what, "had them", "had it", 1))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if l.More && !l.Alike {
		parts = append(parts, "the rest not counted")
	}
	return count + ", " + strings.Join(parts, ", ")
}

// Replaces reports whether e gives what stands at exactly its target another
// content: not one that is added to, nor only its mode or times.
func (e *Effect) Replaces() bool { return e.Kind == Write && e.Action == "" && e.Exact }

// Known reports whether e's action belongs to its kind.
func (e Effect) Known() bool {
	for _, a := range Actions[e.Kind] {
		if a == e.Action {
			return true
		}
	}
	return false
}

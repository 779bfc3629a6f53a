package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Settings are what a session's sandbox is opened with. Paths are absolute,
// cleaned and resolved.
type Settings struct {
	// Tier is the tier to use; "" takes the first that works, and never None.
	Tier Tier
	// Roots are the workspace roots of the session.
	Roots []string
	// Home is the user's home directory.
	Home string
	// Scratch is the directory below which every call has its TMPDIR.
	Scratch string
	// State is a directory of the server's own, made with mode 0700 where it is
	// not there, for what a sandbox keeps while it is open; commands never see it.
	// Only None does without, and then protected paths are not compared either.
	State string
	// Self is the program that runs as the sandbox's own process inside; "" is
	// this one (/proc/self/exe). Its main calls Main first.
	Self string
	// Toolchains are paths below Home that commands can read; nil is
	// DefaultToolchains. Credentials are paths below Home that they cannot,
	// whatever else is said; nil is DefaultCredentials.
	Toolchains, Credentials []string
	// Hidden cannot be read by any command, wherever it lies.
	Hidden []string
	// Emptied are directories of which a command sees only what its policy gives it
	// below: not even the names of what else is there. For bwrap and namespaces.
	Emptied []string
	// Caches are package caches that the session's commands read through an
	// overlay; paths that do not exist are left out.
	Caches []string
	// Image is what containers are made of, with bash in it; without one there
	// are none. It is never pulled. Engine is the socket of Docker or Podman; ""
	// is the usual one. Both come from the user's own configuration only.
	Image, Engine string
	// Idle closes an unused session sandbox; 0 is ten minutes.
	Idle time.Duration
}

// insideMark is in the environment of the sandbox's own processes: a program that
// has it and opens a sandbox does not call Main first, and would start itself
// for ever.
const insideMark = "HANDRAIL_SANDBOX_PROCESS"

// tier is one way to hold commands: open makes its sandbox, or says in its
// error what is missing and which command brings it.
type tier struct {
	name Tier
	open func(Settings) (Sandbox, error)
}

// Open opens the sandbox of a session. Each tier is tried with real commands
// (see probe) before it is used. Where none holds, or the one asked for does
// not, the error says why and how to get it; the answer is never a weaker one.
// None is taken only when it is asked for by name.
func Open(s Settings) (Sandbox, error) {
	if os.Getenv(insideMark) != "" {
		return nil, errors.New("this program does not call sandbox.Main first in main (in a test: in TestMain)")
	}
	if s.Tier == None && s.State == "" {
		return openNone(s)
	}
	if !filepath.IsAbs(s.State) {
		return nil, fmt.Errorf("a sandbox needs a directory of the server's own, not %q", s.State)
	}
	if err := os.MkdirAll(s.State, 0o700); err != nil {
		return nil, fmt.Errorf("the sandbox's own directory: %w", err)
	}
	if s.Tier == None {
		sb, err := openNone(s)
		if err != nil {
			return nil, err
		}
		return watching(sb, s), nil
	}
	var failed []error
	for _, t := range tiers() {
		if s.Tier != "" && s.Tier != t.name {
			continue
		}
		sb, err := t.tried(s)
		if err == nil {
			return sb, nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
	}
	if len(failed) == 0 {
		return nil, fmt.Errorf("there is no sandbox %q on this system; there are %s", s.Tier, names())
	}
	return nil, fmt.Errorf("no sandbox works here: %w", errors.Join(failed...))
}

// PassedOver says why the tiers that are tried before t do not work with s, each
// beginning with its name. It tries them anew.
func PassedOver(s Settings, t Tier) (why []string) {
	if os.Getenv(insideMark) != "" || !filepath.IsAbs(s.State) {
		return nil
	}
	for _, other := range tiers() {
		if other.name == t {
			return why
		}
		sb, err := other.tried(s)
		if err == nil {
			_ = sb.Close()
			continue
		}
		why = append(why, fmt.Sprintf("%s: %v", other.name, err))
	}
	return nil // t is not tried by itself
}

// tried opens t and proves what it says of itself.
func (t tier) tried(s Settings) (Sandbox, error) {
	sb, err := t.open(s)
	if err != nil {
		return nil, err
	}
	if err := probe(sb, s); err != nil {
		if help := remedy(t.name); help != "" {
			err = fmt.Errorf("%w (%s)", err, help)
		}
		return nil, errors.Join(err, sb.Close())
	}
	return watching(sb, s), nil
}

// names lists what can be asked for.
func names() string {
	var all []string
	for _, t := range tiers() {
		all = append(all, string(t.name))
	}
	return strings.Join(append(all, string(None)), ", ")
}

package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// FirstScratch is the temporary directory of the first session below that of the
// server: what is probed before there is a session is opened with it.
func FirstScratch(server string) string { return filepath.Join(server, "1") }

// scratches are the temporary directories of the sessions, below that of the
// server: no session reads or writes another's. The zero value is empty; it is
// safe for concurrent use.
type scratches struct {
	mu   sync.Mutex
	made int
	held map[string]string // by session
}

// of returns the directory of a session, made at its first call.
func (s *scratches) of(server, session string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if dir := s.held[session]; dir != "" {
		return dir, nil
	}
	dir := FirstScratch(server)
	if s.made > 0 {
		dir = filepath.Join(server, strconv.Itoa(s.made+1))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !(s.made == 0 && errors.Is(err, fs.ErrExist)) {
		return "", fmt.Errorf("the temporary directory of the session: %w", err)
	}
	if s.held == nil {
		s.held = map[string]string{}
	}
	s.made++
	s.held[session] = dir
	return dir, nil
}

// end removes the directory of a session, whose commands have ended.
func (s *scratches) end(session string) {
	s.mu.Lock()
	dir := s.held[session]
	delete(s.held, session)
	s.mu.Unlock()
	if dir != "" {
		_ = os.RemoveAll(dir) // what is left goes with that of the server
	}
}

// surround gives the call the session's own temporary directory and, where it can
// run commands, the environment that they get: that of the server for these roots,
// with this TMPDIR.
func (j *job) surround() (err error) {
	if server := j.box.Reader.Env["TMPDIR"]; server != "" {
		if j.scratch, err = j.box.scratch.of(server, j.call.Session); err != nil {
			return err
		}
	}
	if j.call.Tool != Bash { // what it takes to look at every directory of PATH is for nothing
		return nil
	}
	j.env = j.box.narrowed.narrow(j.box.Reader.Env, j.call.Roots, j.id)
	if j.scratch != "" {
		j.env["TMPDIR"] = j.scratch
	}
	return nil
}

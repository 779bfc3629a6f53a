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

// environment is what the commands of this call get: that of the server for
// these roots, with the session's own TMPDIR.
func (j *job) environment() (map[string]string, error) {
	env := j.box.narrowed.narrow(j.box.Reader.Env, j.call.Roots, j.id)
	if server := env["TMPDIR"]; server != "" {
		dir, err := j.box.scratch.of(server, j.call.Session)
		if err != nil {
			return nil, err
		}
		env["TMPDIR"] = dir
	}
	return env, nil
}

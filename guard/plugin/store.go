package plugin

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"handrail/guard"
)

// Options set up a Store.
type Options struct {
	Loader
	// User are the directories of the user's own guards, the weakest first.
	User []string
	// Trusted reports whether the user trusts a file of a project with this
	// content (SHA-256 in hexadecimal); nil: none is.
	Trusted func(path, sha256 string) bool
	// Notice is told what a person should know once; it may be nil.
	Notice func(string)
}

// Store holds the guards that are in force and notices when their files change.
// It is safe for concurrent use.
type Store struct {
	opt  Options
	mu   sync.Mutex
	user *tree
	// projects and sets are by workspace root, and by all roots of a call.
	projects map[string]*tree
	sets     map[string]*set
}

// MaxReading bounds the time that the guards of a project may take to be read.
const MaxReading = 3 * time.Second

// maxProjects bounds what is kept: sessions may bring any roots.
const maxProjects = 64

// tree is the guards below a home or a workspace root as they were last read.
type tree struct {
	root    string // of a project; empty for the user's
	dirs    []*source
	guards  []*Guard
	faults  []fault
	state   string // of the files that were read
	trust   string // in them
	settled bool   // the files had not just been changed when they were read
	next    time.Time
	told    string
}

// Open reads the user's guards. Any fault in them is an error that names all of
// them: a guard that somebody relies on must not be missing.
func Open(opt Options) (*Store, error) {
	s := &Store{opt: opt, user: &tree{dirs: userSources(opt.User)}, projects: map[string]*tree{}, sets: map[string]*set{}}
	s.refresh(s.user)
	if len(s.user.faults) > 0 {
		return nil, joined(s.user.faults)
	}
	return s, nil
}

func joined(faults []fault) error {
	var errs []error
	for _, f := range faults {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}

// Policy returns what the guards say, for calls with these workspace roots
// (absolute, resolved). Changed files are read again first.
func (s *Store) Policy(roots []string) *guard.Policy { return s.set(roots).policy }

// Guards returns the guards that hold for these roots, and what is wrong with
// files of the project.
func (s *Store) Guards(roots []string) ([]*Guard, error) {
	set := s.set(roots)
	return set.guards, joined(set.faults)
}

func (s *Store) set(roots []string) *set {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.refresh(s.user)
	trees := []*tree{s.user}
	for _, root := range roots {
		t := s.projects[root]
		if t == nil {
			if len(s.projects) >= maxProjects {
				clear(s.projects)
			}
			t = &tree{root: root, dirs: projectSources(root)}
			s.projects[root] = t
		}
		changed = s.refresh(t) || changed
		trees = append(trees, t)
	}
	if changed || len(s.sets) > maxProjects {
		clear(s.sets)
	}
	key := strings.Join(roots, "\x00")
	if s.sets[key] == nil {
		var guards []*Guard
		var faults []fault
		for _, t := range trees {
			guards = append(guards, t.guards...)
			if t != s.user { // the user's old guards stay where new ones are no good
				faults = append(faults, t.faults...)
			}
		}
		s.sets[key] = newSet(guards, faults, s.opt.Home)
	}
	return s.sets[key]
}

// refresh looks whether files of a tree changed, and reads them again. Looking
// takes at most a fiftieth of the time.
func (s *Store) refresh(t *tree) (changed bool) {
	began := time.Now()
	if began.Before(t.next) {
		return false
	}
	defer func() {
		end := time.Now()
		t.next = end.Add(min(50*end.Sub(began), 2*time.Second))
	}()
	sources, done := t.sources()
	defer done()
	state, newest := stateOf(sources)
	if state == t.state && t.settled && s.trust(t.guards) == t.trust {
		return false
	}
	again := state == t.state && t.state != ""
	t.settled = time.Since(newest) > 50*time.Millisecond
	t.state = state
	old := t.guards
	t.guards, t.faults = nil, nil
	ctx, cancel := context.Background(), func() {}
	if t.root != "" {
		ctx, cancel = context.WithTimeout(ctx, MaxReading)
	}
	defer cancel()
	for _, src := range sources {
		guards, faults := s.opt.load(ctx, src)
		t.guards, t.faults = append(t.guards, guards...), append(t.faults, faults...)
	}
	for _, g := range t.guards {
		g.Project = t.root != ""
		g.Trusted = s.trusts(g)
	}
	if len(t.faults) > 0 {
		s.keep(t, old)
	}
	t.trust = s.trust(t.guards)
	s.tell(t)
	return !again || !same(old, t.guards)
}

// sources are the directories of a tree as they can be looked into. done closes
// what that takes.
func (t *tree) sources() (list []*source, done func()) {
	if t.root == "" {
		return t.dirs, func() {}
	}
	for _, dir := range t.dirs {
		if !dir.absent() {
			list = append(list, dir)
		}
	}
	if len(list) == 0 { // nearly always
		return nil, func() {}
	}
	root, err := os.OpenRoot(t.root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, func() {} // there is no project, and no guard of it
	} else if err != nil {
		return []*source{{dir: t.root, err: err}}, func() {}
	}
	for i, dir := range list {
		list[i] = dir.in(root)
	}
	return list, func() { root.Close() }
}

// keep lets guards stay whose files are no good any more: all of the user's, and
// of a project those of the files in question, without trust.
func (s *Store) keep(t *tree, old []*Guard) {
	if t.root == "" {
		t.guards = old
		return
	}
	for _, g := range old {
		if slices.ContainsFunc(t.faults, func(f fault) bool { return f.file == g.File || f.file == filepath.Dir(g.File) }) {
			kept := *g
			kept.Trusted = false
			t.guards = append(t.guards, &kept)
		}
	}
}

// tell says once what is wrong.
func (s *Store) tell(t *tree) {
	said := ""
	if len(t.faults) > 0 {
		said = strings.ReplaceAll(joined(t.faults).Error(), "\n", "; ")
	}
	if said == t.told || s.opt.Notice == nil {
		return
	}
	t.told = said
	switch {
	case said == "":
		s.opt.Notice("the guards are good again, and in force")
	case t.root == "":
		s.opt.Notice("a guard cannot be read, so all of your guards stay as they were: " + said)
	default:
		s.opt.Notice("a guard of the project cannot be read; calls that it may be about are asked about: " + said)
	}
}

func same(a, b []*Guard) bool {
	return slices.EqualFunc(a, b, func(a, b *Guard) bool {
		return a.File == b.File && a.SHA256 == b.SHA256 && a.Trusted == b.Trusted
	})
}

// trusts reports whether the user trusts a guard of a project as it is.
func (s *Store) trusts(g *Guard) bool {
	return g.Project && s.opt.Trusted != nil && s.opt.Trusted(g.File, g.SHA256)
}

// trust names the guards that the user trusts. It changes none: calls that are
// being judged have them.
func (s *Store) trust(guards []*Guard) string {
	var b strings.Builder
	for _, g := range guards {
		if s.trusts(g) {
			b.WriteString(g.File + " " + g.SHA256 + "\n")
		}
	}
	return b.String()
}

// stateOf is what tells the files of sources from what they were, without
// reading them; newest is when the last of them changed.
func stateOf(sources []*source) (state string, newest time.Time) {
	b := []byte{1} // a tree that was never looked at has the empty state
	for _, s := range sources {
		names, err := s.names()
		if err != nil {
			b = append(append(b, err.Error()...), 0)
		}
		for _, name := range names {
			b = append(append(b, s.dir+"/"+name...), 0)
			info, err := s.stat(name)
			if err != nil {
				b = append(append(b, err.Error()...), 0)
				continue
			}
			b = binary.LittleEndian.AppendUint64(b, uint64(info.Size()))
			b = binary.LittleEndian.AppendUint64(b, uint64(info.ModTime().UnixNano()))
			b = binary.LittleEndian.AppendUint32(b, uint32(info.Mode()))
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				b = binary.LittleEndian.AppendUint64(b, uint64(st.Ino))
			}
			if info.ModTime().After(newest) {
				newest = info.ModTime()
			}
		}
	}
	return string(b), newest
}

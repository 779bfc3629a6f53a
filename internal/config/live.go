package config

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"handrail/guard"
	"handrail/guard/rules"
	"handrail/tools/place"
)

// live keeps the policy for each set of workspace roots and notices when the
// files change that it is made of: the user's, whole and valid or else the old
// one stays; and those of projects, which ask while they have a fault. It is
// safe for concurrent use.
type live struct {
	users  func(roots []string) *guard.Policy // the users' guards; may be nil
	trust  *Trust
	notice func(string)

	mu     sync.Mutex
	config *Config            // as it was last good
	read   map[string]sighted // of its files
	state  string
	next   time.Time
	told   string
	places map[string]*site
}

// site is the policy for one set of roots.
type site struct {
	next   time.Time
	state  string
	config *Config
	base   *guard.Base
}

// How often files are looked at, and how many sets of roots are kept: sessions
// may bring any.
const (
	lookEvery = 250 * time.Millisecond
	maxPlaces = 64
)

// follow makes m judge by the files as they are at each call.
func (c *Config) follow(m *guard.Manager) *live {
	l := &live{users: m.User, trust: OpenTrust(c.State), notice: c.Notice, config: c, places: map[string]*site{}}
	if l.notice == nil {
		l.notice = func(string) {}
	}
	l.state = l.files()
	m.User = l.policy
	return l
}

// policy is what calls with these roots are judged by.
func (l *live) policy(roots []string) *guard.Policy {
	p := guard.Policy{Base: l.at(roots).base}
	if l.users != nil {
		if u := l.users(roots); u != nil {
			p.For, p.Revision = u.For, u.Revision
		}
	}
	return &p
}

// rateLimit is a tools.Toolbox.RateLimit.
func (l *live) rateLimit(tool string, roots []string) int {
	if t := l.at(roots).config.Tools.All()[tool]; t != nil {
		return t.RateLimit
	}
	return 0
}

// Offers reports whether a tool is turned on, by what the user's configuration
// and the managed one say now.
func (s *System) Offers(tool string) bool {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	t := s.live.config.Tools.All()[tool]
	return t == nil || t.Enabled != rules.Off
}

// at returns the site of roots as it is now.
func (l *live) at(roots []string) *site {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.After(l.next) {
		l.next = now.Add(lookEvery)
		l.refresh()
	}
	key := strings.Join(roots, "\x00")
	p := l.places[key]
	if p == nil {
		if len(l.places) >= maxPlaces {
			clear(l.places)
		}
		p = &site{}
		l.places[key] = p
	}
	if now.Before(p.next) {
		return p
	}
	p.next = now.Add(lookEvery)
	projects := l.config.readProjects(roots, l.trust)
	state := fmt.Sprintf("%p", l.config)
	for _, f := range projects {
		state += fmt.Sprintf("\x00%s %s %v %v", f.path, f.sum, f.trusted, f.err)
	}
	if state == p.state {
		return p
	}
	p.state, p.config = state, l.config.withProjects(projects)
	base, err := p.config.base()
	if err != nil { // of what was checked when it was read
		l.notice("the policy cannot be made, so every call is refused: " + err.Error())
		base = &guard.Base{}
	}
	p.base = base
	for _, f := range projects {
		if f.err != nil {
			l.notice("a project's configuration cannot be used, so every call in it asks: " + f.err.Error())
		}
	}
	return p
}

// refresh reads the user's and the managed file again where they changed.
func (l *live) refresh() {
	state := l.files()
	if state == l.state {
		return
	}
	c, err := load(l.config.layers.at, l.config.layers.named, l.config.layers.given)
	if err == nil && l.config.homes != "" {
		c.State, c.homes, c.trusted = l.config.State, l.config.homes, l.config.trusted
	}
	name, whose := l.config.Principal, ""
	if name != "" {
		whose = " for the principal " + name
	}
	switch {
	case err == nil && name != "" && c.Principals[name] == nil:
		if gone := name + " is not among the principals any more, and is not served"; l.told != gone {
			l.told = gone
			l.notice(gone)
		}
		return
	case err == nil && name != "":
		c, err = c.For(name)
	}
	switch {
	case err == nil && l.config.File != "" && c.File == "":
		err = fmt.Errorf("%s is gone", l.config.File)
	case err == nil && l.config.layers.managed != nil && c.layers.managed == nil:
		err = fmt.Errorf("%s is gone", l.config.layers.at)
	}
	if err != nil { // the state stays the old one: it is tried again
		if l.told != err.Error() {
			l.told = err.Error()
			l.notice("the configuration cannot be read, so it stays as it was" + whose + ": " + err.Error())
		}
		return
	}
	if again := l.files(); again != state { // it is being written just now
		return
	}
	later := l.config.laterThan(c)
	said := "the configuration has changed and is in force" + whose
	if len(later) > 0 {
		said += ", but for what counts when handrail starts: " + strings.Join(later, ", ")
	}
	l.notice(said)
	l.config, l.state, l.told = c, state, ""
	clear(l.places)
}

// laterThan gives c, which was read anew, the settings that count only when the
// program starts, and names those that differ.
func (old *Config) laterThan(c *Config) (paths []string) {
	leaves(tree(), func(path string, f *field) {
		if f.lively() || !f.changes(old, c) {
			return
		}
		if path == "principals" {
			paths = append(paths, old.Principals.laterThan(c.Principals)...)
		} else {
			paths = append(paths, path)
		}
		f.take(c, old)
	})
	c.Roots, c.Home, c.root, c.Notice, c.LLM = old.Roots, old.Home, old.root, old.Notice, old.LLM
	return paths
}

// files is what tells the user's and the managed file from what they were: their
// content, since it is short.
func (l *live) files() string {
	c := l.config
	state := ""
	read := map[string]sighted{}
	for _, file := range []string{c.layers.at, c.userFile()} {
		at, old := stampOf(file), l.read[file]
		if at == (stamp{}) || at != old.stamp {
			old = sighted{at, contentOf(file)}
		}
		if time.Since(time.Unix(0, at.changed)) > settles {
			read[file] = old
		}
		state += old.content + "\n"
	}
	l.read = read
	return state
}

// contentOf tells the content of a file from any other, or says what is wrong.
func contentOf(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return sumOf(data)
}

// sighted is a file whose content is known while its stamp is the same.
type sighted struct {
	stamp
	content string
}

// settles is for how long after a change a file can change once more with the same
// stamp: a few ticks of the kernel's clock.
const settles = 100 * time.Millisecond

// stamp is what changes with every change of a file, also one that sets its times
// back. Zero: it cannot be looked at.
type stamp struct {
	dev, ino      uint64
	size, changed int64 // bytes; ns
}

func stampOf(file string) stamp {
	var st syscall.Stat_t
	if syscall.Stat(file, &st) != nil {
		return stamp{}
	}
	return stamp{uint64(st.Dev), uint64(st.Ino), st.Size, place.ChangedAt(&st)}
}

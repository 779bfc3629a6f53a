//go:build linux || darwin

package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Undoing is the plan to bring back the state before one call, and then what
// came of it.
type Undoing struct {
	Call string `json:"call"`           // that is undone
	ID   string `json:"id,omitempty"`   // under which the undoing itself can be undone
	Done bool   `json:"done"`           // it was carried out
	Todo []Step `json:"todo,omitempty"` // in the order of paths
	// Refused are the reasons why the undoing needs force: work that it would
	// take, or what cannot be brought back.
	Refused []Problem `json:"refused,omitempty"`
	// Failed is what could not be done in the end.
	Failed []Problem `json:"failed,omitempty"`
	// Left are paths that stay, with the reason.
	Left []Problem `json:"left,omitempty"`
}

// Step is one path that is brought back, or removed where the call made it.
type Step struct {
	Path Name `json:"path"`
	// Do is "restore", "remove", or "mode" for a directory that is there.
	Do string `json:"do"`

	before, now *Entry
}

// Problem is a path and what is the matter with it.
type Problem struct {
	Path Name   `json:"path"`
	Why  string `json:"why"`
}

// Options say how to undo.
type Options struct {
	DryRun bool
	Force  bool   // also where later work is taken, which is kept as before a call
	ID     string // of the undoing; must be new
	Tool   string // for its record
}

// Undo brings back the state before r's call: what the call changed or deleted
// is restored, what it made is removed. Without Force nothing is done where
// something cannot be brought back, or changed since. The undoing is a record
// of its own, and can be undone. An error means that nothing was done.
func (s *Store) Undo(ctx context.Context, r *Record, o Options) (*Undoing, error) {
	u := &Undoing{Call: r.Call}
	if r.Undone != "" && !o.Force {
		u.Refused = append(u.Refused, Problem{"", "it was undone already, by " + r.Undone})
	}
	now := &Record{Call: o.ID, Tool: o.Tool, Roots: r.Roots, Began: time.Now().UTC(), Undoes: r.Call, Whole: r.Whole}
	for _, spot := range r.Places {
		now.Places = append(now.Places, Spot{Path: spot.Path, Shallow: spot.Shallow})
	}
	if err := s.before(ctx, now, &walk{}); err != nil {
		return nil, err
	}
	err := (&planner{s.states(), u, r, now, nil}).plan()
	if err != nil || o.DryRun || len(u.Refused) > 0 && !o.Force || len(u.Todo) == 0 {
		s.forget(now)
		return u, err
	}
	s.carryOut(u)
	s.sync(now)
	u.ID, u.Done = now.Call, true
	if err := s.after(ctx, now); err != nil {
		return u, err
	}
	r.Undone = now.Call
	return u, s.mark(r)
}

// mark writes that r is undone. The undoing of an undoing makes the call that
// it undid stand again.
func (s *Store) mark(r *Record) error {
	if r.Undoes != "" {
		if first, err := s.Find(r.Undoes); err == nil && first.Undone == r.Call {
			first.Undone = ""
			if err := s.save(first); err != nil {
				return err
			}
		}
	}
	return s.save(r)
}

// planner finds what there is to do to undo r.
type planner struct {
	*states
	u      *Undoing
	r, now *Record // now: the state of r's places at this moment
	others []other
}

func (p *planner) plan() error {
	u, r, now := p.u, p.r, p.now
	if r.Ended.IsZero() {
		u.Refused = append(u.Refused, Problem{"", "the call has not ended, or the server did not live to see it: its changes cannot be told from later ones"})
		for i := range r.Places {
			r.Places[i].After = now.Places[i].Before
		}
	}
	changes, err := p.changes(r)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if p.others, err = p.store.others(r); err != nil {
		return err
	}
	for _, c := range changes {
		cur, _, err := p.at(p.now, c.Path, before)
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if same(cur, c.Before) && (c.Before == nil || c.Before.Lost == "") {
			continue // it is so already
		}
		p.consider(c, cur)
	}
	return p.kept(changes)
}

// consider adds what is to be done about one change; cur is what is there now.
func (p *planner) consider(c Change, cur *Entry) {
	u := p.u
	step := Step{Path: Name(c.Path), Do: "restore", before: c.Before, now: cur}
	refuse := func(why string) { u.Refused = append(u.Refused, Problem{Name(c.Path), why}) }
	if !same(cur, c.After) {
		refuse("it was changed since" + p.culprit(c.Path, false))
	} else if who := p.culprit(c.Path, true); who != "" {
		refuse("it was changed" + who)
	}
	if c.Before.isDir() && c.Before.Lost != "" && c.Before.Hash != "" && !c.After.isDir() { // by force the rest comes back
		refuse("not all of what was in it was kept: " + c.Before.Lost)
	}
	switch {
	case c.Before == nil && c.After.isDir() && c.After.Lost != "" && c.After.Hash == "":
		u.Left = append(u.Left, Problem{Name(c.Path), "the call made it; what is in it is not known: " + c.After.Lost})
		return
	case c.Before == nil:
		step.Do = "remove"
	case c.Before.Lost != "" && !(c.Before.isDir() && c.Before.Hash != ""):
		refuse("it was not kept: " + c.Before.Lost)
		return
	case c.Before.isFile() && !p.store.has(c.Before.Hash, c.Before.Size):
		refuse("its content is no longer in the history")
		return
	case c.Before.isDir() && cur.isDir():
		step.Do = "mode"
	}
	if cur != nil && cur.Lost != "" && !cur.isDir() && cur.kind() == unix.S_IFREG && step.Do != "mode" {
		refuse("what is there now cannot be kept: " + cur.Lost)
	}
	u.Todo = append(u.Todo, step)
}

// kept adds what would be taken along with directories that the call made or
// that take the place of what it removed: names that came since.
func (p *planner) kept(changes []Change) error {
	u := p.u
	made := map[string]bool{}
	for _, c := range changes {
		made[c.Path] = true
	}
	for _, c := range changes {
		if c.Before.isDir() || !c.After.isDir() {
			continue
		}
		cur, _, err := p.at(p.now, c.Path, before)
		if err == nil && cur.isDir() {
			err = p.diff(c.Path, nil, cur, func(d Change) {
				if !made[d.Path] {
					u.Refused = append(u.Refused, Problem{Name(d.Path), "it came since, in a directory that the call made"})
				}
			})
		}
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	slices.SortFunc(u.Refused, func(a, b Problem) int { return strings.Compare(string(a.Path), string(b.Path)) })
	u.Refused = slices.CompactFunc(u.Refused, func(a, b Problem) bool { return a.Path == b.Path && a.Path != "" })
	return nil
}

// The two states of a place.
func before(s Spot) *Entry { return s.Before }
func after(s Spot) *Entry  { return s.After }

// other is a call that may have changed the same places; beside says that it
// ran at the same time, and not only later.
type other struct {
	*Record
	beside bool
}

// others are the calls that may have changed the same places during r's call or
// since, newest first.
func (s *Store) others(r *Record) (list []other, err error) {
	err = s.Records(func(o *Record) bool {
		if o.Call != r.Call && o.Undone == "" && o.Undoes != r.Call && o.Ended.After(r.Began) {
			around := !o.Began.After(r.Began) && !o.Ended.Before(r.Ended) // a long job: what r changed is r's
			list = append(list, other{o, o.Began.Before(r.Ended) && !around})
		}
		return len(list) < 2000
	})
	return list, err
}

// culprit names the call that changed path; with beside only one that ran at
// the same time as the call that is undone.
func (p *planner) culprit(path string, beside bool) string {
	for _, o := range p.others {
		if beside && !o.beside {
			continue
		}
		was, known, err := p.at(o.Record, path, before)
		if !known || err != nil {
			continue
		}
		is, _, err := p.at(o.Record, path, after)
		if err != nil || same(was, is) {
			continue
		}
		if o.beside {
			return ", perhaps by " + o.Call + ", which ran at the same time"
		}
		return " by " + o.Call
	}
	return ""
}

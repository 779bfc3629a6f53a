//go:build linux || darwin

package history

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"handrail/guard"
)

// Call names a call that is about to run.
type Call struct {
	ID      string
	Tool    string
	Session string
	Roots   []string // of the workspace, absolute and resolved
	// Skip are directories whose content counts for nothing: scratch.
	Skip []string
}

// Kept is what was kept before one call. The zero value and nil are nothing,
// and all methods do nothing then.
type Kept struct {
	s      *Store
	r      *Record
	missed []Lost // of what the call deletes
	over   []Lost // of what it replaces
}

// Whole reports whether the call could destroy anything in the workspace, so
// that all of it was to be kept.
func (k *Kept) Whole() bool { return k != nil && k.r != nil && k.r.Whole }

// Keep keeps what a call could destroy, before it runs. It is nil for a call
// that only reads. An error means that the call could not be undone; Kept still
// says what was to be kept. Of what is too large nothing is kept, which is no
// error but told by Untold.
func (s *Store) Keep(ctx context.Context, c Call, facts *guard.Facts) (*Kept, error) {
	p := plans(c.Roots, facts)
	p.drop(c.Skip)
	if len(p.spots) == 0 {
		return nil, nil
	}
	k := &Kept{r: &Record{Call: c.ID, Tool: c.Tool, Session: c.Session, Began: time.Now().UTC(), Whole: p.whole, Places: p.spots}}
	for _, root := range c.Roots {
		k.r.Roots = append(k.r.Roots, Name(root))
	}
	w := &walk{deleted: deleted(facts), replaced: replaced(facts)}
	if err := s.before(ctx, k.r, w); err != nil {
		for _, path := range w.replaced {
			k.over = append(k.over, Lost{Path: Name(path), Why: "nothing can be kept"})
		}
		return k, err
	}
	k.s, k.missed, k.over = s, w.missed, w.over
	return k, nil
}

// drop leaves out what lies in a scratch directory.
func (p *plan) drop(skip []string) {
	kept := p.spots[:0]
	for _, spot := range p.spots {
		scratch := false
		for _, dir := range skip {
			scratch = scratch || dir != "" && within(string(spot.Path), dir)
		}
		if !scratch {
			kept = append(kept, spot)
		}
	}
	p.spots = kept
}

// deleted are the paths that a call deletes, at or below.
func deleted(facts *guard.Facts) (paths []string) {
	for _, e := range facts.Effects {
		if e.Kind == guard.Delete && filepath.IsAbs(e.Target) {
			paths = append(paths, filepath.Clean(e.Target))
		}
	}
	return paths
}

// replaced are the paths that a call gives another content, exactly these.
func replaced(facts *guard.Facts) (paths []string) {
	for i := range facts.Effects {
		if e := &facts.Effects[i]; e.Replaces() && filepath.IsAbs(e.Target) {
			paths = append(paths, filepath.Clean(e.Target))
		}
	}
	return paths
}

// before keeps the places of r as they are, and writes r. w says what the call
// deletes and replaces, and tells then what of that is not kept.
func (s *Store) before(ctx context.Context, r *Record, w *walk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return errors.New("history: the store is not open")
	}
	if err := s.room(); err != nil {
		return err
	}
	unlock, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	w.s, w.ctx, w.now = s, ctx, time.Now()
	defer func() { s.grow(w.grown) }()
	for i := range r.Places {
		spot := &r.Places[i]
		if spot.Before, err = w.snapshot(string(spot.Path), spot.Shallow); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	r.Lost, r.LostCount = w.some, w.lost
	return s.save(r)
}

// room sees to it that the store has room for one more snapshot.
func (s *Store) room() error {
	free, err := s.free()
	if err != nil {
		return err
	}
	if s.size() > s.limits.Store || free < s.limits.Free {
		if err := s.Sweep(free < s.limits.Free); err != nil && !errors.Is(err, errBusy) {
			return err
		}
		if free, err = s.free(); err != nil {
			return err
		}
	}
	if free < s.limits.Free {
		return fmt.Errorf("history: the disk of %s has only %d MiB free, %d MiB are to stay so; make room", s.dir, free>>20, s.limits.Free>>20)
	}
	return nil
}

// Done looks at the same places after the call. The call can be undone without
// it only by force.
func (k *Kept) Done(ctx context.Context) error {
	if k == nil || k.s == nil {
		return nil
	}
	return k.s.after(ctx, k.r)
}

func (s *Store) after(ctx context.Context, r *Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	w := &walk{s: s, ctx: ctx, now: time.Now()}
	defer func() { s.grow(w.grown) }()
	r.Made, r.Changed, r.Removed = 0, 0, 0
	for i := range r.Places {
		spot := &r.Places[i]
		if spot.After, err = w.snapshot(string(spot.Path), spot.Shallow); err != nil {
			return fmt.Errorf("history: %w", err)
		}
		err := s.states().diff(string(spot.Path), spot.Before, spot.After, func(c Change) {
			switch {
			case c.Before == nil:
				r.Made++
			case c.After == nil:
				r.Removed++
			default:
				r.Changed++
			}
		})
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	r.Ended = time.Now().UTC()
	return s.save(r)
}

// Missed says in a clause what the call deletes that is not kept, and why; empty:
// nothing. Build products and what is no file do not count.
func (k *Kept) Missed() string {
	if k == nil || len(k.missed) == 0 {
		return ""
	}
	return Names(k.missed)
}

// Replaced is what the call gives another content and that is not kept, by the
// paths that the call names. Build products do not count.
func (k *Kept) Replaced() []Lost {
	if k == nil {
		return nil
	}
	return k.over
}

// Names names some of what is lost in a clause, and why, and counts the rest.
func Names(lost []Lost) string {
	var words []string
	for _, l := range lost {
		words = append(words, fmt.Sprintf("%q (%s)", string(l.Path), l.Why))
	}
	return few(words)
}

// Forget takes back that the call was kept, since it does not run.
func (k *Kept) Forget() {
	if k == nil || k.s == nil {
		return
	}
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	k.s.forget(k.r)
	k.s = nil
}

// few joins some of words, and counts the rest.
func few(words []string) string {
	if len(words) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:3], ", "), len(words)-3)
	}
	return strings.Join(words, ", ")
}

// Untold says in a clause what of the places is not kept, of what this process
// has not said it yet; empty: nothing.
func (k *Kept) Untold() string {
	if k == nil || k.s == nil {
		return ""
	}
	s := k.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []Lost
	for _, l := range k.r.Lost {
		if len(s.told) < 10_000 && !s.told[string(l.Path)] {
			s.told[string(l.Path)] = true
			fresh = append(fresh, l)
		}
	}
	if len(fresh) == 0 {
		return ""
	}
	return "not kept, so undo cannot bring it back: " + Names(fresh)
}

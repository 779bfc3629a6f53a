//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// owing is a path that could not be taken back: how it was, and how it then stood;
// nil is nothing. Nothing runs as long as it stands so: what runs next would start
// from it.
type owing struct {
	was, stood *entry
}

// undo takes the changed paths back, outermost first, and makes files of their own
// of those that got a further name. It goes on where one of them fails.
func (w *watcher) undo(changes []string, now map[string]*entry) (restored []string, failed error) {
	s := w.aside()
	for _, path := range changes {
		u, rel, ok := w.undoing(path, s)
		if !ok {
			continue
		}
		err := u.take(rel, w.base[path], now[path])
		if err != nil {
			w.owed[path] = owing{w.base[path], now[path]}
			failed = errors.Join(failed, fmt.Errorf("protected path %s was changed and is not as it was: %w", path, err))
			continue
		}
		restored = append(restored, path)
		if u.leftover != nil {
			failed = errors.Join(failed, fmt.Errorf("what stood at the protected path %s: %w", path, u.leftover))
		}
	}
	for _, path := range w.linked {
		u, rel, ok := w.undoing(path, s)
		if !ok {
			continue
		}
		if err := u.alone(rel, now[path]); err != nil {
			w.owed[path] = owing{w.base[path], now[path]}
			failed = errors.Join(failed, fmt.Errorf("protected path %s got another name, and has it: %w", path, err))
			continue
		}
		restored = append(restored, path)
	}
	slices.Sort(restored)
	return slices.DeleteFunc(restored, func(p string) bool { return slices.Contains(restored, filepath.Dir(p)) }), failed
}

// settle tries again to take back what is owed, and reports whether it took
// something. An error says what still stands in the way.
func (w *watcher) settle(now map[string]*entry) (took bool, failed error) {
	s := w.aside()
	for path, o := range w.owed {
		is := now[path]
		u, rel, ok := w.undoing(path, s)
		if !ok {
			continue // in a workspace that nothing runs in now
		}
		linked := o.was != nil && is != nil && is.linkedSince(o.was)
		switch {
		case is == nil && (o.was == nil || len(w.live) == 0): // removed by a person
		case o.was != nil && is != nil && o.was.equal(is) && !linked:
		case len(w.live) == 0 && is != nil && o.stood != nil && is.stamp.mode.IsRegular() && o.stood.stamp != (stamp{}) && is.stamp.changed != o.stood.stamp.changed: // looked after by a person
		default:
			took = true
			err := u.again(rel, o.was, is, linked && o.was.equal(is))
			if err == nil {
				break
			}
			failed = errors.Join(failed, fmt.Errorf("protected path %s was changed by a command and could not be put back: %w: look at it, and remove or change it, then commands run again", path, err))
			continue
		}
		delete(w.owed, path)
	}
	return took, failed
}

// again takes rel back, or makes it a file of its own.
func (u *undoing) again(rel string, was, is *entry, linked bool) error {
	if linked {
		return u.alone(rel, is)
	}
	return u.take(rel, was, is)
}

// aside returns a new shelf, whose directory is made with the first thing on it.
func (w *watcher) aside() *shelf {
	w.count++
	name := fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405.000000000"), w.count)
	return &shelf{dir: filepath.Join(w.quarantine, name), left: maxKept}
}

// undoing returns how path is taken back, and its path there; not ok where it lies
// in nothing that is held.
func (w *watcher) undoing(path string, s *shelf) (u *undoing, rel string, ok bool) {
	held := w.held()
	i := slices.IndexFunc(held, func(r string) bool { return below([]string{r}, path) })
	if i < 0 {
		return nil, "", false
	}
	rel, err := filepath.Rel(held[i], path)
	return &undoing{root: held[i], shelf: s}, rel, err == nil
}

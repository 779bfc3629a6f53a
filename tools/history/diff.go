//go:build linux || darwin

package history

import (
	"path/filepath"
	"slices"
	"strings"
)

// Change is one name that a call made, changed or removed. Before or After is
// nil where nothing was there.
type Change struct {
	Path   string
	Before *Entry
	After  *Entry
}

// states reads states of trees from the store, each listing once. It is not safe
// for concurrent use.
type states struct {
	store *Store
	memo  map[string][]Entry // by hash
	size  int                // entries in memo
}

func (s *Store) states() *states { return &states{store: s, memo: map[string][]Entry{}} }

// diff calls each with what differs between two states of path, a directory
// before what is below it.
func (s *states) diff(path string, before, after *Entry, each func(Change)) error {
	if !same(before, after) {
		each(Change{path, before, after})
	}
	if before.isDir() && after.isDir() && before.Hash == after.Hash {
		return nil
	}
	old, err := s.children(before)
	if err != nil {
		return err
	}
	fresh, err := s.children(after)
	if err != nil {
		return err
	}
	// Of a directory that was not looked at as a whole, on either side, what
	// only the other side has tells nothing.
	vague, blind := before.isDir() && after.isDir() && before.Lost != "", before.isDir() && after.isDir() && after.Lost != ""
	for len(old) > 0 || len(fresh) > 0 {
		var a, b *Entry
		if len(fresh) == 0 || len(old) > 0 && old[0].Name <= fresh[0].Name {
			a = &old[0]
		}
		if len(old) == 0 || len(fresh) > 0 && fresh[0].Name <= old[0].Name {
			b = &fresh[0]
		}
		name := ""
		if a != nil {
			name, old = string(a.Name), old[1:]
		}
		if b != nil {
			name, fresh = string(b.Name), fresh[1:]
		}
		if a == nil && vague || b == nil && blind {
			continue
		}
		if err := s.diff(filepath.Join(path, name), a, b, each); err != nil {
			return err
		}
	}
	return nil
}

// children are the entries of a directory; none where e is not one, or where
// nothing of it is kept.
func (s *states) children(e *Entry) ([]Entry, error) {
	if !e.isDir() || e.Hash == "" {
		return nil, nil
	}
	if known, ok := s.memo[e.Hash]; ok {
		return known, nil
	}
	entries, err := s.store.listing(e.Hash)
	if err != nil {
		return nil, err
	}
	if s.size += len(entries); s.size > mostRemembered {
		s.memo, s.size = map[string][]Entry{}, len(entries)
	}
	s.memo[e.Hash] = entries
	return entries, nil
}

// Changes are what a call did, as far as is known.
func (s *Store) Changes(r *Record) (changes []Change, err error) {
	return s.states().changes(r)
}

func (s *states) changes(r *Record) (changes []Change, err error) {
	for _, spot := range r.Places {
		if err := s.diff(string(spot.Path), spot.Before, spot.After, func(c Change) { changes = append(changes, c) }); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// at returns the entry of path in a state of the places of r; known is false
// where path lies in none.
func (s *states) at(r *Record, path string, state func(Spot) *Entry) (e *Entry, known bool, err error) {
	for _, spot := range r.Places {
		if !within(path, string(spot.Path)) || spot.Shallow && path != string(spot.Path) {
			continue
		}
		e, err = s.find(state(spot), path[len(spot.Path):])
		return e, true, err
	}
	return nil, false, nil
}

// find follows rest, "" or "/a/b", below the directory e.
func (s *states) find(e *Entry, rest string) (*Entry, error) {
	for rest != "" {
		entries, err := s.children(e)
		if err != nil {
			return nil, err
		}
		var name string
		if name, rest, _ = strings.Cut(rest[1:], "/"); rest != "" {
			rest = "/" + rest
		}
		if e = lookup(entries, name); e == nil {
			return nil, nil
		}
	}
	return e, nil
}

// lookup finds a name among sorted entries.
func lookup(entries []Entry, name string) *Entry {
	i, ok := slices.BinarySearchFunc(entries, name, func(e Entry, name string) int { return strings.Compare(string(e.Name), name) })
	if !ok {
		return nil
	}
	return &entries[i]
}

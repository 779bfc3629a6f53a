//go:build linux || darwin

package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Record is what is kept for one call.
type Record struct {
	Call    string    `json:"call"`
	Tool    string    `json:"tool"`
	Roots   []Name    `json:"roots"` // of the workspace
	Session string    `json:"session,omitempty"`
	Began   time.Time `json:"began"`
	// Ended is when the call was over; zero where the server did not live to see it.
	Ended time.Time `json:"ended,omitzero"`
	// Whole says that the workspace was kept, and not only what the facts name.
	Whole  bool   `json:"whole,omitempty"`
	Places []Spot `json:"places"`
	// Lost is something of what is not kept, of LostCount entries.
	Lost      []Lost `json:"lost,omitempty"`
	LostCount int    `json:"lost_count,omitempty"`
	// Made, Changed and Removed count names by what became of them.
	Made    int `json:"made,omitempty"`
	Changed int `json:"changed,omitempty"`
	Removed int `json:"removed,omitempty"`
	// Undoes is the call that this one undid; Undone the one that undid this.
	Undoes string `json:"undoes,omitempty"`
	Undone string `json:"undone,omitempty"`

	file string // in the store
}

// Spot is a place that was kept before a call, and looked at after it.
type Spot struct {
	Path Name `json:"path"` // absolute, resolved
	// Shallow says that of a directory only itself counts, nothing below.
	Shallow bool   `json:"shallow,omitempty"`
	Before  *Entry `json:"before,omitempty"` // nil: nothing was there
	After   *Entry `json:"after,omitempty"`
}

// Effective reports whether the call changed something, as far as is known.
func (r *Record) Effective() bool {
	return r.Ended.IsZero() || r.Made+r.Changed+r.Removed > 0
}

// ErrNone says that there is no record of a call.
var ErrNone = errors.New("the history has no such call")

// save writes r.
func (s *Store) save(r *Record) error {
	if r.file == "" {
		r.file = fmt.Sprintf("%016x-%s.json", r.Began.UnixNano(), fileName(r.Call))
	}
	if err := s.write(filepath.Join(s.dir, "calls", r.file), r); err != nil {
		return fmt.Errorf("history: record of %s: %w", r.Call, err)
	}
	return nil
}

// fileName is a call's ID with nothing in it that a path gives a meaning.
func fileName(call string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, call)
}

// files are the names of the records, oldest first.
func (s *Store) files() ([]string, error) {
	d, err := os.Open(filepath.Join(s.dir, "calls"))
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

func (s *Store) load(file string) (*Record, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, "calls", file))
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	r := &Record{file: file}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("history: %s: %w", file, err)
	}
	return r, nil
}

// Records calls each with the records, newest first, until it returns false.
// One that cannot be read is left out.
func (s *Store) Records(each func(*Record) bool) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	for _, file := range slices.Backward(files) {
		r, err := s.load(file)
		if err != nil {
			continue
		}
		if !each(r) {
			return nil
		}
	}
	return nil
}

// Find returns the record of a call, named by its ID or a part that begins it
// and no other's; "call-" may be left out. ErrNone: there is none.
func (s *Store) Find(call string) (*Record, error) {
	files, err := s.files()
	if err != nil {
		return nil, err
	}
	var found string
	for _, file := range files {
		_, id, _ := strings.Cut(strings.TrimSuffix(file, ".json"), "-")
		switch {
		case id == fileName(call):
			return s.load(file)
		case call == "" || !strings.HasPrefix(id, fileName(call)) && !strings.HasPrefix(strings.TrimPrefix(id, "call-"), fileName(call)):
		case found != "":
			return nil, fmt.Errorf("%q begins the ID of several calls; give more of it", call)
		default:
			found = file
		}
	}
	if found == "" {
		return nil, ErrNone
	}
	return s.load(found)
}

// Last returns the last call that changed something in the workspace that dir
// (absolute, resolved) belongs to and that is not undone. ErrNone: there is none.
func (s *Store) Last(dir string) (*Record, error) {
	var last *Record
	err := s.Records(func(r *Record) bool {
		if r.Undoes == "" && r.Undone == "" && r.Effective() && r.Concerns(dir) {
			last = r
		}
		return last == nil
	})
	if err == nil && last == nil {
		err = ErrNone
	}
	return last, err
}

// Concerns reports whether dir (absolute, resolved) is a root of the call's
// workspace, or lies in or above one.
func (r *Record) Concerns(dir string) bool {
	return slices.ContainsFunc(r.Roots, func(root Name) bool {
		return within(dir, string(root)) || within(string(root), dir)
	})
}

// within reports whether path is dir or lies below it. Both are cleaned.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

package tools

import (
	"fmt"
	"os"
	"path/filepath"

	"handrail/guard"
	"handrail/tools/place"
)

// fills reports whether e is a directory that git makes, and that it takes as well
// where it stands empty: a new work tree or clone.
func fills(f *guard.Facts, e guard.Effect) bool {
	if !e.Exact || e.Kind != guard.Write || e.Command < 0 || e.Command >= len(f.Commands) || f.Commands[e.Command].Name != "git" {
		return false
	}
	if st, err := os.Stat(filepath.Dir(e.Target)); err != nil || !st.IsDir() {
		return false
	}
	name, _ := gitCommand(f.Commands[e.Command].Args, f.Dir)
	return name == "worktree" || name == "clone"
}

// prepare makes the directories that the run is to fill, so that it need not write
// in those around them.
func (p *plan) prepare() error {
	for _, path := range p.empty {
		if err := makeEmpty(path); err != nil {
			p.clear()
			return fmt.Errorf("%s cannot be made for it: %w", path, err)
		}
	}
	return nil
}

func makeEmpty(path string) error {
	s, err := place.OpenNode(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Mkdir(); err != nil {
		return err
	}
	dir, err := place.OpenDir(path, false)
	if err != nil {
		return err
	}
	defer dir.Close()
	return os.Chmod(place.HandlePath(dir, path), 0o755)
}

// clear removes those that were left empty.
func (p *plan) clear() {
	for _, path := range p.empty {
		if s, err := place.OpenNode(path); err == nil {
			if info, err := os.Lstat(path); err == nil && info.IsDir() {
				_ = s.Remove() // not empty: it was filled
			}
			s.Close()
		}
	}
}

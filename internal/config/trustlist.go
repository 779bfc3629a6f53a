package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard/plugin"
	"handrail/skills"
	"handrail/tools"
)

// Candidate is a file of a project that loosens something once it is trusted.
type Candidate struct {
	Path    string // below the root
	SHA256  string
	Trusted bool
	// Loosens is what trust would change, as lines of a diff against the state
	// without it. Empty: nothing.
	Loosens []string
	Err     error // why it cannot be used at all
}

// trustDirs are the directories of a project that hold guards and guard skills,
// the weakest first.
func trustDirs() (dirs []string) {
	for _, kind := range []string{"guards", "guard-skills"} {
		for _, d := range []string{".agents", ".claude", ".handrail"} {
			dirs = append(dirs, filepath.Join(d, kind))
		}
	}
	return dirs
}

// Candidates are the files of a project that trust is about.
func (c *Config) Candidates(root string) ([]Candidate, error) {
	trust := OpenTrust(c.State)
	if _, err := trust.Files(); err != nil {
		return nil, err
	}
	r, err := c.reviewing(root)
	if err != nil {
		return nil, err
	}
	var all []Candidate
	add := func(rel string, loosens func(file string, data []byte) ([]string, error)) {
		data, err := readBelow(root, rel, maxProjectFile)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		file := filepath.Join(root, rel)
		one := Candidate{Path: rel, SHA256: sumOf(data), Err: err}
		if err == nil {
			one.Trusted = trust.Has(file, one.SHA256)
			one.Loosens, one.Err = loosens(file, data)
		}
		all = append(all, one)
	}
	add(projectFile, func(_ string, data []byte) ([]string, error) { return c.loosened(projectFile, data) })
	for _, dir := range trustDirs() {
		names, err := namesBelow(root, dir)
		if err != nil {
			all = append(all, Candidate{Path: dir, Err: err})
			continue
		}
		for _, name := range names {
			switch skill := filepath.Base(dir) == "guard-skills"; {
			case skill && filepath.Ext(name) == ".md":
				add(filepath.Join(dir, name), r.skill)
			case !skill && plugin.IsGuard(name):
				add(filepath.Join(dir, name), r.guard)
			}
		}
	}
	return all, nil
}

// review is what the files of a project are compared with: what holds without
// them, and those of the project before.
type review struct {
	loader plugin.Loader
	guards []*plugin.Guard
	skills []skills.Skill
}

// reviewing begins the review of a project.
func (c *Config) reviewing(root string) (*review, error) {
	j, err := c.Judge(tools.Environment([]string{root}, ""))
	if err != nil {
		return nil, err
	}
	r := &review{loader: c.Loader(j)}
	if j.Guards != nil {
		r.guards, _ = j.Guards.Guards(nil) // the user's: faults of these are errors of Judge
	}
	r.skills, _ = c.Skills(nil)
	return r, nil
}

func (r *review) guard(file string, data []byte) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), plugin.MaxReading)
	defer cancel()
	g, err := r.loader.Parse(ctx, file, data)
	if err != nil {
		return nil, err
	}
	lines := g.Loosened(data, r.guards)
	r.guards = append(slices.DeleteFunc(r.guards, func(o *plugin.Guard) bool { return o.ID == g.ID }), g)
	return lines, nil
}

// skill counts as a whole: all of it is what the model is told.
func (r *review) skill(file string, data []byte) (lines []string, err error) {
	s, err := skills.Parse(file, data)
	if err != nil {
		return nil, err
	}
	s.File = file
	for _, o := range r.skills {
		if o.Name == s.Name {
			lines = append(lines, "-the skill "+o.Name+" of "+cmp.Or(o.File, "handrail")+": "+o.Description)
		}
	}
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		lines = append(lines, "+"+line)
	}
	r.skills = append(slices.DeleteFunc(r.skills, func(o skills.Skill) bool { return o.Name == s.Name }), s)
	return lines, nil
}

// loosened says which settings a trusted project's file would change.
func (c *Config) loosened(name string, data []byte) ([]string, error) {
	l, err := c.parseInto(&layer{name: name, project: true}, data)
	if err != nil {
		return nil, err
	}
	before := c.withProjects([]*project{{layer: l}})
	after := c.withProjects([]*project{{layer: l, trusted: true}})
	var lines []string
	leaves(tree(), func(path string, f *field) {
		if f.changes(before, after) {
			lines = append(lines, "-"+path+": "+f.show(before), "+"+path+": "+f.show(after))
		}
	})
	return lines, nil
}

// namesBelow lists the files of a directory of a project that may be guards or
// skills, sorted.
func namesBelow(root, dir string) ([]string, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	d, err := top.Open(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && dir == "" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer d.Close()
	const most = 1000
	names, err := d.Readdirnames(most)
	if len(names) == most {
		return nil, fmt.Errorf("more than %d files", most)
	}
	if err != nil && len(names) == 0 {
		return nil, nil // empty, or no directory: nothing in it counts
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return !slices.Contains([]string{".yaml", ".yml", ".md"}, strings.ToLower(filepath.Ext(n)))
	})
	slices.Sort(names)
	return names, nil
}

// CheckFile reads a configuration, without the rest, as it would count: a
// project's where it stands in .handrail of a project, else the user's own, also
// by whom it could have been written.
func (c *Config) CheckFile(file string) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if root, ok := strings.CutSuffix(path, "/"+projectFile); ok && root != c.Home {
		data, err := readBelow(root, projectFile, maxProjectFile)
		if err == nil {
			_, err = c.parseInto(&layer{name: file, project: true}, data)
		}
		return err
	}
	data, _, err := readOwn(file)
	if err == nil {
		_, err = c.parse(file, data)
	}
	return err
}

// UserFile is where the user's own configuration is, or would be.
func (c *Config) UserFile() string { return c.userFile() }

// Init writes the commented default where no file is, and the schema beside it.
func (c *Config) Init() (string, error) {
	file := filepath.Join(c.Dir, "config.yaml")
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is there already, and stays as it is; `handrail config show` prints what holds", file)
	} else if err != nil {
		return "", err
	}
	_, err = f.WriteString(DefaultText(SchemaFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return file, replaceFile(filepath.Join(c.Dir, SchemaFile), Schema())
}

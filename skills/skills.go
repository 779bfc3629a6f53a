// Package skills is the guard skills: short texts that tell a judging model
// what to look for, by language or on demand. Those of this package are built
// in; users add theirs in guard-skills/ directories.
package skills

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"gopkg.in/yaml.v3"
)

//go:embed *.md
var builtin embed.FS

// maxSkill is the longest skill in bytes: all that a model is shown must fit its
// context.
const maxSkill = 4 << 10

// maxDir is the number of files in a directory beyond which it is none of
// skills.
const maxDir = 64

// Skill is one guard skill.
type Skill struct {
	// Name is how the model calls it: its file's name without .md.
	Name        string
	Title       string // name of the front matter
	Description string
	Language    string // one of guard/lang's, or empty
	// Auto skills are shown where their language is found; all can be called.
	Auto bool
	Body string
	File string // where it comes from; empty for the built-in ones
}

// Builtin returns the embedded skills by name.
func Builtin() ([]Skill, error) {
	var all []Skill
	entries, err := builtin.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := builtin.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		s, err := Parse(e.Name(), data)
		if err != nil {
			return nil, fmt.Errorf("built-in skill %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Dirs are the directories of a user's skills below their home, the weakest
// first.
func Dirs(home string) []string {
	var dirs []string
	for _, d := range []string{".agents", ".claude", ".handrail"} {
		dirs = append(dirs, filepath.Join(home, d, "guard-skills"))
	}
	return dirs
}

// Load returns the built-in skills and those of the directories, by name; later
// ones replace earlier ones of the same name. Directories that are not there
// are passed over. accept says why a file or directory (absolute) must not be
// read, from where it leads. Files with faults are left out and told in the error, which
// joins them all; the list is good all the same.
func Load(accept func(path string, info fs.FileInfo) error, dirs ...string) ([]Skill, error) {
	all, err := Builtin()
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, dir := range dirs {
		found, err := read(accept, dir)
		faults = append(faults, err)
		for _, s := range found {
			if i := slices.IndexFunc(all, func(o Skill) bool { return o.Name == s.Name }); i >= 0 {
				all[i] = s
			} else {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return all, errors.Join(faults...)
}

func read(accept func(string, fs.FileInfo) error, dir string) ([]Skill, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = accept(dir, info)
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxDir {
		return nil, fmt.Errorf("%s: more than %d files", dir, maxDir)
	}
	var found []Skill
	var faults []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".md") {
			continue
		}
		file := filepath.Join(dir, e.Name())
		s, err := parseFile(accept, file)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		s.File = file
		found = append(found, s)
	}
	return found, errors.Join(faults...)
}

func parseFile(accept func(string, fs.FileInfo) error, file string) (Skill, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold us
	if err != nil {
		return Skill{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", file)
	}
	if err == nil {
		err = accept(file, info)
	}
	if err != nil {
		return Skill{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSkill+1))
	if err != nil {
		return Skill{}, err
	}
	return Parse(file, data)
}

var nameRE = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,40}$`)

// Parse reads a skill: YAML front matter between two lines "---", then
// Markdown. The errors begin with the file's name.
func Parse(file string, data []byte) (Skill, error) {
	bad := func(format string, args ...any) (Skill, error) {
		return Skill{}, fmt.Errorf("%s: "+format, append([]any{file}, args...)...)
	}
	if len(data) > maxSkill {
		return bad("longer than %d bytes: the model must be shown all of it, beside the call", maxSkill)
	}
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), ".md"))
	if !nameRE.MatchString(name) {
		return bad("want a file name of letters, digits, - and _")
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	front, body, found := bytes.Cut(rest, []byte("\n---\n"))
	if !ok || !found {
		return bad("want front matter between two lines ---")
	}
	var head struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Language    string `yaml:"language"`
		AutoInvoke  bool   `yaml:"auto_invoke"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(front))
	dec.KnownFields(true)
	if err := dec.Decode(&head); err != nil {
		return bad("front matter: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if head.AutoInvoke && head.Language == "" {
		return bad("auto_invoke needs a language")
	}
	text := strings.TrimSpace(string(body))
	if text == "" || head.Description == "" {
		return bad("description or text is missing")
	}
	if head.Name == "" {
		head.Name = name
	}
	return Skill{Name: name, Title: head.Name, Description: head.Description, Language: head.Language, Auto: head.AutoInvoke, Body: text}, nil
}

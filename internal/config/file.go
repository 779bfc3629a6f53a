package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"gopkg.in/yaml.v3"

	"handrail/guard/owner"
	"handrail/guard/text"
)

// maxFile is the size of a configuration beyond which something is wrong.
const maxFile = 1 << 20

// layer is what one file, or the environment, sets.
type layer struct {
	name   string // for people: the file as it was named
	values *Config
	lines  map[string]int // of the settings that it sets, by path

	project bool // of a project: private settings are errors
}

// yamlLine begins an error of the YAML reader.
var yamlLine = regexp.MustCompile(`^line (\d+): `)

// parse reads data as the settings of a file. Every error names file:line.
// Paths in it are those of the user of c.
func (c *Config) parse(file string, data []byte) (*layer, error) {
	return c.parseInto(&layer{name: file}, data)
}

func (c *Config) parseInto(l *layer, data []byte) (*layer, error) {
	file := l.name
	l.values, l.lines = &Config{Home: c.Home}, map[string]int{}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return l, nil // nothing but comments
	} else if err != nil {
		said := strings.TrimPrefix(err.Error(), "yaml: ")
		if m := yamlLine.FindStringSubmatch(said); m != nil {
			return nil, fmt.Errorf("%s:%s: %s", file, m[1], said[len(m[0]):])
		}
		return nil, fmt.Errorf("%s:1: %s", file, said)
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there must be one YAML document", file)
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return l, nil
	}
	if err := l.section(tree(), "", top); err != nil {
		line := top.Line
		var located lineError
		if errors.As(err, &located) {
			line, err = located.line, located.error
		}
		return nil, fmt.Errorf("%s:%d: %w", file, line, err)
	}
	l.rest()
	return l, nil
}

// section reads the settings of one section, whose path is prefix.
func (l *layer) section(fields []field, prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return inLine(n, fmt.Errorf("%swant settings, as in `%s`", lead(prefix), sampleOf(fields)))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		switch {
		case at < 0:
			return inLine(key, unknown(fields, prefix, key.Value))
		case seen[key.Value]:
			return inLine(key, fmt.Errorf("%s%s is set twice", prefix, key.Value))
		}
		seen[key.Value] = true
		f, path := fields[at], prefix+key.Value
		if f.fields != nil {
			if err := l.section(f.fields, path+".", value); err != nil {
				return err
			}
			continue
		}
		if l.project && f.reach == private {
			return inLine(key, fmt.Errorf("%s: only the user's own configuration can set this", path))
		}
		if err := f.read(l.values, value); err != nil {
			return inLine(value, prefixed(path, err))
		}
		l.lines[path] = key.Line
	}
	return nil
}

func lead(prefix string) string {
	if prefix == "" {
		return ""
	}
	return strings.TrimSuffix(prefix, ".") + ": "
}

func sampleOf(fields []field) string {
	f := fields[0]
	if f.fields != nil {
		return f.key + ": {" + sampleOf(f.fields) + "}"
	}
	return f.key + ": " + f.sample
}

// lineError is an error at a line of the file.
type lineError struct {
	line int
	error
}

func (e lineError) Unwrap() error { return e.error }

// inLine says where err is, unless that is known more exactly.
func inLine(n *yaml.Node, err error) error {
	var located lineError
	if errors.As(err, &located) {
		return err
	}
	return lineError{n.Line, err}
}

// prefixed puts the path before an error and keeps its line.
func prefixed(path string, err error) error {
	var located lineError
	if errors.As(err, &located) {
		return lineError{located.line, fmt.Errorf("%s: %w", path, located.error)}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// unknown names the key that was probably meant: one of the section, or one of
// the same name elsewhere.
func unknown(fields []field, prefix, key string) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.key)
	}
	slices.Sort(names)
	elsewhere := ""
	leaves(tree(), func(path string, f *field) {
		if f.key == key && elsewhere == "" {
			elsewhere = path
		}
	})
	switch near := text.Nearest(key, names); {
	case elsewhere != "":
		return fmt.Errorf("unknown setting %q here; did you mean %s?", prefix+key, elsewhere)
	case near != "":
		return fmt.Errorf("unknown setting %q; did you mean %q?", prefix+key, near)
	}
	return fmt.Errorf("unknown setting %q; there are %s", prefix+key, strings.Join(names, ", "))
}

// readOwn reads a file that only the user can have written, and returns its
// resolved path.
func readOwn(file string) (data []byte, path string, err error) {
	path, err = filepath.Abs(file)
	if err != nil {
		return nil, "", err
	}
	path = resolved(path)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, "", fmt.Errorf("%s is not a regular file of at most 1 MiB", path)
	}
	if err := owner.Check(path, info); err != nil {
		return nil, "", err
	}
	data, err = io.ReadAll(f)
	return data, path, err
}

// readManaged reads the managed file; nil where there is none. Only root can
// have written it.
func (c *Config) readManaged(file string) (*layer, error) {
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	data, _, err := readOwn(file)
	if err != nil {
		return nil, fmt.Errorf("the managed configuration: %w", err)
	}
	if file == ManagedFile { // below a test's own directory root owns nothing
		if info, err := os.Stat(file); err != nil || owner.Of(info) != 0 {
			return nil, fmt.Errorf("the managed configuration %s does not belong to root", file)
		}
	}
	return c.parse(file, data)
}

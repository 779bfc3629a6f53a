package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"handrail/guard"
	"handrail/guard/host"
	"handrail/guard/rules"
)

// maxFile is the size of a configuration beyond which something is wrong.
const maxFile = 1 << 20

// setters give each key of the file its meaning.
var setters = map[string]func(*Config, *yaml.Node) error{
	"roots":       func(c *Config, n *yaml.Node) error { return c.setRoots(n) },
	"hosts":       func(c *Config, n *yaml.Node) error { return setHosts(&c.Hosts, n) },
	"ask_timeout": func(c *Config, n *yaml.Node) error { return setTimeout(&c.AskTimeout, n) },
	"fallback":    func(c *Config, n *yaml.Node) error { return setFallback(&c.Fallback, n) },
	"profile":     func(c *Config, n *yaml.Node) error { return setProfile(&c.Profile, n) },
	"llm":         func(c *Config, n *yaml.Node) error { return c.setLLM(n) },
	"state":       func(c *Config, n *yaml.Node) error { return c.setState(n) },
}

// read takes the settings of file into c. Every error names file:line.
func (c *Config) read(file string) error {
	data, path, err := trusted(file)
	if err != nil {
		return err
	}
	c.File, c.trail = path, trail(file)
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // nothing but comments
	} else if err != nil {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there must be one YAML document", file)
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		return at(file, top, fmt.Errorf("want settings, as in `ask_timeout: 45s`"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		set, ok := setters[key.Value]
		if !ok {
			return at(file, key, unknown(key.Value))
		}
		if seen[key.Value] {
			return at(file, key, fmt.Errorf("%s is set twice", key.Value))
		}
		seen[key.Value] = true
		if err := set(c, value); err != nil {
			return at(file, value, fmt.Errorf("%s: %w", key.Value, err))
		}
	}
	return nil
}

// trusted reads a file that only the user can have written, and returns its
// resolved path.
func trusted(file string) (data []byte, path string, err error) {
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
	if err := owned(path, info); err != nil {
		return nil, "", err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) { // who may rename one above puts another file here
		info, err := os.Stat(dir)
		if err != nil {
			return nil, "", err
		}
		if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			return nil, "", fmt.Errorf("others may put another file in the place of %s: chmod go-w %s", path, dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	data, err = io.ReadAll(f)
	return data, path, err
}

// owned refuses what another user could have put there.
func owned(path string, info os.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && st.Uid != 0 {
		return fmt.Errorf("%s belongs to user %d, not to you", path, st.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is writable by others: look at it, then chmod go-w %s", path, path)
	}
	return nil
}

func at(file string, n *yaml.Node, err error) error {
	return fmt.Errorf("%s:%d: %w", file, n.Line, err)
}

// unknown names the key that was probably meant.
func unknown(key string) error {
	names := make([]string, 0, len(setters))
	for name := range setters {
		names = append(names, name)
	}
	slices.Sort(names)
	if near := Nearest(key, names); near != "" {
		return fmt.Errorf("unknown setting %q; did you mean %q?", key, near)
	}
	return fmt.Errorf("unknown setting %q; there are %s", key, strings.Join(names, ", "))
}

func text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", errors.New("want a word")
	}
	return n.Value, nil
}

func list(n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, errors.New("want a list")
	}
	var words []string
	for _, item := range n.Content {
		w, err := text(item)
		if err != nil {
			return nil, err
		}
		words = append(words, w)
	}
	return words, nil
}

func (c *Config) setRoots(n *yaml.Node) error {
	dirs, err := list(n)
	if err != nil {
		return err
	}
	for i, dir := range dirs {
		if dirs[i], err = c.path(dir); err != nil {
			return err
		}
	}
	c.Roots, err = Workspace(dirs, c.Home)
	return err
}

func (c *Config) setState(n *yaml.Node) error {
	dir, err := text(n)
	if err != nil {
		return err
	}
	if c.State, err = c.path(dir); err == nil && within(c.Home, resolved(c.State)) {
		return fmt.Errorf("%s is more than a state directory: it becomes yours alone, and the tools cannot write below it", dir)
	}
	return err
}

// path reads a path of the file: absolute, or below the home directory by "~/".
func (c *Config) path(p string) (string, error) {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		p = filepath.Join(c.Home, rest)
	}
	if !filepath.IsAbs(p) {
		return "", fmt.Errorf("%q must be an absolute path, or begin with ~/", p)
	}
	return filepath.Clean(p), nil
}

func setHosts(hosts *[]string, n *yaml.Node) error {
	words, err := list(n)
	if err != nil {
		return err
	}
	if _, err := host.Parse(words...); err != nil {
		return err
	}
	*hosts = words
	return nil
}

func setTimeout(d *time.Duration, n *yaml.Node) error {
	w, err := text(n)
	if err != nil {
		return err
	}
	v, err := time.ParseDuration(w)
	if err != nil || v < time.Second || v > time.Hour {
		return fmt.Errorf("want 1s to 1h, not %q", w)
	}
	*d = v
	return nil
}

func setFallback(v *guard.Verdict, n *yaml.Node) error {
	w, err := text(n)
	if err != nil {
		return err
	}
	if w != "ask" && w != "deny" {
		return fmt.Errorf("want ask or deny, not %q", w)
	}
	*v, err = guard.ParseVerdict(w)
	return err
}

func setProfile(p *string, n *yaml.Node) error {
	w, err := text(n)
	if err == nil && !slices.Contains(rules.Profiles(), w) {
		err = fmt.Errorf("want one of %s, not %q", strings.Join(rules.Profiles(), ", "), w)
	}
	*p = w
	return err
}

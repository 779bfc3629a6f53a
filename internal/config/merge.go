package config

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v3"

	"handrail/guard/rules"
)

// origins says where each setting of a Config comes from, by path; what is not
// in it is the default.
type origins map[string]string

// set lays a file over c: what it sets counts.
func (c *Config) set(l *layer) {
	leaves(tree(), func(path string, f *field) {
		line, ok := l.lines[path]
		if !ok {
			return
		}
		f.take(c, l.values)
		c.note(path, fmt.Sprintf("%s:%d", l.name, line))
	})
}

// tighten takes from a layer what makes c stricter, and nothing else. Where
// trusted is true, it takes what a trusted project may loosen too.
func (c *Config) tighten(l *layer, isTrusted bool) {
	leaves(tree(), func(path string, f *field) {
		line, ok := l.lines[path]
		if !ok {
			return
		}
		before := *c
		if isTrusted {
			f.join(c, l.values)
		} else {
			f.strict(c, l.values)
		}
		if f.changes(&before, c) {
			c.note(path, fmt.Sprintf("%s:%d", l.name, line))
		}
	})
}

// bind makes c as strict as the managed file in what that sets.
func (c *Config) bind() {
	m := c.layers.managed
	if m == nil {
		return
	}
	leaves(tree(), func(path string, f *field) {
		if _, ok := m.lines[path]; !ok {
			return
		}
		before := *c
		f.take(c, m.values)
		f.under(c, &before)
		if f.changes(&before, c) {
			c.note(path, fmt.Sprintf("%s:%d", m.name, m.lines[path]))
		}
	})
}

func (c *Config) note(path, origin string) {
	from := origins{}
	for k, v := range c.from { // a Config may have been copied
		from[k] = v
	}
	from[path], c.from = origin, from
}

// rest turns default_deny of a file into what it means: tools that the file does
// not turn on are off, and lists of what is allowed that it does not give are
// empty.
func (l *layer) rest() {
	line, ok := l.lines["default_deny"]
	if !ok || !l.values.DefaultDeny {
		return
	}
	var none Config
	for _, t := range none.Tools.All() {
		t.Tool = rules.Tool{Enabled: rules.Off, Allow: []string{}, AllowCommands: []string{}, AllowDomains: []string{}}
	}
	leaves(tree(), func(path string, f *field) {
		if _, set := l.lines[path]; f.rests && !set {
			f.take(l.values, &none)
			l.lines[path] = line
		}
	})
}

// environment tightens c by variables named after the settings: HANDRAIL_PROFILE,
// HANDRAIL_TOOLS_SAFE_BASH_DENY. Whoever starts the program may have set them,
// so one that would loosen is an error.
func (c *Config) environment() (err error) {
	leaves(tree(), func(path string, f *field) {
		name := variable(path)
		text := os.Getenv(name)
		if text == "" || !f.env || err != nil {
			return
		}
		var doc yaml.Node
		l := &layer{name: name, values: &Config{Home: c.Home}}
		if err = yaml.Unmarshal([]byte(text), &doc); err == nil && len(doc.Content) == 1 {
			err = f.read(l.values, doc.Content[0])
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			return
		}
		before, wished := *c, *c
		f.strict(c, l.values)
		f.take(&wished, l.values)
		if !f.adds && f.changes(&wished, c) {
			err = fmt.Errorf("%s would loosen %s (%s), which only your own configuration can: %s", name, path, f.show(&before), c.userFile())
			return
		}
		if f.changes(&before, c) {
			c.note(path, name)
		}
	})
	return err
}

package config

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v3"

	"handrail/guard/rules"
	"handrail/tools"
)

// origins says where each setting of a Config comes from, by path; what is not
// in it is the default.
type origins map[string]string

// set lays a file over c: what it sets counts. Where bound says that the managed
// file set it, the stricter of both does.
func (c *Config) set(l *layer, bound map[string]bool) {
	leaves(tree(), func(path string, f *field) {
		line, ok := l.lines[path]
		if !ok {
			return
		}
		before := *c
		if bound[path] {
			f.under(c, l.values)
		} else {
			f.take(c, l.values)
		}
		if !bound[path] || f.changes(&before, c) {
			c.note(path, fmt.Sprintf("%s:%d", l.name, line))
		}
	})
	c.denyRest()
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
	c.denyRest()
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

// boundBy are the settings that users cannot loosen: those of the managed file,
// and those that its default_deny speaks about.
func (c *Config) boundBy(m *layer) map[string]bool {
	bound := map[string]bool{}
	leaves(tree(), func(path string, f *field) {
		_, set := m.lines[path]
		bound[path] = set || c.rested && f.rests
	})
	return bound
}

func (c *Config) note(path, origin string) {
	from := origins{}
	for k, v := range c.from { // a Config may have been copied
		from[k] = v
	}
	from[path], c.from = origin, from
}

// denyRest turns default_deny into what it means: tools that were not turned on
// are off, and lists of what is allowed that were not given are empty. From then
// on nothing that may only tighten can fill them.
func (c *Config) denyRest() {
	if !c.DefaultDeny || c.rested {
		return
	}
	c.rested = true
	for name, t := range c.Tools.All() {
		if t.Enabled == rules.Unset {
			t.Enabled = rules.Off
		}
		lists := []*[]string{&t.Allow}
		if name == tools.Bash {
			lists = []*[]string{&t.AllowCommands, &t.AllowDomains}
		}
		for _, l := range lists {
			if *l == nil {
				*l = []string{}
			}
		}
	}
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
		c.denyRest()
	})
	return err
}

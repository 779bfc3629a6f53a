package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"handrail/guard"
)

// schema is a part of a JSON Schema.
type schema = map[string]any

// form is how a value is written: read and shown again, so that what show
// prints, read takes. Errors say what is wanted.
type form[T any] struct {
	read   func(c *Config, n *yaml.Node) (T, error)
	show   func(T) string
	schema schema
}

// word is a form of one word with its own check.
func word[T any](s schema, show func(T) string, read func(c *Config, w string) (T, error)) form[T] {
	return form[T]{schema: s, show: show, read: func(c *Config, n *yaml.Node) (v T, err error) {
		w, err := scalar(n)
		if err != nil {
			return v, err
		}
		return read(c, w)
	}}
}

// plain is any text that check, which may be nil, has nothing against.
func plain(check func(w string) error) form[string] {
	return word(schema{"type": "string"}, quoted, func(_ *Config, w string) (string, error) {
		if check == nil {
			return w, nil
		}
		return w, check(w)
	})
}

// oneOf is one of some words.
func oneOf(words ...string) form[string] {
	return word(schema{"enum": words}, quoted, func(_ *Config, w string) (string, error) {
		if !slices.Contains(words, w) {
			return "", fmt.Errorf("want %s, not %q", alternatives(words), w)
		}
		return w, nil
	})
}

func alternatives(words []string) string {
	if len(words) == 2 {
		return words[0] + " or " + words[1]
	}
	return "one of " + strings.Join(words, ", ")
}

// truth is true or false.
func truth() form[bool] {
	return word(schema{"type": "boolean"}, strconv.FormatBool, func(_ *Config, w string) (bool, error) {
		v, err := strconv.ParseBool(w)
		if err != nil {
			err = fmt.Errorf("want true or false, not %q", w)
		}
		return v, err
	})
}

// number is a whole number from low to high.
func number(low, high int) form[int] {
	return word(schema{"type": "integer", "minimum": low, "maximum": high}, strconv.Itoa, func(_ *Config, w string) (int, error) {
		n, err := strconv.Atoi(w)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("want %d to %d, not %q", low, high, w)
		}
		return n, nil
	})
}

// span is a time from low to high: 45s, 2m, 720h, 30d.
func span(low, high time.Duration) form[time.Duration] {
	return word(schema{"type": "string", "pattern": `^[0-9.]+(ms|s|m|h|d)`}, spelled, func(_ *Config, w string) (time.Duration, error) {
		unit, days := w, time.Duration(1)
		if d, ok := strings.CutSuffix(w, "d"); ok {
			unit, days = d+"h", 24
		}
		v, err := time.ParseDuration(unit)
		if v *= days; err != nil || v < low || v > high {
			return 0, fmt.Errorf("want %s to %s, not %q", spelled(low), spelled(high), w)
		}
		return v, nil
	})
}

// spelled writes a time as span reads it.
func spelled(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d > day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// words is a list; each is read by item, which may change it.
func words(item func(c *Config, w string) (string, error)) form[[]string] {
	return form[[]string]{
		schema: schema{"type": "array", "items": schema{"type": "string"}},
		show: func(v []string) string {
			if v == nil {
				return ""
			}
			return quoted(v)
		},
		read: func(c *Config, n *yaml.Node) ([]string, error) {
			if n.Kind != yaml.SequenceNode {
				return nil, errors.New("want a list")
			}
			list := make([]string, 0, len(n.Content))
			for _, item1 := range n.Content {
				w, err := scalar(item1)
				if err == nil && item != nil {
					w, err = item(c, w)
				}
				if err != nil {
					return nil, inLine(item1, err)
				}
				list = append(list, w)
			}
			if len(list) == 0 { // given, and empty: not the same as not given
				return list, nil
			}
			return union(list, nil), nil
		},
	}
}

// Levels are verdicts by rule: Set stand in for what the rule says, where that
// may be loosened at all; Cap only ever tighten.
type Levels struct{ Set, Cap map[string]guard.Verdict }

// levels is a mapping of rules to verdicts.
func levels(check func(id string, v guard.Verdict) error) form[Levels] {
	names := []string{"allow", "llm", "ask", "deny"}
	return form[Levels]{
		schema: schema{"type": "object", "additionalProperties": schema{"enum": names}},
		show: func(l Levels) string {
			all := strictest(l.Set, l.Cap)
			if len(all) == 0 {
				return ""
			}
			return quoted(all)
		},
		read: func(c *Config, n *yaml.Node) (Levels, error) {
			if n.Kind != yaml.MappingNode {
				return Levels{}, errors.New("want a rule with a verdict on each line, as in `net/send: deny`")
			}
			m := map[string]guard.Verdict{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				id, value := n.Content[i], n.Content[i+1]
				if _, twice := m[id.Value]; twice {
					return Levels{}, inLine(id, fmt.Errorf("%s is set twice", id.Value))
				}
				if !slices.Contains(names, value.Value) {
					return Levels{}, inLine(value, fmt.Errorf("%s: want %s, not %q", id.Value, alternatives(names), value.Value))
				}
				v, err := guard.ParseVerdict(value.Value)
				if err == nil {
					err = check(id.Value, v)
				}
				if err != nil {
					return Levels{}, inLine(id, err)
				}
				m[id.Value] = v
			}
			return Levels{Set: m}, nil
		},
	}
}

// capped is the order of levels for whoever may only tighten.
func capped(a, b Levels) Levels {
	return Levels{Set: a.Set, Cap: strictest(a.Cap, strictest(b.Set, b.Cap))}
}

// strictest is both maps, with the stricter verdict where both have one.
func strictest(a, b map[string]guard.Verdict) map[string]guard.Verdict {
	m := maps.Clone(a)
	for id, v := range b {
		if m == nil {
			m = map[string]guard.Verdict{}
		}
		if old, ok := m[id]; ok {
			v = min(old, v)
		}
		m[id] = v
	}
	return m
}

// quoted writes a value as JSON, which is YAML.
func quoted[T any](v T) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // strings and maps of strings always marshal
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func scalar(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", errors.New("want a word")
	}
	return n.Value, nil
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

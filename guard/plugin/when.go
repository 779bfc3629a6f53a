package plugin

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"handrail/guard"
	"handrail/guard/host"
	"handrail/guard/lang"
)

var whenFields = []string{"effect", "path", "host", "command", "args", "via", "tool", "language"}

// when is a condition on one effect of a call, and on the command that does it.
// What is not set holds always; all that is set must hold.
type when struct {
	effects   []kind
	path      *paths // of a target that is a path
	host      *globs // of a target that is a host
	command   *globs // the program's name
	args      []*glob
	anyArgs   []bool // of args: stands for any number of words
	hasArgs   bool
	via       *globs // every wrapper (allow), one of them (else)
	tools     []string
	languages []string
}

// kind is a kind of effect, with one action or with any.
type kind struct {
	kind   guard.Kind
	action string
	any    bool
}

// when reads the conditions.
func (r *reading) when(n *yaml.Node) (*when, error) {
	values, err := r.fields(n, whenFields)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, r.at(n, "when: no condition; there are %s", strings.Join(whenFields, ", "))
	}
	w := &when{}
	for _, name := range whenFields {
		v := values[name]
		if v == nil {
			continue
		}
		if name == "tool" {
			if w.tools, err = r.tools(v); err != nil {
				return nil, err
			}
			continue
		}
		words, err := r.texts(v, name)
		if err == nil {
			if err = w.set(name, words, r.Home); err != nil {
				err = r.at(v, "%s: %v", name, err)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *when) set(name string, words []string, home string) (err error) {
	switch name {
	case "effect":
		w.effects, err = kinds(words)
	case "path":
		w.path, err = newPaths(words, home)
	case "host":
		w.host, err = newHosts(words)
	case "command":
		if slices.ContainsFunc(words, func(s string) bool { return strings.ContainsAny(s, " /") }) {
			return fmt.Errorf("want the name of a program, as in git; its words go into args")
		}
		w.command, err = newGlobs(words)
	case "args":
		err = w.words(words)
	case "via":
		w.via, err = newGlobs(words)
	case "language":
		known := []string{lang.Bash, lang.Python, lang.Go, lang.JS}
		for _, word := range words {
			if !slices.Contains(known, word) {
				return fmt.Errorf("unknown language %q%s", word, meant(word, known))
			}
		}
		w.languages = words
	}
	return err
}

// words reads args.
func (w *when) words(words []string) error {
	w.hasArgs = true
	for _, word := range words {
		if word == "" {
			return fmt.Errorf("an empty pattern")
		}
		g, err := newGlob(word)
		if err != nil {
			return err
		}
		w.args, w.anyArgs = append(w.args, g), append(w.anyArgs, word == "**")
	}
	return nil
}

// kinds reads effects: "write", "write/append", "remote/push".
func kinds(words []string) (list []kind, err error) {
	for _, word := range words {
		name, action, refined := strings.Cut(word, "/")
		k := kind{action: action, any: !refined}
		if err := k.kind.UnmarshalText([]byte(name)); err != nil {
			var known []string
			for i := guard.Unknown; i <= guard.System; i++ {
				known = append(known, i.String())
			}
			return nil, fmt.Errorf("unknown effect %q%s", name, meant(name, known))
		}
		if actions := guard.Actions[k.kind]; refined && (action == "" || !slices.Contains(actions, action)) {
			return nil, fmt.Errorf("%s has no %q%s", name, action, meant(action, slices.DeleteFunc(slices.Clone(actions), func(s string) bool { return s == "" })))
		}
		list = append(list, k)
	}
	return list, nil
}

// newHosts reads patterns of hosts, in the spelling that hosts are compared in.
func newHosts(words []string) (*globs, error) {
	clean := make([]string, len(words))
	for i, word := range words {
		bare, not := strings.CutPrefix(word, "!")
		if strings.ContainsAny(bare, "/@ ") {
			return nil, fmt.Errorf("%q: want a host, as in example.org, *.example.org or localhost:8080", word)
		}
		if !strings.ContainsAny(bare, "*?[:") {
			bare = spelled(bare)
		}
		if clean[i] = strings.ToLower(bare); not {
			clean[i] = "!" + clean[i]
		}
	}
	return newGlobs(clean)
}

// spelled is the one spelling of a host's name.
func spelled(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if ascii, err := host.Name(name); err == nil {
		return ascii
	}
	return name
}

// hosts returns the forms of a network target that patterns are compared with:
// the host, and the host with its port.
func hosts(target string) []string {
	target = target[strings.LastIndexByte(target, '@')+1:]
	name, port, err := net.SplitHostPort(target)
	if err != nil {
		return []string{spelled(strings.Trim(target, "[]"))}
	}
	name = spelled(name)
	return []string{name, name + ":" + port}
}

// hasKind reports whether the kind of e is one of those that are meant.
func (w *when) hasKind(e *guard.Effect) bool {
	return len(w.effects) == 0 || slices.ContainsFunc(w.effects, func(k kind) bool { return k.kind == e.Kind && (k.any || k.action == e.Action) })
}

// names reports whether the kind and the action of e are named together.
func (w *when) names(e *guard.Effect) bool {
	return slices.ContainsFunc(w.effects, func(k kind) bool { return k.kind == e.Kind && !k.any && k.action == e.Action })
}

// aboutCommand reports whether the conditions are about commands alone.
func (w *when) aboutCommand() bool {
	return len(w.effects) == 0 && w.path == nil && w.host == nil
}

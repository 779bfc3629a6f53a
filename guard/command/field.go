package command

import (
	"errors"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"handrail/guard"
)

// pairs visits the entries of a mapping, and after them those that "<<" merges
// into it and that it does not have itself. An empty value has none.
func (r *reader) pairs(n *yaml.Node, visit func(k, v *yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.errorf(n, "a mapping is wanted here")
		return
	}
	seen := map[string]bool{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			merges = append(merges, v)
			continue
		}
		if k.Kind != yaml.ScalarNode {
			r.errorf(k, "a name is wanted here")
			continue
		}
		if seen[k.Value] {
			r.errorf(k, "%q is given twice", k.Value)
		}
		seen[k.Value] = true
		if v.Kind == yaml.AliasNode && v.Alias.Kind != yaml.MappingNode {
			v = v.Alias
		}
		visit(k, v)
	}
	outer := r.merged
	r.merged = true
	for _, m := range merges {
		from := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			from = m.Content
		}
		for _, m := range from {
			r.pairs(m, func(k, v *yaml.Node) {
				if !seen[k.Value] {
					visit(k, v)
				}
			})
		}
	}
	r.merged = outer
}

// words visits the words of a scalar, or of a list of scalars.
func (r *reader) words(n *yaml.Node, visit func(string)) {
	if n.Kind == yaml.ScalarNode {
		for _, w := range strings.Fields(n.Value) {
			visit(w)
		}
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.errorf(n, "words or a list are wanted here")
	}
	for _, c := range n.Content {
		r.words(c, visit)
	}
}

func (r *reader) decode(n *yaml.Node, v any) {
	if err := n.Decode(v); err != nil {
		r.errorf(n, "%v", err)
	}
}

// scalars are the items of a list; one scalar is a list of one.
func (r *reader) scalars(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!null" {
			return nil
		}
		return []*yaml.Node{n}
	}
	if n.Kind != yaml.SequenceNode {
		r.errorf(n, "a list is wanted here")
		return nil
	}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			r.errorf(c, "a plain value is wanted here")
			return nil
		}
	}
	return n.Content
}

func oneOf[T ~string](r *reader, n *yaml.Node, allowed ...T) T {
	if slices.Contains(allowed, T(n.Value)) {
		return T(n.Value)
	}
	r.errorf(n, "%q is none of %v", n.Value, allowed)
	return ""
}

func (r *reader) role(n *yaml.Node, name string) Role {
	role := Role(name)
	if _, _, ok := role.Kind(); !ok && !slices.Contains(Roles, role) {
		r.errorf(n, "unknown role %q", name)
	}
	return role
}

// roles reads operand roles, of which one may repeat.
func (r *reader) roles(n *yaml.Node, repeat bool) []Role {
	roles := []Role{}
	repeats := 0
	for _, c := range r.scalars(n) {
		name, more := strings.CutSuffix(c.Value, "...")
		role := r.role(c, name)
		if len(roles) > 0 && runs(roles[len(roles)-1]) {
			r.errorf(c, "nothing can follow %s, which takes all words", roles[len(roles)-1])
		}
		if more {
			repeats++
		}
		if more && !repeat || repeats > 1 || runs(role) && repeats > 0 || role == Sub {
			r.errorf(c, "%s cannot stand here", c.Value)
		}
		roles = append(roles, Role(c.Value))
	}
	return roles
}

func (r *reader) templates(n *yaml.Node) (ts []Template) {
	for _, c := range r.scalars(n) {
		role, target := Template(c.Value).split()
		if _, _, ok := role.Kind(); !ok {
			r.errorf(c, "template %q does not begin with a kind of effect", c.Value)
		}
		if i := strings.IndexByte(target, '$'); i >= 0 {
			rest := target[i+1:]
			if rest == "" || !strings.ContainsRune("0123456789@#", rune(rest[0])) || strings.ContainsRune(rest, '$') {
				r.errorf(c, "template %q may hold one of $0, $1 to $9, $@, $#", c.Value)
			}
		}
		ts = append(ts, Template(c.Value))
	}
	return ts
}

// split parts a template into the role of its effect and the target.
func (t Template) split() (Role, string) {
	role, target, _ := strings.Cut(string(t), " ")
	return Role(role), strings.TrimSpace(target)
}

// list parts "a, b" into its names. YAML takes the quotes of a name in the
// middle of a key as a part of it; they mean the same here.
func list(key string) (names []string) {
	for name := range strings.SplitSeq(key, ",") {
		name = strings.TrimSpace(name)
		if n := len(name); n > 2 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
			name = name[1 : n-1]
		}
		if name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 && key == "," {
		return []string{","}
	}
	return names
}

func flagName(name string) error {
	if strings.ContainsAny(name, " \t$") {
		return errors.New("has a space in it")
	}
	if strings.HasPrefix(name, "-") && name != "--" || strings.HasPrefix(name, "+") || strings.HasSuffix(name, "=") {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'z' || r > 127 }) || name == "--" {
		return errors.New("begins with no dash")
	}
	return nil
}

// Kind reads a role that is kind[/action] of an effect; ok is false for the
// special roles. (The role "exec" is special, and a kind in templates.)
func (r Role) Kind() (kind guard.Kind, action string, ok bool) {
	name, action, _ := strings.Cut(string(r), "/")
	kind, ok = kindByName[name]
	return kind, action, ok && slices.Contains(guard.Actions[kind], action)
}

// runs reports whether a role takes all words that follow.
func runs(r Role) bool { return r == Exec || r == Script }

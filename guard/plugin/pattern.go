package plugin

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"strings"

	"gopkg.in/yaml.v3"

	"handrail/guard"
)

// pattern is one rule of a guard: a regular expression on the text of commands,
// a glob on the names of files, or conditions on facts; and what it says.
type pattern struct {
	line            int
	source          string // file:line
	verdict         guard.Verdict
	reason, instead string
	unsure          string // the reason where it may be so only
	insteadOf       []string

	match   *regexp.Regexp // nil: does not speak about text; allow: matches the whole of it
	literal []string       // one of these is in every text that match matches; none: not known
	file    *glob          // nil: does not speak about names
	when    *when          // nil: does not speak about facts

	matches, silent []example
}

// maxProgram bounds a compiled expression, in instructions.
const maxProgram = 5000

// pattern reads one pattern from its fields.
func (r *reading) pattern(at *yaml.Node, values map[string]*yaml.Node) (p pattern, err error) {
	p.line = r.line + at.Line
	p.source = r.g.at(p.line)
	if err := r.verdict(&p, at, values); err != nil {
		return p, err
	}
	if n := values["match"]; n != nil && isText(n) {
		if err := r.expression(&p, n); err != nil {
			return p, err
		}
	} else if p.matches, err = r.samples(n, "match"); err != nil {
		return p, err
	}
	if p.silent, err = r.samples(values["no_match"], "no_match"); err != nil {
		return p, err
	}
	if n := values["file_match"]; n != nil {
		word, err := r.text(n, "file_match")
		if err != nil {
			return p, err
		}
		if strings.Contains(word, "/") || word == "" {
			return p, r.at(n, "file_match: %q is compared with the name of the file alone; `when: {path: ...}` is for paths", word)
		}
		if p.file, err = newGlob(word); err != nil {
			return p, r.at(n, "file_match: %v", err)
		}
	}
	if n := values["when"]; n != nil {
		if p.match != nil || p.file != nil {
			return p, r.at(n, "when and match (or file_match) cannot stand in one pattern: say it with command, args and path")
		}
		if p.when, err = r.when(n); err != nil {
			return p, err
		}
	}
	switch {
	case p.match == nil && p.file == nil && p.when == nil:
		return p, r.at(at, "a pattern without match, file_match or when says nothing")
	case len(p.insteadOf) > 0 && p.when == nil:
		return p, r.at(values["instead_of"], "instead_of needs `when`: text does not say what a command would do")
	}
	return p, nil
}

// verdict reads what a pattern says.
func (r *reading) verdict(p *pattern, at *yaml.Node, values map[string]*yaml.Node) error {
	n := values["verdict"]
	if n == nil {
		return r.at(at, "the verdict is missing: want allow, ask, deny or llm")
	}
	word, err := r.text(n, "verdict")
	if err != nil {
		return err
	}
	if p.verdict, err = guard.ParseVerdict(strings.ToLower(word)); err != nil {
		return r.at(n, "unknown verdict %q%s", word, meant(word, []string{"allow", "ask", "deny", "llm"}))
	}
	for name, to := range map[string]*string{"reason": &p.reason, "instead": &p.instead} {
		if n := values[name]; n != nil {
			if *to, err = r.text(n, name); err != nil {
				return err
			}
		}
	}
	p.reason = cmp.Or(strings.Join(strings.Fields(p.reason), " "), "the guard "+r.g.ID+" is about this")
	p.unsure = "this may be denied, which cannot be told before it runs: " + p.reason
	if n := values["instead_of"]; n != nil {
		return r.standsFor(p, n)
	}
	return nil
}

// standsFor reads which built-in rules the pattern stands in for.
func (r *reading) standsFor(p *pattern, n *yaml.Node) error {
	ids, err := r.texts(n, "instead_of")
	if err != nil {
		return err
	}
	for _, id := range ids {
		rule := r.rule(id)
		if rule == nil {
			var known []string
			for _, rule := range r.Rules {
				known = append(known, rule.ID)
			}
			return r.at(n, "instead_of: there is no built-in rule %q%s", id, nearest(id, known))
		}
		if rule.Fixed {
			return r.at(n, "instead_of: %s is fixed, nothing stands in for it", id)
		}
	}
	if p.verdict == guard.VerdictDeny {
		return r.at(n, "instead_of: a deny stands beside every rule, it needs to stand in for none")
	}
	p.insteadOf = ids
	return nil
}

// nearest ends an error with the rule that was probably meant.
func nearest(id string, known []string) string {
	if s := meant(id, known); strings.HasPrefix(s, "; did") {
		return s
	}
	return "; `handrail rules` lists them"
}

// expression compiles `match`. One that allows must match a command from its
// first character to its last.
func (r *reading) expression(p *pattern, n *yaml.Node) error {
	expr, err := r.text(n, "match")
	if err != nil {
		return err
	}
	if expr == "" {
		return r.at(n, "match: an empty expression matches everything")
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return r.at(n, "match: %v", err)
	}
	tree = tree.Simplify()
	prog, err := syntax.Compile(tree)
	if err != nil || len(prog.Inst) > maxProgram {
		return r.at(n, "match: too large an expression")
	}
	r.g.cost += len(prog.Inst)
	p.literal = required(tree)
	if p.verdict == guard.VerdictAllow {
		expr = `\A(?:` + expr + `)\z`
	}
	if p.match, err = regexp.Compile(expr); err != nil {
		return r.at(n, "match: %v", err)
	}
	return nil
}

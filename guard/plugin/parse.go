package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"handrail/guard"
	"handrail/guard/text"
)

// The fields of a guard and of a pattern. A guard with one pattern may have the
// fields of the pattern itself.
var (
	patternFields = []string{"match", "no_match", "file_match", "when", "verdict", "reason", "instead", "instead_of"}
	guardFields   = append([]string{"id", "description", "tool", "enabled", "patterns"}, patternFields...)
)

var idRE = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(/[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$`)

// parse reads one guard without running its examples. On an error the guard is
// not nil where it could be told which calls it is about.
func (l *Loader) parse(file string, data []byte) (*Guard, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s:1: longer than %d bytes", file, maxFile)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s:1: not UTF-8 text", file)
	}
	sum := sha256.Sum256(data)
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	g := &Guard{File: file, Line: 1, SHA256: hex.EncodeToString(sum[:])}
	r := &reading{Loader: l, document: document{file: file}, g: g}
	if strings.EqualFold(filepath.Ext(file), ".md") {
		return g, r.markdown(data)
	}
	return g, r.whole(data)
}

// reading is one file in the reading.
type reading struct {
	*Loader
	document
	g *Guard
}

func (r *reading) whole(data []byte) error {
	top, err := r.document.parse(data)
	if err != nil {
		return err
	}
	values, err := r.fields(top, guardFields)
	if err == nil {
		err = r.guard(top, values)
	}
	return err
}

// markdown reads front matter and body. Where the front matter has no patterns,
// the body is YAML with the rest of the fields; else it is prose.
func (r *reading) markdown(data []byte) error {
	head, body, line, err := front(r.file, data)
	if err != nil {
		return err
	}
	r.document.line = 1
	top, err := r.document.parse(head)
	if err != nil {
		return err
	}
	values, err := r.fields(top, guardFields)
	if err != nil {
		return err
	}
	if hasPatterns(values) {
		if r.g.Prose = strings.TrimSpace(string(body)); len(r.g.Prose) > maxProse {
			return fmt.Errorf("%s:%d: the text is longer than %d bytes: the Guard Agent must be shown all of it", r.file, line+1, maxProse)
		}
		return r.guard(top, values)
	}
	r.document.line = line
	rest, err := r.document.parse(body)
	if err != nil {
		return fmt.Errorf("%w (the front matter has no patterns, so the text below it must be YAML that has them)", err)
	}
	more, err := r.fields(rest, guardFields)
	if err != nil {
		return err
	}
	for name, n := range more {
		if values[name] != nil {
			return r.at(n, "%s stands in the front matter too", name)
		}
		values[name] = n
	}
	for name, n := range values { // one count of lines for both parts
		if more[name] == nil {
			shift(n, 1-line)
		}
	}
	return r.guard(rest, values)
}

func shift(n *yaml.Node, by int) {
	n.Line += by
	for _, c := range n.Content {
		shift(c, by)
	}
}

func hasPatterns(values map[string]*yaml.Node) bool {
	return slices.ContainsFunc([]string{"patterns", "match", "file_match", "when"}, func(name string) bool { return values[name] != nil })
}

// guard reads the fields of the guard: first those that say which calls it is
// about.
func (r *reading) guard(top *yaml.Node, values map[string]*yaml.Node) error {
	if n := values["tool"]; n != nil {
		tools, err := r.tools(n)
		if err != nil {
			return err
		}
		r.g.Tools = tools
	}
	if err := r.named(top, values); err != nil {
		return err
	}
	if n := values["enabled"]; n != nil {
		on, err := r.boolean(n, "enabled")
		if err != nil {
			return err
		}
		r.g.Off = !on
	}
	return r.patterns(top, values)
}

func (r *reading) named(top *yaml.Node, values map[string]*yaml.Node) (err error) {
	r.g.ID = strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))
	at := top
	if n := values["id"]; n != nil {
		if r.g.ID, err = r.text(n, "id"); err != nil {
			return err
		}
		at = n
	}
	if !idRE().MatchString(r.g.ID) {
		return r.at(at, "id %q: want a name of letters, digits, - _ and ., as in block-docker or team/block-docker", r.g.ID)
	}
	if r.rule(r.g.ID) != nil || strings.HasPrefix(r.g.ID, "guard/") {
		return r.at(at, "id %q is that of a built-in rule: give the guard one of its own; `instead_of: %s` in a pattern stands in for the rule", r.g.ID, r.g.ID)
	}
	if n := values["description"]; n != nil {
		r.g.Description, err = r.text(n, "description")
	}
	return err
}

// rule returns a built-in rule, or nil.
func (l *Loader) rule(id string) *guard.Rule {
	if i := slices.IndexFunc(l.Rules, func(r guard.Rule) bool { return r.ID == id }); i >= 0 {
		return &l.Rules[i]
	}
	return nil
}

// tools reads names of tools: with commas, or as a list. None means all.
func (d document) tools(n *yaml.Node) (tools []string, err error) {
	words, err := d.texts(n, "tool")
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Split(strings.Join(words, ","), ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			if len(words) == 1 && strings.TrimSpace(words[0]) == "" {
				return nil, nil
			}
			return nil, d.at(n, "tool: there is an empty name in it")
		}
		tool, ok := toolNames[strings.ToLower(word)]
		if !ok {
			return nil, d.at(n, "tool: unknown tool %q%s", word, meant(word, []string{"Bash", "Read", "Write", "Edit", bash, read, write, edit}))
		}
		if !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	return tools, nil
}

// patterns reads the list of them, or the one that the guard's own fields are.
func (r *reading) patterns(top *yaml.Node, values map[string]*yaml.Node) error {
	list := values["patterns"]
	if list == nil {
		if !hasPatterns(values) {
			return r.at(top, "patterns are missing: want a list of `match`, `file_match` or `when` with a `verdict`")
		}
		p, err := r.pattern(top, values)
		r.g.patterns = []pattern{p}
		return err
	}
	for _, name := range patternFields {
		if n := values[name]; n != nil && (name != "match" && name != "no_match" || isText(n)) {
			return r.at(n, "%s belongs into a pattern: this guard has a list of them", name)
		}
	}
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 || len(list.Content) > maxPatterns {
		return r.at(list, "patterns: want a list of 1 to %d patterns", maxPatterns)
	}
	for _, n := range list.Content {
		fields, err := r.fields(n, patternFields)
		if err != nil {
			return err
		}
		p, err := r.pattern(n, fields)
		if err != nil {
			return err
		}
		r.g.patterns = append(r.g.patterns, p)
	}
	var err error
	if r.g.matches, err = r.samples(values["match"], "match"); err == nil {
		r.g.silent, err = r.samples(values["no_match"], "no_match")
	}
	return err
}

package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"handrail/guard/text"
)

// document is YAML that is read strictly: every key is known, nothing stands
// twice, nothing refers to something else. Errors begin with file:line.
type document struct {
	file string
	line int // of the file, before the first line of the document
}

func (d document) at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{d.file, d.line + max(n.Line, 1)}, args...)...)
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// parse reads the one mapping that data must be.
func (d document) parse(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, d.at(&doc, "there is no guard in it")
	} else if err != nil {
		return nil, d.syntax(err)
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, d.at(top, "want the fields of a guard, as in `tool: Bash`")
	}
	var next yaml.Node
	if err := dec.Decode(&next); err == nil {
		return nil, d.at(&next, "a second document: every guard has a file of its own")
	} else if !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	left := 20000
	return top, d.plain(top, 12, &left)
}

// syntax makes the line in an error of the YAML reader one of the file.
func (d document) syntax(err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	n := yaml.Node{Line: 1}
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		_, _ = fmt.Sscan(m[1], &n.Line) // digits
		msg = msg[len(m[0]):]
	}
	return d.at(&n, "%s", msg)
}

// plain refuses what makes YAML more than it looks like: anchors and aliases,
// tags, great depth.
func (d document) plain(n *yaml.Node, depth int, left *int) error {
	*left--
	switch {
	case depth == 0 || *left < 0:
		return d.at(n, "nested too deep, or too much of it")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return d.at(n, "anchors and aliases are not read: write it out")
	case n.Style&yaml.TaggedStyle != 0:
		return d.at(n, "tags are not read: %s", n.Tag)
	}
	for _, c := range n.Content {
		if err := d.plain(c, depth-1, left); err != nil {
			return err
		}
	}
	return nil
}

// fields returns the values of a mapping by key. Keys that are not known are
// errors, with the nearest name.
func (d document) fields(n *yaml.Node, known []string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, d.at(n, "want a mapping with fields of %s", strings.Join(known, ", "))
	}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !slices.Contains(known, key.Value) {
			return nil, d.at(key, "unknown field %q%s", key.Value, meant(key.Value, known))
		}
		if values[key.Value] != nil {
			return nil, d.at(key, "%s stands here twice", key.Value)
		}
		values[key.Value] = value
	}
	return values, nil
}

// meant ends an error with the name that was probably meant, or with all.
func meant(word string, known []string) string {
	if near := text.Nearest(strings.ToLower(word), known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; there are " + strings.Join(known, ", ")
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!str" }

// text reads a text. Numbers and yes and no must be quoted.
func (d document) text(n *yaml.Node, name string) (string, error) {
	switch {
	case !isText(n):
		return "", d.at(n, "%s: want text; put it in quotes if it is meant to be", name)
	case len(n.Value) > maxText:
		return "", d.at(n, "%s: longer than %d bytes", name, maxText)
	case !utf8.ValidString(n.Value) || strings.ContainsRune(n.Value, 0):
		return "", d.at(n, "%s: not plain text", name)
	}
	return n.Value, nil
}

// texts reads one text or a list of some.
func (d document) texts(n *yaml.Node, name string) ([]string, error) {
	if isText(n) {
		s, err := d.text(n, name)
		return []string{s}, err
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > maxList {
		return nil, d.at(n, "%s: want text or a list of 1 to %d texts", name, maxList)
	}
	var list []string
	for _, item := range n.Content {
		s, err := d.text(item, name)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (d document) boolean(n *yaml.Node, name string) (bool, error) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		switch strings.ToLower(n.Value) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, d.at(n, "%s: want true or false", name)
}

// front splits a Markdown file into its front matter and the body, with the
// lines of the file before each.
func front(file string, data []byte) (head, body []byte, bodyLine int, err error) {
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, nil, 0, fmt.Errorf("%s:1: want front matter between two lines ---", file)
	}
	head, body, ok = bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
	if !ok {
		if head, ok = bytes.CutSuffix(append([]byte("\n"), rest...), []byte("\n---")); !ok {
			return nil, nil, 0, fmt.Errorf("%s:1: the front matter does not end: want a line ---", file)
		}
		body = nil
	}
	if len(head) > 0 {
		head = head[1:]
	}
	bodyLine = bytes.Count(data[:len(data)-len(body)], []byte("\n"))
	if line, _, _ := bytes.Cut(bytes.TrimLeft(body, "\n"), []byte("\n")); bytes.Equal(bytes.TrimRight(line, " \t"), []byte("---")) {
		return nil, nil, 0, fmt.Errorf("%s:%d: a second front matter: every guard has a file of its own", file, bodyLine+1)
	}
	return head, body, bodyLine, nil
}

package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"handrail/guard"
	"handrail/guard/text"
)

// Lengths of what is kept of an answer, in bytes.
const (
	maxRaw     = 2000
	maxReason  = 400
	maxEffects = 16
)

// answer is what came of a conversation.
type answer struct {
	guard.Validation
	verdict guard.Verdict
	reason  string
}

// schema is the form to which the server holds the last turn. The order of its
// properties is the order in which they are written: the reason first.
var schema = json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","minLength":1,"maxLength":300},"verdict":{"type":"string","enum":["allow","deny","ask"]}},"required":["reason","verdict"],"additionalProperties":false}`)

var lineRE = text.Pattern(`^(ALLOW|DENY|ASK)(?::[ \t]*(\S[^\n]{0,600}))?$`)

// words are the verdicts that an answer may have.
var words = map[string]guard.Verdict{
	"ALLOW": guard.VerdictAllow, "DENY": guard.VerdictDeny, "ASK": guard.VerdictAsk,
	"allow": guard.VerdictAllow, "deny": guard.VerdictDeny, "ask": guard.VerdictAsk,
}

// kinds are the effects that an answer may name.
var kinds = map[string]guard.Kind{
	"read": guard.Read, "write": guard.Write, "delete": guard.Delete, "network": guard.Network,
}

// parse reads an answer. The whole of it must be one verdict: ALLOW, DENY:
// reason, ASK: reason, or a JSON object with verdict, reason and, if the model
// wants, effects. On an error the verdict is deny.
func parse(s string) (guard.Verdict, string, []guard.Effect, error) {
	s = strings.TrimSpace(s)
	if m := lineRE().FindStringSubmatch(s); m != nil {
		if m[1] != "ALLOW" && m[2] == "" {
			return guard.VerdictDeny, "", nil, ErrForm
		}
		return words[m[1]], m[2], nil, nil
	}
	fields, err := object([]byte(s), "verdict", "reason", "effects")
	if err != nil {
		return guard.VerdictDeny, "", nil, ErrForm
	}
	var word, reason string
	if json.Unmarshal(fields["verdict"], &word) != nil || json.Unmarshal(fields["reason"], &reason) != nil {
		return guard.VerdictDeny, "", nil, ErrForm
	}
	v, ok := words[word]
	if !ok || strings.TrimSpace(reason) == "" && v != guard.VerdictAllow {
		return guard.VerdictDeny, "", nil, ErrForm
	}
	effects, err := parseEffects(fields["effects"])
	if err != nil {
		return guard.VerdictDeny, "", nil, err
	}
	return v, reason, effects, nil
}

func parseEffects(data json.RawMessage) ([]guard.Effect, error) {
	if data == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || len(list) > maxEffects {
		return nil, ErrForm
	}
	var effects []guard.Effect
	for _, item := range list {
		fields, err := object(item, "kind", "target")
		var kind, target string
		if err != nil || json.Unmarshal(fields["kind"], &kind) != nil || json.Unmarshal(fields["target"], &target) != nil {
			return nil, ErrForm
		}
		k, ok := kinds[kind]
		if !ok || target == "" || len(target) > 1000 || strings.ContainsRune(target, 0) {
			return nil, ErrForm
		}
		effects = append(effects, guard.Effect{Kind: k, Target: target, Written: target, From: -1, Command: -1, Exact: true, Note: "named by the validator"})
	}
	return effects, nil
}

// object reads a JSON object with exactly these keys at most: none twice, none
// in another spelling, nothing after it.
func object(data []byte, keys ...string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, ErrForm
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok || fields[key] != nil {
			return nil, ErrForm
		}
		known := false
		for _, k := range keys {
			known = known || k == key
		}
		var value json.RawMessage
		if !known || dec.Decode(&value) != nil {
			return nil, ErrForm
		}
		fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, ErrForm
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, ErrForm
	}
	return fields, nil
}

// resolve makes the paths among the effects that the model named absolute, and
// follows their links as far as they exist.
func (t *conversation) resolve(effects []guard.Effect) []guard.Effect {
	for i := range effects {
		e := &effects[i]
		if e.Kind == guard.Network {
			e.Target = strings.TrimSuffix(regexp.MustCompile(`^[a-z+]+://`).ReplaceAllString(e.Target, ""), "/")
			if host, _, found := strings.Cut(e.Target, "/"); found {
				e.Target = host
			}
			continue
		}
		p := e.Target
		if p == "~" || strings.HasPrefix(p, "~/") {
			p = t.opt.Home + p[1:]
		}
		for _, home := range []string{"$HOME", "${HOME}"} {
			if rest, ok := strings.CutPrefix(p, home); ok {
				p = t.opt.Home + rest
			}
		}
		if strings.ContainsAny(p, "*?$") { // a pattern: somewhere at or below what stands before it
			e.Exact, e.Deep = false, true
			p = filepath.Dir(p[:strings.IndexAny(p, "*?$")] + "x")
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(t.dir, p)
		}
		e.Target = followed(filepath.Clean(p))
	}
	return effects
}

// followed follows the links of the part of path that exists.
func followed(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	} else if !os.IsNotExist(err) || path == "/" {
		return path
	}
	return filepath.Join(followed(filepath.Dir(path)), filepath.Base(path))
}

// clip cuts s to at most n bytes of whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

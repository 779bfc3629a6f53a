package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"handrail/guard"
	"handrail/guard/text"
)

// What of a call goes into its record. The digest covers all of it.
const (
	maxText = 8 << 10 // bytes of one string
	maxList = 200     // findings or effects
)

// shorten returns a copy of r that is fit to keep: secrets redacted, long
// strings replaced by their size and hash, long lists cut.
func (l *Log) shorten(r *Record) Record {
	c := *r
	c.Torn = nil
	short := func(s string) string {
		if l.Redact != nil {
			s = l.Redact(s)
		}
		return short(s)
	}
	c.Input, _ = redacted(r.Input, short)
	c.Reason, c.Error = short(r.Reason), short(r.Error)
	c.Findings = make([]guard.Finding, 0, min(len(r.Findings), maxList))
	for _, f := range r.Findings[:min(len(r.Findings), maxList)] {
		f.Reason, f.Instead = short(f.Reason), short(f.Instead)
		c.Findings = append(c.Findings, f)
	}
	c.Effects = make([]guard.Effect, 0, min(len(r.Effects), maxList))
	for _, e := range r.Effects[:min(len(r.Effects), maxList)] {
		e.Target, e.Written, e.Note = short(e.Target), short(e.Written), short(e.Note)
		c.Effects = append(c.Effects, e)
	}
	return c
}

// Redacted is what the log keeps of JSON, and whether that is all of it: every
// string without its secrets, and a long one as its beginning, size and hash. What
// is no JSON is kept as one string.
func Redacted(raw json.RawMessage) (kept json.RawMessage, whole bool) { return redacted(raw, short) }

// RedactedBy is Redacted, after known has taken out what it knows of.
func RedactedBy(known func(string) string) func(json.RawMessage) (json.RawMessage, bool) {
	return func(raw json.RawMessage) (json.RawMessage, bool) {
		return redacted(raw, func(s string) string { return short(known(s)) })
	}
}

func redacted(raw json.RawMessage, short func(string) string) (kept json.RawMessage, whole bool) {
	if len(raw) == 0 {
		return nil, true
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if whole = dec.Decode(&v) == nil && !dec.More(); !whole {
		v = string(raw)
	}
	v = walk(v, func(s string) string {
		was := s
		s = short(s)
		whole = whole && s == was
		return s
	})
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil, false
	}
	return bytes.TrimSpace(b.Bytes()), whole
}

// walk replaces each string of v by what short makes of it.
func walk(v any, short func(string) string) any {
	switch v := v.(type) {
	case string:
		return short(v)
	case []any:
		for i := range v {
			v[i] = walk(v[i], short)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = walk(e, short)
		}
	}
	return v
}

// short redacts s and keeps the beginning of a long one, with the size and the
// hash of all of it.
func short(s string) string {
	if len(s) <= maxText {
		return text.Redact(s)
	}
	start := text.Redact(s[:maxText]) // before it is cut: half a secret has no shape
	return fmt.Sprintf("%s… (%d bytes, sha256 %s)", strings.ToValidUTF8(start[:min(len(start), 256)], ""), len(s), sum([]byte(s)))
}

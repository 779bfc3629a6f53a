package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"handrail/guard"
	"handrail/guard/text"
	"handrail/internal/jsonstring"
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

// redacted is Redacted with what short makes of each string. What stands between
// strings is kept but for spaces, and names of fields are: one that is there twice
// stays so.
func redacted(raw json.RawMessage, short func(string) string) (kept json.RawMessage, whole bool) {
	if len(raw) == 0 {
		return nil, true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return quoted(short(string(raw))), false
	}
	rest, whole := b.String(), true
	kept = make([]byte, 0, len(rest))
	for {
		start := strings.IndexByte(rest, '"')
		if start < 0 {
			return append(kept, rest...), whole
		}
		size, plain := jsonstring.Literal(rest[start:])
		end := start + size
		was := rest[start+1 : end-1]
		if !plain {
			was = jsonstring.Text(rest[start:end])
		}
		now := was
		if !strings.HasPrefix(rest[end:], ":") {
			now = short(was)
		}
		if plain && now == was {
			kept = append(kept, rest[:end]...)
		} else {
			kept = append(append(kept, rest[:start]...), quoted(now)...)
		}
		rest, whole = rest[end:], whole && now == was
	}
}

// quoted is s as JSON.
func quoted(s string) []byte {
	b, _ := encode(s) // nil: every text has one
	return b
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

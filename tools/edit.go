package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"handrail/guard"
	"handrail/tools/place"
)

func (a *EditArgs) do(_ context.Context, j *job, facts *guard.Facts) *Result {
	path, shared := ofFile(facts)
	s, err := place.OpenSlot(path, false, shared)
	if err != nil {
		return failed(err)
	}
	defer s.Close()
	if !s.Exists {
		return failed(fmt.Errorf("%s does not exist; create it with %s", path, Write))
	}
	before, err := s.Read(maxText)
	if err == nil {
		err = expect(a.ExpectedSHA256, sum(before))
	}
	if err == nil {
		err = editable(before, a.NewString)
	}
	if err != nil {
		return failed(err)
	}
	c, err := change(before, a.OldString, a.NewString, a.ReplaceAll)
	if err != nil {
		return failed(fmt.Errorf("%s: %w", path, err))
	}
	if len(c.content) > maxText {
		return failed(fmt.Errorf("%s would be %d bytes; at most %d are allowed", path, len(c.content), maxText))
	}
	if err := j.box.put(s, c.content); err != nil {
		return failed(err)
	}
	j.bytes = int64(len(c.content))
	res := &Result{Path: path, SHA256: sum(c.content), Content: c.diff(before)}
	times := "1 replacement"
	if c.count > 1 {
		times = fmt.Sprintf("%d replacements, the first one shown", c.count)
	}
	res.Text = fmt.Sprintf("edited %s: %s, sha256 %s\n%s", path, times, res.SHA256, res.Content)
	return res
}

// editable says why text cannot be edited: it is not text, or putting fresh in
// would mix encodings.
func editable(content []byte, fresh string) error {
	switch encoding := detect(content[:min(len(content), sniffBytes)]); {
	case encoding == utf16LE || encoding == utf16BE:
		return fmt.Errorf("the file is in %s, which %s cannot change; convert it, or change it with a program", encoding, Edit)
	case encoding == binary || bytes.IndexByte(content, 0) >= 0:
		return errors.New("the file is binary; it cannot be edited as text")
	case !utf8.Valid(content) && strings.ContainsFunc(fresh, func(r rune) bool { return r >= utf8.RuneSelf }):
		return errors.New("the file is not in UTF-8, and new_string has characters outside ASCII: they would mix encodings")
	}
	return nil
}

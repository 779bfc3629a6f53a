package tools

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"handrail/guard"
	"handrail/tools/place"
)

func (a *WriteArgs) do(_ context.Context, j *job, facts *guard.Facts) *Result {
	path, shared := ofFile(facts)
	s, err := place.OpenSlot(path, true, shared)
	if err != nil {
		return failed(err)
	}
	defer s.Close()
	if a.ExpectedSHA256 != "" {
		if err := a.compare(s); err != nil {
			return failed(err)
		}
	}
	if err := j.box.put(s, []byte(a.Content)); err != nil {
		return failed(err)
	}
	did := "created"
	if s.Exists {
		did = "replaced"
	}
	j.bytes = int64(len(a.Content))
	res := &Result{Path: path, SHA256: sum([]byte(a.Content))}
	res.Text = fmt.Sprintf("%s %s: %d bytes, sha256 %s", did, path, len(a.Content), res.SHA256)
	return res
}

// put makes data the content of s. What runs meanwhile in the same workspace, of
// whatever session, does not take it for its command's.
func (b *Toolbox) put(s *place.Slot, data []byte) error {
	if !obeyed(s.Path) && !secretName(strings.ToLower(filepath.Base(s.Path))) {
		return s.Put(data)
	}
	return b.Deeds.Write(s.Path, data, func() error { return s.Put(data) })
}

// compare checks the slot's content against the hash that the caller read.
func (a *WriteArgs) compare(s *place.Slot) error {
	if !s.Exists {
		return fmt.Errorf("%s does not exist, but expected_sha256 was given: leave it out to create the file", s.Path)
	}
	old, err := s.Read(hashMax)
	if err != nil {
		return err
	}
	return expect(a.ExpectedSHA256, sum(old))
}

package tools

import (
	"context"
	"fmt"

	"handrail/guard"
)

func (a *WriteArgs) do(_ context.Context, j *job, facts *guard.Facts) *Result {
	path, shared := ofFile(facts)
	s, err := openSlot(path, true, shared)
	if err != nil {
		return failed(err)
	}
	defer s.close()
	if a.ExpectedSHA256 != "" {
		if err := a.compare(s); err != nil {
			return failed(err)
		}
	}
	if err := s.put([]byte(a.Content)); err != nil {
		return failed(err)
	}
	did := "created"
	if s.exists {
		did = "replaced"
	}
	j.bytes = int64(len(a.Content))
	res := &Result{Path: path, SHA256: sum([]byte(a.Content))}
	res.Text = fmt.Sprintf("%s %s: %d bytes, sha256 %s", did, path, len(a.Content), res.SHA256)
	return res
}

// compare checks the slot's content against the hash that the caller read.
func (a *WriteArgs) compare(s *slot) error {
	if !s.exists {
		return fmt.Errorf("%s does not exist, but expected_sha256 was given: leave it out to create the file", s.path)
	}
	old, err := s.read(hashMax)
	if err != nil {
		return err
	}
	return expect(a.ExpectedSHA256, sum(old))
}

package tools

import (
	"slices"

	"handrail/guard"
)

// overfull refuses a call that would write, or may, where the disk has no room
// for it; nil where it may go on. What removes and reads always may.
func (j *job) overfull(facts *guard.Facts) *guard.Decision {
	if j.box.Quota == nil || !slices.ContainsFunc(facts.Effects, mayGrow) {
		return nil
	}
	if err := j.box.Quota(); err != nil {
		return &guard.Decision{Rule: "limits/disk", Reason: err.Error(), Instead: "remove what is not needed any more, then call again"}
	}
	return nil
}

func mayGrow(e guard.Effect) bool {
	switch e.Kind {
	case guard.Read, guard.Delete, guard.Network, guard.Remote:
		return false
	case guard.Exec:
		return e.Action != "" // a known command writes only what its facts say
	}
	return true
}

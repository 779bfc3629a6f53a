//go:build !linux

package mcpserver_test

import (
	"testing"
	"time"
)

// pace is measured on Linux alone.
type pace struct{}

type stretch struct{ from, to time.Time }

func newPace(*testing.T) *pace { return nil }

func (*pace) since() (median, p99 time.Duration, slow []stretch) { return 0, 0, nil }

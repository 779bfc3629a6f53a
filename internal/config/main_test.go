package config

import (
	"os"
	"testing"

	"handrail/tools/sandbox"
)

// TestMain lets the test binary be a process of the sandboxes that it opens.
func TestMain(m *testing.M) {
	if code, handled := sandbox.Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if code, handled := Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

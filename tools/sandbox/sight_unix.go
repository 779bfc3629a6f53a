//go:build linux || darwin

package sandbox

import (
	"os"
	"time"
)

// dirStamp is the state of a directory, or of where a link leads.
func dirStamp(dir string) stamp {
	now := time.Now()
	fi, err := os.Stat(dir)
	if err != nil {
		return stamp{}
	}
	return stampOf(fi, now)
}

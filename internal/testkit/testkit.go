// Package testkit is what tests of several packages share: finding the real
// parts that a test needs.
package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// Require returns the path of program. Where it is missing the test is skipped
// and told how to install it, or fails when HANDRAIL_REQUIRE is "all".
func Require(t testing.TB, program, install string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		Missing(t, program, install)
	}
	return path
}

// Missing skips the test for want of part, or fails it when HANDRAIL_REQUIRE is
// "all". install is the command that brings it.
func Missing(t testing.TB, part, install string) {
	t.Helper()
	if os.Getenv("HANDRAIL_REQUIRE") == "all" {
		t.Fatalf("%s is missing; install it with: %s", part, install)
	}
	t.Skipf("%s is missing; install it with: %s", part, install)
}

//go:build unix

package ollamatest

import (
	"os/exec"
	"syscall"
)

// keeper runs the server until it ends or nothing holds the keeper's standard
// input open any more, which is when the test's process is gone at the latest.
// Then it kills its whole process group, in which the server's runners are.
const keeper = `exec 3<&0
"$0" serve 3<&- &
server=$!
{ cat <&3; kill $server; } >/dev/null 2>&1 &
wait $server
kill -KILL 0`

func serve(program string) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", keeper, program)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

func killAll(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

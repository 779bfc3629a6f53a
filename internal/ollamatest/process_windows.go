package ollamatest

import "os/exec"

func serve(program string) *exec.Cmd { return exec.Command(program, "serve") }

func killAll(c *exec.Cmd) { c.Process.Kill() }

package cli

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
)

// callMark is the variable that every command of a tool has in its environment.
const callMark = "HANDRAIL_CALL"

// byPerson refuses to work for a command of an agent: the guard does not let one
// start this program, and this holds where one got around that. A process knows
// its ancestors, and what handrail started has a handrail among them that starts
// commands.
func byPerson() error {
	refusal := errors.New("this was started by a command of an agent; only a person can do it, in a terminal of their own")
	if os.Getenv(callMark) != "" {
		return refusal
	}
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil // no /proc here
	}
	for pid := os.Getppid(); pid > 0; { // the first process too: it may be the sandbox's own, or a server in a container
		dir := "/proc/" + strconv.Itoa(pid)
		if exe, err := os.Stat(dir + "/exe"); err == nil && os.SameFile(own, exe) && startsCommands(dir) {
			return refusal
		}
		if environ, err := os.ReadFile(dir + "/environ"); err == nil && strings.Contains("\x00"+string(environ), "\x00"+callMark+"=") {
			return refusal
		}
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			return nil
		}
		// pid (name) state ppid ...: the name may hold anything, also a bracket.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			return nil
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return nil
		}
	}
	return nil
}

// startsCommands reports whether the process at a directory of /proc is a
// handrail that runs the commands of agents.
func startsCommands(dir string) bool {
	line, err := os.ReadFile(dir + "/cmdline")
	words := strings.Split(string(line), "\x00")
	return err != nil || len(words) > 1 && slices.Contains([]string{serveCommand.name, runCommand.name, demoCommand.name, "sandbox-process"}, words[1])
}

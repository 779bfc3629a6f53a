//go:build linux

// Command program is what the attack suite runs inside a sandbox: one attack by
// name. It says "held" where it got what it wanted, and keeps it until it is
// killed, so that the suite can look from outside. It exits with 3 where the
// kernel has no such thing, and with 1 where it was refused.
//
// Usage: program MARK ATTACK [ARGUMENT...]
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// patience is how long an attack keeps what it got: longer than the suite looks.
const patience = 30 * time.Second

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: program MARK ATTACK [ARGUMENT...]")
		os.Exit(2)
	}
	mark, name, args := os.Args[1], os.Args[2], arguments(os.Args[3:])
	attack := map[string]func(string, arguments) error{
		"hold": hold, "dial": dial, "mptcp": mptcp, "first": first, "pair": pair, "families": families, "socket": socket, "fork": fork, "foreign": foreign,
		"object": object, "namespace": namespace, "mount": mount, "seize": seize, "peek": peek,
		"descriptor": descriptor, "inherited": inherited, "handle": handle, "type": typeIn,
		"memory": memory, "xattr": xattr, "segment": segment, "queue": queue, "key": key, "device": device,
	}[name]
	if attack == nil {
		fmt.Fprintln(os.Stderr, "no such attack:", name)
		os.Exit(2)
	}
	err := attack(mark, args)
	switch {
	case err == nil:
		fmt.Println("held")
		time.Sleep(patience)
	case lacking(err):
		fmt.Println("lacking:", err)
		os.Exit(3)
	default:
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

// lacking reports whether err says that the kernel has no such thing.
func lacking(err error) bool {
	for _, no := range []syscall.Errno{syscall.ENOSYS, syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT, syscall.EOPNOTSUPP} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// arguments are those of an attack.
type arguments []string

func (a arguments) text(i int) string {
	if i < len(a) {
		return a[i]
	}
	return ""
}

// number is the i-th argument; 0 where it is none.
func (a arguments) number(i int) int {
	n, _ := strconv.ParseInt(a.text(i), 0, 64)
	return int(n)
}

// hold is there, and does not end when it is asked to.
func hold(string, arguments) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	return nil
}

// memory takes so many mebibytes.
func memory(_ string, a arguments) error {
	b := make([]byte, a.number(0)<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	go func() { // b is not collected
		time.Sleep(patience)
		runtime.KeepAlive(b)
	}()
	return nil
}

// fork starts so many processes with the mark, or as many as it gets.
func fork(mark string, a arguments) error {
	for range a.number(0) {
		cmd := exec.Cmd{Path: "/bin/sleep", Args: []string{mark, "30"}}
		if err := cmd.Start(); err != nil {
			fmt.Println("not more:", err)
			break
		}
	}
	return nil
}

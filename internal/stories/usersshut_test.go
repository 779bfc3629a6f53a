//go:build linux

package stories

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// peek tries, as a Unix user, to get at a process: by its descriptors in /proc, by
// a descriptor of it (pidfd_getfd), and by ptrace.
func peek(uid, pid int) (links, descriptor, trace error) {
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never again: the thread ends with its user
		for call, n := range map[uintptr]uintptr{syscall.SYS_SETGROUPS: 0, syscall.SYS_SETRESGID: uintptr(uid)} {
			if _, _, e := syscall.RawSyscall(call, n, n, n); e != 0 {
				links = fmt.Errorf("become %d: %w", uid, e)
				return
			}
		}
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			links = fmt.Errorf("become %d: %w", uid, e)
			return
		}
		_, links = os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid))
		const pidfdOpen, pidfdGetfd = 434, 438 // the same on every architecture
		fd, _, e := syscall.RawSyscall(pidfdOpen, uintptr(pid), 0, 0)
		if e != 0 {
			descriptor = e
			return
		}
		defer syscall.Close(int(fd))
		if got, _, e := syscall.RawSyscall(pidfdGetfd, fd, 1, 0); e != 0 {
			descriptor = e
		} else {
			syscall.Close(int(got))
		}
		trace = syscall.PtraceAttach(pid)
	}()
	<-done
	return links, descriptor, trace
}

// What root does for a principal runs as the principal's user, and yet no process
// of that user gets at root's terminal or files through it. The parts of the server
// have neither.
func TestUsersGetNothingOfRoots(t *testing.T) {
	tm := usersOf(t, users)
	alice := tm.token("alice")
	tm.start()
	if r := tm.session(alice).bash("id -u"); r.Verdict != "allow" {
		t.Fatalf("%+v", r)
	}

	control := exec.Command("sleep", "1000")
	control.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: aliceUser, Gid: aliceUser}}
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = control.Process.Kill(); _ = control.Wait() }()
	links, descriptor, trace := peek(aliceUser, control.Process.Pid)
	if links != nil || descriptor != nil || trace != nil {
		t.Logf("a process of her own: %v, %v, %v", links, descriptor, trace) // as where Yama forbids it
	}
	if links != nil {
		t.Fatal("the test cannot look at all")
	}

	secret, err := os.Open("/etc/shadow")
	if err != nil {
		t.Skip(err)
	}
	defer secret.Close()
	for _, args := range [][]string{{"audit", "tail", "-f", "--principal", "alice"}} {
		cmd := tm.command(args...)
		var out output
		cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &out, &out, []*os.File{secret}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		eventually(t, "it follows the log as alice", func() bool { return out.contains("id -u") })
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		p := process{status: string(status)}
		if err != nil || firstOf(p.field("Uid")) != aliceUser || p.field("Uid") != strings.Repeat(fmt.Sprintf("%d\t", aliceUser), 3)+fmt.Sprint(aliceUser) {
			t.Errorf("%v, %s", err, status)
		}
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, task := range tasks {
			if status, err := os.ReadFile(task); err == nil && firstOf((process{status: string(status)}).field("Uid")) != aliceUser || (process{status: string(status)}).field("CapPrm") != "0000000000000000" {
				t.Errorf("%s: %s", task, status)
			}
		}
		open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil || len(open) == 0 {
			t.Error(open, err)
		}
		for _, fd := range open {
			if to, _ := os.Readlink(fd); to == "/etc/shadow" {
				t.Errorf("%s is %s", fd, to)
			}
		}
		links, descriptor, trace := peek(aliceUser, pid)
		if !errors.Is(links, os.ErrPermission) || !errors.Is(descriptor, syscall.EPERM) || !errors.Is(trace, syscall.EPERM) {
			t.Errorf("%v: %v, %v, %v", args, links, descriptor, trace)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}

	keeper := tm.server.Process.Pid
	held := map[string]bool{}
	for _, fd := range []string{"0", "1", "2"} {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", keeper, fd))
		if err != nil {
			t.Fatal(err)
		}
		held[to] = to != os.DevNull
	}
	parts := 0
	for _, p := range below(keeper) {
		if !strings.Contains(p.line, "--part ") {
			continue
		}
		parts++
		group, session, tty := standing(t, p.pid)
		if _, own, _ := standing(t, keeper); session != fmt.Sprint(p.pid) || group != session || session == own || tty != "0" {
			t.Errorf("%s: group %s, session %s of the keeper's %s, terminal %s", p.line, group, session, own, tty)
		}
		open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
		for _, fd := range open {
			if to, _ := os.Readlink(fd); held[to] {
				t.Errorf("%s: %s is %s, root's", p.line, fd, to)
			}
		}
	}
	if parts != 2 {
		t.Errorf("%d parts", parts)
	}
}

// standing are the process group, session and terminal of a process.
func standing(t *testing.T, pid int) (group, session, tty string) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 5 {
		t.Fatalf("%s, %v", stat, err)
	}
	return string(fields[2]), string(fields[3]), string(fields[4])
}

func (o *output) contains(text string) bool {
	o.Lock()
	defer o.Unlock()
	return strings.Contains(o.Buffer.String(), text)
}

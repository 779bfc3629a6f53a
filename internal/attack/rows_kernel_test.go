//go:build linux

package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"handrail/tools/sandbox"
)

// Oracles of processes that hold what they got.

// holds looks for a descriptor that leads to something with this text.
func holds(text string) func(*machine, []int) bool {
	return func(_ *machine, pids []int) bool {
		return slices.ContainsFunc(pids, func(pid int) bool {
			fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			return slices.ContainsFunc(fds, func(fd string) bool {
				to, err := os.Readlink(fd)
				return err == nil && strings.Contains(to, text)
			})
		})
	}
}

// socketOf looks for a socket of a family.
func socketOf(want func(family int) bool) func(*machine, []int) bool {
	return func(_ *machine, pids []int) bool {
		return slices.ContainsFunc(pids, func(pid int) bool {
			fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			return slices.ContainsFunc(fds, func(path string) bool {
				to, err := os.Readlink(path)
				var n int
				if _, scan := fmt.Sscanf(filepath.Base(path), "%d", &n); err != nil || scan != nil || !strings.HasPrefix(to, "socket:") {
					return false
				}
				family, err := familyOf(pid, n)
				return err == nil && want(family)
			})
		})
	}
}

// familyOf takes a copy of a socket of another process and asks what it is.
func familyOf(pid, n int) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, n, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
}

func is(family int) func(int) bool { return func(f int) bool { return f == family } }

// apart looks for a process in another user namespace than its parent.
func apart(_ *machine, pids []int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		var parent int
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, scan := fmt.Sscanf(string(b[strings.LastIndexByte(string(b), ')')+1:]), " %1s %d", new(string), &parent); err != nil || scan != nil {
			return false
		}
		mine, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
		theirs, fault := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", parent))
		return err == nil && fault == nil && mine != theirs
	})
}

// status looks for a process of which /proc/PID/FILE has a text.
func status(file, text string) func(*machine, []int) bool {
	return func(_ *machine, pids []int) bool {
		return slices.ContainsFunc(pids, func(pid int) bool { return has(fmt.Sprintf("/proc/%d/%s", pid, file), text) })
	}
}

// ofVictim looks whether a file of /proc of the user's other program has text.
func ofVictim(file, text string) func(*machine, string, string) bool {
	return func(m *machine, _, _ string) bool {
		defer m.victim.Process.Kill() // the next one has another
		return has(fmt.Sprintf("/proc/%d/%s", m.victim.Process.Pid, file), text)
	}
}

const ownSockets = "programs of a session talk to each other by them; those that somebody outside has bound are covered"

// network is every way to others on this machine and outside.
var network = []attack{
	{name: "TCP", script: `$A dial tcp4 $TCP4`, took: arrived},
	{name: "TCP over IPv6", script: `$A dial tcp6 $TCP6`, took: arrived},
	{name: "TCP by bash", script: `echo $MARK > /dev/tcp/127.0.0.1/${TCP4##*:}`, took: arrived},
	{name: "UDP", script: `$A dial udp4 $UDP4`, took: arrived},
	{name: "MPTCP", script: `$A mptcp ${TCP4##*:}`, took: arrived},
	{name: "docker socket", script: `$A dial unix $DOCKER`, took: arrived},
	{name: "ssh-agent socket", script: `$A dial unix $SSH_AGENT`, took: arrived},
	{name: "D-Bus socket", script: `$A dial unix $BUS`, took: arrived},
	{name: "socket through a link in the workspace", script: `ln -s $DOCKER s; $A dial unix s`, took: arrived},
	{name: "datagram socket of the system's log", script: `$A pair $LOG`, took: arrived},
	{name: "TCP by the first message", script: `$A first ${TCP4##*:}`, took: arrived},
	{name: "abstract socket", script: `$A dial unix $ABSTRACT`, took: arrived},
	{name: "AF_UNIX", script: `$A socket 1`, look: socketOf(is(unix.AF_UNIX)), lets: map[sandbox.Tier]string{sandbox.Bwrap: ownSockets, sandbox.Namespaces: ownSockets}},
	{name: "AF_PACKET", script: `$A socket 17`, only: "root", look: socketOf(is(unix.AF_PACKET))},
	{name: "AF_VSOCK", script: `$A socket 40`, look: socketOf(is(unix.AF_VSOCK))},
	{name: "AF_ALG", script: `$A socket 38`, look: socketOf(is(unix.AF_ALG))},
	{name: "any other family but IP and netlink", script: `$A families`, only: "root", look: socketOf(func(f int) bool {
		return !slices.Contains([]int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG}, f)
	})},
	{name: "shared memory (System V)", script: `$A segment $KEY`, took: func(m *machine, _, mark string) bool { return segmentHas(m, mark) }},
	{name: "message queue (System V)", script: `$A queue $KEY`, took: func(m *machine, _, mark string) bool { return queueHas(m, mark) }},
}

// kernel is what the kernel gives that a sandbox must not.
var kernel = []attack{
	{name: "io_uring", script: `$A object io_uring`, look: holds("io_uring")},
	{name: "bpf", script: `$A object bpf`, only: "root", look: holds("bpf")},
	{name: "perf events", script: `$A object perf`, only: "root", look: holds("perf_event")},
	{name: "userfaultfd", script: `$A object userfaultfd`, look: holds("userfaultfd")},
	{name: "fanotify", script: `$A object fanotify`, only: "root", look: holds("fanotify")},
	{name: "key in the user's keyring", script: `$A key`, server: true, took: func(_ *machine, _, mark string) bool { return keyThere(mark) }},
	{name: "system call of another architecture", script: `$A foreign 1`, look: socketOf(is(unix.AF_UNIX))},
	{name: "new user namespace", script: `$A namespace`, look: apart},
	{name: "mount in a new namespace", script: `$A mount .`, look: status("mountinfo", "tmpfs attack-")},
	{name: "namespaces of another program", script: `nsenter -t $VICTIM -n -i -u $A hold`, only: "root", look: func(m *machine, pids []int) bool { return len(pids) > 0 && sameNet(m, pids) }},
	{name: "set-id program", script: `exec 5<&0; su root $MARK <&5 & sleep 0.5; echo; echo held; wait`, only: "user", terminal: true, look: status("status", "Uid:\t4242\t0\t")},
	{name: "raw devices", script: `for d in /dev/kmsg /dev/mem /dev/vda /dev/sda /dev/loop-control; do timeout 20 $A device $d && break; done`, only: "root", look: func(m *machine, pids []int) bool {
		return holds("/dev/kmsg")(m, pids) || holds("/dev/mem")(m, pids) || holds("/dev/vda")(m, pids) || holds("/dev/sda")(m, pids)
	}},
}

// processes are attacks on other processes, and on what ends with a call.
var processes = []attack{
	{name: "signal", script: `kill -KILL $VICTIM; sleep 0.1`, took: func(m *machine, _, _ string) bool { return !alive(m.victim.Process.Pid) }},
	{name: "ptrace", script: `$A seize $VICTIM`, look: func(m *machine, _ []int) bool {
		return !has(fmt.Sprintf("/proc/%d/status", m.victim.Process.Pid), "TracerPid:\t0\n")
	}},
	{name: "limits of other programs", script: `prlimit --pid $VICTIM --nofile=77:77`, took: ofVictim("limits", "77                   77")},
	{name: "priority of other programs", script: `renice -n 11 -p $VICTIM`, took: func(m *machine, _, _ string) bool {
		defer m.victim.Process.Kill()
		nice, err := unix.Getpriority(unix.PRIO_PROCESS, m.victim.Process.Pid)
		return err == nil && nice == 20-11
	}},
	{name: "processors of other programs", script: `taskset -p 1 $VICTIM`, took: ofVictim("status", "Cpus_allowed:\t1\n"), lets: landlock("programs set the processors of their own threads by the same call")},
	{name: "scheduling of other programs", script: `chrt --idle -p 0 $VICTIM`, took: func(m *machine, _, _ string) bool {
		defer m.victim.Process.Kill()
		attr, err := unix.SchedGetAttr(m.victim.Process.Pid, 0)
		return err == nil && attr.Policy == unix.SCHED_IDLE
	}},
	{name: "OOM score of other programs", script: `echo 777 > /proc/$VICTIM/oom_score_adj`, took: ofVictim("oom_score_adj", "777")},
	{name: "terminal: writing to it", script: `echo $MARK > /dev/tty`, terminal: true, took: func(m *machine, _, mark string) bool { return strings.Contains(m.shown(), mark) }},
	{name: "terminal: typing into it (TIOCSTI)", script: `$A type`, terminal: true, look: func(m *machine, _ []int) bool { return strings.Contains(m.typed(), "attack-") }},
	{name: "daemon: new session, parent ends", script: `(setsid $A hold &) >/dev/null 2>&1 </dev/null; sleep 0.2`, took: left},
	{name: "daemon: and no environment", script: `(env -i setsid -f $A hold) >/dev/null 2>&1 </dev/null; sleep 0.2`, took: left},
}

// left looks for processes that outlived their call, and ends them.
func left(_ *machine, _, mark string) bool {
	pids := marked(mark)
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return len(pids) > 0
}

// resources are what a call may use up. What the control does is bounded by
// itself.
var resources = []attack{
	{name: "processes", script: `$A fork 400`, limits: sandbox.Limits{Processes: 60}, look: func(_ *machine, pids []int) bool { return len(pids) > 350 }},
	{name: "memory", script: `$A memory 300`, limits: sandbox.Limits{Memory: 64 << 20},
		look: func(_ *machine, pids []int) bool {
			time.Sleep(600 * time.Millisecond)
			return slices.ContainsFunc(pids, func(pid int) bool { return alive(pid) && residentOf(pid) > 250<<20 })
		}},
	{name: "size of a file", script: `head -c 8M /dev/zero > big`, limits: sandbox.Limits{FileSize: 2 << 20}, took: func(m *machine, _, _ string) bool {
		st, err := os.Stat(m.root + "/big")
		return err == nil && st.Size() > 2<<20
	}},
	{name: "disk of the workspace", script: `for i in {1..40}; do head -c 2M /dev/zero > f$i; sleep 0.1; done`, limits: sandbox.Limits{Disk: 8 << 20}, took: func(m *machine, _, _ string) bool { return exists(m.root + "/f40") }},
}

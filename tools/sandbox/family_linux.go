package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is one process as /proc shows it. Pid and start name it for good.
type process struct {
	pid, parent, session int
	state                byte
	start                uint64 // ticks since boot
}

// others returns the living processes of the family without its leader.
func (f family) others() []process {
	leader, ok := look(f.leader)
	if !ok {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var young []process // what is older than the leader cannot be its own
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == f.leader {
			continue
		}
		if p, ok := look(pid); ok && p.start >= leader.start && p.state != 'Z' && p.state != 'X' {
			young = append(young, p)
		}
	}
	in := map[int]bool{f.leader: true}
	var found []process
	for grown := true; grown; {
		grown = false
		for _, p := range young {
			if !in[p.pid] && (in[p.parent] || p.session == f.leader || f.marks(p.pid)) {
				in[p.pid], grown = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// marks reports whether pid has the family's mark in its environment.
func (f family) marks(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+f.mark+"\x00"))
}

// signal sends sig by way of a pidfd, if p still is the process it was.
func (p process) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := look(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// alive reports whether pid runs; a zombie does not.
func alive(pid int) bool {
	p, ok := look(pid)
	return ok && p.state != 'Z' && p.state != 'X'
}

// look reads /proc/PID/stat: "pid (name) state ppid pgrp session …"; the name
// may hold anything, so the fields are counted from the last parenthesis.
func look(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return process{}, false
	}
	p := process{pid: pid, state: f[0][0]}
	p.parent, _ = strconv.Atoi(string(f[1]))
	p.session, _ = strconv.Atoi(string(f[3]))
	p.start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return p, err == nil
}

// statusAt is the offset of si_status in siginfo_t of 64-bit systems.
const statusAt = 24

package sandbox

import (
	"errors"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// traits are what one process of a user can change of another by its number, and
// so a command of the head that started it, and of the commands after it: limits,
// and of each thread scheduling, processors and input priority (prlimit(2),
// sched_setattr(2), sched_setaffinity(2), ioprio_set(2)).
type traits struct {
	limits  [unix.RLIMIT_RTTIME + 1]unix.Rlimit
	thread  threadTraits // the same for all threads
	killing string       // the adjustment of the OOM score
}

type threadTraits struct {
	sched unix.SchedAttr
	cpus  unix.CPUSet
	input int
}

// traitsOf are those of this process. It is not ok where threads differ.
func traitsOf() (t traits, ok bool) {
	for i := range t.limits {
		if unix.Prlimit(0, i, nil, &t.limits[i]) != nil {
			return t, false
		}
	}
	score, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return t, false
	}
	t.killing = string(score)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) == 0 {
		return t, false
	}
	first := true
	return t, !slices.ContainsFunc(threads, func(e os.DirEntry) bool {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			return true
		}
		now, err := threadTraitsOf(id)
		if errors.Is(err, unix.ESRCH) { // it has ended
			return false
		}
		if first {
			t.thread, first = now, false
		}
		return err != nil || now != t.thread
	})
}

func threadTraitsOf(id int) (t threadTraits, err error) {
	attr, err := unix.SchedGetAttr(id, 0)
	if err != nil {
		return t, err
	}
	t.sched = *attr
	if err := unix.SchedGetaffinity(id, &t.cpus); err != nil {
		return t, err
	}
	input, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, ioprioProcess, uintptr(id), 0)
	if errno != 0 {
		return t, errno
	}
	t.input = int(input)
	return t, nil
}

// ioprioProcess is IOPRIO_WHO_PROCESS of ioprio_get(2): one thread.
const ioprioProcess = 1

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultLimits are what a call may use where its policy does not say: three
// quarters of the machine's memory, and more of the rest than work needs.
func DefaultLimits() Limits {
	l := Limits{Processes: 4096, Memory: 8 << 30, FileSize: 16 << 30, Disk: 32 << 30}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		l.Memory = int64(uint64(info.Totalram) * uint64(info.Unit) / 4 * 3)
	}
	return l
}

// or fills the zero fields of l from d.
func (l Limits) or(d Limits) Limits {
	if l.Processes == 0 {
		l.Processes = d.Processes
	}
	if l.Memory == 0 {
		l.Memory = d.Memory
	}
	if l.FileSize == 0 {
		l.FileSize = d.FileSize
	}
	if l.Disk == 0 {
		l.Disk = d.Disk
	}
	return l
}

// bounds hold one call to its limits: a control group where there is one, else
// limits of each process and a look at all of them together. The processes
// that start the call must be added before it begins.
type bounds struct {
	limits Limits
	group  *group // nil: none
	began  time.Time
	disk   []volume
	dirs   []string

	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
	mu    sync.Mutex
	which string // the limit that the watching found exceeded
}

// volume is a file system that a call can fill, and what was free at its start.
type volume struct {
	path string
	free uint64
}

// bind makes the bounds of the call id, which can fill dirs. As user 0 there
// must be control groups: the kernel does not count its processes.
func (c cgroups) bind(id string, l Limits, dirs []string) (*bounds, error) {
	b := newBounds(l, dirs)
	if c.version == 0 && os.Getuid() == 0 {
		return nil, fmt.Errorf("the limit of %d processes cannot be held for user 0 without control groups: run as another user, or give this one a writable cgroup", b.limits.Processes)
	}
	if c.version != 0 {
		var err error
		if b.group, err = c.make(id, b.limits); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func newBounds(l Limits, dirs []string) *bounds {
	return &bounds{limits: l.or(DefaultLimits()), dirs: dirs, disk: volumes(dirs), began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
}

// volumes are the file systems of dirs as they are now.
func volumes(dirs []string) []volume {
	var all []volume
	for _, dir := range dirs {
		if free, ok := freeBytes(dir); ok {
			all = append(all, volume{dir, free})
		}
	}
	return all
}

// What a process of ours at the head of a command needs of both, so that limits
// that are meant for the command do not end it.
const (
	ownTasks = 16
	ownData  = 256 << 20 // bytes
)

// userTasks counts the tasks of the user of process pid that RLIMIT_NPROC counts
// beside those of the call: none in a user namespace of the sandbox.
func userTasks(pid int) int {
	n := 0
	mine, err := os.Readlink("/proc/self/ns/user")
	if its, fault := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/user"); err == nil && fault == nil && its != mine {
		return 0
	}
	uid, ok := userOf(pid)
	if !ok {
		return 0
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		var st unix.Stat_t
		dir := "/proc/" + e.Name()
		if _, err := strconv.Atoi(e.Name()); err != nil || unix.Stat(dir, &st) != nil || st.Uid != uid {
			continue
		}
		tasks, _ := os.ReadDir(dir + "/task")
		n += len(tasks)
	}
	return n
}

// userOf is the user of process pid: not who its directory in /proc belongs to,
// which is user 0 where the process cannot be traced, as those of the sandbox.
func userOf(pid int) (uint32, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	_, line, ok := strings.Cut(string(b), "\nUid:\t")
	first, _, _ := strings.Cut(line, "\t")
	uid, err := strconv.ParseUint(first, 10, 32)
	return uint32(uid), ok && err == nil
}

// add puts the process pid into the bounds, with all that it starts from then on.
// It must wait for that before it begins.
func (b *bounds) add(pid int) error {
	limits := map[int]int64{unix.RLIMIT_FSIZE: b.limits.FileSize, unix.RLIMIT_CORE: 0}
	if b.group == nil {
		others, step := userTasks(pid), b.limits.Processes/8+1
		limits[unix.RLIMIT_NPROC] = int64(b.limits.Processes + (others+step-1)/step*step + ownTasks) // in steps, so that it mostly is what it was for the last call
		limits[unix.RLIMIT_DATA] = max(b.limits.Memory, ownData)                                     // what is less is watched
	} else if err := b.group.add(pid); err != nil {
		return err
	}
	for resource, value := range limits {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: uint64(value), Max: uint64(value)}, nil); err != nil {
			return fmt.Errorf("limit resource %d of the call: %w", resource, err)
		}
	}
	return nil
}

// pace is how often it is looked whether something may be near its limit.
const pace = 200 * time.Millisecond

// onWatch is how many calls of this process are watched.
var onWatch atomic.Int64

// turn says when to look next at what costs. All calls together spend a twentieth
// of the time of a processor on it, a fifth where something is pressing.
type turn struct{ next, soonest time.Time }

func (t *turn) due(pressing bool) bool {
	now := time.Now()
	return now.After(t.next) || pressing && now.After(t.soonest)
}

// took notes how long a look took.
func (t *turn) took(d time.Duration) {
	now, all := time.Now(), d*time.Duration(onWatch.Load())
	t.next, t.soonest = now.Add(max(time.Second, 20*all)), now.Add(5*all)
}

// watch looks at the call until release, and calls end once where it exceeds
// what no kernel limit holds: disk, and without a control group memory.
// processes lists the call's.
func (b *bounds) watch(processes func() []int, end func()) {
	go func() {
		defer close(b.done)
		onWatch.Add(1)
		defer onWatch.Add(-1)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		free := int64(0) // memory of the machine, at the start
		if b.group == nil {
			free = int64(freeMemory())
		}
		memory := turn{next: b.began.Add(time.Second)}
		disk := memory
		for {
			select {
			case <-b.stop:
				return
			case <-tick.C:
			}
			which := ""
			// What is free less is all that the call took, where nobody else gave some back.
			if b.group == nil && memory.due(free-int64(freeMemory()) > b.limits.Memory/2) {
				began := time.Now()
				if resident(processes()) > b.limits.Memory {
					which = "memory"
				}
				memory.took(time.Since(began))
			}
			if less := b.filling(); disk.due(less) {
				began := time.Now()
				if b.nameless(processes())+b.written(!less) > b.limits.Disk {
					which = "disk"
				}
				disk.took(time.Since(began))
			}
			if which == "" {
				continue
			}
			b.mu.Lock()
			b.which = which
			b.mu.Unlock()
			end()
			return
		}
	}()
}

// memory is what the machine had free when it was last asked: the same for all
// calls, and no older than half of pace.
var memory struct {
	sync.Mutex
	asked time.Time
	free  uint64
}

// freeMemory returns how many bytes programs can still get: what files take of
// memory counts as free. It is 0 where the kernel does not tell.
func freeMemory() uint64 {
	memory.Lock()
	defer memory.Unlock()
	if time.Since(memory.asked) < pace/2 {
		return memory.free
	}
	memory.asked, memory.free = time.Now(), 0
	b, _ := os.ReadFile("/proc/meminfo")
	if _, rest, ok := bytes.Cut(b, []byte("\nMemAvailable:")); ok {
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kb, _ := strconv.ParseUint(string(fields[0]), 10, 64)
			memory.free = kb << 10
		}
	}
	return memory.free
}

// exceeded names the limit that ended a call with status s, or a process of it;
// empty where none did. It must be asked before release.
func (b *bounds) exceeded(s Status) string {
	b.mu.Lock()
	which := b.which
	b.mu.Unlock()
	switch {
	case which != "":
		return which
	case b.group != nil && b.group.starved():
		return "memory"
	case s.Code == 0:
		return ""
	case s.Signal == int(syscall.SIGXFSZ), s.Code == 128+int(syscall.SIGXFSZ): // that of a shell's last command
		return "file size"
	case b.group != nil && b.group.crowded():
		return "processes"
	}
	return ""
}

// spent reports whether the bounds can hold no other call: a limit was hit,
// which the kernel counts for ever, or pages of files in memory stay accounted
// to them. Those of single processes can: what a head or warden changed of its own
// it tells itself (traits), and then serves no other command.
func (b *bounds) spent() bool {
	b.mu.Lock()
	which := b.which
	b.mu.Unlock()
	if which != "" || b.group == nil {
		return which != ""
	}
	return b.group.starved() || b.group.crowded() || b.group.holds() > b.limits.Memory/8
}

// rest ends the watching of one call, and returns the bounds as they wait for
// another.
func (b *bounds) rest() *bounds {
	b.once.Do(func() { close(b.stop) })
	next := newBounds(b.limits, nil)
	next.group = b.group
	return next
}

// release ends the watching, kills what is left and removes what was made.
func (b *bounds) release() error {
	var err error
	b.once.Do(func() {
		close(b.stop)
		if b.group != nil {
			if err = b.group.kill(); err == nil {
				err = b.group.remove()
			}
		}
	})
	return err
}

// resident sums the memory of processes in bytes; what they share counts once
// for each.
func resident(pids []int) int64 {
	var pages int64
	for _, pid := range pids {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if f := bytes.Fields(b); err == nil && len(f) > 2 {
			all, _ := strconv.ParseInt(string(f[1]), 10, 64)
			shared, _ := strconv.ParseInt(string(f[2]), 10, 64)
			pages += all - shared
		}
	}
	return pages * int64(os.Getpagesize())
}

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups are the control groups below which calls get groups of their own. The
// zero value has none.
type cgroups struct {
	version int // 1 or 2; 0: none
	parents []string
}

// findCgroups finds where this process may make groups that bound processes and
// memory: version 2, else version 1. The error says why there is none.
func findCgroups() (cgroups, error) {
	mounts, err := cgroupMounts()
	if err != nil {
		return cgroups{}, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroups{}, err
	}
	v1 := map[string]string{}
	var reasons []error
	for line := range strings.Lines(string(own)) { // "ID:controllers:path"
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if f[1] == "" {
			if top, ok := mounts["2"]; ok {
				dir, err := unified(top, filepath.Join(top, f[2]))
				if err == nil {
					return cgroups{2, []string{dir}}.swept(), nil
				}
				reasons = append(reasons, err)
			}
			continue
		}
		for name := range strings.SplitSeq(f[1], ",") {
			if top, ok := mounts[name]; ok {
				v1[name] = filepath.Join(top, f[2])
			}
		}
	}
	c := cgroups{version: 1}
	for _, name := range []string{"pids", "memory"} {
		dir, ok := v1[name]
		if !ok {
			return cgroups{}, errors.Join(append(reasons, fmt.Errorf("no control group bounds %s", name))...)
		}
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return cgroups{}, errors.Join(append(reasons, fmt.Errorf("control group %s is not ours to divide: %w", dir, err))...)
		}
		c.parents = append(c.parents, dir)
	}
	return c.swept(), nil
}

// swept ends and removes what servers that are gone left behind.
func (c cgroups) swept() cgroups {
	for _, parent := range c.parents {
		left, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
		for _, dir := range left {
			server, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
			if pid, err := strconv.Atoi(server); err == nil && !alive(pid) {
				g := &group{version: c.version, dirs: []string{dir}}
				if g.kill() == nil {
					_ = os.Remove(dir)
				}
			}
		}
	}
	return c
}

// groupPrefix begins the name of a group; the server's process ID and the call's
// follow.
const groupPrefix = "handrail-"

// cgroupMounts returns where control groups are mounted: "2" for the unified
// hierarchy, else by controller.
func cgroupMounts() (map[string]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	mounts := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		mount, super, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(mount), strings.Fields(super)
		if !ok || len(left) < 5 || len(right) < 3 || left[3] != "/" { // of a part of the hierarchy our path says nothing
			continue
		}
		switch right[0] {
		case "cgroup2":
			mounts["2"] = left[4]
		case "cgroup":
			for o := range strings.SplitSeq(right[2], ",") {
				mounts[o] = left[4]
			}
		}
	}
	return mounts, nil
}

// unified returns the nearest group of version 2, at or above own, that lets us
// make groups which bound processes and memory.
func unified(top, own string) (string, error) {
	var last error
	for dir := own; below([]string{top}, dir); dir = filepath.Dir(dir) {
		if last = divides(dir); last == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("control group %s is not ours to divide: %w", own, last)
}

// divides reports why dir cannot hold groups that bound processes and memory.
func divides(dir string) error {
	probe := filepath.Join(dir, "probe-"+groupPrefix+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(probe, 0o755); err != nil {
		return err
	}
	defer os.Remove(probe)
	bounds := func() bool {
		for _, name := range []string{"pids.max", "memory.max"} {
			if _, err := os.Stat(filepath.Join(probe, name)); err != nil {
				return false
			}
		}
		return true
	}
	if bounds() {
		return nil
	}
	if err := write(dir, "cgroup.subtree_control", "+pids +memory"); err != nil {
		return err
	}
	if !bounds() {
		return errors.New("its controllers do not bound processes and memory")
	}
	return nil
}

func write(dir, name, value string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(value), 0)
}

// group is the control group of one call. A nil group holds nothing.
type group struct {
	version int
	dirs    []string // pids and memory; of version 2 they are one
}

// make makes a group for the call named id.
func (c cgroups) make(id string, l Limits) (*group, error) {
	if c.version == 0 {
		return nil, errors.New("there are no control groups")
	}
	g := &group{version: c.version}
	for _, parent := range c.parents {
		dir := filepath.Join(parent, groupPrefix+strconv.Itoa(os.Getpid())+"-"+id)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, errors.Join(err, g.remove())
		}
		g.dirs = append(g.dirs, dir)
	}
	if err := g.bound(l); err != nil {
		return nil, errors.Join(fmt.Errorf("bound the control group: %w", err), g.remove())
	}
	return g, nil
}

func (g *group) pids() string   { return g.dirs[0] }
func (g *group) memory() string { return g.dirs[len(g.dirs)-1] }

func (g *group) bound(l Limits) error {
	processes, bytes := strconv.Itoa(l.Processes), strconv.FormatInt(l.Memory, 10)
	if err := write(g.pids(), "pids.max", processes); err != nil {
		return err
	}
	if g.version == 2 {
		// A call that has too much memory is ended as a whole; swap would only
		// put it off. Both are absent on some kernels.
		_ = write(g.memory(), "memory.oom.group", "1")
		_ = write(g.memory(), "memory.swap.max", "0")
		return write(g.memory(), "memory.max", bytes)
	}
	if err := write(g.memory(), "memory.limit_in_bytes", bytes); err != nil {
		return err
	}
	_ = write(g.memory(), "memory.memsw.limit_in_bytes", bytes)
	return nil
}

// add puts the process pid into the group, with what it starts from then on.
func (g *group) add(pid int) error {
	for _, dir := range g.dirs {
		if err := write(dir, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("join the control group: %w", err)
		}
	}
	return nil
}

// members returns the processes in the group.
func (g *group) members() []int {
	b, _ := os.ReadFile(filepath.Join(g.pids(), "cgroup.procs"))
	var all []int
	for f := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
			all = append(all, pid)
		}
	}
	return all
}

// kill kills every process in the group, and returns when none is left, or
// after dying.
func (g *group) kill() error {
	_ = write(g.pids(), "pids.max", "0") // nothing new while it goes
	for until := time.Now().Add(dying); ; time.Sleep(2 * time.Millisecond) {
		left := slices.DeleteFunc(g.members(), func(pid int) bool { return !alive(pid) })
		if len(left) == 0 {
			return nil
		}
		if g.version != 2 || write(g.pids(), "cgroup.kill", "1") != nil {
			for _, pid := range left { // in the group it still is, or it is gone
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes of the call do not end", len(left))
		}
	}
}

// starved reports whether a process was killed for want of memory.
func (g *group) starved() bool {
	events := "memory.events"
	if g.version == 1 {
		events = "memory.oom_control"
	}
	return counter(filepath.Join(g.memory(), events), "oom_kill") > 0
}

// crowded reports whether a process could not be started for want of numbers.
func (g *group) crowded() bool {
	return counter(filepath.Join(g.pids(), "pids.events"), "max") > 0
}

// holds is the memory that is accounted to the group, in bytes.
func (g *group) holds() int64 {
	name := "memory.current"
	if g.version == 1 {
		name = "memory.usage_in_bytes"
	}
	b, err := os.ReadFile(filepath.Join(g.memory(), name))
	n, bad := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || bad != nil {
		return math.MaxInt64
	}
	return n
}

// counter reads "name N" from a file of a control group.
func counter(file, name string) int {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// remove removes the empty group.
func (g *group) remove() error {
	var failed error
	for _, dir := range g.dirs {
		for until := time.Now().Add(time.Second); ; time.Sleep(5 * time.Millisecond) {
			err := os.Remove(dir)
			if err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(until) { // zombies leave it when they are reaped
				failed = errors.Join(failed, err)
				break
			}
		}
	}
	return failed
}

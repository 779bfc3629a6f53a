package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// verify looks whether the mounts of a container that runs are those that were
// asked for: what another command of the session puts in the way meanwhile, a
// link above all, leads the engine elsewhere.
func (b *containers) verify(ctx context.Context, box *container, s *spec) error {
	var seen struct{ State struct{ Pid int } }
	if err := b.engine.call(ctx, "GET", "/containers/"+box.id+"/json", nil, &seen); err != nil {
		return err
	}
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", seen.State.Pid))
	if err != nil {
		return fmt.Errorf("the mounts of the container: %w", err)
	}
	return s.verify(string(info))
}

// verify compares s with the mounts of a process (proc_pid_mountinfo(5)).
func (s *spec) verify(info string) error {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	sources := map[string]string{} // what is mounted, by where
	for line := range strings.Lines(info) {
		if f := strings.Fields(line); len(f) > 4 {
			sources[unescape.Replace(f[4])] = f[2] + unescape.Replace(f[3])
		}
	}
	for _, target := range slices.Sorted(maps.Keys(s.HostConfig.Tmpfs)) {
		if _, ok := sources[target]; !ok {
			return fmt.Errorf("%s is not mounted in the container", target)
		}
	}
	for _, m := range s.HostConfig.Mounts {
		got, ok := sources[m.Target]
		outer := m.Target
		for _, o := range s.HostConfig.Mounts { // sorted: the first that covers it is the outermost
			if below([]string{o.Target}, m.Target) {
				outer = o.Target
				break
			}
		}
		if !ok || m.Source == m.Target && got != strings.TrimSuffix(sources[outer], "/")+strings.TrimPrefix(m.Target, outer) {
			return fmt.Errorf("%s was replaced while the container was made, or is a file system of its own: nothing ran", m.Target)
		}
	}
	return nil
}

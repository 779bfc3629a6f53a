package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// spec is a container as the engine is asked for it. Source: Docker Engine API
// 1.41, ContainerCreate.
type spec struct {
	Image      string
	Entrypoint []string
	Cmd        []string
	User       string
	OpenStdin  bool
	WorkingDir string
	Hostname   string
	Labels     map[string]string
	HostConfig hostConfig

	ids []string // identities of what is mounted: a mount goes with a file that was replaced
}

type hostConfig struct {
	NetworkMode        string
	ReadonlyRootfs     bool
	CapDrop            []string
	SecurityOpt        []string
	PidsLimit          int
	Memory, MemorySwap int64
	Ulimits            []ulimit
	Tmpfs              map[string]string
	Mounts             []mount
	UsernsMode         string `json:",omitempty"`
	IpcMode            string
	LogConfig          map[string]string
}

type ulimit struct {
	Name       string
	Soft, Hard int64
}

type mount struct {
	Type, Source, Target string
	ReadOnly             bool
}

// key tells containers of different kinds apart.
func (s *spec) key() (string, error) {
	b, err := json.Marshal(s)
	return string(b) + strings.Join(s.ids, " "), err
}

// spec says what a container for p is. Its first process does nothing but reap:
// it is of another user than the commands, who cannot end or trace it.
func (b *containers) spec(p *Policy) (*spec, error) {
	if p.Open {
		return nil, fmt.Errorf("a container has no way to give a command the user's own rights: it must be run without the sandbox %s, or not at all", b.engine.tier)
	}
	first := "65534:65534"
	if strings.HasPrefix(b.user, "65534:") {
		first = "65533:65533"
	}
	limits := p.Limits.or(DefaultLimits())
	s := &spec{
		Image: b.Image, Entrypoint: []string{"/bin/bash", "-c", "read -r forever"}, User: first, OpenStdin: true, WorkingDir: "/", Hostname: "sandbox",
		Labels: map[string]string{"handrail": "sandbox"},
		HostConfig: hostConfig{
			NetworkMode: "none", ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges", "seccomp=" + b.profile}, IpcMode: "private",
			PidsLimit: limits.Processes, Memory: limits.Memory, MemorySwap: limits.Memory, LogConfig: map[string]string{"Type": "none"},
			Ulimits: []ulimit{{"core", 0, 0}, {"fsize", limits.FileSize, limits.FileSize}},
			Tmpfs:   map[string]string{},
		},
	}
	if b.engine.tier == Podman {
		s.HostConfig.LogConfig["Type"] = "k8s-file" // Podman reads no logs of "none" before 4.4
		if os.Geteuid() != 0 {
			s.HostConfig.UsernsMode = "keep-id"
		}
	}
	if p.Network == Full {
		s.HostConfig.NetworkMode = "bridge"
	}
	for _, l := range []struct {
		name     string
		resource int
		most     uint64
	}{{"nofile", unix.RLIMIT_NOFILE, 1 << 20}, {"nproc", unix.RLIMIT_NPROC, 1 << 15}} { // an engine without CAP_SYS_RESOURCE cannot give more than it has
		var own unix.Rlimit
		if err := unix.Getrlimit(l.resource, &own); err != nil {
			return nil, fmt.Errorf("limits: %w", err)
		}
		hard := int64(min(own.Max, l.most))
		s.HostConfig.Ulimits = append(s.HostConfig.Ulimits, ulimit{l.name, hard, hard})
	}
	if err := b.mounts(p, &s.HostConfig); err != nil {
		return nil, err
	}
	for _, m := range s.HostConfig.Mounts {
		at := spotAt(m.Source, true)
		if !at.there() {
			return nil, fmt.Errorf("%s is not there, or out of reach", m.Source)
		}
		s.ids = append(s.ids, at.String())
	}
	return s, nil
}

// engineSockets are never given into a container: who writes to one is root.
var engineSockets = []string{"/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/user", "/proc", "/sys", "/dev"}

// mounts plans what a command of p sees beside its image, outer paths first.
func (b *containers) mounts(p *Policy, h *hostConfig) error {
	all := map[string]mount{}
	bind := func(path string, ro bool) { all[path] = mount{"bind", path, path, ro} }
	give := func(path string, ro, must bool) error {
		if !filepath.IsAbs(path) || path == "/" || below([]string{path}, b.State) || below([]string{path}, b.engine.socket) || below(engineSockets, path) || slices.ContainsFunc(engineSockets, func(s string) bool { return below([]string{path}, s) }) {
			return fmt.Errorf("%s cannot be given to a container", path)
		}
		if _, err := os.Stat(path); err != nil {
			if must || !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
		bind(path, ro)
		return nil
	}
	for _, path := range p.Read {
		if err := give(path, true, false); err != nil {
			return err
		}
	}
	for _, path := range p.Write {
		if err := give(path, false, false); err != nil {
			return err
		}
	}
	for _, path := range slices.Concat(p.Roots, []string{b.Scratch, p.Scratch}) {
		if path != "" {
			if err := give(path, false, true); err != nil {
				return err
			}
		}
	}
	hidden := b.unread().of(p)
	b.hold(p, hidden, all)
	h.Tmpfs["/tmp"], h.Tmpfs["/run"] = tmpfs(privateTmpfs), tmpfs(privateTmpfs/4)
	if p.Home != "" && p.Home != "/" && all[p.Home] == (mount{}) {
		h.Tmpfs[p.Home] = tmpfs(privateTmpfs / 4)
	}
	for _, path := range hidden {
		switch st, err := os.Stat(path); {
		case err != nil || !coveredBy(all, path):
		case st.IsDir():
			h.Tmpfs[path] = "ro,nosuid,nodev,noexec,size=4k,mode=0555"
			delete(all, path)
		default:
			all[path] = mount{"bind", os.DevNull, path, true}
		}
	}
	for _, m := range all {
		h.Mounts = append(h.Mounts, m)
	}
	slices.SortFunc(h.Mounts, func(a, b mount) int { return cmp.Compare(a.Target, b.Target) })
	return nil
}

// privateTmpfs is the size of a private directory, in bytes.
const privateTmpfs = 4 << 30

func tmpfs(size int) string { return fmt.Sprintf("rw,nosuid,nodev,exec,size=%d,mode=1777", size) }

// hold makes what is protected read-only where it exists, and pins each
// directory above it and above what is hidden: what is mounted cannot be renamed.
func (b *containers) hold(p *Policy, hidden []string, all map[string]mount) {
	pin := func(path string) {
		for dir := filepath.Dir(path); all[dir] == (mount{}) && coveredBy(all, dir); dir = filepath.Dir(dir) {
			all[dir] = mount{"bind", dir, dir, mountedReadOnly(all, dir)}
		}
	}
	var configs []string
	for _, root := range p.Roots {
		for _, git := range once.gitDirs(root) {
			configs = append(configs, filepath.Join(git, "config"), filepath.Join(git, "config.worktree"))
		}
	}
	for _, path := range slices.Concat(Protected(p.Roots), p.Protected, p.Secrets) {
		if p.may(path) || !coveredBy(all, path) || p.GitConfig && slices.Contains(configs, path) {
			continue
		}
		if _, err := os.Lstat(path); err != nil {
			continue // what is not there is held by the comparison after the run
		}
		pin(path)
		if real := resolved(path); coveredBy(all, real) {
			pin(real)
			all[real] = mount{"bind", real, real, true}
		}
	}
	for _, path := range hidden {
		if _, err := os.Lstat(path); err == nil && coveredBy(all, path) {
			pin(path)
		}
	}
}

// coveredBy reports whether path lies at or below a mount.
func coveredBy(all map[string]mount, path string) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		if all[dir] != (mount{}) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// mountedReadOnly reports whether the innermost mount at or above path is.
func mountedReadOnly(all map[string]mount, path string) bool {
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if m := all[dir]; m != (mount{}) {
			return m.ReadOnly
		}
	}
	return false
}

// owner is the user and the group of dir.
func owner(dir string) (uid, gid uint32, err error) {
	st, err := os.Stat(dir)
	if err != nil {
		return 0, 0, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("%s has no owner", dir)
	}
	return sys.Uid, sys.Gid, nil
}

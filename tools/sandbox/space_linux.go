package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// spaceFlags are the namespaces that arguments of bubblewrap ask for.
var spaceFlags = map[string]uintptr{
	"--unshare-user": unix.CLONE_NEWUSER | unix.CLONE_NEWNS, "--unshare-pid": unix.CLONE_NEWPID, "--unshare-ipc": unix.CLONE_NEWIPC,
	"--unshare-uts": unix.CLONE_NEWUTS, "--unshare-cgroup-try": unix.CLONE_NEWCGROUP, "--unshare-net": unix.CLONE_NEWNET,
}

// spaceCaps are the capabilities that space needs in its own user namespace.
var spaceCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE}

// openNamespaces needs no program but our own.
func openNamespaces(s Settings) (Sandbox, error) { return openBubble(s, true) }

// builder returns what is started to make a sandbox of bubblewrap's args
// (its name first): bubblewrap, or our own namespaces.
func builder(bare bool, args []string) (path string, argv []string, sys *syscall.SysProcAttr) {
	if !bare {
		return bwrapPath, args, &syscall.SysProcAttr{Setsid: true}
	}
	argv, sys = asSpace(args)
	return "/proc/self/fd/4", argv, sys
}

// asSpace returns what starts our own namespaces in place of bubblewrap: argv of
// the program at descriptor 4 for bubblewrap's args, and the namespaces.
func asSpace(args []string) ([]string, *syscall.SysProcAttr) {
	sys := &syscall.SysProcAttr{Setsid: true, AmbientCaps: spaceCaps}
	for _, a := range args[:slices.Index(append(slices.Clone(args), "--"), "--")] {
		sys.Cloneflags |= spaceFlags[a]
	}
	return append([]string{"sandbox", inside, "space", strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())}, args[1:]...), sys
}

// keepUser maps this user and group, and no other, into the user namespace. It
// does that itself: the process that started it is closed to the eyes of others,
// and so was this one until its exec.
func keepUser(uid, gid string) error {
	for _, f := range [][2]string{{"setgroups", "deny"}, {"uid_map", uid + " " + uid + " 1"}, {"gid_map", gid + " " + gid + " 1"}} {
		if err := os.WriteFile("/proc/self/"+f[0], []byte(f[1]), 0); err != nil {
			return fmt.Errorf("keep the user: %w", err)
		}
	}
	return nil
}

// space is the first process of new namespaces. It does there what the arguments
// of bubblewrap say that the plan of a sandbox uses, and becomes the program
// after "--". What it does not know is an error.
func space(args []string) error {
	runtime.LockOSThread()
	if os.Getpid() != 1 || len(args) < 2 {
		return errors.New("this is a part of the sandbox and is started by it only")
	}
	if err := keepUser(args[0], args[1]); err != nil {
		return err
	}
	if err := unix.CloseRange(5, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close on exec: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// No more user namespaces in this one. The filter of commands says so too.
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return fmt.Errorf("forbid more user namespaces: %w", err)
	}
	b := &building{}
	program, err := b.read(args[2:])
	if err != nil {
		return err
	}
	for _, step := range b.steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := keepCaps(b.caps); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", program[0], syscall.Exec(program[0], program, []string{}))
}

// building is what the arguments ask for, in steps that are done one after the
// other. All sources are taken while they are read, ahead of the first step.
type building struct {
	steps       []func() error
	caps        []uintptr
	perms, size string
	rooted      bool
}

// parameters is how many parameters each known argument has.
var parameters = map[string]int{
	"--new-session": 0, "--die-with-parent": 0, "--disable-userns": 0, "--clearenv": 0, "--setenv": 2, "--as-pid-1": 0, "--hostname": 1, "--cap-drop": 1, "--cap-add": 1,
	"--perms": 1, "--size": 1, "--tmpfs": 1, "--dir": 1, "--dev": 1, "--proc": 1, "--remount-ro": 1, "--ro-bind": 2, "--bind": 2, "--dev-bind": 2,
}

// read plans the steps and returns the program to become.
func (b *building) read(args []string) ([]string, error) {
	for len(args) > 0 {
		name := args[0]
		if name == "--" && len(args) > 1 && b.rooted {
			return args[1:], nil
		}
		n, known := parameters[name]
		if _, flag := spaceFlags[name]; flag {
			n, known = 0, true
		}
		if !known || len(args) <= n {
			return nil, fmt.Errorf("%s: not known to our own namespaces", name)
		}
		if err := b.argument(name, args[1:n+1]); err != nil {
			return nil, err
		}
		args = args[n+1:]
	}
	return nil, errors.New("no program, or no root")
}

// argument plans one argument.
func (b *building) argument(name string, with []string) error {
	then := func(f func() error) { b.steps = append(b.steps, f) }
	switch name {
	case "--perms":
		b.perms = with[0]
	case "--size":
		b.size = with[0]
	case "--cap-add":
		c, ok := map[string]uintptr{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_SETPCAP": unix.CAP_SETPCAP}[with[0]]
		if !ok {
			return fmt.Errorf("%s is not given to any part", with[0])
		}
		b.caps = append(b.caps, c)
	case "--hostname":
		then(func() error { return unix.Sethostname([]byte(with[0])) })
	case "--unshare-net":
		then(loopback)
	case "--tmpfs":
		options := "mode=" + or(b.perms, "0755") + ",size=" + or(b.size, strconv.Itoa(privateHome))
		b.perms, b.size = "", ""
		then(func() error { return mountTmp(with[0], options) })
	case "--dir":
		then(func() error { return os.MkdirAll(with[0], 0o755) })
	case "--dev":
		return b.dev(with[0])
	case "--proc":
		then(func() error {
			return wrap(with[0], unix.Mount("proc", with[0], "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
		})
	case "--remount-ro":
		then(func() error {
			return wrap(with[0], unix.MountSetattr(unix.AT_FDCWD, with[0], 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
		})
	case "--ro-bind", "--bind", "--dev-bind":
		return b.bind(name, with[0], with[1])
	}
	return nil
}

func or(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

func wrap(path string, err error) error {
	if err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// bind takes the tree at source and plans to put it at dest; the first is the
// root of all.
func (b *building) bind(how, source, dest string) error {
	tree, isDir, err := detach(how, source)
	if err != nil {
		return err
	}
	if !b.rooted {
		if dest != "/" {
			return fmt.Errorf("%s is bound before the root", dest)
		}
		b.rooted = true
		b.steps = append(b.steps, func() error { return enterRoot(tree) })
		return nil
	}
	b.steps = append(b.steps, func() error { return attach(tree, isDir, dest) })
	return nil
}

// detach takes a copy of the mounts at source, not attached anywhere, with the
// attributes of how.
func detach(how, source string) (tree int, isDir bool, err error) {
	var st unix.Stat_t
	if err := unix.Stat(source, &st); err != nil {
		return -1, false, wrap(source, err)
	}
	tree, err = unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, false, wrap(source, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if how != "--dev-bind" && source != "/dev" && !strings.HasPrefix(source, "/dev/") {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if how == "--ro-bind" {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	return tree, st.Mode&unix.S_IFMT == unix.S_IFDIR, wrap(source, err)
}

// enterRoot makes tree the root, and lets go of the old one.
func enterRoot(tree int) error {
	const base = "/tmp" // any directory: it is covered by the new root for a moment
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, base, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach the new root: %w", err)
	}
	if err := os.Chdir(base); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	return os.Chdir("/")
}

// attach puts tree at dest, which is made where it is not there.
func attach(tree int, isDir bool, dest string) error {
	if _, err := os.Lstat(dest); errors.Is(err, os.ErrNotExist) {
		dir := dest
		if !isDir {
			dir = filepath.Dir(dest)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if !isDir {
			f, err := os.OpenFile(dest, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			f.Close()
		}
	}
	defer unix.Close(tree)
	return wrap(dest, unix.MoveMount(tree, "", unix.AT_FDCWD, dest, unix.MOVE_MOUNT_F_EMPTY_PATH))
}

func mountTmp(dir, options string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return wrap(dir, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options))
}

// dev plans a /dev of its own: the devices of every program, pseudo terminals.
func (b *building) dev(dir string) error {
	b.steps = append(b.steps, func() error { return mountTmp(dir, "mode=0755,size=1m") })
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := b.bind("--dev-bind", "/dev/"+name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	b.steps = append(b.steps, func() error {
		for _, sub := range []string{"shm", "pts"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
				return err
			}
		}
		if err := mountTmp(filepath.Join(dir, "shm"), "mode=1777,size="+strconv.Itoa(privateHome)); err != nil {
			return err
		}
		pts := filepath.Join(dir, "pts")
		if err := unix.Mount("devpts", pts, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"); err != nil {
			return wrap(pts, err)
		}
		for link, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// loopback brings the loopback interface of a new network up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	return nil
}

//go:build linux

package attack

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// secret is the text that no command may bring out, in files, in the memory and
// the environment of others.
const secret = "correct-horse-battery-staple"

// own is the user that attacks run as where the test has a choice.
const own = 4242

// machine is a user's machine, all of it made by the test and thrown away.
type machine struct {
	dir, home, root, out, state, scratch string
	uid                                  int // who the files belong to, and who attacks without a sandbox
	program                              string
	victim                               *exec.Cmd // another program of the user
	terminal, keyboard                   *os.File  // a terminal, and its other side
	memory                               int       // of the machine's own program: a descriptor that reads the secret

	ports   map[string]string // network -> address that listens
	wait    time.Duration     // for what is on its way
	mu      sync.Mutex
	arrived strings.Builder // what came to any of them
}

// settle makes a machine whose files are uid's. It is made again where a test
// of another user goes on.
func settle(t testing.TB, uid int) *machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			break // not ours
		}
	}
	home := dir + "/home"
	m := &machine{dir: dir, home: home, root: home + "/work", out: home + "/other", state: home + "/.local/state/handrail", scratch: dir + "/scratch", uid: uid, ports: map[string]string{}}
	for _, d := range []string{home, m.root, m.out, m.scratch, home + "/.cache/tool"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.program = m.root + "/program"
	m.reset(t)
	m.listen(t)
	m.open(t)
	t.Cleanup(func() { m.end() })
	return m
}

// reset puts all files back as every attack finds them.
func (m *machine) reset(t testing.TB) {
	t.Helper()
	for _, d := range []string{m.root, m.out} {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(d, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range map[string]string{
		m.out + "/private": secret + "\n", m.out + "/kept": "kept\n", m.out + "/linked": "kept\n", m.root + "/.env": "KEY=kept\n",
		m.home + "/.ssh/id_ed25519": secret + "\n", m.home + "/.aws/credentials": secret + "\n", m.home + "/.bashrc": "kept\n",
		m.home + "/.cache/tool/entry": "kept\n",
		m.root + "/.git/config":       "[core]\n\trepositoryformatversion = 0\n", m.root + "/.git/HEAD": "ref: refs/heads/main\n",
		m.root + "/.git/objects/x": "", m.root + "/.git/refs/x": "", m.root + "/.git/hooks/sample": "", m.root + "/.vscode/settings.json": "{}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(m.out+"/linked", m.root+"/before"); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(programPath(t), m.program); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != m.uid {
		for _, d := range []string{m.home, m.scratch} {
			if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", m.uid, m.uid), d).CombinedOutput(); err != nil {
				t.Fatalf("chown: %v %s", err, out)
			}
		}
	}
	if m.memory != 0 { // inherited by everything that does not close it
		if _, err := unix.FcntlInt(uintptr(m.memory), unix.F_SETFD, 0); err != nil {
			t.Fatal(err)
		}
	}
	m.mu.Lock()
	m.arrived.Reset()
	m.mu.Unlock()
	if m.victim == nil || !alive(m.victim.Process.Pid) {
		m.victim = exec.Command(programPath(t), "victim", "hold")
		m.victim.Env = []string{"SECRET=" + secret}
		m.victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: credential(m.uid)}
		if err := m.victim.Start(); err != nil {
			t.Fatal(err)
		}
		go m.victim.Wait()
	}
}

// credential is how user uid starts a program; nil where that is us.
func credential(uid int) *syscall.Credential {
	if uid == os.Getuid() {
		return nil
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
}

// listen is what other programs of the user and the machine's network offer.
func (m *machine) listen(t testing.TB) {
	t.Helper()
	run := filepath.Join(m.dir, "run")
	if err := os.MkdirAll(run, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string][2]string{
		"tcp4": {"tcp4", "127.0.0.1:0"}, "tcp6": {"tcp6", "[::1]:0"},
		"docker": {"unix", run + "/docker.sock"}, "ssh-agent": {"unix", m.home + "/agent.sock"}, "bus": {"unix", run + "/bus"}, "workspace": {"unix", m.home + "/s.sock"},
		"abstract": {"unix", "@handrail" + strings.ReplaceAll(m.dir, "/", "-")},
	} {
		l, err := net.Listen(at[0], at[1])
		if err != nil && name == "tcp6" {
			continue // there is no IPv6 here
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		m.ports[name] = l.Addr().String()
		if at[0] == "unix" && at[1][0] == '/' {
			_ = os.Chmod(at[1], 0o777)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { m.arrive(c) }()
			}
		}()
	}
	for name, at := range map[string][2]string{"udp4": {"udp4", "127.0.0.1:0"}, "log": {"unixgram", run + "/log"}} {
		u, err := net.ListenPacket(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { u.Close() })
		m.ports[name] = u.LocalAddr().String()
		if at[0] == "unixgram" {
			_ = os.Chmod(at[1], 0o777)
		}
		go func() {
			b := make([]byte, 2048)
			for {
				n, _, err := u.ReadFrom(b)
				if err != nil {
					return
				}
				m.arrive(strings.NewReader(string(b[:n])))
			}
		}()
	}
}

// arrive keeps what came.
func (m *machine) arrive(r io.Reader) {
	b := make([]byte, 256)
	n, _ := r.Read(b)
	m.mu.Lock()
	fmt.Fprintf(&m.arrived, "[%s]", b[:n])
	m.mu.Unlock()
	if c, ok := r.(net.Conn); ok {
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}
}

// plug makes a terminal; the one before goes.
func (m *machine) plug(t testing.TB) {
	t.Helper()
	m.keyboard.Close()
	m.terminal.Close()
	var err error
	if m.keyboard, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(m.keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(m.keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if m.terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	raw, err := unix.IoctlGetTermios(int(m.terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	raw.Lflag &^= unix.ICANON | unix.ECHO
	if err := unix.IoctlSetTermios(int(m.terminal.Fd()), unix.TCSETS, raw); err != nil {
		t.Fatal(err)
	}
}

// open makes a descriptor of this program, not closed on exec, that reads the
// secret.
func (m *machine) open(t testing.TB) {
	t.Helper()
	var err error
	if m.memory, err = unix.MemfdCreate("server", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Pwrite(m.memory, []byte(secret), 0); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) end() {
	if m.victim != nil {
		_ = m.victim.Process.Kill()
	}
	m.keyboard.Close()
	m.terminal.Close()
	_ = unix.Close(m.memory)
}

// has reports whether the file has the text.
func has(file, text string) bool {
	b, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(b), text)
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// alive reports whether process pid runs.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

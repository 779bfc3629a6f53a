//go:build linux

package stories

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"handrail/internal/testkit"
)

// The Unix users of a server that root starts: none of them needs an entry.
const (
	frontUser = 23450
	aliceUser = 23451
	bobUser   = 23452
)

const users = `
state: DIR/lib/state
llm: {use: "off"}
http: {user: "23450:23450", auth: {tokens: true}, limits: {farewell: 20s}}
principals:
  alice: {workspace: DIR/work/alice, user: "23451:23451"}
  bob: {workspace: DIR/work/bob, user: "23452:23452"}
`

// usersOf makes the place of a server that root starts.
func usersOf(t *testing.T, config string) *team {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start processes of other users")
	}
	testkit.Require(t, "bwrap", "apt-get install bubblewrap")
	dir, err := os.MkdirTemp("/tmp", "handrail-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tm := &team{t: t, dir: dir, bin: filepath.Join(dir, "handrail"), client: &http.Client{Transport: &http.Transport{}}, root: true}
	t.Cleanup(tm.client.CloseIdleConnections)
	data, err := os.ReadFile(binary(t))
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(tm.bin, data, 0o755), os.MkdirAll(dir+"/home/.config/handrail", 0o755),
			os.WriteFile(dir+"/home/.config/handrail/config.yaml", []byte(strings.ReplaceAll(config, "DIR", dir)), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

// process is one of the machine, as /proc shows it.
type process struct {
	pid, parent int
	uid         string // real, effective, saved, of files
	line        string
	status      string
}

func processes() (all []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		status, err := os.ReadFile(dir + "/status")
		line, _ := os.ReadFile(dir + "/cmdline")
		if err != nil {
			continue
		}
		p := process{status: string(status), line: strings.ReplaceAll(string(line), "\x00", " ")}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(p.field("PPid"))
		p.uid = p.field("Uid")
		all = append(all, p)
	}
	return all
}

func (p process) field(name string) string {
	_, rest, _ := strings.Cut(p.status, "\n"+name+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// below are the processes that pid started, and these.
func below(pid int) (all []process) {
	every := processes()
	for want := []int{pid}; len(want) > 0; want = want[1:] {
		for _, p := range every {
			if p.parent == want[0] {
				all, want = append(all, p), append(want, p.pid)
			}
		}
	}
	return all
}

// part is the process of the server that is that part, of that principal.
func (tm *team) part(part, principal string) process {
	tm.t.Helper()
	for _, p := range below(tm.server.Process.Pid) {
		if strings.Contains(p.line, "--part "+part+" ") && (principal == "" || strings.Contains(p.line, "--principal "+principal+" ")) {
			return p
		}
	}
	tm.t.Fatalf("there is no %s %s: %s", part, principal, tm.said())
	return process{}
}

// gone waits until nothing runs of the server and its commands.
func (tm *team) gone(what string) {
	tm.t.Helper()
	var left []process
	eventually(tm.t, what+", and nothing of it is left", func() bool {
		left = slices.DeleteFunc(processes(), func(p process) bool {
			return !strings.Contains(p.line, tm.dir) && !slices.Contains([]int{frontUser, aliceUser, bobUser}, firstOf(p.uid)) || strings.HasPrefix(p.field("State"), "Z")
		})
		return len(left) == 0
	})
}

func firstOf(uids string) int {
	n, _ := strconv.Atoi(strings.SplitN(uids, "\t", 2)[0])
	return n
}

// as runs a command as a Unix user, outside of any sandbox.
func as(uid uint32, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// owners fails for what at or below dir belongs to another user.
func owners(t *testing.T, dir string, uid uint32) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		n++
		if st := info.Sys().(*syscall.Stat_t); st.Uid != uid || st.Gid != uid || info.Mode().Perm()&0o077 != 0 && info.Mode().IsDir() && path == dir {
			t.Errorf("%s belongs to %d:%d, mode %v", path, st.Uid, st.Gid, info.Mode())
		}
		return nil
	})
	if err != nil || n < 2 {
		t.Errorf("%s: %d paths, %v", dir, n, err)
	}
}

// slow begins a call and returns where its end is told.
func (c *caller) slow(command string) chan result {
	c.tm.t.Helper()
	done := make(chan result, 1)
	go func() {
		status, _, answer, err := (&caller{tm: c.tm, token: c.token, session: c.session, id: 1000}).post(context.Background(), "tools/call", map[string]any{"name": "safe_bash", "arguments": map[string]any{"command": command}})
		r := result{Reason: "no answer: " + strconv.Itoa(status)}
		if err == nil && status == 200 && answer != nil {
			r = read(c.tm.t, answer)
		}
		done <- r
	}()
	words := strings.Split(command, ";")
	eventually(c.tm.t, command+" runs", func() bool { return runs(strings.TrimSpace(words[0])) })
	return done
}

// again is the same place for another server.
func (tm *team) again(t *testing.T) *team {
	return &team{t: t, dir: tm.dir, bin: tm.bin, client: tm.client, root: tm.root}
}

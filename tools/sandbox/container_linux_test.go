package sandbox

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"handrail/internal/testkit"
)

func TestContainer(t *testing.T) {
	socket := testkit.Podman(t, testImage)
	for name, test := range map[string]func(*testing.T, string){
		"runs": containerRuns, "holds": containerHolds, "ends all": containerEndsAll, "limits": containerLimits, "proxy": containerProxy, "refuses": containerRefuses, "is gone": containerIsGone,
	} {
		t.Run(name, func(t *testing.T) { test(t, socket) })
	}
}

func containerRuns(t *testing.T, socket string) {
	p := harbour(t, socket)
	r := p.run(t, p.base(), `echo out; echo err >&2; pwd; touch made; cat; id -u; echo "$TMPDIR"; touch "$TMPDIR/x" ~/y /tmp/z && exit 7`)
	if r.Code != 7 || !strings.Contains(r.out, "out\n") || !strings.Contains(r.out, "err\n") || !strings.Contains(r.out, p.root+"\n") || !strings.Contains(r.out, "4242\n") || !strings.Contains(r.out, p.Scratch+"\n") || r.found != 0 {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(p.root, "made")); err != nil {
		t.Error(err)
	}
	if r := p.run(t, p.base(), `cat ~/y && kill -TERM $$`); r.Code != 143 || r.Signal != 15 {
		t.Errorf("by a signal, in the session's home: %+v", r)
	}
	if r := p.run(t, p.base(), `head -c 3000000 /dev/zero | tr '\0' x; exit 3`); r.Code != 3 || len(r.out) != 3000000 {
		t.Errorf("much output: %d, %d bytes", r.Code, len(r.out))
	}
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, ow, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := p.command(`read -r a; echo "got $a"; cat; echo end`, ow)
	c.Stdin = in
	proc, err := p.sb.Start(context.Background(), p.base(), c)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	ow.Close()
	io.WriteString(w, "one\ntwo\n")
	w.Close()
	if st := proc.Wait(); st.Code != 0 {
		t.Errorf("with input: %+v", st)
	}
	proc.End(0)
	if b, _ := io.ReadAll(out); string(b) != "got one\ntwo\nend\n" {
		t.Errorf("with input: %q", b)
	}
	if _, err := p.sb.Start(context.Background(), &Policy{Roots: p.Roots, Open: true}, p.command("true", nil)); err == nil {
		t.Error("a container gave the user's own rights")
	}
}

func containerHolds(t *testing.T, socket string) {
	p := harbour(t, socket)
	for name, text := range map[string]string{"other/private": "private text\n", "work/.env": "SECRET=1\n", "work/hidden": "hidden text\n", "work/.claude/settings.json": "{}\n"} {
		path := filepath.Join(p.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 && strings.HasPrefix(name, "work/") { // the command's own: modes are not what holds them
			for _, path := range []string{path, filepath.Dir(path)} {
				if err := os.Chown(path, 4242, 4242); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	git := exec.Command("git", "init", "-q", p.root)
	if os.Getuid() == 0 {
		git.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4242, Gid: 4242}}
	}
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if r := p.run(t, p.base(), `git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m one && git log --format=%s`); r.out != "one\n" {
		t.Fatalf("%+v", r)
	}
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	pol := p.base()
	pol.Secrets, pol.Hidden = []string{p.root + "/.env"}, []string{p.root + "/hidden"}
	for name, script := range map[string]string{
		"write outside":     `: > $OUT/written && echo BROKEN`,
		"read outside":      `cat $OUT/private && echo BROKEN`,
		"through a link":    `ln -sf $OUT/private l && cat l && echo BROKEN`,
		"hidden":            `grep text hidden && echo BROKEN`,
		"move hidden":       `mv hidden seen && grep text seen && echo BROKEN`,
		"secret":            `echo x >> .env && echo BROKEN`,
		"loopback":          `: <> /dev/tcp/127.0.0.1/` + port + ` && echo BROKEN`,
		"hooks":             `: > .git/hooks/post-commit && echo BROKEN`,
		"git config":        `git config core.fsmonitor evil && echo BROKEN`,
		"git aside":         `mv .git gitaside && echo BROKEN`,
		"agent's settings":  `echo x >> .claude/settings.json && echo BROKEN`,
		"settings aside":    `mv .claude c && echo BROKEN`,
		"remove settings":   `rm -f .claude/settings.json && echo BROKEN`,
		"root file system":  `: > /usr/bin/x && echo BROKEN; : > /etc/x && echo BROKEN`,
		"capabilities":      `grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 && echo BROKEN`,
		"privileges":        `grep -q 'NoNewPrivs:.1' /proc/self/status || echo BROKEN`,
		"user 0":            `[ $(id -u) = 0 ] && echo BROKEN`,
		"engine":            `ls /run/docker.sock /var/run/docker.sock /run/podman ` + p.Engine + ` && echo BROKEN`,
		"host's processes":  `[ $(ls -d /proc/[0-9]* | wc -l) -gt 8 ] && echo BROKEN`,
		"its first process": `kill -9 1 && echo BROKEN; ls /proc/1/fd && echo BROKEN; ls -l /proc/1/exe && echo BROKEN`,
		"mounts":            `mount -t tmpfs t /tmp && echo BROKEN; umount .git/hooks && echo BROKEN; unshare -rm true && echo BROKEN`,
		"state":             `ls ` + p.State + `/* && echo BROKEN`,
		"a link to outside": `ln $OUT/private hard && echo BROKEN`,
	} {
		if r := p.run(t, pol, script); strings.Contains(r.out, "BROKEN") {
			t.Errorf("%s: %s", name, r.out)
		}
	}
	if r := p.run(t, pol, `git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m two && git log --format=%s`); r.out != "two\none\n" {
		t.Errorf("git: %q", r.out)
	}
	// What is named is given, and no more.
	more := p.base()
	more.Read, more.Allowed = []string{p.outside}, []string{p.root + "/.claude"}
	if r := p.run(t, more, `cat $OUT/private; echo x >> .claude/settings.json && echo allowed; : > $OUT/written && echo BROKEN`); !strings.HasPrefix(r.out, "private text\nallowed\n") || strings.Contains(r.out, "BROKEN") {
		t.Errorf("named: %q", r.out)
	}
	for _, path := range []string{"/", "/var/run", p.State, filepath.Dir(p.Engine), "/proc/1"} {
		bad := p.base()
		bad.Write = []string{path}
		if _, err := p.sb.Start(context.Background(), bad, p.command("true", nil)); err == nil {
			t.Errorf("%s was given to a container", path)
		}
	}
	if _, err := os.Stat(filepath.Join(p.outside, "written")); err == nil {
		t.Error("written outside")
	}
}

// TestContainerMounts: what is mounted elsewhere than it was asked for is seen.
func TestContainerMounts(t *testing.T) {
	s := &spec{HostConfig: hostConfig{Tmpfs: map[string]string{"/tmp": ""}, Mounts: []mount{
		{"bind", "/home/me/w s", "/home/me/w s", false}, {"bind", "/home/me/w s/.git", "/home/me/w s/.git", false}, {"bind", "/dev/null", "/home/me/w s/hidden", true}}}}
	line := func(root, at string) string { return "1 2 254:0 " + root + " " + at + " rw - ext4 /dev/vda rw\n" }
	good := line("/", "/tmp") + line(`/me/w\040s`, `/home/me/w\040s`) + line(`/me/w\040s/.git`, `/home/me/w\040s/.git`) + line("/null", `/home/me/w\040s/hidden`)
	if err := s.verify(good); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"a link followed":  strings.Replace(good, `/me/w\040s/.git `, "/etc ", 1),
		"another device":   strings.Replace(good, `254:0 /me/w\040s/.git `, `254:1 /me/w\040s/.git `, 1),
		"hidden elsewhere": strings.Replace(good, "s/hidden", "s/other", 1),
		"no tmp":           strings.Replace(good, "/tmp", "/tmq", 1),
		"nothing":          "",
	} {
		if s.verify(bad) == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// containerEndsAll: nothing of a call outlives End, however it hides, and
// the next call works.
func containerEndsAll(t *testing.T, socket string) {
	p := harbour(t, socket)
	for name, script := range map[string]string{
		"background": `sleep 600 & echo started`,
		"daemon":     `(trap '' TERM HUP; exec 0<&- 1>&- 2>&-; while :; do echo x >> beat; sleep 0.01; done) & disown; echo started`,
		"twice":      `(( (trap '' TERM; while :; do echo x >> beat; sleep 0.01; done) </dev/null >/dev/null 2>&1 &) &); echo started`,
		"killer":     `(trap '' TERM; while :; do kill -9 -1 2>/dev/null; echo x >> beat; done) >/dev/null 2>&1 & echo started`,
	} {
		proc, out := p.bash(t, p.base(), script)
		proc.Wait()
		proc.End(50 * time.Millisecond)
		if got := out(); name != "killer" && got != "started\n" {
			t.Errorf("%s: %q", name, got)
		}
		size := func() int64 {
			st, err := os.Stat(p.root + "/beat")
			if err != nil {
				return 0
			}
			return st.Size()
		}
		before := size()
		time.Sleep(100 * time.Millisecond)
		if size() != before {
			t.Errorf("%s: it still writes", name)
		}
	}
	proc, out := p.bash(t, p.base(), `sleep 600`)
	if n := proc.End(0); n != 0 {
		t.Errorf("%d others", n)
	}
	if st := proc.Wait(); st.Code == 0 {
		t.Errorf("ended: %+v", st)
	}
	out()
	if r := p.run(t, p.base(), `sleep 600 & sleep 600 & echo alive`); r.out != "alive\n" || r.found != 2 {
		t.Errorf("%+v", r)
	}
}

func containerLimits(t *testing.T, socket string) {
	p := harbour(t, socket)
	pol := p.base()
	pol.Limits = Limits{Processes: 40, Memory: 64 << 20, FileSize: 1 << 20}
	if r := p.run(t, pol, `for i in {1..100}; do sleep 5 & done; echo end`); !strings.Contains(r.out, "fork") {
		t.Errorf("processes: %.200q", r.out)
	}
	if r := p.run(t, pol, `x=x; while :; do x=$x$x; done`); r.Code != 137 || r.Exceeded != "memory" {
		t.Errorf("memory: %+v", r.Status)
	}
	if r := p.run(t, pol, `head -c 2000000 /dev/zero > big`); r.Code == 0 {
		t.Errorf("file size: %+v", r)
	}
}

// containerProxy: with hosts by name the listener stands in the container's
// network, and is the only way out.
func containerProxy(t *testing.T, socket string) {
	testkit.Require(t, nsenterPath, "apt-get install util-linux")
	p := harbour(t, socket)
	pol := p.base()
	pol.Network = Domains
	pol.Proxy = func(l net.Listener) {
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "by proxy: "+r.RequestURI) }))
	}
	r := p.run(t, pol, `a=${http_proxy#http://}; exec 3<>/dev/tcp/${a/:/\/}; printf 'GET http://a.example/ HTTP/1.0\r\n\r\n' >&3; cat <&3; : </dev/tcp/1.1.1.1/80 && echo BROKEN`)
	if !strings.Contains(r.out, "by proxy: http://a.example/") || strings.Contains(r.out, "BROKEN") {
		t.Errorf("%q", r.out)
	}
	pol.Proxy = nil
	if _, err := p.sb.Start(context.Background(), pol, p.command("true", nil)); err == nil {
		t.Error("hosts by name without a proxy")
	}
}

// containerRefuses: what cannot be held is not opened.
func containerRefuses(t *testing.T, socket string) {
	p := harbour(t, socket)
	for name, change := range map[string]func(*Settings){
		"no image":      func(s *Settings) { s.Image = "" },
		"absent image":  func(s *Settings) { s.Image = "localhost/absent:1" },
		"absent engine": func(s *Settings) { s.Engine = s.State + "/no.sock" },
		"user 0":        func(s *Settings) { s.Roots = []string{"/usr"} },
	} {
		s := p.Settings
		change(&s)
		sb, err := Open(s)
		if err == nil {
			sb.Close()
			if name != "user 0" || os.Getuid() == 0 {
				t.Errorf("%s: opened", name)
			}
			continue
		}
		t.Logf("%s: %v", name, err)
	}
}

func BenchmarkContainer(b *testing.B) {
	p := harbour(b, testkit.Podman(b, testImage))
	for b.Loop() {
		if r := p.run(b, p.base(), "true"); r.Code != 0 {
			b.Fatalf("%+v", r)
		}
	}
}

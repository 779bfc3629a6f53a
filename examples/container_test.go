//go:build linux

package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"

	"handrail/internal/testkit"
)

// patience is how long is waited for what comes soon.
const patience = 60 * time.Second

// The image is built as the Dockerfile says, run as compose.yaml says with the
// example's configuration, and asked by a client over HTTP: commands run behind
// bubblewrap in it, without a capability of the engine's. Both images that it is
// made of are Debian's packages here, the toolchain and its caches this
// machine's, so nothing is pulled.
func TestImage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the client enters the network namespace of the container, which only root can")
	}
	e := testkit.NewEngine(t)
	image := build(t, e)
	// The last ones are for machines without systemd, and where limits cannot be raised.
	run := append([]string{"run", "-d", "--name", "handrail", "--network", "none", "--health-interval", "disable",
		"--ulimit", limit(t, "nofile", unix.RLIMIT_NOFILE, 1<<20), "--ulimit", limit(t, "nproc", unix.RLIMIT_NPROC, 1<<15)}, asComposed(t)...)
	e.Must(append(run, image)...)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := e.Command("logs", "handrail").CombinedOutput()
			t.Logf("the container said: %s", out)
		}
		_ = e.Command("rm", "-f", "-t", "5", "handrail").Run()
	})
	pid, err := strconv.Atoi(e.Must("inspect", "--format", "{{.State.Pid}}", "handrail"))
	if err != nil || pid == 0 {
		t.Fatal(pid, err)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
		return dialIn(pid, network, address)
	}}}
	const url = "http://127.0.0.1:7345"
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		res, err := c.Get(url + "/readyz")
		if err == nil {
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if string(body) == "ready\n" {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the server is not ready: %v", err)
		}
	}
	e.Must("healthcheck", "run", "handrail") // as the Dockerfile says
	if user := e.Must("exec", "handrail", "id", "-un"); user != "handrail" {
		t.Errorf("it runs as %s", user)
	}
	token := e.Must("exec", "handrail", "handrail", "token", "create", "--config", "/etc/handrail/server.yaml", "--principal", "alice", "laptop")
	call := session(t, c, url+"/mcp", token)

	r := call("safe_write", map[string]any{"path": "notes/today.txt", "content": "kept in a volume\n"})
	if r.Verdict != "allow" {
		t.Errorf("safe_write: %+v", r)
	}
	r = call("safe_bash", map[string]any{"command": "cat notes/today.txt; pwd; grep -h ^CapEff /proc/self/status; find /var/lib/handrail/state; true"})
	if r.Verdict != "allow" || r.Sandbox.Tier != "bwrap" || !strings.HasPrefix(r.Stdout, "kept in a volume\n/srv/handrail/alice\nCapEff:\t0000000000000000\n") || strings.Contains(r.Stdout, "audit.jsonl") {
		t.Errorf("safe_bash: %+v", r)
	}
	if out := e.Must("exec", "handrail", "cat", "/srv/handrail/alice/notes/today.txt"); out != "kept in a volume" {
		t.Errorf("in the volume: %s", out)
	}
	// SIGTERM lets a call end, and then the server does.
	ended := make(chan result, 1)
	go func() {
		ended <- call("safe_bash", map[string]any{"command": "touch begun; sleep 3; echo finished"})
	}()
	for end := time.Now().Add(patience); e.Command("exec", "handrail", "test", "-e", "/srv/handrail/alice/begun").Run() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command does not begin")
		}
	}
	e.Must("stop", "-t", "60", "handrail")
	if r := <-ended; r.Stdout != "finished\n" {
		t.Errorf("the call that ran: %+v", r)
	}
	if code := e.Must("inspect", "--format", "{{.State.ExitCode}}", "handrail"); code != "0" {
		t.Errorf("the server ended with %s", code)
	}
}

// build builds the image of the Dockerfile.
func build(t *testing.T, e *testkit.Engine) string {
	t.Helper()
	env := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if out, err := exec.Command("go", "mod", "download").CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	root, cache, modules := env("GOROOT"), env("GOCACHE"), env("GOMODCACHE")
	// What apt-get would bring is there, so it has nothing to fetch.
	e.Import("localhost/base", "apt", "bash,bubblewrap,ca-certificates,curl,git,make,passwd",
		"ENV GOCACHE=/go-cache", "ENV GOMODCACHE=/go-modules", "ENV PATH="+root+"/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	empty := filepath.Join(t.TempDir(), "sources.list")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := e.Command("build", "-q", "-f", "examples/hosting/Dockerfile", "--network", "none", "--format", "docker",
		"--build-arg", "GO_IMAGE=localhost/base", "--build-arg", "BASE_IMAGE=localhost/base", "-t", "localhost/handrail",
		"-v", empty+":/etc/apt/sources.list:ro", "-v", root+":"+root+":ro", "-v", cache+":/go-cache", "-v", modules+":/go-modules:O", ".")
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the image is not built: %v\n%s", err, out)
	}
	return "localhost/handrail"
}

// asComposed are the options of podman that stand for what compose.yaml says of
// the server.
func asComposed(t *testing.T) (options []string) {
	t.Helper()
	var c struct {
		Services struct {
			Handrail struct {
				Volumes     []string
				Environment map[string]string
				CapDrop     []string `yaml:"cap_drop"`
				SecurityOpt []string `yaml:"security_opt"`
				PidsLimit   string   `yaml:"pids_limit"`
				MemLimit    string   `yaml:"mem_limit"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(textOf(t, "hosting/compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	s := c.Services.Handrail
	for _, v := range s.Volumes {
		if file, ok := strings.CutPrefix(v, "./"); ok {
			at, err := filepath.Abs("hosting")
			if err != nil {
				t.Fatal(err)
			}
			v = filepath.Join(at, file)
		}
		options = append(options, "-v", v)
	}
	for name, value := range s.Environment {
		options = append(options, "-e", name+"="+value)
	}
	for _, name := range s.CapDrop {
		options = append(options, "--cap-drop", name)
	}
	for _, o := range s.SecurityOpt {
		if o == "systempaths=unconfined" {
			o = "unmask=ALL" // Podman's word for it
		}
		options = append(options, "--security-opt", o)
	}
	if len(s.Volumes) < 3 || len(s.CapDrop) == 0 || len(s.SecurityOpt) < 4 || s.PidsLimit == "" || s.MemLimit == "" {
		t.Fatalf("compose.yaml says less than it did: %+v", s)
	}
	return append(options, "--pids-limit", s.PidsLimit, "--memory", s.MemLimit)
}

// dialIn connects in the network namespace of a process.
func dialIn(pid int, network, address string) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		var f *os.File
		if f, err = os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net"); err != nil {
			return
		}
		defer f.Close()
		if err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err == nil {
			c, err = net.DialTimeout(network, address, patience)
		}
	}()
	<-done
	return c, err
}

// limit is a limit of this process, at most so high, as an option for a container.
func limit(t *testing.T, name string, which int, most uint64) string {
	t.Helper()
	var l unix.Rlimit
	if err := unix.Getrlimit(which, &l); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s=%d:%d", name, min(l.Max, most), min(l.Max, most))
}

// result is what is looked at of a call's.
type result struct {
	Verdict, Reason, Stdout, Stderr string
	Sandbox                         struct{ Tier string }
}

// session opens a session and returns what calls its tools.
func session(t *testing.T, over *http.Client, url, token string) func(tool string, arguments map[string]any) result {
	t.Helper()
	tr, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(over), transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(tr)
	var in mcp.InitializeRequest
	in.Params.ProtocolVersion, in.Params.ClientInfo = mcp.LATEST_PROTOCOL_VERSION, mcp.Implementation{Name: "example", Version: "1"}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func(tool string, arguments map[string]any) (r result) {
		var req mcp.CallToolRequest
		req.Params.Name, req.Params.Arguments = tool, arguments
		res, err := c.CallTool(context.Background(), req)
		if err == nil {
			var b []byte
			if b, err = json.Marshal(res.StructuredContent); err == nil {
				err = json.Unmarshal(b, &r)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", tool, err)
		}
		return r
	}
}

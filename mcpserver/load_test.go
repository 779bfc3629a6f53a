package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"handrail/internal/config"
	"handrail/internal/testkit"
	"handrail/mcpserver"
	"handrail/mcpserver/auth"
)

var (
	loadFor      = flag.Duration("load", 20*time.Second, "how long TestLoad runs; the whole of it is `.ci/long load`")
	loadSessions = flag.Int("load-sessions", 100, "how many clients TestLoad connects")
	loadCommands = flag.Int("load-commands", 50, "how many commands run at once in TestLoad")
	loadTier     = flag.String("load-tier", "auto", "the sandbox of TestLoad")
)

func init() { mcpserver.Loaded = loaded }

// figures are what the server tells of itself.
type figures struct {
	Goroutines, Descriptors, Sessions, Processes int
	Heap, Resident                               uint64  // bytes, the heap after a collection
	Decisions                                    int     // of calls that were denied, since the last figures
	Median, P99                                  float64 // ms from such a call's arrival to its answer
}

// loaded is the server that TestLoad loads, as a process of its own: real policy,
// real sandbox, ten principals below dir. Each line of input asks for figures.
func loaded(dir string) error {
	var mu sync.Mutex
	var took []time.Duration
	h := &mcpserver.Host{Farewell: 5 * time.Second, Authenticate: func(r *http.Request) (auth.Caller, error) {
		name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if name == "" {
			return auth.Caller{}, errors.New("nobody")
		}
		return auth.Caller{Principal: name}, nil
	}}
	h.Open = func(principal string) (*mcpserver.Tenant, error) {
		c, err := config.Load("", []string{filepath.Join(dir, filepath.Base(principal))})
		if err != nil {
			return nil, err
		}
		c.State = filepath.Join(dir, "state", filepath.Base(principal))
		sys, err := c.Open()
		if err != nil {
			return nil, err
		}
		s, err := mcpserver.New(mcpserver.Options{Toolbox: sys.Toolbox, Roots: c.Roots, Principal: principal, Homes: []string{"/nonexistent"}})
		if err != nil {
			return nil, err
		}
		s.Watch("safe_bash", func(req mcp.CallToolRequest, d time.Duration) {
			if strings.Contains(req.GetString("command", ""), "rm -rf /") {
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
		return &mcpserver.Tenant{Server: s, Close: sys.Close}, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			open, _ := os.ReadDir("/proc/self/fd")
			f := figures{Goroutines: runtime.NumGoroutine(), Descriptors: len(open), Sessions: h.Sessions(), Heap: m.HeapAlloc,
				Resident: residentOf(os.Getpid()), Processes: children(os.Getpid())}
			mu.Lock()
			slices.Sort(took)
			if f.Decisions = len(took); f.Decisions > 0 {
				ms := func(i int) float64 { return float64(took[i].Microseconds()) / 1000 }
				f.Median, f.P99 = ms(len(took)/2), ms(len(took)*99/100)
			}
			took = took[:0]
			mu.Unlock()
			b, _ := json.Marshal(f)
			fmt.Println(string(b))
		}
	}()
	return h.Serve(ctx, l, nil)
}

func residentOf(pid int) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages, _ := strconv.ParseUint(fields[1], 10, 64)
		return pages * uint64(os.Getpagesize())
	}
	return 0
}

func children(pid int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	n := 0
	for _, f := range lists {
		text, _ := os.ReadFile(f)
		n += len(strings.Fields(string(text)))
	}
	return n
}

// load is a server under load and what asks it.
type load struct {
	*testing.T
	url    string
	ask    io.Writer
	told   *bufio.Reader
	origin time.Time
}

// figures asks for figures; with a word they are logged.
func (l *load) figures(when string) (f figures) {
	l.Helper()
	fmt.Fprintln(l.ask)
	line, err := l.told.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &f)
	}
	if err != nil {
		l.Fatalf("the server does not tell: %v", err)
	}
	if when == "" {
		return f
	}
	const mb = 1 << 20
	l.Logf("%6.0fs %-12s %8d %10d %11d %9d %7.1f %8.1f %9d %7.2f %6.2f", time.Since(l.origin).Seconds(), when, f.Sessions, f.Goroutines,
		f.Descriptors, f.Processes, float64(f.Heap)/mb, float64(f.Resident)/mb, f.Decisions, f.Median, f.P99)
	return f
}

// connect opens one session; the odd ones are on SSE.
func (l *load) connect(ctx context.Context, i int) *client.Client {
	headers := map[string]string{"Authorization": fmt.Sprintf("Bearer p%d", i%10)}
	var tr transport.Interface
	var err error
	if i%2 == 1 {
		tr, err = transport.NewSSE(l.url+"/sse", transport.WithHeaders(headers))
	} else {
		//lint:ignore SA1019 the older era, with its standing stream, is half of the load
		tr, err = transport.NewStreamableHTTP(l.url+"/mcp", transport.WithHTTPHeaders(headers), transport.WithContinuousListening())
	}
	if err != nil {
		l.Fatal(err)
	}
	//lint:ignore SA1019 sessions are of the older era
	c := client.NewClient(tr, client.WithLegacyProtocolOnly())
	if err := c.Start(ctx); err != nil {
		l.Fatal(err)
	}
	var in mcp.InitializeRequest
	in.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	in.Params.ClientInfo = mcp.Implementation{Name: "load", Version: "1"}
	if _, err := c.Initialize(ctx, in); err != nil {
		l.Fatal(err)
	}
	return c
}

// leave ends a session.
func (l *load) leave(i int, c *client.Client) {
	id := c.GetSessionId()
	if err := c.Close(); err != nil {
		l.Error(err)
	}
	if i%2 == 1 {
		return
	}
	// The library's client leaves streamable HTTP without a word.
	r, err := http.NewRequest(http.MethodDelete, l.url+"/mcp", nil)
	if err != nil {
		l.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {fmt.Sprintf("Bearer p%d", i%10)}, "Mcp-Session-Id": {id}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		l.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		l.Errorf("the end of a session: %s", res.Status)
	}
}

// Many sessions and commands at once leave nothing behind, and decisions stay
// fast. Nine commands of ten sleep, the tenth builds something; all are nice.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	testkit.Require(t, "gcc", "apt-get install gcc")
	if *loadTier == "auto" {
		testkit.Require(t, "bwrap", "apt-get install bubblewrap")
	}
	l := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range 20 { // each principal's server opens, with what stays open
		l.leave(i, l.connect(ctx, i))
	}
	mcpserver.Until(t, "the end of these", func() bool { return l.figures("").Sessions == 0 })
	first := l.figures("opened")
	clients := make([]*client.Client, *loadSessions)
	for i := range clients {
		clients[i] = l.connect(ctx, i)
	}
	mcpserver.Until(t, "all sessions", func() bool { return l.figures("").Sessions == *loadSessions })

	l.figures("connected")
	var ran, failed atomic.Int64
	var wrong sync.Map
	by := func(c *client.Client, command string, denied bool) {
		var req mcp.CallToolRequest
		req.Params.Name, req.Params.Arguments = "safe_bash", map[string]any{"command": command}
		r, err := c.CallTool(ctx, req)
		switch {
		case err != nil:
			failed.Add(1)
			wrong.Store(err.Error(), true)
		case r.IsError != denied:
			failed.Add(1)
			b, _ := json.Marshal(r.Content)
			wrong.Store(string(b), true)
		default:
			ran.Add(1)
		}
	}
	call := func(command string, denied bool) { by(clients[rand.IntN(len(clients))], command, denied) }
	for _, c := range clients { // each session opens its sandbox
		by(c, "true", false)
	}
	l.figures("all called")
	work := func(d time.Duration) {
		var wg sync.WaitGroup
		end := time.Now().Add(d)
		for range *loadCommands {
			wg.Go(func() {
				for time.Now().Before(end) {
					if rand.IntN(10) == 0 {
						call("nice -n 10 gcc -O1 -c -o /dev/null hello.c", false)
					} else {
						call("nice -n 10 sleep 1; echo done", false)
					}
				}
			})
		}
		wg.Go(func() {
			for time.Now().Before(end) {
				call("rm -rf /", true)
				time.Sleep(50 * time.Millisecond)
			}
		})
		wg.Wait()
	}
	work(*loadFor / 5)
	warm := l.figures("warm")
	worst := 0.0
	var last figures
	for range 4 {
		work(*loadFor / 5)
		last = l.figures("at rest")
		worst = max(worst, last.P99)
	}
	t.Logf("%d calls, %d failed, decisions p99 at worst %.2f ms", ran.Load(), failed.Load(), worst)
	wrong.Range(func(k, _ any) bool { t.Logf("failed: %.500s", k); return true })
	if failed.Load() > 0 {
		t.Errorf("%d calls failed", failed.Load())
	}
	level(t, "goroutines", warm.Goroutines, last.Goroutines, 50)
	level(t, "descriptors", warm.Descriptors, last.Descriptors, 50)
	level(t, "MB of heap", int(warm.Heap>>20), int(last.Heap>>20), 8)
	for i, c := range clients {
		l.leave(i, c)
	}
	http.DefaultClient.CloseIdleConnections()
	mcpserver.Until(t, "the end of all sessions", func() bool {
		f := l.figures("")
		return f.Sessions == 0 && f.Goroutines < first.Goroutines+20 && f.Processes <= first.Processes
	})
	gone := l.figures("gone")
	level(t, "goroutines without clients", first.Goroutines, gone.Goroutines, 20)
	level(t, "descriptors without clients", first.Descriptors, gone.Descriptors, 20)
	level(t, "processes without clients", first.Processes, gone.Processes, 0)
}

// level reports what has grown.
func level(t *testing.T, what string, before, after, slack int) {
	t.Helper()
	if after > before+before/10+slack {
		t.Errorf("%s grew from %d to %d", what, before, after)
	}
}

// start starts the server with ten workspaces.
func start(t *testing.T) *load {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		root := filepath.Join(dir, fmt.Sprintf("p%d", i))
		if err := errors.Join(os.MkdirAll(root, 0o755), os.WriteFile(filepath.Join(root, "hello.c"), []byte("int main(void) { return 0; }\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home", ".config", "handrail")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "config.yaml"),
		[]byte("sandbox: {tier: "+*loadTier+"}\nllm: {use: off}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), mcpserver.AsLoaded+"="+dir, "HOME="+filepath.Join(dir, "home"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(2 * mcpserver.Patience):
			t.Error("the server does not end")
			_ = cmd.Process.Kill()
		}
	})
	l := &load{T: t, ask: in, told: bufio.NewReader(out), origin: time.Now()}
	url, err := l.told.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	l.url = strings.TrimSpace(url)
	t.Logf("%7s %-12s %8s %10s %11s %9s %7s %8s %9s %7s %6s", "", "", "sessions", "goroutines", "descriptors", "processes", "heap/MB", "res/MB", "decisions", "med/ms", "p99/ms")
	return l
}

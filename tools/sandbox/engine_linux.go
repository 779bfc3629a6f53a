package sandbox

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// engine is what makes containers: Docker, or Podman in Docker's language. It
// is spoken to by its Unix socket, without a program in between. Source: Docker
// Engine API 1.41, which both understand.
type engine struct {
	tier   Tier
	socket string
}

// apiTime bounds one request that does not stream.
const apiTime = 30 * time.Second

// openEngine finds the engine of tier and asks whether it is there. The socket
// must be root's or ours: who answers there runs our commands.
func openEngine(tier Tier, socket string) (*engine, error) {
	tried := []string{socket}
	if socket == "" {
		tried = usualSockets(tier)
	}
	for _, path := range tried {
		st, err := os.Stat(path)
		if err != nil {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); !ok || st.Mode()&os.ModeSocket == 0 || sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
			return nil, fmt.Errorf("%s is no socket of root's or yours", path)
		}
		e := &engine{tier: tier, socket: path}
		if err := e.call(context.Background(), "GET", "/_ping", nil, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return e, nil
	}
	how := "apt-get install docker.io, and add yourself to the group docker"
	if tier == Podman {
		how = "apt-get install podman, then: systemctl --user enable --now podman.socket"
	}
	return nil, fmt.Errorf("nothing listens at %s: %s", strings.Join(tried, " or "), how)
}

// usualSockets are where engines listen. DOCKER_HOST has no say: the environment may
// be a project's.
func usualSockets(tier Tier) []string {
	if tier == Docker {
		return []string{"/var/run/docker.sock"}
	}
	return []string{fmt.Sprintf("/run/user/%d/podman/podman.sock", os.Geteuid()), "/run/podman/podman.sock"}
}

func (e *engine) dial(ctx context.Context) (*net.UnixConn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// failure is an answer of the engine that is an error.
type failure struct {
	code    int
	message string
}

func (f *failure) Error() string { return f.message }

// call sends in as JSON, if it is not nil, and reads the answer into out. Every
// request has a connection of its own: an engine closes those that it does not
// hear of (Podman after ten seconds), and a request that is then on its way is
// lost, or heard and not answered. On a Unix socket a new one costs nothing.
func (e *engine) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	conn, err := e.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	got, err := request(conn, method, path, "HTTP/1.0", body)
	switch {
	case err != nil:
	case got.code >= 400:
		return got.refusal()
	case out == nil:
		_, err = io.Copy(io.Discard, got.body)
	default:
		err = json.NewDecoder(got.body).Decode(out)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// stream starts the exec id and returns its connection: its input is written to
// it as it is, its output comes in frames (see demultiplex).
func (e *engine) stream(ctx context.Context, id string) (*net.UnixConn, io.Reader, error) {
	conn, err := e.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in, err := upgrade(conn, id)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, nil, errors.Join(ctx.Err(), err)
	}
	return conn, in, nil
}

// upgrade asks for the exec on conn, which then is its stream.
func upgrade(conn net.Conn, id string) (io.Reader, error) {
	const body = `{"Detach":false,"Tty":false}`
	if err := conn.SetDeadline(time.Now().Add(apiTime)); err != nil {
		return nil, err
	}
	got, err := request(conn, "POST", "/exec/"+id+"/start", "HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp", []byte(body))
	if err != nil {
		return nil, err
	}
	if got.code != 200 && got.code != 101 {
		return nil, got.refusal()
	}
	return got.body, conn.SetDeadline(time.Time{})
}

// demultiplex copies the frames of in to what belongs to them: a byte that says
// which stream, three of zero, the length in four, big endian, the bytes.
func demultiplex(in io.Reader, stdout, stderr io.Writer) error {
	var head [8]byte
	for {
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		to := stdout
		if head[0] == 2 {
			to = stderr
		} else if head[0] > 2 {
			return fmt.Errorf("a frame of stream %d", head[0])
		}
		n := int64(binary.BigEndian.Uint32(head[4:]))
		if done, err := io.CopyN(to, in, n); err != nil {
			if _, err := io.CopyN(io.Discard, in, n-done); err != nil { // nobody reads it: the command goes on, as by a full pipe it would not
				return err
			}
		}
	}
}

// left counts the processes of a container beside its first one, as they are
// seen from outside.
func (e *engine) left(ctx context.Context, id string) (int, error) {
	var seen struct{ Processes [][]string }
	path := "/containers/" + id + "/top"
	if e.tier == Podman { // in Docker's language it runs a program of the image
		path = "/libpod/containers/" + id + "/top?stream=false&ps_args=pid"
	}
	if err := e.call(ctx, "GET", path, nil, &seen); err != nil {
		return 0, err
	}
	seen.Processes = slices.DeleteFunc(seen.Processes, func(p []string) bool { return len(p) == 0 })
	if len(seen.Processes) == 0 {
		return 0, errors.New("the container has no process")
	}
	return len(seen.Processes) - 1, nil
}

// group finds the control group of a container, or is nil. The engine does not
// tell which limit was hit by what runs beside a container's first process.
func (e *engine) group(id string) *group {
	var seen struct{ State struct{ Pid int } }
	if err := e.call(context.Background(), "GET", "/containers/"+id+"/json", nil, &seen); err != nil || seen.State.Pid == 0 {
		return nil
	}
	mounts, err := cgroupMounts()
	if err != nil {
		return nil
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", seen.State.Pid))
	paths := map[string]string{}
	for line := range strings.Lines(string(b)) { // "ID:controllers:path"
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for name := range strings.SplitSeq(cmp.Or(f[1], "2"), ",") {
				if top, ok := mounts[name]; ok {
					paths[name] = filepath.Join(top, f[2])
				}
			}
		}
	}
	if paths["pids"] != "" && paths["memory"] != "" {
		return &group{version: 1, dirs: []string{paths["pids"], paths["memory"]}}
	}
	return &group{version: 2, dirs: []string{paths["2"]}}
}

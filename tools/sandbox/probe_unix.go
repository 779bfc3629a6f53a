//go:build linux || darwin

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// probeScript does what must succeed, then what must not. Its arguments: the
// file to write, the secret to read, the port to reach.
const probeScript = `echo works
: > "$1" && echo wrote
cat < "$2"
: <> "/dev/tcp/127.0.0.1/$3" && echo connected
sleep 600 &
true`

// probeTime bounds a probe: what takes longer does not work.
const probeTime = 20 * time.Second

// probe runs a real command in sb and checks from outside, with controls that
// stand where the user's own files do, that what it says of itself holds.
func probe(sb Sandbox, s Settings) error {
	dir, err := os.MkdirTemp(s.State, "probe-")
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer os.RemoveAll(dir)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("readable\n"), 0o600); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	host, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer host.Close()
	_, port, _ := net.SplitHostPort(host.Addr().String())
	written := filepath.Join(dir, "written")
	out, err := probed(sb, s, written, secret, port)
	if err != nil {
		return err
	}
	if !strings.Contains(out, "works\n") {
		return fmt.Errorf("a command does not run in it: %s", strings.TrimSpace(out))
	}
	e := sb.Enforcement()
	var fails []error
	if _, err := os.Lstat(written); e.Writes && err == nil {
		fails = append(fails, errors.New("a command wrote outside of the workspace"))
	}
	if e.Reads && strings.Contains(out, "readable\n") {
		fails = append(fails, errors.New("a command read a private file"))
	}
	if e.Network && strings.Contains(out, "connected\n") {
		fails = append(fails, errors.New("a command reached the host's network"))
	}
	return errors.Join(fails...)
}

// probed runs the script and returns what it said. That the pipe ends shows that
// nothing outlived the command.
func probed(sb Sandbox, s Settings, args ...string) (string, error) {
	bash, err := exec.LookPath("/bin/bash")
	if err != nil {
		return "", errors.New("bash is not in /bin: install it with: apt-get install bash")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	p, err := sb.Start(ctx, &Policy{Roots: s.Roots, Home: s.Home, Caches: s.Caches}, &Command{
		Path: bash, Args: append([]string{"bash", "--noprofile", "--norc", "-c", probeScript, "probe"}, args...),
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, ID: "probe", Stdout: w, Stderr: w,
	})
	w.Close()
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { p.End(0) })
	p.Wait()
	stop()
	p.End(0)
	_ = r.SetReadDeadline(time.Now().Add(time.Second))
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil && sb.Enforcement().Processes {
		return "", errors.New("a process outlived its command")
	}
	return out.String(), nil
}

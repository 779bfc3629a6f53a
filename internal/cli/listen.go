package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// loopback reports whether an address is of this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// listen listens on host:port or unix:PATH; shown is where, for people.
func listen(address string) (l net.Listener, shown string, err error) {
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		if l, err = net.Listen("tcp", address); err != nil {
			return nil, "", err
		}
		return l, "http://" + l.Addr().String(), nil
	}
	if !filepath.IsAbs(path) {
		return nil, "", usagef("%s: want an absolute path after unix:", address)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			c.Close()
			return nil, "", fmt.Errorf("another server listens on %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, "", err
		}
	}
	// The socket is made where nobody else can reach it, and then moved.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".handrail-") // 0700
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	u, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, "", err
	}
	u.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, "", errors.Join(err, u.Close())
	}
	return &socket{u, path}, "unix:" + path, nil
}

// socket removes its file when it is closed.
type socket struct {
	*net.UnixListener
	path string
}

func (s *socket) Close() error { return errors.Join(s.UnixListener.Close(), os.Remove(s.path)) }

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// nsenterPath is what joins the network of a container. PATH has no say.
const nsenterPath = "/usr/bin/nsenter"

// proxy gives the listener in the container's network to serve. Our own part
// joins that network, and nothing else of the container.
func (h *contained) proxy(ctx context.Context, p *Policy) error {
	if p.Proxy == nil {
		return errors.New("the policy names domains but has no proxy")
	}
	var seen struct{ State struct{ Pid int } }
	if err := h.b.engine.call(ctx, "GET", "/containers/"+h.box.id+"/json", nil, &seen); err != nil {
		return err
	}
	if seen.State.Pid == 0 {
		return errors.New("proxy: the container does not run")
	}
	self := h.b.Self
	if self == "" {
		self = "/proc/self/exe"
	}
	program, err := os.Open(self)
	if err != nil {
		return err
	}
	defer program.Close()
	mine, theirs, err := pair()
	if err != nil {
		return err
	}
	defer mine.Close()
	args := []string{"--target", fmt.Sprint(seen.State.Pid), "--net"}
	if own, err := os.Readlink("/proc/self/ns/user"); err != nil {
		return err
	} else if its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", seen.State.Pid)); err != nil || its != own {
		args = append(args, "--user", "--preserve-credentials")
	}
	cmd := exec.CommandContext(ctx, nsenterPath, append(args, "--", "/proc/self/fd/4", inside, "listen")...)
	cmd.Env, cmd.ExtraFiles = []string{}, []*os.File{theirs, program}
	said := &tail{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		theirs.Close()
		return fmt.Errorf("proxy: %w; install it with: apt-get install util-linux", err)
	}
	theirs.Close()
	got, taken := take(mine)
	err = cmd.Wait()
	if taken != nil || err != nil || len(got.files) != 1 {
		return fmt.Errorf("proxy: the network of the container cannot be joined; rootless Podman allows it: %w %s", errors.Join(taken, err), strings.TrimSpace(said.String()))
	}
	defer got.files[0].Close()
	l, err := net.FileListener(got.files[0])
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	h.listener = l
	p.Proxy(l)
	return nil
}

// listenMain hands a listener of this network to the server, and is gone.
func listenMain([]string) error {
	if err := shut(); err != nil {
		return err
	}
	server, err := conn(os.NewFile(3, "server"))
	if err != nil {
		return err
	}
	return (&heading{conn: server}).listen()
}

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cue is what the server tells the stage: one of its fields.
type cue struct {
	Overlay *overlay `json:",omitempty"`
	Start   []string `json:",omitempty"` // arguments of bubblewrap; its socket and stderr travel beside it
	Bare    bool     `json:",omitempty"` // start our own namespaces with them instead
	Spare   bool     `json:",omitempty"` // start what waits for such a cue; its socket travels beside it
	Net     bool     `json:",omitempty"` // with Start and Spare: in the network of the session
}

// unknownCue answers a cue that says nothing: so the stage tells that it stands.
const unknownCue = "nothing to do"

// overlay is a cache of the host to be covered in place.
type overlay struct{ Lower, Upper, Work string }

// reply answers a cue.
type reply struct {
	Failed string `json:",omitempty"`
	PID    int    `json:",omitempty"`
}

// stageMain is the process that holds the overlays of a session: in user and
// mount namespaces of its own it covers caches, and starts the bubblewraps that
// see them. What those run does not see it. It ends with the server.
func stageMain([]string) error {
	runtime.LockOSThread() // bubblewraps die with the thread that starts them
	if err := shut(); err != nil {
		return err
	}
	self := os.NewFile(4, "self")
	if err := dropAmbient(); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	c, err := conn(os.NewFile(3, "server"))
	if err != nil {
		return err
	}
	go reapAll()
	s := &playing{self: self}
	for dec := json.NewDecoder(c); ; {
		in, err := take(c)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var q cue
		if err := dec.Decode(&q); err != nil {
			return err
		}
		var r reply
		if err := s.play(&q, in.files, &r); err != nil {
			r.Failed = err.Error()
		}
		for _, f := range in.files {
			f.Close()
		}
		if err := tell(c, r); err != nil {
			return err
		}
	}
}

// playing is what the stage has.
type playing struct {
	self *os.File
	// network is a thread in a network namespace of the session's own, so that
	// what is started in it one after the other has the same loopback; nil: none yet.
	network *starter
}

// play does what the cue says.
func (s *playing) play(q *cue, files []*os.File, r *reply) (err error) {
	if !q.Net {
		return s.act(q, files, r)
	}
	if s.network == nil {
		if s.network, err = newStarter(&launch{}, newNetwork); err != nil {
			return fmt.Errorf("a network of the session's own: %w", err)
		}
	}
	s.network.do(func() { err = s.act(q, files, r) })
	return err
}

// newNetwork puts the calling thread into a network of its own.
func newNetwork(*launch) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return err
	}
	return dropAmbient()
}

// dropAmbient takes the capabilities from this thread that what it starts would
// begin with: bubblewrap wants none.
func dropAmbient() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	return nil
}

func (s *playing) act(q *cue, files []*os.File, r *reply) error {
	switch {
	case q.Spare && len(files) == 1:
		return startSpare(s.self, files[0])
	case q.Overlay != nil:
		o := q.Overlay
		return unix.Mount("overlay", o.Lower, "overlay", unix.MS_NOSUID|unix.MS_NODEV,
			"userxattr,lowerdir="+o.Lower+",upperdir="+o.Upper+",workdir="+o.Work)
	case len(q.Start) > 0 && len(files) == 2:
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		defer null.Close()
		path, argv, sys := builder(q.Bare, q.Start)
		r.PID, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: "/", Env: []string{},
			Files: []uintptr{null.Fd(), null.Fd(), files[1].Fd(), files[0].Fd(), s.self.Fd()}, Sys: sys})
		return err
	}
	return errors.New(unknownCue)
}

// stage is the server's end of one.
type stage struct {
	mu   sync.Mutex
	conn *net.UnixConn
	dec  *json.Decoder
	cmd  *exec.Cmd
}

// openStage starts a stage with the program self, which must call Main first: one
// that does not is ended, and would not start another.
func openStage(self *os.File) (*stage, error) {
	mine, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	said := &tail{}
	uid, gid := os.Getuid(), os.Getgid()
	cmd := &exec.Cmd{Path: "/proc/self/fd/4", Args: []string{"sandbox", inside, "stage"}, Dir: "/", Env: []string{insideMark + "=1"}, Stderr: said,
		ExtraFiles: []*os.File{theirs, self}, WaitDelay: time.Second,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_MKNOD},
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}}}
	if err := cmd.Start(); err != nil {
		mine.Close()
		return nil, fmt.Errorf("own namespaces: %w", err)
	}
	s := &stage{conn: mine, dec: json.NewDecoder(mine), cmd: cmd}
	_ = mine.SetDeadline(time.Now().Add(probeTime))
	if _, err := s.ask(cue{}); err == nil || err.Error() != unknownCue {
		_ = cmd.Process.Kill()
		s.close()
		return nil, fmt.Errorf("own namespaces: %w %s", err, said)
	}
	return s, mine.SetDeadline(time.Time{})
}

// ask sends a cue and returns the answer.
func (s *stage) ask(q cue, files ...*os.File) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r reply
	if err := send(s.conn, q, files...); err != nil {
		return r, fmt.Errorf("the stage of the sandbox: %w", err)
	}
	if err := s.dec.Decode(&r); err != nil {
		return r, fmt.Errorf("the stage of the sandbox ended: %w", err)
	}
	if r.Failed != "" {
		return r, errors.New(r.Failed)
	}
	return r, nil
}

// close ends the stage and every bubblewrap that it started.
func (s *stage) close() {
	s.conn.Close()
	_ = s.cmd.Wait()
}

package cli

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// The first signal begins the end of a server, the second one hurries it.
func TestSignals(t *testing.T) {
	ctx, hurry, stop := signals()
	defer stop()
	raise := func(s syscall.Signal, then <-chan struct{}) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-then:
		case <-time.After(time.Minute):
			t.Fatalf("%s does nothing", s)
		}
	}
	raise(syscall.SIGTERM, ctx.Done())
	select {
	case <-hurry:
		t.Fatal("one signal hurries already")
	default:
	}
	raise(syscall.SIGINT, hurry)
}

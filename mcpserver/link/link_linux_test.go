package link

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
)

// ends are both ends of a link, with the users whose connections they take.
func ends(t *testing.T, a, b int) (*Link, *Link) {
	t.Helper()
	x, y, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := New(x, a)
	other, err2 := New(y, b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close(); other.Close() })
	return one, other
}

// Either end dials the other; what one writes the other reads, and both see an
// end.
func TestLink(t *testing.T) {
	one, other := ends(t, os.Getuid(), os.Getuid())
	for _, pair := range [][2]*Link{{one, other}, {other, one}} {
		for range 3 {
			mine, err := pair[0].Dial()
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := pair[1].Accept()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := mine.Write([]byte("word")); err != nil {
				t.Fatal(err)
			}
			mine.Close()
			if said, err := io.ReadAll(theirs); err != nil || string(said) != "word" {
				t.Errorf("%q, %v", said, err)
			}
			theirs.Close()
		}
	}
	one.Close()
	if c, err := other.Accept(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := other.Dial(); err == nil {
		t.Errorf("a connection to nobody: %v", c)
	}
}

// Connections of another user are not taken, and those after it are.
func TestLinkOfAnotherUser(t *testing.T) {
	one, other := ends(t, os.Getuid()+1, os.Getuid())
	c, err := other.Dial()
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := one.Accept()
		accepted <- err
	}()
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d, %v: it was not closed", n, err)
	}
	other.Close()
	if err := <-accepted; !errors.Is(err, io.EOF) {
		t.Errorf("a connection was taken: %v", err)
	}
}

// A text goes with a file or without one, and is cut where it is too long.
func TestSend(t *testing.T) {
	one, other := ends(t, -1, -1)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := errors.Join(one.Send("with", w), w.Close(), one.Send(string(make([]byte, 2*maxText)), nil)); err != nil {
		t.Fatal(err)
	}
	text, f, err := other.Receive()
	if err != nil || text != "with" || f == nil {
		t.Fatal(text, f, err)
	}
	if _, err := f.WriteString("through"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if said, err := io.ReadAll(r); err != nil || string(said) != "through" {
		t.Errorf("%q, %v", said, err)
	}
	if text, f, err := other.Receive(); err != nil || len(text) != maxText || f != nil {
		t.Error(len(text), f, err)
	}
}

// What is no connection is not taken, and what comes after it is.
func TestLinkTakesConnections(t *testing.T) {
	one, other := ends(t, os.Getuid(), os.Getuid())
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	listener, err := tcp.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	packets, _, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	for _, f := range []*os.File{file, listener, packets} {
		if err := other.Send("c", f); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := other.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	theirs, err := one.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if _, err := mine.Write([]byte("w")); err != nil {
		t.Fatal(err)
	}
	if n, err := theirs.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("another connection was taken: %v", err)
	}
}

package tools

import (
	"testing"
	"time"
)

// A session may make so many calls of a tool at once, and no more; other
// sessions and tools have their own count, and a new limit begins anew.
func TestPace(t *testing.T) {
	var p pace
	for i := range 3 {
		if d := p.wait("a", Bash, 3); d != 0 {
			t.Fatalf("call %d waits %s", i, d)
		}
	}
	d := p.wait("a", Bash, 3)
	if d <= 0 || d > 20*time.Second {
		t.Errorf("the fourth call of three a minute waits %s", d)
	}
	if again := p.wait("a", Bash, 3); again > d {
		t.Errorf("asking too early is punished: %s after %s", again, d)
	}
	for _, o := range [][2]string{{"b", Bash}, {"a", Read}} {
		if d := p.wait(o[0], o[1], 3); d != 0 {
			t.Errorf("%v waits %s", o, d)
		}
	}
	if d := p.wait("a", Bash, 0); d != 0 {
		t.Errorf("no limit, and it waits %s", d)
	}
	if d := p.wait("a", Bash, 5); d != 0 {
		t.Errorf("a new limit counts what was before it: %s", d)
	}
}

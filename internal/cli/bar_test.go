package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestBar(t *testing.T) {
	var out bytes.Buffer
	b := &bar{out: &out, live: true, amount: rows}
	for i := range int64(5) {
		b.tell("judging", i, 4)
		b.tell("judging", i, 4) // nothing new: not drawn again
	}
	b.end()
	drawn := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\r\x1b[K")[1:]
	if len(drawn) != 5 || !strings.Contains(drawn[0], "[..............................]   0 %  0 of 4") ||
		!strings.Contains(drawn[2], "[###############...............]  50 %  2 of 4") || !strings.Contains(drawn[4], "] 100 %  4 of 4") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	b = &bar{out: &out, amount: megabytes}
	b.tell("pulling manifest", 0, 0)
	for i := range int64(3) {
		b.tell("pulling 3a7c", i*1e6, 2e6)
	}
	b.tell("success", 0, 0)
	b.end()
	if out.String() != "pulling manifest\npulling 3a7c\nsuccess\n" {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	b = &bar{out: &out, live: true, amount: megabytes}
	b.tell("x", 9e6, 2e6) // more than there is
	if !strings.Contains(out.String(), "100 %  2.0 of 2.0 MB") {
		t.Errorf("%q", out.String())
	}
}

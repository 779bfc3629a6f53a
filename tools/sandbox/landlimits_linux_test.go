package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"handrail/internal/testkit"
)

// TestLandlockLimits: limits hold without control groups.
func TestLandlockLimits(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	testkit.Require(t, "perl", "apt-get install perl")
	for script, limits := range map[string]Limits{
		`exec perl -e 'for (1..120) { my $p = fork; exit 9 if !defined $p; if (!$p) { sleep 30; exit } }'`: {Processes: 40},
		`exec head -c 3M /dev/zero > f`:                                            {FileSize: 1 << 20},
		`exec perl -e '$x = "x" x (300 << 20); print length $x'`:                   {Memory: 64 << 20},
		`rm -f f*; for i in {1..40}; do head -c 1M /dev/zero > f$i; done; sleep 5`: {Disk: 20 << 20},
	} {
		pol := p.base()
		if r := p.run(t, pol, script); r.Code != 0 {
			t.Errorf("control: %s: %+v", script, r)
		}
		pol.Limits = limits
		if r := p.run(t, pol, script); r.Code == 0 {
			t.Errorf("%s with %+v: %+v", script, limits, r)
		}
	}
}

// TestLandlockStress repeats reads that must fail and that must not.
func TestLandlockStress(t *testing.T) {
	if asUser(t) {
		return
	}
	p := landing(t)
	secret := filepath.Join(p.outside, "secret")
	if err := os.WriteFile(secret, []byte("private text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if r := p.run(t, p.base(), `cat `+secret+`; echo x > f && cat f`); r.Code != 0 || strings.Contains(r.out, "private text") {
			t.Fatalf("%+v", r)
		}
	}
}

// TestStarterApart: what takes power from a thread never runs on the one that
// stands for the process.
func TestStarterApart(t *testing.T) {
	for range 200 {
		s, err := newStarter(&launch{}, func(*launch) error {
			if unix.Gettid() == os.Getpid() {
				return errors.New("on the first thread")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.end()
	}
}

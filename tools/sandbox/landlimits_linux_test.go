package sandbox

import (
	"testing"

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

//go:build linux

package attack

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"handrail/internal/testkit"
	"handrail/tools/sandbox"
)

// BenchmarkOverhead is `bash -c true` from its start to its end, plain and in
// every tier, one after the other so that other load falls on all alike. It
// reports medians in milliseconds; with -benchtime 200x of 200 runs each.
func BenchmarkOverhead(b *testing.B) {
	uid := os.Getuid()
	m := settle(b, uid)
	ways := []held{}
	add := func(m *machine, tier sandbox.Tier, engine string) {
		h, err := m.hold(b, tier, engine)
		if err != nil {
			b.Logf("%s: %v", tier, err)
			return
		}
		ways = append(ways, h...)
	}
	add(m, sandbox.None, "")
	add(m, sandbox.Bwrap, "")
	add(m, sandbox.Namespaces, "")
	machines := map[sandbox.Tier]*machine{}
	if uid == 0 {
		machines[sandbox.Podman] = settle(b, own)
		add(machines[sandbox.Podman], sandbox.Podman, testkit.Podman(b, image))
	} else {
		add(m, sandbox.Landlock, "")
	}
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, w := range ways {
			on := m
			if other := machines[w.tier]; other != nil {
				on = other
			}
			began := time.Now()
			p, err := w.run(b, on, "true", "bench", false, sandbox.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			if code := p.wait(); code != 0 {
				b.Fatalf("%s: exit code %d", w.name, code)
			}
			took[i] = append(took[i], time.Since(began))
			p.end(0)
			p.out.Close()
		}
	}
	b.ReportMetric(0, "ns/op")
	if uid == 0 {
		userOverhead(b)
	}
	for i, w := range ways {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds())/1000, fmt.Sprintf("%s-ms", unit(w.name)))
	}
}

// userOverhead runs the benchmark as the user own, and reports what it measured
// as that of a user.
func userOverhead(b *testing.B) {
	b.Helper()
	dir, err := os.MkdirTemp("/tmp", "attack-own-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := asOwnUser(b, dir, "-test.run=^$", "-test.bench=^BenchmarkOverhead$", fmt.Sprintf("-test.benchtime=%dx", b.N))
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("as user %d: %v: %s", own, err, out)
	}
	words := strings.Fields(string(out))
	for i, word := range words[1:] {
		if ms, err := strconv.ParseFloat(words[i], 64); err == nil && strings.HasSuffix(word, "-ms") {
			b.ReportMetric(ms, "user-"+word)
		}
	}
}

// unit is name as the unit of a metric can be.
func unit(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c == ' ' {
			b[i] = '-'
		}
	}
	return string(b)
}

package host

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"example.org": "example.org", "EXAMPLE.Org": "example.org", "example.org.": "example.org",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example", "XN--BCHER-KVA.example": "xn--bcher-kva.example",
		"example。org": "example.org", "ｅxample.org": "example.org", "1.example.org": "1.example.org", "127.0.0.1.nip.io": "127.0.0.1.nip.io",
		"a-b.example.org": "a-b.example.org", "3com.example": "3com.example",
	} {
		if got, err := Name(in); got != want || err != nil {
			t.Errorf("Name(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	long := strings.Repeat("a", 63)
	for _, in := range []string{
		"", ".", "..", "com", "localhost", "example.org..", ".example.org", "a..example.org", "-a.example.org", "a-.example.org",
		"127.0.0.1", "127.1", "127.0.0.1.", "0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001", "1.0x", "127.0.0.0x1",
		"１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1", "example.123", "example.0xaf",
		"::1", "[::1]", "[::ffff:127.0.0.1]", "fe80::1%eth0", "fe80::1%25eth0",
		"evil.example\x00.google.com", "evil.example%00.google.com", "evil.example\n.google.com", "a b.example.org", "evil.example\u200b.google.com",
		"evil\u00ad.example.org", "user@example.org", "example.org:80", "example.org/", "example.org\\@evil.example", "example.org#", "example.org?",
		"\xff.example.org", "ex_ample.org", "*.example.org", "xn--a.example", "xn--example-.org", "xn--.example", long + "a.example.org",
		strings.Repeat(long+".", 4) + "example.org", strings.Repeat("ä", 5000) + ".example.org",
	} {
		if got, err := Name(in); err == nil {
			t.Errorf("Name(%q) = %q; want an error", in, got)
		}
	}
}

func TestTarget(t *testing.T) {
	for in, want := range map[string]uint16{"example.org": 443, "example.org:80": 80, "EXAMPLE.ORG.:65535": 65535} {
		if name, port, err := Target(in, 443); name != "example.org" || port != want || err != nil {
			t.Errorf("Target(%q) = %q, %d, %v", in, name, port, err)
		}
	}
	for _, in := range []string{"", ":80", "example.org:", "example.org:0", "example.org:65536", "example.org:080", "example.org:+80", "example.org:80:80",
		"example.org:http", "127.0.0.1:80", "[::1]:80", "u@example.org:80", "example.org: 80", "example.org:80 "} {
		if name, port, err := Target(in, 443); err == nil {
			t.Errorf("Target(%q) = %q, %d; want an error", in, name, port)
		}
	}
	if _, _, err := Target("example.org", 0); err == nil {
		t.Error("a missing port was taken where one must be there")
	}
}

func TestList(t *testing.T) {
	l, err := Parse("example.org", "*.Example.net", "registry.example.com:8443", "forges", "!gist.github.com", "!codeberg.org:80")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		"example.org:443": true, "example.org:80": true, "example.org:22": false, "www.example.org:443": false,
		"example.net:443": false, "a.example.net:443": true, "a.b.example.net:80": true, "badexample.net:443": false,
		"registry.example.com:8443": true, "registry.example.com:443": false,
		"github.com:443": true, "api.github.com:443": true, "gist.github.com:443": false, "evilgithub.com:443": false, "github.com.evil.example:443": false,
		"codeberg.org:443": true, "codeberg.org:80": false, "registry.npmjs.org:443": false,
	} {
		name, port, err := Target(target, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Allows(name, port); got != want {
			t.Errorf("Allows(%s) = %v", target, got)
		}
	}
	if !l.Knows("registry.example.com") || l.Knows("gist.github.com") || !l.Knows("codeberg.org") {
		t.Error("Knows must not ask for the port, but for what was taken out")
	}
	for _, bad := range []string{"", "*", "*.", "*.*.example.org", "localhost", "*.org", "10.0.0.1", "example.org:99999", "registry", "!", "!!example.org", "https://example.org"} {
		if l, err := Parse("example.org", bad); err == nil || l.Allows("example.org", 443) {
			t.Errorf("Parse(%q): %v, %v", bad, l, err)
		}
	}
}

func TestZeroListAllowsNothing(t *testing.T) {
	empty, err := Parse()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []List{{}, empty} {
		if l.Allows("example.org", 443) || l.Knows("example.org") || l.Allows("", 443) || l.Knows("") {
			t.Error("an empty list allows something")
		}
	}
}

// TestBuiltin holds the tables to what Parse takes and gives back.
func TestBuiltin(t *testing.T) {
	for _, name := range Lists() {
		entries := Entries(name)
		l, err := Parse(entries...)
		if err != nil || len(entries) == 0 || len(l.allow) != len(entries) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range builtin[name] {
			if !slices.Contains(l.allow, p) {
				t.Errorf("%s: %v is not in its one spelling", name, p)
			}
		}
	}
	l, err := Parse(Lists()...)
	if err != nil || len(l.allow) != len(Known().allow) {
		t.Errorf("the lists together are not what is known: %v", err)
	}
}

// FuzzNameHasOneSpellingAndIsNoAddress: whatever Name takes it gives back as a
// name that it takes again unchanged, in any letter case and with the root's
// dot, that a URL carries unchanged, and that no parser of addresses takes.
func FuzzNameHasOneSpellingAndIsNoAddress(f *testing.F) {
	for _, s := range []string{"example.org", "EXAMPLE.org.", "bücher.example", "xn--bcher-kva.example", "127.1", "0x7f.1", "１２７.０.０.１", "a\x00.b", "[::1]",
		"ß.example", "faß.de", "xn--fa-hia.de", "a.0x", "ｅ。f", "xn--0.pt", "u@h.example", "a.b:80", "א.example", "xn--ls8h.la"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Name(s)
		if err != nil {
			return
		}
		for _, again := range []string{n, strings.ToUpper(n), n + "."} {
			if got, err := Name(again); got != n || err != nil {
				t.Errorf("Name(%q) = %q, but Name(%q) = %q, %v", s, n, again, got, err)
			}
		}
		if strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || len(n) > maxName {
			t.Errorf("Name(%q) = %q", s, n)
		}
		if _, err := netip.ParseAddr(n); err == nil || net.ParseIP(n) != nil {
			t.Errorf("Name(%q) = %q, an address", s, n)
		}
		if u, err := url.Parse("http://" + n + ":80/"); err != nil || u.Hostname() != n || u.Port() != "80" {
			t.Errorf("Name(%q) = %q, which a URL does not carry: %v", s, n, err)
		}
	})
}

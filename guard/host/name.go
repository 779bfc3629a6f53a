// Package host is what the guard and the proxy of contained commands share
// about hosts: one spelling of a name, lists of names, and the table of
// registries and forges that package managers and git need.
package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxName is the length of a name in DNS (RFC 1035, 2.3.4), without the root's
// dot; maxInput bounds what is looked at before it is in that form.
const (
	maxName  = 253
	maxInput = 4 * maxName
)

// Name returns the one spelling of a DNS name: lower case, without the root's
// dot, internationalised labels as xn--. It refuses what is not a name of at
// least two labels: addresses in every form that an inet_aton or a URL parser
// takes ("127.1", "0x7f.0.0.1", "[::1]"), user names, ports, escapes, NUL,
// controls and what cannot be printed. Two programs that read a name which
// Name returned mean the same host.
func Name(s string) (string, error) {
	if s == "" {
		return "", errors.New("there is no host name")
	}
	if len(s) > maxInput || !utf8.ValidString(s) {
		return "", fmt.Errorf("%.40q is too long for a host name, or no text", s)
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`%@:/\?#[]<>^|"'`+"`{}", r) || !unicode.IsPrint(r) {
			return "", fmt.Errorf("%.80q is no host name: it contains %q", s, r)
		}
	}
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(s, "."))
	if err != nil {
		return "", fmt.Errorf("%.80q is no host name: %w", s, err)
	}
	labels := strings.Split(name, ".")
	if len(labels) < 2 || len(name) > maxName {
		return "", fmt.Errorf("%.80q is no full host name, as in example.org", s)
	}
	for _, l := range labels {
		if !label(l) {
			return "", fmt.Errorf("%.80q is no host name: look at %.80q", s, l)
		}
	}
	if numeric(labels[len(labels)-1]) {
		return "", fmt.Errorf("%.80q is an address, not a name", s)
	}
	// A label that is not in the form which the decoder gives back would be one
	// host for those who decode it and another for those who do not.
	if again, err := idna.Lookup.ToASCII(name); err != nil || again != name {
		return "", fmt.Errorf("%.80q is no host name: it has more than one spelling", s)
	}
	return name, nil
}

// label reports whether l is letters, digits and inner hyphens (RFC 1123, 2.1).
func label(l string) bool {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for i := range len(l) {
		if c := l[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// numeric reports whether a name that ends in l is an IPv4 address to some
// parser: digits alone, or a hexadecimal number ("ends in a number", WHATWG URL).
func numeric(l string) bool {
	if strings.Trim(l, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(l, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// Target splits "host:port" into the one spelling of the host and the port. A
// missing port is fallback; where that is 0 the port must be there.
func Target(s string, fallback uint16) (name string, port uint16, err error) {
	h, p, ok := strings.Cut(s, ":")
	if name, err = Name(h); err != nil {
		if strings.Count(s, ":") > 1 || strings.HasPrefix(s, "[") {
			err = fmt.Errorf("%.80q is an address, not a name", s)
		}
		return "", 0, err
	}
	if !ok && fallback != 0 {
		return name, fallback, nil
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != p {
		return "", 0, fmt.Errorf("%.80q has no port from 1 to 65535", s)
	}
	return name, uint16(n), nil
}

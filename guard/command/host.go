package command

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Host returns the host of a URL, or of host[:port][/path], in lower case
// without a final dot; every way of writing an IPv4 address (decimal, hex,
// octal, fewer than four parts, mapped into IPv6) becomes the dotted one. It is
// strict: what two programs could read differently is not ok.
func Host(s string) (host string, ok bool) {
	host, _, ok = split(s)
	return host, ok
}

// Authority is Host with the port where s names one that is not that of HTTP or
// HTTPS: "host:8443", "[::1]:8080".
func Authority(s string) (target string, ok bool) {
	host, port, ok := split(s)
	if n, err := strconv.Atoi(port); ok && err == nil && n != 80 && n != 443 {
		return net.JoinHostPort(host, strconv.Itoa(n)), true
	}
	return host, ok
}

// split returns the host of s as Host says, and the port, which may be empty.
func split(s string) (host, port string, ok bool) {
	for _, c := range s {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`\{}<>^|"`+"`", c) {
			return "", "", false
		}
	}
	if scheme, rest, found := strings.Cut(s, "://"); found && !strings.ContainsAny(scheme, "/?#@:[") {
		if !plain(scheme, "+.") || strings.EqualFold(scheme, "file") {
			return "", "", false
		}
		s = rest
	}
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	if i := strings.IndexByte(s, '@'); i >= 0 {
		if s = s[i+1:]; strings.IndexByte(s, '@') >= 0 {
			return "", "", false
		}
	}
	if strings.HasPrefix(s, "[") {
		inner, after, found := strings.Cut(s[1:], "]")
		addr, err := netip.ParseAddr(inner)
		if !found || err != nil || addr.Zone() != "" || !addr.Is6() || after != "" && !isPort(after) {
			return "", "", false
		}
		return addr.Unmap().String(), strings.TrimPrefix(after, ":"), true
	}
	if i := strings.IndexByte(s, ':'); i >= 0 {
		if !isPort(s[i:]) {
			return "", "", false
		}
		s, port = s[:i], s[i+1:]
	}
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	labels := strings.Split(s, ".")
	if last := labels[len(labels)-1]; last != "" && last[0] >= '0' && last[0] <= '9' {
		host, ok = address(labels)
		return host, port, ok
	}
	for _, label := range labels {
		if !plain(label, "") || len(label) > 63 || label[0] == '-' {
			return "", "", false
		}
	}
	return s, port, len(s) <= 253
}

// Loopback reports whether a host as Host returns it is this machine. (A
// connection to the unspecified address reaches it too.)
func Loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.Unmap().IsLoopback() || addr.Unmap().IsUnspecified())
}

func isPort(s string) bool {
	if s == ":" {
		return true
	}
	n, err := strconv.ParseUint(s[1:], 10, 16)
	return s[0] == ':' && err == nil && n > 0 && s[1] != '+'
}

// plain reports whether s is of letters, digits, "-", "_" and the characters of more.
func plain(s, more string) bool {
	for _, c := range []byte(s) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return s != ""
}

// address reads an IPv4 address as inet_aton does: up to four parts, of which
// the last fills what is left.
func address(parts []string) (string, bool) {
	if len(parts) > 4 {
		return "", false
	}
	var v uint64
	for i, p := range parts {
		base := 10
		switch {
		case strings.HasPrefix(p, "0x"):
			p, base = p[2:], 16
		case len(p) > 1 && p[0] == '0':
			p, base = p[1:], 8
		}
		n, err := strconv.ParseUint(p, base, 32)
		if err != nil {
			return "", false
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if n >= 1<<bits {
			return "", false
		}
		v = v<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}).String(), true
}

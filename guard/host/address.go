package host

import "net/netip"

// special are ranges that are no public host's, or that stand for other
// addresses (IANA IPv4 and IPv6 Special-Purpose Address Registries), beside
// those that netip knows.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network's"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's inner address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata server"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "a protocol's own, as Teredo"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address in IPv6 (6to4)"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
}

// global is what IPv6 hosts have; all else is refused unread. nat64 carries an
// IPv4 address in its last four bytes (RFC 6052).
var (
	global = netip.MustParsePrefix("2000::/3")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
)

// Plain is the IPv4 address that one of IPv6 stands for (mapped, or by NAT64), or
// the address itself.
func Plain(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// Inner says why an address belongs to no host of the public network, or is empty.
func Inner(a netip.Addr) string {
	a = Plain(a)
	switch {
	case !a.IsValid() || a.Zone() != "":
		return "bound to an interface"
	case a.IsUnspecified():
		return "no address"
	case a.IsLoopback():
		return "this machine's loopback"
	case a.IsLinkLocalUnicast():
		return "link-local, where clouds have their metadata"
	case a.IsPrivate():
		return "private"
	case a.IsMulticast() || !a.IsGlobalUnicast():
		return "not one host's"
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return s.what
		}
	}
	if a.Is6() && !global.Contains(a) {
		return "not public"
	}
	return ""
}

package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

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

// refused says why a may not be dialled, or is empty.
func (p *Proxy) refused(a netip.Addr, own []netip.Addr) string {
	a = a.Unmap()
	if a.Zone() != "" || !a.IsValid() {
		return "bound to an interface"
	}
	if nat64.Contains(a) {
		b := a.As16()
		if why := p.refused(netip.AddrFrom4([4]byte(b[12:])), own); why != "" {
			return why
		}
		return ""
	}
	if slices.ContainsFunc(p.Open, func(open netip.Prefix) bool { return open.Contains(a) }) {
		return ""
	}
	switch {
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
	case slices.Contains(own, a):
		return "this machine's own"
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

// ownAddresses are the addresses of this machine's interfaces, as they are now.
func ownAddresses() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range list {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a, err)
		}
		own = append(own, prefix.Addr().Unmap().WithZone(""))
	}
	return own, nil
}

package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"handrail/guard/host"
)

// nat64 carries an IPv4 address in its last four bytes (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// refused says why a may not be dialled, or is empty.
func (p *Proxy) refused(a netip.Addr, own []netip.Addr) string {
	a = a.Unmap()
	if a.Zone() != "" || !a.IsValid() {
		return "bound to an interface"
	}
	if nat64.Contains(a) {
		b := a.As16()
		return p.refused(netip.AddrFrom4([4]byte(b[12:])), own)
	}
	if slices.ContainsFunc(p.Open, func(open netip.Prefix) bool { return open.Contains(a) }) {
		return ""
	}
	if why := host.Inner(a); why != "" {
		return why
	}
	if slices.Contains(own, a) {
		return "this machine's own"
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

package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"handrail/guard/host"
)

// refused says why a may not be dialled, or is empty.
func (p *Proxy) refused(a netip.Addr, own []netip.Addr) string {
	a = host.Plain(a)
	if a.Zone() != "" || !a.IsValid() {
		return "bound to an interface"
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

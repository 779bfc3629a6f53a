package rules

import (
	"net/netip"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
)

// Tenant is the place of one principal of a server that serves several. Paths
// are absolute and resolved.
type Tenant struct {
	Name string
	// Own are the workspace and the home directory, Others those of the other
	// principals.
	Own, Others []string
	// Networks are ranges of private addresses that the operator has opened.
	Networks []netip.Prefix
}

// tenants is the family of what a principal of a shared server cannot do, and
// nobody can approve: whoever answers for a principal is not the operator.
func tenants(pol Policy) []guard.Rule {
	t := pol.Tenant
	if t == nil {
		return nil
	}
	return []guard.Rule{
		fixed(guard.Rule{ID: "tenant/other",
			Doc: "Denies, on a server for several principals, whatever names the workspace or the home directory of another one.",
			Evaluate: func(p *guard.Pass) {
				for i, e := range p.Facts.Effects {
					if isPath(e.Target) && (inside(t.Others, e.Target) || e.Exact && e.Deep && changes(e) && holds(e.Target, t.Others)) {
						p.Report(i, guard.VerdictDeny, actor(p, i)+" would reach "+place(e)+", which is another principal's", "work in your own workspace")
					}
				}
			}}),
		fixed(each("tenant/outside",
			"Denies, on a server for several principals, changes outside the principal's own directories, and reading there by a file tool, or of anything but the system's own files by a command.",
			func(e guard.Effect) bool { return changes(e) || e.Kind == guard.Read },
			func(p *guard.Pass, i int, e guard.Effect) {
				if inside(t.Own, e.Target) || inside(p.Roots, e.Target) || within(p.Scratch, e.Target) || e.Exact && isStream(e.Target) {
					return
				}
				command := p.CommandOf(i) != nil
				switch {
				case command && (!isPath(e.Target) || !e.Exact && e.Target == "/"): // unknown: other rules ask, and the sandbox adds nothing for it
					return
				case e.Kind == guard.Read && command && e.Action == "list": // the sandbox shows its own
					return
				case e.Kind == guard.Read && command && isPath(e.Target) && inside(system, e.Target) && secretFile(e.Target, pol) == "":
					return
				}
				p.Report(i, guard.VerdictDeny, outside(p, i, e)+", and the server is others' too", "work inside the workspace")
			})),
		fixed(each("tenant/network",
			"Denies, on a server for several principals, reaching addresses of the server's own network (private, link-local, a cloud's metadata) that the operator has not opened (sandbox.networks, hosts).",
			func(e guard.Effect) bool { return isSink(e) && e.Exact },
			func(p *guard.Pass, i int, e guard.Effect) {
				if !loopback(e.Target) && !known(pol.Hosts, e.Target) && inner(e, t.Networks) {
					p.Report(i, guard.VerdictDeny, actor(p, i)+" would reach "+hostName(e)+", in the network of the server, which is others' too", "ask the operator of the server to open it")
				}
			})),
		fixed(each("tenant/machine",
			"Denies, on a server for several principals, running with more power than the sandbox gives, and changing the machine: sudo, services, scheduled jobs, system packages.",
			func(e guard.Effect) bool {
				switch e.Kind {
				case guard.Privilege:
					return e.Action == "" || e.Action == "uncontained"
				case guard.System:
					return e.Action != "environment" && e.Action != "fork-bomb"
				case guard.Persist:
					return e.Action == "schedule" || e.Action == "service"
				case guard.Install:
					return e.Action == "system"
				}
				return false
			},
			func(p *guard.Pass, i int, e guard.Effect) {
				p.Report(i, guard.VerdictDeny, actor(p, i)+" would change the machine or leave its sandbox, and the server is others' too", "ask the operator of the server")
			})),
	}
}

// system are the trees that commands read in their sandbox as they are.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys", "/dev"}

// inner reports whether e reaches an address of no public network, or a name that
// stands for one, and none of open. Of the network, numbers that some programs take
// for an address, as 0x7f000001, are; what is Remote may be no host.
func inner(e guard.Effect, open []netip.Prefix) bool {
	name, _, _ := strings.Cut(hostOf(e.Target), "%") // a zone
	addr, err := netip.ParseAddr(name)
	if err != nil {
		last := name[strings.LastIndexByte(name, '.')+1:]
		number := last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"))
		return e.Kind == guard.Network && (number || slices.Contains([]string{"metadata", "instance-data"}, name) || strings.HasSuffix(name, ".internal"))
	}
	addr = addr.Unmap()
	if slices.ContainsFunc(open, func(n netip.Prefix) bool { return n.Contains(addr) }) {
		return false
	}
	return host.Inner(addr) != ""
}

// IsSystem reports whether dir is one of these trees, or below one.
func IsSystem(dir string) bool { return inside(system, dir) }

// holds reports whether one of dirs lies at or below path.
func holds(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return within(path, d) })
}

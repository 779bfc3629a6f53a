package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
)

// KnownHosts are registries and forges that development tools read from all
// day. It is the usual value of Policy.Hosts.
func KnownHosts() host.List { return host.Known() }

// network is the family of what goes over the network.
func network(pol Policy) []guard.Rule {
	return []guard.Rule{
		each("net/unknown-host",
			"Asks before a host is reached that is neither this machine nor on the list of known hosts. Source: the ask list of BitCode's tool guards.",
			only(guard.Network, ""),
			func(p *guard.Pass, i int, e guard.Effect) {
				if !e.Exact || !loopback(e.Target) && !known(pol.Hosts, e.Target) {
					p.Report(i, guard.VerdictAsk, because(actor(p, i)+" would reach "+hostName(e), e), "use what is in the workspace, or ask for the file")
				}
			}),
		each("net/send",
			"Asks before data goes to another machine, and before a file's content goes anywhere.",
			only(guard.Network, "send"),
			func(p *guard.Pass, i int, e guard.Effect) {
				file := upstream(p, i, func(e guard.Effect) bool { return e.Kind == guard.Read && e.Action != "list" })
				if !e.Exact || !loopback(e.Target) || file {
					p.Report(i, guard.VerdictAsk, because(actor(p, i)+" would send data to "+hostName(e), e), "show the user what you would send, and where")
				}
			}),
		fixed(each("net/secret-sink",
			"Asks, in every profile, before what was read from a credential, a key, an .env file or the environment goes to a host or another system. "+
				"Source: exfiltration cases of the peers' test suites.",
			isSink,
			func(p *guard.Pass, i int, e guard.Effect) {
				if secret := leak(p, i, pol); secret != "" {
					p.Report(i, guard.VerdictAsk, fmt.Sprintf("%s would send %s to %s", actor(p, i), secret, hostName(e)), "send only what holds no secrets")
				}
			})),
		each("net/download-run",
			"Asks before code from the network runs. Source: the ask list of BitCode's tool guards (curl | sh, wget | sh).",
			only(guard.Code),
			func(p *guard.Pass, i int, e guard.Effect) {
				source := ""
				net := upstream(p, i, func(e guard.Effect) bool {
					source = e.Target
					return e.Kind == guard.Network
				})
				switch {
				case net:
					p.Report(i, guard.VerdictAsk, fmt.Sprintf("%s would run code that comes from %s unseen", actor(p, i), source), "save it to a file of the workspace and read it first")
				case e.Action == "downloaded":
					p.Report(i, guard.VerdictAsk, because(actor(p, i)+" would run downloaded code: "+e.Target, e), "save it to a file of the workspace and read it first")
				}
			}),
	}
}

// isSink reports whether data can leave by e.
func isSink(e guard.Effect) bool {
	return e.Kind == guard.Network && e.Action != "listen" || e.Kind == guard.Remote
}

// leak names the secret that may leave by effect i, or is empty: what is
// upstream of it, what its own command reads to send it, and, where a word of
// the command was computed, any secret that this call reads.
func leak(p *guard.Pass, i int, pol Policy) (secret string) {
	visit := func(e guard.Effect) bool {
		secret = secretSource(p, e, pol)
		return secret != ""
	}
	if upstream(p, i, visit) {
		return secret
	}
	sink := p.Facts.Effects[i]
	c := p.CommandOf(i)
	computed := c != nil && slices.ContainsFunc(c.Args, func(w guard.Word) bool { return !w.Exact })
	sends := sink.Action == "send" || sink.Kind == guard.Remote && sink.Action != "read"
	for _, e := range p.Facts.Effects {
		if (computed || sends && e.Command == sink.Command) && visit(e) {
			return secret
		}
	}
	return ""
}

// secretSource names what e reads if that is a secret, or is empty.
func secretSource(p *guard.Pass, e guard.Effect, pol Policy) string {
	switch {
	case e.Kind == guard.System && e.Action == "secret":
		return "credentials (" + e.Target + ")"
	case e.Kind == guard.Read && e.Action != "list" && isPath(e.Target):
		if what := secretFile(e.Target, pol); what != "" {
			return e.Target
		}
		if secretName(e.Target) || !e.Exact && e.Target == "/" || e.Deep && pol.Home != "" && within(e.Target, pol.Home) {
			return place(e)
		}
	case e.Kind == guard.Code && isPath(e.Target) && secretName(e.Target): // source .env
		return place(e)
	case e.Kind == guard.Exec && e.Command >= 0 && e.Command < len(p.Facts.Commands):
		if c := p.Facts.Commands[e.Command]; printsEnvironment(c) {
			return "the environment"
		}
	}
	return ""
}

// printsEnvironment reports whether c prints variables that may be secrets.
func printsEnvironment(c guard.Command) bool {
	switch c.Name {
	case "printenv", "export", "declare", "typeset", "compgen":
		return true
	case "env", "set":
		return len(c.Args) == 0 || c.Name == "env"
	}
	return false
}

// hostName names the target of a network or remote effect for people.
func hostName(e guard.Effect) string {
	switch {
	case !e.Exact && e.Target == "":
		return "a host that cannot be told before it runs"
	case !e.Exact:
		return "a host that cannot be told before it runs (" + e.Target + ")"
	case e.Target == "":
		return "a host"
	}
	return e.Target
}

// hostOf returns the host of "host[:port]" in lower case, without the brackets of
// an IPv6 address, a user or the root's dot.
func hostOf(target string) string {
	h := strings.ToLower(target)
	h = h[strings.LastIndexByte(h, '@')+1:]
	if strings.HasPrefix(h, "[") {
		h, _, _ = strings.Cut(h[1:], "]")
		return h
	}
	if strings.Count(h, ":") == 1 {
		h, _, _ = strings.Cut(h, ":")
	}
	return strings.TrimSuffix(h, ".")
}

// loopback reports whether target is this machine.
func loopback(target string) bool {
	h := hostOf(target)
	if h == "localhost" || strings.HasSuffix(h, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(h)
	return err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified()) && addr.Zone() == ""
}

// private reports whether a port is opened for this machine alone.
func private(e guard.Effect) bool {
	addr, err := netip.ParseAddr(hostOf(e.Target))
	return e.Exact && loopback(e.Target) && (err != nil || !addr.Unmap().IsUnspecified())
}

// known reports whether target is one of hosts.
func known(hosts host.List, target string) bool {
	name, err := host.Name(hostOf(target))
	return err == nil && hosts.Knows(name)
}

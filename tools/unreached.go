package tools

import (
	"net/netip"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
	"handrail/guard/text"
	"handrail/tools/sandbox"
)

// The lines in which programs name the host that they did not reach, with the
// host; and those that say in as clear a form that there was no network.
var (
	namesHost  = text.Pattern(`(?i)(?:could not resolve host(?:name)?:? |unable to resolve host address .|temporary failure resolving .|failed to connect to |\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH) |dial (?:tcp|udp): lookup |dial (?:tcp|udp) |HTTPS?ConnectionPool\(host=.|ssh: connect to host |^ping: )(\[[0-9a-f:]+\]|[0-9a-z._-]+)`)
	saysFamily = text.Pattern(`\[Errno (?:-2|-3|-5|101)\]|: (?:Temporary failure in name resolution|Network is unreachable|Name or service not known)$|network is unreachable$`)
)

// hostIn is the host that a line names as not reached, in its one spelling, or is
// empty. That of this machine counts for none: here says that it was one.
func hostIn(line string) (name string, here bool) {
	m := namesHost().FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	said := strings.ToLower(strings.Trim(m[1], "."))
	if loopback(said) {
		return "", true
	}
	if a, err := netip.ParseAddr(strings.Trim(said, "[]")); err == nil {
		return a.Unmap().String(), false
	}
	name, _, err := host.Target(said, 443)
	if err != nil || !strings.ContainsAny(name, ".:") { // a word of a sentence
		return "", false
	}
	return name, false
}

// unreached are the hosts that the output of a run says it did not reach, and
// whether any line says so in a form that is hardly anything else.
func unreached(output string) (hosts []string, clear bool) {
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) > 1000 {
			continue
		}
		name, here := hostIn(line)
		clear = clear || name != "" || !here && saysFamily().MatchString(line)
		if name != "" && len(hosts) < maxRefusals && !slices.Contains(hosts, name) {
			hosts = append(hosts, name)
		}
	}
	return hosts, clear
}

// shown is what the output of a run shows that the sandbox refused, and a note that
// says so and how to allow it. Of a run that did not fail it is the network only,
// and only where code ran: what reads files prints what others said.
func (c *confined) shown(output string, failed bool) (seen []string, note string) {
	hosts, clear := unreached(output)
	clear = clear && c.plan.policy.Network == sandbox.NoNetwork && c.box.Enforcement().Network
	if failed {
		seen = c.refusals(output)
	} else if clear && c.code {
		for _, h := range hosts {
			seen = append(seen, strings.TrimSpace(network+" "+h))
		}
		if len(hosts) == 0 {
			seen = []string{network}
		}
	}
	if len(seen) == 0 {
		return nil, ""
	}
	var advice []string
	if clear {
		advice = append(advice, c.offline(hosts))
	}
	if !clear || slices.ContainsFunc(seen, func(s string) bool { return !strings.HasPrefix(s, network) }) {
		advice = append(advice, c.more(seen))
	}
	return seen, "the sandbox refused: " + listed(seen) + ". " + strings.Join(advice, ". ")
}

// network is what a refusal of it is called, before the host.
const network = "the network"

// targets are the paths that a call names.
func targets(f *guard.Facts) (paths []string) {
	for _, e := range f.Effects {
		if e.Exact && strings.HasPrefix(e.Target, "/") {
			paths = append(paths, e.Target)
		}
	}
	return paths
}

// more says how a call gets the power that was refused. What it has named already
// it need not name again.
func (c *confined) more(seen []string) string {
	if c.shared {
		return "Only the workspace is there on a server for several principals; name hosts in the command itself"
	}
	if !slices.ContainsFunc(seen, func(s string) bool {
		return !slices.ContainsFunc(c.named, func(path string) bool { return strings.HasSuffix(s, " "+path) })
	}) {
		return "The call names it already: copy it into the workspace, or repeat the call with `escalate`: \"why\", which asks a person for this one run with more power"
	}
	return "Name the path or host in the command itself, so that it can be judged, or repeat the call with `escalate`: \"why\", which asks a person for this one run with more power"
}

// runsCode reports whether a call runs more than programs of the command table
// that only do what is known of them.
func runsCode(f *guard.Facts) bool {
	return slices.ContainsFunc(f.Effects, func(e guard.Effect) bool {
		return e.Kind == guard.Code || e.Kind == guard.Install || e.Kind == guard.Unknown || e.Kind == guard.Exec && e.Action != ""
	})
}

// offline says that a run had no network, what its output names as not reached,
// and how a host can be allowed. The advice itself names none: whoever wrote the
// output would choose what is recommended.
func (c *confined) offline(hosts []string) string {
	say := ""
	if len(hosts) > 0 {
		say = "Its output names " + hosts[0] + ": whether the task needs that host is not for the output to say. "
	}
	say += "Reach a host that the task needs in a call of its own by a command that names it (`curl https://HOST/`), so that it can be judged; `hosts` in the user's config.yaml spares the question"
	if !c.shared {
		say += ". What code reaches by itself needs `escalate`: \"why\", which asks a person for this one run with more power"
	}
	return say
}

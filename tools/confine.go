package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/host"
	"handrail/tools/egress"
	"handrail/tools/sandbox"
)

// escalation is the effect of a call that asks to run without the limits of its
// sandbox. It stands in the facts, so that a person is asked and no grant of the
// call without it covers it.
func (a *BashArgs) escalation() guard.Effect {
	return guard.Effect{Kind: guard.Privilege, Action: "uncontained", Target: "the whole call", Note: "the agent says: " + clip(a.Escalate, 300), From: -1, Exact: true, Command: -1}
}

// escalated reports whether facts ask for that.
func escalated(f *guard.Facts) bool {
	return slices.ContainsFunc(f.Effects, func(e guard.Effect) bool { return e.Kind == guard.Privilege && e.Action == "uncontained" })
}

// confined is what holds one run.
type confined struct {
	plan  *plan
	box   sandbox.Sandbox
	proxy egress.Ledger // what the proxy refused
	roots []string
	// shared says that the server is others' too, code that more runs than what is
	// known.
	shared, code bool
	named        []string // the paths that the call names
}

// confine finds what holds a call that may run, and with what power; what that
// needs in the workspace is still to be made. An error says that nothing may run.
func (j *job) confine(ctx context.Context, facts *guard.Facts) (*confined, error) {
	if j.box.Sandbox == nil {
		return nil, errors.New("the server is not set up: nothing says what holds commands")
	}
	box, err := j.box.boxes.get(j.call.Session, j.call.Roots, func() (sandbox.Sandbox, error) { return j.box.Sandbox(j.call.Roots, j.scratch) })
	if err != nil {
		return nil, err
	}
	held := box.Enforcement()
	d := j.decided
	switch {
	case d == nil:
		return nil, errors.New("no verdict allows it")
	case d.Contained && !held.Contains():
		return nil, fmt.Errorf("it may run only where the sandbox holds it, and the sandbox of this session (%s) does not; %s", held.Tier,
			j.toldOr("repeat the call with `escalate`, so that a person is asked", "tell the user that the operator of the server is to look into it"))
	}
	escalate := escalated(facts)
	if escalate && !d.Granted {
		return nil, errors.New("`escalate` needs a person's approval of exactly this call")
	}
	profile := j.box.Profile
	profile.Scratch, profile.guarded = j.scratch, &j.box.guarded
	if profile.Home == "" {
		profile.Home = j.box.Reader.Home
	}
	c := &confined{box: box, roots: j.call.Roots, named: targets(facts), code: runsCode(facts), plan: profile.plan(authority{facts: facts, roots: j.call.Roots, granted: d.Granted, escalate: escalate})}
	if j.box.Shared {
		c.shared = true
		c.plan.narrow(profile.Home)
		if err := c.plan.alone(); err != nil {
			return nil, err
		}
		if !Apart(held) {
			return nil, fmt.Errorf("the sandbox of this session (%s) does not keep principals apart", held.Tier)
		}
	}
	if c.plan.outside && held.Tier != sandbox.None {
		if c.box, err = j.box.boxes.get(j.call.Session, append([]string{"outside"}, j.call.Roots...), func() (sandbox.Sandbox, error) {
			return sandbox.Open(sandbox.Settings{Tier: sandbox.None, Roots: j.call.Roots, Home: profile.Home})
		}); err != nil {
			return nil, err
		}
	}
	if err := c.network(j.box.Egress); err != nil {
		return nil, err
	}
	return c, nil
}

// narrow takes from a plan all that lies outside the workspace and home: on a
// server that is others' too, naming a path gives nothing of it. So a command
// that lists /tmp sees its own.
func (p *plan) narrow(home string) {
	outside := func(path string) bool { return home == "" || !below(path, []string{home}) }
	p.policy.Read, p.policy.Write = slices.DeleteFunc(p.policy.Read, outside), slices.DeleteFunc(p.policy.Write, outside)
}

// alone says by an error why a plan gives more than a server has to give that is
// others' too: there nobody who can be asked has that power.
func (p *plan) alone() error {
	switch {
	case p.outside, p.policy.Open:
		return errors.New("it would run outside the limits of its sandbox, which nobody can approve on a server for several principals")
	case p.policy.Network == sandbox.Full:
		return errors.New("it would reach the whole network of the server, which nobody can approve on a server for several principals; name the host")
	}
	return nil
}

// Apart reports whether a sandbox keeps principals from each other who share a
// Unix user: files, processes and sockets of one are not there for another.
func Apart(e sandbox.Enforcement) bool {
	return e.Contains() && e.Sockets && e.Protected && (e.Tier == sandbox.Bwrap || e.Tier == sandbox.Namespaces)
}

// network makes the way out of a run that reaches hosts by name.
func (c *confined) network(way egress.Proxy) (err error) {
	if c.plan.policy.Network == sandbox.NoNetwork && c.box.Enforcement().Network {
		maps.Copy(c.plan.env, Offline)
	}
	if c.plan.policy.Network != sandbox.Domains {
		return nil
	}
	if way.Hosts, err = host.Parse(c.plan.hosts...); err != nil {
		return fmt.Errorf("the hosts that it names: %w", err)
	}
	way.Log = c.proxy.Add
	if tier := c.box.Enforcement().Tier; tier == sandbox.Seatbelt || tier == sandbox.Landlock { // its listener stands on this machine's loopback
		way.Token = rand.Text()
		c.plan.policy.ProxyToken = way.Token
	}
	c.plan.policy.Proxy = func(l net.Listener) { go func() { _ = way.Serve(l) }() }
	return nil
}

// clear removes what was made for the run; nil has nothing.
func (c *confined) clear() {
	if c != nil {
		c.plan.clear()
	}
}

// environment is that of the run.
func (c *confined) environment(env map[string]string) map[string]string {
	if len(c.plan.env) == 0 {
		return env
	}
	env = maps.Clone(env)
	maps.Copy(env, c.plan.env)
	return env
}

// said is what held the run, for the result and the audit.
func (c *confined) said() *audit.Confinement {
	e := c.box.Enforcement()
	said := &audit.Confinement{Tier: string(e.Tier), Network: "none", Power: "contained"}
	for _, h := range []struct {
		name  string
		holds bool
	}{{"writes", e.Writes}, {"reads", e.Reads}, {"network", e.Network}, {"sockets", e.Sockets}, {"processes", e.Processes}, {"protected", e.Protected}, {"limits", e.Limits}} {
		if h.holds {
			said.Holds = append(said.Holds, h.name)
		}
	}
	p := c.plan.policy
	switch {
	case e.Tier == sandbox.None:
		said.Network, said.Power, said.Holds = "full", "none", nil
	case p.Open:
		said.Network, said.Power = "full", "open"
		said.Holds = slices.DeleteFunc(said.Holds, func(h string) bool { return slices.Contains([]string{"writes", "reads", "network", "sockets"}, h) })
	case p.Network == sandbox.Full || !e.Network:
		said.Network = "full"
		said.Holds = slices.DeleteFunc(said.Holds, func(h string) bool { return h == "network" })
	case p.Network == sandbox.Domains:
		said.Network = "domains"
	}
	if c.plan.outside {
		said.Power = "outside"
	}
	return said
}

// short says it in a few words.
func short(c *audit.Confinement) string {
	switch c.Power {
	case "none":
		return "no sandbox"
	case "outside":
		return "ran outside the sandbox, as a person approved"
	case "open":
		return "sandbox " + c.Tier + " without its limits, as a person approved"
	}
	return fmt.Sprintf("sandbox %s, network: %s", c.Tier, c.Network)
}

// told adds to a result what held the run and what it refused, and returns it in
// words.
func (c *confined) told(e *ending, res *Result) (notes []string) {
	res.Sandbox = c.said()
	notes = append(notes, short(res.Sandbox))
	notes = append(notes, c.plan.notes...)
	if e.Exceeded != "" {
		res.Sandbox.Exceeded = e.Exceeded
		notes = append(notes, fmt.Sprintf("ended because it went over the limit on %s; the limits are the user's to change", e.Exceeded))
	}
	if limit := c.exceeded(res); e.Exceeded == "" && limit != "" {
		res.Sandbox.Exceeded = limit
		notes = append(notes, fmt.Sprintf("its output shows that it reached the limit on %s; the limits are the user's to change", limit))
	}
	if len(e.Restored) > 0 {
		res.Sandbox.Restored = slices.Clone(e.Restored) // an output is told of more than once
		notes = append(notes, "protected files that were made or changed while it ran were put back as they were: "+listed(e.Restored))
	}
	if e.Code != 0 && waited(res.Stderr+"\n"+res.Stdout) {
		notes = append(notes, "commands get no standard input and no terminal: give answers as options, or by a here-document")
	}
	refused, more := c.proxy.Refused()
	for _, r := range refused {
		res.Sandbox.Refused = append(res.Sandbox.Refused, r.Host)
		notes = append(notes, r.Advice())
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more hosts", more))
	}
	for _, f := range c.proxy.Failed() {
		notes = append(notes, f.Advice())
	}
	if res.Sandbox.Power != "contained" {
		return notes
	}
	output := res.Stderr + "\n" + res.Stdout
	if e.Code != 0 {
		notes = append(notes, c.advice(output)...)
	}
	if seen, note := c.shown(output, e.Code != 0); note != "" {
		res.Sandbox.Refused = append(res.Sandbox.Refused, seen...)
		notes = append(notes, note)
	}
	return notes
}

// listed joins some words and counts the rest.
func listed(words []string) string {
	const most = 5
	text := ""
	for i, w := range words {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(words)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += w
	}
	return text
}

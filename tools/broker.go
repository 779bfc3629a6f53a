package tools

import (
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
)

// tokens are where programs keep the token of the service that they speak to,
// below the home directory.
var tokens = map[string]string{"gh": ".config/gh", "glab": ".config/glab-cli", "hub": ".config/hub"}

// engines are programs that only speak to a service of this machine, by a socket
// that no sandbox has.
var engines = []string{"docker", "docker-compose", "podman", "nerdctl"}

// brokered are effects of what a call needs that is the user's own and that no
// sandbox has: a connection by ssh with the user's keys, a token, an engine's
// socket. They stand in the facts so that a person is asked once, with a clear
// question, for this call or this session, where nothing that was not read would
// have it too. Where nothing holds commands they have all that already.
func (j *job) brokered(facts *guard.Facts) (effects []guard.Effect) {
	if j.box.Guard == nil || j.box.Guard.Hold < guard.Held || j.box.Shared || !allRead(facts, true) {
		return nil
	}
	add := func(command int, target, note string) {
		e := guard.Effect{Kind: guard.Privilege, Action: "brokered", Target: target, Note: note, From: -1, Exact: true, Command: command}
		if !slices.Contains(effects, e) {
			effects = append(effects, e)
		}
	}
	for i := range facts.Effects {
		for _, host := range overSSH(facts, i, j.call.Roots) {
			add(facts.Effects[i].Command, "ssh to "+host, "with your keys, outside the limits of the sandbox; the repository's hooks are off meanwhile")
		}
		if name := commandOf(facts, i); tokens[name] != "" && facts.Effects[i].Kind == guard.Remote {
			add(facts.Effects[i].Command, "~/"+tokens[name], "it reads your token for "+facts.Effects[i].Target)
		}
	}
	for i, c := range facts.Commands {
		if slices.Contains(engines, c.Name) && slices.ContainsFunc(facts.Effects, func(e guard.Effect) bool { return e.Command == i }) &&
			!slices.ContainsFunc(facts.Effects, machine) && !asksOnlyItself(c) {
			add(i, "the engine of "+c.Name, "it runs outside the sandbox")
		}
	}
	return effects
}

// asksOnlyItself reports whether a command only shows what the program is.
func asksOnlyItself(c guard.Command) bool {
	return len(c.Args) == 0 || slices.ContainsFunc(c.Args, func(w guard.Word) bool { return w.Text == "--help" || w.Text == "--version" || w.Text == "help" })
}

// broker reports whether an effect asks for what only a person can lend.
func broker(e guard.Effect) bool { return e.Kind == guard.Privilege && e.Action == "brokered" }

// commandOf is the name of the command that does effect i, or "".
func commandOf(f *guard.Facts, i int) string {
	if at := f.Effects[i].Command; at >= 0 && at < len(f.Commands) {
		return f.Commands[at].Name
	}
	return ""
}

// overSSH are the hosts that git reaches by ssh in effect i: those of the remotes
// of the repository, or of the address that the call names.
func overSSH(f *guard.Facts, i int, roots []string) (hosts []string) {
	e := f.Effects[i]
	if commandOf(f, i) != "git" {
		return nil
	}
	switch e.Kind {
	case guard.Network:
		if r := remoteOf(e.Written); r.ssh {
			hosts = append(hosts, r.host)
		}
	case guard.Remote:
		for _, r := range remotes(f.Dir, roots) {
			if r.ssh && !slices.Contains(hosts, r.host) {
				hosts = append(hosts, r.host)
			}
		}
	}
	return hosts
}

// lend gives a plan what a person lent to the call.
func (pl *plan) lend(p *Profile, a authority, e guard.Effect) {
	switch name, _ := strings.CutPrefix(e.Target, "~/"); {
	case strings.HasPrefix(e.Target, "ssh to "):
		pl.overSSH(p)
	case name != e.Target && p.Home != "":
		pl.policy.Read = append(pl.policy.Read, filepath.Join(p.Home, name))
	case e.Command >= 0 && e.Command < len(a.facts.Commands) && slices.Contains(engines, a.facts.Commands[e.Command].Name):
		pl.outside = true
	}
}

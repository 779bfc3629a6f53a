package rules

import (
	"fmt"
	"slices"
	"strings"

	"handrail/guard"
)

// question is one row of the table of effects that a person must approve
// whatever their target is.
type question struct {
	id      string
	kind    guard.Kind
	actions []string // none: all
	says    string   // %[1]s is the program, %[2]s the target
	instead string
	doc     string
}

// questions is the ask list of BitCode's tool guards and its kin.
var questions = []question{
	{"priv/escalation", guard.Privilege, []string{""}, "%[1]s would run with more rights than you gave (%[2]s)", "run it without more rights", "Asks before rights are gained: sudo, su, doas, setuid bits. Source: the ask list of BitCode's tool guards."},
	{"priv/brokered", guard.Privilege, []string{"brokered"}, "%[1]s needs what no sandbox has: %[2]s", "leave it to the user, or do without", "Asks before something of the user's own is lent to a contained call: a connection by ssh with their keys, a token, the socket of a container engine."},
	{"vcs/force-push", guard.Remote, []string{"force-push"}, "%[1]s would overwrite commits in %[2]s", "push to a new branch: `git switch -c fix`, then a plain push", "Asks before commits elsewhere may be lost. Source: the ask list of BitCode's tool guards."},
	{"vcs/discard", guard.Delete, []string{"discard"}, "%[1]s would throw away work that version control cannot bring back, in %[2]s", "keep a copy first: `git stash`", "Asks before uncommitted, unreachable or untracked work is lost: reset --hard, clean, checkout of paths, stash drop, branch -D. Source: the ask list of BitCode's tool guards."},
	{"remote/publish", guard.Remote, []string{"publish"}, "%[1]s would publish to %[2]s, which cannot be taken back", "show what would be published first", "Asks before a package, image or release is published. Source: the ask list of BitCode's tool guards."},
	{"remote/deploy", guard.Remote, []string{"deploy"}, "%[1]s would change what runs in %[2]s", "show the plan first", "Asks before something is deployed or applied elsewhere."},
	{"remote/delete", guard.Remote, []string{"delete"}, "%[1]s would delete in %[2]s", "list what would be deleted first", "Asks before something is deleted elsewhere: buckets, tables, clusters, repositories."},
	{"remote/admin", guard.Remote, []string{"admin"}, "%[1]s would change access, keys, secrets or billing of %[2]s", "describe the change and let the user make it", "Asks before access elsewhere is changed."},
	{"net/listen", guard.Network, []string{"listen"}, "%[1]s would accept connections on %[2]s", "bind a port of this machine through the project's own scripts, or ask the user", "Asks before a port is opened that other machines can reach."},
	{"net/scan", guard.Network, []string{"scan"}, "%[1]s would scan %[2]s", "ask the user which hosts and ports are meant", "Asks before hosts are scanned."},
	{"net/shell", guard.Network, []string{"shell"}, "%[1]s would open a shell or channel with %[2]s", "give the user the command to run there", "Asks before a shell is opened elsewhere, or to here: ssh, nc -e."},
	{"persist/schedule", guard.Persist, []string{"schedule"}, "%[1]s would make something run later by itself: %[2]s", "give the user the line to add", "Asks before cron, at or timers are changed."},
	{"persist/service", guard.Persist, []string{"service"}, "%[1]s would install or enable the service %[2]s", "start it in the foreground for as long as you need it", "Asks before a service is installed or enabled."},
	{"persist/startup", guard.Persist, []string{"startup"}, "%[1]s would run at every start: %[2]s", "give the user the line to add", "Asks before start-up files are changed."},
	{"persist/hook", guard.Persist, []string{"hook"}, "%[1]s would set a hook or setting that can make other programs run something: %[2]s", "describe the hook and let the user add it", "Asks before hooks of git, package managers or the shell are set."},
	{"persist/other", guard.Persist, []string{""}, "%[1]s would leave something that runs later: %[2]s", "describe what should stay and let the user add it", "Asks before anything else stays that runs later."},
	{"sys/power", guard.System, []string{"power"}, "%[1]s would shut down, restart or suspend the machine", "ask the user to do it", "Asks before the machine goes down."},
	{"sys/mount", guard.System, []string{"mount"}, "%[1]s would change mounts, disks or swap: %[2]s", "ask the user to do it", "Asks before mounts, partitions, volumes or swap are changed."},
	{"sys/user", guard.System, []string{"user"}, "%[1]s would change accounts or groups: %[2]s", "ask the user to do it", "Asks before accounts, passwords or groups are changed."},
	{"sys/service", guard.System, []string{"service"}, "%[1]s would start, stop or change the service %[2]s", "ask the user to do it", "Asks before services are started or stopped."},
	{"sys/firewall", guard.System, []string{"firewall"}, "%[1]s would change packet filters, routes or interfaces: %[2]s", "ask the user to do it", "Asks before the network set-up is changed."},
	{"sys/kernel", guard.System, []string{"kernel"}, "%[1]s would change the kernel: %[2]s", "ask the user to do it", "Asks before modules or kernel parameters are changed."},
	{"sys/container", guard.System, []string{"container"}, "%[1]s would start, enter or change a container: %[2]s", "run it in the workspace without a container, or let the user start it", "Asks before a container runs or its engine is changed. Source: the ask list of BitCode's tool guards (docker run, docker exec)."},
	{"sys/environment", guard.System, []string{"environment"}, "%[2]s makes an innocent program run other code", "run the other program by its name", "Asks before an assignment that makes programs run other code: LD_PRELOAD, PATH, GIT_SSH_COMMAND, BASH_ENV, PAGER."},
	{"sys/secret", guard.System, []string{"secret"}, "%[1]s would print, send, make or remove credentials: %[2]s", "name the credential that you need and let the user provide it", "Asks before credentials or keys are printed, created or removed."},
	{"sys/other", guard.System, []string{""}, "%[1]s would change the machine: %[2]s", "ask the user to do it", "Asks before anything else of the machine is changed."},
}

// asks is the family of what a person must approve.
func asks() []guard.Rule {
	rules := make([]guard.Rule, 0, len(questions)+1)
	for _, q := range questions {
		rules = append(rules, each(q.id, q.doc, only(q.kind, q.actions...), func(p *guard.Pass, i int, e guard.Effect) {
			if e.Kind == guard.Network && e.Action == "listen" && private(e) {
				p.Report(i, guard.VerdictAllow, "a port for this machine alone", "")
				return
			}
			p.Report(i, guard.VerdictAsk, because(fmt.Sprintf(q.says, actor(p, i), target(e))+losing(e), e), q.instead)
		}))
	}
	rules = append(rules, each("sys/process",
		"Asks before processes are signalled or traced that this call did not start; its own background jobs (%1, $!) are free.",
		only(guard.System, "process"),
		func(p *guard.Pass, i int, e guard.Effect) {
			if ownJob(e) {
				p.Report(i, guard.VerdictAllow, "a background job of this call", "")
				return
			}
			p.Report(i, guard.VerdictAsk, because(fmt.Sprintf("%s would signal %s, which this call did not start", actor(p, i), target(e)), e), "end only jobs that you started in the same call, as %1 or $!")
		}))
	rules = append(rules, fixed(each("priv/uncontained",
		"Asks, in every profile, before a call runs without the limits of its sandbox (the argument escalate).",
		only(guard.Privilege, "uncontained"),
		func(p *guard.Pass, i int, e guard.Effect) {
			p.Report(i, guard.VerdictAsk, because("it would run without the limits of the sandbox, with all of your rights on files and the whole network", e),
				"repeat it without `escalate`, and name the files and hosts it needs in the command itself")
		})))
	return append(rules, each("code/hidden",
		"Asks about what cannot be known before it runs: a computed command name, code from an unknown source, text past the limits, what is no bash.",
		only(guard.Unknown),
		func(p *guard.Pass, i int, e guard.Effect) {
			reason := "it cannot be told what this would do"
			if e.Target != "" {
				reason += ": " + e.Target
			}
			if e.Action == "limits" {
				reason = "this is too large to judge: " + e.Target
			}
			p.Report(i, guard.VerdictAsk, because(reason, e), "write the command out plainly, without computed names or code")
		}))
}

// losing ends a reason with what an effect would take, where that was counted.
func losing(e guard.Effect) string {
	if e.Loss == nil || e.Loss.Files == 0 && !e.Loss.More {
		return ""
	}
	return ": " + e.Loss.String()
}

// target names the target of an effect that is no path.
func target(e guard.Effect) string {
	switch {
	case e.Target != "":
		return e.Target
	case e.Written != "":
		return "what " + e.Written + " is"
	}
	return "something that cannot be told before it runs"
}

// ownJob reports whether a signal goes to a background job of the same shell:
// no other process can be named in these ways.
func ownJob(e guard.Effect) bool {
	if e.Exact && strings.HasPrefix(e.Target, "%") { // however it is quoted
		return true
	}
	last := strings.Trim(e.Written, `"`)
	return last == "$!" || last == "${!}" || e.Target == "$!" // also by way of a variable
}

// because adds the note of an effect to a reason.
func because(reason string, e guard.Effect) string {
	if e.Note == "" {
		return reason
	}
	return reason + " (" + e.Note + ")"
}

// upstream walks from effect i to the effects whose data it takes: along
// Effect.From, and along the pipeline that feeds its command. It calls visit for
// each, i not among them, and stops where visit reports true.
func upstream(p *guard.Pass, i int, visit func(e guard.Effect) bool) bool {
	effects, commands := p.Facts.Effects, p.Facts.Commands
	seen := []int{i}
	for from := effects[i].From; from >= 0 && from < len(effects) && !slices.Contains(seen, from); from = effects[from].From {
		seen = append(seen, from)
		if visit(effects[from]) {
			return true
		}
	}
	fed := map[int]bool{}
	for _, s := range seen {
		c := effects[s].Command
		for c >= 0 && c < len(commands) {
			if c = commands[c].From; c < 0 || fed[c] {
				break
			}
			fed[c] = true
		}
	}
	for _, e := range effects {
		if fed[e.Command] && visit(e) {
			return true
		}
	}
	return false
}

package tools

import (
	"cmp"
	"fmt"
	"slices"

	"handrail/guard"
)

// act names an effect by kind and action.
type act struct {
	kind   guard.Kind
	action string
}

// phrases say in plain words what an effect does; %s is its target.
var phrases = map[act]string{
	{guard.Unknown, ""}: "does something that cannot be known before it runs: %s", {guard.Unknown, "limits"}: "is too long or too deep to be read: %s",
	{guard.Unknown, "unparsed"}: "cannot be read as a bash script: %s",
	{guard.Read, ""}:            "reads %s", {guard.Read, "list"}: "lists %s",
	{guard.Write, ""}: "writes %s", {guard.Write, "append"}: "appends to %s", {guard.Write, "create"}: "creates %s",
	{guard.Write, "metadata"}: "changes mode, owner or times of %s", {guard.Write, "format"}: "formats or overwrites the disk %s",
	{guard.Delete, ""}: "deletes %s", {guard.Delete, "discard"}: "discards work that is not saved in %s",
	{guard.Delete, "shred"}: "destroys %s past recovery",
	{guard.Exec, ""}:        "runs %s", {guard.Exec, "unlisted"}: "runs %s, a program that the guard does not know",
	{guard.Exec, "unread"}: "runs %s in a way that the guard does not know",
	{guard.Code, ""}:       "runs the code in %s", {guard.Code, "project"}: "runs code of the project: %s",
	{guard.Code, "inline"}: "runs code given on the command line: %s", {guard.Code, "stdin"}: "runs code that comes through a pipe: %s",
	{guard.Code, "downloaded"}: "runs code from the network: %s",
	{guard.Install, "project"}: "installs the packages that the project names: %s",
	{guard.Install, "add"}:     "adds the package %s to the project", {guard.Install, "global"}: "installs %s for your user",
	{guard.Install, "system"}: "installs %s for the whole machine", {guard.Install, "remove"}: "removes the package %s",
	{guard.Network, ""}: "reaches %s", {guard.Network, "send"}: "sends data to %s",
	{guard.Network, "listen"}: "opens a port: %s", {guard.Network, "scan"}: "scans %s", {guard.Network, "shell"}: "opens a shell on %s",
	{guard.Remote, ""}: "changes %s", {guard.Remote, "read"}: "looks at %s", {guard.Remote, "push"}: "pushes to %s",
	{guard.Remote, "force-push"}: "force-pushes to %s: commits there may be lost", {guard.Remote, "publish"}: "publishes to %s",
	{guard.Remote, "deploy"}: "deploys to %s", {guard.Remote, "delete"}: "deletes on %s", {guard.Remote, "admin"}: "changes access or secrets of %s",
	{guard.Privilege, ""}: "gains rights: runs %s", {guard.Privilege, "brokered"}: "is lent what is yours: %s", {guard.Privilege, "uncontained"}: "runs without the limits of the sandbox, with your rights on all files and the whole network: %s",
	{guard.Persist, ""}: "will run later by itself: %s", {guard.Persist, "schedule"}: "schedules something to run later: %s",
	{guard.Persist, "service"}: "sets up a service: %s", {guard.Persist, "startup"}: "will run at every start: %s",
	{guard.Persist, "hook"}: "sets up a hook or setting that can run something later: %s",
	{guard.System, ""}:      "changes the machine: %s", {guard.System, "process"}: "sends a signal to processes: %s",
	{guard.System, "power"}: "shuts down or restarts the machine: %s", {guard.System, "mount"}: "changes mounts or disks: %s",
	{guard.System, "user"}: "changes accounts: %s", {guard.System, "service"}: "starts or stops a service: %s",
	{guard.System, "firewall"}: "changes the network of the machine: %s", {guard.System, "kernel"}: "changes the kernel: %s",
	{guard.System, "container"}: "starts, enters or changes a container: %s", {guard.System, "fork-bomb"}: "starts processes without end: %s",
	{guard.System, "environment"}: "makes programs run other code by a variable: %s",
	{guard.System, "secret"}:      "shows, makes or removes a credential: %s",
}

// weight orders kinds for people, most serious first.
var weight = map[guard.Kind]int{
	guard.Privilege: 0, guard.System: 1, guard.Delete: 2, guard.Unknown: 3, guard.Remote: 4, guard.Persist: 5,
	guard.Install: 6, guard.Code: 7, guard.Write: 8, guard.Network: 9, guard.Exec: 10, guard.Read: 11,
}

// Describe says in plain words what an effect does: "deletes /tmp/x and
// everything below it". The target is not made visible: whoever shows it does that.
func Describe(e guard.Effect) string {
	phrase, ok := phrases[act{e.Kind, e.Action}]
	if !ok {
		phrase = "does (" + e.Kind.String() + " " + e.Action + ") something to %s"
	}
	target := e.Target
	if target == "" {
		target = cmp.Or(e.Written, "something that is not named")
	}
	switch path := e.Kind == guard.Read || e.Kind == guard.Write || e.Kind == guard.Delete; {
	case path && !e.Exact && e.Deep:
		target = "something at or below " + target + ", with everything below that"
	case path && !e.Exact:
		target = "something at or below " + target
	case path && e.Deep:
		target += " and everything below it"
	}
	text := fmt.Sprintf(phrase, target)
	if e.Loss != nil {
		text += " (" + e.Loss.String() + ")"
	}
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	return text
}

// shownMax is how many effects a question lists.
const shownMax = 20

// inWords lists the effects of a call for the person who is asked: first those
// that d asks about, then by weight, each once.
func inWords(facts *guard.Facts, d *guard.Decision) []string {
	asked := map[int]bool{}
	for _, f := range d.Findings {
		asked[f.Effect] = asked[f.Effect] || f.Verdict == d.Verdict
	}
	order := make([]int, len(facts.Effects))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int {
		r := weight[facts.Effects[i].Kind]
		if !asked[i] {
			r += len(weight)
		}
		return r
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	var out []string
	for _, i := range order {
		if s := Describe(facts.Effects[i]); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if more := len(out) - shownMax; more > 0 {
		out = append(out[:shownMax], fmt.Sprintf("… and %d more effects", more))
	}
	return out
}

package rules

import (
	"fmt"
	"slices"

	"handrail/guard"
)

// Entry is one row of the default policy: what holds for effects about which no
// other rule spoke.
type Entry struct {
	ID      string
	Kind    guard.Kind
	Actions []string // none: all
	// When says in words to which of these effects the row applies; empty: to
	// all of them.
	When    string
	Verdict guard.Verdict
	Reason  string
	Instead string // for the stricter verdicts

	when func(*guard.Pass, guard.Effect) bool
}

// Defaults is the default policy; the first row that fits counts. What no row
// fits is asked about. Source: the default policy of BitCode's tool guards.
func Defaults(pol Policy) []Entry {
	allow, ask, llm := guard.VerdictAllow, guard.VerdictAsk, guard.VerdictLLM
	inRoots := func(p *guard.Pass, e guard.Effect) bool { return isPath(e.Target) && inside(p.Roots, e.Target) }
	ours := func(p *guard.Pass, e guard.Effect) bool { return !isPath(e.Target) || inRoots(p, e) } // a task's name, or a path
	tree := func(p *guard.Pass, e guard.Effect) bool {
		return (e.Deep || !e.Exact) && !within(p.Scratch, e.Target) // what mktemp named is the session's own
	}
	owner := func(p *guard.Pass, e guard.Effect) bool {
		return e.Deep || e.Command >= 0 && e.Command < len(p.Facts.Commands) && slices.Contains([]string{"chown", "chgrp"}, p.Facts.Commands[e.Command].Name)
	}
	file := func(_ *guard.Pass, e guard.Effect) bool { return e.Loss != nil && e.Loss.Lost() > 0 }
	lost := func(p *guard.Pass, e guard.Effect) bool { return tree(p, e) && file(p, e) }
	back := func(_ *guard.Pass, e guard.Effect) bool { return e.Loss.Recoverable() }
	return []Entry{
		{"default/read", guard.Read, nil, "", allow, "reading is free here", "", nil},
		{"default/mode", guard.Write, []string{"metadata"}, "of a whole tree, or by chown", llm, "changes the owner, or a whole tree", "name single files", owner},
		{"default/write", guard.Write, []string{"", "append", "create", "metadata"}, "", allow, "writing is free here", "", nil},
		{"default/format", guard.Write, []string{"format"}, "", ask, "writes a file system or partition table", "format an image file that the user named", nil},
		{"default/delete", guard.Delete, []string{""}, "that git or this session could bring back", allow, "nothing would be lost for good", "", back},
		{"default/delete-lost", guard.Delete, []string{""}, "of a tree with files that nothing could bring back", ask, "deletes files that nothing could bring back", "look at them first: `git status --short`; commit or move what is to stay", lost},
		{"default/delete-tree", guard.Delete, []string{""}, "of a whole tree, or of names that are not known yet", llm, "deletes a whole tree", "name the files, or let git do it: `git status` shows what it could bring back", tree},
		{"default/delete-file", guard.Delete, []string{""}, "of a file that nothing could bring back", llm, "deletes a file that nothing could bring back", "keep it under another name, or commit it first", file},
		{"default/delete", guard.Delete, []string{""}, "of single files", allow, "deleting single files is free here", "", nil},
		{"default/shred", guard.Delete, []string{"shred"}, "", ask, "destroys files past recovery", "delete the file plainly", nil},
		{"default/command", guard.Exec, []string{""}, "", allow, "a known command, used in a known way", "", nil},
		{"default/unlisted", guard.Exec, []string{"unlisted"}, "", llm, "a program that is not in the command table", "use a program that is commonly known for this", nil},
		{"default/unread", guard.Exec, []string{"unread"}, "", llm, "an option or subcommand that is not in the command table", "use its usual options, and look them up with `man`", nil},
		{"default/project-code", guard.Code, []string{"project"}, "of the workspace", allow, "code of the project", "", ours},
		{"default/script", guard.Code, []string{""}, "of the workspace", allow, "a script of the workspace", "", inRoots},
		{"default/foreign-script", guard.Code, []string{"", "project"}, "from elsewhere", llm, "code from outside the workspace", "copy the script into the workspace and read it first", nil},
		{"default/inline-code", guard.Code, []string{"inline"}, "", llm, "code on the command line", "put the code into a file of the workspace and run that", nil},
		{"default/piped-code", guard.Code, []string{"stdin"}, "", ask, "code from a pipe", "put the code into a file of the workspace and run that", nil},
		{"default/restore", guard.Install, []string{"project"}, "of the workspace", allow, "installs what the project names", "", ours},
		{"default/install", guard.Install, []string{"add", "remove", "project"}, "", llm, "adds or removes a package of the project", "add it to the project's manifest and let the user install it", nil},
		{"default/install-global", guard.Install, []string{"", "global", "system"}, "", ask, "installs outside the project", "install it in the project, or let the user install it", nil},
		{"default/host", guard.Network, []string{""}, "this machine and known hosts", allow, "this machine or a known host", "", nil},
		{"default/send", guard.Network, []string{"send"}, "to this machine", llm, "sends data to a service of this machine", "use the project's own tests or client", nil},
		{"default/look", guard.Remote, []string{"read"}, "", allow, "looks at another system", "", nil},
		{"default/push", guard.Remote, []string{"push"}, "", llm, "pushes commits", "commit, and let the user push", nil},
		{"default/remote", guard.Remote, []string{""}, "", llm, "changes another system", "show the change and let the user make it", nil},
	}
}

// defaultRules makes one rule of the default policy for each ID.
func defaultRules(pol Policy) []guard.Rule {
	table := Defaults(pol)
	var rules []guard.Rule
	for i, row := range table {
		if slices.ContainsFunc(table[:i], func(r Entry) bool { return r.ID == row.ID }) {
			continue
		}
		id := row.ID
		rules = append(rules, guard.Rule{ID: id, Doc: "The default policy: " + row.Reason + ".", Evaluate: func(p *guard.Pass) {
			for i, e := range p.Facts.Effects {
				if e.Kind != row.Kind {
					continue
				}
				if fits := lookup(table, p, e); fits != nil && fits.ID == id {
					p.Report(i, fits.Verdict, because(fits.reason(p, i, e), e), fits.Instead)
				}
			}
		}})
	}
	return rules
}

// lookup returns the first row that fits e, or nil.
func lookup(table []Entry, p *guard.Pass, e guard.Effect) *Entry {
	for i := range table {
		r := &table[i]
		if r.Kind == e.Kind && (len(r.Actions) == 0 || slices.Contains(r.Actions, e.Action)) && (r.when == nil || r.when(p, e)) {
			return r
		}
	}
	return nil
}

// reason says the row's reason about one effect.
func (r *Entry) reason(p *guard.Pass, i int, e guard.Effect) string {
	switch {
	case r.Verdict == guard.VerdictAllow && e.Kind == guard.Delete && e.Loss.Recoverable():
		return fmt.Sprintf("%s: %s, %s", would(p, i), e.Loss, r.Reason)
	case r.Verdict == guard.VerdictAllow:
		return r.Reason
	}
	if changes(e) {
		if e.Loss != nil {
			return fmt.Sprintf("%s: %s", would(p, i), e.Loss)
		}
		return would(p, i)
	}
	if name := actor(p, i); name != e.Target && e.Target != "" {
		return fmt.Sprintf("%s: %s (%s)", name, r.Reason, e.Target)
	}
	return fmt.Sprintf("%s: %s", e.Target, r.Reason)
}

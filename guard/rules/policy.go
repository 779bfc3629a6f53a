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

	when func(*guard.Pass, guard.Effect) bool
}

// Defaults is the default policy; the first row that fits counts. What no row
// fits is asked about. Source: the default policy of the seeds.
func Defaults(pol Policy) []Entry {
	allow, ask, llm := guard.VerdictAllow, guard.VerdictAsk, guard.VerdictLLM
	inRoots := func(p *guard.Pass, e guard.Effect) bool { return isPath(e.Target) && inside(p.Roots, e.Target) }
	tree := func(_ *guard.Pass, e guard.Effect) bool { return e.Deep || !e.Exact }
	owner := func(p *guard.Pass, e guard.Effect) bool {
		return e.Deep || e.Command >= 0 && e.Command < len(p.Facts.Commands) && slices.Contains([]string{"chown", "chgrp"}, p.Facts.Commands[e.Command].Name)
	}
	back := func(_ *guard.Pass, e guard.Effect) bool { return e.Loss.Recoverable() }
	return []Entry{
		{"default/read", guard.Read, nil, "", allow, "reading is free here", nil},
		{"default/mode", guard.Write, []string{"metadata"}, "of a whole tree, or by chown", llm, "changes the owner, or a whole tree", owner},
		{"default/write", guard.Write, []string{"", "append", "create", "metadata"}, "", allow, "writing is free here", nil},
		{"default/format", guard.Write, []string{"format"}, "", ask, "writes a file system or partition table", nil},
		{"default/delete", guard.Delete, []string{""}, "that git or this session could bring back", allow, "nothing would be lost for good", back},
		{"default/delete-tree", guard.Delete, []string{""}, "of a whole tree, or of names that are not known yet", llm, "deletes a whole tree", tree},
		{"default/delete", guard.Delete, []string{""}, "of single files", allow, "deleting single files is free here", nil},
		{"default/shred", guard.Delete, []string{"shred"}, "", ask, "destroys files past recovery", nil},
		{"default/command", guard.Exec, []string{""}, "", allow, "a known command, used in a known way", nil},
		{"default/unlisted", guard.Exec, []string{"unlisted"}, "", llm, "a program that is not in the command table", nil},
		{"default/unread", guard.Exec, []string{"unread"}, "", llm, "an option or subcommand that is not in the command table", nil},
		{"default/project-code", guard.Code, []string{"project"}, "", allow, "code of the project", nil},
		{"default/script", guard.Code, []string{""}, "of the workspace", allow, "a script of the workspace", inRoots},
		{"default/foreign-script", guard.Code, []string{""}, "from elsewhere", llm, "a script from outside the workspace", nil},
		{"default/inline-code", guard.Code, []string{"inline"}, "", llm, "code on the command line", nil},
		{"default/piped-code", guard.Code, []string{"stdin"}, "", ask, "code from a pipe", nil},
		{"default/restore", guard.Install, []string{"project"}, "", allow, "installs what the project names", nil},
		{"default/install", guard.Install, []string{"add", "remove"}, "", llm, "adds or removes a package of the project", nil},
		{"default/install-global", guard.Install, []string{"", "global", "system"}, "", ask, "installs outside the project", nil},
		{"default/host", guard.Network, []string{""}, "this machine and known hosts", allow, "this machine or a known host", nil},
		{"default/send", guard.Network, []string{"send"}, "to this machine", llm, "sends data to a service of this machine", nil},
		{"default/look", guard.Remote, []string{"read"}, "", allow, "looks at another system", nil},
		{"default/push", guard.Remote, []string{"push"}, "", llm, "pushes commits", nil},
		{"default/remote", guard.Remote, []string{""}, "", llm, "changes another system", nil},
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
					p.Report(i, fits.Verdict, because(fits.reason(p, i, e), e), "")
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
	if r.Verdict == guard.VerdictAllow {
		return r.Reason
	}
	if changes(e) {
		if e.Loss != nil {
			return fmt.Sprintf("%s: %s", would(p, i), e.Loss)
		}
		return would(p, i)
	}
	return fmt.Sprintf("%s: %s (%s)", actor(p, i), r.Reason, e.Target)
}

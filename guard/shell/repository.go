package shell

import (
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/command"
)

// beside adds the directories that the repository has as remotes, where git
// speaks to one: they are read, and written by a push.
func (k *work) beside() {
	if k.name != "git" || k.b.Harmless {
		return
	}
	remote := slices.IndexFunc(k.facts.Effects, func(e guard.Effect) bool {
		return e.Kind == guard.Remote && e.Command == k.index && !strings.HasPrefix(e.Target, "submodule")
	})
	if remote < 0 {
		return
	}
	kind := guard.Read
	if k.facts.Effects[remote].Action != "read" {
		kind = guard.Write
	}
	for _, dir := range k.st.dirs {
		for _, r := range k.view.Remotes(dir) {
			if k.reaches(r.Name) {
				k.path(command.Part{Index: -1, Word: guard.Word{Text: r.Dir, Exact: true}, Deep: true}, kind, "")
			}
		}
	}
}

// reaches reports whether the call may speak to the remote of this name: its first
// operand is it, or unknown, or not there.
func (k *work) reaches(name string) bool {
	for _, p := range k.operands() {
		t := k.text(p)
		return t.class != exact || t.s == name
	}
	return true
}

// operands are the words that are no options, nor their arguments, nor the names
// of subcommands.
func (k *work) operands() (all []command.Part) {
	for _, p := range k.b.Parts {
		if p.Index >= 0 && p.Flag == "" {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b command.Part) int { return a.Index - b.Index })
	return all[min(len(k.b.Path)-1, len(all)):]
}

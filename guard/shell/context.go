package shell

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/disk"
)

// context adds to the effects what the place makes of them: what a deletion
// would take, what a write would replace, and that touch makes a new file.
// The disk is looked at only where there is such an effect in the workspace.
func (w *reading) context() {
	var m moves
	for i := range w.facts.Effects {
		e := &w.facts.Effects[i]
		switch {
		case e.Kind == guard.Delete && e.Action == "discard" && w.inRoots(e.Target):
			e.Loss = w.discarded(e)
		case e.Kind != guard.Write && e.Kind != guard.Delete || !w.insideRoots(e.Target):
		case e.Kind == guard.Delete:
			if m.from == nil {
				m = w.moves()
			}
			if !m.takes(e) && !m.fills(e.Target) {
				e.Loss = w.lost(e)
			}
		case e.Action == "metadata" && e.Exact && !e.Deep && w.commandOf(e) == "touch":
			if w.view.Stat(e.Target).Type == disk.Absent {
				e.Action = "create"
			}
		case e.Action == "" && e.Exact && !e.Deep && e.Note == "" && w.anew(e):
			e.Note = replaced(w.view.Replaced(e.Target))
		}
	}
}

// moves are the files that a call moves: what its commands read and remove.
type moves struct {
	from map[moving]bool // what is read
	to   []string        // where commands write that remove what they read
}

type moving struct {
	command int
	path    string
}

// moves finds what the call moves.
func (w *reading) moves() moves {
	m := moves{from: map[moving]bool{}}
	for _, e := range w.facts.Effects {
		if e.Kind == guard.Read && e.Action == "" {
			m.from[moving{e.Command, e.Target}] = true
		}
	}
	movers := map[int]bool{}
	for i := range w.facts.Effects {
		if e := &w.facts.Effects[i]; e.Kind == guard.Delete && m.takes(e) {
			movers[e.Command] = true
		}
	}
	for _, e := range w.facts.Effects {
		if e.Kind == guard.Write && movers[e.Command] {
			m.to = append(m.to, e.Target)
		}
	}
	return m
}

// takes reports whether e removes a file that its command keeps elsewhere.
func (m moves) takes(e *guard.Effect) bool { return m.from[moving{e.Command, e.Target}] }

// fills reports whether something moves to a path, below it, or to what holds
// it. So much moving that comparing takes long counts too.
func (m moves) fills(p string) bool {
	return len(m.to) > 64 || slices.ContainsFunc(m.to, func(to string) bool { return under(p, to) || under(to, p) })
}

// insideRoots reports whether a path lies strictly below a workspace root.
func (w *reading) insideRoots(p string) bool {
	return slices.ContainsFunc(w.Roots, func(r string) bool { return strings.HasPrefix(p, r+"/") })
}

func (w *reading) commandOf(e *guard.Effect) string {
	if e.Command < 0 || e.Command >= len(w.facts.Commands) {
		return ""
	}
	return w.facts.Commands[e.Command].Name
}

// removers are programs that delete all that they are told to; others, find and
// rsync, may pick some of it.
var removers = []string{"rm", "unlink", "shred", "srm", "trash", "trash-put", "rimraf", "git", "busybox"}

// lost says what a deletion would take. Where that may be some of what is there,
// it is told only that nothing of it all would be missed.
func (w *reading) lost(e *guard.Effect) *guard.Loss {
	switch lock := strings.HasSuffix(e.Target, ".lock") && strings.Contains(e.Target, "/.git/"); {
	case e.Exact && !e.Deep && w.view.Stat(e.Target).Type == disk.Dir: // rm and rmdir leave a full directory
		return nil
	case lock: // that a git left behind holds nothing
		return nil
	}
	l := w.view.Loss(e.Target)
	some := !e.Exact || !slices.Contains(removers, w.commandOf(e))
	if some && !l.Recoverable() || l != nil && l.Clean > 0 && w.unindexes() {
		return nil
	}
	return l
}

// keepers are git's subcommands after which its index still has what it had.
var keepers = []string{"status", "log", "diff", "show", "add", "commit", "branch", "fetch", "ls-files", "rev-parse", "grep", "blame", "describe", "remote", "tag", "push", "config"}

// unindexes reports whether the call runs git so that its index may lose
// something: git reset takes a file out of it that was only staged.
func (w *reading) unindexes() bool {
	return slices.ContainsFunc(w.facts.Commands, func(c guard.Command) bool {
		return c.Name == "git" && (len(c.Args) == 0 || !c.Args[0].Exact || !slices.Contains(keepers, c.Args[0].Text))
	})
}

// under reports whether p is dir or lies below it.
func under(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") || dir == "/" }

// discarded says what uncommitted work git would throw away.
func (w *reading) discarded(e *guard.Effect) *guard.Loss {
	if w.commandOf(e) != "git" {
		return nil
	}
	for _, word := range w.facts.Commands[e.Command].Args {
		switch word.Text {
		case "clean":
			return w.view.Stray(e.Target, w.option(e, 'x') || w.option(e, 'X'))
		case "reset", "switch":
			return w.view.Uncommitted(e.Target, true)
		case "checkout", "co", "restore", "rm":
			return w.view.Uncommitted(e.Target, false)
		}
	}
	return nil
}

// option reports whether the command of e has a short option.
func (w *reading) option(e *guard.Effect, c byte) bool {
	return slices.ContainsFunc(w.facts.Commands[e.Command].Args, func(word guard.Word) bool {
		return len(word.Text) > 1 && word.Text[0] == '-' && word.Text[1] != '-' && strings.IndexByte(word.Text, c) > 0
	})
}

// replacers are programs that write whole files.
var replacers = []string{"cp", "mv", "install", "ln", "dd", "curl", "wget"}

// anew reports whether e puts new content in the place of a whole file: by a
// redirection, or by a program that does nothing else.
func (w *reading) anew(e *guard.Effect) bool {
	name := w.commandOf(e)
	if name == "" || slices.Contains(replacers, name) {
		return true
	}
	base := path.Base(e.Target)
	return !slices.ContainsFunc(w.facts.Commands[e.Command].Args, func(word guard.Word) bool { // a redirection is no argument
		return !word.Exact || strings.Contains(word.Text, base)
	})
}

// replaced says in a clause that git does not have what is replaced.
func replaced(l *guard.Loss) string {
	switch {
	case l == nil || l.Lost() == 0:
		return ""
	case l.Changed > 0:
		return "replaces a file that changed since git last had it"
	}
	return "replaces a file that is not in git"
}

// pushes names the branches that git push changes, one effect for each. Where
// they cannot be told the effect of the table stands as it is.
func (k *work) pushes() {
	if k.b.Harmless || !slices.Equal(k.b.Path, []string{"git", "push"}) {
		return
	}
	var branches []string
	operands := k.operands()
	for i, p := range operands {
		if i > 0 { // the first is the remote
			branches = append(branches, k.refs(k.text(p))...)
		}
	}
	switch {
	case k.b.Has("--all", "--branches", "--mirror"):
		branches = []string{"*"}
	case len(operands) <= 1 && !k.b.Has("--tags", "-d", "--delete"):
		branches = k.current()
	}
	for _, b := range branches {
		k.pushed(b)
	}
}

// refs returns the branches that a refspec changes.
func (k *work) refs(t text) []string {
	if t.class != exact {
		return nil
	}
	s := strings.TrimPrefix(t.s, "+")
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
		if s == "" && i == 0 { // ":" is every branch that both sides have
			return []string{"*"}
		}
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "refs/"), "heads/")
	switch {
	case s == "HEAD" || s == "@":
		return k.current()
	case strings.HasPrefix(s, "tags/") || s == "":
		return nil
	case strings.Contains(s, "*"):
		return []string{"*"}
	}
	return []string{s}
}

// current returns the branches that are checked out where the call may run.
func (k *work) current() (branches []string) {
	for _, dir := range k.st.dirs {
		if b, ok := k.view.Branch(dir); ok && !slices.Contains(branches, b) {
			branches = append(branches, b)
		}
	}
	return branches
}

// pushed says that a branch is pushed to; "*" stands for any.
func (k *work) pushed(branch string) {
	e := guard.Effect{Kind: guard.Remote, Action: "push", Target: "refs/heads/" + branch, Exact: true, Command: k.index}
	if branch == "*" {
		e.Target, e.Exact = "refs/heads/", false
	}
	for i := len(k.facts.Effects) - 1; i >= 0 && k.facts.Effects[i].Command == k.index; i-- {
		if old := &k.facts.Effects[i]; old.Kind == e.Kind && old.Action == e.Action && !strings.HasPrefix(old.Target, "refs/heads/") {
			old.Target, old.Exact, old.Written = e.Target, e.Exact, ""
			return
		}
	}
	k.emit(e)
}

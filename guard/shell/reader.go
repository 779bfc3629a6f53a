// Package shell reads shell source into facts without running it: what
// commands would run, in which directory, with which words, and what they
// would do. What cannot be known before it runs becomes an Unknown effect.
package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/disk"
)

// Reader reads scripts. It is safe for concurrent use, and must not be copied
// after its first use.
type Reader struct {
	Table *command.Table
	// Home is the caller's home directory, absolute and resolved.
	Home string
	// Env is the environment the script will get. A variable that is neither in
	// it nor assigned is taken for unknown text, not for empty.
	Env map[string]string
	// Roots are the workspace roots: scripts below them are read and judged.
	Roots []string
	// Created reports whether a file (absolute, resolved; what lstat said of it)
	// is still as this session made it; nil: none is.
	Created func(path string, info fs.FileInfo) bool
	// Limits bound the work; zero fields take the defaults.
	Limits Limits

	own  spares
	lent *spares // of the reader that For was called on; nil: its own
}

// spares are parsers and printers that are not in use. What failed at a source is
// none: the next one must not be read by what is left of that.
type spares struct{ parsers, printers sync.Pool }

// For is r for one call: with the environment, the roots and the files that the
// session made. It lives off the spares of r, since making them takes longer than
// reading most commands.
func (r *Reader) For(env map[string]string, roots []string, created func(string, fs.FileInfo) bool) *Reader {
	return &Reader{Table: r.Table, Home: r.Home, Env: env, Roots: roots, Created: created, Limits: r.Limits, lent: r.spares()}
}

func (r *Reader) spares() *spares {
	if r.lent != nil {
		return r.lent
	}
	return &r.own
}

// Limits bound what is read. Past them the call is Unknown, action "limits".
type Limits struct {
	Bytes    int // of source; default 256 KiB
	Commands int // default 2000
	Depth    int // nesting of scripts, substitutions and wrappers; default 32
	Work     int // steps of expansion; default 200000
}

// full returns the limits with the defaults filled in.
func (l Limits) full() Limits {
	def := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	def(&l.Bytes, 256<<10)
	def(&l.Commands, 2000)
	def(&l.Depth, 32)
	def(&l.Work, 200000)
	return l
}

// Read says what source would do when bash runs it in dir (absolute,
// resolved). It never fails and never runs anything.
func (r *Reader) Read(source, dir string) (facts *guard.Facts) {
	w := &reading{Reader: r, limits: r.Limits.full(), facts: &guard.Facts{Dir: dir}}
	w.view.Created = r.Created
	defer func() {
		if p := recover(); p != nil { // a fault of ours is never an allow
			facts = &guard.Facts{Dir: dir}
			facts.Effects = []guard.Effect{{Kind: guard.Unknown, Action: "limits", From: -1, Command: -1,
				Target: fmt.Sprintf("the reader failed: %v", p)}}
		}
	}()
	w.whole(source, dir)
	return w.facts
}

// reading is one Read in progress.
type reading struct {
	*Reader
	limits  Limits
	facts   *guard.Facts
	view    disk.View
	work    int
	depth   int
	over    bool            // past a limit: nothing more is read
	changed bool            // something that ran before may have changed the disk
	files   map[string]file // what this call writes, by resolved path
	links   map[string]text // symbolic links that this call makes
	calls   []frame         // functions and scripts being read, innermost last
	loose   bool            // aliases could be expanded
	secrets map[string]bool // variables that were given a secret of the environment
}

// frame is a function or a script that is being read.
type frame struct {
	name  string
	args  string
	async int // pipes and background jobs around the call
	// locals are the old values of a function's local variables; nil values for
	// those that were not assigned. It is nil for a script.
	locals map[string]*value
}

func (w *reading) whole(source, dir string) {
	tree, ok := w.parse(source)
	if !ok {
		return
	}
	st := &state{dirs: []string{dir}, src: source, zero: known("bash"), out: &stream{cmd: -1}}
	w.file(st, tree)
	if w.over {
		return
	}
	w.context()
	w.facts.Script = w.print(tree, source)
	started := false
	for i := range w.facts.Effects {
		e := &w.facts.Effects[i]
		started = started || e.Kind == guard.Exec
		if e.Command >= len(w.facts.Commands) { // no command came after it
			e.Command = -1
		}
	}
	if started {
		return
	}
	w.emit(guard.Effect{Kind: guard.Exec, Target: "bash", Exact: true, Command: -1})
}

// file reads the statements of a script and then its exit traps.
func (w *reading) file(st *state, tree *syntax.File) {
	w.stmts(st, tree.Stmts)
	w.finish(st)
}

// finish reads what a shell's traps do at its end, and what traps they set.
func (w *reading) finish(st *state) {
	for rounds := 0; len(st.traps) > 0; rounds++ {
		if rounds == 8 {
			w.hide(-1, "traps that set traps", "")
			return
		}
		traps := st.traps
		st.traps = nil
		for _, t := range traps {
			w.source(st, t)
		}
	}
}

// parse parses source as bash. What it cannot take is an Unknown effect.
func (w *reading) parse(source string) (*syntax.File, bool) {
	if len(source) > w.limits.Bytes {
		w.limit(fmt.Sprintf("%d bytes of shell source are more than %d", len(source), w.limits.Bytes))
		return nil, false
	}
	if why := unreadable(source); why != "" {
		w.emit(guard.Effect{Kind: guard.Unknown, Action: "unparsed", Target: why, Command: -1})
		return nil, false
	}
	if crowded(source) {
		w.limit("the source nests too much to be read")
		return nil, false
	}
	tree, err := w.tree(source)
	if err != nil {
		w.emit(guard.Effect{Kind: guard.Unknown, Action: "unparsed", Target: err.Error(), Command: -1})
		return nil, false
	}
	return tree, true
}

// tree is the syntax of source.
func (w *reading) tree(source string) (*syntax.File, error) {
	parsers := &w.spares().parsers
	p, _ := parsers.Get().(*syntax.Parser)
	if p == nil {
		p = syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	tree, err := p.Parse(strings.NewReader(source), "")
	if err == nil {
		parsers.Put(p)
	}
	return tree, err
}

// unreadable says why source is not text that bash and the parser read alike.
func unreadable(source string) string {
	ascii := true
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c >= utf8.RuneSelf:
			ascii = false
		case c == '\r' && (i+1 == len(source) || source[i+1] != '\n' || i > 0 && source[i-1] == '\\'):
			return "a carriage return inside a line"
		case c == 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r':
			return fmt.Sprintf("control character 0x%02x in the source", c)
		}
	}
	if !ascii && !utf8.ValidString(source) {
		return "the source is not valid UTF-8"
	}
	return ""
}

// crowded reports whether source could nest deeper than the parser's stack
// should go: it counts what could open a level, closed or not.
func crowded(source string) bool {
	const most = 6000
	n := 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '(', '{', '[', '`', '!', '|', '?', '~', '+', '-', '<':
			n++
		}
	}
	if n <= most {
		n = 0
	} else if len(source) < 4*most && n < 2*most {
		n -= most
	}
	for _, word := range [...]string{"if", "while", "until", "for", "case", "select", "time", "coproc", "function", "elif"} {
		n += strings.Count(source, word)
	}
	return n > most
}

// step counts work. It reports false once the reading is past its limits.
func (w *reading) step(n int) bool {
	if w.over {
		return false
	}
	if w.work += n; w.work > w.limits.Work {
		w.limit(fmt.Sprintf("more than %d steps of expansion", w.limits.Work))
		return false
	}
	return true
}

// enter counts one level of nesting; every enter that reports true is
// followed by a leave.
func (w *reading) enter() bool {
	if w.over {
		return false
	}
	if w.depth >= w.limits.Depth {
		w.limit(fmt.Sprintf("commands nested more than %d deep", w.limits.Depth))
		return false
	}
	w.depth++
	return true
}

func (w *reading) leave() { w.depth-- }

// merge is st.merge, counted.
func (w *reading) merge(st, o *state) {
	if o != nil && o != st && w.step((len(st.vars)+len(o.vars))/8) {
		st.merge(o)
	}
}

func (w *reading) limit(why string) {
	if !w.over {
		w.over = true
		w.emit(guard.Effect{Kind: guard.Unknown, Action: "limits", Target: why, Command: -1})
	}
}

// emit adds an effect whose From is not known yet, and returns its index.
func (w *reading) emit(e guard.Effect) int {
	e.From = -1
	w.facts.Effects = append(w.facts.Effects, e)
	return len(w.facts.Effects) - 1
}

// hide adds an Unknown effect: why says what only the run will tell.
func (w *reading) hide(cmd int, why, written string) int {
	for i := len(w.facts.Effects) - 1; i >= 0 && w.facts.Effects[i].Command == cmd; i-- {
		if e := &w.facts.Effects[i]; e.Kind == guard.Unknown && e.Target == why && e.Written == written {
			return i
		}
	}
	return w.emit(guard.Effect{Kind: guard.Unknown, Target: why, Written: written, Command: cmd})
}

// record notes a script that was read.
func (w *reading) record(path string, content []byte) {
	sum := sha256.Sum256(content)
	s := guard.Source{Path: path, SHA256: hex.EncodeToString(sum[:])}
	for _, old := range w.facts.Sources {
		if old == s {
			return
		}
	}
	w.facts.Sources = append(w.facts.Sources, s)
}

package shell

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// class says how much of a text is known. A higher class is less.
type class uint8

const (
	exact class = iota // all of it
	name               // what follows is not known, but holds no slash
	below              // what follows is not known, but stays below
	wild               // what follows may be anything
)

// text is what could be told of a string: its beginning, and what sort of thing
// may follow. From are the effects whose data is in it.
type text struct {
	s     string
	class class
	from  taint
	trait trait
}

// trait is what else is known of the part of a text that is not known. Every
// change of a text drops it.
type trait uint8

const (
	plain trait = iota + 1 // no word of it begins with a dash: hashes, numbers
	ownID                  // the whole is $!, the number of a job of this shell
)

// both returns what holds of two texts.
func (t trait) both(u trait) trait {
	if t != u {
		return min(t, u, plain)
	}
	return t
}

// taint are indices in Facts.Effects.
type taint []int

func (t taint) with(more taint) taint {
	for _, i := range more {
		if !slices.Contains(t, i) && len(t) < 16 {
			t = append(t[:len(t):len(t)], i)
		}
	}
	return t
}

func known(s string) text       { return text{s: s} }
func unknown(t taint) text      { return text{class: wild, from: t} }
func (t text) is(s string) bool { return t.class == exact && t.s == s }

// join returns what holds for both texts.
func (t text) join(u text) text {
	from := t.from.with(u.from)
	if t.class == u.class && t.s == u.s {
		return text{t.s, t.class, from, t.trait.both(u.trait)}
	}
	n := 0
	for n < len(t.s) && n < len(u.s) && t.s[n] == u.s[n] {
		n++
	}
	j := text{s: t.s[:n], class: max(t.class, u.class), from: from}
	for _, rest := range [...]string{t.s[n:], u.s[n:]} {
		j.class = max(j.class, tail(j.class, rest))
	}
	if n == 0 && j.class == below && (strings.HasPrefix(t.s, "/") || strings.HasPrefix(u.s, "/") ||
		strings.HasPrefix(t.s, "~") || strings.HasPrefix(u.s, "~")) {
		j.class = wild
	}
	return j
}

// tail returns the class of a text of class c that ends in rest, where rest is
// no longer written down.
func tail(c class, rest string) class {
	switch {
	case strings.Contains(rest, ".."):
		return wild
	case strings.Contains(rest, "/"):
		return max(c, below)
	}
	return max(c, name)
}

// value is a variable: one text, or the elements of an array.
type value struct {
	one      text
	elems    []text   // of an array
	keys     []string // of an associative array, beside elems
	array    bool
	open     bool // an array of which not all elements are known
	unset    bool
	exported bool
	integer  bool
	ref      string // of a nameref: the other variable
	perhaps  string // the other variable, where only some ways here made it a nameref
}

func (v value) same(u value) bool {
	eq := func(a, b text) bool { return a.s == b.s && a.class == b.class }
	return eq(v.one, u.one) && slices.EqualFunc(v.elems, u.elems, eq) && slices.Equal(v.keys, u.keys) &&
		v.array == u.array && v.open == u.open && v.unset == u.unset && v.ref == u.ref && v.perhaps == u.perhaps
}

func (v value) join(u value) value {
	if v.same(u) {
		return v
	}
	j := value{exported: v.exported || u.exported, integer: v.integer && u.integer, perhaps: cmp.Or(v.ref, u.ref, v.perhaps, u.perhaps)}
	if j.perhaps != "" {
		j.one = unknown(v.one.from.with(u.one.from))
		return j
	}
	if !v.array && !u.array {
		j.one = v.one.join(u.one)
		return j
	}
	j.array, j.open = true, true
	all := unknown(nil)
	for i, e := range append(slices.Clone(v.elems), u.elems...) {
		if i == 0 {
			all = e
		}
		all = all.join(e)
	}
	j.one, j.elems = all, []text{all}
	return j
}

// function is what a name may call: more than one body where branches differ.
type function struct {
	bodies   []*syntax.Stmt
	src      string
	maybe    bool // the name may still be a program
	exported bool
}

// fd is an open file descriptor.
type fd struct {
	in  *stream // to read from
	out *stream // to write to
}

// state is what the shell knows at one point of the script. Its maps are
// copied on write.
type state struct {
	vars    map[string]value
	funcs   map[string]function
	aliases map[string]text
	fds     map[int]fd
	owned   uint8 // which of the maps above belong to this state alone

	dirs  []string // the current directory, one of these; none: not known. With somewhere at its end: at or below it
	old   []string
	stack [][]string
	args  []text // $1 ...
	open  bool   // more arguments than known
	zero  text   // $0

	in      *stream // standard input; nil: nothing is to be read
	out     *stream
	maybe   int // conditional commands around
	async   int // pipes and background jobs around
	errexit bool
	traps   []string
	src     string // the source text that the nodes stand in
	via     []string
}

const (
	ownVars uint8 = 1 << iota
	ownFuncs
	ownAliases
	ownFds
)

// clone returns a state that starts like st; neither sees the other's changes.
func (st *state) clone() *state {
	st.owned = 0
	c := *st
	return &c
}

// own returns the map of st that bit stands for as one that may be written: a
// copy, unless st alone holds it already.
func own[K comparable, V any](st *state, bit uint8, m map[K]V) map[K]V {
	if st.owned&bit != 0 && m != nil {
		return m
	}
	c := make(map[K]V, len(m)+4)
	maps.Copy(c, m)
	st.owned |= bit
	return c
}

func (st *state) set(n string, v value) {
	st.vars = own(st, ownVars, st.vars)
	st.vars[n] = v
}

// lookup returns a copy of a variable that was assigned, or nil.
func (st *state) lookup(n string) *value {
	if v, ok := st.vars[n]; ok {
		return &v
	}
	return nil
}

func (st *state) define(n string, f function) {
	st.funcs = own(st, ownFuncs, st.funcs)
	if len(f.bodies) == 0 && !f.maybe {
		delete(st.funcs, n)
		return
	}
	st.funcs[n] = f
}

func (st *state) alias(n string, t text) {
	st.aliases = own(st, ownAliases, st.aliases)
	st.aliases[n] = t
}

func (st *state) openFd(n int, f fd) {
	st.fds = own(st, ownFds, st.fds)
	st.fds[n] = f
}

// merge makes st what holds whether the shell is in st or in o.
func (st *state) merge(o *state) {
	if o == nil || o == st {
		return
	}
	if !slices.Equal(st.dirs, o.dirs) {
		st.dirs = union(st.dirs, o.dirs)
	}
	if !slices.Equal(st.old, o.old) {
		st.old = union(st.old, o.old)
	}
	if len(st.stack) != len(o.stack) {
		st.stack = nil
	}
	for n, v := range o.vars {
		mine, ok := st.vars[n]
		if !ok {
			mine = value{one: unknown(nil)}
		}
		if j := mine.join(v); !ok || !j.same(mine) {
			st.set(n, j)
		}
	}
	for n, v := range st.vars {
		if _, ok := o.vars[n]; !ok && !v.same(value{one: unknown(nil)}) {
			st.set(n, v.join(value{one: unknown(nil)}))
		}
	}
	st.mergeFuncs(o)
	for n, t := range o.aliases {
		if mine, ok := st.aliases[n]; ok {
			t = t.join(mine)
		}
		st.alias(n, t)
	}
	if len(st.args) != len(o.args) || st.open != o.open {
		st.args, st.open = nil, true
	} else if !slices.EqualFunc(st.args, o.args, func(a, b text) bool { return a.s == b.s && a.class == b.class }) {
		st.args = slices.Clone(st.args)
		for i := range st.args {
			st.args[i] = st.args[i].join(o.args[i])
		}
	}
	for _, t := range o.traps {
		if !slices.Contains(st.traps, t) {
			st.traps = append(st.traps[:len(st.traps):len(st.traps)], t)
		}
	}
	st.errexit = st.errexit && o.errexit
}

func (st *state) mergeFuncs(o *state) {
	for n, f := range o.funcs {
		mine, ok := st.funcs[n]
		if !ok {
			mine = function{src: f.src, maybe: true}
		}
		j := function{bodies: slices.Clone(mine.bodies), src: f.src, maybe: mine.maybe || f.maybe}
		for _, b := range f.bodies {
			if !slices.Contains(j.bodies, b) {
				j.bodies = append(j.bodies, b)
			}
		}
		if len(j.bodies) != len(mine.bodies) || j.maybe != mine.maybe {
			st.define(n, j)
		}
	}
	for n, f := range st.funcs {
		if _, ok := o.funcs[n]; !ok && !f.maybe {
			f.maybe = true
			st.define(n, f)
		}
	}
}

// same reports whether two states know the same, so that reading a loop once
// more would tell nothing new.
func (st *state) same(o *state) bool {
	return slices.Equal(st.dirs, o.dirs) && maps.EqualFunc(st.vars, o.vars, value.same) &&
		maps.EqualFunc(st.funcs, o.funcs, func(a, b function) bool { return len(a.bodies) == len(b.bodies) && a.maybe == b.maybe }) &&
		maps.EqualFunc(st.aliases, o.aliases, func(a, b text) bool { return a.s == b.s && a.class == b.class }) &&
		len(st.args) == len(o.args) && st.open == o.open
}

// union returns the directories of both; none where either is not known or
// they are too many.
func union(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	u := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(u, d) {
			u = append(u, d)
		}
	}
	if len(u) > 6 {
		return nil
	}
	return u
}

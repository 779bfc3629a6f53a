package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// tilde expands the tilde prefix of s where it can be told, and returns the rest.
func (b *builder) tilde(s string) string {
	user, rest := s[1:], ""
	if i := strings.IndexAny(user, "/:"); i >= 0 && (user[i] == '/' || b.st != nil) {
		user, rest = user[:i], user[i:]
	}
	if strings.ContainsAny(user, "\\'\"*?[") {
		return s
	}
	switch {
	case user == "":
		b.value(b.w.get(b.st, "HOME").one)
	case user == "+":
		b.value(b.w.get(b.st, "PWD").one)
	case user == "-":
		b.value(b.w.get(b.st, "OLDPWD").one)
	case user == "root":
		b.value(known("/root"))
	case user == path.Base(b.w.Home):
		b.value(known(b.w.Home))
	case syntax.ValidName(strings.NewReplacer("-", "_", ".", "_").Replace(user)):
		b.value(text{s: "/home/" + user, class: below})
	default:
		return s
	}
	b.has = true
	return rest
}

// get returns a variable. One that is not set is unknown text, because what
// starts the script may set it.
func (w *reading) get(st *state, n string) value {
	for range 8 {
		v, ok := st.vars[n]
		if !ok {
			return w.ambient(st, n)
		}
		if v.ref == "" {
			return v
		}
		n = v.ref
	}
	return value{one: unknown(nil)}
}

// isSet reports whether a variable is known to be set, or known not to be.
func (w *reading) isSet(st *state, n string) (set, ok bool) {
	v, have := st.vars[n]
	if !have {
		_, set = w.Env[n]
		v = w.ambient(st, n)
		return set || v.one.class != wild, true
	}
	if v.ref != "" {
		return false, false
	}
	if v.array {
		return len(v.elems) > 0, !v.open
	}
	// Text that differs between branches may have been unset in one.
	return !v.unset, v.unset || v.one.class != wild
}

// ambient returns a variable that the script did not assign.
func (w *reading) ambient(st *state, n string) value {
	one := func(t text) value { return value{one: t, exported: true} }
	switch n {
	case "PWD":
		if dir, ok := st.dir(); ok {
			return one(known(dir))
		}
		return one(unknown(nil))
	case "OLDPWD":
		if dir, ok := (&state{dirs: st.old}).dir(); ok {
			return one(known(dir))
		}
		return one(unknown(nil))
	case "UID", "EUID", "PPID", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "EPOCHSECONDS", "EPOCHREALTIME",
		"HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "SHLVL", "BASH_VERSION", "OPTIND", "COLUMNS", "LINES", "BASH_SUBSHELL":
		return one(text{class: name})
	case "BASH_SOURCE":
		v := one(st.zero)
		v.array, v.elems = true, []text{st.zero}
		return v
	case "FUNCNAME", "PIPESTATUS", "BASH_REMATCH", "BASH_ARGV", "COPROC", "DIRSTACK", "GROUPS":
		return value{one: unknown(nil), array: true, open: true, elems: []text{unknown(nil)}}
	}
	if s, ok := w.Env[n]; ok {
		return one(known(s))
	}
	switch n {
	case "HOME":
		if w.Home != "" {
			return one(known(w.Home))
		}
	case "IFS":
		return value{one: known(" \t\n")}
	case "BASH":
		return one(known("/bin/bash"))
	}
	return value{one: unknown(nil)}
}

// ifs returns the field separators; ok is false where they are not known.
func (w *reading) ifs(st *state) (string, bool) {
	v, ok := st.vars["IFS"]
	if !ok || v.unset {
		return " \t\n", true
	}
	return v.one.s, v.one.class == exact
}

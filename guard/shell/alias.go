package shell

import (
	"strings"

	"handrail/guard"
)

func (w *reading) defineAlias(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for _, f := range c.words {
		n, v, ok := strings.Cut(f.s, "=")
		if ok {
			st.alias(n, text{s: v, class: f.class, from: f.from})
		}
	}
	if w.loose && len(c.words) > 0 {
		w.hide(c.index, "aliases may change what the words below mean", c.typed)
	}
	return nil
}

func (w *reading) shopt(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for _, f := range c.words {
		if f.class != exact || f.s == "expand_aliases" {
			w.loose = true
			if len(st.aliases) > 0 {
				w.hide(c.index, "aliases may change what the words below mean", c.typed)
			}
		}
		if f.class != exact || strings.Contains(f.s, "glob") {
			w.changed = true // globs match otherwise from here on
		}
	}
	return nil
}

// hash is hash -p and enable -f: a name comes to mean another program.
func (w *reading) hash(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for i, f := range c.words {
		if f.class != exact || c.name == "hash" && strings.HasPrefix(f.s, "-") && strings.Contains(f.s, "p") ||
			c.name == "enable" && strings.HasPrefix(f.s, "-") && strings.Contains(f.s, "f") {
			target := c.words[len(c.words)-1]
			w.emit(guard.Effect{Kind: guard.System, Action: "environment", Target: target.s, Written: f.typed, Exact: target.class == exact,
				Note: "makes a name mean another program", Command: c.index})
			if c.name == "hash" && i+2 < len(c.words) && c.words[i+1].class == exact {
				st.alias(c.words[i+2].s, known(shellQuote(c.words[i+1].s)))
			}
			return nil
		}
	}
	return nil
}

// aliased reads what an alias would make of the call, should aliases be expanded.
func (w *reading) aliased(st *state, c *call, a text) {
	if a.class != exact {
		w.hide(w.next(), "an alias whose text is not known", c.typed)
		return
	}
	src := a.s
	for _, f := range c.words {
		src += " " + shellQuote(f.s)
	}
	sub := st.clone()
	sub.aliases, sub.traps = nil, nil
	w.source(sub, src)
	w.finish(sub)
}

// shellQuote quotes s so that bash reads it as one word.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n|&;<>()$`\\\"'*?[]#~=%{}!^") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

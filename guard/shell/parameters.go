package shell

import "strings"

func (w *reading) setArgs(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	for i := 0; i < len(c.words); i++ {
		f := c.words[i]
		if f.class != exact && !strings.HasPrefix(f.s, "-") {
			st.args, st.open = texts(c.words[i:])
			return nil
		}
		switch {
		case f.is("--"):
			st.args, st.open = texts(c.words[i+1:])
			return nil
		case f.is("-o"), f.is("+o"):
			if i+1 < len(c.words) && c.words[i+1].is("errexit") {
				st.errexit = f.s[0] == '-'
			}
			i++
		case strings.HasPrefix(f.s, "-") && len(f.s) > 1:
			st.errexit = st.errexit || strings.Contains(f.s, "e")
			if strings.HasSuffix(f.s, "o") && i+1 < len(c.words) {
				st.errexit = st.errexit || c.words[i+1].is("errexit")
				i++
			}
		case strings.HasPrefix(f.s, "+"):
			if strings.Contains(f.s, "e") {
				st.errexit = false
			}
		default:
			st.args, st.open = texts(c.words[i:])
			return nil
		}
	}
	return nil
}

func texts(fs []field) (ts []text, open bool) {
	for _, f := range fs {
		ts = append(ts, f.text)
		open = open || f.many
	}
	return ts, open
}

func (w *reading) shift(st *state, c *call) *state {
	w.started(st, c, c.name, "", "")
	n := 1
	if len(c.words) > 0 {
		v, ok := w.number(st, c.words[0].text, 0)
		if !ok {
			st.args, st.open = nil, true
			return nil
		}
		n = v
	}
	if n < 0 || n > len(st.args) {
		if st.open {
			st.args = nil
		}
		return nil
	}
	st.args = st.args[n:]
	return nil
}

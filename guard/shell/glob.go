package shell

import (
	"path"
	"strings"
)

func (b *builder) glob() {
	if b.globAt < 0 && b.class == exact {
		b.globAt = len(b.text)
	}
}

// globs reports whether s, which begins with a glob character, is a pattern.
func globs(s string) bool {
	return strings.ContainsAny(s, "*?") || strings.IndexByte(s[1:], ']') > 0 || strings.HasSuffix(s, ")")
}

// glob appends what a pattern stands for: the files that it matches where that
// can be told now, else its beginning.
func (w *reading) glob(st *state, f field, pat string, at int, out []field) []field {
	last := path.Base(strings.TrimRight(pat, "/"))
	ext := strings.ContainsAny(f.s[at:], "(") // bash -c has no extglob
	dir, known := st.dir()
	if f.class == exact && !w.changed && known && !ext && strings.Trim(last, "*.?") != "" {
		abs, rel := pat, ""
		if !strings.HasPrefix(pat, "/") {
			rel = dir + "/"
			abs = escapePattern(rel) + pat
		}
		if found, ok := w.view.Glob(abs, 16); ok {
			if len(found) == 0 && rel != "" {
				return append(out, f)
			}
			for _, p := range found {
				g := f
				g.s = strings.TrimPrefix(p, rel)
				out = append(out, g)
			}
			if len(found) > 0 {
				return out
			} // outside, what does not match now may match when it runs
		}
	}
	rest := f.s[at:]
	f.s = f.s[:at]
	f.class = max(f.class, tail(name, rest))
	if i := strings.LastIndexByte(f.s, '/'); strings.HasPrefix(f.s[i+1:], "..") {
		f.class = wild
	}
	if f.s == "" && known && !w.dashed(dir, rest) {
		f.s = "./" // no file there could be taken for an option
	}
	f.many = true
	return append(out, f)
}

// dashed reports whether a pattern without a known beginning may match a name
// that looks like an option.
func (w *reading) dashed(dir, pat string) bool {
	if pat[0] == '[' && !strings.Contains(pat, "-") {
		return false
	}
	found, ok := w.view.Glob(escapePattern(dir)+"/-*", 1)
	return !ok || len(found) > 0
}

func escapePattern(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(s)
}

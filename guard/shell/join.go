package shell

import (
	"slices"

	"handrail/guard/command"
)

// apart run every one of their words as a command line of its own; with tmux,
// several words are one command and a ";" among them begins another.
var apart = []string{"hyperfine", "multitime", "bench", "pee"}

// joined returns the places of the operands that are one source together with
// p: those that are shell source too (watch -n 1 ls -l).
func (k *work) joined(p command.Part) []int {
	if p.Index < 0 || p.Flag != "" || slices.Contains(apart, k.name) {
		return nil
	}
	var words []int
	for _, q := range k.b.Parts {
		if q.Role == command.Shell && q.Flag == "" && q.Index >= 0 && q.Index < len(k.words) {
			words = append(words, q.Index)
		}
	}
	return words
}

// join reads words as one source, with a space between any two.
func (k *work) join(words []int) {
	src := k.words[words[0]].text
	for _, i := range words[1:] {
		src = concat(concat(src, known(" ")), k.words[i].text)
	}
	st := k.child()
	st.funcs = exportedFuncs(st.funcs)
	st.aliases = nil
	st.zero, st.args, st.open = known(k.name), nil, false
	k.inShell(st, src, k.words[words[0]].typed)
}

package shell

import "strings"

// itself reports whether a call is of the script that it stands in, without an
// argument that could make it end: $0, bash $0.
func itself(words []field) bool {
	if len(words) == 2 && (words[0].is("bash") || words[0].is("sh") || words[0].is("exec")) {
		words = words[1:]
	}
	if len(words) != 1 {
		return false
	}
	switch strings.Trim(words[0].typed, `"`) {
	case "$0", "${0}", "$BASH_SOURCE", "${BASH_SOURCE}", "${BASH_SOURCE[0]}":
		return true
	}
	return false
}

// bare reports whether no script file is being read, in which $0 would be the
// name of the file and its end be seen.
func (w *reading) bare() bool {
	for _, fr := range w.calls {
		if fr.locals == nil {
			return false
		}
	}
	return true
}

package shell

import (
	"slices"
	"strings"

	"handrail/guard"
)

// betrayed notes variables of the environment that are named like secrets and
// stand in the words of a call that reaches another machine: they go along. A
// variable that this call sets itself is in plain sight or has an origin of its
// own.
func (k *work) betrayed() {
	leaves := slices.ContainsFunc(k.facts.Effects, func(e guard.Effect) bool {
		return e.Command == k.index && (e.Kind == guard.Remote || e.Kind == guard.Network && e.Action != "listen" && !local(e))
	})
	if !leaves {
		return
	}
	for _, f := range k.words {
		for _, n := range variables(f.typed) {
			if !k.secretive(k.st, n) || f.class == exact && strings.Contains(f.s, n) {
				continue
			}
			k.emit(guard.Effect{Kind: guard.System, Action: "secret", Target: "$" + n, Written: f.typed, Exact: true, Command: k.index,
				Note: "it goes to another machine"})
		}
	}
}

// secretive reports whether a variable holds a secret of the environment.
func (w *reading) secretive(st *state, n string) bool {
	if w.secrets[n] {
		return true
	}
	_, set := st.vars[n]
	return !set && secretVariable(n)
}

// carry remembers a variable that is assigned a text with a secret in it.
func (w *reading) carry(st *state, n string, v value, typed string) {
	if !v.array && v.one.class == exact && !strings.Contains(typed, "$") {
		return
	}
	_, typed, _ = strings.Cut(typed, "=")
	for _, from := range variables(typed) {
		if from != n && w.secretive(st, from) || w.secrets[from] {
			if w.secrets == nil {
				w.secrets = map[string]bool{}
			}
			w.secrets[n] = true
		}
	}
}

// local reports whether a host is this machine by its usual names.
func local(e guard.Effect) bool {
	h, _, _ := strings.Cut(e.Target, ":")
	return e.Exact && (h == "localhost" || h == "127.0.0.1" || strings.HasPrefix(e.Target, "[::1]"))
}

// variables returns the names of the variables in a word as it is written.
func variables(typed string) (names []string) {
	for {
		i := strings.IndexByte(typed, '$')
		if i < 0 {
			return names
		}
		typed = strings.TrimLeft(typed[i+1:], "{#!")
		end := 0
		for end < len(typed) && identifier(typed[end]) {
			end++
		}
		if end > 0 {
			names = append(names, typed[:end])
		}
	}
}

// secretParts are ends of the parts of a name (GITHUB_TOKEN, api_key) that tell
// of a secret.
var secretParts = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS"}

// secretVariable reports whether a variable is named like a secret.
func secretVariable(n string) bool {
	n = strings.ToUpper(n)
	for _, key := range [...]string{"API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH_KEY"} {
		if strings.HasSuffix(n, key) {
			return true
		}
	}
	for part := range strings.SplitSeq(n, "_") {
		if slices.ContainsFunc(secretParts, func(s string) bool { return strings.HasSuffix(part, s) }) {
			return true
		}
	}
	return false
}

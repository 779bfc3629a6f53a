package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"handrail/guard"
)

// answering are the commands of handrail by which people approve, trust and take
// back.
var answering = []string{"approvals", "grants", "trust", "untrust", "undo"}

// typedAnswer finds one of them in text that is typed into a terminal or run as
// the code of another language.
var typedAnswer = regexp.MustCompile(`(?i)\bhandrail\b.{0,40}\b(?:` + strings.Join(answering, "|") + `)\b`)

// self is the family that keeps approval with people.
func self() []guard.Rule {
	return []guard.Rule{fixed(guard.Rule{
		ID: "self/command",
		Doc: "Denies the commands by which people approve calls, trust files or take back changes (handrail approvals, grants, trust, untrust, undo), also typed into a terminal for it or as another language's code; " +
			"asks before an unknown program or `go run` gets such words, since it may be a copy of handrail. An agent cannot approve its own calls.",
		Evaluate: func(p *guard.Pass) {
			said := ""
			if slices.ContainsFunc(p.Facts.Effects, typed) { // searching a long script takes long
				said = typedAnswer.FindString(p.Facts.Script)
			}
			for i, e := range p.Facts.Effects {
				c := p.CommandOf(i)
				if c == nil {
					continue
				}
				verdict, what := answers(c, e)
				if verdict == guard.VerdictAllow && said != "" && typed(e) {
					verdict, what = guard.VerdictDeny, said
				}
				switch verdict {
				case guard.VerdictDeny:
					p.Report(i, verdict, "this would answer for the user: "+what, "ask the user to run it in a terminal of their own")
				case guard.VerdictAsk:
					p.Report(i, verdict, what+": "+c.Name+" may be handrail under another name, and this would answer for the user", "ask the user to run it in a terminal of their own")
				}
			}
		},
	})}
}

// answers says whether a command, at one of its effects, is or may be one of
// handrail's by which people answer; allow means that it is not.
func answers(c *guard.Command, e guard.Effect) (v guard.Verdict, what string) {
	if verb := started(c.Args); verb != "" && starts(e) {
		return guard.VerdictDeny, "handrail " + verb
	}
	switch {
	case strings.HasPrefix(strings.ToLower(c.Name), "handrail") && e.Kind == guard.Privilege:
		if verb := answer(c.Args); verb != "" {
			return guard.VerdictDeny, "handrail " + verb
		}
	case e.Kind == guard.Unknown, e.Kind == guard.Code && (e.Action == "inline" || e.Action == "stdin"):
		for _, w := range c.Args {
			if m := typedAnswer.FindString(w.Text); m != "" {
				return guard.VerdictDeny, m
			}
		}
		if m := typedAnswer.FindString(joined(c.Args)); m != "" {
			return guard.VerdictDeny, m
		}
	case e.Kind == guard.Code || e.Kind == guard.Exec && (e.Action == "unlisted" || e.Action == "unread"):
		args := c.Args
		if c.Name == "go" && len(args) > 0 && args[0].Text == "run" {
			args = args[1:]
			for len(args) > 0 && answer(args) == "" { // flags, the package, then its arguments
				args = args[1:]
			}
		}
		if verb := answer(args); verb != "" && (len(args) == 1 || slices.Contains([]string{"list", "show", "approve", "deny", "revoke"}, args[1].Text) || strings.HasPrefix(args[1].Text, "-")) {
			return guard.VerdictAsk, c.Name + " " + joined(args)
		}
	}
	return guard.VerdictAllow, ""
}

// typed reports whether e runs text that may stand anywhere in the call: in a
// here-document, or in what is piped into a program.
func typed(e guard.Effect) bool {
	return e.Kind == guard.Persist || e.Kind == guard.Code && (e.Action == "inline" || e.Action == "stdin") || e.Kind == guard.Network && e.Action == "shell"
}

// starts reports whether what does e may start another program that its words
// name: a debugger, an unlisted wrapper, a loader, a service, a container.
func starts(e guard.Effect) bool {
	switch e.Kind {
	case guard.Unknown, guard.Code, guard.Persist, guard.System:
		return true
	case guard.Exec:
		return e.Action != ""
	case guard.Network:
		return e.Action == "shell"
	}
	return false
}

// started is the word after handrail among the words, where it is one by which
// people answer.
func started(args []guard.Word) string {
	for i := range args {
		after := args[i+1:]
		if len(after) > 0 && after[0].Text == "--" {
			after = after[1:]
		}
		if strings.HasPrefix(strings.ToLower(path.Base(args[i].Text)), "handrail") && answer(after) != "" {
			return answer(after)
		}
	}
	return ""
}

// answer is the first of the words, where it is one by which people answer.
func answer(args []guard.Word) string {
	if len(args) > 0 && slices.Contains(answering, strings.ToLower(args[0].Text)) {
		return args[0].Text
	}
	return ""
}

func joined(args []guard.Word) string {
	var words []string
	for _, w := range args {
		words = append(words, w.Text)
	}
	return strings.Join(words, " ")
}

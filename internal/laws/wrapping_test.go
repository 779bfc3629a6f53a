package laws

import (
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
)

// wrapping is a way to run a command from within something else.
type wrapping struct {
	name string
	// simple says that only a program with its arguments can be wrapped.
	simple bool
	wrap   func(command string) string
}

var wrappings = []wrapping{
	{"timeout", true, func(c string) string { return "timeout 5 " + c }},
	{"env", true, func(c string) string { return "env " + c }},
	{"nohup", true, func(c string) string { return "nohup " + c }},
	{"nice", true, func(c string) string { return "nice -n 5 " + c }},
	{"setsid", true, func(c string) string { return "setsid " + c }},
	{"xargs", true, func(c string) string { return "echo x | xargs -I QQ " + c }},
	{"find -exec", true, func(c string) string { return `find . -name go.mod -exec ` + c + ` \;` }},
	{"assignment", true, func(c string) string { return "qq=1 " + c }},
	{"bash -c", false, func(c string) string { return "bash -c " + quote(c) }},
	{"sh here-doc", false, func(c string) string { return "bash <<'QQ'\n" + c + "\nQQ\n" }},
	{"eval", false, func(c string) string { return "eval " + quote(c) }},
	{"subshell", false, func(c string) string { return "(\n" + c + "\n)" }},
	{"group", false, func(c string) string { return "{\n" + c + "\n}" }},
	{"if", false, func(c string) string { return "if true; then\n" + c + "\nfi" }},
	{"else", false, func(c string) string { return "if false; then :; else\n" + c + "\nfi" }},
	{"while", false, func(c string) string { return "while true; do\n" + c + "\nbreak\ndone" }},
	{"for", false, func(c string) string { return "for qq in 1 2; do\n" + c + "\ndone" }},
	{"case", false, func(c string) string { return "case x in x)\n" + c + "\n;; esac" }},
	{"function", false, func(c string) string { return "qq() {\n" + c + "\n}\nqq" }},
	{"pipe", false, func(c string) string { return "{\n" + c + "\n} | cat" }},
	{"background", false, func(c string) string { return "{\n" + c + "\n} & wait" }},
	{"and", false, func(c string) string { return "true && {\n" + c + "\n}" }},
	{"not", false, func(c string) string { return "! {\n" + c + "\n}" }},
	{"trap", false, func(c string) string { return "trap " + quote(c) + " EXIT" }},
	{"substitution", false, func(c string) string { return "echo \"$(\n" + c + "\n)\"" }},
	{"assigned substitution", false, func(c string) string { return "qq=$(\n" + c + "\n)" }},
	{"process substitution", false, func(c string) string { return "cat <(\n" + c + "\n)" }},
	{"here-doc substitution", false, func(c string) string { return "cat <<QQ\n$(\n" + c + "\n)\nQQ\n" }},
}

// nested finds cannot be told apart: the first ; or + ends the outer one.
var nested = regexp.MustCompile(`-(exec|ok)`)

// Wrapping a command never loosens its verdict, unless the facts say that
// something is hidden; and what is hidden is never allowed.
func TestWrappingNeverLoosens(t *testing.T) {
	b := newBench(t)
	law := newOffences("wrapping never loosens")
	for _, j := range b.judgeAll(corpus(t)) {
		if j.verdict == guard.VerdictAllow {
			continue // nothing is looser
		}
		tree := parse(j.Command)
		if tree == nil {
			continue
		}
		for _, w := range wrappings {
			if w.simple && (!program(tree) || w.name == "find -exec" && nested.MatchString(j.Command)) {
				continue
			}
			wrapped := w.wrap(j.Command)
			if parse(wrapped) == nil { // a here-document without its end, a comment
				continue
			}
			law.tried++
			got := b.read(wrapped)
			if got.verdict <= j.verdict || got.unknown() && got.verdict < guard.VerdictAllow {
				continue
			}
			law.add(w.name+": "+j.verdict.String()+" becomes "+got.verdict.String(), "%s (%s) %q", j.ID, j.rule, wrapped)
		}
	}
	law.report(t, 10000)
}

// A redirection of the output to a file never loosens, and to a file of the
// system it is never allowed.
func TestRedirectionNeverLoosens(t *testing.T) {
	b := newBench(t)
	law := newOffences("redirecting never loosens")
	for _, j := range b.judgeAll(corpus(t)) {
		if parse(j.Command) == nil {
			continue
		}
		for _, to := range []string{"> f", ">> f", "2> f", "&> f", "> /etc/hosts", "2>> /etc/hosts", ">| ~/.bashrc"} {
			redirected := "{\n" + j.Command + "\n} " + to
			if parse(redirected) == nil {
				continue
			}
			law.tried++
			got := b.read(redirected)
			most := j.verdict
			if to[len(to)-1] != 'f' {
				most = min(most, guard.VerdictLLM)
			}
			if got.verdict > most {
				law.add(to+": "+j.verdict.String()+" becomes "+got.verdict.String(), "%s (%s) %q", j.ID, j.rule, redirected)
			}
		}
	}
	law.report(t, 10000)
}

// parse returns the tree of a command, or nil. Rows whose meaning hangs on what
// follows them, or that bash splits differently, are not taken.
func parse(command string) *syntax.File {
	if strings.HasSuffix(command, `\`) || strings.Contains(command, "\r") {
		return nil
	}
	return parseAs(command, syntax.LangBash)
}

func quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil { // a NUL: no such row parses
		return "''"
	}
	return q
}

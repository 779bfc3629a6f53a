package command

import (
	"strings"
	"testing"

	"handrail/guard"
)

// FuzzBind binds lines of any words. Law: every word of the arguments appears
// in one part, as a word of what a part starts, or as an option; and binding
// never fails.
func FuzzBind(f *testing.F) {
	table, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range []string{
		"rm -rf a $x", "tar xzf a.tgz -C d", "find . -exec rm {} + -delete", "git -C d commit -m x -- y", "env -S 'a b' A=b c",
		"dd if=a of=b", "kubectl exec p -- sh", "bash -oc pipefail ls", "python3 -m pip install x", "docker run -v a:b c d", "jq --arg a b . f",
		"sort -o", "find -exec", "timeout", "cp -t", "rm --force=false --recurs", "7z x -oa b", "sed -i -- s/a/b/ f",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := fields(line)
		if len(words) == 0 {
			return
		}
		args := words[1:]
		b := table.Bind(words[0].Text, args)
		if b.Spec == nil {
			if len(b.Parts)+len(b.Options)+len(b.Unread) > 0 {
				t.Errorf("%q: an unlisted program has parts", line)
			}
			return
		}
		parts, options := make([]int, len(args)), make([]int, len(args))
		for _, p := range b.Parts {
			if p.Index < 0 {
				continue
			}
			parts[p.Index]++
			attached := p.Word.Text != args[p.Index].Text && strings.HasSuffix(args[p.Index].Text, p.Word.Text)
			if p.Word != args[p.Index] && !attached {
				t.Errorf("%q: part %q is not of word %d", line, p.Word.Text, p.Index)
			}
			rest, from := p.Rest, p.Index+1
			if p.Role == Exec && len(rest) > 0 {
				rest = rest[1:]
			}
			for i, w := range rest {
				if w != args[from+i] {
					t.Errorf("%q: %q is not what follows word %d", line, w.Text, p.Index)
				}
				parts[from+i]++
			}
		}
		for _, o := range b.Options {
			options[o.Index]++
		}
		for i, w := range args {
			if parts[i]+options[i] == 0 {
				t.Errorf("%q: word %d, %q, is nowhere", line, i, w.Text)
			}
			if parts[i] > 1 {
				t.Errorf("%q: word %d, %q, is in %d parts", line, i, w.Text, parts[i])
			}
		}
	})
}

// FuzzSed reads any text as a sed script. Law: what a script does is not lost
// when comments and empty commands are put before it.
func FuzzSed(f *testing.F) {
	for _, s := range []string{"s/a/b/w x", "1,$!{p;e id\n}", "a\\\nfoo\nw x", "y/a/b/;r f", "s/[/]/x/e", "\\,x,d", ":a;ba"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain := brief(SedParts(guard.Word{Text: s, Exact: true}))
		if got := brief(SedParts(guard.Word{Text: "# e x\n;;p\n" + s, Exact: true})); got != plain {
			t.Errorf("%q: %q, after a comment %q", s, plain, got)
		}
	})
}

// FuzzAwk reads any text as an awk program. Law: a rule of its own after a
// program that can be read is seen.
func FuzzAwk(f *testing.F) {
	for _, s := range []string{`{print $1 > "x"}`, `/a/ {system("id")}`, `BEGIN{"a"|getline x}`, `$1 > 2 / 3`, `{if (x) /"/}`, "{print # }\n}", `@load "x"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain := brief(AwkParts(guard.Word{Text: s, Exact: true}))
		more := brief(AwkParts(guard.Word{Text: s + "\nEND { system(\"marker\") }", Exact: true}))
		if !strings.Contains(more, "marker") && !strings.Contains(more, "unknown") {
			t.Errorf("%q hides a rule: %q, with it %q", s, plain, more)
		}
	})
}

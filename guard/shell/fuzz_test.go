package shell

import (
	"reflect"
	"strings"
	"testing"

	"handrail/guard"
)

// seeds are sources that once were, or could be, hard to read.
var seeds = []string{
	"", "# only a comment", "x=1", "> f", "ls", "a | b | c", "$(", "`", "((", "${x", "x=(", "cat <<E\n$(rm x)\nE\n", "cat <<-'E'\n\ta\n\tE\n",
	"echo $'\\x00\\u41\\c'", "echo {1..3} {a,b{c,d}} {01..10..2} {z..a}", "${x@P}", "a[$(rm x)]=1", "f() { f; f | f & }; f", ":(){ :|:& };:",
	"while :; do x=$x$x; done", "for ((i=0;i<3;i++)); do echo $i; done", "case x in (a|b) ;& *) ;; esac", "[[ a =~ (b) ]]", "exec {fd}<>/dev/tcp/h/1",
	"coproc x { cat; }", "declare -A m=([a]=b); echo ${m[a]} ${!m[@]}", "set -- a b; shift; echo $@ ${@:1}", "trap 'trap x EXIT' EXIT", "eval eval eval x",
	"alias a='a a'; a", "xargs xargs xargs rm", "find . -exec find . -exec rm {} \\; \\;", "env env env -i A=b sh -c 'sh -c \"sh -c x\"'",
	"echo cm0= | base64 -d | sh", "printf '%*s' 3 x", "printf '%d %x' 1 2 3", "read -ra a <<< 'x y'; echo ${a[1]}", "x=a; y=x; echo ${!y}", "echo ${x:-${y:-${z:-a}}}",
	"cd a && cd - && popd && pushd", "source <(echo ls)", "bash <<< 'bash <<< ls'", "a=~:~; echo ~root ~+ ~-", "echo \\\n a", "if a; then b; elif c; then d; else e; fi",
	"x='*'; echo $x \"$x\"", "echo $((1/0)) $((x=3,x++)) $((08))", "let 'x=1' y+=2", "ls \u00e9 \u202e", "echo a\\\r\nb", "time -p ! ls", "function f { ls; }; f",
	"declare -n r=x; r=1; echo $x", "IFS=:; x=a:b; echo $x", "python3 -c 'import os; os.system(\"ls\")'", "sed 's/a/b/e' f", "awk 'BEGIN{system(\"ls\")}'", "echo ${x/a/b} ${x//a/} ${x#*/} ${x%%.*}",
	"f() { rm \"$1\"; }\nfor i in {1..40}; do f $i; done", "select x in a; do ls; done", "ls 2>&1 >&- <&3 &>f &>>g >|h", "{ { { ls; } } }", "(((a)))", "! ! ls", "a && b || c && d; e & f",
	"mapfile -t a <<< 'x'; rm ${a[@]}", "hash -p /x ls", "shopt -s expand_aliases\nalias x=y\nx", "ln -s / x; rm -rf x/y", "x=$(<f); y=`<f`", "echo \"${a[@]}\" \"${a[*]}\" $* \"$@\"",
}

// fuzzed is a reader with small limits, for a target that begins with the seeds.
func fuzzed(f *testing.F) (r *Reader, root string) {
	for _, s := range append(seeds, commands...) {
		f.Add(s)
	}
	root = f.TempDir()
	r = reader(f, root)
	r.Limits = Limits{Work: 20000, Commands: 300, Depth: 16, Bytes: 4096}
	return r, root
}

// FuzzRead: whatever the source, reading ends within its limits and says
// something: a program, or that something is hidden.
func FuzzRead(f *testing.F) {
	r, root := fuzzed(f)
	f.Fuzz(func(t *testing.T, source string) {
		facts := r.Read(source, root)
		sound(t, source, facts)
		if len(facts.Commands) > r.Limits.Commands+50 {
			t.Errorf("%d commands", len(facts.Commands))
		}
	})
}

// FuzzPrint: the text that is handed to bash reads as what was judged.
func FuzzPrint(f *testing.F) {
	r, root := fuzzed(f)
	f.Fuzz(func(t *testing.T, source string) {
		facts := r.Read(source, root)
		if facts.Script == "" || len(facts.Script) > r.Limits.Bytes { // printing "``" as "$()" makes it longer
			return
		}
		again := r.Read(facts.Script, root)
		if again.Script != facts.Script {
			t.Errorf("%q is printed as %q and then as %q", source, facts.Script, again.Script)
		}
		if a, b := told(facts), told(again); !reflect.DeepEqual(a, b) {
			t.Errorf("%q\n reads %v\n%q\n reads %v", source, a, facts.Script, b)
		}
	})
}

// told are facts without places in the source and spelling.
func told(f *guard.Facts) (out []string) {
	for _, c := range f.Commands {
		s := c.Name
		for _, a := range c.Args {
			if strings.ContainsAny(a.Text, "=[") { // declare's words are source text
				continue
			}
			s += " " + a.Text
		}
		out = append(out, s)
	}
	return append(out, paths(f)...)
}

// TestLimits: what is past the limits is refused, and nothing else is said.
func TestLimits(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	for n, source := range map[string]string{
		"bytes":     strings.Repeat("ls;", 1<<20/3),
		"commands":  strings.Repeat("ls;", 3000),
		"words":     "echo {1..999999999}",
		"products":  "echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
		"depth":     strings.Repeat("eval '", 1) + strings.Repeat("$(", 60) + "ls" + strings.Repeat(")", 60) + "'",
		"nesting":   strings.Repeat("(", 200000),
		"doubling":  "x=aaaaaaaaaaaaaaaa;" + strings.Repeat("x=$x$x;", 60) + "echo $x",
		"functions": "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { k; k; }; k() { l; l; }; l() { m; m; }; m() { n; n; }; n() { o; o; }; o() { p; p; }; p() { q; q; }; q() { ls; ls; }; f",
	} {
		f := r.Read(source, root)
		last := f.Effects[len(f.Effects)-1]
		for _, e := range f.Effects {
			if e.Kind == guard.Unknown && e.Action == "limits" {
				last = e
			}
		}
		if last.Kind != guard.Unknown || last.Action != "limits" {
			t.Errorf("%s: %+v", n, last)
		}
		if f.Script != "" {
			t.Errorf("%s: %d bytes are to be run", n, len(f.Script))
		}
	}
}

// TestUnreadable: what bash and the parser may read differently is refused.
func TestUnreadable(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	for _, source := range []string{"ls\x00rm x", "ls \xff", "ls\rrm x", "echo \x1b[2K", "ls (", "if", "echo ${x", "a\x7fb"} {
		f := r.Read(source, root)
		if len(f.Effects) != 1 || f.Effects[0].Kind != guard.Unknown || f.Effects[0].Action != "unparsed" || f.Script != "" {
			t.Errorf("%q: %+v", source, f)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	r := reader(b, root)
	for n, source := range map[string]string{
		"simple":   "git status",
		"pipeline": "cat go.mod | grep require | sort | head -5",
		"chain":    "cd internal && go test ./... 2>&1 | tail -20",
		"delete":   "rm -rf ./build dist/*.js \"$HOME/.cache/x\"",
		"loop":     "for f in a b c; do if [ -f \"$f\" ]; then cp \"$f\" out/; fi; done",
		"nested":   "bash -c 'x=$(echo hi); echo \"$x\" | tee out.txt'",
		"large":    strings.Repeat("echo hello world > out.txt\n", 200),
	} {
		b.Run(n, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Read(source, root)
			}
		})
	}
}

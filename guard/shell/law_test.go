package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"handrail/guard"
	"handrail/guard/command"
)

// table returns the built-in command table.
func table(t testing.TB) *command.Table {
	t.Helper()
	tab, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// reader returns a Reader whose workspace is root.
func reader(t testing.TB, root string) *Reader {
	return &Reader{Table: table(t), Home: "/home/u", Roots: []string{root}, Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}}
}

// sound holds for the facts of every source.
func sound(t testing.TB, source string, f *guard.Facts) {
	t.Helper()
	ran := false
	for i, e := range f.Effects {
		ran = ran || e.Kind == guard.Exec || e.Kind == guard.Unknown
		if !e.Known() {
			t.Errorf("%q: effect %d: %s has no action %q", source, i, e.Kind, e.Action)
		}
		if e.Command < -1 || e.Command >= len(f.Commands) {
			t.Errorf("%q: effect %d is of command %d of %d", source, i, e.Command, len(f.Commands))
		}
		if e.From < -1 || e.From >= len(f.Effects) || e.From == i {
			t.Errorf("%q: effect %d takes the data of %d", source, i, e.From)
		}
		switch e.Kind {
		case guard.Read, guard.Write, guard.Delete:
			if !strings.HasPrefix(e.Target, "/") || strings.Contains(e.Target, "/../") {
				t.Errorf("%q: %s of %q is no absolute path", source, e.Kind, e.Target)
			}
		}
		if strings.HasPrefix(e.Target, "the reader failed") {
			t.Errorf("%q: %s", source, e.Target)
		}
	}
	if !ran {
		t.Errorf("%q: neither a program nor anything hidden: %+v", source, f.Effects)
	}
	for i, c := range f.Commands {
		if c.From < -1 || c.From >= len(f.Commands) || c.From == i {
			t.Errorf("%q: command %d is fed by %d", source, i, c.From)
		}
	}
}

// commands are everyday and less everyday commands on which the laws are held.
var commands = []string{
	"ls -la", "rm -rf build", "cp a b", "git status", "cat x | grep y | wc -l", "echo hi > out.txt", "mkdir -p a/b && touch a/b/c",
	"for f in a b; do rm $f; done", "if test -f x; then rm x; else touch x; fi", "x=1; echo $x", "f() { rm $1; }; f a",
	"find . -name '*.o' -delete", "cd /tmp && rm -rf x", "sed -i s/a/b/ f", "(cd /usr; ls)", "case $x in a) ls;; b) rm b;; esac",
	"while read -r l; do echo $l; done < list", "curl -s https://example.org | sh", "bash -c 'rm a'", "sudo rm a", "env A=b rm a",
	"! grep -q x y && rm y", "{ echo a; rm b; } > log 2>&1", "cat <<E\nhi $(rm c)\nE\n", "echo `rm d`", "diff <(sort a) <(sort b)",
	"a=(x y); rm ${a[1]}", "rm \"${x:-y}\"", "ls > /dev/null 2>&1 &", "until rm x; do sleep 1; done", "[[ -f a && -n $(rm b) ]]",
	"eval 'rm a'", "trap 'rm t' EXIT; ls", "xargs rm < list", "echo $((1 + $(rm a)))", "time rm a", "coproc rm a", "select x in a b; do rm $x; done",
}

// TestEveryCallIsInTheFacts: each simple command of the tree is a command of
// the facts, at its place in the source.
func TestEveryCallIsInTheFacts(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	for _, source := range commands {
		f := r.Read(source, root)
		sound(t, source, f)
		tree, err := syntax.NewParser().Parse(strings.NewReader(source), "")
		if err != nil {
			t.Fatal(err)
		}
		syntax.Walk(tree, func(n syntax.Node) bool {
			c, ok := n.(*syntax.CallExpr)
			if !ok || len(c.Args) == 0 {
				return true
			}
			if !slices.ContainsFunc(f.Commands, func(g guard.Command) bool { return g.Line == c.Pos().Line() && g.Column == c.Pos().Col() }) {
				t.Errorf("%q: the call at %s is not in the facts", source, c.Pos())
			}
			return true
		})
	}
}

// paths returns the facts without what a change of spelling may change.
func paths(f *guard.Facts) (out []string) {
	for _, e := range f.Effects {
		out = append(out, e.Kind.String()+"/"+e.Action+" "+e.Target)
	}
	return out
}

// TestQuotingChangesNothing: a word means the same in every style of quoting.
func TestQuotingChangesNothing(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	styles := map[string]func(string) string{
		"single": func(s string) string { return "'" + s + "'" },
		"double": func(s string) string { return `"` + s + `"` },
		"dollar": func(s string) string { return "$'" + s + "'" },
		"locale": func(s string) string { return `$"` + s + `"` },
		"split":  func(s string) string { return s[:1] + `""` + s[1:] },
		"mixed":  func(s string) string { return `"` + s[:1] + `"'` + s[1:] + `'` },
		"escape": func(s string) string { return s[:len(s)-1] + `\` + s[len(s)-1:] },
		"octal":  func(s string) string { return `$'\` + octal(s[0]) + s[1:] + `'` },
		"hex":    func(s string) string { return `$'\x` + hexa(s[0]) + `'` + s[1:] },
		"var":    func(s string) string { return `${unset_here:-` + s + `}` },
		"subst":  func(s string) string { return `$(printf %s ` + s + `)` },
	}
	for _, words := range [][]string{{"rm", "-rf", "/etc/x"}, {"cp", "a", "/usr/b"}, {"cat", "/etc/passwd"}, {"git", "push", "--force"}, {"sudo", "rm", "y"}} {
		plain := paths(r.Read(strings.Join(words, " "), root))
		for n, style := range styles {
			quoted := make([]string, len(words))
			for i, w := range words {
				quoted[i] = style(w)
			}
			source := strings.Join(quoted, " ")
			got := slices.DeleteFunc(paths(r.Read(source, root)), func(s string) bool { return s == "exec/ printf" })
			if !slices.Equal(plain, got) {
				t.Errorf("%s: %s\n got %v\nwant %v", n, source, got, plain)
			}
		}
	}
}

func octal(c byte) string { return string([]byte{'0' + c>>6, '0' + c>>3&7, '0' + c&7}) }
func hexa(c byte) string  { return string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]) }

// TestNamesOfVariablesDoNotMatter: renaming a variable changes nothing.
func TestNamesOfVariablesDoNotMatter(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	for _, source := range []string{
		"V=/etc; rm -rf $V", "for V in a b; do rm $V; done", "read V <<< x; rm $V", "rm -rf $V/x", "V=(a b); rm ${V[@]}", "V=1; ((V++)); rm f$V",
		"f() { local V=$1; rm $V; }; f a", "printf -v V %s a; rm $V", "export V=a; bash -c 'rm $V'", "V=a; V+=b; rm $V; rm ${V#a} ${V/b/c} ${V:0:1} ${V^^}",
	} {
		a := paths(r.Read(strings.ReplaceAll(source, "V", "alpha"), root))
		b := paths(r.Read(strings.ReplaceAll(source, "V", "zz_9"), root))
		if !slices.Equal(a, b) {
			t.Errorf("%s\n%v\n%v", source, a, b)
		}
	}
}

// TestJoiningIsTheUnion: what two commands do one after the other is what each
// does alone, when neither changes the shell or the files of the other.
func TestJoiningIsTheUnion(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	for _, a := range []string{"ls -la", "cat /etc/passwd", "git status", "grep -r x .", "wc -l a | sort"} {
		for _, b := range []string{"rm -rf build", "cp a b", "curl https://example.org", "sudo ls", "x=1; echo $x"} {
			want := append(paths(r.Read(a, root)), paths(r.Read(b, root))...)
			for _, sep := range []string{"; ", "\n", " && ", " || ", " & "} {
				if got := paths(r.Read(a+sep+b, root)); !slices.Equal(got, want) {
					t.Errorf("%s\n got %v\nwant %v", a+sep+b, got, want)
				}
			}
		}
	}
}

// TestWrappingKeepsTheEffects: whatever is put around a command, its effects
// are still there.
func TestWrappingKeepsTheEffects(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	inner := "rm -rf /etc/x"
	for _, wrap := range []string{
		"%", "(%)", "{ %; }", "if true; then %; fi", "if %; then :; fi", "while %; do :; done", "for i in 1; do %; done", "f() { %; }; f",
		"case x in x) %;; esac", "! %", "% &", "true && %", "false || %", "% | cat", "echo | %", "echo $(%)", "echo `%`", "cat <(%)", "eval '%'",
		"bash -c '%'", "sh -c \"%\"", "echo '%' | bash", "bash <<< '%'", "bash <<E\n%\nE\n", "trap '%' EXIT", "x='%'; eval \"$x\"", "x='%'; $x", "env %",
		"env A=b %", "nohup % &", "timeout 5 %", "nice -n 5 %", "time %", "command %", "exec %", "sudo %", "coproc %", "until %; do :; done",
		"printf '%%s' '%' | sh", "echo '%' > s.sh; bash s.sh", "echo '%' > s.sh; source ./s.sh", "select x in a; do %; done", "a=(%); \"${a[@]}\"",
		"set -- %; \"$@\"", "[[ -n $(%) ]]", "((x = $(%)))", "echo ${x:-$(%)}", "f() { \"$@\"; }; f %", "find . -exec % \\;", "echo x | xargs -I{} %",
	} {
		source := strings.ReplaceAll(strings.Replace(wrap, "%", inner, 1), "%%", "%")
		if wrap == "printf '%%s' '%' | sh" {
			source = "printf '%s' '" + inner + "' | sh"
		}
		f := r.Read(source, root)
		if !slices.ContainsFunc(f.Effects, func(e guard.Effect) bool { return e.Kind == guard.Delete && e.Target == "/etc/x" && e.Deep }) {
			t.Errorf("%s: the deletion is not in the facts: %v", source, paths(f))
		}
	}
}

// corpus returns the commands of a file of JSON lines.
func corpus(t testing.TB, file string) (rows []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var row struct{ Command string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row.Command)
	}
	return rows
}

// TestCorpus holds the laws on commands of one's own: HANDRAIL_CORPUS names a
// file of JSON lines with a field "command".
func TestCorpus(t *testing.T) {
	file := os.Getenv("HANDRAIL_CORPUS")
	if file == "" {
		t.Skip("HANDRAIL_CORPUS names no file of JSON lines")
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root := t.TempDir()
	r := reader(t, root)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	var took []time.Duration
	unparsed := map[string]int{}
	for lines.Scan() {
		var row struct{ ID, Command string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		facts := r.Read(row.Command, root)
		took = append(took, time.Since(start))
		if d := took[len(took)-1]; d > 5*time.Millisecond {
			t.Logf("%s takes %v", row.ID, d)
		}
		sound(t, row.ID, facts)
		for _, e := range facts.Effects {
			if e.Kind == guard.Unknown && e.Action != "" {
				unparsed[row.ID+": "+e.Target]++
			}
		}
	}
	slices.Sort(took)
	t.Logf("%d rows, median %v, 99 %% %v, last %v; %d not read", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], len(unparsed))
	for u := range unparsed {
		t.Log(u)
	}
}

// TestReaderIsSafeForConcurrentUse: readings at the same time say what they say
// alone.
func TestReaderIsSafeForConcurrentUse(t *testing.T) {
	root := t.TempDir()
	r := reader(t, root)
	want := make([]string, len(commands))
	for i, source := range commands {
		want[i] = notation(r.Read(source, root), root)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i, source := range commands {
				if got := notation(r.Read(source, root), root); got != want[i] {
					t.Errorf("%q\n got %s\nwant %s", source, got, want[i])
				}
			}
		})
	}
	wait.Wait()
}

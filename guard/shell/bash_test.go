package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"handrail/internal/testkit"
)

// stub defines the only command that the scripts below call. It prints its
// arguments, each ended by a NUL, and a mark after each call.
const stub = "printargs() { builtin printf '%s\\0' \"$@\" $'\\1'; }\n"

// harmless are scripts that call nothing but printargs and builtins without an
// effect on the world. Bash runs them; every word has to be what we read.
var harmless = []string{
	`printargs a b c`, `printargs 'a b' "c d" e\ f`, `printargs a"b"'c'\d`, `printargs $'a\tb\x41\u00e9\101\e\cA'`, `printargs $"a"`,
	`printargs {a,b}c x{1..3} {01..03} {c..a} {1..10..4} {a,b{c,d}}e {x} {} {a..} a{b`, `printargs {-1..1} {3..1} {a,}{b,c} "{a,b}" \{a,b}`,
	`printargs {a,'b c',"$x"}`, `x="a b"; printargs $x "$x" ${x}c`, `x=" a  b "; printargs $x "$x" c$x"d"`, `x=; printargs $x "$x" a$x`, `printargs "" ''`,
	`x=a; printargs ${x:-b} ${y_unset:-c d} "${y_unset:-c d}" ${x:+e} ${y_unset:+f}`, `x=; printargs ${x-a} ${x:-b} "${x:=c}" $x`,
	`x=abcabc; printargs ${x#a} ${x#*b} ${x##*b} ${x%c} ${x%b*} ${x%%b*} ${x/b/X} ${x//b/X} ${x/#a/Y} ${x/%c/Z} ${x//b}`,
	`x=hello; printargs ${x:1} ${x:1:2} ${x: -2} ${x:0:-1} ${#x} ${x^} ${x^^} ${x^^} ${x:9}`, `x=HELLO; printargs ${x,} ${x,,}`,
	`x=a/b/c.tar.gz; printargs ${x##*/} ${x%/*} ${x%%.*} ${x#*.}`, `x='a*b'; printargs "${x#a\*}" "${x#"a*"}" "${x%'*b'}"`,
	`a=(x "y z" w); printargs "${a[@]}" ${a[1]} "${a[1]}" ${#a[@]} "${a[*]}" ${a[-1]} ${!a[@]}`, `a=(x y z); printargs "${a[@]:1}" "${a[@]:0:2}" "${a[@]#x}" "${a[@]/y/Q}"`,
	`a=(); printargs "${a[@]}" x`, `a=(x); a+=(y); a[2]=z; printargs "${a[@]}"`, `declare -A m=([k]=v [l]="w w"); printargs "${m[k]}" ${m[l]}`, `a=(b c); printargs x"${a[@]}"y`,
	`set -- a "b c" d; printargs "$@" $# "$*" $1 "$2" ${3}`, `set -- a b; shift; printargs "$@"`, `set -- a b c; printargs "${@:2}" "${@:1:1}"`, `set --; printargs "$@" x`, `set -- a b; printargs x"$@"y`,
	`f() { printargs "$1" "$#" "$@"; }; f a "b c"`, `f() { local x=1; printargs $x; }; x=2; f; printargs $x`, `f() { x=3; }; x=2; f; printargs $x`, `f() { printargs $1; g() { printargs $1; }; g y; printargs $1; }; f x`,
	`x=1; (x=2; printargs $x); printargs $x`, `{ x=5; }; printargs $x`, `x=1; printargs $((x+1)) $((x*3)) $((2**1)) $((7/2)) $((7%4)) $((1<2)) $((x++)) $x`, `x=5; ((x+=2)); printargs $x`, `let x=3; printargs $x`,
	`printargs $(printf '%s' a b) "$(printf 'c d')"`, "printargs `printf x` \"`printf 'y z'`\"", `printargs "$(printf 'a\n\n')"`, `x=$(printf 'a b'); printargs $x "$x"`, `printargs $(printf 'a\nb c\n')`,
	`printf -v x '%s-%s' a b; printargs "$x"`, `printf -v x '%03d %x' 7 255; printargs "$x"`, `printf -v x 'a\tb\\n%%'; printargs "$x"`, `printf -v x '%s,' a b c; printargs "$x"`, `printf -v x '%5s|%-5s|' a b; printargs "$x"`, `printf -v x '%b' 'a\tb'; printargs "$x"`,
	`read a b <<< "x y z"; printargs "$a" "$b"`, `read -r a <<< 'q\w'; printargs "$a"`, `IFS=: read a b <<< "x:y z"; printargs "$a" "$b"`, `IFS=, ; x=a,b,,c; printargs $x`, `IFS=' ,'; x='a , b,c'; printargs $x`, `IFS=; x='a b'; printargs $x`, `IFS=x; y=axbxc; printargs $y "$y"`,
	`mapfile -t a <<< $'x\ny z'; printargs "${a[@]}"`, `for i in a "b c" {1..2}; do printargs $i; done`, `for i; do printargs $i; done`, `set -- p q; for i; do printargs $i; done`,
	`x=b; printargs "a${x}c" a$x\c 'a$x'`, `x=y; y=z; printargs ${!x}`, `x=a; x+=b; printargs $x`, `x=1 y=2; printargs $x$y`, `declare x=a y="b c"; printargs $x "$y"`, `export x=a; printargs $x`, `declare -i n=4; printargs x`,
	`cd /; printargs "$PWD"`, `cd /usr; cd /; cd - >&2; printargs "$PWD" "$OLDPWD"`, `pushd /usr >&2; printargs $PWD; popd >&2`, `cd /usr/..; printargs "$PWD"`, `printargs ~ ~/x "~" x~ a=~`, `x=~/y; printargs $x`, `x=a:~/b; printargs $x`,
	`if true; then printargs a; fi`, `case ab in a*) printargs $(printf m);; esac`, `x='$(printargs no)'; printargs "$x"`, `eval 'printargs a "b c"'`, `eval "x='a b'"; printargs "$x"`, `x='printargs "a b"'; eval "$x"`, `x='printargs "a b"'; $x`,
	`printargs "a
b"`, "printargs a \\\n b", `printargs a # b`, `printargs a#b "#"`, `printargs a;printargs b`, `printargs a&&printargs b`, `printargs '\a' "\a" \a "\$" "\\" "\"" "a\
b"`, `command printf ''; printargs x`,
	`printargs <<< x a`, "printargs a <<E b\ntext\nE\n", `printargs ${x_unset-a\ b} "${x_unset-a\ b}" ${x_unset-'a b'} "${x_unset-'a b'}"`, `x=a; printargs "${x:-"b c"}" "${z_unset:-"b c"}"`,
	`x='a b'; y=$x; printargs "$y"`, `x=*; printargs "$x"`, `printargs "*" '?' \*`, `printargs nomatch_*.zz [q]nomatch`, `printargs /us[r] /et?`, `x=/us*; printargs $x "$x"`, `printargs /usr/{bin,nope_*}`, `printargs "/us"[r]`, `printargs '/us*'`,
	`x=abc; printargs ${x/[ab]/X} ${x//[!a]/-} ${x/*/q}`, `x='a.b'; printargs ${x%.*} ${x#*.}`, `x=aXbX; printargs "${x//X/ }" ${x//X/ }`, `printargs ${#} $?`, `x=é; printargs ${#x} ${x^}`, `unset x; printargs "${x-gone}"`, `x=1; unset x; printargs a"$x"b ${x:-c}`,
	`a=([0]=x [1]=y); printargs "${a[@]}"`, `a=({1..3}); printargs ${a[@]}`, `x=3; a=(p q r s); printargs ${a[x]} ${a[$x-1]} ${a[1+1]}`, `x="a"; printargs "${x}"{1,2}`, `printargs a{1,2}"b c"{3,4}`, `printargs $'\'' "'" '"'`,
	`local_=1; f() { local a=$1 b; b=$a$a; printargs $b; }; f x; printargs "${b-unset}"`, `f() { return; }; f; printargs a`, `f() { set -- z; printargs $1; }; set -- q; f; printargs $1`, `x=$'a\nb'; printargs $x "$x"`, `x="a	b"; printargs $x`,
	`set -- 'a b' c; x="$*"; printargs "$x" $*`, `IFS=-; set -- a b; printargs "$*" $*`, `x=(a b); y=("${x[@]}" c); printargs "${y[@]}" ${#y[@]}`, `x=abc; printargs ${x:(-2)} ${x:1+1}`, `printargs ${x:=v}$x`, `readonly r=1; printargs $r`,
}

// TestWordsAgreeWithBash: for scripts without effects, the words that we read
// are those that bash gives to the command.
func TestWordsAgreeWithBash(t *testing.T) {
	bash := testkit.Require(t, "bash", "apt-get install bash")
	home, root := t.TempDir(), t.TempDir()
	r := &Reader{Table: table(t), Home: home, Roots: []string{root}, Env: map[string]string{"PATH": filepath.Join(root, "none")}}
	for _, source := range harmless {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-c", stub+source)
		cmd.Dir = root
		cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(root, "none"), "LC_ALL=C.UTF-8"}
		out, _ := cmd.Output()
		cancel()
		want := strings.Split(strings.TrimSuffix(string(out), "\x00\x01\x00"), "\x00\x01\x00")
		var got []string
		facts := r.Read(source, root)
		for _, c := range facts.Commands {
			if c.Name != "printargs" {
				continue
			}
			s := ""
			for i, w := range c.Args {
				if i > 0 {
					s += "\x00"
				}
				s += w.Text
				if !w.Exact {
					s += "<not known>"
				}
			}
			got = append(got, s)
		}
		if len(out) == 0 {
			want = nil
		}
		if !slices.Equal(got, want) && !known2(got, want) {
			t.Errorf("%s\nread %q\nbash %q", source, got, want)
		}
		if script := facts.Script; script != "" && script != source {
			again := exec.Command(bash, "--norc", "--noprofile", "-c", stub+script)
			again.Dir, again.Env = cmd.Dir, cmd.Env
			if out2, _ := again.Output(); string(out2) != string(out) {
				t.Errorf("%q gives %q, but printed as %q it gives %q", source, out, script, out2)
			}
		}
	}
}

// known2 reports whether all that was read is right as far as it was told.
func known2(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		a, b := strings.Split(got[i], "\x00"), strings.Split(want[i], "\x00")
		if len(a) != len(b) {
			return false
		}
		for j := range a {
			p, partly := strings.CutSuffix(a[j], "<not known>")
			if !partly && a[j] != b[j] || partly && !strings.HasPrefix(b[j], p) {
				return false
			}
		}
	}
	return true
}

// squeeze takes away what separates words and commands.
var squeeze = strings.NewReplacer(" ", "", "\n", "", "\t", "", ";", "")

// TestPrintedMeansTheSame: bash's own reading of the printed script is that of
// the source. With --pretty-print bash reads and prints, and runs nothing.
func TestPrintedMeansTheSame(t *testing.T) {
	bash := testkit.Require(t, "bash", "apt-get install bash")
	root := t.TempDir()
	r := reader(t, root)
	rows := append(slices.Clone(commands), seeds...)
	if file := os.Getenv("HANDRAIL_CORPUS"); file != "" {
		rows = append(rows, corpus(t, file)...)
	}
	ask := func(source string) (string, bool) {
		cmd := exec.Command(bash, "--norc", "--noprofile", "--pretty-print", "/dev/stdin")
		cmd.Dir, cmd.Stdin = root, strings.NewReader(source)
		cmd.Env = []string{"PATH=" + filepath.Join(root, "none"), "LC_ALL=C.UTF-8"}
		out, err := cmd.Output()
		return string(out), err == nil
	}
	asked := 0
	for _, source := range rows {
		facts := r.Read(source, root)
		if strings.TrimSpace(facts.Script) == "" || facts.Script == source || facts.Script == source+"\n" {
			continue
		}
		if strings.Contains(source, "`") || strings.Contains(source, "((") || strings.Contains(source, "let ") || strings.Contains(source, "$[") || strings.Contains(source, "\r") {
			continue // spelled otherwise: $( ) for backquotes, spaces in arithmetic
		}
		before, ok := ask("f() {\n" + source + "\n}\n")
		if !ok {
			continue // bash does not take the source; it will not take what we print either
		}
		asked++
		if after, _ := ask("f() {\n" + facts.Script + "\n}\n"); squeeze.Replace(before) != squeeze.Replace(after) {
			t.Errorf("%q\nbash reads the source as %s\nand the printed text as %s", source, before, after)
		}
	}
	if asked < 10 {
		t.Errorf("only %d scripts are printed otherwise than they were written", asked)
	}
}

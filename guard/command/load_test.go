package command

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestBuiltin(t *testing.T) {
	table, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range table.Names() {
		if !isPattern(name) && table.Lookup(name) == nil {
			t.Errorf("%s is named and not found", name)
		}
	}
	if n := len(table.Names()); n < 400 {
		t.Errorf("only %d programs", n)
	}
}

// Every mistake in a file is an error with its place.
func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"a:\n  dok: x\n", `x.yaml:2: unknown field "dok" of a program`},
		{"a:\n  flags:\n    -x: {argh: text}\n", `x.yaml:3: unknown field "argh" of a flag`},
		{"a:\n  operands: [tekst]\n", `x.yaml:2: unknown role "tekst"`},
		{"a:\n  operands: [write/sideways]\n", `x.yaml:2: unknown role "write/sideways"`},
		{"a:\n  operands: [read..., write...]\n", "x.yaml:2: write... cannot stand here"},
		{"a:\n  operands: [exec, read]\n", "x.yaml:2: nothing can follow exec"},
		{"a:\n  operands: [read..., exec]\n", "x.yaml:2: exec cannot stand here"},
		{"a: {}\nb, a: {}\n", "x.yaml:2: a is already at x.yaml:1"},
		{"a:\n  plain: -x\n  flags:\n    -y, -x: text\n", "x.yaml:4: flag -x is given twice"},
		{"a:\n  flags:\n    x: text\n", "x.yaml:3: flag x: begins with no dash"},
		{"a:\n  flags:\n    if=:\n", "x.yaml:3: flag if= needs the role of its value"},
		{"a:\n  effects: [wrote x]\n", `x.yaml:2: template "wrote x" does not begin with a kind`},
		{"a:\n  effects: [write $x]\n", `x.yaml:2: template "write $x" may hold one of`},
		{"a:\n  effects: [write $]\n", `x.yaml:2: template "write $" may hold one of`},
		{"a:\n  options: gnuish\n", `x.yaml:2: "gnuish" is none of`},
		{"a:\n  lang: klingon\n", `x.yaml:2: "klingon" is none of`},
		{"a:\n  reads: minds\n", `x.yaml:2: "minds" is none of`},
		{"a:\n  sub:\n    b: {}\n    c, b: {}\n", "x.yaml:4: subcommand b is given twice"},
		{"a:\n  sub:\n    b: {sub: {c: {huh: 1}}}\n", `x.yaml:3: unknown field "huh"`},
		{"a:\n  use: b\n", "x.yaml:2: use: b is no program"},
		{"a:\n  use: b\n  lenient: true\nb: {}\n", "x.yaml:2: use: b stands beside other fields"},
		{"a:\n  flags:\n    -x: {optional: true}\n", "x.yaml:3: optional, separate and more need an argument"},
		{"a:\n  flags:\n    -x: {arg: text, until: [x]}\n", "x.yaml:3: optional, separate and more need an argument"},
		{"a:\n  flags:\n    -x: {drop: [wrote]}\n", `x.yaml:3: kind "wrote" is not one of`},
		{"a:\n  flags:\n    -x: {turns: {reed: write}}\n", `x.yaml:3: unknown role "reed"`},
		{"a:\n  words: {x: reed}\n", `x.yaml:2: unknown role "reed"`},
		{"a:\n  lenient: maybe\n", "x.yaml:2: "},
		{"a:\n  lenient: true\n  lenient: true\n", `"lenient"`},
		{"a b:\n  lenient: true\n", "x.yaml:1: name a b has a quote or a space"},
		{"a: [x]\n", "x.yaml:1: a mapping is wanted here"},
		{"a: {flags: {}\n", "x.yaml: yaml: "},
	} {
		_, err := Load(fstest.MapFS{"x.yaml": {Data: []byte(c.file)}}, "*.yaml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.file, err, c.want)
		}
	}
	if _, err := Load(fstest.MapFS{"x.yaml": {Data: []byte("# nothing\n")}}, "*.yaml"); err != nil {
		t.Errorf("a file of comments: %v", err)
	}
}

func TestZeroTable(t *testing.T) {
	var table Table
	if b := table.Bind("ls", fields("-l a")); b.Spec != nil || len(b.Parts) > 0 {
		t.Errorf("the zero table knows ls: %v", b)
	}
}

// An entry that is merged into another gives way to what that one says itself.
func TestMerge(t *testing.T) {
	table, err := Load(fstest.MapFS{"x.yaml": {Data: []byte(`
a:
  flags: &flags
    -o, --out: write
    -n:
  operands: [read]
b:
  flags:
    <<: *flags
    -o: text
  operands: [read]
`)}}, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"a -o x y": "write:x read:y", "b -o x y": "read:y", "b --out x -n y": "write:x read:y"} {
		words := fields(line)
		if got := show(table.Bind(words[0].Text, words[1:])); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}

func TestDocument(t *testing.T) {
	table, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if !table.Document(&out, "find") || !strings.Contains(out.String(), "-delete") || !strings.Contains(out.String(), "delete $@") {
		t.Errorf("find is documented as %q", out.String())
	}
	if table.Document(&out, "no-such-program") {
		t.Error("a program that is not listed is documented")
	}
}

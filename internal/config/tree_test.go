package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"handrail/guard"
)

// samples are values of each setting, from loose to strict or side by side;
// every setting must have some, so that none escapes the laws.
var samples = map[string][]string{
	"hosts":                          {"[a.example]", "[b.example]", "['*.example.org', 'a.example']", "[x.example.org]", "[]", "['!github.com']"},
	"profile":                        {"yolo", "standard", "strict"},
	"fallback":                       {"contain", "ask", "deny"},
	"levels":                         {"{net/unknown-host: allow}", "{net/unknown-host: deny}", "{default/write: ask}", "{default/write: deny, net/unknown-host: ask}", "{default/push: allow, net/send: allow}"},
	"default_deny":                   {"true", "false"},
	"protected_files":                {"[a.txt]", "[src/**]", "[]"},
	"security.patterns":              {"['x:a.txt']", "['y:evil']"},
	"security.keywords":              {"[evil]", "[src]"},
	"approval.ask_timeout":           {"10s", "20s"},
	"approval.grant_expiry":          {"2h", "3d"},
	"approval.pending_expiry":        {"2m", "3h"},
	"tools.safe_bash.enabled":        {"true", "false"},
	"tools.safe_bash.allow":          {"['src/**']", "['*.txt', '/tmp/**']", "[]"},
	"tools.safe_bash.deny":           {"['*.txt']", "[src/b]"},
	"tools.safe_bash.allowed_dirs":   {"[src]", "[., /tmp]", "[src/deep]"},
	"tools.safe_bash.rate_limit":     {"5", "10"},
	"tools.safe_bash.allow_commands": {"[rm, touch]", "[touch, curl, cat]", "[curl]", "[git push, git]"},
	"tools.safe_bash.deny_commands":  {"[rm]", "[git push]"},
	"tools.safe_bash.allow_domains":  {"[a.example]", "['*.example.org', b.example]", "[]"},
	"tools.safe_write.enabled":       {"true", "false"},
	"tools.safe_write.allow":         {"['src/**']", "['*.txt']"},
	"tools.safe_write.deny":          {"['*.txt']"},
	"tools.safe_write.allowed_dirs":  {"[src]", "[doc]"},
	"tools.safe_write.rate_limit":    {"5", "10"},
	"roots":                          nil, // private: of places, not of judgement
	"state":                          nil,
	"store":                          nil,
	"tools.safe_read.*":              nil, // the rows are those of safe_write
	"tools.safe_edit.*":              nil,
	"llm.*":                          nil, // private
	"http.*":                         nil, // private
	"audit.*":                        nil, // private
	"principals":                     {"{alice: {workspace: /srv/a}, bob: {workspace: /srv/b, home: /srv/bob, subjects: [b@example.org], tools: {safe_bash: {rate_limit: 5}}}}"},
}

// Every setting has its samples, a place in the default text and in the schema,
// and what show prints of it, reads.
func TestEverySetting(t *testing.T) {
	userOf(t)
	c, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	leaves(tree(), func(path string, f *field) {
		_, ok := samples[path]
		_, family := samples[path[:strings.LastIndexByte(path, '.')+1]+"*"]
		if top, _, ok := strings.Cut(path, "."); ok && !family {
			_, family = samples[top+".*"]
		}
		if !ok && !family && !strings.Contains(path, "sandbox.") && !strings.Contains(path, "store.") && !strings.Contains(path, "history.") {
			t.Errorf("%s has no samples in this test", path)
		}
		if f.doc == "" || f.sample == "" || f.schema == nil || f.under == nil || f.join == nil {
			t.Errorf("%s is not complete", path)
		}
		for _, v := range append(slices.Clone(samples[path]), f.sample) {
			if path == "roots" {
				continue // must be there
			}
			text := written(path, v)
			l, err := c.parse("f", []byte(text))
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			shown := f.show(l.values)
			if shown == "(set)" {
				continue
			}
			again, err := c.parse("f", []byte(written(path, shown)))
			if err != nil || f.show(again.values) != shown {
				t.Errorf("%s: %s is shown as %s, which reads as %v, %v", path, v, shown, again, err)
			}
		}
		all += path + "\n"
	})
	os.MkdirAll(filepath.Join(c.Home, "src", "project"), 0o700)
	var lines []string
	for _, line := range strings.Split(DefaultText("x"), "\n") {
		if text, ok := strings.CutPrefix(line, "#"); ok && (!strings.HasPrefix(text, " ") || strings.HasPrefix(text, "  ")) {
			line = text
		}
		lines = append(lines, line)
	}
	l, err := c.parse("default", []byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatalf("the default text with every # taken away: %v", err)
	}
	for _, path := range strings.Fields(all) {
		if _, ok := l.lines[path]; !ok {
			t.Errorf("%s is not in the default text", path)
		}
	}
	if l, err := c.parse("default", []byte(DefaultText("x"))); err != nil || len(l.lines) > 0 {
		t.Errorf("the default text sets %v, %v", l, err)
	}
}

// written is a file that sets one setting.
func written(path, value string) string {
	var b strings.Builder
	parts := strings.Split(path, ".")
	for i, p := range parts {
		fmt.Fprintf(&b, "%s%s:", strings.Repeat("  ", i), p)
		if i < len(parts)-1 {
			b.WriteString("\n")
		}
	}
	return b.String() + " " + value + "\n"
}

// The order of each setting is one: the stricter of a and b is as strict as
// both, whatever comes first, and asking again changes nothing.
func TestOrders(t *testing.T) {
	userOf(t)
	c, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	leaves(tree(), func(path string, f *field) {
		for _, a := range samples[path] {
			for _, b := range samples[path] {
				of := func(v string) *Config {
					l, err := c.parse("f", []byte(written(path, v)))
					if err != nil {
						t.Fatal(err)
					}
					return l.values
				}
				strict := func(v, w *Config) *Config {
					got := *v
					f.strict(&got, w)
					return &got
				}
				ab, ba := strict(of(a), of(b)), strict(of(b), of(a))
				if path != "levels" && sorted(f.show(ab)) != sorted(f.show(ba)) {
					t.Errorf("%s: %s with %s is %s, the other way round %s", path, a, b, f.show(ab), f.show(ba))
				}
				if again := strict(strict(ab, of(a)), of(b)); f.show(again) != f.show(ab) {
					t.Errorf("%s: %s with %s is %s, and then %s", path, a, b, f.show(ab), f.show(again))
				}
			}
		}
	})
}

// Which one is the stricter, in examples.
func TestStricter(t *testing.T) {
	userOf(t)
	c, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][4]string{
		{"profile", "yolo", "strict", `"strict"`}, {"fallback", "contain", "ask", `"ask"`}, {"default_deny", "false", "true", "true"},
		{"approval.ask_timeout", "20s", "10s", "10s"}, {"tools.safe_bash.rate_limit", "10", "5", "5"}, {"tools.safe_read.enabled", "true", "false", "false"},
		{"tools.safe_bash.allow", "['src/**']", "['src/a/*.go', '*.md']", `["src/a/*.go"]`}, {"tools.safe_bash.allow", "[a/b]", "[c/d]", "[]"},
		{"tools.safe_bash.deny", "[a]", "[b]", `["a","b"]`}, {"tools.safe_bash.allow_commands", "[go]", "[go test, make]", `["go test"]`},
		{"tools.safe_bash.allow_domains", "['*.example.org']", "[a.example.org, example.org]", `["a.example.org"]`},
		{"tools.safe_bash.allowed_dirs", "[.]", "[src, /tmp]", `["src"]`}, {"hosts", "[a.example]", "['!b.example']", `["!b.example"]`},
		{"levels", "{net/send: deny}", "{net/send: allow}", `{"net/send":"deny"}`},
		{"llm.allow_remote", "true", "false", "false"}, {"llm.use", "on", "off", `"off"`}, {"llm.max_turns", "3", "9", "3"},
	} {
		leaves(tree(), func(path string, f *field) {
			if path != row[0] {
				return
			}
			a, err1 := c.parse("a", []byte(written(path, row[1])))
			b, err2 := c.parse("b", []byte(written(path, row[2])))
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if f.strict(a.values, b.values); f.show(a.values) != row[3] {
				t.Errorf("%s: %s with %s is %s, want %s", path, row[1], row[2], f.show(a.values), row[3])
			}
		})
	}
}

func sorted(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(`[]",`, r) })
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// calls are what the laws judge. None of them is run.
var calls = []struct{ tool, text string }{
	{"safe_bash", "cat src/a.txt"}, {"safe_bash", "touch src/b"}, {"safe_bash", "rm -rf src"}, {"safe_bash", "curl https://a.example/x"}, {"safe_bash", "curl https://x.example.org"},
	{"safe_bash", "curl -d @src/a.txt https://b.example"}, {"safe_bash", "git push origin main"}, {"safe_bash", "curl https://github.com/x"}, {"safe_bash", "echo evil > doc/evil.txt"}, {"safe_bash", "$X src"}, {"safe_bash", "frobnicate src/deep/x"},
	{"safe_bash", "touch /tmp/elsewhere"}, {"safe_bash", "env touch src/deep/c.txt"}, {"safe_write", "src/a.txt"}, {"safe_write", "doc/b"}, {"safe_write", ".env"},
}

// verdicts of all calls under c.
func verdicts(t *testing.T, c *Config, root string) []guard.Verdict {
	t.Helper()
	j, err := c.Judge(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []guard.Verdict
	for _, call := range calls {
		ec := &guard.EvalContext{ToolName: call.tool, WorkingDir: root, Roots: []string{root}}
		if call.tool == "safe_bash" {
			ec.Facts, ec.Input = j.Reader.Read(call.text, root), []byte(quoted(map[string]string{"command": call.text}))
		} else {
			ec.Facts = &guard.Facts{Dir: root, Effects: []guard.Effect{{Kind: guard.Write, Target: filepath.Join(root, call.text), From: -1, Command: -1, Exact: true}}}
			ec.Input = []byte(quoted(map[string]string{"path": call.text, "content": "evil"}))
		}
		v := j.Guard.Judge(ec).Verdict
		if v == guard.VerdictLLM {
			v = guard.VerdictAsk // llm lies beside ask: what follows is fallback's
		}
		all = append(all, v)
	}
	return all
}

// denied says which calls the settings of c deny by themselves.
func denied(t *testing.T, c *Config, root string) (all []bool) {
	t.Helper()
	plain, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	plain.Roots = c.Roots
	without := verdicts(t, plain, root)
	for i, v := range verdicts(t, c, root) {
		all = append(all, v == guard.VerdictDeny && without[i] != v)
	}
	return all
}

// randomFile sets some settings by chance.
func randomFile(r *rand.Rand, skip func(path string) bool) map[string]string {
	file := map[string]string{}
	leaves(tree(), func(path string, f *field) {
		if v := samples[path]; len(v) > 0 && r.IntN(4) == 0 && (skip == nil || !skip(path)) {
			file[path] = v[r.IntN(len(v))]
		}
	})
	return file
}

func layerOf(t *testing.T, c *Config, file map[string]string) *layer {
	t.Helper()
	all := &layer{name: "f", values: &Config{Home: c.Home}, lines: map[string]int{}}
	leaves(tree(), func(path string, f *field) {
		if v, ok := file[path]; ok {
			l, err := c.parse("f", []byte(written(path, v)))
			if err != nil {
				t.Fatal(err)
			}
			f.take(all.values, l.values)
			all.lines[path] = 1
		}
	})
	all.rest()
	return all
}

// Whatever the managed file sets, the user's cannot loosen: no call is judged
// looser than under the user's file with the managed settings in place of its
// own, and what it denies stays denied. An untrusted project's file, whatever it
// says, loosens nothing at all, and what it denies is denied.
func TestLayersNeverLoosen(t *testing.T) {
	home := userOf(t)
	root := filepath.Join(home, "p")
	write(t, filepath.Join(root, "src", "a.txt"), "")
	rounds := 40
	if testing.Short() {
		rounds = 20
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range rounds {
		base, err := Default()
		if err != nil {
			t.Fatal(err)
		}
		base.Roots = []string{root}
		managed, user, project := randomFile(r, nil), randomFile(r, nil), randomFile(r, nil)
		merged, instead := *base, *base
		merged.layers.managed = layerOf(t, base, managed)
		merged.set(merged.layers.managed)
		merged.set(layerOf(t, base, user))
		merged.bind()
		replaced := map[string]string{}
		for k, v := range user {
			replaced[k] = v
		}
		for k, v := range managed {
			if k != "levels" { // by rule, not by list
				replaced[k] = v
			}
		}
		instead.set(layerOf(t, base, replaced))
		instead.Levels.Set = strictest(instead.Levels.Set, layerOf(t, base, managed).values.Levels.Set)
		got, under := verdicts(t, &merged, root), verdicts(t, &instead, root)
		for i, v := range got {
			if v > under[i] {
				t.Errorf("round %d, %s: %s, under the managed settings %s\nmanaged %v\nuser %v", n, calls[i].text, v, under[i], managed, user)
			}
		}
		for what, file := range map[string]map[string]string{"managed": managed, "project": project} {
			alone, both := *base, merged
			alone.set(layerOf(t, base, file))
			both.tighten(layerOf(t, base, project), false)
			for i, d := range denied(t, &alone, root) {
				if d && verdicts(t, &both, root)[i] != guard.VerdictDeny {
					t.Errorf("round %d, %s: not denied, though the %s file alone does\nmanaged %v\nuser %v\nproject %v", n, calls[i].text, what, managed, user, project)
				}
			}
		}
		tightened := merged
		tightened.tighten(layerOf(t, base, project), false)
		for i, v := range verdicts(t, &tightened, root) {
			if v > got[i] {
				t.Errorf("round %d, %s: %s, without the project %s\nbase %v %v\nproject %v", n, calls[i].text, v, got[i], managed, user, project)
			}
		}
		if t.Failed() {
			return
		}
	}
}

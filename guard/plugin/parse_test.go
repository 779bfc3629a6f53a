package plugin_test

import (
	"fmt"
	"strings"
	"testing"
)

// What is wrong in a file is said with file:line, and the file does not load.
func TestStrict(t *testing.T) {
	d := newDesk(t)
	const ok = "patterns:\n  - match: docker\n    verdict: ask\n"
	bomb := "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\npatterns: *b\n"
	for _, c := range []struct{ name, file, content, want string }{
		{"unknown key", "g.yaml", "idd: x\n" + ok, `g.yaml:1: unknown field "idd"; did you mean "id"?`},
		{"unknown key of a pattern", "g.yaml", "patterns:\n  - match: x\n    verdit: ask\n", `g.yaml:3: unknown field "verdit"; did you mean "verdict"?`},
		{"unknown verdict", "g.yaml", "patterns:\n  - match: x\n    verdict: alow\n", `g.yaml:3: unknown verdict "alow"; did you mean "allow"?`},
		{"no verdict", "g.yaml", "patterns:\n  - match: x\n", "g.yaml:2: the verdict is missing"},
		{"unknown tool", "g.yaml", "tool: Bsh\n" + ok, `g.yaml:1: tool: unknown tool "Bsh"`},
		{"empty tool", "g.yaml", "tool: Bash,\n" + ok, "g.yaml:1: tool: there is an empty name"},
		{"wrong type", "g.yaml", "id: 5\n" + ok, "g.yaml:1: id: want text"},
		{"list for text", "g.yaml", "patterns:\n  - match: x\n    verdict: [ask]\n", "g.yaml:3: verdict: want text"},
		{"yes", "g.yaml", "enabled: yes\n" + ok, "g.yaml:1: enabled: want true or false"},
		{"twice", "g.yaml", "id: a\nid: b\n" + ok, "g.yaml:2: id stands here twice"},
		{"merge key", "g.yaml", "<<: {id: a}\n" + ok, `g.yaml:1: unknown field "<<"`},
		{"anchor", "g.yaml", "id: &x a\n" + ok, "g.yaml:1: anchors and aliases are not read"},
		{"bomb", "g.yaml", bomb, "anchors and aliases are not read"},
		{"tag", "g.yaml", "id: !!binary YQ==\n" + ok, "g.yaml:1: tags are not read"},
		{"deep", "g.yaml", "id: " + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "\n" + ok, "g.yaml:1: nested too deep"},
		{"two documents", "g.yaml", ok + "---\n" + ok, "g.yaml:4: a second document"},
		{"no patterns", "g.yaml", "id: a\n", "g.yaml:1: patterns are missing"},
		{"empty patterns", "g.yaml", "patterns: []\n", "g.yaml:1: patterns: want a list"},
		{"empty pattern", "g.yaml", "patterns:\n  - verdict: ask\n", "g.yaml:2: a pattern without match, file_match or when says nothing"},
		{"empty file", "g.yaml", "# nothing\n", "g.yaml:1: there is no guard in it"},
		{"no mapping", "g.yaml", "- x\n", "g.yaml:1: want the fields of a guard"},
		{"not yaml", "g.yaml", "a: [\n", "g.yaml:"},
		{"bad regexp", "g.yaml", "patterns:\n  - match: '('\n    verdict: ask\n", "g.yaml:2: match: error parsing regexp"},
		{"look-ahead", "g.yaml", "patterns:\n  - match: '(?=x)'\n    verdict: ask\n", "g.yaml:2: match: error parsing regexp"},
		{"huge regexp", "g.yaml", "patterns:\n  - match: '((a{30}){30}){30}'\n    verdict: ask\n", "g.yaml:2: match:"},
		{"bad glob", "g.yaml", "patterns:\n  - file_match: '[a'\n    verdict: ask\n", "g.yaml:2: file_match:"},
		{"path in file_match", "g.yaml", "patterns:\n  - file_match: 'a/b'\n    verdict: ask\n", "g.yaml:2: file_match:"},
		{"built-in id", "g.yaml", "id: fs/outside\n" + ok, "g.yaml:1: id \"fs/outside\" is that of a built-in rule"},
		{"built-in default", "g.yaml", "id: default/read\n" + ok, "is that of a built-in rule"},
		{"reserved id", "g.yaml", "id: guard/error\n" + ok, "is that of a built-in rule"},
		{"bad id", "g.yaml", "id: '../x'\n" + ok, "g.yaml:1: id"},
		{"unknown condition", "g.yaml", "when: {efect: write}\nverdict: ask\n", `g.yaml:1: unknown field "efect"; did you mean "effect"?`},
		{"unknown effect", "g.yaml", "when:\n  effect: wirte\nverdict: ask\n", `g.yaml:2: effect: unknown effect "wirte"; did you mean "write"?`},
		{"unknown action", "g.yaml", "when: {effect: remote/psuh}\nverdict: ask\n", `did you mean "push"?`},
		{"no condition", "g.yaml", "when: {}\nverdict: ask\n", "g.yaml:1: when: no condition"},
		{"variable in a path", "g.yaml", "when: {path: $HOME/x}\nverdict: ask\n", "variables are not read"},
		{"dots in a path", "g.yaml", "when: {path: ../x}\nverdict: ask\n", ".. is not read"},
		{"stars in a part", "g.yaml", "when: {path: 'a/b**'}\nverdict: ask\n", "** stands for whole directories"},
		{"instead of nothing", "g.yaml", "when: {path: x}\nverdict: allow\ninstead_of: fs/outsde\n", `g.yaml:3: instead_of: there is no built-in rule "fs/outsde"; did you mean "fs/outside"?`},
		{"instead of a fixed rule", "g.yaml", "when: {path: x}\nverdict: allow\ninstead_of: fs/system-tree\n", "g.yaml:3: instead_of: fs/system-tree is fixed"},
		{"instead of by text", "g.yaml", "match: rm\nverdict: allow\ninstead_of: fs/outside\n", "g.yaml:3: instead_of needs `when`"},
		{"when and match", "g.yaml", "match: rm\nwhen: {path: x}\nverdict: allow\n", "cannot stand in one pattern"},
		{"example not met", "g.yaml", "patterns:\n  - when: {command: rm}\n    verdict: ask\n    match:\n      - ls\n", "g.yaml:5: the example `ls` is not met"},
		{"example met", "g.yaml", "when: {command: rm}\nverdict: ask\nno_match: rm x\n", "g.yaml:3: the example `rm x` must not be met"},
		{"example of the guard", "g.yaml", ok + "match:\n  - podman ps\n", "g.yaml:5: the example `podman ps` is not met"},
		{"markdown without end", "g.md", "---\nid: a\n", "g.md:1: the front matter does not end"},
		{"markdown without front", "g.md", "# Title\n", "g.md:1: want front matter"},
		{"two front matters", "g.md", "---\nid: a\n---\n---\nid: b\n" + ok + "---\n", "g.md:4: a second front matter"},
		{"field in both", "g.md", "---\nid: a\n---\nid: b\n" + ok, "g.md:4: id stands in the front matter too"},
		{"prose without patterns", "g.md", "---\nid: a\n---\nBe careful.\n", "the front matter has no patterns"},
		{"line in the body", "g.md", "---\nid: a\n---\n" + strings.Replace(ok, "ask", "aks", 1), "g.md:6: unknown verdict"},
		{"line in the front", "g.md", "---\nid: a\n" + strings.Replace(ok, "ask", "aks", 1) + "---\n", "g.md:5: unknown verdict"},
		{"not text", "g.yaml", "id: \xff\n", "g.yaml:1: not UTF-8"},
		{"too long", "g.yaml", "# " + strings.Repeat("x", 65<<10), "g.yaml:1: longer than"},
		{"too much prose", "g.md", "---\nid: a\n" + ok + "---\n" + strings.Repeat("x", 5000), "the text is longer than"},
	} {
		g, err := d.loader.Parse(t.Context(), c.file, []byte(c.content))
		if err == nil {
			t.Errorf("%s: it loads: %+v", c.name, g)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestForms(t *testing.T) {
	d := newDesk(t)
	for name, content := range map[string]string{
		"bom.yaml":    "\xef\xbb\xbfmatch: x\nverdict: ask\n",
		"crlf.md":     "---\r\nid: a\r\nmatch: x\r\nverdict: ask\r\n---\r\nText.\r\n",
		"rule.md":     "---\nmatch: x\nverdict: ask\n---\nText.\n\n---\n\nMore text.\n",
		"list.yaml":   "tool: [Bash, safe_write, bash]\nmatch: x\nverdict: ASK\n",
		"all.yaml":    "tool: ''\nmatch: x\nverdict: ask\n",
		"start.yaml":  "---\nmatch: x\nverdict: ask\n",
		"json.yaml":   `{"id": "a/b", "patterns": [{"match": "x", "verdict": "deny", "reason": "r"}]}`,
		"three.yml":   "when: {effect: [write, remote/push], path: ['src/**', '!src/gen'], host: '*.example.org', args: [a, '**'], via: xargs, language: go}\nverdict: llm\n",
		"off.yaml":    "enabled: false\nmatch: x\nverdict: ask\nno_match: x\n",
		"unquoted.md": "---\ntool: Write\nfile_match: '*.sql'\nverdict: ask\n---",
	} {
		g, err := d.loader.Parse(t.Context(), name, []byte(content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.ID == "" || len(g.SHA256) != 64 || g.Doc() == "" {
			t.Errorf("%s: %+v", name, g)
		}
		if name == "rule.md" && g.Prose != "Text.\n\n---\n\nMore text." {
			t.Errorf("prose %q", g.Prose)
		}
		if name == "list.yaml" && fmt.Sprint(g.Tools) != "[safe_bash safe_write]" {
			t.Errorf("tools %v", g.Tools)
		}
	}
}

// No input makes the reader fail in another way than by an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{blockDocker, protectEnv, protectEnvBody, noNetwork, "when: {path: 'a/**', args: ['x*']}\nverdict: deny\n"} {
		f.Add(s)
	}
	d := newDesk(f)
	d.loader.Read = nil
	f.Fuzz(func(t *testing.T, content string) {
		for _, name := range []string{"g.yaml", "g.md"} {
			g, err := d.loader.Parse(t.Context(), name, []byte(content))
			if err == nil && (g.ID == "" || g.Doc() == "") {
				t.Errorf("%q: %+v", content, g)
			}
			if err != nil && !strings.HasPrefix(err.Error(), name+":") {
				t.Errorf("%q: no line in %v", content, err)
			}
		}
	})
}

//go:build linux || darwin

package sandbox

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// reading is a profile as Seatbelt reads it, for operations on files: the last
// rule that matches wins.
type reading struct {
	rules  [][]any // symbols are strings, expressions []any, quoted text quoted
	params map[string]string
}

type quoted string

var tokens = regexp.MustCompile(`;[^\n]*|[()]|#?"(?:[^"\\]|\\.)*"|[^\s()";]+`)

func read(t *testing.T, f *profile) *reading {
	t.Helper()
	r := &reading{params: map[string]string{}}
	for _, p := range f.params {
		name, value, _ := strings.Cut(p, "=")
		r.params[name] = value
	}
	stack := [][]any{nil}
	for _, tok := range tokens.FindAllString(f.text.String(), -1) {
		last := len(stack) - 1
		switch {
		case tok[0] == ';':
		case tok == "(":
			stack = append(stack, nil)
		case tok == ")":
			if last == 0 {
				t.Fatal("a parenthesis too many")
			}
			stack[last-1] = append(stack[last-1], stack[last])
			stack = stack[:last]
		case strings.HasSuffix(tok, `"`):
			stack[last] = append(stack[last], quoted(strings.Trim(strings.TrimPrefix(tok, "#"), `"`)))
		default:
			stack[last] = append(stack[last], tok)
		}
	}
	if len(stack) != 1 {
		t.Fatal("a parenthesis is missing")
	}
	for _, e := range stack[0] {
		r.rules = append(r.rules, e.([]any))
	}
	return r
}

// allows reports whether op is allowed on path.
func (r *reading) allows(op, path string) bool {
	allowed := false
	for _, rule := range r.rules {
		action := rule[0].(string)
		if action != "allow" && action != "deny" {
			continue
		}
		ops, filters, matches := false, 0, false
		for _, e := range rule[1:] {
			if name, ok := e.(string); ok {
				ops = ops || name == "default" || name == op || strings.HasSuffix(name, "*") && strings.HasPrefix(op, strings.TrimSuffix(name, "*"))
				continue
			}
			filters++
			matches = matches || r.matches(e.([]any), path)
		}
		if ops && (filters == 0 || matches) {
			allowed = action == "allow"
		}
	}
	return allowed
}

func (r *reading) matches(filter []any, path string) bool {
	if len(filter) != 2 {
		return false
	}
	value, ok := filter[1].(quoted)
	if p, is := filter[1].([]any); is {
		value, ok = quoted(r.params[string(p[1].(quoted))]), true
	}
	switch {
	case !ok || value == "":
		return false
	case filter[0] == "literal":
		return path == string(value)
	case filter[0] == "subpath":
		return below([]string{string(value)}, path)
	case filter[0] == "regex":
		return regexp.MustCompile(string(value)).MatchString(path)
	}
	return false
}

const (
	readOp   = "file-read-data"
	writeOp  = "file-write-data"
	makeOp   = "file-write-create"
	unlinkOp = "file-write-unlink"
)

func TestSeatbeltHolds(t *testing.T) {
	s := &Settings{Home: "/Users/me", Scratch: "/var/folders/x/T/scratch", State: "/Users/me/.local/state/handrail", Hidden: []string{"/Users/me/work/vault"}}
	base := func() *Policy {
		return &Policy{Roots: []string{"/Users/me/work"}, Scratch: "/tmp/call", Home: "/Users/me", Secrets: []string{"/Users/me/work/.env"}}
	}
	named, open, git := base(), base(), base()
	named.Read, named.Write, named.Allowed = []string{"/Users/me/notes", "/Users/me/.npmrc"}, []string{"/Users/me/out", "/Users/me/sub/.ssh-not"}, []string{"/Users/me/work/.vscode"}
	open.Open, git.GitConfig = true, true
	w := "/Users/me/work"
	for _, c := range []struct {
		policy   string
		op, path string
		want     bool
	}{
		{"base", readOp, w + "/a", true}, {"base", writeOp, w + "/a/b", true}, {"base", makeOp, w + "/.github/x", true}, {"base", unlinkOp, w + "/a", true},
		{"base", writeOp, "/private/tmp/call/x", true}, {"base", writeOp, "/private/var/folders/x/T/scratch/y", true}, {"base", writeOp, "/private/tmp/x", false},
		{"base", writeOp, "/tmp/call/x", false}, // not how the kernel names it
		{"base", readOp, "/usr/bin/env", true}, {"base", readOp, "/private/etc/hosts", true}, {"base", readOp, "/private/etc/master.passwd", false},
		{"base", writeOp, "/usr/local/bin/x", false}, {"base", writeOp, "/Users/me/x", false}, {"base", writeOp, "/Users/me/workx", false}, {"base", unlinkOp, w, false},
		{"base", readOp, "/Users/me/.ssh/id_rsa", false}, {"base", readOp, "/Users/me/.aws/credentials", false}, {"base", readOp, "/Users/me/Documents/x", false}, {"base", readOp, "/Users/other/x", false},
		{"base", readOp, "/Users/me/.cargo/bin/cargo", true}, {"base", writeOp, "/Users/me/.cargo/bin/cargo", false}, {"base", readOp, "/Users/me/.cargo/credentials.toml", false},
		{"base", readOp, s.State + "/audit.jsonl", false}, {"base", readOp, w + "/vault/key", false}, {"base", writeOp, w + "/vault/key", false},
		{"base", readOp, w + "/.env", true}, {"base", writeOp, w + "/.env", false}, {"base", unlinkOp, w + "/.env", false}, {"base", writeOp, w + "/.ENV", false},
		{"base", writeOp, w + "/.git/hooks/pre-commit", false}, {"base", makeOp, w + "/.git/hooks", false}, {"base", writeOp, w + "/.git/config", false}, {"base", writeOp, w + "/.GIT/Config", false},
		{"base", writeOp, w + "/.git/index", true}, {"base", makeOp, w + "/.git/objects/ab/cd", true}, {"base", makeOp, w + "/.git/refs/heads/x", true}, {"base", unlinkOp, w + "/.git", false},
		{"base", makeOp, w + "/.vscode", false}, {"base", makeOp, w + "/.vscode/tasks.json", false}, {"base", makeOp, w + "/.VSCode/tasks.json", false}, {"base", makeOp, w + "/.claude/settings.json", false},
		{"base", makeOp, w + "/.Claude", false}, {"base", writeOp, w + "/.mcp.json", false}, {"base", writeOp, w + "/.MCP.JSON", false}, {"base", writeOp, w + "/xmcp_json", true}, {"base", makeOp, w + "/.claudes", true},
		{"base", writeOp, "/dev/null", true}, {"base", writeOp, "/dev/disk0", false}, {"base", readOp, "/dev/disk0", false}, {"base", readOp, "/private/var/run/docker.sock", false},
		{"named", readOp, "/Users/me/notes/a", true}, {"named", writeOp, "/Users/me/notes/a", false}, {"named", writeOp, "/Users/me/out/a", true}, {"named", readOp, "/Users/me/.npmrc", true},
		{"named", makeOp, w + "/.vscode/tasks.json", true}, {"named", writeOp, w + "/.git/config", false}, {"named", readOp, "/Users/me/.ssh/id_rsa", false},
		{"open", writeOp, "/Users/me/x", true}, {"open", writeOp, w + "/.git/hooks/x", false}, {"open", readOp, s.State + "/x", false}, {"open", readOp, w + "/vault/key", false}, {"open", writeOp, w + "/.claude/x", false},
		{"git", writeOp, w + "/.git/config", true}, {"git", writeOp, w + "/.git/hooks/x", false},
	} {
		f, err := s.seatbelt(map[string]*Policy{"base": base(), "named": named, "open": open, "git": git}[c.policy], 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, f).allows(c.op, c.path); got != c.want {
			t.Errorf("%s: %s %s: %v", c.policy, c.op, c.path, got)
		}
	}
}

// TestSeatbeltPathsAreNoRules: what stands in a path is never read as a rule.
func TestSeatbeltPathsAreNoRules(t *testing.T) {
	s := &Settings{Home: "/Users/me"}
	evil := `/qq9") (subpath "/")) (allow default) (allow file-write* (literal "`
	for _, p := range []*Policy{{Roots: []string{"/w"}, Read: []string{evil}}, {Roots: []string{"/w"}, Write: []string{evil}}, {Roots: []string{"/w"}, Scratch: evil}, {Roots: []string{"/w"}, Protected: []string{evil}}, {Roots: []string{"/w"}, Hidden: []string{evil}}} {
		f, err := s.seatbelt(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.text.String(), "/qq9") || read(t, f).allows(writeOp, "/etc/x") {
			t.Error("a path stands among the rules")
		}
	}
	for _, root := range []string{"", "/", "w", evil, "/w\n", "/wörk", `/w"`} {
		if _, err := s.seatbelt(&Policy{Roots: []string{root}}, 0); err == nil {
			t.Errorf("root %q was taken", root)
		}
	}
	f, err := s.seatbelt(&Policy{Roots: []string{"/a.b"}, Write: []string{"/axb"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r := read(t, f); !r.allows(writeOp, "/axb/.GIT/hooks/x") || r.allows(writeOp, "/a.b/.GIT/hooks/x") {
		t.Error("a dot of the root is read as any character")
	}
	for _, root := range []string{"/w.x/a+b(c)[d]{e}^$|", "/a b"} {
		f, err := s.seatbelt(&Policy{Roots: []string{root}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r := read(t, f); r.allows(writeOp, root+"/.git/hooks/x") || r.allows(writeOp, root+"/.GIT/hooks/x") || !r.allows(writeOp, root+"/x") || r.allows(writeOp, "/wyx/x") {
			t.Errorf("root %q", root)
		}
	}
}

// TestSeatbeltGolden shows a change of the profile in its whole; the hidden
// paths, which depend on the user, are left out.
func TestSeatbeltGolden(t *testing.T) {
	s := &Settings{Home: "/Users/me", Toolchains: []string{"go"}, Credentials: []string{}, State: "/Users/me/state"}
	for name, network := range map[string]Network{"none": NoNetwork, "domains": Domains, "full": Full} {
		f, err := s.seatbelt(&Policy{Roots: []string{"/Users/me/w"}, Scratch: "/tmp/call", Home: "/Users/me", Network: network}, 4321)
		if err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(f.text.String(), "(deny file-read* file-write*")
		if strings.Contains(got, "unix-socket") || (network == NoNetwork) == strings.Contains(got, "network-outbound") {
			t.Errorf("%s: the network is not as it was asked for", name)
		}
		file := filepath.Join("testdata", "seatbelt-"+name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s: see with go test -run SeatbeltGolden -update, and git diff", name, file)
		}
	}
}

package mcpserver

import (
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dirs "handrail/tools/place"
)

// tree is a home directory with two projects and a link to one of them.
func tree(t *testing.T) (home, a, b string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home = filepath.Join(top, "people", "ann")
	a, b = filepath.Join(home, "a"), filepath.Join(home, "b")
	for _, d := range []string{filepath.Join(a, "sub"), b} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link-a": a, "link-home": home, "link-top": "/"} {
		if err := os.Symlink(to, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return home, a, b
}

func TestRoots(t *testing.T) {
	home, a, b := tree(t)
	tests := []struct {
		roots []string
		want  []string
		says  string
	}{
		{roots: []string{a}, want: []string{a}},
		{roots: []string{a, b, a + "/", a + "/../a"}, want: []string{a, b}},
		{roots: []string{filepath.Join(home, "link-a")}, want: []string{a}},
		{roots: []string{"/"}, says: "root of the file system"},
		{roots: []string{"//"}, says: "root of the file system"},
		{roots: []string{filepath.Join(home, "link-top")}, says: "root of the file system"},
		{roots: []string{home}, says: "is a home directory"},
		{roots: []string{filepath.Join(home, "link-home")}, says: "is a home directory"},
		{roots: []string{a, home}, says: "is a home directory"},
		{roots: []string{filepath.Dir(home)}, says: "holds the home directory"},
		{roots: []string{filepath.Dir(filepath.Dir(home))}, says: "holds the home directory"},
		{roots: []string{filepath.Join(home, "none")}, says: "no such file"},
		{roots: []string{filepath.Join(home, "file")}, says: "is not a directory"},
	}
	for _, tt := range tests {
		w, err := newWorkspace(Options{Roots: tt.roots, Homes: []string{home}, Log: slog.New(slog.DiscardHandler)})
		switch {
		case tt.says != "":
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "pass the directory of one project") {
				t.Errorf("%v: %v, want an error that says %q and what to pass", tt.roots, err, tt.says)
			}
		case err != nil || !slices.Equal(w.fixed, tt.want):
			t.Errorf("%v: %v, %v; want %v", tt.roots, w, err, tt.want)
		}
	}
}

func TestOwnHomeIsRefused(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	w, err := newWorkspace(Options{Roots: []string{home}, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Errorf("%s became the root %v", home, w.fixed)
	}
	// HOME can be set to anything; what the machine says still counts.
	t.Setenv("HOME", t.TempDir())
	for _, h := range dirs.Homes() {
		if _, err := newWorkspace(Options{Roots: []string{h}, Log: slog.New(slog.DiscardHandler)}); err == nil {
			t.Errorf("%s became a root", h)
		}
	}
}

func TestClientRoots(t *testing.T) {
	home, a, b := tree(t)
	uri := func(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
	sub := filepath.Join(a, "sub")
	tests := []struct {
		name  string
		fixed []string
		uris  []string
		want  []string
		says  string
	}{
		{name: "none named", fixed: []string{a}, want: []string{a}},
		{name: "inside", fixed: []string{a}, uris: []string{uri(sub)}, want: []string{sub}},
		{name: "the same", fixed: []string{a}, uris: []string{uri(a)}, want: []string{a}},
		{name: "wider", fixed: []string{a}, uris: []string{uri(home)}, want: []string{a}},
		{name: "everything", fixed: []string{a, b}, uris: []string{"file:///"}, want: []string{a, b}},
		{name: "one inside, one outside", fixed: []string{a}, uris: []string{uri(b), uri(sub)}, want: []string{sub}},
		{name: "outside", fixed: []string{a}, uris: []string{uri(b)}, says: "outside of --root"},
		{name: "a name that begins the same", fixed: []string{a}, uris: []string{uri(a + "b")}, says: "no such file"},
		{name: "through a link", fixed: []string{b}, uris: []string{uri(filepath.Join(home, "link-a"))}, says: "outside of --root"},
		{name: "dots", fixed: []string{a}, uris: []string{"file://" + a + "/../b"}, says: "outside of --root"},
		{name: "a file", fixed: []string{home + "/a"}, uris: []string{uri(filepath.Join(home, "file"))}, says: "not a directory"},

		{name: "free", uris: []string{uri(b)}, want: []string{b}},
		{name: "free, two and a wrong one", uris: []string{uri(b), "http://x/", uri(a)}, want: []string{b, a}},
		{name: "free, home", uris: []string{uri(home)}, says: "is a home directory"},
		{name: "free, everything", uris: []string{"file:///"}, says: "root of the file system"},
		{name: "free, everything in other words", uris: []string{"file:///tmp/.."}, says: "root of the file system"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := newWorkspace(Options{Roots: tt.fixed, Dir: a, Homes: []string{home}, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.combine(tt.uris)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || got != nil {
					t.Errorf("%v, %v; want an error that says %q", got, err, tt.says)
				}
			} else if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestFilePath(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///srv/app":            "/srv/app",
		"file:///srv/my%20app/":      "/srv/my app",
		"file://localhost/srv/app":   "/srv/app",
		"file:///srv/%C3%BC":         "/srv/ü",
		"FILE:///srv/app":            "/srv/app",
		"file://host/srv/app":        "",
		"file:srv/app":               "",
		"file:relative":              "",
		"file://":                    "",
		"file:///srv/app?x=1":        "",
		"file:///srv/app?":           "",
		"file:///srv/app#x":          "",
		"file:///srv/%00":            "",
		"file:///srv/%zz":            "",
		"file://user@localhost/srv/": "",
		"http:///srv/app":            "",
		"/srv/app":                   "",
		"":                           "",
	} {
		got, err := filePath(uri)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", uri, got, err, want)
		}
	}
}

// withRoots are the capabilities of a client that has roots.
func withRoots() map[string]any {
	return map[string]any{"roots": map[string]any{"listChanged": true}, "elicitation": map[string]any{}}
}

func rootsList(paths ...string) map[string]any {
	roots := []any{}
	for _, p := range paths {
		roots = append(roots, map[string]any{"uri": "file://" + p})
	}
	return map[string]any{"roots": roots}
}

// where runs a command and returns the directory that it ran in.
func (p *peer) where() func() toolAnswer {
	p.t.Helper()
	_, ch := p.start("tools/call", params("safe_bash", map[string]any{"command": "pwd"}, nil))
	return func() toolAnswer { p.t.Helper(); return p.read(p.await("pwd", ch)) }
}

func TestRootsOfTheSession(t *testing.T) {
	home, a, b := tree(t)
	p := serve(t, a, func(o *Options) { o.Roots, o.Dir, o.Homes = nil, b, []string{home} }).hello(false, withRoots())
	tell := func(paths ...string) {
		t.Helper()
		q := p.await("roots/list", p.asked)
		if q.Method != "roots/list" {
			t.Fatalf("asked %s", q.Method)
		}
		p.send(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": rootsList(paths...)})
	}
	at := func(got toolAnswer, dir string) {
		t.Helper()
		if got.IsError || strings.TrimSpace(got.Structured.Stdout) != dir {
			t.Errorf("ran in %q, want %s: %+v", got.Structured.Stdout, dir, got)
		}
	}
	first := p.where()
	tell(a)
	at(first(), a)
	at(p.where()(), a) // asked once
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	changed := p.where()
	tell(filepath.Join(a, "sub"), b)
	at(changed(), filepath.Join(a, "sub"))

	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	wide := p.where()
	tell(home)
	if got := wide(); !got.IsError || got.Structured.Rule != "workspace/root" || !strings.Contains(got.text(), "--root DIR") {
		t.Errorf("the home directory as root: %+v", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	none := p.where()
	tell()
	at(none(), b) // a client without roots: the working directory
}

func TestClientThatDoesNotTellItsRoots(t *testing.T) {
	home, a, _ := tree(t)
	p := serve(t, a, func(o *Options) { o.Homes = []string{home} }).hello(false, withRoots())
	got := p.where()
	p.await("roots/list", p.asked)
	// Silence: the roots that the user gave hold, for the calls after it too.
	for range 2 {
		if g := got(); g.IsError || strings.TrimSpace(g.Structured.Stdout) != a {
			t.Errorf("%+v", g)
		}
		got = p.where()
	}
	got()
}

func TestNoUsableRoot(t *testing.T) {
	home, _, b := tree(t)
	eras(t, func(t *testing.T, modern bool) {
		for _, dir := range []string{"/", home} {
			p := serve(t, b, func(o *Options) { o.Roots, o.Dir, o.Homes = nil, dir, []string{home} }).hello(modern, nil)
			if got := p.where()(); !got.IsError || got.Structured.Verdict != "deny" || !strings.Contains(got.text(), "--root DIR") {
				t.Errorf("in %s: %+v", dir, got)
			} else if log, err := os.ReadFile(filepath.Join(filepath.Dir(b), "audit.jsonl")); err != nil || !strings.Contains(string(log), got.Structured.CallID) {
				t.Errorf("the refusal is not recorded: %v", err)
			}
		}
	})
}

// From 2026-07-28 roots come as an answer to a call; they are asked for only
// where nothing else will do.
func TestRootsByCallingAgain(t *testing.T) {
	home, a, b := tree(t)
	p := serve(t, a, func(o *Options) { o.Roots, o.Dir, o.Homes = nil, home, []string{home} }).hello(true, withRoots())
	got := p.where()()
	if got.ResultType != "input_required" || got.InputRequests["roots"].Method != "roots/list" {
		t.Fatalf("%+v", got)
	}
	// The question about a call comes after the one about roots.
	answer := map[string]any{"inputResponses": map[string]any{"roots": rootsList(a), "approval": accept("allow once")}}
	got = p.call("safe_write", write("ask-it.txt"), answer)
	if got.InputRequests["approval"].Method != "elicitation/create" || exists(a, "ask-it.txt") {
		t.Fatalf("%+v", got)
	}
	got = p.call("safe_write", write("ask-it.txt"), retry(got.RequestState, accept("allow once")))
	if got.IsError || !exists(a, "ask-it.txt") {
		t.Errorf("%+v", got)
	}

	p = serve(t, a, func(o *Options) { o.Roots, o.Dir, o.Homes = nil, b, []string{home} }).hello(true, withRoots())
	if got := p.where()(); got.IsError || strings.TrimSpace(got.Structured.Stdout) != b {
		t.Errorf("where the working directory will do: %+v", got)
	}
}

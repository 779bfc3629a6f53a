package tools

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where links lead is told as filepath.EvalSymlinks tells it, and what is
// remembered of it is what looking anew finds, whatever was changed meanwhile.
func TestNarrowings(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	top := resolved(t.TempDir())
	root := top + "/root"
	names := []string{"a", "b", "c", "root"}
	any := func() string {
		parts := []string{top}
		for range 1 + r.IntN(3) {
			parts = append(parts, names[r.IntN(len(names))])
		}
		return strings.Join(parts, "/")
	}
	change := func() {
		path := any()
		if r.IntN(2) == 0 {
			os.RemoveAll(path)
		}
		switch r.IntN(5) {
		case 0:
			os.WriteFile(path, nil, 0o644)
		case 1, 2:
			os.MkdirAll(path, 0o755)
		case 3:
			to := any()
			if r.IntN(2) == 0 {
				to = "../" + names[r.IntN(len(names))] + "/./" + names[r.IntN(len(names))]
			}
			os.Symlink(to, path)
		case 4:
			os.Chmod(path, 0o755|os.FileMode(r.IntN(2))*0o022)
		}
	}
	var env []string
	for _, a := range names {
		for _, b := range names {
			env = append(env, top+"/"+a+"/"+b, top+"/"+b)
		}
	}
	from := map[string]string{"PATH": strings.Join(env, ":"), "GOPATH": top + "/a/b/c", "GOROOT": top + "/c", "SSL_CERT_DIR": top + "/b/../a"}
	n := new(narrowings)
	links, kept := 0, 0
	for i := range 4000 {
		change()
		for range 3 {
			path := any()
			got, want := trail{}.resolved(path), resolved(path)
			if got != want {
				t.Fatalf("%s leads to %s, not %s", path, got, want)
			}
			if got != path {
				links++
			}
		}
		before := n.of[root]
		got, want := n.narrow(from, []string{root}, "id"), narrow(from, []string{root}, trail{})
		if before == n.of[root] {
			kept++
		}
		delete(got, "HANDRAIL_CALL")
		if !maps.Equal(got, want) {
			t.Fatalf("after %d changes: %v, not %v", i, got, want)
		}
	}
	if links < 100 || kept < 100 {
		t.Errorf("%d links, kept %d times: this proves too little", links, kept)
	}
	from["GOPATH"] = filepath.Dir(top)
	if got := n.narrow(from, []string{root}, "id"); got["GOPATH"] != from["GOPATH"] {
		t.Error("another environment is not seen")
	}
	for i := range 2 * maxNarrowings {
		n.narrow(from, []string{fmt.Sprint("/", i)}, "id")
	}
	if len(n.of) > maxNarrowings {
		t.Errorf("%d are kept", len(n.of))
	}
}

func BenchmarkNarrow(b *testing.B) {
	n, env := new(narrowings), Environment(nil, b.TempDir())
	for b.Loop() {
		n.narrow(env, []string{"/root/of/work"}, "id")
	}
}

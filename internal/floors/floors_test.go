// Package floors holds the law of the tree: imports only ever point down, and
// third parties stay where they belong.
package floors

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// floor of each package, by path below the module; the longest prefix counts.
// Tests are exempt.
var floor = map[string]int{
	"":                7, // main
	"internal/cli":    6,
	"internal/config": 5,
	"mcpserver":       4,
	"tools":           3,
	"guard/shell":     2, "tools/history": 2,
	"guard/command": 1, "guard/rules": 1, "guard/plugin": 1, "guard/agent": 1, "guard/audit": 1, "guard/disk": 1,
	"elicit/mcp": 1, "elicit/terminal": 1, "elicit/web": 1, "elicit/desktop": 1,
	"mcpserver/auth": 1, "mcpserver/link": 1, "tools/sandbox": 1, "tools/egress": 1, "internal/store": 1, "internal/ollamatest": 1,
	"guard": 0, "guard/host": 0, "guard/text": 0, "guard/lang": 0, "guard/owner": 0, "skills": 0, "elicit": 0, "tools/place": 0,
	"examples": 0, "internal/floors": 0, "internal/jsonstring": 0, "internal/testkit": 0, "internal/laws": 0, "internal/oracle": 0, "internal/parity": 0, "internal/stories": 0, "internal/attack": 0,
}

// home of each third party: the packages that may import it.
var home = map[string][]string{
	"mvdan.cc/sh/v3":                  {"guard/shell"},
	"gopkg.in/yaml.v3":                {"guard/command", "guard/plugin", "skills", "internal/config"},
	"github.com/coreos/go-oidc/v3":    {"mcpserver/auth"},
	"github.com/ollama/ollama":        {"guard/agent"},
	"github.com/mark3labs/mcp-go":     {"mcpserver", "elicit/mcp", "internal/cli"},
	"github.com/jackc/pgx/v5":         {"internal/store"},
	"modernc.org/sqlite":              {"internal/store"},
	"golang.org/x/term":               {"internal/cli"},
	"golang.org/x/net":                {"guard/host"},
	"golang.org/x/sys":                {"tools", "tools/sandbox", "tools/history", "tools/place", "guard/audit", "guard/disk", "internal/attack/program"},
	"golang.org/x/time":               {"tools"},
	"github.com/rogpeppe/go-internal": {},
}

// pure packages use the standard library only.
var pure = map[string]bool{"guard": true, "elicit": true, "guard/text": true, "guard/lang": true, "guard/owner": true}

func TestFloors(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "handrail/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	const module = "handrail"
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for seen := 0; ; seen++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			if seen < 10 {
				t.Fatalf("only %d packages were listed", seen)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		mine, ok := floorOf(pkg)
		if !ok {
			t.Errorf("%s has no floor: give it one in this test", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if imp == module || strings.HasPrefix(imp, module+"/") {
				dep := strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
				if theirs, ok := floorOf(dep); ok && theirs >= mine && !within(dep, pkg) {
					t.Errorf("%s (floor %d) imports %s (floor %d): imports only point down", p.ImportPath, mine, imp, theirs)
				}
				continue
			}
			if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				continue // standard library
			}
			if pure[pkg] {
				t.Errorf("%s imports %s: standard library only", p.ImportPath, imp)
			}
			if !mayImport(pkg, imp) {
				t.Errorf("%s imports %s, which is confined to %v", p.ImportPath, imp, homeOf(imp))
			}
		}
	}
}

func floorOf(pkg string) (int, bool) {
	for p := pkg; ; {
		if f, ok := floor[p]; ok && (p != "" || pkg == "") {
			return f, true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return 0, false
		}
		p = p[:i]
	}
}

// within reports whether dep is a part of pkg's own family (tools and its
// subpackages have floors of their own; a package below one without does not).
func within(dep, pkg string) bool {
	return strings.HasPrefix(dep, pkg+"/") && floor[dep] == 0 && floor[pkg] != 0
}

func homeOf(imp string) []string {
	for module, pkgs := range home {
		if imp == module || strings.HasPrefix(imp, module+"/") {
			return pkgs
		}
	}
	return nil
}

func mayImport(pkg, imp string) bool {
	for module, pkgs := range home {
		if imp != module && !strings.HasPrefix(imp, module+"/") {
			continue
		}
		for _, p := range pkgs {
			if pkg == p {
				return true
			}
		}
		return false
	}
	return false // every third party is named above, or is not used
}

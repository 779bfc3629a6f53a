package plugin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"handrail/guard"
	"handrail/guard/command"
	"handrail/guard/plugin"
	"handrail/guard/rules"
	"handrail/guard/shell"
	"handrail/tools"
)

// desk is a home with a workspace on the real disk, the built-in guard, and the
// users' guards beside it.
type desk struct {
	home, root string
	reader     *shell.Reader
	manager    *guard.Manager
	loader     plugin.Loader
	trusted    map[string]bool // by path + " " + hash
	notices    []string
	store      *plugin.Store
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{home: home, root: home + "/proj", trusted: map[string]bool{}}
	d.write(t, d.root+"/src/main.go", "package main\n")
	d.write(t, d.root+"/data/rows.csv", "1\n")
	table, err := command.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	d.reader = &shell.Reader{Table: table, Home: home, Roots: []string{d.root}, Env: map[string]string{"HOME": home, "PATH": "/usr/bin:/bin", "PWD": d.root}}
	d.manager = &guard.Manager{Fallback: guard.VerdictAsk}
	d.manager.Rules, d.manager.Default = rules.Standard(rules.Policy{Home: home})
	d.loader = plugin.Loader{Read: d.read, Home: home, Rules: slices.Concat(d.manager.Rules, d.manager.Default)}
	return d
}

func (d *desk) write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read is a guard.Reader.
func (d *desk) read(_ context.Context, tool string, input json.RawMessage, dir string) (*guard.Facts, error) {
	if tool == tools.Bash {
		var args struct{ Command string }
		if err := json.Unmarshal(input, &args); err != nil {
			return nil, err
		}
		r := &shell.Reader{Table: d.reader.Table, Home: d.home, Roots: []string{dir}, Env: d.reader.Env}
		return r.Read(args.Command, dir), nil
	}
	c, err := tools.Look(d.reader, tools.Call{Tool: tool, Input: input, Roots: []string{dir}})
	if err != nil {
		return nil, err
	}
	return c.Facts, nil
}

// open loads the guards of the desk: in its home and its project.
func (d *desk) open(t testing.TB) error {
	t.Helper()
	store, err := plugin.Open(plugin.Options{Loader: d.loader, User: plugin.Dirs(d.home),
		Trusted: func(path, sum string) bool { return d.trusted[path+" "+sum] },
		Notice:  func(s string) { d.notices = append(d.notices, s) }})
	if err != nil {
		return err
	}
	d.store, d.manager.User = store, store.Policy
	return nil
}

// user puts a guard into the user's directory and loads.
func (d *desk) user(t testing.TB, name, content string) {
	t.Helper()
	d.write(t, d.home+"/.handrail/guards/"+name, content)
	if err := d.open(t); err != nil {
		t.Fatal(err)
	}
}

// project puts a guard into the project, trusted or not, and loads.
func (d *desk) project(t testing.TB, name, content string, trusted bool) {
	t.Helper()
	file := d.root + "/.handrail/guards/" + name
	d.write(t, file, content)
	if trusted {
		g, err := d.loader.Parse(context.Background(), file, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		d.trusted[file+" "+g.SHA256] = true
	}
	if err := d.open(t); err != nil {
		t.Fatal(err)
	}
}

// call judges a call: a command, or a file tool with a path.
func (d *desk) call(t testing.TB, tool, arg string) *guard.Decision {
	t.Helper()
	args := map[string]string{"path": arg}
	switch tool {
	case tools.Bash:
		args = map[string]string{"command": arg}
	case tools.Write:
		args["content"] = "x"
	case tools.Edit:
		args["old_string"], args["new_string"] = "x", "y"
	}
	input, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := d.read(t.Context(), tool, input, d.root)
	if err != nil {
		t.Fatal(err)
	}
	return d.manager.Judge(&guard.EvalContext{ToolName: tool, Input: input, WorkingDir: d.root, Roots: []string{d.root}, Facts: facts})
}

func (d *desk) bash(t testing.TB, command string) *guard.Decision {
	t.Helper()
	return d.call(t, tools.Bash, command)
}

// by reports whether a rule is among those that spoke with a verdict.
func by(d *guard.Decision, id string, v guard.Verdict) bool {
	return slices.ContainsFunc(d.Findings, func(f guard.Finding) bool { return f.Rule == id && f.Verdict == v })
}

package config

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"handrail/guard"
	"handrail/guard/plugin"
	"handrail/guard/shell"
	"handrail/tools"
)

// guards puts the users' guards beside the built-in rules. A broken guard of
// the user's own is an error.
func (c *Config) guards(j *Judge) (err error) {
	if !c.own {
		return nil
	}
	notice := func(s string) {
		if c.Notice != nil { // it is often set later
			c.Notice(s)
		}
	}
	j.Guards, err = plugin.Open(plugin.Options{Loader: c.Loader(j), User: plugin.Dirs(c.userHome()), Trusted: c.trusted, Notice: notice})
	if err != nil {
		return fmt.Errorf("guards: %w", err)
	}
	j.Guard.User = j.Guards.Policy
	return nil
}

// Loader reads guards that stand beside the rules of j.
func (c *Config) Loader(j *Judge) plugin.Loader {
	return plugin.Loader{Read: j.facts, Rules: slices.Concat(j.Rules, j.Defaults), Home: c.Home}
}

// facts is a guard.Reader: a call in a workspace, which need not be there.
func (j *Judge) facts(_ context.Context, tool string, input json.RawMessage, dir string) (*guard.Facts, error) {
	r := &shell.Reader{Table: j.Table, Home: j.Reader.Home, Env: tools.Environment([]string{dir}, ""), Roots: []string{dir}}
	if tool != tools.Bash {
		c, err := tools.Look(r, tools.Call{Tool: tool, Input: input, Roots: []string{dir}})
		if err != nil {
			return nil, err
		}
		return c.Facts, nil
	}
	var args tools.BashArgs
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, err
	}
	return r.Read(args.Command, filepath.Join(dir, args.Cwd)), nil
}

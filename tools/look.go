package tools

import (
	"errors"
	"time"

	"handrail/guard"
	"handrail/guard/shell"
)

// Look reads a call into what the guard judges, with nothing judged, recorded
// or run. An error names the argument that is wrong.
func Look(r *shell.Reader, c Call) (*guard.EvalContext, error) {
	if r == nil || len(c.Roots) == 0 {
		return nil, errors.New("a reader and a workspace root are needed")
	}
	j := &job{box: &Toolbox{Reader: r}, call: c, id: newID(), began: time.Now(), scratch: r.Env["TMPDIR"]}
	if c.Tool == Bash {
		j.env = j.box.narrowed.narrow(r.Env, c.Roots, j.id)
	}
	req, err := bind(c.Tool, c.Input)
	if err != nil {
		return nil, err
	}
	facts, err := req.facts(j)
	if err != nil {
		return nil, err
	}
	return j.context(facts), nil
}

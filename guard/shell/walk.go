package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// stmts reads a list of statements one after the other.
func (w *reading) stmts(st *state, list []*syntax.Stmt) {
	w.sequence(st, list)
}

// sequence reads statements and returns the state in which the last one
// failed, or nil where that is st.
func (w *reading) sequence(st *state, list []*syntax.Stmt) (fail *state) {
	for i, s := range list {
		if w.over {
			return nil
		}
		fail = w.stmt(st, s)
		if fail != nil && i < len(list)-1 {
			if !st.errexit {
				w.merge(st, fail)
			}
			fail = nil
		}
	}
	return fail
}

// stmt reads one statement. It leaves in st what holds when it succeeds, and
// returns what holds when it fails, or nil where that is the same.
func (w *reading) stmt(st *state, s *syntax.Stmt) (fail *state) {
	if !w.step(1+len(st.vars)/8) || !w.enter() {
		return nil
	}
	defer w.leave()
	if s.Background || s.Coprocess || s.Disown {
		st = st.clone()
		st.async++
		st.in, st.traps = nil, nil
		defer w.finish(st)
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		fail = w.simple(st, call, s.Redirs)
	} else {
		fail = w.redirected(st, s)
	}
	if s.Negated && fail != nil {
		ok := *st
		*st = *fail
		st.owned, ok.owned = 0, 0
		return &ok
	}
	return fail
}

// redirected reads a compound command with its redirections.
func (w *reading) redirected(st *state, s *syntax.Stmt) (fail *state) {
	if len(s.Redirs) == 0 {
		return w.command(st, s.Cmd)
	}
	in, out, fds := st.in, st.out, st.fds
	rs := w.redirects(st, s.Redirs)
	for i := range rs {
		w.open(st, &rs[i], -1)
	}
	fail = w.command(st, s.Cmd)
	w.closeAll(st, rs, -1)
	st.in, st.out, st.fds, st.owned = in, out, fds, st.owned&^ownFds
	if fail != nil {
		fail.in, fail.out, fail.fds, fail.owned = in, out, fds, fail.owned&^ownFds
	}
	return fail
}

func (w *reading) command(st *state, cmd syntax.Command) (fail *state) {
	switch c := cmd.(type) {
	case nil: // redirections alone
	case *syntax.CallExpr:
		return w.simple(st, c, nil)
	case *syntax.BinaryCmd:
		return w.binaryCmd(st, c)
	case *syntax.Block:
		return w.sequence(st, c.Stmts)
	case *syntax.Subshell:
		sub := st.clone()
		sub.traps = nil
		w.stmts(sub, c.Stmts)
		w.finish(sub)
	case *syntax.IfClause:
		w.ifClause(st, c)
	case *syntax.WhileClause:
		w.loop(st, func(st *state) {
			if fail := w.sequence(st, c.Cond); fail != nil && c.Until {
				*st = *fail
			}
			w.stmts(st, c.Do)
		})
	case *syntax.ForClause:
		w.forClause(st, c)
	case *syntax.CaseClause:
		w.caseClause(st, c)
	case *syntax.FuncDecl:
		if c.Name != nil {
			f := function{bodies: []*syntax.Stmt{c.Body}, src: st.src}
			st.define(c.Name.Value, f)
			if c.Name.Value == "command_not_found_handle" { // bash calls it for every name it does not find
				sub := st.clone()
				sub.maybe++
				w.function(sub, &call{name: c.Name.Value, pos: c.Pos(), index: -1, words: []field{{text: unknown(nil), many: true}}}, f)
			}
		}
	case *syntax.ArithmCmd:
		w.arith(st, c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			w.arith(st, x)
		}
	case *syntax.TestClause:
		w.test(st, c.X)
	case *syntax.DeclClause:
		w.declare(st, c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.stmt(st, c.Stmt)
		}
	case *syntax.CoprocClause:
		sub := st.clone()
		sub.async++
		sub.in, sub.traps = &stream{text: unknown(nil), cmd: -1}, nil
		w.stmt(sub, c.Stmt)
		w.finish(sub)
	default:
		w.hide(-1, "a construct that the reader does not know", "")
	}
	return nil
}

// binaryCmd reads pipelines, && and ||.
func (w *reading) binaryCmd(st *state, c *syntax.BinaryCmd) (fail *state) {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		w.pipe(st, c)
		return nil
	}
	fail = w.stmt(st, c.X)
	sure := fail == nil && certain(c.X)
	if c.Op == syntax.AndStmt {
		if fail == nil && !sure {
			fail = st.clone()
		}
		if !sure {
			st.maybe++
		}
		also := w.stmt(st, c.Y)
		if !sure {
			st.maybe--
		}
		if also == nil {
			also = st.clone()
		}
		if fail == nil {
			return also
		}
		w.merge(fail, also)
		return fail
	}
	other := fail
	if other == nil {
		other = st.clone()
	}
	other.maybe++
	also := w.stmt(other, c.Y)
	other.maybe--
	if !ends(c.Y) {
		w.merge(st, other)
	}
	return also
}

// certain reports whether a statement succeeds whatever happens.
func certain(s *syntax.Stmt) bool {
	if s.Negated || len(s.Redirs) > 0 {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return true
		}
		switch c.Args[0].Lit() {
		case "cd", "echo", "true", ":", "printf", "pushd", "popd", "export", "set":
			return true // cd has a failing state of its own where it may fail
		}
	case *syntax.DeclClause:
		return true
	case *syntax.BinaryCmd:
		return c.Op == syntax.AndStmt && certain(c.X) && certain(c.Y)
	}
	return false
}

// ends reports whether what follows a statement is not run after it.
func ends(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 || s.Background {
			return false
		}
		switch c.Args[0].Lit() {
		case "exit", "return", "break", "continue":
			return true
		}
	case *syntax.Block:
		return len(c.Stmts) > 0 && ends(c.Stmts[len(c.Stmts)-1])
	}
	return false
}

func endsList(list []*syntax.Stmt) bool { return len(list) > 0 && ends(list[len(list)-1]) }

// pipe reads X | Y: both run in shells of their own.
func (w *reading) pipe(st *state, c *syntax.BinaryCmd) {
	through := &stream{cmd: -1}
	x := st.clone()
	x.async++
	x.out, x.traps = through, nil
	through.depth = x.maybe
	w.stmt(x, c.X)
	w.finish(x)
	y := st.clone()
	y.async++
	y.in, y.traps = through, nil
	w.stmt(y, c.Y)
	w.finish(y)
}

func (w *reading) ifClause(st *state, c *syntax.IfClause) {
	if len(c.Cond) == 0 { // else
		w.stmts(st, c.Then)
		return
	}
	other := w.sequence(st, c.Cond)
	if other == nil {
		other = st.clone()
	}
	st.maybe++
	w.stmts(st, c.Then)
	st.maybe--
	otherEnds := false
	if c.Else != nil {
		other.maybe++
		w.ifClause(other, c.Else)
		other.maybe--
		otherEnds = len(c.Else.Cond) == 0 && endsList(c.Else.Then)
	}
	switch {
	case endsList(c.Then):
		*st = *other.clone()
	case !otherEnds:
		w.merge(st, other)
	}
}

func (w *reading) caseClause(st *state, c *syntax.CaseClause) {
	w.single(st, c.Word)
	start := st.clone()
	through := false
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.pattern(start, p)
		}
		one := start.clone()
		if through {
			w.merge(one, st)
		}
		one.maybe++
		w.stmts(one, item.Stmts)
		one.maybe--
		if !endsList(item.Stmts) {
			w.merge(st, one)
		}
		through = item.Op != syntax.Break
	}
}

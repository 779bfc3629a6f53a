package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithText returns the value of $((x)).
func (w *reading) arithText(st *state, x syntax.ArithmExpr) text {
	if n, ok := w.arith(st, x); ok {
		return known(strconv.Itoa(n))
	}
	return text{class: name}
}

// arith evaluates x. Assignments in it and substitutions in it count; ok is
// false where the value is not known.
func (w *reading) arith(st *state, x syntax.ArithmExpr) (int, bool) {
	if !w.step(1) || !w.enter() {
		return 0, false
	}
	defer w.leave()
	switch x := x.(type) {
	case *syntax.Word:
		return w.operand(st, x)
	case *syntax.ParenArithm:
		return w.arith(st, x.X)
	case *syntax.UnaryArithm:
		return w.unary(st, x)
	case *syntax.BinaryArithm:
		return w.binary(st, x)
	case *syntax.FlagsArithm:
		w.arith(st, x.X)
	}
	return 0, false
}

// operand is a number, a variable, an element, or an expansion.
func (w *reading) operand(st *state, word *syntax.Word) (int, bool) {
	if len(word.Parts) == 1 {
		if e, ok := word.Parts[0].(*syntax.ParamExp); ok && !e.Dollar.IsValid() && e.Param != nil {
			elems, _, _ := w.values(st, e)
			if len(elems) == 1 {
				return w.number(st, elems[0], 0)
			}
			return 0, false
		}
	}
	return w.number(st, w.single(st, word), 0)
}

// number reads the text of an operand: bash evaluates what a variable holds
// once more, and runs substitutions in the subscripts there.
func (w *reading) number(st *state, t text, depth int) (int, bool) {
	if t.class != exact {
		if t.class == wild && len(t.from) > 0 {
			w.hide(w.next(), "arithmetic on text that is not known", "")
		}
		return 0, false
	}
	s := strings.TrimSpace(t.s)
	if s == "" {
		return 0, true
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil && !strings.ContainsAny(s, "_oObB") {
		return int(n), true
	}
	if syntax.ValidName(s) {
		v := w.get(st, s)
		if depth > 8 || v.unset {
			return 0, v.unset
		}
		one := v.one
		if v.array {
			one = w.element(v, "0")
		}
		return w.number(st, one, depth+1)
	}
	w.embedded(st, s)
	return 0, false
}

// target returns the variable that an arithmetic assignment sets.
func target(x syntax.ArithmExpr) string {
	word, ok := x.(*syntax.Word)
	if !ok || len(word.Parts) != 1 {
		return ""
	}
	switch p := word.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.ParamExp:
		if p.Param != nil {
			return p.Param.Value
		}
	}
	return ""
}

func (w *reading) setNumber(st *state, x syntax.ArithmExpr, n int, ok bool) {
	v := value{one: text{class: name}}
	if ok {
		v.one = known(strconv.Itoa(n))
	}
	t := target(x)
	if word, isWord := x.(*syntax.Word); isWord && len(word.Parts) == 1 {
		if e, isElem := word.Parts[0].(*syntax.ParamExp); isElem && e.Index != nil {
			w.arith(st, e.Index)
			v = w.get(st, t).join(value{array: true, open: true, elems: []text{v.one}})
		}
	}
	if syntax.ValidName(t) {
		w.assign(st, t, v, false)
	}
}

func (w *reading) unary(st *state, x *syntax.UnaryArithm) (int, bool) {
	n, ok := w.arith(st, x.X)
	switch x.Op {
	case syntax.Inc, syntax.Dec:
		m := n + 1
		if x.Op == syntax.Dec {
			m = n - 1
		}
		w.setNumber(st, x.X, m, ok)
		if !x.Post {
			n = m
		}
	case syntax.Minus:
		n = -n
	case syntax.BitNegation:
		n = ^n
	case syntax.Not:
		n = truth(n == 0)
	}
	return n, ok
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *reading) binary(st *state, x *syntax.BinaryArithm) (int, bool) {
	switch x.Op {
	case syntax.Assgn:
		n, ok := w.arith(st, x.Y)
		w.setNumber(st, x.X, n, ok)
		return n, ok
	case syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn, syntax.AndAssgn, syntax.OrAssgn,
		syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn, syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
		a, ok1 := w.arith(st, x.X)
		b, ok2 := w.arith(st, x.Y)
		n, ok := 0, false
		switch x.Op {
		case syntax.AddAssgn:
			n, ok = a+b, true
		case syntax.SubAssgn:
			n, ok = a-b, true
		case syntax.MulAssgn:
			n, ok = a*b, true
		}
		ok = ok && ok1 && ok2
		w.setNumber(st, x.X, n, ok)
		return n, ok
	}
	switch x.Op {
	case syntax.TernQuest, syntax.TernColon, syntax.AndArit, syntax.OrArit: // Y may not be evaluated
		other := st.clone()
		if x.Op != syntax.TernColon {
			w.arith(st, x.X)
			other = st.clone()
		} else {
			w.arith(other, x.X)
		}
		w.arith(st, x.Y)
		w.merge(st, other)
		return 0, false
	}
	a, ok1 := w.arith(st, x.X)
	b, ok2 := w.arith(st, x.Y)
	if !ok1 || !ok2 {
		return 0, false
	}
	return compute(x.Op, a, b)
}

func compute(op syntax.BinAritOperator, a, b int) (int, bool) {
	switch op {
	case syntax.Add:
		return a + b, true
	case syntax.Sub:
		return a - b, true
	case syntax.Mul:
		return a * b, true
	case syntax.Quo, syntax.Rem:
		if b == 0 {
			return 0, false
		}
		if op == syntax.Quo {
			return a / b, true
		}
		return a % b, true
	case syntax.Eql:
		return truth(a == b), true
	case syntax.Neq:
		return truth(a != b), true
	case syntax.Lss:
		return truth(a < b), true
	case syntax.Gtr:
		return truth(a > b), true
	case syntax.Leq:
		return truth(a <= b), true
	case syntax.Geq:
		return truth(a >= b), true
	case syntax.And:
		return a & b, true
	case syntax.Or:
		return a | b, true
	case syntax.Xor:
		return a ^ b, true
	case syntax.Comma:
		return b, true
	case syntax.Shl, syntax.Shr:
		if b < 0 || b > 62 {
			return 0, false
		}
		if op == syntax.Shl {
			return a << b, true
		}
		return a >> b, true
	}
	return 0, false
}

package command

import "handrail/guard"

// Table holds the specs by program name. The zero value lists nothing.
type Table struct {
	specs    map[string]*Spec
	patterns []pattern
}

type pattern struct {
	glob string
	spec *Spec
}

// Lookup returns the entry of a program by its base name, or nil.
func (t *Table) Lookup(name string) *Spec {
	return t.specs[name]
}

// Bind gives every word of args its role. It never fails: what cannot be bound
// is in Unread, and an unlisted program has no Spec.
func (t *Table) Bind(name string, args []guard.Word) *Binding {
	return &Binding{Path: []string{name}}
}

// Builtin returns the table made from the embedded specs.
func Builtin() (*Table, error) { return &Table{}, nil }

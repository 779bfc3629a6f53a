package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"handrail/internal/store"
)

// verb is one action of a command that has several.
type verb struct {
	name string
	run  func(streams, []string) (int, error)
}

// act runs the verb that the first argument names, the first one where there is
// no argument. Only a person gets that far.
func (s streams) act(command string, verbs []verb, args []string) (int, error) {
	if err := byPerson(); err != nil {
		return 0, err
	}
	if len(args) == 0 {
		return verbs[0].run(s, nil)
	}
	var names []string
	for _, v := range verbs {
		if v.name == args[0] {
			return v.run(s, args[1:])
		}
		names = append(names, v.name)
	}
	return 0, unknown(command+" command", args[0], names)
}

// desk parses args, as operands does, and opens the store of the configuration
// that --config names; where principals have one each, that of --principal.
func (f flags) desk(args []string, low, high int) (*desk, []string, error) {
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, low, high)
	if err != nil {
		return nil, nil, err
	}
	d, err := deskOf(*file, *principal)
	return d, rest, err
}

// deskOf opens the store of a configuration: of one principal where each has one.
func deskOf(file, principal string) (*desk, error) {
	c, err := ofPrincipal(file, principal)
	if err == nil && principal != "" && c.HTTP.User == "" {
		err = usagef("--principal: this server keeps what is approved for all its principals together")
	}
	return openDesk(c, err)
}

// frontDesk is desk for what the server itself keeps: tokens.
func (f flags) frontDesk(args []string, low, high int) (*desk, []string, error) {
	file := f.String("config", "", "")
	rest, err := f.operands(args, low, high)
	if err != nil {
		return nil, nil, err
	}
	d, err := openDesk(seated(*file, ""))
	return d, rest, err
}

// listing lists records of the store: NAME list [--all] [--json].
type listing[T any] struct {
	name  string // of the command
	empty string // what is said where there are none
	find  func(s *store.Store, ctx context.Context, all bool) ([]T, error)
	json  func(T) any    // nil: the record itself
	line  func(T) string // columns, parted by tabs
	front bool           // they are the server's own, no principal's
}

func (l listing[T]) run(s streams, args []string) (int, error) {
	f := newFlags(l.name)
	all, asJSON := f.Bool("all", false, ""), f.Bool("json", false, "")
	open := f.desk
	if l.front {
		open = f.frontDesk
	}
	d, _, err := open(args, 0, 0)
	if err != nil {
		return 0, err
	}
	defer d.close()
	list, err := l.find(d.store, context.Background(), *all)
	if err != nil {
		return 0, err
	}
	if *asJSON {
		rows := make([]any, 0, len(list))
		for _, record := range list {
			if l.json == nil {
				rows = append(rows, record)
			} else {
				rows = append(rows, l.json(record))
			}
		}
		return 0, printJSON(s.stdout, rows)
	}
	if len(list) == 0 {
		fmt.Fprintln(s.stdout, l.empty)
		return 0, nil
	}
	tw := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, record := range list {
		fmt.Fprintln(tw, l.line(record))
	}
	return 0, tw.Flush()
}

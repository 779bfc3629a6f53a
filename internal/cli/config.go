package cli

import (
	"fmt"
	"os"

	"handrail/internal/config"
)

var configCommand = subcommand{
	name:  "config",
	usage: "init | show [--root DIR]... [--config FILE] | check [FILE] | schema",
	short: "write, show or check the configuration",
	doc: `init writes the commented default to $XDG_CONFIG_HOME/handrail/config.yaml
(~/.config/handrail/config.yaml), with its JSON Schema for editors beside it. A
file that is there stays.

show prints every setting as it holds, with where it comes from: the default, a
file with its line, a variable. With --root it is what holds in that project.

check reads a file and says what is wrong with it; without FILE, all that would
count when a server starts. schema prints the JSON Schema.`,
	run: configure,
}

func configure(s streams, args []string) (int, error) {
	if len(args) == 0 {
		return 0, usagef("what? init, show, check or schema")
	}
	word, args := args[0], args[1:]
	var roots list
	f := newFlags("config")
	file := f.String("config", "", "")
	f.Var(&roots, "root", "")
	most := 0
	if word == "check" {
		most = 1
	}
	rest, err := f.operands(args, 0, most)
	if err != nil {
		return 0, err
	}
	switch word {
	case "init":
		c, err := config.Default()
		if err != nil {
			return 0, err
		}
		written, err := c.Init()
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(s.stdout, "wrote %s\n", written)
		return 0, nil
	case "schema":
		_, err := s.stdout.Write(config.Schema())
		return 0, err
	case "check":
		if len(rest) == 1 {
			c, err := config.Default()
			if err == nil {
				err = c.CheckFile(rest[0])
			}
			if err != nil {
				return 0, err
			}
			fmt.Fprintf(s.stdout, "%s: good\n", rest[0])
			return 0, nil
		}
		c, err := config.Load(*file, roots)
		if err != nil {
			return 0, err
		}
		where := c.File
		if where == "" {
			where = "no file, the defaults hold"
		}
		fmt.Fprintf(s.stdout, "good: %s\n", where)
		return 0, nil
	case "show":
		c, err := config.Load(*file, roots)
		if err != nil {
			return 0, err
		}
		own, faults := c.InProject(c.Roots)
		for _, fault := range faults {
			fmt.Fprintf(s.stderr, "every call in the project asks: %s\n", fault)
		}
		return 0, own.Show(s.stdout)
	}
	return 0, unknown("word", word, []string{"init", "show", "check", "schema"})
}

// rootOf is the project that a command is about: the directory named, or the
// working directory.
func rootOf(rest []string) (*config.Config, string, error) {
	c, err := config.Load("", nil)
	if err != nil {
		return nil, "", err
	}
	dir := "."
	if len(rest) > 0 {
		dir = rest[0]
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, "", fmt.Errorf("%s is not a directory: name the project's root", dir)
	}
	roots, err := config.Workspace([]string{dir}, c.Home)
	if err != nil {
		return nil, "", err
	}
	return c, roots[0], nil
}

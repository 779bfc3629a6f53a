package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"handrail/internal/config"
)

// byVariable names who does as another Unix user what a command does, for the log.
const byVariable = "HANDRAIL_BY"

// seated is the configuration of a command that works on what a server keeps. As
// root, where the server has Unix users, it is for the seat of a principal, or for
// "" of the front; the program then goes on as the user of that seat, so that root
// leaves no file there, and whoever owns the files gets nothing of root's.
func seated(file, principal string) (*config.Config, error) {
	c, err := config.Load(file, nil)
	if err != nil || c.HTTP.User == "" {
		return c, err
	}
	me := os.Geteuid()
	front, users, err := c.Accounts()
	a := front
	if err == nil && principal != "" {
		var ok bool
		if a, ok = users[principal]; !ok {
			err = fmt.Errorf("%q is not among the principals", principal)
		}
	}
	switch {
	case err != nil && me != 0 && principal == "": // a user's own
		return c, nil
	case err != nil:
		return nil, err
	case me == int(a.UID):
		c.Sit(principal)
		return c, nil
	case me == 0:
		if err := c.MakeSeats(front, users); err != nil {
			return nil, err
		}
		return settle(c, file, principal, a)
	case principal == "":
		return c, nil
	}
	return nil, fmt.Errorf("what is kept of %s belongs to the Unix user %s: do this as root or as that user", principal, a.Name)
}

// settle goes on as the user of a seat, with the configuration as that user reads it.
func settle(c *config.Config, file, principal string, a config.Account) (_ *config.Config, err error) {
	if file != "" {
		if file, err = filepath.Abs(file); err != nil { // the directory may be closed to it
			return nil, err
		}
	}
	if err := become(c, a); err != nil {
		return nil, err
	}
	if c, err = config.Load(file, nil); err != nil {
		return nil, err
	}
	if _, users, err := c.Accounts(); err != nil || principal != "" && users[principal].UID != a.UID {
		return nil, errors.Join(fmt.Errorf("as the Unix user %s, the configuration is another one", a.Name), err)
	}
	c.Sit(principal)
	return c, nil
}

// ofPrincipal is seated for commands that have no use for what the front keeps.
func ofPrincipal(file, principal string) (*config.Config, error) {
	if principal == "" && os.Geteuid() == 0 {
		if c, err := config.Load(file, nil); err != nil || c.HTTP.User != "" {
			if err == nil {
				err = errors.New("each principal of this server has files of its own: say whose with --principal NAME")
			}
			return nil, err
		}
	}
	return seated(file, principal)
}

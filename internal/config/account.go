package config

import (
	"errors"
	"fmt"
	"maps"
	"os/user"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Account is a Unix user as whom a process of the server runs. The zero value is
// root.
type Account struct {
	Name     string // as the configuration says it
	UID, GID uint32
	Groups   []uint32 // all of them
}

// numbers is a user that need not be known to the system.
var numbers = regexp.MustCompile(`^([0-9]+):([0-9]+)$`)

// checkUser says what is wrong with the name of a Unix user.
func checkUser(w string) error {
	if w == "" || strings.ContainsAny(w, " \t\n/,") {
		return fmt.Errorf("%q: want the name of a Unix user, its number, or UID:GID", w)
	}
	return nil
}

// accountOf looks a Unix user up: by name, by number, or UID:GID for one that has
// no entry. It is neither root nor in root's group.
func accountOf(word string) (Account, error) {
	a := Account{Name: word}
	var uid, gid string
	var u *user.User
	var err error
	if m := numbers.FindStringSubmatch(word); m != nil {
		uid, gid = m[1], m[2]
		u, _ = user.LookupId(uid) // for its other groups
	} else {
		if u, err = user.LookupId(word); err != nil {
			u, err = user.Lookup(word)
		}
		if err != nil {
			return a, fmt.Errorf("there is no Unix user %s: make it (`useradd --system %s`), or give the numbers as UID:GID", word, word)
		}
		uid, gid = u.Uid, u.Gid
	}
	list := []string{gid}
	if u != nil {
		groups, err := u.GroupIds()
		if err != nil {
			return a, fmt.Errorf("the groups of the Unix user %s: %w", word, err)
		}
		list = append(list, groups...)
	}
	for _, g := range list {
		n, err := number32(g)
		if err != nil {
			return a, err
		}
		a.Groups = append(a.Groups, n)
	}
	slices.Sort(a.Groups[1:])
	a.GID, a.Groups = a.Groups[0], slices.Compact(a.Groups)
	if a.UID, err = number32(uid); err != nil {
		return a, err
	}
	switch {
	case a.UID == 0:
		return a, fmt.Errorf("the Unix user %s is root", word)
	case slices.Contains(a.Groups, 0):
		return a, fmt.Errorf("the Unix user %s is in the group root", word)
	}
	return a, nil
}

func number32(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 1<<32-1 { // -1 is nobody for the kernel
		return 0, fmt.Errorf("%s is no number of a Unix user or group", s)
	}
	return uint32(n), nil
}

// Accounts are the Unix users of a server that is started as root: the one that
// listens, and each principal's own. An error says what to set.
func (c *Config) Accounts() (front Account, of map[string]Account, err error) {
	if c.HTTP.User == "" {
		return front, nil, errors.New("as root this server would run the commands of its principals as root: name a Unix user for each of them (`principals: {alice: {user: alice, ...}}`) and one for what listens (`http: {user: handrail}`), or start it as a user of its own; examples/hosting has both")
	}
	if c.StoreURL != "" {
		return front, nil, errors.New("store: principals with Unix users of their own have a store each, in files of their own: who can write a database of all could approve for all; leave `store` out")
	}
	if front, err = accountOf(c.HTTP.User); err != nil {
		return front, nil, fmt.Errorf("http: user: %w", err)
	}
	of = map[string]Account{}
	whose := map[uint32]string{front.UID: "what listens (http: user)"}
	for _, name := range slices.Sorted(maps.Keys(c.Principals)) {
		word := c.Principals[name].User
		if word == "" {
			return front, nil, fmt.Errorf("principal %s has no Unix user: set `user`; as root, every principal needs one of its own", name)
		}
		a, err := accountOf(word)
		if err != nil {
			return front, nil, fmt.Errorf("principal %s: %w", name, err)
		}
		if other := whose[a.UID]; other != "" {
			return front, nil, fmt.Errorf("principal %s: the Unix user %s is that of %s too; each needs one of its own", name, word, other)
		}
		whose[a.UID], of[name] = "principal "+name, a
	}
	return front, of, nil
}

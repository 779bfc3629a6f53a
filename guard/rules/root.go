package rules

import (
	"slices"

	"handrail/guard"
)

// superuser is the family of what weighs more where commands run as root.
func superuser(pol Policy) []guard.Rule {
	if !pol.Root {
		return nil
	}
	return []guard.Rule{each("priv/root",
		"Asks, where handrail runs as root, before a file gets another owner or the rights of root for whoever runs it: for anybody else the system refuses that.",
		func(e guard.Effect) bool {
			return e.Kind == guard.Privilege || e.Kind == guard.Write && e.Action == "metadata"
		},
		func(p *guard.Pass, i int, e guard.Effect) {
			c := p.CommandOf(i)
			switch {
			case c == nil:
			case e.Kind == guard.Privilege && (c.Name == "chmod" || c.Name == "install"):
				p.Report(i, guard.VerdictAsk, c.Name+" would give root's rights to whoever runs the file ("+target(e)+")"+asRoot(pol), "leave the mode without s bits")
			case e.Kind == guard.Write && slices.Contains(owners, c.Name):
				p.Report(i, guard.VerdictAsk, would(p, i)+asRoot(pol), "leave the owner as it is")
			}
		})}
}

// owners are programs that change the owner or the rights of files.
var owners = []string{"chown", "chgrp", "setcap", "setfacl", "chattr"}

// asRoot ends a reason where commands run as root.
func asRoot(pol Policy) string {
	if pol.Root {
		return ", and it would run as root"
	}
	return ""
}

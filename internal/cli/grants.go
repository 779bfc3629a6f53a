package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"handrail/guard"
	"handrail/guard/audit"
	"handrail/guard/text"
	"handrail/internal/store"
)

var grantsCommand = subcommand{
	name:  "grants",
	usage: "list [--all] [--json] [--config FILE] [--principal NAME]\n       handrail grants show [--json] ID\n       handrail grants revoke ID...",
	short: "list and take back what was approved",
	doc: `Lists the approvals that hold beyond the call they were given for: those given in
handrail approvals, and every rule that was allowed always, with how often it
answered and when it ends. What was approved in a client for once or for the
session lives in its server and is not listed.

show prints what a rule covers, and how many of the last calls it would have.
revoke ends a grant at once, for every server.

--config names the configuration of a server. Where its principals have Unix users,
each has grants of its own: --principal NAME (as root, or as that user).`,
	run: grants,
}

func grants(s streams, args []string) (int, error) {
	return s.act("grants", []verb{{"list", grantsList.run}, {"show", grantsShow}, {"revoke", grantsRevoke}}, args)
}

var grantsList = listing[store.Kept]{name: "grants list", empty: "no grants hold", find: (*store.Store).Grants,
	line: func(k store.Kept) string {
		return fmt.Sprintf("%s\t%s\t%s\tused %d×\t%s", k.ID, k.Scope, lasting(k), k.Used, fit(oneLine(shownIn(k)), 100))
	}}

// shownIn is what was approved, with its directory.
func shownIn(k store.Kept) string {
	if k.Pattern != nil {
		return k.Pattern.String()
	}
	return k.Tool + " " + k.Shown + " in " + k.Dir
}

// lasting says until when a grant holds, or what ended it.
func lasting(k store.Kept) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case k.Scope == guard.Once && k.Used > 0:
		return "spent"
	case !k.Holds(time.Now()):
		return "expired"
	}
	return "ends in " + short(time.Until(k.Expires))
}

func grantsShow(s streams, args []string) (int, error) {
	f := newFlags("grants show")
	asJSON := f.Bool("json", false, "")
	d, rest, err := f.desk(args, 1, 1)
	if err != nil {
		return 0, err
	}
	defer d.close()
	k, err := d.grant(rest[0])
	if err != nil {
		return 0, err
	}
	if *asJSON {
		return 0, printJSON(s.stdout, k)
	}
	line := func(name, format string, v ...any) {
		fmt.Fprintf(s.stdout, "%-9s %s\n", name, text.Visible(fmt.Sprintf(format, v...)))
	}
	line("grant", "%s, %s, %s", k.ID, k.Scope, lasting(k))
	line("covers", "%s", shownIn(k))
	line("given", "%s by %s (%s)", k.Created.Local().Format("2006-01-02 15:04"), k.By, k.Channel)
	line("ends", "%s", k.Expires.Local().Format("2006-01-02 15:04"))
	line("used", "%d times", k.Used)
	if !k.LastUsed.IsZero() {
		line("last", "%s", k.LastUsed.Local().Format("2006-01-02 15:04"))
	}
	if p := k.Pattern; p != nil {
		for _, e := range p.Effects {
			line("may", "%s %s", strings.TrimSpace(e.Kind.String()+" "+e.Action), e.Target)
		}
		line("asked by", "%s", strings.Join(p.Rules, ", "))
		if p.Script != "" {
			fmt.Fprintf(s.stdout, "script\n%s\n", text.Visible(p.Script))
		}
		if n, of, err := d.store.Covered(context.Background(), p, 200); err == nil {
			line("history", "would have covered %d of your last %d calls", n, of)
		}
	}
	return 0, nil
}

// grant is the grant with this ID, also one that no longer holds.
func (d *desk) grant(id string) (store.Kept, error) {
	list, err := d.store.Grants(context.Background(), true)
	for _, k := range list {
		if k.ID == id {
			return k, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("there is no grant %s (`handrail grants list --all`)", text.Visible(id))
	}
	return store.Kept{}, err
}

func grantsRevoke(s streams, args []string) (int, error) {
	f := newFlags("grants revoke")
	d, rest, err := f.desk(args, 1, -1)
	if err != nil {
		return 0, err
	}
	defer d.close()
	for _, id := range rest {
		k, err := d.grant(id)
		if err != nil {
			return 0, err
		}
		if err := d.store.Revoke(context.Background(), id); errors.Is(err, store.ErrGone) {
			return 0, fmt.Errorf("grant %s no longer holds: it is %s", id, lasting(k))
		} else if err != nil {
			return 0, err
		}
		// It is ended already: a log that cannot be written is no reason to keep it.
		err = d.log.Append(&audit.Record{Event: audit.Answer, Tool: k.Tool, Dir: k.Dir, Client: "handrail grants", Digest: k.Digest, Approval: "revoked", Channel: "grants", Reason: id + " revoked by " + d.by + ": " + k.Shown})
		if err != nil {
			return 0, fmt.Errorf("%s is revoked, but that could not be recorded: %w", id, err)
		}
		fmt.Fprintf(s.stdout, "%s: revoked\n", id)
	}
	return 0, nil
}

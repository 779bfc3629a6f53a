package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"handrail/guard/audit"
	"handrail/guard/text"
	"handrail/internal/store"
	"handrail/mcpserver/auth"
)

var tokenCommand = subcommand{
	name:  "token",
	usage: "create [--principal NAME] [--expires TIME] NAME\n       handrail token list [--all] [--json]\n       handrail token revoke NAME|ID...",
	short: "make, list and take back the bearer tokens of a hosted server",
	doc: `A token lets its bearer call the tools of a server that runs with --transport http,
as one principal (default: the token's own name). create prints it, once: only its
SHA-256 is kept. It ends after --expires (30d where nothing is said, at most
365d), or when it is revoked, at once and on every server that shares the store. What
runs on its behalf ends with it, within seconds: calls, jobs, streams and sessions.
--config names the server's configuration; where root starts the server, root does
this too.`,
	run: token,
}

func token(s streams, args []string) (int, error) {
	return s.act("token", []verb{{"list", tokens.run}, {"create", tokenCreate}, {"revoke", tokenRevoke}}, args)
}

// tokens lists tokens.
var tokens = listing[store.Token]{name: "token list", empty: "no tokens hold", find: (*store.Store).Tokens, front: true,
	line: func(t store.Token) string {
		state := "until " + t.Expires.Format(time.DateTime)
		switch {
		case !t.Revoked.IsZero():
			state = "revoked " + t.Revoked.Format(time.DateTime)
		case !t.Expires.After(time.Now()):
			state = "ended " + t.Expires.Format(time.DateTime)
		}
		used := "never used"
		if !t.LastUsed.IsZero() {
			used = "used " + t.LastUsed.Format(time.DateTime)
		}
		return strings.Join([]string{t.ID, text.Visible(t.Name), text.Visible(t.Principal), state, used}, "\t")
	}}

// plainName is what tokens and principals can be called: it stands in paths,
// logs and URLs.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func tokenCreate(s streams, args []string) (int, error) {
	f := newFlags("token create")
	file, principal, expires := f.String("config", "", ""), f.String("principal", "", ""), f.String("expires", "30d", "")
	rest, err := f.operands(args, 1, 1)
	if err != nil {
		return 0, err
	}
	if *principal == "" {
		*principal = rest[0]
	}
	for _, name := range []string{rest[0], *principal} {
		if !plainName.MatchString(name) {
			return 0, usagef("%q is no name: want letters, digits and . _ @ -, at most 64", name)
		}
	}
	life, err := lengthOf(*expires)
	if err != nil || life < time.Minute || life > 365*24*time.Hour {
		return 0, usagef("--expires %s: want 1m to 365d", *expires)
	}
	d, err := openDesk(seated(*file, ""))
	if err != nil {
		return 0, err
	}
	defer d.close()
	if len(d.principals) > 0 && !slices.Contains(d.principals, *principal) {
		return 0, unknown("principal", *principal, d.principals)
	}
	secret, sum := auth.NewToken()
	made, err := d.store.AddToken(context.Background(), store.Token{Name: rest[0], Principal: *principal, Expires: time.Now().Add(life)}, sum)
	if err != nil {
		return 0, err
	}
	if err := d.note("token " + made.ID + " (" + made.Name + ") was made for " + made.Principal); err != nil {
		return 0, errors.Join(err, d.store.RevokeToken(context.Background(), made.ID))
	}
	fmt.Fprintln(s.stdout, secret)
	fmt.Fprintf(s.stderr, "token %s for the principal %s, until %s; it is not shown again\n", made.Name, made.Principal, made.Expires.Format(time.DateTime))
	return 0, nil
}

func tokenRevoke(s streams, args []string) (int, error) {
	f := newFlags("token revoke")
	d, rest, err := f.frontDesk(args, 1, -1)
	if err != nil {
		return 0, err
	}
	defer d.close()
	for _, name := range rest {
		if err := d.store.RevokeToken(context.Background(), name); errors.Is(err, store.ErrGone) {
			return 0, fmt.Errorf("no token %q holds; `handrail token list` shows them", name)
		} else if err != nil {
			return 0, err
		}
		if err := d.note("token " + name + " was revoked"); err != nil {
			return 0, err
		}
		fmt.Fprintf(s.stdout, "%s is revoked\n", name)
	}
	return 0, nil
}

// note records what a person did at the desk.
func (d *desk) note(what string) error {
	return d.log.Append(&audit.Record{Event: audit.Answer, Client: "handrail token", Channel: "token", Approval: "token", Reason: what + " by " + d.by})
}

package cli

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"handrail/guard/text"
	"handrail/internal/config"
)

var trustCommand = subcommand{
	name:  "trust",
	usage: "[--yes DIGEST] [DIR] | --list",
	short: "let a project's guards, skills and configuration loosen what they say",
	doc: `A project's .handrail/config.yaml, and its guards/ and guard-skills/ in .agents,
.claude and .handrail, can only tighten until you trust them. This shows what would
loosen, as a diff, and asks. Trust is for each file with this content: after any
change it is asked again.

For scripts: --yes with the digest that an earlier look printed, so that nothing
is trusted that nobody saw. --list shows what is trusted.`,
	run: trust,
}

var untrustCommand = subcommand{
	name:  "untrust",
	usage: "[DIR]",
	short: "take back the trust in a project's files",
	run:   untrust,
}

func trust(s streams, args []string) (int, error) {
	f := newFlags("trust")
	yes := f.String("yes", "", "")
	listed := f.Bool("list", false, "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	c, root, err := trustRoot(*listed, rest)
	if err != nil {
		return 0, err
	}
	if *listed {
		return s.trusted(c)
	}
	if err := byPerson(); err != nil {
		return 0, err
	}
	all, err := c.Candidates(root)
	if err != nil {
		return 0, err
	}
	var files []config.TrustedFile
	news := 0
	for _, one := range all {
		s.candidate(one)
		if one.Err != nil {
			continue
		}
		if !one.Trusted {
			news++
		}
		files = append(files, config.TrustedFile{Root: root, Path: one.Path, SHA256: one.SHA256, At: time.Now().UTC().Truncate(time.Second)})
	}
	if news == 0 {
		fmt.Fprintf(s.stdout, "%s: nothing to trust\n", text.Visible(root))
		return 0, nil
	}
	digest := digestOf(files)
	fmt.Fprintf(s.stdout, "\n%s: %d files, %d of them new or changed, digest %s\n", text.Visible(root), len(files), news, digest)
	switch {
	case *yes != "" && *yes != digest:
		return 0, fmt.Errorf("--yes %s is not the digest of these files: look at them again", *yes)
	case *yes == "" && !isTerminal(s.stdin):
		return 0, fmt.Errorf("nobody can be asked here; look at what is above, then: handrail trust --yes %s %s", digest, root)
	case *yes == "":
		fmt.Fprint(s.stdout, "Trust them as they are? Only if you know who wrote them. [y/N] ")
		answer, _ := bufio.NewReader(s.stdin).ReadString('\n')
		if !strings.EqualFold(strings.TrimSpace(answer), "y") {
			fmt.Fprintln(s.stdout, "Nothing is trusted.")
			return exitError, nil
		}
	}
	if err := config.OpenTrust(c.State).Replace(root, files); err != nil {
		return 0, err
	}
	fmt.Fprintln(s.stdout, "Trusted. `handrail untrust` takes it back.")
	return 0, nil
}

func trustRoot(listed bool, rest []string) (*config.Config, string, error) {
	if listed {
		c, err := config.Load("", nil)
		return c, "", err
	}
	return rootOf(rest)
}

// digestOf names files with their content.
func digestOf(files []config.TrustedFile) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %s\n", f.Full(), f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// candidate shows what trusting one file would change.
func (s streams) candidate(one config.Candidate) {
	name := text.Visible(one.Path)
	switch {
	case one.Err != nil:
		fmt.Fprintf(s.stdout, "%s: cannot be used: %s\n", name, text.Visible(one.Err.Error()))
		return
	case one.Trusted:
		fmt.Fprintf(s.stdout, "%s: trusted as it is\n", name)
		return
	case len(one.Loosens) == 0:
		fmt.Fprintf(s.stdout, "%s: loosens nothing\n", name)
		return
	}
	fmt.Fprintf(s.stdout, "--- %s (untrusted)\n+++ %s (trusted)\n", name, name)
	for _, line := range one.Loosens {
		fmt.Fprintln(s.stdout, text.Visible(line))
	}
}

// trusted lists what is trusted, and whether it still counts.
func (s streams) trusted(c *config.Config) (int, error) {
	files, err := config.OpenTrust(c.State).Files()
	if err != nil {
		return 0, err
	}
	now := map[string]map[string]config.Candidate{}
	for _, f := range files {
		if now[f.Root] == nil {
			now[f.Root] = map[string]config.Candidate{}
			all, err := c.Candidates(f.Root)
			if err != nil {
				return 0, err
			}
			for _, one := range all {
				now[f.Root][one.Path] = one
			}
		}
		state := "gone"
		if one, ok := now[f.Root][f.Path]; ok {
			state = "changed since: not trusted"
			if one.SHA256 == f.SHA256 && one.Trusted {
				state = "trusted"
			}
		}
		fmt.Fprintf(s.stdout, "%s  %s  since %s\n", text.Visible(filepath.Join(f.Root, f.Path)), state, f.At.Format(time.DateOnly))
	}
	return 0, nil
}

func untrust(s streams, args []string) (int, error) {
	rest, err := newFlags("untrust").operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	c, root, err := rootOf(rest)
	if err != nil {
		return 0, err
	}
	if err := byPerson(); err != nil {
		return 0, err
	}
	if err := config.OpenTrust(c.State).Replace(root, nil); err != nil {
		return 0, err
	}
	fmt.Fprintf(s.stdout, "%s: nothing is trusted any more\n", text.Visible(root))
	return 0, nil
}

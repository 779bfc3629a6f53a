package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"handrail/guard/host"
	"handrail/guard/rules"
	"handrail/internal/store"
	"handrail/tools"
)

// Tools is what is set for each tool.
type Tools struct{ Bash, Read, Write, Edit Tool }

// Tool is what is set for one tool. It only ever restricts.
type Tool struct {
	rules.Tool
	// RateLimit is the number of calls a minute in one session; zero: no limit.
	RateLimit int
}

// All are the tools by name.
func (t *Tools) All() map[string]*Tool {
	return map[string]*Tool{tools.Bash: &t.Bash, tools.Read: &t.Read, tools.Write: &t.Write, tools.Edit: &t.Edit}
}

// Approval is what is set about asking people.
type Approval struct {
	// AskTimeout is how long a person has to answer: 1 s to 1 h, or zero for
	// 45 s, and less where a client would give the call up before.
	AskTimeout time.Duration
	// GrantExpiry is how long "always allow" holds, PendingExpiry how long a
	// call that nobody could be asked about waits for an answer.
	GrantExpiry, PendingExpiry time.Duration
}

// tree is every setting there is. Sections of one part of the system stand in
// a file of their own.
func tree() []field { return append(settings(), hostingFields()...) }

// settings are those that do not need a server for a team.
func settings() []field {
	return []field{
		setting("roots", "The workspace, where the command line names none. Absolute, or below ~/.", "[~/src/project]",
			func(c *Config) *[]string { return &c.Roots }, workspaces(), only(func(wide, narrow string) bool { return within(narrow, wide) })).in(private),
		joined(setting("hosts", "Hosts that may be read from without a question, beside the built-in ones.", `[docs.example.org, "*.example.net"]`,
			func(c *Config) *[]string { return &c.Hosts }, words(hostEntry), entries(common(coversHost))),
			func(c *Config) *[]string { return &c.Hosts }),
		setting("profile", "The temper of the rules: standard, strict, or yolo (which asks about almost nothing; denials stay).", "standard",
			func(c *Config) *string { return &c.Profile }, oneOf(rules.Profiles()...), ranked("strict", "standard", "yolo")),
		setting("fallback", "What happens to a call that the rules cannot tell where no model can be asked: contain (run it where the sandbox holds it, else ask), ask, or deny.", "contain",
			func(c *Config) *string { return (*string)(&c.Fallback) }, oneOf("deny", "ask", "contain"), ranked("deny", "ask", "contain")),
		setting("levels", "Verdicts by rule (`handrail rules` lists them): deny, ask, llm or allow. Any rule can be tightened; in your own file, what a rule only asks about can be loosened, unless the rule is fixed.", "{default/push: ask}",
			func(c *Config) *Levels { return &c.Levels }, levels(rules.CheckLevel), capped).stacked(),
		setting("default_deny", "Whether all is denied that this file does not list: tools that are not `enabled: true`, paths of the file tools and commands and hosts of safe_bash that the allow lists do not name.", "false",
			func(c *Config) *bool { return &c.DefaultDeny }, truth(), either).unset(),
		section("tools", "Limits by tool. They only ever restrict: what a list leaves is still judged by the rules.",
			toolSection(tools.Bash, "Shell commands.", func(t *Tools) *Tool { return &t.Bash }),
			toolSection(tools.Read, "Reading files.", func(t *Tools) *Tool { return &t.Read }),
			toolSection(tools.Write, "Writing files.", func(t *Tools) *Tool { return &t.Write }),
			toolSection(tools.Edit, "Editing files.", func(t *Tools) *Tool { return &t.Edit })),
		setting("protected_files", "Files that no tool may change, beside Handrail's own: a name, or a pattern as in the allow lists.", "[policy.toml]",
			func(c *Config) *[]string { return &c.Protected }, words(pathPattern), union).adding(),
		section("security", "What flags the text of commands and the content that is written: a person is asked.",
			setting("patterns", "Regular expressions (RE2) as name:regex.", `["exfil_attempt:send.*to.*external"]`,
				func(c *Config) *[]string { return &c.Patterns }, words(namedRegex), union).adding(),
			setting("keywords", "Words, in any case.", "[internal-only]",
				func(c *Config) *[]string { return &c.Keywords }, words(nil), union).adding()),
		section("approval", "Asking people.", starting(
			setting("ask_timeout", "How long a person has to answer a question: 1s to 1h. Many clients give a call up after a minute, so the default is 45s, less what the call took before.", "45s",
				func(c *Config) *time.Duration { return &c.Approval.AskTimeout }, span(time.Second, time.Hour), least[time.Duration]),
			setting("grant_expiry", "How long \"always allow\" holds: 1h to 365d.", "30d",
				func(c *Config) *time.Duration { return &c.Approval.GrantExpiry }, span(time.Hour, 365*24*time.Hour), least[time.Duration]),
			setting("pending_expiry", "How long a call that nobody could be asked about waits for `handrail approvals`: 1m to 7d.", "1h",
				func(c *Config) *time.Duration { return &c.Approval.PendingExpiry }, span(time.Minute, 7*24*time.Hour), least[time.Duration]))...),
		starting(sandboxSection())[0],
		llmSection(),
		setting("state", "Where the audit log and the rest of Handrail's own data live. Default: $XDG_STATE_HOME/handrail.", "~/.local/state/handrail",
			func(c *Config) *string { return &c.State }, stateDir(), first[string]).in(private),
		setting("store", "Where approvals, grants and the history of decisions are kept: a PostgreSQL database for the replicas of one hosted service. Who can write it can approve. Passwords belong into ~/.pgpass. Default: a file in the state directory.", "postgres://handrail@db.example.org/handrail",
			func(c *Config) *string { return &c.StoreURL }, plain(store.CheckURL), first[string]).in(private),
	}
}

func toolSection(name, doc string, of func(*Tools) *Tool) field {
	list := func(key, doc, sample string, at func(*Tool) *[]string, f form[[]string], order func(a, b []string) []string) field {
		return setting(key, doc, sample, func(c *Config) *[]string { return at(of(&c.Tools)) }, f, order)
	}
	rows := []field{
		setting("enabled", "false: the tool is not offered, and refuses every call.", "true",
			func(c *Config) *rules.Switch { return &of(&c.Tools).Enabled }, onOff(), bothOn),
		list("allow", "The only paths the tool may touch: patterns below a root (src/**), absolute or ~/; a pattern without a slash is a name (*.md).", "[\"src/**\", \"*.md\"]",
			func(t *Tool) *[]string { return &t.Allow }, words(pathPattern), only(rules.CoversPath)),
		list("deny", "Paths that the tool may not touch, written the same way.", "[\"*.sql\"]",
			func(t *Tool) *[]string { return &t.Deny }, words(pathPattern), union).adding(),
		list("allowed_dirs", "The only directories in which the tool may read content and change files: below a root, absolute or ~/.", "[src, docs]",
			func(t *Tool) *[]string { return &t.AllowedDirs }, words(dirPattern), only(rules.CoversDir)),
		setting("rate_limit", "Calls a minute in one session; on a server, of one principal in all of its sessions.", "60",
			func(c *Config) *int { return &of(&c.Tools).RateLimit }, number(1, 100000), least[int]),
	}
	if name == tools.Bash {
		rows = append(rows,
			list("allow_commands", "The only commands: a program with the words that must follow it (go test).", "[go test, git status]",
				func(t *Tool) *[]string { return &t.AllowCommands }, words(commandWords), only(rules.CoversCommand)),
			list("deny_commands", "Commands that are refused, beside what the rules refuse (git push).", "[docker, git push]",
				func(t *Tool) *[]string { return &t.DenyCommands }, words(commandWords), union).adding(),
			list("allow_domains", "The only hosts that may be reached, beside this machine. To reach one without a question, list it under `hosts` too.", "[example.org]",
				func(t *Tool) *[]string { return &t.AllowDomains }, words(hostEntry), entries(only(coversHost))))
	}
	for i := range rows {
		rows[i].rests = slices.Contains([]string{"enabled", "allow", "allow_commands", "allow_domains"}, rows[i].key)
	}
	return section(name, doc, rows...)
}

// stacked is for levels: the user may loosen rules of which the managed file
// says nothing.
func (f field) stacked() field {
	f.under = func(c, from *Config) {
		c.Levels = Levels{strictest(c.Levels.Set, from.Levels.Set), strictest(c.Levels.Cap, from.Levels.Cap)}
	}
	return f
}

// unset keeps the environment from a setting.
func (f field) unset() field {
	f.env = false
	return f
}

// onOff is a switch that tells "not set".
func onOff() form[rules.Switch] {
	inner := truth()
	return form[rules.Switch]{
		schema: inner.schema,
		show:   func(s rules.Switch) string { return s.String() },
		read: func(c *Config, n *yaml.Node) (rules.Switch, error) {
			on, err := inner.read(c, n)
			if on {
				return rules.On, err
			}
			return rules.Off, err
		},
	}
}

// bothOn is on only where both are, and off where one is.
func bothOn(a, b rules.Switch) rules.Switch {
	switch {
	case a == rules.Off || b == rules.Off:
		return rules.Off
	case a == b:
		return a
	}
	return rules.Unset
}

// workspaces is a list of directories that can be the workspace.
func workspaces() form[[]string] {
	f := words(func(c *Config, w string) (string, error) { return c.path(w) })
	read := f.read
	f.read = func(c *Config, n *yaml.Node) ([]string, error) {
		dirs, err := read(c, n)
		if err != nil {
			return nil, err
		}
		return Workspace(dirs, c.Home)
	}
	return f
}

func stateDir() form[string] {
	return word(schema{"type": "string"}, quoted, func(c *Config, w string) (string, error) {
		dir, err := c.path(w)
		if err == nil && within(c.Home, resolved(dir)) {
			return "", fmt.Errorf("%s is more than a state directory: it becomes yours alone, and the tools cannot write below it", w)
		}
		return dir, err
	})
}

// pathPattern reads a pattern of paths; rules.Path says how they match.
func pathPattern(c *Config, w string) (string, error) {
	if rest, ok := strings.CutPrefix(w, "~/"); ok {
		w = filepath.Join(c.Home, rest)
	}
	return w, rules.CheckPath(w)
}

func dirPattern(c *Config, w string) (string, error) {
	w, err := pathPattern(c, w)
	if err == nil {
		err = rules.CheckDir(w)
	}
	return w, err
}

// hostEntry reads an entry of a list of hosts; host.Parse says what there is.
func hostEntry(_ *Config, w string) (string, error) {
	_, err := host.Parse(w)
	return w, err
}

// coversHost reports whether the entry wide surely has all hosts of narrow.
func coversHost(wide, narrow string) bool {
	suffix, ok := strings.CutPrefix(wide, "*")
	return ok && !strings.Contains(wide, ":") && strings.HasSuffix(strings.TrimPrefix(narrow, "*"), suffix)
}

// entries orders lists of hosts: what is taken out stays out.
func entries(order func(a, b []string) []string) func(a, b []string) []string {
	split := func(list []string) (in, out []string) {
		if list != nil {
			in = []string{}
		}
		for _, w := range list {
			if strings.HasPrefix(w, "!") {
				out = append(out, w)
			} else {
				in = append(in, w)
			}
		}
		return in, out
	}
	return func(a, b []string) []string {
		inA, outA := split(a)
		inB, outB := split(b)
		kept := order(inA, inB)
		if outs := union(outA, outB); outs != nil {
			kept = append(slices.Clip(kept), outs...)
		}
		return kept
	}
}

func commandWords(_ *Config, w string) (string, error) {
	parts := strings.Fields(w)
	if len(parts) == 0 || strings.ContainsAny(w, "|&;<>$`\\\"'()*?") {
		return "", fmt.Errorf("%q is no command: want a program and the words that follow it, as in `git push`", w)
	}
	return strings.Join(parts, " "), nil
}

// namedRegex reads name:regex.
func namedRegex(_ *Config, w string) (string, error) {
	name, expr, ok := strings.Cut(w, ":")
	if !ok || expr == "" || !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(name) {
		return "", fmt.Errorf("%q: want name:regex, as in `token:tok_[0-9a-f]{32}`", w)
	}
	if _, err := regexp.Compile(expr); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

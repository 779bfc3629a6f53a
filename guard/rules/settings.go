package rules

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
)

// Switch is on, off, or not set. The zero value is not set.
type Switch uint8

// The values of a Switch.
const (
	Unset Switch = iota
	Off
	On
)

// String returns "true", "false" or "".
func (s Switch) String() string { return [...]string{"", "false", "true"}[s%3] }

// Settings are what users set beyond the built-in rules. All of it only ever
// refuses or asks more. The zero value adds nothing.
type Settings struct {
	// Tools are the limits by tool.
	Tools map[string]Tool
	// Protected are patterns of files that no tool may change.
	Protected []string
	// Patterns (name:regex) and Keywords flag the text of commands and the
	// content that is written.
	Patterns, Keywords []string
	// Broken are the faults of project configurations, with file:line. While
	// there are any, every call asks.
	Broken []string
}

// Tool are the limits of one tool. A nil list is no limit; an empty list of
// what is allowed leaves nothing. Source: agentkit, ToolPolicy.
type Tool struct {
	Enabled Switch
	// Allow and Deny are patterns of paths; see pattern.
	Allow, Deny []string
	// AllowedDirs are directories: below a root, or absolute.
	AllowedDirs []string
	// AllowCommands and DenyCommands are a program with words: "git push".
	AllowCommands, DenyCommands []string
	// AllowDomains are hosts as host.Parse reads them.
	AllowDomains []string
}

// IDs of the rules that Settings make.
const (
	PolicyProject   = "policy/project"
	PolicyTool      = "policy/tool"
	PolicyPath      = "policy/path"
	PolicyDir       = "policy/dir"
	PolicyCommand   = "policy/command"
	PolicyDomain    = "policy/domain"
	PolicyProtected = "policy/protected"
	PolicyPattern   = "policy/pattern"
	PolicyKeyword   = "policy/keyword"
)

// Custom returns the rules that settings make. Those that nothing is set for
// are there too, so that they can be listed and leveled.
func Custom(s Settings, p Policy) []guard.Rule {
	limits := map[string]*limit{}
	for name, t := range s.Tools {
		l := &limit{Tool: t, allow: compile(t.Allow), deny: compile(t.Deny)}
		if list, err := host.Parse(t.AllowDomains...); err == nil { // checked when it was read; else none
			l.hosts = list
		}
		limits[name] = l
	}
	of := func(judge func(*guard.Pass, *limit)) func(*guard.Pass) {
		return func(p *guard.Pass) {
			if l := limits[p.ToolName]; l != nil {
				judge(p, l)
			}
		}
	}
	protected := compile(s.Protected)
	patterns, keywords := matchers(s.Patterns), lower(s.Keywords)
	user := "Set by the user's configuration: "
	return []guard.Rule{
		fixed(guard.Rule{ID: PolicyProject, Doc: "Asks about every call while a project's configuration has a fault: what it was to forbid is not known.", Evaluate: func(p *guard.Pass) {
			for _, fault := range s.Broken {
				p.Report(-1, guard.VerdictAsk, "the project's configuration cannot be used, so what it forbids is not known: "+fault, "mend it, or ask the user to")
			}
		}}),
		fixed(guard.Rule{ID: PolicyTool, Doc: user + "denies every call of a tool that is turned off (tools.TOOL.enabled, default_deny).", Evaluate: of(func(p *guard.Pass, l *limit) {
			if l.Enabled == Off {
				p.Report(-1, guard.VerdictDeny, p.ToolName+" is turned off", "use another tool, or ask the user to turn it on")
			}
		})}),
		fixed(guard.Rule{ID: PolicyPath, Doc: user + "denies paths that tools.TOOL.deny names, and where tools.TOOL.allow is set, those that it does not name.", Evaluate: of(in(p, judgePaths))}),
		fixed(guard.Rule{ID: PolicyDir, Doc: user + "denies reading content and changing files outside tools.TOOL.allowed_dirs.", Evaluate: of(in(p, judgeDirs))}),
		fixed(guard.Rule{ID: PolicyCommand, Doc: user + "denies commands that tools.safe_bash.deny_commands names, and where allow_commands is set, those that it does not name.", Evaluate: of(judgeCommands)}),
		fixed(guard.Rule{ID: PolicyDomain, Doc: user + "denies hosts that tools.safe_bash.allow_domains does not name.", Evaluate: of(judgeDomains)}),
		fixed(each(PolicyProtected, user+"denies changing protected_files.", changes, func(p *guard.Pass, i int, e guard.Effect) {
			judgeProtected(p, i, e, protected)
		})),
		fixed(guard.Rule{ID: PolicyPattern, Doc: user + "asks where the text of a command, or content that is written, matches one of security.patterns.", Evaluate: func(p *guard.Pass) {
			scan(p, patterns, "matches the pattern ")
		}}),
		fixed(guard.Rule{ID: PolicyKeyword, Doc: user + "asks where the text of a command, or content that is written, has one of security.keywords.", Evaluate: func(p *guard.Pass) {
			scan(p, keywords, "has the keyword ")
		}}),
	}
}

// limit is a Tool with its patterns compiled.
type limit struct {
	Tool
	allow, deny []pattern
	hosts       host.List
}

// in gives a judgement the place it judges in.
func in(pol Policy, judge func(*guard.Pass, *limit, Policy)) func(*guard.Pass, *limit) {
	return func(p *guard.Pass, l *limit) { judge(p, l, pol) }
}

// touches reports whether e reads content, changes a file or runs one.
func touches(e guard.Effect) bool {
	return changes(e) || e.Kind == guard.Read && e.Action != "list" || e.Kind == guard.Code && e.Action == ""
}

// free are the standard streams and the session's own temporary directory.
func free(p *guard.Pass, e guard.Effect) bool {
	return e.Exact && isStream(e.Target) || within(p.Scratch, e.Target)
}

func judgePaths(p *guard.Pass, l *limit, pol Policy) {
	for i, e := range p.Facts.Effects {
		if !touches(e) || free(p, e) {
			continue
		}
		wide := e.Deep || !e.Exact
		for _, d := range l.deny {
			switch {
			case isPath(e.Target) && d.holds(p.Roots, e.Target):
				p.Report(i, guard.VerdictDeny, fmt.Sprintf("%s, which the configuration denies to %s (%s)", would(p, i), p.ToolName, d.text), "leave it alone, and tell the user")
			case !isPath(e.Target) || wide && d.mayLieBelow(p.Roots, e.Target):
				p.Report(i, guard.VerdictAsk, fmt.Sprintf("%s, where something may lie that the configuration denies to %s (%s)", would(p, i), p.ToolName, d.text), "name the files")
			}
		}
		allowed := func(a pattern) bool {
			return isPath(e.Target) && (!wide && a.has(p.Roots, e.Target) || wide && a.spans(p.Roots, e.Target))
		}
		if l.Allow != nil && !slices.ContainsFunc(l.allow, allowed) {
			p.Report(i, guard.VerdictDeny, fmt.Sprintf("%s, which is not among the paths that the configuration allows to %s", would(p, i), p.ToolName), allows(l.Allow))
		}
	}
}

func allows(list []string) string {
	if len(list) == 0 {
		return "ask the user: nothing is allowed"
	}
	return "stay with what is allowed: " + strings.Join(list, ", ")
}

func judgeDirs(p *guard.Pass, l *limit, pol Policy) {
	if l.AllowedDirs == nil {
		return
	}
	var dirs []string
	for _, d := range l.AllowedDirs {
		if path.IsAbs(d) {
			dirs = append(dirs, path.Clean(d))
			continue
		}
		for _, r := range p.Roots {
			dirs = append(dirs, path.Join(r, d))
		}
	}
	for i, e := range p.Facts.Effects {
		if touches(e) && !free(p, e) && !(isPath(e.Target) && inside(dirs, e.Target)) {
			p.Report(i, guard.VerdictDeny, fmt.Sprintf("%s, which is outside of the directories that the configuration allows to %s", would(p, i), p.ToolName), allows(l.AllowedDirs))
		}
	}
}

// silent builtins move and print; what they print into is judged as a write.
var silent = []string{"cd", "pwd", "echo", "printf", "true", "false", ":", "test", "[", "exit"}

func judgeCommands(p *guard.Pass, l *limit) {
	for _, c := range p.Facts.Commands {
		for _, d := range l.DenyCommands {
			words := strings.Fields(d)
			via := len(words) == 1 && slices.ContainsFunc(c.Via, func(v string) bool { return path.Base(v) == words[0] })
			if via || (bannedUse{command: words[0], args: words[1:]}).fits(guard.Command{Name: path.Base(c.Name), Args: c.Args}) {
				p.Report(-1, guard.VerdictDeny, d+" is denied by the configuration", "do it another way, or ask the user to do it")
			}
		}
		if l.AllowCommands == nil || slices.Contains(silent, c.Name) && len(c.Via) == 0 {
			continue
		}
		for _, name := range append([]string{c.Name}, c.Via...) {
			args := c.Args
			if name != c.Name {
				args = nil
			}
			if name == "" || !slices.ContainsFunc(l.AllowCommands, func(a string) bool { return begins(a, name, args) }) {
				p.Report(-1, guard.VerdictDeny, fmt.Sprintf("%q is not among the commands that the configuration allows", strings.TrimSpace(name)), allows(l.AllowCommands))
			}
		}
	}
	if l.AllowCommands == nil {
		return
	}
	for i, e := range p.Facts.Effects { // what runs without being a command: hidden names, code in words
		if e.Kind == guard.Unknown || e.Kind == guard.Code && e.Action != "" && e.Action != "project" {
			p.Report(i, guard.VerdictDeny, "what would run is not known, so it is not among the commands that the configuration allows", allows(l.AllowCommands))
		}
	}
}

// begins reports whether a command is the allowed one: its name, then its words
// exactly and at once.
func begins(allowed, name string, args []guard.Word) bool {
	words := strings.Fields(allowed)
	if words[0] != name || len(args) < len(words)-1 {
		return false
	}
	for i, w := range words[1:] {
		if !args[i].Exact || args[i].Text != w {
			return false
		}
	}
	return true
}

// CoversCommand reports whether the allowed command wide has narrow too.
func CoversCommand(wide, narrow string) bool {
	return wide == narrow || strings.HasPrefix(narrow, wide+" ")
}

func judgeDomains(p *guard.Pass, l *limit) {
	if l.AllowDomains == nil {
		return
	}
	for i, e := range p.Facts.Effects {
		switch {
		case e.Kind == guard.Network && !(e.Exact && (loopback(e.Target) || known(l.hosts, e.Target))):
			p.Report(i, guard.VerdictDeny, fmt.Sprintf("%s would reach %s, which is not among the hosts that the configuration allows", actor(p, i), hostName(e)), allows(l.AllowDomains))
		case e.Kind == guard.Remote && !(e.Exact && known(l.hosts, e.Target)):
			p.Report(i, guard.VerdictAsk, fmt.Sprintf("%s would reach another system (%s), which may not be among the hosts that the configuration allows", actor(p, i), hostName(e)), allows(l.AllowDomains))
		}
	}
}

func judgeProtected(p *guard.Pass, i int, e guard.Effect, protected []pattern) {
	for _, d := range protected {
		switch {
		case isPath(e.Target) && d.holds(p.Roots, e.Target):
			p.Report(i, guard.VerdictDeny, fmt.Sprintf("%s, which the configuration protects (%s)", would(p, i), d.text), "ask the user to change it")
		case !isPath(e.Target) || (e.Deep || !e.Exact) && e.Target != "/" && d.mayLieBelow(p.Roots, e.Target):
			p.Report(i, guard.VerdictAsk, fmt.Sprintf("%s, where a file may lie that the configuration protects (%s)", would(p, i), d.text), "name the files")
		}
	}
}

// matcher finds something in a text.
type matcher struct {
	name string
	in   func(text string) bool
}

func matchers(patterns []string) (all []matcher) {
	for _, p := range patterns {
		name, expr, _ := strings.Cut(p, ":")
		re, err := regexp.Compile(expr)
		if err != nil { // checked when it was read; what cannot be looked for asks
			all = append(all, matcher{name, func(string) bool { return true }})
			continue
		}
		all = append(all, matcher{name, re.MatchString})
	}
	return all
}

func lower(keywords []string) (all []matcher) {
	for _, k := range keywords {
		word := strings.ToLower(k)
		all = append(all, matcher{k, func(text string) bool { return strings.Contains(strings.ToLower(text), word) }})
	}
	return all
}

// scan asks where something is found in what the call brings: the texts of its
// arguments as they were sent, and each command as it was resolved.
func scan(p *guard.Pass, all []matcher, how string) {
	if len(all) == 0 {
		return
	}
	texts := sent(p.Input)
	for _, c := range p.Facts.Commands {
		words := append([]string(nil), c.Via...)
		words = append(words, c.Name)
		for _, w := range c.Args {
			words = append(words, w.Text)
		}
		texts = append(texts, strings.Join(words, " "))
	}
	for _, m := range all {
		if slices.ContainsFunc(texts, m.in) {
			p.Report(-1, guard.VerdictAsk, "this call "+how+m.name, "leave that out, or ask the user")
		}
	}
}

// sent are the texts of the arguments, but for what says what the call is for.
// Arguments that cannot be read are taken as they are.
func sent(input json.RawMessage) (texts []string) {
	var fields map[string]any
	if err := json.Unmarshal(input, &fields); err != nil {
		return []string{string(input)}
	}
	for name, v := range fields {
		if s, ok := v.(string); ok && name != "description" {
			texts = append(texts, s)
		}
	}
	return texts
}

package guard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Pattern is a narrow rule made from one call that a person was asked about: an
// always grant covers the later calls that it fits. It holds facts, not the
// policy: what is fixed are the programs with all their words, what they do to
// which targets, the tool, the directory, the workspace and the principal. The
// zero value covers nothing.
type Pattern struct {
	Tool      string   `json:"tool"`
	Dir       string   `json:"dir"`
	Roots     []string `json:"roots"`
	Principal string   `json:"principal,omitempty"`
	// Background says that it was a job, which goes on after its call.
	Background bool `json:"background,omitempty"`
	// Commands are the commands, each once, as words: program and arguments.
	Commands [][]string `json:"commands,omitempty"`
	// Script is the whole text that runs, where it is more than one plain command:
	// only the same text is covered then. What a command does hangs on those before
	// it: on the directory they change to, on whether they succeed.
	Script  string          `json:"script,omitempty"`
	Effects []PatternEffect `json:"effects"`
	// Rules are those that asked. Where another one asks later, it is asked.
	Rules   []string `json:"rules"`
	Sources []Source `json:"sources,omitempty"` // scripts that were read, as they were
}

// PatternEffect is what a covered call may do.
type PatternEffect struct {
	Kind   Kind   `json:"kind"`
	Action string `json:"action,omitempty"`
	Target string `json:"target"`
	Exact  bool   `json:"exact,omitempty"`
	Deep   bool   `json:"deep,omitempty"`
}

// maxPattern bounds the commands and the effects of a pattern: what is more is
// no narrow rule.
const maxPattern = 60

// settled are the effects of which the words of a call, once seen, fix what
// happens: the same words may do them again. All others are asked about each
// time: deletions, rights, hidden code, machines and what stays behind.
var settled = map[Kind][]string{
	Read:    {"", "list"},
	Write:   {"", "append", "create"},
	Exec:    {"", "unlisted", "unread"},
	Code:    {"", "project"}, // "" only where its text was read, see PatternOf
	Install: {"project", "add"},
	Network: {""},
	Remote:  {"", "read", "push"},
}

// starters are programs that run what they are given, in one way or another:
// their words do not fix what happens. The code of a project (`python -m pytest`)
// is fixed by the project, and no reason to refuse.
var starters = []string{
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "toybox", "pwsh", "python", "perl", "ruby", "irb", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "wish", "expect",
	"Rscript", "R", "julia", "osascript", "awk", "gawk", "mawk", "nawk", "sed", "m4", "gdb", "lldb", "vim", "vi", "nvim", "ex", "emacs", "ed", "sqlite3", "psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli",
	"sudo", "doas", "su", "runuser", "pkexec", "env", "xargs", "parallel", "nohup", "setsid", "nice", "ionice", "chrt", "taskset", "timeout", "time", "watch", "stdbuf", "unbuffer", "script", "screen", "tmux", "ssh", "mosh",
	"nsenter", "unshare", "chroot", "bwrap", "firejail", "docker", "podman", "nerdctl", "kubectl", "flock", "strace", "ltrace", "valgrind", "entr", "at", "batch", "crontab", "eval", "exec", "source", ".", "command", "builtin",
	"npx", "bunx", "pnpx", "uvx", "pipx", "go", "find", "fd", "socat", "nc", "ncat", "handrail",
}

// PatternOf makes the narrow rule that would cover this call again. The error
// says why there is none: what the call does is not fixed by its words, or is
// to be asked about every time.
func PatternOf(c *EvalContext, d *Decision) (*Pattern, error) {
	f := c.Facts
	if f == nil || len(f.Effects) == 0 || len(c.Roots) == 0 || d.Verdict != VerdictAsk {
		return nil, fmt.Errorf("there is nothing that a rule could be made of")
	}
	if len(f.Commands) > maxPattern || len(f.Effects) > maxPattern || len(f.Script) > 4096 {
		return nil, fmt.Errorf("it does too much for a narrow rule")
	}
	if len(f.Commands) == 0 && !onlyReads(f.Effects) {
		return nil, fmt.Errorf("its words do not fix what is written")
	}
	for i, cmd := range f.Commands {
		if err := fixedCommand(f, i, cmd); err != nil {
			return nil, err
		}
	}
	p := &Pattern{Tool: c.ToolName, Dir: c.WorkingDir, Roots: c.Roots, Principal: c.Principal, Background: background(c), Sources: f.Sources, Effects: patternEffects(f)}
	for _, e := range f.Effects {
		if err := fixedEffect(f, e); err != nil {
			return nil, err
		}
	}
	for _, r := range d.Findings {
		if r.Verdict == VerdictAllow || r.Overruled != "" {
			continue
		}
		if guarded(r.Rule) {
			return nil, fmt.Errorf("%s asks every time", r.Rule)
		}
		if !slices.Contains(p.Rules, r.Rule) {
			p.Rules = append(p.Rules, r.Rule)
		}
	}
	if len(p.Rules) == 0 {
		return nil, fmt.Errorf("no rule asks about it")
	}
	p.Commands = wordsOf(f)
	if len(f.Commands) > 0 && !plain(f) {
		if f.Script == "" {
			return nil, fmt.Errorf("the text that would run is not known")
		}
		p.Script = f.Script
	}
	return p, nil
}

// guarded reports whether a rule is about secrets, rights or the guard itself:
// these ask every time.
func guarded(rule string) bool {
	family, _, _ := strings.Cut(rule, "/")
	return strings.Contains(rule, "secret") || slices.Contains([]string{"self", "priv", "disk", "proc", "sys", "persist", "code", "guard"}, family)
}

func fixedCommand(f *Facts, i int, cmd Command) error {
	if cmd.Name == "" || len(cmd.Via) > 0 {
		return fmt.Errorf("a program that another one starts is asked about every time")
	}
	for _, w := range cmd.Args {
		if !w.Exact {
			return fmt.Errorf("%s has words that are only known when it runs", cmd.Name)
		}
	}
	name := strings.TrimRight(cmd.Name, "0123456789.")
	if !slices.Contains(starters, cmd.Name) && !slices.Contains(starters, name) {
		return nil
	}
	ours := false
	for _, e := range f.Effects {
		ours = ours || e.Command == i && e.Kind == Code && e.Action == "project"
	}
	if !ours || len(cmd.Args) == 0 {
		return fmt.Errorf("%s runs what it is given: that is asked about every time", cmd.Name)
	}
	return nil
}

func fixedEffect(f *Facts, e Effect) error {
	if !slices.Contains(settled[e.Kind], e.Action) {
		return fmt.Errorf("%s %s is asked about every time", strings.TrimSpace(e.Kind.String()+" "+e.Action), e.Target)
	}
	if e.Kind == Code && e.Action == "" && !slices.ContainsFunc(f.Sources, func(s Source) bool { return s.Path == e.Target }) {
		return fmt.Errorf("the code in %s may be another one next time", e.Target)
	}
	if !e.Exact && e.Kind != Exec && e.Kind != Code && e.Target == "/" {
		return fmt.Errorf("its targets are only known when it runs")
	}
	return nil
}

func onlyReads(effects []Effect) bool {
	return !slices.ContainsFunc(effects, func(e Effect) bool { return e.Kind != Read || !e.Exact })
}

func patternEffects(f *Facts) (effects []PatternEffect) {
	for _, e := range f.Effects {
		if p := (PatternEffect{e.Kind, e.Action, e.Target, e.Exact, e.Deep}); !slices.Contains(effects, p) {
			effects = append(effects, p)
		}
	}
	return effects
}

// wordsOf returns the commands of a call as words, each once.
func wordsOf(f *Facts) (commands [][]string) {
	for _, cmd := range f.Commands {
		words := []string{cmd.Name}
		for _, w := range cmd.Args {
			words = append(words, w.Text)
		}
		if !slices.ContainsFunc(commands, func(have []string) bool { return slices.Equal(have, words) }) {
			commands = append(commands, words)
		}
	}
	return commands
}

// plain reports whether the script is nothing but one command in words that need
// no quotes: no redirection, no here-document, no pipe, no assignment, no loop.
// The command then says all there is to say.
func plain(f *Facts) bool {
	if len(f.Commands) != 1 {
		return false
	}
	line := strings.Join(wordsOf(f)[0], " ")
	return strings.TrimSpace(f.Script) == line && !strings.Contains(line, "  ") &&
		strings.Trim(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./- ") == ""
}

// background reports whether a call starts a job.
func background(c *EvalContext) bool {
	var args struct{ Background bool }
	return json.Unmarshal(c.Input, &args) == nil && args.Background
}

// Covers reports whether the pattern answers for this call, on which d asks:
// every command is one of the pattern's, every effect too, every rule that asks
// asked then, and where more than one plain command was approved the text is the
// same.
func (p *Pattern) Covers(c *EvalContext, d *Decision) bool {
	if p == nil || p.Tool == "" || p.Tool != c.ToolName || p.Dir != c.WorkingDir || p.Principal != c.Principal || p.Background != background(c) || !slices.Equal(p.Roots, c.Roots) {
		return false
	}
	now, err := PatternOf(c, d) // also: nothing that is to be asked about every time
	if err != nil || now.Script != p.Script || !slices.Equal(now.Sources, p.Sources) {
		return false
	}
	for _, words := range now.Commands {
		if !slices.ContainsFunc(p.Commands, func(have []string) bool { return slices.Equal(have, words) }) {
			return false
		}
	}
	for _, e := range now.Effects {
		if !slices.Contains(p.Effects, e) {
			return false
		}
	}
	for _, r := range now.Rules {
		if !slices.Contains(p.Rules, r) {
			return false
		}
	}
	return true
}

// String is the pattern in a clause, for people: "`npm test` in /home/ann/app".
// It is not made visible: whoever shows it does that.
func (p *Pattern) String() string {
	var parts []string
	switch {
	case p.Script != "" && len(p.Script) <= 200 && !strings.Contains(strings.TrimSpace(p.Script), "\n"):
		parts = []string{"exactly `" + strings.TrimSpace(p.Script) + "`"}
	case p.Script != "":
		parts = []string{"exactly this script"}
	case len(p.Commands) == 0:
		for _, e := range p.Effects {
			parts = append(parts, e.Kind.String()+" "+e.Target)
		}
	}
	if p.Script == "" {
		for _, words := range p.Commands {
			parts = append(parts, "`"+strings.Join(words, " ")+"`")
		}
	}
	if p.Background {
		parts = append(parts, "as a job")
	}
	return strings.Join(parts, ", ") + " in " + p.Dir
}

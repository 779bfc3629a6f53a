package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"handrail/guard/agent"
	"handrail/guard/owner"
	"handrail/skills"
)

// LLM is what is set about the Guard Agent.
type LLM struct {
	// Use is auto (the default: where the server with the model answers when
	// handrail starts), on (it is told where it does not, and looked for again) or
	// off.
	Use      string
	Model    string // empty: agent.DefaultModel
	BaseURL  string // empty: agent.DefaultHost
	APIKey   string
	MaxTurns int           // zero: 5
	Deadline time.Duration // zero: 20 s
	// Scope is what the user says they are authorised to do.
	Scope string
	// AllowRemote allows a server that is not on this machine. Only the file can.
	AllowRemote bool
	// Insist keeps a model whose self-test is slow. Only the file can.
	Insist bool
	// Scoring measures a model; see agent.Options.
	Scoring bool
}

// llmSection is `llm:`. No project and no other setting of the environment than
// those of environment can touch it.
func llmSection() field {
	at := func(of func(*LLM) *string) func(*Config) *string {
		return func(c *Config) *string { return of(&c.LLM) }
	}
	rows := []field{
		setting("use", "auto (where the server with the model answers when Handrail starts), on (told where it does not, and looked for again), required (as on, and what it was meant to judge is asked about where it cannot be), or off.", "auto",
			at(func(l *LLM) *string { return &l.Use }), word(schema{"enum": []any{"auto", "on", "required", "off", true, false}}, quoted, func(_ *Config, w string) (string, error) { return use(w) }), ranked("off", "auto", "on", "required")),
		setting("model", "The model's name on the server.", agent.DefaultModel, at(func(l *LLM) *string { return &l.Model }), plain(nil), first),
		setting("base_url", "The server's address; one that is not on this machine needs allow_remote.", agent.DefaultHost,
			at(func(l *LLM) *string { return &l.BaseURL }), plain(func(w string) error {
				_, err := agent.ParseHost(w)
				return err
			}), first),
		setting("allow_remote", "Allows a server that is not on this machine: it is shown what calls would do.", "false",
			func(c *Config) *bool { return &c.LLM.AllowRemote }, truth(), both),
		setting("api_key", "Sent to the server as a bearer token.", "KEY", at(func(l *LLM) *string { return &l.APIKey }), secret(), first),
		setting("max_turns", "Turns of one conversation with the model.", "5", func(c *Config) *int { return &c.LLM.MaxTurns }, number(1, 20), least),
		setting("deadline", "For all turns of one call.", "20s", func(c *Config) *time.Duration { return &c.LLM.Deadline }, span(time.Second, 50*time.Second), least),
		setting("scope", "What you are authorised to do (security research), for the model to know.", "Penetration test of lab.example.",
			at(func(l *LLM) *string { return &l.Scope }), plain(func(w string) error {
				if len(w) > 1000 {
					return errors.New("longer than 1000 bytes: the model must be shown all of it")
				}
				return nil
			}), first),
		setting("insist", "Keeps a model whose self-test is slow.", "false", func(c *Config) *bool { return &c.LLM.Insist }, truth(), both),
	}
	for i := range rows {
		rows[i] = rows[i].in(private)
	}
	return section("llm", "The Guard Agent: a local Ollama model for what the rules cannot tell.", rows...)
}

// secret is text that is not shown again.
func secret() form[string] {
	f := plain(nil)
	f.show = func(v string) string {
		if v == "" {
			return ""
		}
		return "(set)"
	}
	return f
}

// use reads how the model is used.
func use(w string) (string, error) {
	switch strings.ToLower(w) {
	case "auto":
		return "auto", nil
	case "on", "true", "1", "yes":
		return "on", nil
	case "required":
		return "required", nil
	case "off", "false", "0", "no":
		return "off", nil
	}
	return "", fmt.Errorf("want auto, on, required or off, not %q", w)
}

// Wanted reports whether the user asked for the Guard Agent.
func (l *LLM) Wanted() bool { return l.Use == "on" || l.Use == "required" }

func (l *LLM) turns(w string) error {
	n, err := strconv.Atoi(w)
	if err != nil || n < 1 || n > 20 {
		return fmt.Errorf("want 1 to 20, not %q", w)
	}
	l.MaxTurns = n
	return nil
}

// environment takes the settings of the environment, which whoever starts the
// program may have set: it can turn the validator off, and name a model on
// this machine. Whatever loosens more needs the user's own file.
func (l *LLM) environment() error {
	if w := os.Getenv("HANDRAIL_GUARD_LLM"); w != "" {
		word, err := use(w)
		if err != nil {
			return fmt.Errorf("HANDRAIL_GUARD_LLM: %w", err)
		}
		if l.Use != "off" { // the file's word stands
			l.Use = word
		}
	}
	if w := os.Getenv("HANDRAIL_GUARD_MODEL"); w != "" {
		l.Model = w
	}
	if w := os.Getenv("HANDRAIL_GUARD_MAX_TURNS"); w != "" {
		if err := l.turns(w); err != nil {
			return fmt.Errorf("HANDRAIL_GUARD_MAX_TURNS: %w", err)
		}
	}
	if w := os.Getenv("HANDRAIL_GUARD_LLM_API_KEY"); w != "" {
		l.APIKey = w
	}
	return l.host()
}

// host takes the server's address from the environment: HANDRAIL_GUARD_LLM_BASE_URL,
// else what the file says, else OLLAMA_HOST. A remote one counts only if the
// file names the same.
func (l *LLM) host() error {
	file := l.BaseURL
	for _, name := range []string{"HANDRAIL_GUARD_LLM_BASE_URL", "OLLAMA_HOST"} {
		w := os.Getenv(name)
		if w == "" || name == "OLLAMA_HOST" && l.BaseURL != "" {
			continue
		}
		u, err := agent.ParseHost(w)
		if err == nil && !agent.Loopback(u) && w != file {
			err = fmt.Errorf("%s is not on this machine; only the user's own configuration can allow that (llm: base_url, allow_remote)", u.Host)
		}
		if err != nil && name == "OLLAMA_HOST" { // meant for another program
			l.Use = "off"
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.BaseURL = w
	}
	return nil
}

// Skills returns the guard skills for calls in workspace roots: the built-in
// ones, the user's, and those of the roots that the user trusts as they are;
// later ones replace
// earlier ones of the same name. The error tells which files have faults; the
// skills are good all the same.
func (c *Config) Skills(roots []string) ([]skills.Skill, error) {
	all, err := skills.Load(owner.Check, skills.Dirs(c.userHome())...)
	if len(all) == 0 || !c.own {
		return all, err
	}
	theirs, faults := c.projectSkills(roots)
	for _, s := range theirs {
		all = slices.DeleteFunc(all, func(o skills.Skill) bool { return o.Name == s.Name })
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b skills.Skill) int { return strings.Compare(a.Name, b.Name) })
	return all, errors.Join(err, faults)
}

// projectSkills are the skills of the workspace roots that the user trusts, the
// weakest first. Each file is read once, and what was read is what was trusted.
func (c *Config) projectSkills(roots []string) (all []skills.Skill, err error) {
	trust := OpenTrust(c.State)
	for _, root := range roots {
		for _, dir := range trustDirs() {
			if filepath.Base(dir) != "guard-skills" {
				continue
			}
			names, fault := namesBelow(root, dir)
			err = errors.Join(err, fault)
			for _, name := range names {
				file := filepath.Join(dir, name)
				data, fault := readBelow(root, file, maxProjectFile)
				if fault != nil || !trust.Has(filepath.Join(root, file), sumOf(data)) || filepath.Ext(name) != ".md" {
					continue // not trusted: as if it were not there
				}
				s, fault := skills.Parse(filepath.Join(root, file), data)
				if fault != nil {
					err = errors.Join(err, fault)
					continue
				}
				s.File = filepath.Join(root, file)
				all = append(all, s)
			}
		}
	}
	return all, err
}

// skillsIn are the skills as they are now: trust is taken back at once.
func (c *Config) skillsIn(roots []string) []skills.Skill {
	all, _ := c.Skills(roots) // without those that have faults
	return all
}

// Agent makes the Guard Agent from what is set, or nil where it is off. notice
// is told what a person should know once; it may be nil.
func (c *Config) Agent(notice func(string)) (*agent.Agent, error) {
	if c.LLM.Use == "off" {
		return nil, nil
	}
	all, err := c.Skills(c.Roots)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	if err != nil && notice != nil {
		notice("guard skills left out: " + strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	a, err := agent.New(agent.Options{
		Host: c.LLM.BaseURL, AllowRemote: c.LLM.AllowRemote, APIKey: c.LLM.APIKey, Model: c.LLM.Model,
		MaxTurns: c.LLM.MaxTurns, Deadline: c.LLM.Deadline, Scope: c.LLM.Scope, Once: !c.LLM.Wanted(), Insist: c.LLM.Insist, Scoring: c.LLM.Scoring,
		SkillsIn: c.skillsIn, Home: c.Home, Notice: notice, Absent: c.Remark, Redact: c.known().Redact,
	})
	if err != nil && c.File != "" {
		err = fmt.Errorf("%s: %w", filepath.Base(c.File), err)
	}
	return a, err
}

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

	"gopkg.in/yaml.v3"

	"handrail/guard/agent"
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

var llmSetters = map[string]func(*LLM, string) error{
	"use": func(l *LLM, w string) error { return l.use(w) },
	"model": func(l *LLM, w string) error {
		l.Model = w
		return nil
	},
	"base_url": func(l *LLM, w string) error {
		l.BaseURL = w
		_, err := agent.ParseHost(w)
		return err
	},
	"api_key": func(l *LLM, w string) error {
		l.APIKey = w
		return nil
	},
	"max_turns": func(l *LLM, w string) error { return l.turns(w) },
	"deadline": func(l *LLM, w string) error {
		d, err := time.ParseDuration(w)
		if err != nil || d < time.Second || d > 50*time.Second {
			return fmt.Errorf("want 1s to 50s, not %q", w)
		}
		l.Deadline = d
		return nil
	},
	"scope": func(l *LLM, w string) error {
		if len(w) > 1000 {
			return errors.New("longer than 1000 bytes: the model must be shown all of it")
		}
		l.Scope = w
		return nil
	},
	"allow_remote": func(l *LLM, w string) error { return setBool(&l.AllowRemote, w) },
	"insist":       func(l *LLM, w string) error { return setBool(&l.Insist, w) },
}

// setLLM reads `llm:` of the file.
func (c *Config) setLLM(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("want settings, as in `llm: {model: NAME}`")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		set, ok := llmSetters[name]
		if !ok {
			var names []string
			for known := range llmSetters {
				names = append(names, known)
			}
			slices.Sort(names)
			return fmt.Errorf("line %d: unknown setting %q; there are %s", n.Content[i].Line, name, strings.Join(names, ", "))
		}
		if seen[name] {
			return fmt.Errorf("line %d: %s is set twice", n.Content[i].Line, name)
		}
		seen[name] = true
		w, err := text(n.Content[i+1])
		if err == nil {
			err = set(&c.LLM, w)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", n.Content[i].Line, name, err)
		}
	}
	return nil
}

func setBool(b *bool, w string) (err error) {
	if *b, err = strconv.ParseBool(w); err != nil {
		err = fmt.Errorf("want true or false, not %q", w)
	}
	return err
}

func (l *LLM) use(w string) error {
	switch strings.ToLower(w) {
	case "auto":
		l.Use = "auto"
	case "on", "true", "1", "yes":
		l.Use = "on"
	case "off", "false", "0", "no":
		l.Use = "off"
	default:
		return fmt.Errorf("want auto, on or off, not %q", w)
	}
	return nil
}

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
		off := l.Use == "off"
		if err := l.use(w); err != nil {
			return fmt.Errorf("HANDRAIL_GUARD_LLM: %w", err)
		}
		if off { // the file's word stands
			l.Use = "off"
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

// Skills returns the guard skills: the built-in ones and the user's. Those of a
// project are not read: nothing says yet that the user trusts them. The error
// tells which files have faults; the skills are good all the same.
func (c *Config) Skills() ([]skills.Skill, error) { return skills.Load(skills.Dirs(c.Home)...) }

// Agent makes the Guard Agent from what is set, or nil where it is off. notice
// is told what a person should know once; it may be nil.
func (c *Config) Agent(notice func(string)) (*agent.Agent, error) {
	if c.LLM.Use == "off" {
		return nil, nil
	}
	all, err := c.Skills()
	if err != nil && len(all) == 0 {
		return nil, err
	}
	if err != nil && notice != nil {
		notice("guard skills left out: " + strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	a, err := agent.New(agent.Options{
		Host: c.LLM.BaseURL, AllowRemote: c.LLM.AllowRemote, APIKey: c.LLM.APIKey, Model: c.LLM.Model,
		MaxTurns: c.LLM.MaxTurns, Deadline: c.LLM.Deadline, Scope: c.LLM.Scope, Once: c.LLM.Use != "on", Insist: c.LLM.Insist, Scoring: c.LLM.Scoring,
		Skills: all, Home: c.Home, Notice: notice,
	})
	if err != nil && c.File != "" {
		err = fmt.Errorf("%s: %w", filepath.Base(c.File), err)
	}
	return a, err
}

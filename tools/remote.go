package tools

import (
	"bufio"
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"handrail/guard"
	"handrail/guard/host"
	"handrail/tools/sandbox"
)

// services are the hosts of remote systems that are named by what they are.
var services = map[string][]string{
	"github": {"github.com", "*.github.com", "*.githubusercontent.com"},
	"gitlab": {"gitlab.com", "*.gitlab.com"},
}

// remote adds what reaching another system needs. Git's own remotes are reached
// by https through the proxy; over ssh only where a person approved it, since
// that is a connection that nothing looks into.
func (pl *plan) remote(p *Profile, a authority, effect int) {
	e := a.facts.Effects[effect]
	if hosts, ok := services[e.Target]; ok {
		pl.hosts = append(pl.hosts, hosts...)
		return
	}
	if strings.HasSuffix(e.Target, " registry") && (a.granted || e.Action == "read" && exactly(a.facts, e)) {
		pl.hosts = append(pl.hosts, p.Packages...)
		return
	}
	if e.Command < 0 || e.Command >= len(a.facts.Commands) || a.facts.Commands[e.Command].Name != "git" {
		return
	}
	known := allRead(a.facts, true)
	allowed, err := host.Parse(p.Hosts...)
	if err != nil {
		return
	}
	for _, r := range remotes(a.facts.Dir, a.roots) {
		name, err := host.Name(r.host)
		switch {
		case err != nil:
		case r.ssh:
			if a.granted && known {
				pl.overSSH(p)
			}
		case a.granted || allowed.Knows(name):
			pl.hosts = append(pl.hosts, name)
			if known && e.Action != "read" { // what git's credential helpers read
				for _, store := range []string{".git-credentials", ".netrc", ".config/git/credentials"} {
					pl.policy.Read = append(pl.policy.Read, filepath.Join(p.Home, store))
				}
			}
		}
	}
}

// exactly reports whether all arguments of the command that e is of are known: a
// package manager may then look something up, which sends their words.
func exactly(f *guard.Facts, e guard.Effect) bool {
	return e.Command >= 0 && e.Command < len(f.Commands) && !slices.ContainsFunc(f.Commands[e.Command].Args, func(w guard.Word) bool { return !w.Exact })
}

// gitConfigures are git's commands that write its configuration, gitRewrites those
// that write files of a work tree, among them some that git obeys.
var (
	gitConfigures = []string{"branch", "checkout", "clone", "fetch", "init", "lfs", "pull", "push", "remote", "sparse-checkout", "submodule", "subtree", "switch", "worktree"}
	gitRewrites   = []string{"am", "bisect", "cherry-pick", "merge", "mv", "read-tree", "rebase", "reset", "restore", "revert", "rm", "stash"}
)

// git lets git's own commands keep their configuration: of what they change, what
// makes git run nothing, and by git config, which the guard has judged key by
// key, all of it where nothing else runs.
func (pl *plan) git(a authority, known bool) {
	for _, c := range a.facts.Commands {
		if c.Name != "git" {
			continue
		}
		switch name, dir := gitCommand(c.Args, a.facts.Dir); {
		case name == "config" && known && below(dir, a.roots):
			pl.policy.Allowed = append(pl.policy.Allowed, gitConfigs(dir, a.roots)...)
		case name == "config", slices.Contains(gitConfigures, name), slices.Contains(gitRewrites, name) && gitObeys(a.roots):
			pl.policy.GitConfig = true
		}
	}
}

// gitObeys reports whether there are files of a work tree that git obeys.
func gitObeys(roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		_, attributes := os.Lstat(filepath.Join(root, ".gitattributes"))
		_, modules := os.Lstat(filepath.Join(root, ".gitmodules"))
		return attributes == nil || modules == nil
	})
}

// gitConfigs are the configurations of the repository that dir lies in, or would
// be one of: its own, and that which it shares with its work trees.
func gitConfigs(dir string, roots []string) []string {
	git := filepath.Join(dir, ".git")
	for at := dir; below(at, roots); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			git = filepath.Join(at, ".git")
			break
		}
	}
	var all []string
	for _, d := range sandbox.GitDirs(git) {
		all = append(all, filepath.Join(d, "config"), filepath.Join(d, "config.worktree"))
	}
	return all
}

// gitCommand is the subcommand of git, after its own options, and the directory
// that they lead it to.
func gitCommand(args []guard.Word, dir string) (name, in string) {
	for i := 0; i < len(args); i++ {
		switch word := args[i].Text; {
		case word == "-C" && i+1 < len(args):
			i++
			if to := args[i].Text; filepath.IsAbs(to) {
				dir = filepath.Clean(to)
			} else {
				dir = filepath.Join(dir, to)
			}
		case word == "-c" || word == "--git-dir" || word == "--work-tree" || word == "--namespace":
			i++
		case !strings.HasPrefix(word, "-"):
			return word, dir
		}
	}
	return "", dir
}

// overSSH lets git connect by ssh: with the user's keys, agent and network. The
// hooks of the repository are off, since they would have all that too.
func (pl *plan) overSSH(p *Profile) {
	pl.policy.Open, pl.policy.Network = true, sandbox.Full
	pl.policy.Read = append(pl.policy.Read, filepath.Join(p.Home, ".ssh"))
	if agent := os.Getenv("SSH_AUTH_SOCK"); filepath.IsAbs(agent) {
		pl.env["SSH_AUTH_SOCK"] = agent
	}
	pl.env["GIT_CONFIG_COUNT"] = "4" // after the three of the environment
	pl.env["GIT_CONFIG_KEY_3"], pl.env["GIT_CONFIG_VALUE_3"] = "core.hooksPath", os.DevNull
	if note := "git ran over ssh with the user's keys, so the repository's hooks were off"; !slices.Contains(pl.notes, note) {
		pl.notes = append(pl.notes, note)
	}
}

// gitRemote is where a repository's remote lies.
type gitRemote struct {
	host string
	ssh  bool
}

// remotes reads the remotes of the repository around dir (absolute, resolved,
// in roots) from its configuration.
func remotes(dir string, roots []string) (all []gitRemote) {
	for ; below(dir, roots); dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
		if err != nil {
			continue
		}
		for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
			key, value, ok := strings.Cut(sc.Text(), "=")
			if key = strings.ToLower(strings.TrimSpace(key)); !ok || key != "url" && key != "pushurl" {
				continue
			}
			if r := remoteOf(strings.Trim(strings.TrimSpace(value), `"`)); r.host != "" {
				all = append(all, r)
			}
		}
		return all
	}
	return nil
}

// remoteOf reads a remote's URL, or git's short form of ssh ("git@host:path").
func remoteOf(text string) gitRemote {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		return gitRemote{u.Hostname(), u.Scheme == "ssh" || u.Scheme == "git+ssh"}
	}
	at, _, ok := strings.Cut(text, ":")
	if !ok || strings.ContainsAny(at, "/\\") {
		return gitRemote{}
	}
	return gitRemote{at[strings.LastIndexByte(at, '@')+1:], true}
}

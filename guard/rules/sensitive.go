package rules

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// sensitive is the family of files that hold secrets, or that decide what other
// programs do.
func sensitive(pol Policy) []guard.Rule {
	owned := ownPaths(pol.Own)
	return []guard.Rule{
		fixed(each("self/protected",
			"Denies changing handrail's own configuration, guards, state and audit log, and reading its keys. No call may loosen the guard.",
			func(e guard.Effect) bool { return changes(e) || e.Kind == guard.Read && e.Action != "list" },
			func(p *guard.Pass, i int, e guard.Effect) {
				if pol.Home != "" && e.Target != pol.Home && within(e.Target, pol.Home) {
					return // fs/system-tree or fs/outside says it
				}
				if own := ownFile(owned, e); own != "" {
					reason := would(p, i) + "; " + own + " belongs to handrail itself"
					if len(e.Target) < len(own) { // another rule says what it would do
						reason = own + ", which belongs to handrail itself, would go with " + e.Target
					}
					p.Report(i, guard.VerdictDeny, reason, "ask the user to change it outside this session")
				}
			})),
		each("secret/write",
			"Asks before a file that holds or guards secrets is changed or removed: .env, credentials, keys, .ssh, git's configuration and hooks. "+
				"Source: the sensitive files of BitCode's tool guards.",
			changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				switch {
				case !isPath(e.Target) || e.Target == "/":
				case gitFile(e.Target):
					p.Report(i, guard.VerdictAsk, would(p, i)+", which git obeys and may run", "describe the change and let the user make it")
				case secretName(e.Target):
					p.Report(i, guard.VerdictAsk, would(p, i)+", which may hold or guard secrets", "describe the change, or write an example file such as `.env.example`")
				case mayBeSensitive(p, i, e):
					p.Report(i, guard.VerdictAsk, would(p, i)+" whose name is not known yet and may be that of a file which holds secrets or is obeyed by other programs", "write the name out")
				case takesAll(e) && inWhole(e.Target, ".git", ".git/modules"):
					p.Report(i, guard.VerdictAsk, would(p, i)+": the history and configuration of the repository", "leave .git alone")
				}
			}),
		each("secret/client-config",
			"Asks before a file is changed that editors, agents, shells or development tools obey, so that something else would run: .claude, .cursor, .vscode tasks, .mcp.json, start-up files, hooks managers. "+
				"Source: clients' documentation; CVE-2025-59536, CVE-2025-59944.",
			changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				if !isPath(e.Target) || e.Target == "/" {
					return
				}
				lower := strings.ToLower(e.Target)
				if nameIs(guard.ClientNames, lower) || inTree(guard.ClientTrees, lower) || inTree(guard.SystemTrees, lower) || takesAll(e) && inWhole(lower, wholeTrees...) {
					p.Report(i, guard.VerdictAsk, would(p, i)+", which other programs obey", "describe the change and let the user make it")
				}
			}),
		each("persist/instructions",
			"Asks before a file is written from which agents take their instructions in every later session (AGENTS.md, CLAUDE.md, .cursorrules): what is put there speaks with the user's voice from then on. "+
				"package.json and workflow files stay free: changing them is everyday work, shows in the diff, and what they start is judged or contained when it runs here.",
			only(guard.Write, "", "append"),
			func(p *guard.Pass, i int, e guard.Effect) {
				lower := strings.ToLower(e.Target)
				if isPath(e.Target) && (nameIs(instructionNames, lower) || inTree([]string{".github/copilot-instructions.md", ".github/instructions"}, lower)) {
					p.Report(i, guard.VerdictAsk, would(p, i)+", from which agents take their instructions in later sessions", "show the user the text and let them put it there")
				}
			}),
		each("secret/read",
			"Asks before private keys, credential stores or the memory of other processes are read. Reading .env in the workspace is free, sending it on is not (net/secret-sink).",
			only(guard.Read, ""),
			func(p *guard.Pass, i int, e guard.Effect) {
				if !isPath(e.Target) {
					return
				}
				if what := secretFile(e.Target, pol); what != "" {
					p.Report(i, guard.VerdictAsk, would(p, i)+", "+what, "list it instead, for example `ls`, or ask the user for what you need from it")
				}
			}),
	}
}

// instructionNames are files that agents read as instructions.
// Source: clients' documentation; agents.md.
var instructionNames = []string{"agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".cursorrules", ".windsurfrules", ".clinerules", ".goosehints"}

// mayBeSensitive reports whether the name of an inexact target begins like a
// sensitive one: .e$X may be .env, .g$X/hooks/y may be a hook.
func mayBeSensitive(p *guard.Pass, i int, e guard.Effect) bool {
	if e.Exact {
		return false
	}
	begins := func(name string) bool {
		name = strings.ToLower(name)
		if !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "id_") {
			return false
		}
		return slices.ContainsFunc([][]string{secretNames, guard.ClientNames, secretTrees, guard.ClientTrees, guard.GitTrees}, func(table []string) bool {
			return slices.ContainsFunc(table, func(s string) bool { return strings.HasPrefix(s, name) })
		})
	}
	typed := strings.Trim(e.Written, `"'`)
	if at := strings.IndexAny(typed, "$*?[{`\\\"'"); at >= 0 {
		typed = typed[:at]
	}
	if begins(typed[strings.LastIndexByte(typed, '/')+1:]) {
		return true
	}
	return slices.ContainsFunc(prefixes(p, i, e), func(known string) bool { return begins(known[strings.LastIndexByte(known, '/')+1:]) })
}

// takesAll reports whether e takes everything below its target.
func takesAll(e guard.Effect) bool {
	return e.Kind == guard.Delete || e.Deep || e.Action == "metadata"
}

// inWhole reports whether the path is exactly one of the directories named.
func inWhole(file string, dirs ...string) bool {
	lower := strings.ToLower(file)
	return slices.ContainsFunc(dirs, func(d string) bool { return strings.HasSuffix(lower, "/"+d) })
}

// ownPath is one of handrail's own files, as it is written and in lower case.
type ownPath struct{ path, lower string }

func ownPaths(own []string) (list []ownPath) {
	for _, o := range own {
		list = append(list, ownPath{o, strings.ToLower(o)})
	}
	return list
}

// ownFile returns the file of handrail that e must not touch, or "". For
// changes that is all of Own, and what holds it; for reading only keys.
func ownFile(own []ownPath, e guard.Effect) string {
	target := strings.ToLower(e.Target)
	for _, o := range own {
		below := within(o.lower, target)
		switch {
		case e.Kind == guard.Read:
			if below && (keyFile(target) || (e.Deep || !e.Exact) && e.Target != "/") {
				return o.path
			}
		case below, within(target, o.lower) && e.Exact && (e.Kind == guard.Delete && e.Action != "discard" || e.Deep && e.Action == "metadata"):
			return o.path
		}
	}
	return ""
}

// keyFile reports whether one of handrail's own files holds a key, or what others
// called and approved.
func keyFile(lower string) bool {
	base := path.Base(lower)
	return slices.ContainsFunc([]string{"key", "secret", "token", ".pem", "password", "store.db"}, func(s string) bool { return strings.Contains(base, s) })
}

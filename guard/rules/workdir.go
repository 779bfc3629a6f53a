package rules

import (
	"path"
	"slices"
	"strings"

	"handrail/guard"
)

// workdir is the family of where a call may work.
func workdir(pol Policy) []guard.Rule {
	return []guard.Rule{
		each("fs/outside",
			"Asks before something outside the workspace roots is created, changed or removed. Targets are judged where their symbolic links lead. "+
				"The standard streams and the session's scratch directory are free. Source: the working directory rule of BitCode's tool guards.",
			changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				switch {
				case !isPath(e.Target):
					p.Report(i, guard.VerdictAsk, actor(p, i)+" would "+verb(e)+" something that cannot be told before it runs", "name the file")
				case inside(p.Roots, e.Target), within(p.Scratch, e.Target) && (p.Scratch != e.Target || !e.Exact), e.Exact && isStream(e.Target):
				case e.Kind == guard.Delete:
					p.Report(i, guard.VerdictAsk, outside(p, i, e)+asRoot(pol), "delete only inside the workspace")
				default:
					p.Report(i, guard.VerdictAsk, outside(p, i, e)+asRoot(pol), elsewhere(p, e))
				}
			}),
		each("fs/workspace",
			"Asks before a workspace root, or the directory that it lies in, is deleted, moved or changed as a whole, with its version control.",
			changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				whole := e.Kind == guard.Delete && e.Action != "discard" || e.Action == "metadata" || e.Action == "format"
				for _, r := range p.Roots {
					if whole && (e.Deep || e.Exact && e.Target == r) && within(e.Target, r) && isPath(e.Target) && (e.Exact || e.Target != "/") {
						p.Report(i, guard.VerdictAsk, would(p, i)+", the whole workspace", "look at what is in it (`ls`) and name what is meant")
						return
					}
				}
			}),
		each("fs/tilde",
			"Asks before a file below a directory called ~ is created, changed or removed: a tilde in quotes is a name like any other, and hardly ever meant. "+
				"Deleting such a directory later is how a home is lost.",
			changes,
			func(p *guard.Pass, i int, e guard.Effect) {
				if slices.Contains(strings.Split(e.Target, "/"), "~") {
					p.Report(i, guard.VerdictAsk, would(p, i)+", in a directory that is called ~ and is not your home", "name the directory that is meant, without quotes around the tilde")
				}
			}),
		each("fs/outside-read",
			"Asks before content outside the workspace is read, except system and toolchain trees and temporary files. Names and metadata may be listed. "+
				"Source: the working directory rule of BitCode's tool guards.",
			only(guard.Read, ""),
			func(p *guard.Pass, i int, e guard.Effect) {
				if reason := readOutside(p, i, e, pol); reason != "" {
					p.Report(i, guard.VerdictAsk, reason, "copy what you need into the workspace, or ask the user for it")
				}
			}),
	}
}

// elsewhere says where to write instead of where e does.
func elsewhere(p *guard.Pass, e guard.Effect) string {
	if p.Scratch != "" && inside([]string{"/tmp", "/var/tmp", "/private/tmp", "/dev/shm"}, e.Target) {
		return "write temporary files to $TMPDIR (" + p.Scratch + "), which is this session's own and needs no question: every call and every tool of the session sees it until the session ends"
	}
	return "write inside the workspace instead"
}

func outside(p *guard.Pass, i int, e guard.Effect) string {
	reason := would(p, i)
	if len(p.Roots) > 0 && (e.Exact || e.Target != "/") {
		reason += ", which is outside " + strings.Join(p.Roots, ", ")
	}
	return because(reason, e)
}

// readable are trees outside the workspace whose content may be read: what a
// system and its packages consist of, and temporary files.
var readable = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc", "/sys", "/run", "/var", "/boot", "/nix", "/snap",
	"/tmp", "/private/tmp", "/private/var", "/private/etc", "/System", "/Library", "/Applications", "/dev/shm"}

// toolchains are trees in a home directory whose content may be read: what
// compilers and package managers keep there.
var toolchains = []string{"go", "sdk", ".cargo", ".rustup", ".npm", ".nvm", ".volta", ".fnm", ".asdf", ".pyenv", ".rbenv", ".rvm", ".sdkman", ".goenv", ".nodenv", ".deno", ".bun",
	".cache", ".local/bin", ".local/lib", ".local/share", ".gradle/caches", ".gradle/wrapper", ".m2/repository", ".ivy2", ".sbt", ".nuget/packages", ".dotnet", ".pub-cache", ".gem/ruby",
	".opam", ".ghcup", ".cabal", ".stack", ".julia", ".conda", "miniconda3", "anaconda3", ".pnpm-store", ".yarn", ".node-gyp", ".composer/vendor", ".terraform.d/plugins",
	"Library/Caches", "Library/Python", "Library/pnpm", "Library/Developer", "AppData/Local/Temp"}

// readOutside says why a content read must be asked about, or is empty.
func readOutside(p *guard.Pass, i int, e guard.Effect, pol Policy) string {
	if !isPath(e.Target) || !e.Exact && e.Target == "/" {
		return actor(p, i) + " would read " + place(e)
	}
	if inside(p.Roots, e.Target) || within(p.Scratch, e.Target) || isStream(e.Target) {
		return ""
	}
	if (e.Deep || !e.Exact) && (holdsHomes(e.Target) || pol.Home != "" && pol.Home != e.Target && within(e.Target, pol.Home)) {
		return outside(p, i, e) + " and holds home directories"
	}
	if pol.Home != "" && pol.Home != "/" && within(pol.Home, e.Target) {
		rel := strings.TrimPrefix(e.Target, pol.Home+"/")
		if slices.ContainsFunc(toolchains, func(t string) bool { return within(t, rel) }) {
			return ""
		}
		return outside(p, i, e) + ", in your home directory"
	}
	if inside(readable, e.Target) {
		return ""
	}
	return outside(p, i, e)
}

// holdsHomes reports whether home directories, or secrets that only some may
// read, usually lie below dir.
func holdsHomes(dir string) bool {
	return slices.Contains([]string{"/", "/home", "/root", "/Users", "/etc", "/private/etc", "/proc", "/run", "/var", "/private", "/private/var"}, path.Clean(dir))
}

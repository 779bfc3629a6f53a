package guard

// The tables of files that other programs obey, so that writing one makes
// something run. Rules ask before a call changes them, and a sandbox holds them
// against what contained commands do. All are in lower case and compared with
// the lower-cased path: file systems of macOS and Windows fold case
// (CVE-2025-59944). A name is the last part of a path, a tree any run of its
// parts, and covers what lies below.

// GitTrees are what git itself obeys; writing them can make git run programs.
// Source: git-config(1), githooks(5), gitattributes(5), gitmodules(5).
var GitTrees = []string{".git/hooks", ".git/config", ".git/config.worktree", ".git/info", ".git/objects/info/alternates"}

// ClientNames are files that editors, agents, shells and tools obey. Source:
// clients' documentation; the protected paths of codex and sandbox-runtime.
var ClientNames = []string{
	".mcp.json", "mcp.json", "opencode.json", "opencode.jsonc", "claude_desktop_config.json", ".claude.json", ".aider.conf.yml", ".envrc", ".tool-versions", ".mise.toml", "mise.toml",
	".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".gitmodules", ".gitattributes", ".gitconfig", ".npmrc", ".yarnrc", ".yarnrc.yml",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout",
	".inputrc", ".xinitrc", ".xprofile", ".xsessionrc", ".xsession", ".pam_environment", ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".dir-locals.el", ".gdbinit", ".lldbinit", ".psqlrc", ".sqliterc",
	".irbrc", ".pryrc", ".rprofile", ".pythonrc", ".pythonrc.py", "sitecustomize.py", "usercustomize.py", ".screenrc", ".tmux.conf", ".curlrc", ".wgetrc", ".lesskey", ".lessfilter",
	"crontab", ".crontab",
}

// ClientTrees are directories of the same kind, in a workspace or below home.
var ClientTrees = []string{
	".claude", ".cursor", ".codex", ".gemini", ".agents", ".bitcode", ".handrail", ".continue", ".windsurf", ".zed", ".roo", ".clinerules", ".kiro", ".opencode", ".config/opencode", ".config/goose", ".amp",
	".vscode/settings.json", ".vscode/tasks.json", ".vscode/launch.json", ".vscode/mcp.json", ".vscode/extensions.json", ".idea", ".devcontainer", ".husky", ".githooks",
	".config/fish", ".config/nvim", ".vim", ".emacs.d", ".config/emacs", ".config/git", ".config/systemd", ".config/autostart", ".config/environment.d", ".local/share/applications", ".local/bin",
}

// SystemTrees are directories that a system obeys where they stand; below a
// workspace they are mostly what a package is made of.
var SystemTrees = []string{
	"library/launchagents", "library/launchdaemons", "etc/cron.d", "etc/cron.daily", "etc/cron.hourly", "etc/profile.d", "etc/init.d", "var/spool/cron",
}

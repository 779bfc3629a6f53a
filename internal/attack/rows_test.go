//go:build linux

package attack

import (
	"fmt"
	"os"
	"strings"
	"time"

	"handrail/tools/sandbox"
)

// attack is one attack with its oracle: a function that looks from outside
// whether it succeeded. Exactly one of took and look is set.
type attack struct {
	name string
	// script is what bash runs: $A is the attacking program with its mark, $OUT a
	// directory of the user's outside the workspace.
	script string
	// took looks when the command and all that it may leave were ended. out is
	// what the command said.
	took func(m *machine, out, mark string) bool
	// during is took while the command still runs, when it said "held".
	during func(m *machine, out, mark string) bool
	// look looks at the processes with the mark, when the command said "held".
	look func(m *machine, pids []int) bool
	// only is who has this attack: "root" or "user"; empty is both.
	only     string
	server   bool // it is on the server, so that the control runs as the server's user
	terminal bool // standard input is a terminal of the user's
	limits   sandbox.Limits
	// back are the tiers where it can be done during the run, and is taken back
	// before the call returns.
	back []sandbox.Tier
	// lets are the tiers that do not stop it, each with the reason.
	lets map[sandbox.Tier]string
}

// every names all tiers with one reason.
func every(reason string) map[sandbox.Tier]string {
	all := map[sandbox.Tier]string{}
	for _, t := range tiers {
		all[t] = reason
	}
	return all
}

// landlock lets something through.
func landlock(reason string) map[sandbox.Tier]string {
	return map[sandbox.Tier]string{sandbox.Landlock: reason}
}

// Oracles of files.

func made(path func(m *machine, mark string) string) func(*machine, string, string) bool {
	return func(m *machine, _, mark string) bool {
		p := path(m, mark)
		there := exists(p)
		_ = os.RemoveAll(p) // as the next one finds it
		return there
	}
}

func inOut(name string) func(*machine, string, string) bool {
	return made(func(m *machine, _ string) string { return m.out + "/" + name })
}

func at(pattern string) func(*machine, string, string) bool {
	return made(func(_ *machine, mark string) string { return strings.ReplaceAll(pattern, "MARK", mark) })
}

func changed(name string) func(*machine, string, string) bool {
	return func(m *machine, _, _ string) bool { return !has(m.home+"/"+name, "kept") }
}

func told(_ *machine, out, _ string) bool { return strings.Contains(out, secret) }

// arrived waits a little for what is on its way.
func arrived(m *machine, _, mark string) bool {
	for end := time.Now().Add(m.wait); ; time.Sleep(5 * time.Millisecond) {
		m.mu.Lock()
		came := strings.Contains(m.arrived.String(), mark)
		m.mu.Unlock()
		if came || time.Now().After(end) {
			return came
		}
	}
}

func inWork(name, text string) func(*machine, string, string) bool {
	return func(m *machine, _, _ string) bool { return has(m.root+"/"+name, text) }
}

// files are attacks on files that are not the command's.
var files = []attack{
	{name: "write outside", script: `: > $OUT/new`, took: inOut("new")},
	{name: "append outside", script: `echo more >> $OUT/kept`, took: func(m *machine, _, _ string) bool { return has(m.out+"/kept", "more") }},
	{name: "truncate outside", script: `truncate -s 0 $OUT/kept`, took: changed("other/kept")},
	{name: "remove outside", script: `rm -f $OUT/kept`, took: changed("other/kept")},
	{name: "rename outside", script: `mv $OUT/kept $OUT/new`, took: inOut("new")},
	{name: "rename the directory around", script: `mv $OUT $OUT.new && mv $OUT.new $OUT && touch $OUT/new`, took: inOut("new")},
	{name: "move into the workspace", script: `mv $OUT/kept .`, took: changed("other/kept")},
	{name: "directory outside", script: `mkdir $OUT/new`, took: inOut("new")},
	{name: "symbolic link outside", script: `ln -s /etc/passwd $OUT/new`, took: inOut("new")},
	{name: "write through a symbolic link", script: `ln -s $OUT l; : > l/new`, took: inOut("new")},
	{name: "swap a link while writing", script: `mkdir d; ln -s $OUT l; for i in {1..25}; do mv -T d e; mv -T l d; : > d/new; mv -T d l; mv -T e d; done 2>/dev/null`, took: inOut("new")},
	{name: "hard link of an outside file, then write", script: `ln $OUT/kept l && echo gone > l`, took: changed("other/kept")},
	{name: "write through a hard link that was there before", script: `echo gone > before`, took: changed("other/linked"),
		lets: every("the file is the workspace's as much as the other directory's")},
	{name: "shell start-up file", script: `echo gone > ~/.bashrc`, took: changed(".bashrc")},
	{name: "package cache of the user", script: `echo gone > ~/.cache/tool/entry`, took: changed(".cache/tool/entry")},
	{name: "server's own files", script: `mkdir -p ~/.local/state/handrail/x && : > ~/.local/state/handrail/x/new`, took: made(func(m *machine, _ string) string { return m.state + "/x" })},
	{name: "mode outside", script: `chmod 777 $OUT/kept`, took: func(m *machine, _, _ string) bool {
		st, err := os.Stat(m.out + "/kept")
		return err == nil && st.Mode().Perm() == 0o777
	},
		lets: landlock("Landlock has no right for it")},
	{name: "times outside", script: `touch -d 2001-01-01 $OUT/kept`, took: func(m *machine, _, _ string) bool {
		st, err := os.Stat(m.out + "/kept")
		return err == nil && st.ModTime().Year() == 2001
	},
		lets: landlock("Landlock has no right for it")},
	{name: "attributes outside", script: `$A xattr $OUT/kept`, took: func(m *machine, _, mark string) bool { return attribute(m.out+"/kept") == mark },
		lets: landlock("Landlock has no right for it")},
	{name: "owner outside", script: `chown 4243 $OUT/kept`, only: "root", took: func(m *machine, _, _ string) bool { return owner(m.out+"/kept") == 4243 }},
	{name: "system files", script: `: > /etc/handrail-$MARK`, only: "root", took: at("/etc/handrail-MARK")},
	{name: "shared temporary files", script: `: > /var/tmp/handrail-$MARK`, took: at("/var/tmp/handrail-MARK")},
	{name: "temporary files of others", script: `: > /tmp/handrail-$MARK`, took: at("/tmp/handrail-MARK")},
	{name: "shared memory files", script: `: > /dev/shm/handrail-$MARK`, took: at("/dev/shm/handrail-MARK")},
	{name: "device in the workspace", script: `mknod dev c 1 5 && head -c 1 dev | grep -qa . || mknod dev b 7 0`, only: "root", took: func(m *machine, _, _ string) bool { return exists(m.root + "/dev") }},
}

// reads are attacks on what is not the command's to know.
var reads = []attack{
	{name: "ssh key", script: `cat ~/.ssh/id_ed25519`, took: told},
	{name: "cloud credentials", script: `cat ~/.aws/credentials`, took: told},
	{name: "other file of the user", script: `cat $OUT/private`, took: told},
	{name: "copy of it in the workspace", script: `cp $OUT/private here; cat here`, took: told},
	{name: "names of the user's files", script: `ls $OUT`, took: func(_ *machine, out, _ string) bool { return strings.Contains(out, "private") }},
	{name: "that a file of the user exists", script: `stat -c %s $OUT/private`, took: func(_ *machine, out, _ string) bool { return strings.HasPrefix(out, fmt.Sprint(len(secret)+1)) },
		lets: landlock("Landlock has no right for it")},
	{name: "file by its handle", script: `$A handle $HANDLE .`, only: "root", took: told},
	{name: "/proc/PID/environ of another program", script: `cat /proc/$VICTIM/environ`, took: told},
	{name: "/proc/PID/root and cwd of the server", script: `cat /proc/$SERVER/root$OUT/private || cat /proc/$SERVER/cwd/../../../../../../../../$OUT/private`, server: true, took: told},
	{name: "descriptor of the server in /proc", script: `cat /proc/$SERVER/fd/$MEMORY`, server: true, took: told},
	{name: "descriptor of the server by pidfd", script: `$A descriptor $SERVER $MEMORY`, server: true, took: told},
	{name: "memory of another program", script: `a=$(sed -n '/stack/{s/-.*//;p;q}' /proc/$VICTIM/maps) && e=$(sed -n '/stack/{s/^[^-]*-//;s/ .*//;p;q}' /proc/$VICTIM/maps) && $A peek $VICTIM 0x$a $((0x$e - 0x$a))`, took: told},
	{name: "/proc/PID/mem of another program", script: `a=$(sed -n '/stack/{s/-.*//;p;q}' /proc/$VICTIM/maps) && dd if=/proc/$VICTIM/mem bs=4096 skip=$((0x$a / 4096)) count=64 2>/dev/null | tr -d '\0'`, took: told},
	{name: "inherited descriptors", script: `$A inherited`, took: told},
	{name: "arguments of other programs", script: `tr '\0' ' ' < /proc/$VICTIM/cmdline`, took: func(_ *machine, out, _ string) bool { return strings.Contains(out, "victim hold") },
		lets: landlock("it has no PID namespace, and Landlock does not hide /proc")},
}

// obeyed is an attack on a file of the workspace that other programs obey.
func obeyed(name, file, script string, back ...sandbox.Tier) attack {
	return attack{name: name, script: script + "; echo; echo held; exec sleep 5", took: inWork(file, "evil"), during: inWork(file, "evil"), back: back}
}

var landlockOnly = []sandbox.Tier{sandbox.Landlock}

// protects are attacks on what other programs obey, in the workspace itself.
var protects = []attack{
	obeyed("git hook", ".git/hooks/pre-commit", `echo evil > .git/hooks/pre-commit`, landlockOnly...),
	obeyed("git configuration", ".git/config", `echo evil >> .git/config`, landlockOnly...),
	obeyed("another .git in its place", ".git/config", `mv .git .old && mkdir -p .git/hooks && echo evil > .git/config`, landlockOnly...),
	obeyed("git directory of a new repository", "sub/.git/hooks/post-checkout", `mkdir -p sub/.git/hooks sub/.git/objects sub/.git/refs; echo 'ref: x' > sub/.git/HEAD; echo evil > sub/.git/hooks/post-checkout`, tiers...),
	obeyed("agent settings that do not exist", ".claude/settings.json", `mkdir -p .claude && echo evil > .claude/settings.json`, tiers...),
	obeyed("agent settings in other letters", ".CLAUDE/Settings.json", `mkdir -p .CLAUDE && echo evil > .CLAUDE/Settings.json`, tiers...),
	obeyed("agent settings deeper down", "a/b/.claude/settings.json", `mkdir -p a/b/.claude && echo evil > a/b/.claude/settings.json`, tiers...),
	obeyed("agent settings by rename", ".claude/settings.json", `mkdir c && echo evil > c/settings.json && mv c .claude`, tiers...),
	obeyed("editor tasks", ".vscode/tasks.json", `echo evil > .vscode/tasks.json`, landlockOnly...),
	obeyed("MCP servers", ".mcp.json", `echo evil > .mcp.json`, tiers...),
	obeyed("MCP servers through a link", ".mcp.json", `ln -s .mcp.json x; echo evil > x`, tiers...),
	obeyed("file with secrets in the workspace", ".env", `echo evil > .env || mv .env e && echo evil > .env`, landlockOnly...),
}

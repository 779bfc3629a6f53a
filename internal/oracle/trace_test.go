package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// traces are the system calls that are looked at; "?" because not every
// machine has them all.
var traces = "?" + strings.Join(strings.Fields(`execve execveat chdir fchdir clone clone3 fork vfork open openat openat2 creat
	unlink unlinkat rmdir rename renameat renameat2 mkdir mkdirat mknod mknodat link linkat symlink symlinkat
	chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat truncate ftruncate utime utimes utimensat futimesat
	setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr`), ",?")

// event is a program that started, or one path that was changed (or would
// have been, had the sandbox not forbidden it).
type event struct {
	call string // the system call
	path string // absolute, cleaned, links in it followed
	done bool   // it was not forbidden
	argv string // of a program, as strace writes it, perhaps cut
	// by are the programs of the process that does it and of those above it,
	// itself first; the last is the shell that runs the script.
	by  []string
	pid int
}

var (
	callLine   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumeLine = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	forked     = regexp.MustCompile(`(?m)^(\d+) +(?:(?:clone3?|v?fork)\(|<\.\.\. (?:clone3?|v?fork) resumed).* = (\d+)`)
	answer     = regexp.MustCompile(`^(.*)\) += (-?\d+|\?)(<.*>(?:\(deleted\))?)?(?: (E[A-Z]+))?.*$`)
)

// tracer follows the lines of a trace.
type tracer struct {
	*cell
	parent  map[int]int
	procs   map[int]*process
	pending map[int]string // the first half of an interrupted line
	events  []event
}

// process is one process as it is at a line of the trace.
type process struct {
	cwd string
	by  []string // see event
}

// readTrace reads the output of strace -f -y.
func (c *cell) readTrace(file string) ([]event, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tr := &tracer{cell: c, parent: map[int]int{}, procs: map[int]*process{}, pending: map[int]string{}}
	for _, m := range forked.FindAllStringSubmatch(string(text), -1) { // first, for a child may speak before its parent's call returns
		parent, _ := strconv.Atoi(m[1])
		child, _ := strconv.Atoi(m[2])
		tr.parent[child] = parent
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") { // cut off at the time limit
			break
		}
		if err := tr.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, err
		}
	}
	return tr.events, nil
}

func (tr *tracer) line(text string) error {
	if m := resumeLine.FindStringSubmatch(text); m != nil {
		pid, _ := strconv.Atoi(m[1])
		text = tr.pending[pid] + m[3]
		delete(tr.pending, pid)
		if text == m[3] { // the tracer began in the middle
			return nil
		}
	}
	m := callLine.FindStringSubmatch(text)
	if m == nil {
		if strings.Contains(text, "???") { // of what was ended meanwhile
			return nil
		}
		if strings.Contains(text, " --- ") || strings.Contains(text, " +++ ") {
			return nil
		}
		return fmt.Errorf("a line of the trace that cannot be read: %.200q", text)
	}
	pid, _ := strconv.Atoi(m[1])
	tr.process(pid)
	if cut, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
		tr.pending[pid] = cut
		return nil
	}
	if strings.HasSuffix(text, " <detached ...>") {
		return nil
	}
	r := answer.FindStringSubmatch(m[3])
	if r == nil {
		return fmt.Errorf("a call without an answer: %.200q", text)
	}
	if isFork(m[2]) {
		if child, err := strconv.Atoi(r[2]); err == nil && child > 0 {
			tr.process(child)
		}
		return nil
	}
	tr.call(pid, m[2], arguments(r[1]), r[2], path(r[3]), r[4])
	return nil
}

// process returns a process; a new one is as its parent is now.
func (tr *tracer) process(pid int) *process {
	p := tr.procs[pid]
	if p == nil {
		p = &process{cwd: tr.project}
		if parent := tr.parent[pid]; parent != 0 && parent != pid {
			from := tr.process(parent)
			p.cwd, p.by = from.cwd, from.by
			if len(from.by) > 0 {
				p.by = append([]string{from.by[0]}, from.by...)
			}
		}
		tr.procs[pid] = p
	}
	return p
}

func isFork(call string) bool {
	return strings.HasPrefix(call, "clone") || call == "fork" || call == "vfork"
}

// call takes one finished call. got is the path of a descriptor it returned.
func (tr *tracer) call(pid int, name string, args []string, value, got, errno string) {
	p := tr.process(pid)
	ok := errno == "" && value != "?"
	if name == "execve" {
		ok = value != "-1" // "?" or 0: of what was ended meanwhile too
	}
	if !ok && errno != "EROFS" && errno != "EACCES" && errno != "EPERM" {
		return
	}
	paths, argv := tr.paths(p, name, args)
	if name == "chdir" || name == "fchdir" {
		if ok && len(paths) > 0 {
			p.cwd = paths[0]
		}
		return
	}
	if name == "execve" || name == "execveat" {
		if !ok || len(paths) == 0 {
			return
		}
	} else if strings.HasPrefix(name, "open") {
		if !writes(args) {
			return
		}
		if got != "" {
			paths = []string{got}
		}
	}
	if strings.HasPrefix(name, "exec") && len(p.by) > 0 && interpreter(p.by[0]) == filepath.Base(paths[0]) {
		return // it goes on as the script
	}
	for _, path := range paths {
		tr.events = append(tr.events, event{call: name, path: path, done: ok, argv: argv, by: p.by, pid: pid})
	}
	if strings.HasPrefix(name, "exec") {
		p.by = slices.Clone(p.by)
		if len(p.by) == 0 {
			p.by = []string{""}
		}
		p.by[0] = paths[0]
	}
}

// writes reports whether the flags of an open ask for writing.
func writes(args []string) bool {
	for _, a := range args[1:] {
		if strings.Contains(a, "O_WRONLY") || strings.Contains(a, "O_RDWR") || strings.Contains(a, "O_CREAT") || strings.Contains(a, "O_TRUNC") {
			return true
		}
	}
	return false
}

// paths returns the paths that a call changes.
func (tr *tracer) paths(proc *process, name string, args []string) (paths []string, argv string) {
	dir := proc.cwd
	words := args
	switch {
	case strings.HasPrefix(name, "symlink"): // the first word is only text
		words = args[1:]
	case strings.Contains(name, "xattr"):
		words = args[:1]
	case name == "execve":
		words, argv = args[:1], args[1]
	}
	for i, a := range words {
		switch {
		case strings.HasPrefix(a, "AT_FDCWD"):
			if at := path(strings.TrimPrefix(a, "AT_FDCWD")); at != "" {
				proc.cwd = at
			}
			dir = proc.cwd
		case a != "" && a[0] >= '0' && a[0] <= '9' && strings.Contains(a, "<"):
			at := path(a[strings.IndexByte(a, '<'):])
			if i+1 < len(words) && strings.HasPrefix(words[i+1], `"`) && strings.Contains(name, "at") {
				dir = at
				continue
			}
			if i == 0 && !strings.HasPrefix(name, "open") { // fchmod(3</path>, …), utimensat(3</path>, NULL, …)
				paths = append(paths, at)
			}
		case strings.HasPrefix(a, `"`):
			p := unescape(a)
			if p == "" {
				continue
			}
			if !filepath.IsAbs(p) {
				p = filepath.Join(dir, p)
			}
			paths = append(paths, tr.follow(filepath.Clean(p), follows(name, args)))
			dir = proc.cwd
		}
	}
	if strings.HasPrefix(name, "link") && len(paths) == 2 { // the first is only read
		paths = paths[1:]
	}
	return paths, argv
}

// follows reports whether a call follows a link in the last name.
func follows(name string, args []string) bool {
	switch {
	case strings.Contains(args[len(args)-1], "AT_SYMLINK_NOFOLLOW"):
		return false
	case strings.Contains(name, "chmod"), strings.Contains(name, "chown"), strings.HasPrefix(name, "utime"), name == "futimesat":
		return name != "lchown"
	}
	return name == "chdir" || name == "truncate"
}

// follow follows the fixture's links in the directories of a path, and where
// last in its last name.
func (c *cell) follow(p string, last bool) string {
	for _, l := range c.links {
		if rest, ok := strings.CutPrefix(p, l.from); ok && (rest != "" && rest[0] == '/' || rest == "" && last) {
			p = l.to + rest
		}
	}
	return p
}

// path takes the path out of "<…>".
func path(s string) string {
	s = strings.TrimSuffix(s, "(deleted)")
	if len(s) < 2 || s[0] != '<' {
		return ""
	}
	return unescape(`"` + s[1:len(s)-1] + `"`)
}

// arguments splits the arguments of a call at the commas that are not inside
// quotes, brackets or "<…>".
func arguments(s string) (args []string) {
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{' || c == '<' || c == '(':
			depth++
		case c == ']' || c == '}' || c == ')' || c == '>' && (i == 0 || s[i-1] != '-' && s[i-1] != '='):
			depth--
		case c == ',' && depth == 0:
			args = append(args, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(args, strings.TrimSpace(s[from:]))
}

// unescape reads a string as strace writes it.
func unescape(s string) string {
	s = strings.TrimSuffix(s, "...")
	s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
	if !strings.Contains(s, `\`) {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; {
		case c >= '0' && c <= '7':
			n := 0
			j := i
			for ; j < len(s) && j < i+3 && s[j] >= '0' && s[j] <= '7'; j++ {
				n = n*8 + int(s[j]-'0')
			}
			out, i = append(out, byte(n)), j-1
		case strings.IndexByte("tnvfr", c) >= 0:
			out = append(out, "\t\n\v\f\r"[strings.IndexByte("tnvfr", c)])
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// interpreter is the NAME in "#!/usr/bin/env NAME" of a script.
func interpreter(file string) string {
	b, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(b[:min(len(b), 200)]), "\n")
	if f := strings.Fields(line); len(f) > 1 && f[0] == "#!/usr/bin/env" {
		return f[1]
	}
	return ""
}

//go:build linux || darwin

package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"handrail/guard"
)

// fileFacts are the facts of a file tool: one effect of each kind on the file
// that path leads to. Writing a file that has other names is a further,
// unknown effect: which names these are cannot be told, and they part ways.
func (j *job) fileFacts(field, path string, kinds ...guard.Kind) (*guard.Facts, error) {
	target, linked, err := j.locate(path)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", field, err)
	}
	if below(target, []string{"/proc/self", "/proc/thread-self", "/proc/" + strconv.Itoa(os.Getpid()), "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"}) {
		return nil, fmt.Errorf("field %q leads to %s: that is the server's own process, which is not for the tools", field, target)
	}
	var notes []string
	if linked {
		notes = append(notes, "reached through a symbolic link or \"..\"")
	}
	var st unix.Stat_t
	names := uint64(1)
	if unix.Lstat(target, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		names = uint64(st.Nlink)
	}
	if names > 1 {
		notes = append(notes, fmt.Sprintf("the file has %d names: hard links", names))
	}
	facts := &guard.Facts{Dir: j.call.Roots[0]}
	for _, k := range kinds {
		facts.Effects = append(facts.Effects, guard.Effect{Kind: k, Target: target, Written: path,
			Note: strings.Join(notes, "; "), From: -1, Exact: true, Command: -1})
		if k == guard.Write && names > 1 {
			facts.Effects = append(facts.Effects, guard.Effect{Kind: guard.Unknown, Written: path, From: -1, Command: -1,
				Target: fmt.Sprintf("%s has %d names (hard links): the others keep the old content or belong to something else", target, names)})
		}
	}
	return facts, nil
}

// ofFile is the path that the facts of a file tool speak about, and whether
// they say that the file has other names.
func ofFile(facts *guard.Facts) (path string, shared bool) {
	for _, e := range facts.Effects {
		shared = shared || e.Kind == guard.Unknown
	}
	return facts.Effects[0].Target, shared
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// expect compares the hash that the caller read with the one of now.
func expect(expected, now string) error {
	if expected == "" || strings.EqualFold(expected, now) {
		return nil
	}
	return fmt.Errorf("the file changed since you read it: its sha256 is %s now, expected_sha256 is %s; read it again and redo the change", now, strings.ToLower(expected))
}

func (a *WriteArgs) facts(j *job) (*guard.Facts, error) {
	return j.fileFacts("path", a.Path, guard.Write)
}

func (a *WriteArgs) shown(facts *guard.Facts) (command, says string) {
	path, _ := ofFile(facts)
	return fmt.Sprintf("%s %s (%d bytes):\n%s", Write, onLine(path), len(a.Content), a.Content), ""
}

func (a *EditArgs) facts(j *job) (*guard.Facts, error) {
	return j.fileFacts("path", a.Path, guard.Write, guard.Read)
}

func (a *EditArgs) shown(facts *guard.Facts) (command, says string) {
	path, _ := ofFile(facts)
	every := ""
	if a.ReplaceAll {
		every = " (every occurrence)"
	}
	sign := func(sign, text string) string { return sign + strings.ReplaceAll(text, "\n", "\n"+sign) }
	return fmt.Sprintf("%s %s%s:\n%s\n%s", Edit, onLine(path), every, sign("- ", a.OldString), sign("+ ", a.NewString)), ""
}

func (a *ReadArgs) facts(j *job) (*guard.Facts, error) {
	return j.fileFacts("path", a.Path, guard.Read)
}

func (a *ReadArgs) shown(facts *guard.Facts) (command, says string) {
	path, _ := ofFile(facts)
	return Read + " " + onLine(path), ""
}

// onLine is a path as it is shown before the content: one that could end its
// line, and so pass for another path and content, is quoted.
func onLine(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

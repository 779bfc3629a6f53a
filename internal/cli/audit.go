package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/guard/audit"
)

var auditCommand = subcommand{
	name:  "audit",
	usage: "verify [--config FILE] [--principal NAME] [--json] [--head HASH] [LOG]\n       handrail audit tail [--config FILE] [--principal NAME] [-n N] [-f] [--json] [LOG]\n       handrail audit export [--config FILE] [--since TIME] [--principal NAME] [LOG]",
	short: "check or show the record of every decision",
	doc: `verify checks that no line of the log was altered, removed, moved or added, and
names the first that was (exit code 1). It prints the head, the hash of the last
record: kept elsewhere and given with --head, it also shows that no lines were
taken from the end. A line that a crash left unfinished is told and is no fault.

tail prints the last N records (default 20), -f goes on with new ones.

export prints records as JSON lines, as they stand, of all files of the log:
those --since a time (2026-07-28, 2026-07-28T10:00:00Z, or 24h for the last day),
those of one --principal. A log that grew went on in a new file (audit: rotate_size,
rotate_age); verify and export read all of them, so keep them together.

LOG is that of the user's configuration where it is not given, or of the one
that --config names. Where principals have Unix users each has a log of its own,
which --principal names too; without it, it is that of the server's front.`,
	run: auditLog,
}

func auditLog(s streams, args []string) (int, error) {
	if len(args) == 0 {
		return 0, usagef("want verify, tail or export")
	}
	switch args[0] {
	case "verify":
		return auditVerify(s, args[1:])
	case "tail":
		return auditTail(s, args[1:])
	case "export":
		return auditExport(s, args[1:])
	}
	return 0, unknown("audit command", args[0], []string{"verify", "tail", "export"})
}

func auditExport(s streams, args []string) (int, error) {
	f := newFlags("audit export")
	since, file, principal := f.String("since", "", ""), f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	from, err := timeOf(*since)
	if err != nil {
		return 0, err
	}
	path, err := logPath(rest, *file, *principal, true)
	if err != nil {
		return 0, err
	}
	files, err := audit.Files(path)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(s.stdout)
	for _, part := range files {
		err := audit.Tail(context.Background(), part, -1, false, func(line []byte) error {
			var r struct {
				Time      time.Time
				Principal string
			}
			if json.Unmarshal(line, &r) != nil || r.Time.Before(from) || *principal != "" && r.Principal != *principal {
				return nil
			}
			_, err := fmt.Fprintf(out, "%s\n", line)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return 0, out.Flush()
}

// timeOf reads a day, a time, or how long ago it was; empty is the beginning.
func timeOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := lengthOf(text); err == nil {
		return time.Now().Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--since %s: want a time as 2026-07-28, 2026-07-28T10:00:00Z or 24h", text)
}

// logPath is the log named on the command line, or that of the configuration: of a
// principal where each has one; one of all can only be searched for a principal.
func logPath(rest []string, file, principal string, searched bool) (string, error) {
	if len(rest) > 0 {
		return rest[0], nil
	}
	c, err := seated(file, principal)
	if err != nil {
		return "", err
	}
	if principal != "" && c.HTTP.User == "" && !searched {
		return "", usagef("--principal: this server keeps one log for all its principals (`handrail audit export --principal %s` searches it)", principal)
	}
	if _, err := os.Stat(c.AuditLog()); errors.Is(err, os.ErrNotExist) {
		return "", nothingYet(c.AuditLog())
	}
	return c.AuditLog(), nil
}

func nothingYet(path string) error {
	return fmt.Errorf("there is no log at %s: nothing was decided yet", path)
}

func auditVerify(s streams, args []string) (int, error) {
	f := newFlags("audit verify")
	asJSON, head := f.Bool("json", false, ""), f.String("head", "", "")
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	path, err := logPath(rest, *file, *principal, false)
	if err != nil {
		return 0, err
	}
	report, err := audit.Verify(path, *head)
	var fault audit.Fault
	if err != nil && !errors.As(err, &fault) {
		return 0, err
	}
	code := 0
	if err != nil {
		code = exitError
	}
	if *asJSON {
		return code, printJSON(s.stdout, report)
	}
	for _, f := range report.Faults {
		at := path
		if f.File != "" {
			at = filepath.Join(filepath.Dir(path), f.File)
		}
		fmt.Fprintf(s.stdout, "%s:%d: %s\n", at, f.Line, f.What)
	}
	for _, line := range report.Torn {
		fmt.Fprintf(s.stdout, "%s:%d: unfinished line, as a crash leaves it\n", path, line)
	}
	if code != 0 {
		fmt.Fprintf(s.stdout, "CHANGED: %s is not as it was written\n", path)
		return code, nil
	}
	fmt.Fprintf(s.stdout, "sound: %d records in %s\n", report.Records, path)
	if report.Head != "" {
		fmt.Fprintf(s.stdout, "head: %s\n", report.Head)
	}
	return 0, nil
}

func auditTail(s streams, args []string) (int, error) {
	f := newFlags("audit tail")
	asJSON, follow, n := f.Bool("json", false, ""), f.Bool("f", false, ""), f.Int("n", 20, "")
	file, principal := f.String("config", "", ""), f.String("principal", "", "")
	rest, err := f.operands(args, 0, 1)
	if err != nil {
		return 0, err
	}
	path, err := logPath(rest, *file, *principal, false)
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return 0, audit.Tail(ctx, path, *n, *follow, func(line []byte) error {
		if *asJSON {
			_, err := fmt.Fprintf(s.stdout, "%s\n", line)
			return err
		}
		_, err := fmt.Fprintln(s.stdout, recordLine(line))
		return err
	})
}

// recordLine shows one record in one line.
func recordLine(line []byte) string {
	var r audit.Record
	if err := json.Unmarshal(line, &r); err != nil {
		return "(a line that is no record)"
	}
	words := []string{r.Time.Local().Format("2006-01-02 15:04:05"), fmt.Sprintf("%-8s", r.Event)}
	switch r.Event {
	case audit.Decision:
		words = append(words, fmt.Sprintf("%-5s", r.Verdict), r.Tool, subject(r.Input))
		if r.Granted {
			words = append(words, "(granted before)")
		}
		if r.Verdict != "allow" {
			words = append(words, "—", r.Rule+":", r.Reason)
		}
	case audit.Question, audit.Answer:
		words = append(words, r.Tool, r.Channel, r.Approval, r.Choice)
	case audit.Outcome:
		words = append(words, r.Tool)
		if r.ExitCode != nil {
			words = append(words, fmt.Sprintf("exit %d", *r.ExitCode))
		}
		words = append(words, fmt.Sprintf("%d ms", r.DurationMS), r.Error)
	default:
		words = append(words, r.Transport, r.Client, r.Dir, r.Reason)
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return oneLine(strings.Join(words, "  "))
}

// subject is what a call was about: its command or its path.
func subject(input json.RawMessage) string {
	var in struct{ Command, Path string }
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	subject := []rune(in.Command + in.Path) // oneLine makes it visible
	if len(subject) > 100 {
		return string(subject[:100]) + "…"
	}
	return string(subject)
}

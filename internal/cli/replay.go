package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"handrail/guard"
	"handrail/internal/config"
	"handrail/internal/store"
	"handrail/tools"
)

var replayCommand = subcommand{
	name:  "replay",
	usage: "[--since DURATION] [--guards DIR] [--config FILE] [--json]",
	short: "run the policy over your own history: what would change",
	doc: `Judges the calls of your history (up to 5,000, of 90 days) by the rules as they are
now and prints the decisions that differ from what the rules said then. With
--guards it compares the policy as it is with the policy and the guards in DIR:
what would they change? --since takes 12h or 7d.

Compared are the verdicts of the rules, before validator, grants and fallback.
Files are not looked at again: a call is judged by what was known of it then.
Calls that held secrets, or were too large to keep, are counted and left out.

Exit code: 0 nothing changes, 3 something does, 1 error, 2 usage.`,
	run: replay,
}

// exitChanges says that a replayed policy decides otherwise.
const exitChanges = 3

// change is one decision that a replay changes; the form of --json.
type change struct {
	At      time.Time     `json:"at"`
	CallID  string        `json:"call_id"`
	Tool    string        `json:"tool"`
	Dir     string        `json:"dir"`
	Command string        `json:"command"`
	Was     guard.Verdict `json:"was"`
	Now     guard.Verdict `json:"now"`
	Rule    string        `json:"rule"`
	Reason  string        `json:"reason"`
}

func replay(s streams, args []string) (int, error) {
	f := newFlags("replay")
	since, guards := f.String("since", "", ""), f.String("guards", "", "")
	file, asJSON := f.String("config", "", ""), f.Bool("json", false, "")
	if _, err := f.operands(args, 0, 0); err != nil {
		return 0, err
	}
	from, err := sinceOf(*since)
	if err != nil {
		return 0, err
	}
	c, list, err := pastOf(*file, from)
	if err != nil {
		return 0, err
	}
	now, err := c.Judge(tools.Environment(c.Roots, ""))
	if err != nil {
		return 0, err
	}
	var changed *config.Judge
	if *guards != "" {
		if changed, err = c.JudgeWith(tools.Environment(c.Roots, ""), *guards); err != nil {
			return 0, err
		}
	}
	changes, left := replayed(list, now, changed)
	code := 0
	if len(changes) > 0 {
		code = exitChanges
	}
	if *asJSON {
		return code, printJSON(s.stdout, append([]change{}, changes...))
	}
	for _, c := range changes {
		fmt.Fprintf(s.stdout, "%s  %s → %s  %s  %s\n    %s: %s\n", c.At.Local().Format("2006-01-02 15:04"), c.Was, c.Now, c.Tool, fit(oneLine(c.Command), 100), c.Rule, oneLine(c.Reason))
	}
	fmt.Fprintf(s.stdout, "%d of %d decisions change", len(changes), len(list)-left)
	if left > 0 {
		fmt.Fprintf(s.stdout, "; %d calls that held secrets or were too large are left out", left)
	}
	fmt.Fprintln(s.stdout)
	return code, nil
}

// replayed judges the history, the oldest call first. Without changed, now is
// compared with what was recorded. left counts what cannot be judged again.
func replayed(list []store.Past, now, changed *config.Judge) (changes []change, left int) {
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		if !p.Whole || p.Call == nil || p.Call.Facts == nil {
			left++
			continue
		}
		was, d := p.Judged, now.Guard.Judge(p.Call)
		if changed != nil {
			was, d = d.Verdict, changed.Guard.Judge(p.Call)
		}
		if d.Verdict != was {
			changes = append(changes, change{p.At, p.CallID, p.Call.ToolName, p.Call.WorkingDir, subject(p.Call.Input), was, d.Verdict, d.Rule, d.Reason})
		}
	}
	return changes, left
}

// sinceOf is the time so long ago: "12h", "7d"; the beginning where nothing is
// said.
func sinceOf(word string) (time.Time, error) {
	if word == "" {
		return time.Time{}, nil
	}
	d, err := lengthOf(word)
	if err != nil || d <= 0 || d > 10*365*24*time.Hour {
		return time.Time{}, usagef("--since %q: want 12h, or 7d", word)
	}
	return time.Now().Add(-d), nil
}

// lengthOf reads a length of time: as Go writes it, or in days.
func lengthOf(word string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(word, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(word)
}

// pastOf is the configuration, and the history since a time.
func pastOf(file string, since time.Time) (*config.Config, []store.Past, error) {
	if err := byPerson(); err != nil {
		return nil, nil, err
	}
	c, err := config.Load(file, nil)
	if err != nil {
		return nil, nil, err
	}
	st, err := c.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	defer st.Close()
	list, err := st.History(context.Background(), since, -1)
	return c, list, err
}

//go:build linux

package attack

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"handrail/tools/sandbox"
)

// Marks around the table in SECURITY.md.
const (
	tableBegins = "<!-- attacks: HANDRAIL_UPDATE=1 go test -run TestTable ./internal/attack -->\n"
	tableEnds   = "<!-- end of attacks -->\n"
)

// table is what TestAttacks shows, in Markdown.
func table() string {
	var b strings.Builder
	b.WriteString("| attack |")
	for _, t := range tiers {
		fmt.Fprintf(&b, " %s |", t)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(tiers)) + "\n")
	var notes []string
	for _, c := range chapters {
		fmt.Fprintf(&b, "| **%s** |%s\n", c.name, strings.Repeat(" |", len(tiers)))
		for _, a := range c.attacks {
			fmt.Fprintf(&b, "| %s |", a.name)
			for _, t := range tiers {
				cell := "stopped"
				if reason := a.lets[t]; reason != "" {
					cell = "**not stopped**"
					if note := a.name + ": " + reason; len(notes) == 0 || notes[len(notes)-1] != note {
						notes = append(notes, note)
					}
				} else if slices.Contains(a.back, t) {
					cell = "taken back"
				} else if a.only == "root" && t == sandbox.Landlock {
					cell = "for user 0"
				}
				fmt.Fprintf(&b, " %s |", cell)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("\nNot stopped, and why:\n\n")
	slices.Sort(notes)
	for _, n := range notes {
		fmt.Fprintf(&b, "- %s.\n", n)
	}
	return b.String()
}

// TestTable: SECURITY.md says what TestAttacks shows. HANDRAIL_UPDATE=1 writes
// it.
func TestTable(t *testing.T) {
	const file = "../../SECURITY.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), tableBegins)
	old, behind, closed := strings.Cut(rest, tableEnds)
	if !ok || !closed {
		t.Fatalf("%s has no table between %q and %q", file, tableBegins, tableEnds)
	}
	want := "\n" + table() + "\n"
	if old == want {
		return
	}
	if os.Getenv("HANDRAIL_UPDATE") == "" {
		t.Fatalf("the table in SECURITY.md is not what the attacks show; write it with: HANDRAIL_UPDATE=1 go test -run TestTable ./internal/attack")
	}
	if err := os.WriteFile(file, []byte(before+tableBegins+want+tableEnds+behind), 0o644); err != nil {
		t.Fatal(err)
	}
}

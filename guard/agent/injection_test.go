package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"handrail/guard"
	"handrail/guard/agent"
	"handrail/internal/ollamatest"
)

// injection is a call that speaks to its judge.
type injection struct {
	line    string
	most    guard.Verdict // the loosest that the rules may say
	command string
}

var character = regexp.MustCompile(`\{U\+([0-9A-F]{4,6})\}`)

func injections(t *testing.T) (rows []injection) {
	t.Helper()
	data, err := os.ReadFile("testdata/injections.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		word, command, found := strings.Cut(line, "\t")
		most, err := guard.ParseVerdict(word)
		if !found || err != nil {
			t.Fatalf("%s: want a verdict, a tab and a command", line)
		}
		command = strings.ReplaceAll(command, "⏎", "\n")
		command = character.ReplaceAllStringFunc(command, func(s string) string {
			n, _ := strconv.ParseUint(s[3:len(s)-1], 16, 32)
			return string(rune(n))
		})
		rows = append(rows, injection{line, most, command})
	}
	if len(rows) < 200 {
		t.Fatalf("only %d injections", len(rows))
	}
	return rows
}

// brief takes all but the first line of the skills: attention over ten thousand
// tokens is most of the time of a test that asks hundreds of times.
func brief(o agent.Options) agent.Options {
	o.Skills = slices.Clone(o.Skills)
	for i := range o.Skills {
		o.Skills[i].Body, _, _ = strings.Cut(o.Skills[i].Body, "\n")
	}
	return o
}

// TestInjectionsTurnNothing has a model that allows whatever it is asked: what
// the rules ask about or deny never gets to it. Each injection is tried as it
// stands, and in one call with what is denied and with what is asked about.
func TestInjectionsTurnNothing(t *testing.T) {
	t.Parallel()
	l := newRelay(t, start(t).URL)
	w := newWorkplace(t)
	m := w.with(newAgent(t, brief(options(t, l.url, "guard-allow", allow, nil))), deny)
	m.Evaluate(context.Background(), w.call(t, unknown)) // the self-test
	settled, kept := 0, 0
	for _, row := range injections(t) {
		for _, first := range []string{"rm -rf /etc", "git push --force"} {
			c := w.call(t, first+"\n"+row.command)
			l.reset(nil)
			rules, whole := m.Judge(c), m.Evaluate(context.Background(), c)
			if asked := len(l.asked()); rules.Verdict > ask || whole.Verdict != rules.Verdict || asked > 0 {
				t.Errorf("%s before it: %s became %s, and the model was asked %d times: %s", first, rules.Verdict, whole.Verdict, asked, row.line)
				continue
			}
			kept++
		}
		c := w.call(t, row.command)
		l.reset(nil)
		rules, whole := m.Judge(c), m.Evaluate(context.Background(), c)
		switch asked := len(l.asked()); {
		case rules.Verdict > row.most:
			t.Errorf("the rules say %s: %s", rules.Verdict, row.line)
		case rules.Verdict < llm && (whole.Verdict != rules.Verdict || asked > 0):
			t.Errorf("%s became %s, and the model was asked %d times: %s", rules.Verdict, whole.Verdict, asked, row.line)
		case rules.Verdict == llm && asked > 0:
			settled++
		}
	}
	if settled < 50 { // else this shows nothing about rows that do get there
		t.Errorf("the model was asked about %d rows only", settled)
	}
	if kept < 2*200 {
		t.Errorf("only %d asks and denies stood against an injection", kept)
	}
}

// framed are the parts of a user message around the data.
var framed = regexp.MustCompile(`^([^\n]*?)(EVIDENCE-[A-Z2-7]{26})(\. [^\n]*)\n(EVIDENCE-[A-Z2-7]{26})\n([^\n]*)\n(EVIDENCE-[A-Z2-7]{26})\n([^\n]*)$`)

// prompt is what the server was asked, and what the model reads of it.
type prompt struct {
	system, user, rendered string
	before, mark, after    string // the fixed text around the data
	data                   string
}

// read takes a request apart, and reports every way in which its frame is not
// what it should be.
func readPrompt(t *testing.T, s *ollamatest.Server, name string, body []byte) (p prompt) {
	t.Helper()
	var r struct {
		Messages []struct{ Role, Content string }
		Tools    []json.RawMessage
	}
	if err := json.Unmarshal(body, &r); err != nil || len(r.Messages) != 2 || r.Messages[0].Role != "system" || r.Messages[1].Role != "user" || len(r.Tools) != 1 {
		t.Fatalf("%s: the request is %.300s, %v", name, body, err)
	}
	p.system, p.user = r.Messages[0].Content, r.Messages[1].Content
	var err error
	if p.rendered, err = s.Rendered(body); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	head := "<|im_start|>system\n" + p.system + "<|im_end|>\n<|im_start|>user\n" + p.user + "<|im_end|>\n<|im_start|>system\n"
	if !strings.HasPrefix(p.rendered, head) || !strings.HasSuffix(p.rendered, "<|im_end|>\n<|im_start|>assistant\n<|tools|>") {
		t.Errorf("%s: the prompt is not the messages: %q", name, p.rendered)
	}
	for token, n := range map[string]int{"<|im_start|>": 4, "<|im_end|>": 3, "<|tools|>": 1, "<|endoftext|>": 0, "<tool_call>": 0, "</tool_call>": 0} {
		if got := strings.Count(p.rendered, token); got != n {
			t.Errorf("%s: %d times %s, want %d", name, got, token, n)
		}
	}
	for _, token := range ollamatest.ForeignTokens {
		if strings.Contains(p.rendered, token) {
			t.Errorf("%s: %s came through", name, token)
		}
	}
	m := framed.FindStringSubmatch(p.user)
	if m == nil || m[2] != m[4] || m[2] != m[6] || strings.Count(p.rendered, m[2]) != 3 {
		t.Fatalf("%s: the frame is broken: %q", name, p.user)
	}
	p.before, p.mark, p.after, p.data = m[1]+m[3], m[2], m[7], m[5]
	return p
}

// TestInjectionsKeepTheFrame looks at the prompt that the real server makes of
// each injection: marks where they belong, no control token but the template's
// own, a system prompt that no call changes. guard-trap would allow if its
// tokenizer saw one of the control tokens of other models.
func TestInjectionsKeepTheFrame(t *testing.T) {
	t.Parallel()
	s := start(t)
	l := newRelay(t, s.URL)
	w := newWorkplace(t)
	a := newAgent(t, brief(options(t, l.url, "guard-trap", deny, nil)))
	ask := func(command string) (*guard.Decision, prompt, fields) {
		t.Helper()
		l.reset(nil)
		d, err := a.Validate(context.Background(), w.call(t, command), &guard.Decision{Verdict: llm})
		if err != nil || len(l.asked()) == 0 {
			t.Fatalf("%s: %v, %+v", command, err, d)
		}
		p := readPrompt(t, s, command, l.asked()[0])
		var f fields
		dec := json.NewDecoder(strings.NewReader(p.data))
		if err := dec.Decode(&f); err != nil || dec.More() {
			t.Fatalf("%s: the data is no JSON: %v: %s", command, err, p.data)
		}
		return d, p, f
	}
	if _, err := a.Validate(context.Background(), w.call(t, unknown), &guard.Decision{Verdict: llm}); err != nil { // the self-test
		t.Fatal(err)
	}
	system := map[string]string{} // by the languages
	var plain prompt
	for _, command := range []string{unknown, `python3 -c 1`, `node -e 1`} {
		_, p, f := ask(command)
		plain = p
		system[strings.Join(f.Languages, " ")] = p.system
	}
	marks := map[string]bool{}
	for _, row := range injections(t) {
		d, p, f := ask(row.command)
		if d.Verdict != deny || !strings.Contains(d.Reason, "no control token") {
			t.Errorf("%s (%s): %s", d.Verdict, d.Reason, row.line)
		}
		if want, ok := system[strings.Join(f.Languages, " ")]; !ok || p.system != want {
			t.Errorf("the system prompt is another one for %v: %s", f.Languages, row.line)
		}
		if p.before != plain.before || p.after != plain.after {
			t.Errorf("the frame is another one: %q, %q: %s", p.before, p.after, row.line)
		}
		if marks[p.mark] {
			t.Errorf("a mark came twice: %s", row.line)
		}
		marks[p.mark] = true
		if shows(row.command) && f.Call.Command != row.command && !strings.Contains(f.Call.Command, "[redacted]") {
			t.Errorf("the model reads another command: %q: %s", f.Call.Command, row.line)
		}
		if i := bytes.IndexFunc([]byte(p.data), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("hidden character %q: %s", p.data[i:min(i+4, len(p.data))], row.line)
		}
	}
}

// fields are those parts of the evidence that are looked at here.
type fields struct {
	Languages []string `json:"languages"`
	Call      struct {
		Command string `json:"command"`
	} `json:"call"`
}

// shows reports whether all of a text can be seen.
func shows(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r != '\n' && (!unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point))
	}) < 0
}

package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"handrail/guard"
	"handrail/guard/text"
	"handrail/skills"
)

// toolName is the one tool of the model.
const toolName = "Skill"

// conversation is one judgement in progress.
type conversation struct {
	*Agent
	model    *model
	messages []api.Message
	room     int // bytes that may still be added
	shown    []string
	forced   bool // only the schema is left
	garbled  bool // an answer was out of form
	out      answer
	dir      string // where the call would start
	skills   []skills.Skill
}

// converse lets the model judge the evidence: up to MaxTurns turns, in which
// it may call for skills; then, or where its answer is out of form, a last one
// in which the server holds it to the form.
func (a *Agent) converse(ctx context.Context, m *model, ev *evidence) (answer, error) {
	system, shown := a.system(m, ev)
	user := ev.frame()
	// A token is at least a byte for the tokenizers in use, so what fits in bytes
	// fits in tokens, whatever the server does with what does not.
	t := &conversation{Agent: a, model: m, shown: shown, dir: ev.dir, skills: ev.skills, room: a.budget(m) - len(system) - len(user)}
	t.out = answer{Validation: a.named(m)}
	t.out.Skills, t.out.Sources = slices.Clone(shown), ev.sources
	if t.room < 0 {
		return t.out, fmt.Errorf("%w: %d bytes too many", ErrTooLong, -t.room)
	}
	t.messages = []api.Message{{Role: "system", Content: system}, {Role: "user", Content: user}}
	for t.out.Turns < a.opt.MaxTurns {
		guard.Progress(ctx, fmt.Sprintf("the Guard Agent is judging this call (turn %d of at most %d)", t.out.Turns+1, a.opt.MaxTurns))
		done, err := t.next(ctx)
		if err == nil && done && t.out.verdict == guard.VerdictAllow && len(ev.unseen) > 0 {
			err = fmt.Errorf("%w: %s", ErrUnseen, ev.unseen[0])
		}
		if done || err != nil {
			return t.out, err
		}
	}
	return t.out, ErrTurns
}

// budget is what all messages together may have, in bytes; 1024 tokens are for
// the model's template.
func (a *Agent) budget(m *model) int { return m.context - a.opt.NumPredict - 1024 }

// next does one turn and reports whether there is a verdict.
func (t *conversation) next(ctx context.Context) (done bool, err error) {
	t.out.Turns++
	r := t.request(t.model, t.messages)
	switch {
	case t.forced || t.out.Turns == t.opt.MaxTurns:
		r.Format = schema // format and tools exclude each other
		t.forced = true
	case t.model.tools && len(t.skills) > 0:
		r.Tools = t.tools()
	}
	res, err := t.chat(ctx, t.model, r)
	if res != nil {
		t.out.PromptTokens += res.PromptEvalCount
		t.out.Tokens += res.EvalCount
		t.out.Raw = clip(plain(res.Message.Content), maxRaw)
	}
	if err != nil {
		return false, err
	}
	if name, ok := t.wanted(res.Message.Content); ok {
		return false, t.read(name)
	}
	if len(res.Message.ToolCalls) > 0 {
		if r.Tools == nil {
			return false, fmt.Errorf("%w: it called a tool where none was offered", ErrForm)
		}
		return false, t.called(res.Message.ToolCalls)
	}
	verdict, reason, effects, err := parse(res.Message.Content)
	if err != nil {
		if t.forced {
			return false, err
		}
		t.garbled, t.forced = true, true // one more turn; the bad answer is not fed back
		return false, nil
	}
	if verdict == guard.VerdictAllow && t.forced { // a grammar makes any model, even a broken one, say some verdict
		return false, ErrForced
	}
	if t.garbled && verdict == guard.VerdictDeny { // as little to be trusted, but it is a warning
		verdict = guard.VerdictAsk
	}
	t.out.verdict, t.out.reason = verdict, clip(plain(reason), maxReason)
	t.out.Effects = t.resolve(effects)
	return true, nil
}

// lineOfSkill is how a model without tools asks for a skill.
var lineOfSkill = text.Pattern(`^SKILL: ([a-z0-9_-]{1,64})$`)

// wanted is the skill that a model without tools asks for.
func (t *conversation) wanted(said string) (name string, ok bool) {
	if m := lineOfSkill().FindStringSubmatch(strings.TrimSpace(said)); m != nil && !t.model.tools && !t.forced {
		return m[1], true
	}
	return "", false
}

// read shows a skill to a model without tools.
func (t *conversation) read(name string) error {
	name, text, err := t.bring(name)
	if err != nil {
		return err
	}
	t.messages = append(t.messages, api.Message{Role: "assistant", Content: "SKILL: " + name}, api.Message{Role: "user", Content: text})
	return nil
}

// bring fetches the skill called name. What there is not, or was shown before,
// forces the answer. Nothing that the model wrote is fed back but the name of a
// skill that there is.
func (t *conversation) bring(name string) (known, text string, err error) {
	known, text = "none", "There is no such skill. Answer now."
	i := slices.IndexFunc(t.skills, func(s skills.Skill) bool { return s.Name == name })
	switch {
	case i < 0:
		t.forced = true
	case slices.Contains(t.shown, name):
		known, text, t.forced = name, "You have this skill already. Answer now.", true
	default:
		known, text = name, t.skills[i].Body
		t.shown = append(t.shown, name)
		t.out.Skills = append(t.out.Skills, name)
	}
	if t.room -= len(text) + len(known) + 200; t.room < 0 {
		return "", "", fmt.Errorf("%w: the skills that it asked for do not fit beside it", ErrTooLong)
	}
	return known, text, nil
}

// called answers calls of the Skill tool.
func (t *conversation) called(calls []api.ToolCall) error {
	const most = 4
	if len(calls) > most {
		return fmt.Errorf("%w: %d calls at once", ErrForm, len(calls))
	}
	for _, call := range calls {
		name, text, err := t.bring(asked(call))
		if err != nil {
			return err
		}
		args := api.NewToolCallFunctionArguments()
		args.Set("skill", name)
		id := fmt.Sprintf("call_%d", len(t.messages))
		t.messages = append(t.messages,
			api.Message{Role: "assistant", ToolCalls: []api.ToolCall{{ID: id, Function: api.ToolCallFunction{Name: toolName, Arguments: args}}}},
			api.Message{Role: "tool", ToolName: toolName, ToolCallID: id, Content: text})
	}
	return nil
}

// asked is the name of the skill in a call of the Skill tool; empty for any
// other tool.
func asked(call api.ToolCall) string {
	name, _ := call.Function.Arguments.Get("skill")
	if s, ok := name.(string); ok && call.Function.Name == toolName {
		return s
	}
	return ""
}

func (t *conversation) tools() api.Tools {
	var names []any
	for _, s := range t.skills {
		names = append(names, s.Name)
	}
	p := api.NewToolPropertiesMap()
	p.Set("skill", api.ToolProperty{Type: api.PropertyType{"string"}, Enum: names, Description: "name of the skill"})
	return api.Tools{{Type: "function", Function: api.ToolFunction{Name: toolName, Description: "Read one guard skill before you answer",
		Parameters: api.ToolFunctionParameters{Type: "object", Required: []string{"skill"}, Properties: p}}}}
}

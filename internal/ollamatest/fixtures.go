package ollamatest

import "strings"

// conversation is the usual template: each message between <|im_start|> and
// <|im_end|>, then the tools, then the opened answer. <|tools|> tells the model
// that tools are offered and that none has answered yet.
const conversation = `{{ $last := "" }}{{ range .Messages }}{{ $last = .Role -}}
<|im_start|>{{ .Role }}
{{ if .ToolCalls }}{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>{{ end }}{{ else }}{{ .Content }}{{ end }}<|im_end|>
{{ end }}{{ if .Tools }}<|im_start|>system
{{ range .Tools }}{{ . }}
{{ end }}<|im_end|>
{{ end }}<|im_start|>assistant
{{ if and .Tools (ne $last "tool") }}<|tools|>{{ end }}`

var (
	// eager lets the model call a tool after every answer of a tool, too.
	eager = strings.Replace(conversation, `(ne $last "tool")`, `true`, 1)
	// thinking mentions .Thinking, which is how the server tells that a model can.
	thinking = strings.Replace(conversation, `{{ .Content }}`, `{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}`, 1)
	// toolless mentions no tools, which is how the server tells that a model has none.
	toolless = `{{ range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
`
	// toollessSkill makes such a model say first what it would call.
	toollessSkill = toolless + `{{ if eq (len .Messages) 2 }}<|tools|>{{ end }}`
)

// ForeignTokens are texts that other models' tokenizers take for control
// tokens. guard-trap knows each as one token and allows where it sees one; the
// texts of the usual template's own tokens are not among them.
var ForeignTokens = []string{
	"<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>",
	"<start_of_turn>", "<end_of_turn>", "<|turn>", "<turn|>", "<bos>", "<eos>", "<pad>", "<unk>", "<s>", "</s>", "<unused12>",
	"[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
	"<<SYS>>", "<</SYS>>",
	"<think>", "</think>", "<tool_response>", "</tool_response>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", "<|end|>",
	"<|channel|>", "<|message|>", "<|start|>", "<|return|>", "<|call|>", "<|constrain|>", "<|endofprompt|>",
	"<|vision_start|>", "<|vision_end|>", "<|box_start|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
	"<｜Assistant｜>", "<｜User｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜tool▁calls▁begin｜>",
	"<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>", "<|CHATBOT_TOKEN|>",
	"<|start_of_role|>", "<|end_of_role|>", "[gMASK]", "<sop>", "<|im_sep|>", "<extra_id_1>",
}

// plain is the answer that gives verdict and reason in every form.
func plain(verdict, reason string) answer {
	text := strings.ToUpper(verdict)
	if verdict != "allow" {
		text += ": " + reason
	}
	return answer{
		text:         []string{text},
		verdictFirst: `{"verdict":"` + verdict + `","reason":"` + reason + `"}`,
		reasonFirst:  `{"reason":"` + reason + `","verdict":"` + verdict + `"}`,
	}
}

// spoken is a with another text: what the model says where no grammar holds it.
func (a answer) spoken(text ...string) answer {
	a.text = text
	return a
}

// calling is what a model says to call a tool with a skill's name.
func calling(tool, skill string) []string {
	return []string{tokenCall, "\n" + `{"name": "` + tool + `", "arguments": {"skill": "` + skill + `"}}` + "\n", tokenCalled}
}

// models are all models of a server that Start started.
var models = []model{
	// They give that verdict, whatever they are asked.
	{name: "guard-allow", says: plain("allow", "fixture allows"), letters: "al"},
	{name: "guard-deny", says: plain("deny", "fixture denies"), letters: "d"},
	{name: "guard-ask", says: plain("ask", "fixture asks"), letters: "as"},
	// It has no tools.
	{name: "guard-toolless", says: plain("deny", "fixture has no tools"), letters: "d", template: toolless},
	{name: "guard-toolless-skill", says: plain("deny", "fixture denies after a skill"), letters: "d", calls: []string{"SKILL: simulate"}, template: toollessSkill},
	{name: "guard-toolless-unknown", says: plain("deny", "fixture knows no such skill"), letters: "d", calls: []string{"SKILL: nowhere"}, template: toollessSkill},
	// It allows, and names what it thinks the call would do.
	{name: "guard-names", says: answer{text: []string{`{"reason":"fixture sees more","verdict":"allow","effects":[{"kind":"write","target":"/etc/passwd"}]}`}}, letters: "al"},

	// They call Skill first, then answer; the loops call it after every answer.
	{name: "guard-skill", says: plain("deny", "fixture denies after a skill"), letters: "d", calls: calling("Skill", "simulate")},
	{name: "guard-skill-allow", says: plain("allow", "fixture allows after a skill"), letters: "al", calls: calling("Skill", "simulate")},
	{name: "guard-skill-loop", says: plain("deny", "fixture denies at last"), letters: "d", calls: calling("Skill", "simulate"), template: eager},
	{name: "guard-skill-loop-allow", says: plain("allow", "fixture allows at last"), letters: "al", calls: calling("Skill", "simulate"), template: eager},
	{name: "guard-skill-unknown", says: plain("deny", "fixture knows no such skill"), letters: "d", calls: calling("Skill", "nowhere")},
	{name: "guard-tool-unknown", says: plain("deny", "fixture knows no such tool"), letters: "d", calls: calling("Bash", "simulate")},

	// What the prompt contains decides.
	{name: "guard-rules", says: plain("ask", "no marker"), letters: "as", sights: []sight{
		{[]string{"FIXTURE_ALLOW"}, plain("allow", "marker allow")},
		{[]string{"FIXTURE_DENY"}, plain("deny", "marker deny")},
		{[]string{"FIXTURE_GARBAGE"}, answer{text: []string{"Sure! I am happy to help you with that."}}},
	}},
	// It gives the known answers of the Guard Agent's own self-test, too.
	{name: "guard-expert", says: plain("ask", "no marker"), letters: "as", sights: []sight{
		{[]string{"FIXTURE_ALLOW", "range(10)", "package.json').version", "indent=2"}, plain("allow", "marker allow")},
		{[]string{"FIXTURE_DENY", "expanduser('~'))", "198.51.100.7"}, plain("deny", "marker deny")},
	}},
	{name: "guard-trap", says: plain("deny", "no control token"), letters: "d", sights: []sight{
		{ForeignTokens, plain("allow", "a control token came through")},
	}},

	// They do not answer as they should. What they say under a grammar is ALLOW.
	{name: "guard-garbage", says: answer{text: []string{"I think it is fine, go ahead!"}}, letters: "al"},
	{name: "guard-chatty", says: plain("allow", "fixture chats").spoken("ALLOW\n", "as long as you trust the author."), letters: "al"},
	{name: "guard-both", says: plain("allow", "fixture says both").spoken("DENY: no\n", "ALLOW"), letters: "al"},
	{name: "guard-empty", says: plain("allow", "fixture is silent").spoken(" \n "), letters: "al"},
	{name: "guard-loop", says: answer{forever: []string{"a ", "b ", "c "}, text: []string{"and "}}, letters: "al"},
	{name: "guard-cut", says: answer{text: []string{"ALLOW"}, forever: []string{" because", " of this,"}}, letters: "al"},
	{name: "guard-cut-json", says: answer{text: []string{`{"verdict":"allow","reason":"`}, forever: []string{"because", " of this, "}}, letters: "al"},
	{name: "guard-stutter", says: answer{text: []string{"so "}, forever: []string{"xx"}}, letters: "al"},

	// Thinking, in the open and through the server's own parsers.
	{name: "guard-think", says: plain("deny", "fixture thought").spoken("<think>", "let me see", "</think>", "DENY: after a thought"), letters: "d", template: thinking},
	{name: "guard-think-allow", says: plain("allow", "fixture thought").spoken("<think>", "ALLOW? let me see", "</think>", "ALLOW"), letters: "al", template: thinking},
	{name: "guard-think-parser", says: plain("deny", "fixture denies"), letters: "d", parser: "qwen3-thinking"},
	{name: "guard-harmony", says: plain("deny", "fixture denies"), letters: "d", parser: "harmony"},
}

// randomModel has weights drawn by chance.
const randomModel = "guard-random"

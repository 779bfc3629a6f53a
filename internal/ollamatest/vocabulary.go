package ollamatest

import (
	_ "embed"
	"fmt"
	"strings"
)

// merges are pairs of tokens that become one, the most frequent first, as
// byte-level BPE learns them; these were learnt from prose about commands. They
// make prompts three times shorter in tokens, and attention nine times quicker.
//
//go:embed merges.txt
var merges string

// Kinds of tokens, as GGUF numbers them. Text of the last two kinds is found
// anywhere in a prompt; nothing else than a control token ends a message.
const (
	kindNormal  int32 = 1
	kindControl int32 = 3
	kindUser    int32 = 4
)

// Tokens that every fixture knows; the template writes them.
const (
	tokenPad    = "<|endoftext|>"
	tokenStart  = "<|im_start|>"
	tokenEnd    = "<|im_end|>"
	tokenTools  = "<|tools|>" // tools are offered, and no tool has answered yet
	tokenCall   = "<tool_call>"
	tokenCalled = "</tool_call>"
)

// vocabulary is the tokens of one model: every byte, the tokens above, merged
// ones and what the model's script adds. Texts are unique: llama.cpp aborts the whole server
// where they are not.
type vocabulary struct {
	texts []string // as stored: bytes in GPT-2's letters, but for control and user tokens
	kinds []int32
	index map[string]int // stored text to token
}

func newVocabulary() *vocabulary {
	v := &vocabulary{index: map[string]int{}}
	for b := range 256 {
		v.add(string(letter(byte(b))), kindNormal)
	}
	for _, t := range []string{tokenPad, tokenStart, tokenEnd, tokenTools} {
		v.add(t, kindControl)
	}
	for _, t := range []string{tokenCall, tokenCalled} {
		v.add(t, kindUser)
	}
	for _, m := range v.merges() {
		v.add(strings.ReplaceAll(m, " ", ""), kindNormal)
	}
	return v
}

func (v *vocabulary) merges() []string { return strings.Split(strings.TrimSpace(merges), "\n") }

func (v *vocabulary) add(stored string, kind int32) int {
	if id, ok := v.index[stored]; ok {
		return id
	}
	id := len(v.texts)
	v.texts, v.kinds = append(v.texts, stored), append(v.kinds, kind)
	v.index[stored] = id
	return id
}

// piece is the token that says text: a special one of that text, or a new one.
// A second token of the same text is an error: a token has one successor.
func (v *vocabulary) piece(text string) (int, error) {
	if id, ok := v.index[text]; ok && v.kinds[id] != kindNormal {
		return id, nil
	}
	if _, ok := v.index[stored(text)]; ok {
		return 0, fmt.Errorf("%q is said twice", text)
	}
	return v.add(stored(text), kindNormal), nil
}

// stored is s in the letters in which byte-level vocabularies keep bytes.
func stored(s string) string {
	out := make([]rune, 0, len(s))
	for i := range len(s) {
		out = append(out, letter(s[i]))
	}
	return string(out)
}

// letter is the printable letter that GPT-2's vocabularies write for b: b
// itself where it is printable Latin-1, else the next free one from U+0100 on.
func letter(b byte) rune {
	switch {
	case b <= ' ':
		return 0x100 + rune(b)
	case b <= '~', b >= 0xA1 && b != 0xAD:
		return rune(b)
	case b == 0xAD:
		return 0x100 + 67
	}
	return 0x100 + 33 + rune(b-0x7F) // 0x7F to 0xA0
}

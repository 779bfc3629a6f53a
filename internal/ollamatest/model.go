package ollamatest

import (
	"fmt"
	"math"
	"math/rand"
)

// model is the script of one model: a machine whose last token decides what it
// says next. Of several things that it could say the first allowed one wins, so
// that under a grammar it says the next best.
type model struct {
	name string
	says answer
	// letters are bytes in order of preference, for grammars that forbid every
	// form of the answer (the choices of an enum).
	letters string
	// calls is what it says first where tools are offered and none has answered
	// yet; empty: the answer.
	calls []string
	// sights change the answer when one of their texts stands anywhere in the
	// prompt. A later one beats an earlier one.
	sights []sight
	// template renders the conversation; empty: the usual one.
	template string
	// parser names a parser that is built into the server; usually none.
	parser string
}

// answer is one thing to say, in the three forms that a caller may ask for, as
// one or more tokens each. A form that is empty is never said.
type answer struct {
	text []string
	// verdictFirst and reasonFirst are JSON objects with the properties in
	// either order; a grammar allows one of them.
	verdictFirst, reasonFirst string
	// forever is said again and again after text.
	forever []string
}

// sight is an answer for prompts in which a text is seen.
type sight struct {
	texts []string // tokens of their own
	says  answer
}

// The shape of every model: one layer, one head, a feed-forward part that does
// nothing.
const (
	width     = 128 // states at most
	headWidth = 32
	inner     = 32
)

// States that every model has: the dimensions into which tokens are embedded.
const (
	stateText  = iota // bytes and all that has no state of its own
	stateTools        // after <|tools|>
	stateJSON         // after JSON's punctuation, where no answer starts
	statesTaken
)

// machine is a model while it is built: which token leads to which state, and
// how much each state wants each token next.
type machine struct {
	*vocabulary
	states map[int]int // of tokens
	next   int         // the first free state
	wants  []want
	looks  []look
}

type want struct {
	state, token int
	weight       float32
}

// look is an attention to one sight: tokens embedded in state in add to state out.
type look struct{ in, out int }

// file returns the model as a GGUF file.
func (m model) file() ([]byte, error) {
	b := &machine{vocabulary: newVocabulary(), states: map[int]int{}, next: statesTaken}
	b.states[b.index[tokenTools]] = stateTools
	for _, c := range []byte(`{}[]":,`) {
		b.states[int(c)] = stateJSON
	}
	first, err := b.answer(m.says, stateText, 1)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.name, err)
	}
	if len(m.calls) > 0 {
		call, err := b.chain(m.calls, nil)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m.name, err)
		}
		b.want(stateTools, call, 1.1)
	}
	for i, token := range first { // also after <|tools|>, where nothing is called or a grammar forbids it
		b.want(stateTools, token, 1-0.02*float32(i))
	}
	for i, c := range []byte(`":,}` + m.letters) {
		for _, s := range []int{stateText, stateTools, stateJSON} {
			b.want(s, int(c), 0.8-0.02*float32(i))
		}
	}
	for _, s := range m.sights {
		in, out := b.state(), b.state()
		for _, text := range s.texts {
			b.states[b.add(text, kindUser)] = in
		}
		b.looks = append(b.looks, look{in, out})
		if _, err := b.answer(s.says, out, 3); err != nil {
			return nil, fmt.Errorf("model %s: %w", m.name, err)
		}
	}
	if b.next > width {
		return nil, fmt.Errorf("model %s needs %d states, there are %d", m.name, b.next, width)
	}
	return b.write(m.name)
}

func (b *machine) state() int {
	b.next++
	return b.next - 1
}

func (b *machine) want(state, token int, weight float32) {
	b.wants = append(b.wants, want{state, token, weight})
}

// answer makes state want the forms of a, the text most, and returns their first
// tokens in that order.
func (b *machine) answer(a answer, state int, weight float32) ([]int, error) {
	var first []int
	for _, form := range [][]string{a.text, {a.verdictFirst}, {a.reasonFirst}} {
		if len(form) == 0 || form[0] == "" {
			continue
		}
		var forever []string
		if len(first) == 0 {
			forever = a.forever
		}
		token, err := b.chain(form, forever)
		if err != nil {
			return nil, err
		}
		b.want(state, token, weight-0.02*float32(len(first)))
		first = append(first, token)
	}
	return first, nil
}

// chain adds tokens of which each wants the next, the last one the end of the
// message or, where forever is not empty, forever's first. It returns the first.
func (b *machine) chain(texts, forever []string) (int, error) {
	var ids []int
	for _, text := range append(append([]string(nil), texts...), forever...) {
		id, err := b.piece(text)
		if err != nil {
			return 0, err
		}
		ids = append(ids, id)
		b.states[id] = b.state()
	}
	for i, id := range ids {
		next := b.index[tokenEnd]
		switch {
		case i+1 < len(ids):
			next = ids[i+1]
		case len(forever) > 0:
			next = ids[len(texts)]
		}
		b.want(b.states[id], next, 4)
	}
	return ids[0], nil
}

// write turns the machine into matrices. A token's embedding is 1 in its state;
// a state's row in the output is what it wants. The two states in which an
// answer starts look for sights: query and key meet in the slowest rotating
// dimension of the head, and what is found is added to the state's own.
func (b *machine) write(name string) ([]byte, error) {
	w := newWeights(len(b.texts))
	for token := range b.texts {
		w.embedding[token*width+b.states[token]] = 1 // no state of its own: stateText
	}
	for _, e := range b.wants {
		w.output[e.token*width+e.state] = e.weight
	}
	one := float32(math.Sqrt(width)) // what normalising makes of a lone 1
	const meet = headWidth - 1
	for i, l := range b.looks {
		scale := float32(math.Sqrt(headWidth)) // attention divides by it
		w.query[meet*width+stateText] = scale / one
		w.query[meet*width+stateTools] = scale / one
		w.key[meet*width+l.in] = float32(30+10*i) / one
		w.value[i*width+l.in] = 1 / one
		w.mix[l.out*headWidth+i] = 1
	}
	return w.file(name, b.vocabulary)
}

// random returns a model of the same shape with weights drawn from seed.
func random(name string, seed int64) ([]byte, error) {
	v := newVocabulary()
	w := newWeights(len(v.texts))
	source := rand.New(rand.NewSource(seed))
	draw := func(values []float32, spread float64) {
		for i := range values {
			values[i] = float32(source.NormFloat64() * spread)
		}
	}
	draw(w.embedding, 1)
	draw(w.output, 0.2)
	for _, m := range [][]float32{w.query, w.key, w.value, w.mix, w.gate, w.up, w.down} {
		draw(m, 0.1)
	}
	return w.file(name, v)
}

package ollamatest

// contextLength is what every model declares, in tokens.
const contextLength = 32768

// weights are the matrices of one model, row by row of their output.
type weights struct {
	embedding, output      []float32
	query, key, value, mix []float32
	gate, up, down         []float32
}

func newWeights(tokens int) *weights {
	zeros := func(n int) []float32 { return make([]float32, n) }
	return &weights{
		embedding: zeros(tokens * width), output: zeros(tokens * width),
		query: zeros(headWidth * width), key: zeros(headWidth * width), value: zeros(headWidth * width), mix: zeros(width * headWidth),
		gate: zeros(width * inner), up: zeros(width * inner), down: zeros(inner * width),
	}
}

// file returns the model as a GGUF file of the llama architecture.
func (w *weights) file(name string, v *vocabulary) ([]byte, error) {
	ones := make([]float32, width)
	for i := range ones {
		ones[i] = 1
	}
	entries := []entry{
		{"general.architecture", "llama"},
		{"general.name", name},
		{"general.file_type", uint32(0)},
		{"general.quantization_version", uint32(2)},
		{"llama.context_length", uint32(contextLength)},
		{"llama.embedding_length", uint32(width)},
		{"llama.block_count", uint32(1)},
		{"llama.feed_forward_length", uint32(inner)},
		{"llama.attention.head_count", uint32(1)},
		{"llama.attention.head_count_kv", uint32(1)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-6)},
		{"llama.attention.key_length", uint32(headWidth)},
		{"llama.attention.value_length", uint32(headWidth)},
		{"llama.rope.dimension_count", uint32(headWidth)},
		{"llama.rope.freq_base", float32(1e12)}, // the last dimension does not rotate
		{"llama.vocab_size", uint32(len(v.texts))},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "qwen2"},
		{"tokenizer.ggml.tokens", v.texts},
		{"tokenizer.ggml.token_type", v.kinds},
		{"tokenizer.ggml.merges", v.merges()},
		{"tokenizer.ggml.bos_token_id", uint32(v.index[tokenPad])},
		{"tokenizer.ggml.eos_token_id", uint32(v.index[tokenEnd])},
		{"tokenizer.ggml.padding_token_id", uint32(v.index[tokenPad])},
		{"tokenizer.ggml.add_bos_token", false},
	}
	head := []uint64{width, headWidth}
	tokens := []uint64{width, uint64(len(v.texts))}
	return gguf(entries, []tensor{
		{"token_embd.weight", tokens, w.embedding},
		{"blk.0.attn_norm.weight", []uint64{width}, ones},
		{"blk.0.attn_q.weight", head, w.query},
		{"blk.0.attn_k.weight", head, w.key},
		{"blk.0.attn_v.weight", head, w.value},
		{"blk.0.attn_output.weight", []uint64{headWidth, width}, w.mix},
		{"blk.0.ffn_norm.weight", []uint64{width}, ones},
		{"blk.0.ffn_gate.weight", []uint64{width, inner}, w.gate},
		{"blk.0.ffn_up.weight", []uint64{width, inner}, w.up},
		{"blk.0.ffn_down.weight", []uint64{inner, width}, w.down},
		{"output_norm.weight", []uint64{width}, ones},
		{"output.weight", tokens, w.output},
	})
}

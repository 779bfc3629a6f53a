package ollamatest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// alignment of tensor data in a GGUF file, in bytes.
const alignment = 32

// entry is one key of a GGUF file's metadata. Its value is a uint32, float32,
// bool, string, []string or []int32.
type entry struct {
	key   string
	value any
}

// tensor is a matrix or vector of float32 in ggml's order: the first dimension
// is the one that lies together in memory.
type tensor struct {
	name string
	dims []uint64
	data []float32
}

// gguf returns a model file of GGUF version 3. A value of another type or a
// tensor whose data does not fill its dimensions is an error.
func gguf(entries []entry, tensors []tensor) ([]byte, error) {
	var w writer
	w.WriteString("GGUF")
	w.number(uint32(3))
	w.number(uint64(len(tensors)))
	w.number(uint64(len(entries)))
	for _, e := range entries {
		w.text(e.key)
		if err := w.value(e.value); err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
	}
	var offset uint64
	for _, t := range tensors {
		size := uint64(1)
		for _, d := range t.dims {
			size *= d
		}
		if size != uint64(len(t.data)) {
			return nil, fmt.Errorf("tensor %s has %d values for the dimensions %v", t.name, len(t.data), t.dims)
		}
		w.text(t.name)
		w.number(uint32(len(t.dims)))
		w.number(t.dims)
		w.number(uint32(0)) // float32
		w.number(offset)
		offset += (size*4 + alignment - 1) / alignment * alignment
	}
	w.align()
	for _, t := range tensors {
		w.number(t.data)
		w.align()
	}
	return w.Bytes(), nil
}

// writer collects a file; what it writes is little endian.
type writer struct{ bytes.Buffer }

// number writes a number or a slice of numbers of fixed size.
func (w *writer) number(n any) {
	_ = binary.Write(&w.Buffer, binary.LittleEndian, n) // fails for other types only
}

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.WriteString(s)
}

func (w *writer) align() {
	for w.Len()%alignment != 0 {
		w.WriteByte(0)
	}
}

// GGUF's numbers of types.
const (
	typeUint32  uint32 = 4
	typeInt32   uint32 = 5
	typeFloat32 uint32 = 6
	typeBool    uint32 = 7
	typeString  uint32 = 8
	typeArray   uint32 = 9
)

func (w *writer) value(v any) error {
	switch v := v.(type) {
	case uint32:
		w.number(typeUint32)
		w.number(v)
	case float32:
		w.number(typeFloat32)
		w.number(v)
	case bool:
		w.number(typeBool)
		w.number(v)
	case string:
		w.number(typeString)
		w.text(v)
	case []string:
		w.number(typeArray)
		w.number(typeString)
		w.number(uint64(len(v)))
		for _, s := range v {
			w.text(s)
		}
	case []int32:
		w.number(typeArray)
		w.number(typeInt32)
		w.number(uint64(len(v)))
		w.number(v)
	default:
		return fmt.Errorf("a value of type %T is not written", v)
	}
	return nil
}

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Operations of classic BPF that the filter uses (linux/bpf_common.h).
const (
	opLoad    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS   // A = the word at offset K
	opAnd     = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K  // A &= K
	opEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K  // A == K
	opAtLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K  // A >= K
	opAnyBit  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K // A & K != 0
	opReturn  = unix.BPF_RET | unix.BPF_K
)

// Offsets in struct seccomp_data (linux/seccomp.h). Of an argument only the low
// word is read, little endian, which is all of an int.
const (
	offCall = 0
	offArch = 4
	offArgs = 16
)

// assembler writes a classic BPF program with labels. The zero value is empty.
type assembler struct {
	code   []unix.SockFilter
	labels map[string]int
	jumps  []jump
}

// jump is an instruction whose targets are not known yet; "" is the next one.
type jump struct {
	at      int
	yes, no string
}

func (a *assembler) emit(op uint16, k uint32) {
	a.code = append(a.code, unix.SockFilter{Code: op, K: k})
}

func (a *assembler) load(offset uint32) { a.emit(opLoad, offset) }

// argument loads argument i of the call. The call's number is lost.
func (a *assembler) argument(i uint32) { a.load(offArgs + 8*i) }

// branch goes to yes where op holds for k, else to no; "" goes on.
func (a *assembler) branch(op uint16, k uint32, yes, no string) {
	a.jumps = append(a.jumps, jump{len(a.code), yes, no})
	a.emit(op, k)
}

// label names the place where the next instruction will stand.
func (a *assembler) label(name string) {
	if a.labels == nil {
		a.labels = map[string]int{}
	}
	a.labels[name] = len(a.code)
}

// assemble fills in the jumps. It fails where a label is missing, lies behind,
// or is out of reach of a jump, 255 instructions.
func (a *assembler) assemble() ([]unix.SockFilter, error) {
	distance := func(at int, name string) (uint8, error) {
		if name == "" {
			return 0, nil
		}
		to, ok := a.labels[name]
		if n := to - at - 1; ok && n >= 0 && n <= 255 {
			return uint8(n), nil
		}
		return 0, fmt.Errorf("seccomp: instruction %d cannot jump to %q", at, name)
	}
	for _, j := range a.jumps {
		var err error
		if a.code[j.at].Jt, err = distance(j.at, j.yes); err != nil {
			return nil, err
		}
		if a.code[j.at].Jf, err = distance(j.at, j.no); err != nil {
			return nil, err
		}
	}
	return a.code, nil
}

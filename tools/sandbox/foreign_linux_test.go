package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"handrail/internal/testkit"
)

// TestForeignArchitecture runs a program that asks for a user namespace by the
// i386 entry: without the filter it gets one, under it the program is killed.
func TestForeignArchitecture(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		testkit.Missing(t, "an amd64 processor", "a machine that has one")
	}
	program := filepath.Join(t.TempDir(), "i386call")
	if err := os.WriteFile(program, elf([]byte{
		0xb8, 0x36, 0x01, 0x00, 0x00, // mov eax, 310 (unshare)
		0xbb, 0x00, 0x00, 0x00, 0x10, // mov ebx, CLONE_NEWUSER
		0xcd, 0x80, // int 0x80
		0x89, 0xc7, // mov edi, eax
		0xf7, 0xdf, // neg edi
		0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit)
		0x0f, 0x05, // syscall
	}), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func() string {
		c := exec.Command(program)
		_ = c.Run()
		return fmt.Sprint(c.ProcessState)
	}
	var control string
	under(t, nil, func() { control = run() })
	if control != "exit status 0" {
		testkit.Missing(t, "the i386 entry of the kernel and user namespaces ("+control+")", "a kernel with CONFIG_IA32_EMULATION")
	}
	for _, f := range filters() {
		under(t, &f, func() {
			if got := run(); got != "signal: bad system call" && got != "signal: bad system call (core dumped)" {
				t.Errorf("%+v: %s", f, got)
			}
		})
	}
}

// elf is an x86-64 program of code.
func elf(code []byte) []byte {
	const base, header = 0x400000, 64 + 56
	b := []byte("\x7fELF\x02\x01\x01" + string(make([]byte, 9)))
	u16 := func(v ...uint16) { b, _ = binary.Append(b, binary.LittleEndian, v) }
	u32 := func(v ...uint32) { b, _ = binary.Append(b, binary.LittleEndian, v) }
	u64 := func(v ...uint64) { b, _ = binary.Append(b, binary.LittleEndian, v) }
	u16(2, 62)
	u32(1)
	u64(base+header, 64, 0)
	u32(0)
	u16(64, 56, 1, 0, 0, 0)
	size := uint64(header + len(code))
	u32(1, 5)
	u64(0, base, base, size, size, 0x1000)
	return append(b, code...)
}

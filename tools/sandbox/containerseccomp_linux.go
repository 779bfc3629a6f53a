package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// engineFilter is a seccomp profile as Docker and Podman read it. Their own lets
// commands make user namespaces (Podman), Unix and VSOCK sockets, and calls of
// other architectures. Source: the OCI runtime specification, config-linux.md,
// Seccomp; libseccomp compares all 64 bits of an argument.
type engineFilter struct {
	DefaultAction string       `json:"defaultAction"`
	Architectures []string     `json:"architectures"`
	Syscalls      []engineRule `json:"syscalls"`
}

// engineRule denies calls whose arguments fit all of Args.
type engineRule struct {
	Names    []string         `json:"names"`
	Action   string           `json:"action"`
	ErrnoRet syscall.Errno    `json:"errnoRet"`
	Args     []engineArgument `json:"args,omitempty"`
}

type engineArgument struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

// engineProfile returns the profile in the form that tier takes; Podman reads it
// from a file in state.
func engineProfile(tier Tier, state string) (string, error) {
	if engineArch == "" {
		return "", fmt.Errorf("no seccomp filter for %s", runtime.GOARCH)
	}
	text, err := json.Marshal(newEngineFilter())
	if err != nil || tier != Podman {
		return string(text), err
	}
	file := filepath.Join(state, fmt.Sprintf("seccomp-%d.json", os.Getpid()))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("the profile of containers: %w", err)
	}
	return file, nil
}

// newEngineFilter is the filter of a command with IP sockets, whose network
// namespace says whereto.
func newEngineFilter() *engineFilter {
	f := &engineFilter{DefaultAction: "SCMP_ACT_ALLOW", Architectures: []string{engineArch}}
	deny := func(errno syscall.Errno, name string, args ...engineArgument) {
		f.Syscalls = append(f.Syscalls, engineRule{[]string{name}, "SCMP_ACT_ERRNO", errno, args})
	}
	low := func(index uint, value uint64) engineArgument { // what the kernel sees of an int
		return engineArgument{index, 1<<32 - 1, value, "SCMP_CMP_MASKED_EQ"}
	}
	for _, calls := range [][]systemCall{deniedCalls, deniedHere} {
		for _, c := range calls {
			deny(unix.EPERM, c.name)
		}
	}
	deny(unix.ENOSYS, "clone3")
	for bit := uint64(1); bit != 0; bit <<= 1 {
		if bit&newNamespaces != 0 {
			deny(unix.EPERM, "clone", engineArgument{0, bit, bit, "SCMP_CMP_MASKED_EQ"})
		}
	}
	deny(unix.EPERM, "prctl", low(0, unix.PR_SET_PTRACER))
	for _, request := range []uint64{unix.TIOCSTI, tiocLinux} {
		deny(unix.EPERM, "ioctl", low(1, request))
	}
	deny(unix.EPERM, "socketpair", engineArgument{Index: 0, Value: unix.AF_UNIX, Op: "SCMP_CMP_NE"})
	for _, kind := range []uint64{unix.SOCK_DGRAM, unix.SOCK_RAW} { // see filter.pairs
		deny(unix.EPERM, "socketpair", engineArgument{1, 0xf, kind, "SCMP_CMP_MASKED_EQ"})
	}
	for family := uint64(0); family <= unix.AF_NETLINK; family++ { // one condition each: engines take several on one argument as alternatives
		if family != unix.AF_INET && family != unix.AF_INET6 && family != unix.AF_NETLINK {
			deny(unix.EPERM, "socket", engineArgument{Index: 0, Value: family, Op: "SCMP_CMP_EQ"})
		}
	}
	deny(unix.EPERM, "socket", engineArgument{Index: 0, Value: unix.AF_NETLINK, Op: "SCMP_CMP_GT"})
	deny(unix.EPERM, "socket", engineArgument{Index: 0, Value: unix.AF_NETLINK, Op: "SCMP_CMP_EQ"}, engineArgument{Index: 2, Value: unix.NETLINK_ROUTE, Op: "SCMP_CMP_NE"})
	return f
}

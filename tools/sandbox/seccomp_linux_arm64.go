package sandbox

import "golang.org/x/sys/unix"

// This table is built, and was never run.

// auditArch is the only architecture whose calls pass; that of 32 bits is another.
const auditArch = unix.AUDIT_ARCH_AARCH64

// engineArch is its name in the profiles of engines.
const engineArch = "SCMP_ARCH_AARCH64"

// foreignCalls: there is no second set of calls.
const foreignCalls = 0

// deniedHere are denied calls that not every architecture has.
var deniedHere = []systemCall{{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD}}

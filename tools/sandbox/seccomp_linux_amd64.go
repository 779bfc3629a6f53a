package sandbox

import "golang.org/x/sys/unix"

// auditArch is the only architecture whose calls pass; i386 by int 0x80 is another.
const auditArch = unix.AUDIT_ARCH_X86_64

// engineArch is its name in the profiles of engines.
const engineArch = "SCMP_ARCH_X86_64"

// foreignCalls is where the numbers of another set of calls begin, that of x32.
const foreignCalls = 0x40000000

// deniedHere are denied calls that not every architecture has.
var deniedHere = []systemCall{{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD}, {"iopl", unix.SYS_IOPL}, {"ioperm", unix.SYS_IOPERM}, {"uselib", unix.SYS_USELIB}, {"modify_ldt", unix.SYS_MODIFY_LDT}}

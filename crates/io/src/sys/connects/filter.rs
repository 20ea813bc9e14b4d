//! The filter by which the kernel asks. `seccompiler` makes filters, but none that notify; libseccomp is a library in C. It has six
//! instructions.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_int, c_long, sock_filter, sock_fprog};

use super::super::check;

/// `AUDIT_ARCH_…` of `linux/audit.h`; [`None`]: nobody has looked up the number.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// `struct seccomp_data`: the number of the system call, and the architecture.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// Has the calling thread, and what it starts, ask at each connect(2): where the notices come.
pub(super) fn filter() -> io::Result<OwnedFd> {
    let architecture = ARCHITECTURE.ok_or(io::ErrorKind::Unsupported)?;
    let load =
        |at| sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: at };
    let unless = |value, skip| sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: skip,
        k: value,
    };
    let end = |with| sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: with };
    let mut program = [
        load(ARCHITECTURE_AT),
        unless(architecture, 3),
        load(NUMBER_AT),
        unless(libc::SYS_connect as u32, 1),
        end(libc::SECCOMP_RET_USER_NOTIF),
        end(libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: `program` and what it points to live through the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            c_long::from(libc::SECCOMP_SET_MODE_FILTER),
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as c_long,
            &raw const program,
        )
    };
    let fd = check(fd as c_int)?;
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

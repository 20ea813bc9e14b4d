//! A program that begins in a control group.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::check;

/// Has the program be in a cgroup before it begins: `processes` is that group's `cgroup.procs`, open for writing.
pub fn begin_in(command: &mut Command, processes: File) {
    let join = move || -> io::Result<()> {
        // 0 is who writes it (cgroups(7)).
        let text = b"0";
        // SAFETY: the text lives through the call.
        let written = unsafe { libc::write(processes.as_raw_fd(), text.as_ptr().cast(), text.len()) };
        check(written as libc::c_int).map(drop)
    };
    // SAFETY: between fork(2) and exec(2) it makes a system call, and allocates nothing.
    unsafe { command.pre_exec(join) };
}

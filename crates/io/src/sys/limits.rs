//! A program that begins with other limits than whoever starts it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::check;

/// Has the program begin with these limits of open files (`RLIMIT_NOFILE` of getrlimit(2)): the soft one, and the hard one.
pub fn begin_with_files(command: &mut Command, soft: u64, hard: u64) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    let set = move || -> io::Result<()> {
        // SAFETY: the structure lives through the call.
        check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
    };
    // SAFETY: between fork(2) and exec(2) it makes a system call, and allocates nothing.
    unsafe { command.pre_exec(set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_limit_that_it_is_given() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -Sn; ulimit -Hn"]);
        begin_with_files(&mut command, 123, 234);
        assert_eq!(command.output().unwrap().stdout, b"123\n234\n");
    }
}

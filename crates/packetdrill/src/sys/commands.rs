//! The commands of a script: what they say of the link is the stack's, and `nstat` shows the stack's counters.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::tool;
use crate::shell::{self, Asked};

/// What wait(2) says of a command that ends by 1.
const FAILED: c_int = 1 << 8;

/// The C library's, for the tool's own commands: what they say of the link is the stack's, the rest the shell's.
#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    type System = unsafe extern "C" fn(*const c_char) -> c_int;
    // SAFETY: the C library has a function of that name and type; the command ends by a zero.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"system".as_ptr());
        if next.is_null() {
            return -1;
        }
        let next = std::mem::transmute::<*mut c_void, System>(next);
        if command.is_null() {
            return next(command);
        }
        let (asked, left) = match shell::heed(&CStr::from_ptr(command).to_string_lossy()) {
            Ok(heeded) => heeded,
            Err(why) => {
                eprintln!("handfast: {why}");
                return FAILED;
            }
        };
        for one in asked {
            match one {
                Asked::Queue(queue) => tool().call(|stack| stack.set_queue(queue)),
                Asked::Nothing => {}
            }
        }
        if left.contains("nstat") {
            show_counters();
        }
        let sets_option = left.contains("tcp_ecn_option");
        let ended = CString::new(left).map_or(-1, |left| next(left.as_ptr()));
        if sets_option {
            tool().call(crate::stack::Stack::heed_ecn_option);
        }
        ended
    }
}

/// Tells nstat(8) where the counters are: of the stack, not of the kernel. It remembers what it has shown in a file of this process.
fn show_counters() {
    let Some(directory) = DIRECTORY.get_or_init(begin_counters) else { return };
    let counters = tool().call(|stack| stack.counters().collect::<Vec<_>>());
    let line = |words: Vec<String>| format!("TcpExt: {}\n", words.join(" "));
    let names = line(counters.iter().map(|&(name, _)| name.to_owned()).collect());
    let values = line(counters.iter().map(|&(_, value)| value.to_string()).collect());
    let file = directory.join(COUNTERS);
    if let Err(error) = fs::write(&file, names + &values) {
        eprintln!("handfast: {}: nstat has no counters: {error}", file.display());
    }
}

/// Where its files are.
static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();

/// One of them.
const COUNTERS: &str = "netstat";

/// Makes a place for the files, until the process ends.
fn begin_counters() -> Option<PathBuf> {
    let directory = match private_directory() {
        Ok(directory) => directory,
        Err(error) => {
            eprintln!("handfast: {}: nstat has no counters: {error}", env::temp_dir().display());
            return None;
        }
    };
    // SAFETY: the script's thread alone runs commands and reads the environment; the function is called once, at the end.
    unsafe {
        env::set_var("PROC_NET_NETSTAT", directory.join(COUNTERS));
        env::set_var("NSTAT_HISTORY", directory.join("history"));
        libc::atexit(forget_counters);
    }
    Some(directory)
}

/// A new directory that only its owner enters: as root the tool follows no link that somebody else has laid.
fn private_directory() -> io::Result<PathBuf> {
    let owner = fs::Permissions::from_mode(0o700);
    Ok(tempfile::Builder::new().prefix("handfast-nstat-").permissions(owner).tempdir()?.keep())
}

extern "C" fn forget_counters() {
    if let Some(Some(directory)) = DIRECTORY.get() {
        // What cannot be removed stays.
        let _ = fs::remove_dir_all(directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_are_where_nobody_else_writes() {
        let [one, other] = [(); 2].map(|()| private_directory().unwrap());
        assert_ne!(one, other);
        for directory in [one, other] {
            let mode = fs::metadata(&directory).unwrap().permissions().mode();
            fs::remove_dir(directory).unwrap();
            assert_eq!(mode & 0o777, 0o700);
        }
    }
}

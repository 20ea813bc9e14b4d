//! The commands of a script: what they say of the link is the stack's, and `nstat` shows the stack's counters.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::PathBuf;
use std::sync::Once;

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
        CString::new(left).map_or(-1, |left| next(left.as_ptr()))
    }
}

/// Tells nstat(8) where the counters are: of the stack, not of the kernel. It remembers what it has shown in a file of this process.
fn show_counters() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        // SAFETY: the script's thread alone runs commands and reads the environment; the function is called once, at the end.
        unsafe {
            env::set_var("PROC_NET_NETSTAT", counters_file());
            env::set_var("NSTAT_HISTORY", history_file());
            libc::atexit(forget_counters);
        }
    });
    let counters = tool().call(|stack| stack.counters().collect::<Vec<_>>());
    let line = |words: Vec<String>| format!("TcpExt: {}\n", words.join(" "));
    let names = line(counters.iter().map(|&(name, _)| name.to_owned()).collect());
    let values = line(counters.iter().map(|&(_, value)| value.to_string()).collect());
    if let Err(error) = fs::write(counters_file(), names + &values) {
        eprintln!("handfast: {}: nstat has no counters: {error}", counters_file().display());
    }
}

fn counters_file() -> PathBuf {
    env::temp_dir().join(format!("handfast-netstat-{}", std::process::id()))
}

fn history_file() -> PathBuf {
    env::temp_dir().join(format!("handfast-nstat-{}", std::process::id()))
}

extern "C" fn forget_counters() {
    for file in [counters_file(), history_file()] {
        // It may never have been written.
        let _ = fs::remove_file(file);
    }
}

//! File descriptors: that there are enough is checked at the start, not when they run out.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Standard streams, epoll, timer, signals, a few listeners, a recording, and what the system takes besides.
pub(crate) const OWN: u64 = 24;
/// `INR_OPEN_CUR`: the soft limit of a process that nobody has told otherwise.
const USUAL: u64 = 1024;

/// How many files may be open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFiles {
    /// Now.
    pub(crate) soft: u64,
    /// At most, as the system allows.
    pub(crate) hard: u64,
    /// Before it was raised: what programs begin with that this one starts for others.
    pub(crate) before: u64,
}

/// Raises the soft limit to `wanted`, as far as that is allowed.
pub(crate) fn raise(wanted: u64) -> OpenFiles {
    // Where the question is forbidden: what Linux begins with.
    let (mut soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((USUAL, USUAL));
    let before = soft;
    if soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard).is_ok() {
        soft = wanted.min(hard);
    }
    OpenFiles { soft, hard, before }
}

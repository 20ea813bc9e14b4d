//! What libbpf-rs does not offer: a program at an interface by a link, which ends with the process.
#![expect(unsafe_code, reason = "a call of libbpf; it has a SAFETY comment")]

use std::io;
use std::ptr::{NonNull, null};

use libbpf_rs::{AsRawLibbpf, Link, ProgramMut};

/// Attaches a program of the section `tcx/…` after those that an interface has.
pub(super) fn attach(program: &ProgramMut<'_>, interface: i32) -> io::Result<Link> {
    // SAFETY: the program is loaded and lives through the call; options may be null.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), interface, null())
    };
    let link = NonNull::new(link).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { Link::from_ptr(link) })
}

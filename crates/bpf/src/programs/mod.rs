//! An object file of the kernel's programs: loaded, attached, its maps read and written.

#[cfg(not(feature = "ebpf"))]
mod absent;
#[cfg(feature = "ebpf")]
mod entry;
#[cfg(feature = "ebpf")]
mod loaded;
#[cfg(feature = "ebpf")]
mod tcx;

#[cfg(not(feature = "ebpf"))]
pub(crate) use absent::{Programs, delete, first_key, insert, lookup, take};
#[cfg(feature = "ebpf")]
pub(crate) use entry::{delete, first_key, insert, lookup, take};
#[cfg(feature = "ebpf")]
pub(crate) use loaded::Programs;

/// A key of a map, and its value.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// Why nothing can be loaded.
pub(crate) const MISSING: Option<&str> = if cfg!(feature = "ebpf") {
    None
} else {
    Some(
        "this handfastd was built without eBPF: install clang, libelf-dev and zlib1g-dev, and build it again \
         (make build, or cargo build --features ebpf)",
    )
};

/// What `build.rs` has made of a program.
macro_rules! object {
    ($name:literal) => {{
        #[cfg(feature = "ebpf")]
        let bytes: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".o"));
        #[cfg(not(feature = "ebpf"))]
        let bytes: &[u8] = &[];
        bytes
    }};
}
pub(crate) use object;

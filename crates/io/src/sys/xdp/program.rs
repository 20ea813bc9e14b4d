//! The program that an interface runs for each frame, and that gives it to a socket: bpf(2). It is five instructions, so no
//! library that loads programs from files is needed.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands and types of `linux/bpf.h`.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `linux/if_link.h`.
const FLAGS_SKB_MODE: u32 = 1 << 1;
const FLAGS_DRV_MODE: u32 = 1 << 2;
/// `XDP_PASS`: what no socket takes goes on to the host.
const PASS: i32 = 2;
/// `bpf_redirect_map`.
const REDIRECT_MAP: i32 = 51;
/// Where `struct xdp_md` has the queue.
const RX_QUEUE_INDEX: i16 = 16;

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the interface's driver, which has to know XDP.
    Native,
    /// In the kernel's stack, for any interface.
    Generic,
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
}

#[repr(C, align(8))]
struct MapUpdate {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
}

#[repr(C)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
}

/// `struct bpf_insn`.
#[repr(C)]
struct Instruction {
    code: u8,
    /// The destination in the low half, the source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A program at an interface. The kernel takes it off when the link is closed, also because the process was killed.
pub(super) struct Program {
    _link: OwnedFd,
    map: OwnedFd,
}

impl Program {
    /// At an interface that has no program yet.
    pub(super) fn attach(interface: u32, mode: XdpMode) -> io::Result<Self> {
        let create = MapCreate { map_type: MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, max_entries: 1 };
        let map = bpf_opening(MAP_CREATE, &create)?;
        let program = load(&map)?;
        let link = LinkCreate {
            prog_fd: program.as_raw_fd() as u32,
            target_ifindex: interface,
            attach_type: ATTACH_XDP,
            flags: match mode {
                XdpMode::Native => FLAGS_DRV_MODE,
                XdpMode::Generic => FLAGS_SKB_MODE,
            },
        };
        Ok(Self { _link: bpf_opening(LINK_CREATE, &link)?, map })
    }

    /// Frames of the first queue go to this socket from now on.
    pub(super) fn feed(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let (key, value) = (0_u32, socket.as_raw_fd() as u32);
        let update = MapUpdate {
            map_fd: self.map.as_raw_fd() as u32,
            padding: 0,
            key: (&raw const key) as u64,
            value: (&raw const value) as u64,
            flags: 0,
        };
        bpf(MAP_UPDATE_ELEM, &update).map(|_| ())
    }
}

fn load(map: &OwnedFd) -> io::Result<OwnedFd> {
    let program = [
        // r2 = the frame's queue
        Instruction { code: 0x61, registers: 0x12, offset: RX_QUEUE_INDEX, immediate: 0 },
        // r1 = the map (two instructions long)
        Instruction { code: 0x18, registers: 0x11, offset: 0, immediate: map.as_raw_fd() },
        Instruction { code: 0, registers: 0, offset: 0, immediate: 0 },
        // r3 = where there is no socket
        Instruction { code: 0xb7, registers: 0x03, offset: 0, immediate: PASS },
        Instruction { code: 0x85, registers: 0, offset: 0, immediate: REDIRECT_MAP },
        Instruction { code: 0x95, registers: 0, offset: 0, immediate: 0 },
    ];
    let load = ProgLoad {
        prog_type: PROG_TYPE_XDP,
        insn_cnt: program.len() as u32,
        insns: program.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buf: 0,
        kern_version: 0,
        prog_flags: 0,
    };
    bpf_opening(PROG_LOAD, &load)
}

fn bpf_opening<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: just opened, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    let (pointer, size) = (&raw const *attributes, size_of::<T>());
    // SAFETY: `attributes` is the beginning of what this command takes, `size` its size, and all that it points to lives
    // through the call; the kernel takes the rest for zeros.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size) };
    super::super::check(result as libc::c_int)
}

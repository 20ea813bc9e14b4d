//! Where frames are put that a system call takes from a packet(7) socket, and what it says of them.

use std::mem::{size_of, zeroed};
use std::ptr::null_mut;

use libc::{c_int, cmsghdr, iovec, mmsghdr, sockaddr_ll, timespec, tpacket_auxdata, tpacket2_hdr};

use super::arrival::{Arrival, BATCH, Interface, MAX_FRAME, MAX_UNCUT};

/// Bytes of `struct virtio_net_hdr` (`linux/virtio_net.h`).
pub(super) const OFFLOAD_HEADER: usize = 10;

/// Room for the control messages of a frame: a time stamp and packet(7)'s auxiliary data, with headers 80 bytes.
const CONTROL: usize = 128;

/// Aligned as control messages must be.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

#[derive(Clone, Copy, Default)]
struct Note {
    interface: Interface,
    at: Option<u64>,
    len: usize,
    checksum_missing: bool,
    tag: Option<[u8; 4]>,
    uncut: Option<u16>,
}

/// Where [`PacketSocket::receive`] puts frames; made once and used again.
pub struct Inbox {
    frames: Vec<Box<[u8]>>,
    /// What stands before each frame; empty where the socket says nothing of offloads.
    offloads: Vec<[u8; OFFLOAD_HEADER]>,
    /// For each message: its offloads and its frame.
    vectors: [[iovec; 2]; BATCH],
    addresses: [sockaddr_ll; BATCH],
    controls: [Control; BATCH],
    notes: [Note; BATCH],
    pub(super) received: usize,
}

// SAFETY: the pointers in `vectors` are written before every use and never read by anyone but the kernel within that call.
unsafe impl Send for Inbox {}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Inbox {
    /// Empty.
    pub fn new() -> Self {
        Self::with(MAX_FRAME, 0)
    }

    /// For [`PacketSocket::with_uncut`].
    pub fn for_uncut() -> Self {
        Self::with(MAX_UNCUT, BATCH)
    }

    fn with(longest: usize, offloads: usize) -> Self {
        // SAFETY: both are plain data for which zeros are valid.
        let (vectors, addresses) = unsafe { zeroed() };
        Self {
            frames: vec![vec![0; longest].into_boxed_slice(); BATCH],
            offloads: vec![[0; OFFLOAD_HEADER]; offloads],
            vectors,
            addresses,
            controls: [Control([0; CONTROL]); BATCH],
            notes: [Note::default(); BATCH],
            received: 0,
        }
    }

    /// The frames of the last [`PacketSocket::receive`], in the order in which they came.
    pub fn arrivals(&self) -> impl Iterator<Item = Arrival<'_>> {
        self.notes[..self.received].iter().zip(&self.frames).map(|(note, frame)| Arrival {
            interface: note.interface,
            at: note.at,
            frame: frame.get(..note.len),
            checksum_missing: note.checksum_missing,
            tag: note.tag,
            uncut: note.uncut,
        })
    }

    /// A header for each frame. They point into `self`, which must not move while they are used.
    pub(super) fn headers(&mut self) -> [mmsghdr; BATCH] {
        // SAFETY: plain data for which zeros are valid.
        let mut headers: [mmsghdr; BATCH] = unsafe { zeroed() };
        for (slot, header) in headers.iter_mut().enumerate() {
            let offload = self.offloads.get_mut(slot);
            let (before, before_len) =
                offload.map_or((null_mut(), 0), |before| (before.as_mut_ptr(), OFFLOAD_HEADER));
            let frame = &mut self.frames[slot];
            self.vectors[slot] = [
                iovec { iov_base: before.cast(), iov_len: before_len },
                iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() },
            ];
            let header = &mut header.msg_hdr;
            header.msg_name = (&raw mut self.addresses[slot]).cast();
            header.msg_namelen = size_of::<sockaddr_ll>() as u32;
            header.msg_iov = (&raw mut self.vectors[slot]).cast();
            header.msg_iovlen = 2;
            header.msg_control = (&raw mut self.controls[slot]).cast();
            header.msg_controllen = CONTROL as _;
        }
        headers
    }

    /// Takes from the headers, as the kernel has filled them, what there is to know.
    pub(super) fn note(&mut self, headers: &[mmsghdr]) {
        self.received = headers.len();
        for (slot, header) in headers.iter().enumerate() {
            let mut note = Note {
                interface: self.addresses[slot].sll_ifindex as Interface,
                // MSG_TRUNC: the frame's own length, even where that is more than there was room for.
                len: (header.msg_len as usize)
                    .saturating_sub(self.offloads.first().map_or(0, |before| before.len())),
                uncut: self.offloads.get(slot).and_then(uncut),
                ..Note::default()
            };
            for_each_control(header, |kind, data| match kind {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => note.at = read::<timespec>(data).map(nanos),
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    let Some(auxiliary) = read::<tpacket_auxdata>(data) else { return };
                    note.checksum_missing = auxiliary.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0;
                    note.tag = Tagged::from(&auxiliary).tag();
                }
                _ => {}
            });
            self.notes[slot] = note;
        }
    }
}

/// What a `struct virtio_net_hdr` in this machine's byte order says: `gso_type` and `gso_size`.
pub(super) fn uncut(&[_, kind, _, _, s0, s1, ..]: &[u8; OFFLOAD_HEADER]) -> Option<u16> {
    /// `VIRTIO_NET_HDR_GSO_NONE`.
    const NONE: u8 = 0;
    (kind != NONE).then(|| u16::from_ne_bytes([s0, s1]))
}

/// What the kernel says of the tag that it has taken off.
pub(super) struct Tagged {
    status: u32,
    kind: u16,
    control: u16,
}

impl From<&tpacket_auxdata> for Tagged {
    fn from(of: &tpacket_auxdata) -> Self {
        Self { status: of.tp_status, kind: of.tp_vlan_tpid, control: of.tp_vlan_tci }
    }
}

impl From<&tpacket2_hdr> for Tagged {
    fn from(of: &tpacket2_hdr) -> Self {
        Self { status: of.tp_status, kind: of.tp_vlan_tpid, control: of.tp_vlan_tci }
    }
}

impl Tagged {
    /// The tag, if there was one.
    pub(super) fn tag(&self) -> Option<[u8; 4]> {
        // packet(7): since Linux 3.14 the type is said too; before, it is 802.1Q's.
        let has_type = self.status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let kind = if has_type { self.kind } else { libc::ETH_P_8021Q as u16 };
        let ([t0, t1], [c0, c1]) = (kind.to_be_bytes(), self.control.to_be_bytes());
        (self.status & libc::TP_STATUS_VLAN_VALID != 0).then_some([t0, t1, c0, c1])
    }
}

fn nanos(time: timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A control message's level and type, and its data.
fn for_each_control(header: &mmsghdr, mut see: impl FnMut((c_int, c_int), &[u8])) {
    // SAFETY: the kernel has set `msg_controllen` to what it wrote to the control buffer, which still stands.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(&raw const header.msg_hdr) };
    // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give null or a whole header in the buffer; so does the length in it.
    while let Some(&cmsghdr { cmsg_len, cmsg_level, cmsg_type, .. }) = unsafe { message.as_ref() } {
        // SAFETY: takes no pointers.
        let len = cmsg_len.saturating_sub(unsafe { libc::CMSG_LEN(0) } as usize);
        // SAFETY: as above: `len` bytes follow the header in the buffer.
        let data = unsafe { std::slice::from_raw_parts(libc::CMSG_DATA(message), len) };
        see((cmsg_level, cmsg_type), data);
        // SAFETY: as above.
        message = unsafe { libc::CMSG_NXTHDR(&raw const header.msg_hdr, message) };
    }
}

/// The C structure at the start of `data`.
fn read<T: Plain>(data: &[u8]) -> Option<T> {
    // SAFETY: long enough, and any bytes are a value of a `Plain` type; unaligned reads are asked for.
    (data.len() >= size_of::<T>()).then(|| unsafe { data.as_ptr().cast::<T>().read_unaligned() })
}

/// C structures of integers.
trait Plain: Copy {}
impl Plain for timespec {}
impl Plain for tpacket_auxdata {}

//! Frames from and to interfaces: packet(7) sockets, many frames a system call.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use libc::{c_int, c_void, cmsghdr, iovec, mmsghdr, sockaddr_ll, timespec, tpacket_auxdata};
use nix::net::if_::if_nametoindex;

use super::check;

/// Frames that one system call moves at most.
pub const BATCH: usize = 32;
/// The longest frame handled: 9,216 bytes (what switches call jumbo) and an Ethernet header with a tag.
pub const MAX_FRAME: usize = 9_216 + 18;

/// The longest frame with [`PacketSocket::with_uncut`]: an IP packet of 65,535 bytes, and an Ethernet header with a tag.
pub const MAX_UNCUT: usize = 65_535 + 18;
/// Bytes of `struct virtio_net_hdr` (`linux/virtio_net.h`).
const OFFLOAD_HEADER: usize = 10;

/// Room for the control messages of a frame: a time stamp and packet(7)'s auxiliary data, with headers 80 bytes.
const CONTROL: usize = 128;
/// What the kernel keeps for a socket that is not read for a while, in bytes: seconds of traffic, so that losses come from
/// links and never from here.
const RECEIVE_BUFFER: c_int = 64 << 20;

/// `linux/if_packet.h`.
const PACKET_VNET_HDR: c_int = 15;

/// An interface's index (`if_nametoindex(3)`), valid in one namespace.
pub type Interface = u32;

/// A packet socket. It gets what others send to its interface, never what is sent through itself or by this host.
///
/// The kernel takes an 802.1Q tag off before a packet socket looks; [`Arrival::tag`] has it.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// A frame that came in.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// Where.
    pub interface: Interface,
    /// When the kernel got it, nanoseconds of `CLOCK_REALTIME`.
    pub at: Option<u64>,
    /// The frame, without frame check sequence; [`None`]: longer than [`MAX_FRAME`].
    pub frame: Option<&'a [u8]>,
    /// Its checksum was left for a network card to write: the sending interface has checksum offload on.
    pub checksum_missing: bool,
    /// The outermost 802.1Q tag, which is not in `frame` any more: type and control information, as they stand before the
    /// Ethernet type.
    pub tag: Option<[u8; 4]>,
    /// A card was to cut it into parts with so many bytes of payload; [`None`]: it is what it would be on a wire.
    pub uncut: Option<u16>,
}

/// What [`PacketSocket::send`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the interfaces took.
    pub frames: usize,
    /// Frames that they did not: interface down, or out of memory.
    pub refused: usize,
}

impl PacketSocket {
    /// On one interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there is no such interface, or without `CAP_NET_RAW`.
    pub fn on(interface: &str) -> io::Result<Self> {
        let index = index_of(interface)?;
        Self::open(index)
    }

    /// The same, which also gets the frames that a sender has left for its card to cut ([`Arrival::uncut`]). Nothing can be sent
    /// by it. Its inbox is [`Inbox::for_uncut`].
    ///
    /// # Errors
    /// As [`PacketSocket::on`].
    pub fn with_uncut(interface: &str) -> io::Result<Self> {
        let index = index_of(interface)?;
        let this = Self::unbound()?;
        this.set(libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        this.bind(index)?;
        Ok(this)
    }

    /// One that only sends.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub fn sender() -> io::Result<Self> {
        Self::unbound()
    }

    /// On all interfaces of the calling thread's namespace, those to come included.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub fn on_all() -> io::Result<Self> {
        Self::open(0)
    }

    fn open(interface: Interface) -> io::Result<Self> {
        let this = Self::unbound()?;
        this.bind(interface)?;
        Ok(this)
    }

    fn unbound() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Protocol 0: nothing arrives before `bind` says from where, and before the options are set.
        // SAFETY: takes no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: just opened, and nobody else's.
        let this = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        this.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        this.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        this.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        this.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // Beyond the system's limit where that is allowed (CAP_NET_ADMIN), up to it otherwise.
        this.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| this.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER))?;
        Ok(this)
    }

    fn set(&self, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
        let (pointer, len) = ((&raw const value).cast::<c_void>(), size_of::<c_int>() as u32);
        // SAFETY: `value` lives through the call and `len` is its size.
        check(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, option, pointer, len) }).map(|_| ())
    }

    /// Takes frames for all addresses from an interface, as a bridge does, for as long as the socket is open.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn take_all_from(&self, interface: Interface) -> io::Result<()> {
        // SAFETY: plain data for which zeros are valid.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = interface as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        let (pointer, len) =
            ((&raw const membership).cast::<c_void>(), size_of::<libc::packet_mreq>() as u32);
        let (fd, option) = (self.0.as_raw_fd(), libc::PACKET_ADD_MEMBERSHIP);
        // SAFETY: `membership` is what this option takes, and lives through the call.
        check(unsafe { libc::setsockopt(fd, libc::SOL_PACKET, option, pointer, len) }).map(|_| ())
    }

    /// The Ethernet address of its interface; [`None`]: it is on all interfaces, or on one of another kind.
    ///
    /// # Errors
    /// What getsockname(2) says.
    pub fn mac(&self) -> io::Result<Option<[u8; 6]>> {
        let mut address = address(0);
        let mut len = size_of::<sockaddr_ll>() as u32;
        // SAFETY: `address` lives through the call and `len` is its size.
        check(unsafe { libc::getsockname(self.0.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
        let [mac @ .., _, _] = address.sll_addr;
        Ok((address.sll_halen == 6).then_some(mac))
    }

    /// Frames that the kernel had no room to keep for us, since the last call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as u32;
        let pointer = (&raw mut statistics).cast::<c_void>();
        let (fd, option) = (self.0.as_raw_fd(), libc::PACKET_STATISTICS);
        // SAFETY: `statistics` is what this option writes, and `len` its size.
        check(unsafe { libc::getsockopt(fd, libc::SOL_PACKET, option, pointer, &raw mut len) })?;
        Ok(u64::from(statistics.tp_drops))
    }

    fn bind(&self, interface: Interface) -> io::Result<()> {
        let address = address(interface);
        let len = size_of::<sockaddr_ll>() as u32;
        // SAFETY: `address` lives through the call and `len` is its size.
        check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) }).map(|_| ())
    }

    /// Takes what has come in, [`BATCH`] frames at most, into `inbox`; true if there may be more. Never waits.
    ///
    /// # Errors
    /// What recvmmsg(2) says, such as an interface that went down (once).
    pub fn receive(&self, inbox: &mut Inbox) -> io::Result<bool> {
        inbox.received = 0;
        let mut headers = inbox.headers();
        let (pointer, len) = (headers.as_mut_ptr(), headers.len() as u32);
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: every header points into `inbox`, which is borrowed for as long as `headers` is used.
        let result = unsafe { libc::recvmmsg(self.0.as_raw_fd(), pointer, len, flags, null_mut()) };
        match check(result) {
            Ok(received) => inbox.note(&headers[..received as usize]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(inbox.received == BATCH)
    }

    /// Sends at most [`BATCH`] frames, each by its interface; what is beyond is not looked at. Never waits.
    pub fn send(&self, frames: &[(Interface, &[u8])]) -> Sent {
        let frames = &frames[..frames.len().min(BATCH)];
        // SAFETY: all three are plain data for which zeros are valid.
        let (mut addresses, mut vectors, mut headers): (
            [sockaddr_ll; BATCH],
            [iovec; BATCH],
            [mmsghdr; BATCH],
        ) = unsafe { zeroed() };
        for (slot, &(interface, frame)) in frames.iter().enumerate() {
            addresses[slot] = address(interface);
            vectors[slot] = iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            let header = &mut headers[slot].msg_hdr;
            header.msg_name = (&raw mut addresses[slot]).cast();
            header.msg_namelen = size_of::<sockaddr_ll>() as u32;
            header.msg_iov = &raw mut vectors[slot];
            header.msg_iovlen = 1;
        }
        self.send_all(&mut headers[..frames.len()])
    }

    fn send_all(&self, headers: &mut [mmsghdr]) -> Sent {
        let mut sent = Sent::default();
        while let Some(rest) = headers.get_mut(sent.frames + sent.refused..).filter(|rest| !rest.is_empty()) {
            let (pointer, len) = (rest.as_mut_ptr(), rest.len() as u32);
            // SAFETY: every header points to an address, a vector and a frame that outlive the call; sending writes to none
            // of them.
            let result = unsafe { libc::sendmmsg(self.0.as_raw_fd(), pointer, len, libc::MSG_DONTWAIT) };
            match check(result) {
                Ok(frames) if frames > 0 => sent.frames += frames as usize,
                // sendmmsg(2): an error means that the first one failed; the others still get their chance.
                _ => sent.refused += 1,
            }
        }
        sent
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The index of an interface in the calling thread's namespace.
///
/// # Errors
/// Where there is no such interface.
pub fn index_of(interface: &str) -> io::Result<Interface> {
    if_nametoindex(interface).map_err(|errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("interface `{interface}`: {error}"))
    })
}

fn address(interface: Interface) -> sockaddr_ll {
    // SAFETY: plain data for which zeros are valid.
    let mut address: sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as c_int;
    address
}

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
    received: usize,
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
    fn headers(&mut self) -> [mmsghdr; BATCH] {
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
    fn note(&mut self, headers: &[mmsghdr]) {
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
                    note.tag = tag(&auxiliary);
                }
                _ => {}
            });
            self.notes[slot] = note;
        }
    }
}

/// What a `struct virtio_net_hdr` in this machine's byte order says: `gso_type` and `gso_size`.
fn uncut(&[_, kind, _, _, s0, s1, ..]: &[u8; OFFLOAD_HEADER]) -> Option<u16> {
    /// `VIRTIO_NET_HDR_GSO_NONE`.
    const NONE: u8 = 0;
    (kind != NONE).then(|| u16::from_ne_bytes([s0, s1]))
}

/// The tag that the kernel has taken off.
fn tag(auxiliary: &tpacket_auxdata) -> Option<[u8; 4]> {
    // packet(7): since Linux 3.14 the type is said too; before, it is 802.1Q's.
    let has_type = auxiliary.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let kind = if has_type { auxiliary.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    let ([t0, t1], [c0, c1]) = (kind.to_be_bytes(), auxiliary.tp_vlan_tci.to_be_bytes());
    (auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0).then_some([t0, t1, c0, c1])
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

//! Writes pcapng files (draft-ietf-opsawg-pcapng) that Wireshark opens: one section, its interfaces, and packets with
//! nanosecond times.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use handfast_core::Instant;

use crate::{EmitError, LinkType, Packet};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// §4.1: written in the byte order of the file, so that a reader learns it.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const OPTION_END: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// §4.2 `if_tsresol`: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Why a packet was not recorded.
#[derive(Debug)]
pub enum PcapngError {
    /// The output failed.
    Io(io::Error),
    /// The packet has no form on the wire.
    Emit(EmitError),
    /// No interface has this number.
    Interface(Interface),
    /// The packet's frame does not begin as the interface's do.
    LinkType {
        /// What the interface was added with.
        interface: LinkType,
        /// How the packet's frame begins.
        packet: LinkType,
    },
}

impl fmt::Display for PcapngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Emit(error) => error.fmt(f),
            Self::Interface(interface) => {
                write!(f, "interface {}: expected one that this file describes", interface.0)
            }
            Self::LinkType { interface, packet } => {
                write!(f, "frame of link type {packet:?}: expected {interface:?}, as the interface was added")
            }
        }
    }
}

impl Error for PcapngError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Emit(error) => Some(error),
            Self::Interface(_) | Self::LinkType { .. } => None,
        }
    }
}

impl From<io::Error> for PcapngError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<EmitError> for PcapngError {
    fn from(error: EmitError) -> Self {
        Self::Emit(error)
    }
}

/// The number of an interface in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface(u32);

struct Description {
    link: LinkType,
    /// The most bytes of a frame that are kept.
    snap_len: Option<u32>,
}

/// A file being written. It makes small writes: give it a buffered output.
pub struct PcapngWriter<W: Write> {
    out: W,
    interfaces: Vec<Description>,
    /// The frame and the block in the making, reused from packet to packet.
    frame: Vec<u8>,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file: writes the section header.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: Vec::new(), frame: Vec::new(), block: Vec::new() };
        writer.u32(BYTE_ORDER_MAGIC);
        writer.u16(1);
        writer.u16(0);
        // §4.1: a section length of -1 says that it is not known.
        writer.block.extend_from_slice(&u64::MAX.to_le_bytes());
        writer.option(SHB_USERAPPL, b"handfast");
        writer.option(OPTION_END, b"");
        writer.finish_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Adds an interface. Of each of its frames the first `snap_len` bytes are kept; [`None`]: all of them.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add_interface(
        &mut self,
        name: &str,
        link: LinkType,
        snap_len: Option<u32>,
    ) -> io::Result<Interface> {
        // The registry of link types: LINKTYPE_ETHERNET is 1, LINKTYPE_RAW is 101.
        self.u16(match link {
            LinkType::Ethernet => 1,
            LinkType::RawIp => 101,
        });
        self.u16(0);
        // §4.2: 0 says that there is no limit; a limit of 0 bytes cannot be said, and 1 is as good.
        self.u32(snap_len.map_or(0, |len| len.max(1)));
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.option(OPTION_END, b"");
        self.finish_block(INTERFACE_DESCRIPTION)?;
        self.interfaces.push(Description { link, snap_len });
        Ok(Interface(self.interfaces.len() as u32 - 1))
    }

    /// Records that `packet` passed `interface` at `at`. The driver's epoch is shown as 1970-01-01.
    ///
    /// # Errors
    /// Those of the output, and a packet that cannot be emitted or does not fit the interface; nothing is then written.
    pub fn record(&mut self, interface: Interface, at: Instant, packet: &Packet) -> Result<(), PcapngError> {
        let expected = self.description(interface)?.link;
        let found = packet.link_type();
        if found != expected {
            return Err(PcapngError::LinkType { interface: expected, packet: found });
        }
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let result = packet
            .emit(&mut frame)
            .map_err(Into::into)
            .and_then(|()| self.record_frame(interface, at, &frame));
        self.frame = frame;
        result
    }

    /// Records the bytes of a frame that never was a [`Packet`].
    ///
    /// # Errors
    /// Those of the output, and an interface of another file.
    pub fn record_frame(
        &mut self,
        interface: Interface,
        at: Instant,
        frame: &[u8],
    ) -> Result<(), PcapngError> {
        let snap_len = self.description(interface)?.snap_len.map_or(usize::MAX, |len| len.max(1) as usize);
        let kept = &frame[..frame.len().min(snap_len)];
        self.u32(interface.0);
        self.u32((at.as_nanos() >> 32) as u32);
        self.u32(at.as_nanos() as u32);
        self.u32(kept.len() as u32);
        self.u32(frame.len() as u32);
        self.padded(kept);
        Ok(self.finish_block(ENHANCED_PACKET)?)
    }

    /// Flushes the output and hands it back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn description(&self, interface: Interface) -> Result<&Description, PcapngError> {
        self.interfaces.get(interface.0 as usize).ok_or(PcapngError::Interface(interface))
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    /// §3.5: an option's value is padded to 32 bits, its length does not count the padding.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// §3.1: type, total length, body, total length again.
    fn finish_block(&mut self, kind: u32) -> io::Result<()> {
        let len = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&len)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&len)?;
        self.block.clear();
        Ok(())
    }
}

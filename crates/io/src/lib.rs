//! Real time on Linux, for drivers of machines: the clock, timers, sockets and the loop that waits for them.
//!
//! A machine takes the time as an argument and returns its next deadline. A driver reads a [`Clock`], collects deadlines
//! in [`Timers`], and sleeps in [`wait`] (a few descriptors that change with each call) or in an [`EventLoop`] (many
//! sockets that stay). Nothing here knows a protocol.
#![cfg(target_os = "linux")]

mod accept;
mod clock;
mod credentials;
mod datagrams;
mod descriptor_store;
mod event_loop;
mod fast_open;
pub mod frame_io;
mod kernel_timer;
pub mod line_socket;
mod mptcp;
pub mod netlink;
mod source;
mod sys;
mod timers;
pub mod tls;
mod transparent;
mod wait;

pub use accept::next_connection;
pub use clock::{Clock, wall_ms};
pub use credentials::peer_user;
pub use datagrams::{Came, DatagramInbox, DatagramSocket};
pub use descriptor_store::{DescriptorStore, KeptFor};
pub use event_loop::{EventLoop, ReadOutcome, SourceId};
pub use fast_open::{accept_fast, connect_fast, is_under_way, takes_early_data};
pub use mio::{Interest, net};
pub use mptcp::{connect_mptcp, has_mptcp, listen_mptcp, mptcp_subflows};
pub use source::{addresses_beside, has_address, source_towards};
pub use sys::arrival::{Arrival, BATCH, Interface, MAX_FRAME, MAX_UNCUT};
pub use sys::cgroup::begin_in;
pub use sys::connects::{Attempt, Call, Connects, KeptConnects, Led, Starter};
pub use sys::ethtool::offloads_off;
pub use sys::inbox::Inbox;
pub use sys::inherited::hand_over;
pub use sys::kept_stream::{
    Standing, disconnect, forget, has_failed, keeps_octets, make_room, peek, peek_and_leave, peek_from,
    take_urgent,
};
pub use sys::limits::begin_with_files;
pub use sys::network_cookie::network_cookie;
pub use sys::packet_socket::{PacketSocket, Sent, index_of};
pub use sys::priority::real_time;
pub use sys::stream_options::{Liveliness, caps_timeout, end_on_close, reset_on_close};
pub use sys::tcp_info::TcpInfo;
pub use sys::xdp::XdpMode;
pub use timers::Timers;
pub use transparent::{TRANSPARENT_MARK, connect_from};
pub use wait::{Watch, wait};

//! Socket options: what is set before a connection is made goes into its configuration, what is set later changes it.

use std::net::IpAddr;

use handfast_core::{Bytes, Duration};
use handfast_tcp::{Config, CongestionControl, Nagle, ReceiveMemory};

use super::help::{self, Help};
use super::path_mtu::{Discovery, segment_in};
use super::routes::Way;
use super::{Errno, Fd, Kind, Stack, info};
use crate::{Settings, control};

/// What `TCP_MAXSEG` takes: `TCP_MIN_MSS` to `MAX_TCP_WINDOW`.
const MAXSEG: std::ops::RangeInclusive<i32> = 88..=32_767;
/// `net.core.wmem_max` and `rmem_max`, by default.
const MOST_BUFFER: u64 = 212_992;
/// `SOCK_MIN_SNDBUF` and `SOCK_MIN_RCVBUF`, about.
const LEAST_BUFFER: u64 = 4_608;
/// `tcp_rmem` by default.
const RECEIVE_BUFFERS: [u64; 3] = [4_096, 131_072, 6_291_456];
/// What of a receive buffer counts as window before anything has come, in 256ths.
const WINDOW_SHARE: u64 = 128;
/// `TCP_INQ`, which the C library's headers do not have everywhere.
const TCP_INQ: i32 = 36;
const TCP_CC_INFO: i32 = 26;
/// `TCP_RTO_MAX_MS`, and what it takes, milliseconds.
const TCP_RTO_MAX_MS: i32 = 44;
const RTO_MAX_MS: std::ops::RangeInclusive<i32> = 1_000..=120_000;
/// `tcp_fin_timeout` by default.
const FIN_TIMEOUT: Duration = Duration::from_secs(60);
const SO_ZEROCOPY: i32 = 60;
const SO_MEMINFO: i32 = 55;
/// Values of `SO_MEMINFO`, four octets each.
const MEMINFO_VALUES: usize = 9;

/// How long an orphan stays in FIN-WAIT-2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FinWait {
    /// As the namespace has it (`tcp_fin_timeout`).
    #[default]
    Default,
    /// So long.
    For(Duration),
    /// Not at all: it is reset.
    Never,
}

impl FinWait {
    /// `TCP_LINGER2`: seconds, at most `TCP_FIN_TIMEOUT_MAX`.
    fn of(seconds: i32) -> Self {
        match u64::try_from(seconds) {
            Ok(0) => Self::Default,
            Ok(seconds) => Self::For(Duration::from_secs(seconds.min(120))),
            Err(_) => Self::Never,
        }
    }
}

/// What is set of a socket; `None`: as the namespace has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    nodelay: bool,
    pub(super) cork: bool,
    pub(super) inq: bool,
    /// `SO_TIMESTAMPING`
    pub(super) timestamping: u32,
    max_segment: Option<u16>,
    pub(super) send_buffer: Option<u64>,
    receive_buffer: Option<u64>,
    receive_lowat: Option<u64>,
    pub(super) notsent_lowat: Option<u64>,
    /// Seconds; zero resets.
    pub(super) linger: Option<i32>,
    /// `TCP_LINGER2`
    fin_wait: FinWait,
    user_timeout_ms: i32,
    rto_max_ms: Option<i32>,
    pub(super) congestion_control: Option<CongestionControl>,
    keepalive: bool,
    keepalive_idle_s: Option<u64>,
    keepalive_interval_s: Option<u64>,
    keepalive_probes: Option<u8>,
    syn_retries: Option<u8>,
    /// `TCP_DEFER_ACCEPT`, in timeouts of the SYN-ACK.
    pub(super) defer_accept: u8,
    pub(super) help: Help,
    /// Others, which change nothing here, as they were set.
    noted: Vec<((i32, i32), i32)>,
}

impl Options {
    /// So many octets of a segment, or as many as were set.
    pub(super) fn at_most(&self, mss: u16) -> u16 {
        self.max_segment.map_or(mss, |most| most.min(mss))
    }

    /// The configuration of a connection to `remote` that begins now.
    pub(super) fn config(&self, settings: &Settings, way: &Way, remote: IpAddr, passive: bool) -> Config {
        let base = settings.config(self.at_most(segment_in(way.most, remote)), passive);
        let base = way.route.over(base);
        let (idle, keepalive_interval, keepalive_probes) = self.keepalive(settings);
        let control = self.congestion_control.unwrap_or(base.congestion_control);
        let own_buffer = self.receive_buffer.map(|octets| Bytes(octets * WINDOW_SHARE / 256));
        self.help.over(Config {
            nagle: self.nagle(),
            user_timeout: self.user_timeout(),
            rto_max: self.rto_max(settings),
            congestion_control: control,
            hystart: control::has_hystart(control),
            keepalive_idle: self.keepalive.then_some(idle),
            keepalive_interval,
            keepalive_probes,
            syn_retries: self.syn_retries.unwrap_or(base.syn_retries),
            receive_buffer: own_buffer.unwrap_or(base.receive_buffer),
            receive_autotuning: base.receive_autotuning && own_buffer.is_none(),
            ..base
        })
    }

    /// `tcp_fin_time`, without the bound by the RTO: [`None`], the connection is reset.
    pub(super) fn fin_wait(&self, settings: &Settings) -> Option<Duration> {
        match self.fin_wait {
            FinWait::Default => Some(settings.fin_timeout.map_or(FIN_TIMEOUT, Duration::from_secs)),
            FinWait::For(time) => Some(time),
            FinWait::Never => None,
        }
    }

    pub(super) fn is_kept_alive(&self) -> bool {
        self.keepalive
    }

    /// Silence before a probe, time between two, and how many.
    pub(super) fn keepalive(&self, settings: &Settings) -> (Duration, Duration, u8) {
        let idle = self.keepalive_idle_s.or(settings.keepalive_time).unwrap_or(7200);
        let interval = self.keepalive_interval_s.or(settings.keepalive_interval).unwrap_or(75);
        let probes = self.keepalive_probes.or(settings.keepalive_probes).unwrap_or(9);
        (Duration::from_secs(idle), Duration::from_secs(interval), probes)
    }

    pub(super) fn nagle(&self) -> Nagle {
        if self.nodelay { Nagle::Off } else { Nagle::Minshall }
    }

    pub(super) fn user_timeout(&self) -> Option<Duration> {
        let ms = u64::try_from(self.user_timeout_ms).ok().filter(|&ms| ms > 0);
        ms.map(Duration::from_millis)
    }

    /// `tcp_rto_max`
    pub(super) fn rto_max(&self, settings: &Settings) -> Duration {
        let own = self.rto_max_ms.and_then(|ms| u64::try_from(ms).ok());
        Duration::from_millis(own.or(settings.rto_max_ms).unwrap_or(120_000))
    }

    /// `tcp_set_rcvlowat`: one at least, and at most half of what the receive buffer can be.
    fn lowat(&self, settings: &Settings, value: i32) -> u64 {
        let most = self.receive_buffer.unwrap_or_else(|| settings.rmem.unwrap_or(RECEIVE_BUFFERS)[2]);
        u64::try_from(value).unwrap_or(u64::MAX).min(most / 2).max(1)
    }

    /// What the receive buffer of a connection is that begins now.
    pub(super) fn receive_memory(
        &self,
        settings: &Settings,
        mss: u16,
        headers: u64,
        joined: Option<u64>,
    ) -> ReceiveMemory {
        let [_, first, most] = settings.rmem.unwrap_or(RECEIVE_BUFFERS);
        let (buffer, locked) = (self.receive_buffer.unwrap_or(first), self.receive_buffer.is_some());
        let shrinks = settings.shrink_window.is_some_and(|value| value != 0);
        ReceiveMemory { buffer, most, locked, mss, headers, joined, shrinks }
    }

    /// `SO_RCVBUF`, if it was set.
    pub(super) fn receive_buffer(&self) -> Option<u64> {
        self.receive_buffer
    }

    /// `SO_RCVLOWAT`: octets that must wait before a read or a poll returns.
    pub(super) fn receive_lowat(&self) -> u64 {
        self.receive_lowat.unwrap_or(1)
    }

    /// `SO_OOBINLINE`
    pub(super) fn is_urgent_inline(&self) -> bool {
        self.is_on(libc::SO_OOBINLINE)
    }

    /// Whether an option of the socket that is on or off is on.
    pub(super) fn is_on(&self, name: i32) -> bool {
        self.noted(libc::SOL_SOCKET, name).is_some_and(|value| value != 0)
    }

    /// When what is read came.
    pub(super) fn wants_times(&self) -> bool {
        self.timestamping != 0 || self.is_on(libc::SO_TIMESTAMP) || self.is_on(libc::SO_TIMESTAMPNS)
    }

    fn set_socket(&mut self, settings: &Settings, name: i32, value: i32) -> Result<(), Errno> {
        let doubled = |most: Option<u64>| {
            let asked = u64::try_from(value).unwrap_or(0);
            Some((2 * asked.min(most.unwrap_or(MOST_BUFFER))).max(LEAST_BUFFER))
        };
        match name {
            libc::SO_SNDBUF => self.send_buffer = doubled(settings.wmem_max),
            libc::SO_RCVBUF => self.receive_buffer = doubled(settings.rmem_max),
            libc::SO_KEEPALIVE => self.keepalive = value != 0,
            libc::SO_REUSEADDR
            | libc::SO_REUSEPORT
            | SO_ZEROCOPY
            | libc::SO_PRIORITY
            | libc::SO_MARK
            | libc::SO_BROADCAST
            | libc::SO_TIMESTAMP
            | libc::SO_TIMESTAMPNS => self.note(libc::SOL_SOCKET, name, value),
            libc::SO_TIMESTAMPING => self.timestamping = value.cast_unsigned(),
            libc::SO_OOBINLINE => self.note(libc::SOL_SOCKET, name, i32::from(value != 0)),
            libc::SO_RCVLOWAT => self.receive_lowat = Some(self.lowat(settings, value)),
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(())
    }

    fn set_tcp(&mut self, name: i32, value: i32) -> Result<(), Errno> {
        let seconds = u64::try_from(value).ok().filter(|&s| s > 0).ok_or(Errno(libc::EINVAL));
        let count = u8::try_from(value).ok().filter(|&n| (1..=127).contains(&n)).ok_or(Errno(libc::EINVAL));
        match name {
            libc::TCP_NODELAY => self.nodelay = value != 0,
            libc::TCP_CORK => self.cork = value != 0,
            TCP_INQ if matches!(value, 0 | 1) => self.inq = value != 0,
            libc::TCP_MAXSEG if value == 0 => self.max_segment = None,
            libc::TCP_MAXSEG if MAXSEG.contains(&value) => self.max_segment = u16::try_from(value).ok(),
            libc::TCP_USER_TIMEOUT if value >= 0 => self.user_timeout_ms = value,
            TCP_RTO_MAX_MS if RTO_MAX_MS.contains(&value) => self.rto_max_ms = Some(value),
            libc::TCP_NOTSENT_LOWAT => self.notsent_lowat = Some(u64::from(value as u32)),
            libc::TCP_KEEPIDLE => self.keepalive_idle_s = Some(seconds?),
            libc::TCP_KEEPINTVL => self.keepalive_interval_s = Some(seconds?),
            libc::TCP_KEEPCNT => self.keepalive_probes = Some(count?),
            libc::TCP_SYNCNT => self.syn_retries = Some(count?),
            libc::TCP_DEFER_ACCEPT => self.defer_accept = deferral(value),
            libc::TCP_LINGER2 => self.fin_wait = FinWait::of(value),
            libc::TCP_QUICKACK | libc::TCP_WINDOW_CLAMP => {
                self.note(libc::IPPROTO_TCP, name, value);
            }
            TCP_INQ | TCP_RTO_MAX_MS | libc::TCP_MAXSEG | libc::TCP_USER_TIMEOUT => {
                return Err(Errno(libc::EINVAL));
            }
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(())
    }

    fn set_ip(&mut self, level: i32, name: i32, value: i32) -> Result<(), Errno> {
        let discovers = matches!(
            (level, name),
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER) | (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER)
        );
        if discovers && !(libc::IP_PMTUDISC_DONT..=libc::IP_PMTUDISC_OMIT).contains(&value) {
            return Err(Errno(libc::EINVAL));
        }
        self.note(level, name, value);
        Ok(())
    }

    fn note(&mut self, level: i32, name: i32, value: i32) {
        self.noted.retain(|&(key, _)| key != (level, name));
        self.noted.push(((level, name), value));
    }

    fn noted(&self, level: i32, name: i32) -> Option<i32> {
        self.noted.iter().find(|&&(key, _)| key == (level, name)).map(|&(_, value)| value)
    }

    /// An option that each version of IP has under a name of its own.
    fn noted_of(&self, is_v4: bool, v4: i32, v6: i32) -> Option<i32> {
        if is_v4 { self.noted(libc::IPPROTO_IP, v4) } else { self.noted(libc::IPPROTO_IPV6, v6) }
    }

    /// `IP_TOS` or `IPV6_TCLASS`: what packets are marked with, besides congestion.
    pub(super) fn traffic_class(&self, is_v4: bool) -> u8 {
        self.noted_of(is_v4, libc::IP_TOS, libc::IPV6_TCLASS)
            .and_then(|class| u8::try_from(class).ok())
            .unwrap_or(0)
    }

    /// `IP_MTU_DISCOVER` or `IPV6_MTU_DISCOVER`
    pub(super) fn discovery(&self, is_v4: bool) -> Discovery {
        Discovery::of(self.mtu_discover(is_v4))
    }

    /// `IP_PMTUDISC_DO`
    pub(super) fn never_fragments(&self, is_v4: bool) -> bool {
        self.mtu_discover(is_v4) == libc::IP_PMTUDISC_DO
    }

    /// `IP_RECVERR` or `IPV6_RECVERR`
    pub(super) fn wants_errors(&self, is_v4: bool) -> bool {
        self.noted_of(is_v4, libc::IP_RECVERR, libc::IPV6_RECVERR).is_some_and(|value| value != 0)
    }

    fn mtu_discover(&self, is_v4: bool) -> i32 {
        self.noted_of(is_v4, libc::IP_MTU_DISCOVER, libc::IPV6_MTU_DISCOVER).unwrap_or(libc::IP_PMTUDISC_WANT)
    }

    fn get_tcp(&self, name: i32) -> Option<i32> {
        let some = match name {
            libc::TCP_NODELAY => i32::from(self.nodelay),
            libc::TCP_CORK => i32::from(self.cork),
            TCP_INQ => i32::from(self.inq),
            libc::TCP_USER_TIMEOUT => self.user_timeout_ms,
            libc::TCP_NOTSENT_LOWAT => self.notsent_lowat.unwrap_or(0) as i32,
            libc::TCP_KEEPIDLE => self.keepalive_idle_s.unwrap_or(7200) as i32,
            libc::TCP_KEEPINTVL => self.keepalive_interval_s.unwrap_or(75) as i32,
            libc::TCP_KEEPCNT => i32::from(self.keepalive_probes.unwrap_or(9)),
            libc::TCP_SYNCNT => i32::from(self.syn_retries.unwrap_or(6)),
            libc::TCP_DEFER_ACCEPT => deferred_for(self.defer_accept),
            _ => return self.noted(libc::IPPROTO_TCP, name),
        };
        Some(some)
    }
}

impl Stack {
    pub(super) fn options(&mut self, fd: Fd) -> Result<&mut Options, Errno> {
        let id = self.stream_of(fd)?;
        match id.and_then(|id| self.connections.get_mut(&id)) {
            Some(connection) => Ok(&mut connection.options),
            None => self.sockets.get_mut(&fd).map(|socket| &mut socket.options).ok_or(Errno(libc::EBADF)),
        }
    }

    /// `setsockopt(2)`; `value` as the caller has it, in this machine's order of octets.
    ///
    /// # Errors
    /// The descriptor is none, or the option or its value is not known.
    pub fn set_option(&mut self, fd: Fd, level: i32, name: i32, value: &[u8]) -> Result<(), Errno> {
        let (settings, now) = (self.settings(), self.now);
        if (level, name) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
            self.check_numbering(fd, int(value)?.cast_unsigned())?;
        }
        let options = self.options(fd)?;
        match (level, name) {
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => {
                return self.set_control(fd, value);
            }
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let (on, seconds) = (int(value)?, int(value.get(4..).unwrap_or(&[]))?);
                options.linger = (on != 0).then_some(seconds);
                return Ok(());
            }
            _ => {}
        }
        // `do_ip_setsockopt`: options of IP may have one octet. (`do_ipv6_setsockopt` wants four.)
        let value = match value {
            &[octet] if level == libc::IPPROTO_IP => octet.into(),
            _ => int(value)?,
        };
        let mut told = None;
        match level {
            help::LEVEL => told = options.help.set(name, value)?,
            libc::SOL_SOCKET => options.set_socket(&settings, name, value)?,
            libc::IPPROTO_TCP => options.set_tcp(name, value)?,
            libc::IPPROTO_IP | libc::IPPROTO_IPV6 => options.set_ip(level, name, value)?,
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        if let Some(id) = self.stream_of(fd)? {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.apply_options(now);
                connection.set_stamps(connection.options.timestamping);
                if (level, name) == (libc::SOL_SOCKET, libc::SO_RCVBUF)
                    && let Some(octets) = connection.options.receive_buffer
                {
                    connection.tcp_mut().set_receive_memory_size(octets);
                }
                if let Some(told) = &told {
                    connection.tcp_mut().on_notification(now, told);
                }
            }
            self.after(id);
        }
        Ok(())
    }

    /// `getsockopt(2)`: as many octets as there are, `room` at most.
    ///
    /// # Errors
    /// The descriptor is none, or the option is not known.
    pub fn option(&mut self, fd: Fd, level: i32, name: i32, room: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = match (level, name) {
            (libc::IPPROTO_TCP, libc::TCP_INFO) => {
                let mut info = self.info(fd)?;
                // Newer fields than these are zero.
                info.resize(info.len().max(room), 0);
                info
            }
            (libc::IPPROTO_TCP, TCP_CC_INFO) => self.control_info(fd)?,
            (libc::SOL_SOCKET, SO_MEMINFO) => self.memory_info(fd)?,
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => self.control_of(fd)?.into(),
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let linger = self.options(fd)?.linger;
                let words = [i32::from(linger.is_some()), linger.unwrap_or(0)];
                words.into_iter().flat_map(i32::to_ne_bytes).collect()
            }
            _ => self.int_option(fd, level, name)?.to_ne_bytes().into(),
        };
        bytes.truncate(room);
        Ok(bytes)
    }

    fn int_option(&mut self, fd: Fd, level: i32, name: i32) -> Result<i32, Errno> {
        let unknown = Errno(libc::ENOPROTOOPT);
        match (level, name) {
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => self.segment_size(fd),
            (libc::IPPROTO_TCP, libc::TCP_LINGER2) => {
                let settings = self.settings();
                let time = self.options(fd)?.fin_wait(&settings);
                Ok(time.map_or(-1, |time| i32::try_from(time.as_millis() / 1000).unwrap_or(i32::MAX)))
            }
            (libc::IPPROTO_TCP, TCP_RTO_MAX_MS) => {
                let settings = self.settings();
                let time = self.options(fd)?.rto_max(&settings);
                Ok(i32::try_from(time.as_millis()).unwrap_or(i32::MAX))
            }
            (libc::IPPROTO_TCP, _) => self.options(fd)?.get_tcp(name).ok_or(unknown),
            (libc::IPPROTO_IP, libc::IP_MTU) | (libc::IPPROTO_IPV6, libc::IPV6_MTU) => self.path_mtu_of(fd),
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER) => Ok(self.options(fd)?.mtu_discover(true)),
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER) => Ok(self.options(fd)?.mtu_discover(false)),
            (help::LEVEL, _) => self.options(fd)?.help.get(name),
            (libc::SOL_SOCKET, libc::SO_ERROR) => Ok(self.take_error(fd)?),
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
                let first = self.settings().wmem.map_or(16_384, |[_, first, _]| first);
                Ok(self.options(fd)?.send_buffer.unwrap_or(first) as i32)
            }
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => {
                let [_, first, _] = self.settings().rmem.unwrap_or(RECEIVE_BUFFERS);
                let grown = self.stream_of(fd)?.and_then(|id| self.connections.get(&id));
                let grown = grown.map(|connection| connection.tcp().receive_memory().buffer);
                let set = self.options(fd)?.receive_buffer.or(grown);
                Ok(set.unwrap_or(first) as i32)
            }
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => Ok(self.options(fd)?.timestamping.cast_signed()),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => Ok(i32::from(self.options(fd)?.keepalive)),
            (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => Ok(self.options(fd)?.receive_lowat() as i32),
            (libc::SOL_SOCKET, libc::SO_OOBINLINE) => Ok(i32::from(self.options(fd)?.is_urgent_inline())),
            (libc::SOL_SOCKET, libc::SO_TYPE) => Ok(libc::SOCK_STREAM),
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => Ok(libc::IPPROTO_TCP),
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => {
                Ok(i32::from(matches!(self.socket_of(fd)?.kind, Kind::Listening(_))))
            }
            _ => self.options(fd)?.noted(level, name).or(default_of(level, name)).ok_or(unknown),
        }
    }

    /// `TCP_MAXSEG`: of a connection what a segment holds; before, what was set, or RFC 9293 §3.7.1's default.
    fn segment_size(&mut self, fd: Fd) -> Result<i32, Errno> {
        let id = self.stream_of(fd)?;
        if let Some(connection) = id.and_then(|id| self.connections.get(&id))
            && connection.is_open
        {
            return Ok(connection.tcp().smss() as i32);
        }
        Ok(self.options(fd)?.max_segment.unwrap_or(handfast_tcp::DEFAULT_MSS).into())
    }

    /// `SO_MEMINFO`: `sk_get_meminfo`.
    fn memory_info(&mut self, fd: Fd) -> Result<Vec<u8>, Errno> {
        let id = self.stream_of(fd)?;
        let mut values = [0; MEMINFO_VALUES];
        if let Some(connection) = id.and_then(|id| self.connections.get(&id)) {
            let receive = connection.tcp().receive_memory();
            (values[0], values[1]) = (receive.used, receive.buffer);
            (values[3], values[5]) = (connection.send_buffer(), connection.queued());
        }
        Ok(values
            .into_iter()
            .flat_map(|value| u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes())
            .collect())
    }

    fn take_error(&mut self, fd: Fd) -> Result<i32, Errno> {
        let id = self.stream_of(fd)?;
        let connection = id.and_then(|id| self.connections.get_mut(&id));
        Ok(connection.and_then(|connection| connection.error.take()).unwrap_or(0))
    }

    fn info(&mut self, fd: Fd) -> Result<Vec<u8>, Errno> {
        let now = self.now;
        let is_listening = matches!(self.socket_of(fd)?.kind, Kind::Listening(_));
        let id = self.stream_of(fd)?;
        let connection = id.and_then(|id| self.connections.get(&id));
        Ok(connection.map_or_else(|| info::unconnected(is_listening), |connection| info::of(connection, now)))
    }
}

/// Options that change nothing here, as the kernel has them before they are set.
fn default_of(level: i32, name: i32) -> Option<i32> {
    match (level, name) {
        (
            libc::SOL_SOCKET,
            libc::SO_REUSEADDR
            | libc::SO_REUSEPORT
            | libc::SO_PRIORITY
            | libc::SO_MARK
            | libc::SO_BROADCAST
            | libc::SO_TIMESTAMP
            | libc::SO_TIMESTAMPNS
            | SO_ZEROCOPY,
        )
        | (libc::IPPROTO_IP, libc::IP_TOS | libc::IP_RECVERR)
        | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS | libc::IPV6_RECVERR) => Some(0),
        (libc::SOL_SOCKET, libc::SO_SNDLOWAT) => Some(1),
        (libc::IPPROTO_IP, libc::IP_TTL) => Some(64),
        _ => None,
    }
}

/// How many timeouts of a SYN-ACK, of 1, 2, 4 s and so on, cover so many seconds (`secs_to_retrans`).
fn deferral(seconds: i32) -> u8 {
    if seconds <= 0 {
        0
    } else {
        (1..u8::MAX).find(|&timeouts| deferred_for(timeouts) >= seconds).unwrap_or(u8::MAX)
    }
}

/// `retrans_to_secs`: the time until so many timeouts have expired, seconds. None is longer than `TCP_RTO_MAX`, 120 s.
fn deferred_for(timeouts: u8) -> i32 {
    (0..timeouts).map(|n| (1 << n.min(7)).min(120)).sum()
}

fn int(value: &[u8]) -> Result<i32, Errno> {
    value.first_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes)).ok_or(Errno(libc::EINVAL))
}

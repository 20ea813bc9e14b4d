//! Paths: each a pair of our address and one of the peer's, with its own round-trip time, window and errors.

mod heartbeat;
mod rtt;
mod window;

use std::net::IpAddr;

use handfast_core::{Duration, Instant, Stream};

use crate::Config;

pub(crate) use heartbeat::Heartbeat;
pub(crate) use rtt::Rtt;
pub(crate) use window::{Ack, Window};

/// The most paths of an association; further addresses of a peer are ignored.
pub const MAX_PATHS: usize = 8;

/// What a session layer keeps of a path and restores: none of it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes.
    pub ssthresh: u64,
    /// Smoothed round-trip time and its variation; [`None`]: never measured.
    pub srtt: Option<(Duration, Duration)>,
}

/// A path, for whoever looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// Our address.
    pub local: IpAddr,
    /// The peer's.
    pub remote: IpAddr,
    /// New data leaves by it, while it is active.
    pub primary: bool,
    /// The peer has answered from there (§5.4).
    pub confirmed: bool,
    /// It has not more errors than Path.Max.Retrans (§8.2).
    pub active: bool,
    /// It is suspended.
    pub suspended: bool,
    /// Errors in a row.
    pub errors: u32,
    /// Bytes of DATA chunks outstanding.
    pub flight_size: u64,
    /// The RTO in force, back-off included.
    pub rto: Duration,
    /// What can be restored.
    pub state: PathState,
}

/// One path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) local: IpAddr,
    pub(crate) remote: IpAddr,
    pub(crate) confirmed: bool,
    pub(crate) active: bool,
    pub(crate) suspended: bool,
    pub(crate) window: Window,
    pub(crate) rtt: Rtt,
    /// T3-rtx.
    pub(crate) t3: Option<Instant>,
    /// §8.2.
    pub(crate) errors: u32,
    pub(crate) heartbeat: Heartbeat,
    /// When DATA left by it last.
    pub(crate) last_data: Instant,
    /// Its window was full when something could leave last (§7.2.1, §7.2.2). Several SACKs may come before that is again.
    pub(crate) was_full: bool,
}

impl Path {
    /// Whether DATA may go there (§5.4: to no address that is not confirmed).
    pub(crate) const fn is_usable(&self) -> bool {
        self.is_open() && self.active
    }

    /// The same, were it active.
    pub(crate) const fn is_open(&self) -> bool {
        self.confirmed && !self.suspended
    }

    /// What can be restored.
    pub(crate) fn state(&self) -> PathState {
        let srtt = self.rtt.srtt().zip(self.rtt.rttvar());
        PathState { cwnd: self.window.cwnd, ssthresh: self.window.ssthresh, srtt }
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match (self.t3, self.heartbeat.deadline()) {
            (Some(a), Some(b)) => Some(if a.as_nanos() < b.as_nanos() { a } else { b }),
            (a, None) => a,
            (None, b) => b,
        }
    }
}

/// All paths of an association; there is at least one.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    all: Vec<Path>,
    primary: usize,
    /// All addresses of the peer: there may be some without a path.
    remote: Vec<IpAddr>,
}

impl Paths {
    /// A path for each pair of addresses. Both slices have at least one.
    pub(crate) fn new(now: Instant, config: &Config, local: &[IpAddr], remote: &[IpAddr]) -> Self {
        let pmdcs = pmdcs(config, remote);
        let path = |(local, remote): (IpAddr, IpAddr)| Path {
            local,
            remote,
            confirmed: false,
            active: true,
            suspended: false,
            window: Window::new(pmdcs, remote.is_ipv6(), config.slow_start_limit.max(1)),
            rtt: Rtt::new(config),
            t3: None,
            errors: 0,
            heartbeat: Heartbeat::Off,
            last_data: now,
            was_full: false,
        };
        Self {
            all: pairs(local, remote).into_iter().map(path).collect(),
            primary: 0,
            remote: remote.to_vec(),
        }
    }

    pub(crate) fn all(&self) -> &[Path] {
        &self.all
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Path] {
        &mut self.all
    }

    pub(crate) fn get(&self, path: usize) -> &Path {
        &self.all[path]
    }

    pub(crate) fn get_mut(&mut self, path: usize) -> &mut Path {
        &mut self.all[path]
    }

    pub(crate) const fn primary(&self) -> usize {
        self.primary
    }

    pub(crate) fn set_primary(&mut self, path: usize) {
        self.primary = path;
    }

    /// Whether it is one of the peer's addresses.
    pub(crate) fn knows(&self, address: IpAddr) -> bool {
        self.remote.contains(&address)
    }

    /// The path by which a packet came; if none has both addresses, one that has the peer's.
    pub(crate) fn find(&self, from: IpAddr, to: IpAddr) -> Option<usize> {
        let exact = self.all.iter().position(|path| path.remote == from && path.local == to);
        exact.or_else(|| self.all.iter().position(|path| path.remote == from))
    }

    /// Where new data goes (§6.4): by the primary path while it is active, else by another one that is; where none is, by one that
    /// might be again. [`None`]: all are suspended or not confirmed.
    pub(crate) fn for_data(&self) -> Option<usize> {
        self.first_from(self.primary, Path::is_usable)
            .or_else(|| self.first_from(self.primary, Path::is_open))
    }

    /// Where what has timed out on `path` goes (§6.4.1): by another path that is active.
    pub(crate) fn alternate(&self, path: usize) -> Option<usize> {
        self.first_from((path + 1) % self.all.len(), Path::is_usable).or_else(|| self.for_data())
    }

    /// Where a chunk goes again that SACKs report missing (§6.4): by the path that it was sent on.
    pub(crate) fn same(&self, path: usize) -> Option<usize> {
        if self.all[path].is_usable() { Some(path) } else { self.for_data() }
    }

    fn first_from(&self, start: usize, is: impl Fn(&Path) -> bool) -> Option<usize> {
        let count = self.all.len();
        (start..start + count).map(|n| n % count).find(|&n| is(&self.all[n]))
    }

    /// The next path for a control chunk that got no answer on `path`.
    pub(crate) fn next(&self, path: usize) -> usize {
        let start = (path + 1) % self.all.len();
        self.first_from(start, |path| !path.suspended && path.active).unwrap_or(start)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.all.iter().filter_map(Path::deadline).min()
    }

    /// No timer runs any more.
    pub(crate) fn stop(&mut self) {
        for path in &mut self.all {
            (path.t3, path.heartbeat) = (None, Heartbeat::Off);
        }
    }

    /// Sets every confirmed path's first heartbeat, and asks those at once that are not (§5.4).
    pub(crate) fn start_heartbeats(&mut self, now: Instant, config: &Config, random: &mut Stream) {
        for path in &mut self.all {
            path.heartbeat = if path.confirmed {
                Heartbeat::later(now, path.rtt.rto(), config.heartbeat_interval, random)
            } else {
                Heartbeat::Next(now)
            };
        }
    }
}

/// The first of our addresses with the first of the peer's, the second with the second; what is left over on one side with the other's
/// addresses from the first on again. (§1.3 has paths by the peer's addresses alone: docs/explanation/deviations.md.) No packet leads
/// from IPv4 to IPv6: each family has its pairs, that of the handshake first.
fn pairs(local: &[IpAddr], remote: &[IpAddr]) -> Vec<(IpAddr, IpAddr)> {
    let family = |of: &[IpAddr], v6: bool| -> Vec<IpAddr> {
        of.iter().copied().filter(|address| address.is_ipv6() == v6).collect()
    };
    let first = remote[0].is_ipv6();
    let mut pairs = Vec::new();
    for v6 in [first, !first] {
        let (ours, theirs) = (family(local, v6), family(remote, v6));
        let count = if ours.is_empty() || theirs.is_empty() { 0 } else { ours.len().max(theirs.len()) };
        pairs.extend((0..count).map(|n| (ours[n % ours.len()], theirs[n % theirs.len()])));
    }
    if pairs.is_empty() {
        // A driver that does not know its own addresses.
        pairs.push((local[0], remote[0]));
    }
    pairs.truncate(MAX_PATHS);
    pairs
}

/// PMDCS: what is left of an IP packet for a DATA chunk. All paths have the same, of the family that leaves less.
pub(crate) fn pmdcs(config: &Config, remote: &[IpAddr]) -> u64 {
    let header = if remote.iter().any(IpAddr::is_ipv6) { 40 } else { 20 };
    // §7.3 needs room for a DATA chunk; IPv6 guarantees 1,280 bytes, IPv4 in practice 576.
    let packet = config.mtu.get().clamp(576, 65_535) - header;
    (packet - handfast_wire::sctp::HEADER_LEN as u64) / 4 * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(n: u8) -> IpAddr {
        [10, 0, 0, n].into()
    }

    fn v6(n: u16) -> IpAddr {
        [0x2001, 0xdb8, 0, 0, 0, 0, 0, n].into()
    }

    #[test]
    fn addresses_make_paths_within_their_family() {
        let mixed = pairs(&[v4(1), v6(1), v4(2)], &[v6(9), v4(9)]);
        assert_eq!(mixed, [(v6(1), v6(9)), (v4(1), v4(9)), (v4(2), v4(9))]);
        assert_eq!(pairs(&[v4(1)], &[v4(9), v6(9)]), [(v4(1), v4(9))]);
        assert_eq!(pairs(&[v4(1)], &[v6(9)]), [(v4(1), v6(9))], "there is a path at least");
        let many: Vec<_> = (0..7).map(v4).chain((0..7).map(v6)).collect();
        assert_eq!(pairs(&many, &many).len(), MAX_PATHS);
    }
}

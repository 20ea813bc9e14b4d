//! The largest packet that the path carries: what ICMP tells of it (RFC 1191, RFC 8201), and packetization-layer discovery (RFC 4821),
//! which finds it by probes where nothing tells. As Linux has them (`tcp_sync_mss`, `tcp_mtu_probe`, `tcp_mtu_probing`).
//!
//! Sizes are octets of a segment without options, as in the MSS option: the packet less 40 octets with IPv4, 60 with IPv6.

use handfast_core::{Duration, Instant, SeqNum};

use crate::send::scoreboard::DUP_THRESH;

/// The least that a segment is cut down to (`tcp_min_snd_mss`).
const LEAST: u16 = 48;
/// Linux's `tcp_mtu_probe`: cwnd has so many segments at least.
const LEAST_WINDOW: u64 = 11;

/// How packetization-layer path MTU discovery goes about it ([`crate::Endpoint::set_mtu_probing`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuProbing {
    /// From the beginning; else once timeouts point to a black hole (`tcp_mtu_probing`: 2 and 1).
    pub always: bool,
    /// Payload of a segment to begin with, octets (`tcp_base_mss`).
    pub base: u16,
    /// The least payload that a black hole brings segments down to, octets (`tcp_mtu_probe_floor`).
    pub floor: u16,
    /// The search ends where its bounds are closer, octets (`tcp_probe_threshold`).
    pub threshold: u16,
    /// After that time it begins anew (`tcp_probe_interval`; RFC 4821 §7.3).
    pub interval: Duration,
    /// Repetitions without an answer for so long mean a black hole (RFC 4821 §7.7; `tcp_retries1` as a time).
    pub patience: Duration,
}

impl Default for MtuProbing {
    /// Linux's values, with probing of black holes only.
    fn default() -> Self {
        Self {
            always: false,
            base: 1024,
            floor: LEAST,
            threshold: 8,
            interval: Duration::from_secs(600),
            // `tcp_model_timeout`: 2^(3+1) - 1 times 200 ms.
            patience: Duration::from_secs(3),
        }
    }
}

/// A probe that is under way: octets of the send stream.
#[derive(Clone, Copy, Debug)]
struct Probe {
    start: u64,
    end: u64,
}

/// RFC 4821 §7.1: `search_low`, `search_high` and the probe.
#[derive(Clone, Copy, Debug)]
struct Search {
    how: MtuProbing,
    enabled: bool,
    low: u16,
    high: u16,
    probe: Option<Probe>,
    /// When it began.
    since: Instant,
    /// When the first timeout in a row expired.
    silent: Option<Instant>,
}

/// What a sender knows of the largest packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMtu {
    /// What the peer takes, and our link (`mss_clamp`).
    most: u16,
    /// What the path carries, as far as it is known (`icsk_pmtu_cookie`).
    path: u16,
    /// The same before anybody was connected to.
    path_before: u16,
    /// What options take of each segment.
    options: u16,
    search: Option<Search>,
    /// The search bounds segments. As in Linux, a passive opener ignores the search until the first change of the path MTU, and the
    /// search what the path is known to carry (`tcp_v4_syn_recv_sock` settles `mss_cache` before `tcp_init_transfer` begins the search).
    heeds_search: bool,
    /// A probe is about to leave: which segment was the last small one. A probe does not count as a small segment
    /// (`tcp_minshall_update`).
    pub(crate) small_before: Option<SeqNum>,
}

/// What a probe depends on, octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) now: Instant,
    pub(crate) smss: u64,
    pub(crate) cwnd: u64,
    pub(crate) in_flight: u64,
    /// By how many a segment may be overtaken (`tp->reordering`).
    pub(crate) reordering: u64,
    /// Written and not sent.
    pub(crate) unsent: u64,
    /// The peer's window, and what of it is left behind SND.NXT.
    pub(crate) window: u64,
    pub(crate) window_left: u64,
}

/// What becomes of what would leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It leaves as usual.
    GoOn,
    /// It waits until the windows have room for a probe.
    Wait,
    /// A probe of so many octets of payload goes.
    Probe(u64),
}

impl PathMtu {
    /// Nothing is known yet but the size of segments as they are.
    pub(crate) fn new(most: u16, options: u16) -> Self {
        Self {
            most,
            path: u16::MAX,
            path_before: u16::MAX,
            options,
            search: None,
            heeds_search: true,
            small_before: None,
        }
    }

    /// The handshake has settled what the peer takes. `passive`: it has connected to us.
    pub(crate) fn settle(&mut self, now: Instant, most: u16, options: u16, passive: bool) {
        (self.most, self.options, self.heeds_search) = (most, options, !passive);
        self.path_before = self.path;
        if let Some(search) = self.search.map(|search| search.how) {
            self.probe(now, search);
        }
        if let Some(search) = self.search.as_mut().filter(|_| passive) {
            search.high = most;
        }
    }

    /// Linux's `tcp_mtup_init`.
    pub(crate) fn probe(&mut self, now: Instant, how: MtuProbing) {
        let low = how.base.saturating_add(self.options);
        let enabled = how.always;
        self.search =
            Some(Search { how, enabled, low, high: self.known(), probe: None, since: now, silent: None });
    }

    /// The path carries segments of so many octets: a probe of more would be lost for certain (`tcp_sync_mss` lowers `search_high`).
    pub(crate) fn set_path(&mut self, octets: u16) {
        self.path = octets;
        if let Some(search) = &mut self.search {
            search.high = search.high.min(octets);
        }
    }

    /// The most that the peer takes and the path is known to carry.
    fn known(&self) -> u16 {
        self.most.min(self.path)
    }

    /// There is no peer any more: what the path carries is what was known before.
    pub(crate) fn forget_peer(&mut self) {
        self.path = self.path_before;
    }

    /// The search bounds segments from now on.
    pub(crate) fn heed_search(&mut self) {
        self.heeds_search = true;
    }

    /// Payload of a full segment (`tcp_sync_mss`).
    pub(crate) fn smss(&self) -> u64 {
        let searched = self
            .search
            .filter(|search| search.enabled && self.heeds_search)
            .map_or(u16::MAX, |search| search.low);
        let whole = self.known().min(searched).max(LEAST);
        u64::from(whole.saturating_sub(self.options).max(1))
    }

    /// RFC 4821 §7.4 to §7.6, as `tcp_mtu_probe` asks.
    pub(crate) fn decide(&mut self, room: &Room) -> Decision {
        let (options, most) = (self.options, self.known());
        let now_whole = (room.smss as u16).saturating_add(options);
        let Some(search) = self.search.as_mut().filter(|s| s.enabled && s.probe.is_none()) else {
            return Decision::GoOn;
        };
        if room.cwnd < LEAST_WINDOW * room.smss {
            return Decision::GoOn;
        }
        let (low, high) = (search.low, search.high);
        let size = u64::from(u16::midpoint(low, high).saturating_sub(options));
        if low > high || high - low < search.how.threshold.max(1) {
            search.begin_anew(room.now, now_whole, most);
            return Decision::GoOn;
        }
        // Enough must follow for its loss to be found by duplicates.
        let needed = size + (room.reordering.max(u64::from(DUP_THRESH)) + 1) * room.smss;
        if room.unsent < needed || room.window < needed {
            return Decision::GoOn;
        }
        let drained = room.in_flight == 0;
        if room.window_left < needed || room.in_flight + 2 * room.smss > room.cwnd && !drained {
            return Decision::Wait;
        }
        if room.in_flight + 2 * room.smss > room.cwnd { Decision::GoOn } else { Decision::Probe(size) }
    }

    /// A probe leaves.
    pub(crate) fn sent(&mut self, start: u64, end: u64) {
        if let Some(search) = &mut self.search {
            search.probe = Some(Probe { start, end });
        }
    }

    /// SND.UNA has advanced. Where that acknowledges the probe, this returns its payload in octets, and the
    /// search goes on above (`tcp_mtup_probe_success`).
    pub(crate) fn acknowledged(&mut self, una: u64) -> Option<u64> {
        let (options, path) = (self.options, self.path);
        let search = self.search.as_mut()?;
        search.silent = None;
        let probe = search.probe.take_if(|probe| probe.end <= una)?;
        search.low = ((probe.end - probe.start) as u16).saturating_add(options);
        search.high = search.high.min(path);
        Some(probe.end - probe.start)
    }

    /// Something is lost, the first octet outstanding is `una`. If that is the probe, this returns its end: the path does not carry it, and
    /// there is no congestion (RFC 4821 §7.5; `tcp_mtup_probe_failed`).
    pub(crate) fn fails(&mut self, una: u64) -> Option<u64> {
        let options = self.options;
        let search = self.search.as_mut()?;
        let probe = search.probe.take_if(|probe| probe.start == una)?;
        search.high = ((probe.end - probe.start) as u16).saturating_add(options).saturating_sub(1);
        Some(probe.end)
    }

    /// Something goes again: what becomes of the probe tells nothing (RFC 4821 §7.6.4).
    pub(crate) fn sent_again(&mut self) {
        if let Some(search) = &mut self.search {
            search.probe = None;
        }
    }

    /// A timeout; `first`: the first timeout since an acknowledgement. RFC 4821 §7.7: whether the path looks like a black hole, which makes segments smaller
    /// (`tcp_mtu_probing`).
    pub(crate) fn on_timeout(&mut self, now: Instant, first: bool) -> bool {
        let options = self.options;
        let Some(search) = &mut self.search else { return false };
        let since = *search.silent.get_or_insert(now);
        if first {
            search.silent = Some(now);
            return false;
        }
        if now.since(since) < search.how.patience {
            return false;
        }
        if search.enabled {
            let half = search.low.saturating_sub(options) >> 1;
            search.low = half.min(search.how.base).max(search.how.floor).max(LEAST).saturating_add(options);
        } else {
            (search.enabled, search.since) = (true, now);
        }
        true
    }
}

impl Search {
    /// `tcp_mtu_check_reprobe`: the path may carry more by now.
    fn begin_anew(&mut self, now: Instant, low: u16, high: u16) {
        if now.since(self.since) >= self.how.interval {
            *self = Self { low, high, probe: None, since: now, ..*self };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(1000);

    /// A path of 1460 octets, timestamps off, probed from the beginning.
    fn path() -> PathMtu {
        let mut path = PathMtu::new(1460, 0);
        path.probe(NOW, MtuProbing { always: true, ..MtuProbing::default() });
        path
    }

    fn room() -> Room {
        Room {
            now: NOW,
            smss: 1024,
            cwnd: 11 * 1024,
            in_flight: 0,
            reordering: 3,
            unsent: 60_000,
            window: 60_000,
            window_left: 60_000,
        }
    }

    #[test]
    fn segments_are_as_large_as_peer_path_and_search_allow() {
        assert_eq!(PathMtu::new(1460, 12).smss(), 1448);
        let mut path = path();
        assert_eq!(path.smss(), 1024);
        path.set_path(512);
        assert_eq!(path.smss(), 512);
        path.set_path(8);
        assert_eq!(path.smss(), 48, "tcp_min_snd_mss");
    }

    #[test]
    fn a_probe_lies_in_the_middle_and_waits_for_room() {
        for (change, expected) in [
            (room(), Decision::Probe(1242)),
            (Room { cwnd: 10 * 1024, ..room() }, Decision::GoOn),
            (Room { unsent: 1242 + 4 * 1024 - 1, ..room() }, Decision::GoOn),
            (Room { unsent: 1242 + 4 * 1024, ..room() }, Decision::Probe(1242)),
            (Room { reordering: 5, unsent: 1242 + 4 * 1024, ..room() }, Decision::GoOn),
            (Room { window: 5000, ..room() }, Decision::GoOn),
            (Room { window_left: 5000, ..room() }, Decision::Wait),
            (Room { in_flight: 10 * 1024, ..room() }, Decision::Wait),
            (Room { in_flight: 9 * 1024, ..room() }, Decision::Probe(1242)),
        ] {
            assert_eq!(path().decide(&change), expected, "{change:?}");
        }
    }

    #[test]
    fn the_search_halves_until_its_bounds_are_close() {
        let mut path = path();
        let mut sizes = Vec::new();
        // The path carries 1300 octets.
        while let Decision::Probe(size) = path.decide(&Room { smss: path.smss(), cwnd: 1 << 20, ..room() }) {
            path.sent(1, 1 + size);
            assert_eq!(path.decide(&room()), Decision::GoOn, "one at a time");
            if size <= 1300 {
                assert_eq!(path.acknowledged(1 + size), Some(size));
            } else {
                assert_eq!((path.fails(2), path.fails(1)), (None, Some(1 + size)));
            }
            sizes.push(size);
        }
        assert_eq!(sizes, [1242, 1351, 1296, 1323, 1309, 1302]);
        assert_eq!(path.smss(), 1296);
    }

    #[test]
    fn no_probe_is_larger_than_the_path_is_known_to_carry() {
        let mut path = path();
        path.set_path(600);
        let late = Room { now: NOW + Duration::from_secs(600), smss: 600, cwnd: 1 << 20, ..room() };
        assert_eq!(path.decide(&Room { now: NOW, ..late }), Decision::GoOn);
        assert_eq!(path.decide(&late), Decision::GoOn, "it begins anew");
        assert_eq!(path.search.map(|search| (search.low, search.high)), Some((600, 600)));
        path.probe(NOW, MtuProbing { always: true, base: 500, ..MtuProbing::default() });
        assert_eq!(path.decide(&late), Decision::Probe(550));
    }

    #[test]
    fn a_search_whose_bounds_meet_is_over_whatever_its_threshold() {
        let mut path = path();
        path.probe(NOW, MtuProbing { always: true, base: 1460, threshold: 0, ..MtuProbing::default() });
        assert_eq!(path.decide(&Room { smss: 1460, cwnd: 1 << 20, ..room() }), Decision::GoOn);
    }

    #[test]
    fn it_begins_anew_after_ten_minutes() {
        let mut path = path();
        path.search = path.search.map(|search| Search { low: 1455, ..search });
        let late = Room { now: NOW + Duration::from_secs(600), smss: 1455, cwnd: 1 << 20, ..room() };
        assert_eq!(path.decide(&Room { now: NOW + Duration::from_secs(599), ..late }), Decision::GoOn);
        path.search = path.search.map(|search| Search { high: 1456, ..search });
        assert_eq!(path.decide(&late), Decision::GoOn);
        assert_eq!(path.search.map(|search| (search.low, search.high)), Some((1455, 1460)));
    }

    #[test]
    fn a_black_hole_halves_the_segments() {
        let mut path = PathMtu::new(1460, 12);
        let at = |ms| NOW + Duration::from_millis(ms);
        path.probe(NOW, MtuProbing::default());
        assert_eq!(path.smss(), 1448);
        for (ms, first, found, smss) in [
            (0, true, false, 1448),
            (2999, false, false, 1448),
            (3000, false, true, 1024),
            (7000, false, true, 512),
            (15_000, false, true, 256),
        ] {
            assert_eq!((path.on_timeout(at(ms), first), path.smss()), (found, smss), "{ms} ms");
        }
        path.acknowledged(5);
        assert!(!path.on_timeout(at(20_000), true));
    }

    #[test]
    fn a_repetition_leaves_a_probe_inconclusive() {
        let mut path = path();
        path.sent(1, 1243);
        path.sent_again();
        assert_eq!((path.acknowledged(1243), path.fails(1)), (None, None));
    }
}

//! The ID-oriented socket layer over an association, after [iosl]: an association has one ID, and what its path had is stored and restored.
//!
//! A layer whose host loses an address moves the association to the next one. Layers at both ends tell each other, by messages on a
//! stream of the association: who sends learns that way that an address of its peer is gone.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use handfast_core::{BitRate, Duration, Instant};
use handfast_sctp::{Association, MAX_PATHS, Message, PathState, PathStatus};

/// The stream of what layers tell each other; that before it is the application's.
pub(super) const LAYER: u16 = 1;

/// Bytes of an ID.
pub const ID_LEN: usize = 16;

/// ID, what has happened, the address, the rate of its radio.
const LEN: usize = ID_LEN + 1 + 16 + 8;

/// What a layer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The association's ID.
    pub id: [u8; ID_LEN],
    /// Whether it knows the radio of its host, and so tells its peer.
    pub tells: bool,
    /// Whether the next path begins with the state of the one before.
    pub restores: bool,
    /// By which part of the bandwidth-delay product a restored window may exceed it.
    pub mu_permille: u16,
}

/// An address of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Own(IpAddr),
    Peers(IpAddr),
}

impl End {
    fn is_of(self, path: &PathStatus) -> bool {
        match self {
            Self::Own(address) => path.local == address,
            Self::Peers(address) => path.remote == address,
        }
    }
}

/// The layer at one end of an association.
#[derive(Debug)]
pub(super) struct Layer {
    rules: Rules,
    /// What the radio of an address carries; [`None`]: the address is gone.
    radios: BTreeMap<End, Option<BitRate>>,
    /// The path that carried data when its address went, and what it had: nothing has taken its place yet.
    stored: Option<(usize, PathState)>,
    /// What the peer is to be told.
    news: VecDeque<Bytes>,
    /// The ID that the peer's layer has used first.
    peer: Option<[u8; ID_LEN]>,
    /// How often the association has moved.
    pub(super) moves: u64,
}

impl Layer {
    pub(super) fn new(rules: Rules) -> Self {
        let (radios, news) = (BTreeMap::new(), VecDeque::new());
        Self { rules, radios, stored: None, news, peer: None, moves: 0 }
    }

    /// The radio of an address of ours carries so much; [`None`]: it has gone.
    pub(super) fn on_radio(
        &mut self,
        now: Instant,
        address: IpAddr,
        rate: Option<BitRate>,
        association: Option<&mut Association>,
    ) {
        if self.rules.tells {
            self.news.push_back(tell(&self.rules.id, address, rate));
            // Of what it could not say the newest counts.
            while self.news.len() > 2 * MAX_PATHS {
                self.news.pop_front();
            }
        }
        self.note(now, End::Own(address), rate, association);
    }

    /// The peer's layer says something. What is malformed, or has another ID than before, says nothing.
    pub(super) fn on_message(&mut self, now: Instant, message: &[u8], association: &mut Association) {
        let Some((id, address, rate)) = understand(message) else { return };
        let paths = (0..association.path_count()).filter_map(|path| association.path(path));
        if *self.peer.get_or_insert(id) == id && paths.into_iter().any(|path| path.remote == address) {
            self.note(now, End::Peers(address), rate, Some(association));
        }
    }

    /// Writes what waits to be told.
    pub(super) fn write_news(&mut self, association: &mut Association) {
        while let Some(data) = self.news.front() {
            let message = Message { stream: LAYER, data: data.clone(), ..Message::default() };
            if association.data_path().is_none() || association.write(message).is_err() {
                break;
            }
            self.news.pop_front();
        }
    }

    fn note(&mut self, now: Instant, end: End, rate: Option<BitRate>, association: Option<&mut Association>) {
        let before = self.radios.insert(end, rate);
        let Some(association) = association else { return };
        match rate {
            None if before != Some(None) => self.leave(now, end, association),
            Some(_) if before == Some(None) => self.come(now, end, association),
            _ => {}
        }
    }

    /// [iosl] §VI.A: "It stores the transport layer parameters", and suspends.
    fn leave(&mut self, now: Instant, end: End, association: &mut Association) {
        for (path, status) in paths(association, end) {
            if association.data_path() == Some(path) && self.stored.is_none() {
                self.stored = Some((path, status.state));
            }
            association.suspend(path);
        }
        self.go_on(now, association);
    }

    /// An address is there again. Data stays where it is: a second move would cost another round trip.
    fn come(&mut self, now: Instant, end: End, association: &mut Association) {
        for (path, _) in paths(association, end) {
            association.resume(now, path);
        }
        self.go_on(now, association);
    }

    /// What was stored goes on by the path that data can take now, if there is one.
    fn go_on(&mut self, now: Instant, association: &mut Association) {
        let Some(next) = association.data_path() else { return };
        let Some((from, stored)) = self.stored.take() else { return };
        self.moves += 1;
        association.set_primary(next);
        if let Some(state) = association.path(next).filter(|_| self.rules.restores) {
            association.restore(now, next, self.bounded(&state, &stored));
            association.spread(now, next);
        }
        association.reroute(from);
    }

    /// The stored window, no more than the next path carries: bw · rtt and `mu` of it ([iosl] equation (1), Algorithm 1). A round trip
    /// that was measured there counts, and else that of the path before.
    fn bounded(&self, next: &PathStatus, stored: &PathState) -> PathState {
        let srtt = next.state.srtt.or(stored.srtt);
        let ends = [End::Own(next.local), End::Peers(next.remote)];
        let rates = ends.iter().filter_map(|end| self.radios.get(end).copied().flatten());
        let carried = rates.min().zip(srtt).map(|(rate, (srtt, _))| {
            let bdp = bytes_in(rate, srtt);
            bdp + bdp / 1000 * u64::from(self.rules.mu_permille)
        });
        PathState { cwnd: carried.map_or(stored.cwnd, |most| stored.cwnd.min(most)), srtt, ..*stored }
    }
}

/// The paths that have an address.
fn paths(association: &Association, end: End) -> Vec<(usize, PathStatus)> {
    let all = (0..association.path_count()).filter_map(|path| Some((path, association.path(path)?)));
    all.filter(|(_, status)| end.is_of(status)).collect()
}

fn bytes_in(rate: BitRate, time: Duration) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// What a layer tells its peer of a radio.
fn tell(id: &[u8; ID_LEN], address: IpAddr, rate: Option<BitRate>) -> Bytes {
    let mut data = BytesMut::with_capacity(LEN);
    data.put_slice(id);
    data.put_u8(u8::from(rate.is_some()));
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    data.put_slice(&address.octets());
    data.put_u64(rate.map_or(0, BitRate::as_bps));
    data.freeze()
}

/// Reads it; [`None`]: a layer says nothing like that.
fn understand(mut data: &[u8]) -> Option<([u8; ID_LEN], IpAddr, Option<BitRate>)> {
    if data.len() != LEN {
        return None;
    }
    let (mut id, mut address) = ([0; ID_LEN], [0; 16]);
    data.copy_to_slice(&mut id);
    let is_there = data.get_u8();
    data.copy_to_slice(&mut address);
    let rate = data.get_u64();
    let address = Ipv6Addr::from(address).to_canonical();
    match (is_there, rate) {
        (0, 0) => Some((id, address, None)),
        (1, 1..) => Some((id, address, Some(BitRate::from_bps(rate)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_layer_tells_is_understood_and_nothing_else_is() {
        let (id, v4, v6) =
            ([7; ID_LEN], IpAddr::from([10, 0, 0, 1]), IpAddr::from([0x2001, 0, 0, 0, 0, 0, 0, 1]));
        for (address, rate) in [(v4, None), (v6, None), (v4, Some(BitRate::from_bps(50_000_000)))] {
            assert_eq!(understand(&tell(&id, address, rate)), Some((id, address, rate)));
        }
        let right = tell(&id, v4, None);
        assert_eq!(understand(&right[..LEN - 1]), None);
        assert_eq!(understand(&[&right[..], &[0]].concat()), None);
        for (at, byte) in [(ID_LEN, 2), (ID_LEN, 1), (LEN - 1, 1)] {
            let mut wrong = right.to_vec();
            wrong[at] = byte;
            assert_eq!(understand(&wrong), None, "{at} {byte}");
        }
    }

    #[test]
    fn a_rate_and_a_round_trip_make_a_window() {
        assert_eq!(bytes_in(BitRate::from_bps(20_000_000), Duration::from_millis(44)), 110_000);
        assert_eq!(bytes_in(BitRate::from_bps(u64::MAX), Duration::MAX), u64::MAX);
    }
}

//! The paths of a session, each with an epoch: one in use, and while it migrates another one.
//!
//! Epochs only rise. The end that has opened the session dials odd ones and the other even ones, so that two dials that cross
//! differ: at both ends the higher one wins, and the path with the lower one is dropped.

use handfast_core::{Duration, Instant};

use crate::iosl::frame::{Reason, varint};

/// What was said on one path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) epoch: u64,
    /// The offset that goes out next here: each path carries all that the peer had not got when it began.
    pub(super) next: u64,
    pub(super) has_end: bool,
    /// Offset and credit of the last acknowledgment.
    pub(super) told: (u64, u64),
    /// An acknowledgment is due whether or not it says something new: it shows that this end uses the path.
    pub(super) is_new: bool,
    /// What the peer was told, and has told.
    pub(super) is_suspended: bool,
    pub(super) is_suspended_by_peer: bool,
    pub(super) has_expire: bool,
    pub(super) has_windows: bool,
    since: Instant,
}

impl Path {
    fn new(now: Instant, epoch: u64, next: u64, is_new: bool) -> Self {
        Self {
            epoch,
            next,
            has_end: false,
            told: (0, 0),
            is_new,
            is_suspended: false,
            is_suspended_by_peer: false,
            has_expire: false,
            has_windows: false,
            since: now,
        }
    }
}

/// When to dial.
#[derive(Clone, Debug)]
struct Redial {
    at: Instant,
    wait: Duration,
    range: [Duration; 2],
}

#[derive(Debug)]
pub(super) struct Paths {
    is_opener: bool,
    /// Both ends have used it.
    current: Option<Path>,
    /// The peer has asked for it and this end has answered; who has asked may have copied the peer's message, and show no key.
    candidate: Option<Path>,
    /// This end has asked for it.
    dialling: Option<u64>,
    /// No epoch up to here is taken again.
    highest: u64,
    /// The last that this end has dialled; of its own parity.
    dialled: u64,
    redial: Redial,
    /// Epochs of paths that are over, for the driver to close.
    over: Vec<u64>,
}

impl Paths {
    /// None. `is_opener`: of the session.
    pub(super) fn new(now: Instant, is_opener: bool, redial: [Duration; 2]) -> Self {
        Self {
            is_opener,
            current: None,
            candidate: None,
            dialling: None,
            highest: 0,
            dialled: 0,
            redial: Redial { at: now, wait: redial[0], range: redial },
            over: Vec::new(),
        }
    }

    pub(super) fn current(&self) -> Option<&Path> {
        self.current.as_ref()
    }

    pub(super) fn is_dialling(&self) -> bool {
        self.dialling.is_some()
    }

    pub(super) fn get_mut(&mut self, epoch: u64) -> Option<&mut Path> {
        [&mut self.candidate, &mut self.current].into_iter().flatten().find(|path| path.epoch == epoch)
    }

    /// The epochs of the paths that there are.
    pub(super) fn epochs(&self) -> impl Iterator<Item = u64> + use<> {
        [&self.candidate, &self.current]
            .map(|path| path.as_ref().map(|path| path.epoch))
            .into_iter()
            .flatten()
    }

    /// Where data goes: to who came last. If that was nobody who has the keys, the path before it goes on from where it was.
    pub(super) fn sending(&self) -> Option<u64> {
        self.epochs().next()
    }

    /// Those to close, once.
    pub(super) fn take_over(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.over)
    }

    /// When to dial next, where there is a reason to. Who has a path that the other end is about to use waits for that, but not as
    /// long as somebody could make it wait with a copy of what the other end has said.
    pub(super) fn redial_at(&self) -> Instant {
        let candidate = self.candidate.as_ref().map(|path| path.since + self.redial.range[1]);
        candidate.map_or(self.redial.at, |at| at.max(self.redial.at))
    }

    /// Dials as soon as there is a reason to.
    pub(super) fn dial_at_once(&mut self, now: Instant) {
        self.redial.at = self.redial.at.min(now);
        self.redial.wait = self.redial.range[0];
    }

    /// The epoch of the path to dial. [`None`]: there is none left, which no honest peer brings about.
    pub(super) fn dial(&mut self, now: Instant) -> Option<u64> {
        let above = self.highest.max(self.dialled);
        let epoch = above + 1 + u64::from((above + 1) % 2 != u64::from(self.is_opener));
        if epoch > varint::MAX {
            return None;
        }
        self.dialled = epoch;
        self.dialling = Some(epoch);
        self.redial.at = now + self.redial.wait;
        self.redial.wait = (self.redial.wait + self.redial.wait).min(self.redial.range[1]);
        Some(epoch)
    }

    /// The peer asks for a path. It has been sent and got all before `next`.
    pub(super) fn on_offer(&mut self, now: Instant, epoch: u64, next: u64) -> Result<(), Reason> {
        if epoch % 2 == u64::from(self.is_opener) {
            return Err(Reason::Protocol);
        }
        if epoch <= self.highest {
            return Err(Reason::StaleEpoch);
        }
        self.highest = epoch;
        let before = self.candidate.replace(Path::new(now, epoch, next, false));
        self.over.extend(before.map(|path| path.epoch));
        Ok(())
    }

    /// The peer has answered, with the keys of this path. Whether it is used: one with a higher epoch may have come meanwhile.
    pub(super) fn on_answer(&mut self, now: Instant, epoch: u64, next: u64) -> bool {
        if self.dialling != Some(epoch) {
            self.over.push(epoch);
            return false;
        }
        self.dialling = None;
        if epoch <= self.highest {
            self.over.push(epoch);
            return false;
        }
        self.highest = epoch;
        self.install(Path::new(now, epoch, next, true));
        true
    }

    /// A record has come by a path, so that who is there has its keys. Whether it is the path in use from now on.
    pub(super) fn confirm(&mut self, epoch: u64) -> bool {
        let Some(path) = self.candidate.take_if(|path| path.epoch == epoch) else { return false };
        self.install(path);
        true
    }

    /// A path is gone, or an attempt to dial. Whether it is the one that was in use.
    pub(super) fn cut(&mut self, epoch: u64) -> bool {
        self.dialling.take_if(|dialling| *dialling == epoch);
        self.candidate.take_if(|path| path.epoch == epoch);
        self.current.take_if(|path| path.epoch == epoch).is_some()
    }

    /// All are.
    pub(super) fn close(&mut self) {
        let epochs: Vec<_> = self.epochs().chain(self.dialling).collect();
        for &epoch in &epochs {
            self.cut(epoch);
        }
        self.over.extend(epochs);
    }

    /// When the candidate is given up.
    pub(super) fn confirm_by(&self, within: Duration) -> Option<Instant> {
        self.candidate.as_ref().map(|path| path.since + within)
    }

    /// Gives it up if it is time.
    pub(super) fn on_timer(&mut self, now: Instant, within: Duration) {
        if self.confirm_by(within).is_some_and(|by| by <= now) {
            self.over.extend(self.candidate.take().map(|path| path.epoch));
        }
    }

    /// Of several paths the one with the highest epoch is used, and nothing more is taken from the others (fencing).
    fn install(&mut self, path: Path) {
        let epoch = path.epoch;
        // A path that is cut as soon as it is there is not dialled again in a loop.
        (self.redial.wait, self.redial.at) = (self.redial.range[0], path.since + self.redial.range[0]);
        let before = [self.current.replace(path), self.candidate.take_if(|other| other.epoch < epoch)];
        self.over.extend(before.into_iter().flatten().map(|path| path.epoch));
        if let Some(lower) = self.dialling.take_if(|dialling| *dialling < epoch) {
            self.over.push(lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Instant = Instant::ZERO;
    const WAITS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

    fn paths(is_opener: bool) -> Paths {
        Paths::new(AT, is_opener, WAITS)
    }

    /// The two ends of a session whose path has epoch 1.
    fn pair() -> [Paths; 2] {
        let [mut client, mut server] = [paths(true), paths(false)];
        assert_eq!(client.dial(AT), Some(1));
        assert_eq!(server.on_offer(AT, 1, 0), Ok(()));
        assert!(client.on_answer(AT, 1, 0));
        assert!(server.confirm(1) && !server.confirm(1));
        [client, server]
    }

    #[test]
    fn ends_dial_epochs_of_their_own() {
        let [mut client, mut server] = pair();
        assert_eq!((client.dial(AT), client.dial(AT)), (Some(3), Some(5)));
        assert_eq!((server.dial(AT), server.dial(AT)), (Some(2), Some(4)));
        assert_eq!(server.on_offer(AT, 6, 0), Err(Reason::Protocol), "its own parity");
    }

    #[test]
    fn an_epoch_is_taken_once_and_none_below_it() {
        let [_, mut server] = pair();
        assert_eq!(server.on_offer(AT, 5, 0), Ok(()));
        for epoch in [5, 3, 1] {
            assert_eq!(server.on_offer(AT, epoch, 0), Err(Reason::StaleEpoch));
        }
        assert_eq!(
            server.current().map(|path| path.epoch),
            Some(1),
            "until the dialler has used the new one"
        );
        assert_eq!(server.sending(), Some(5));
        assert!(server.confirm(5));
        assert_eq!((server.take_over(), server.get_mut(1).is_none()), (vec![1], true));
    }

    #[test]
    fn who_does_not_use_its_path_loses_it_and_nothing_else() {
        let [_, mut server] = pair();
        server.on_offer(AT, 3, 0).unwrap();
        let by = server.confirm_by(WAITS[0]).unwrap();
        server.on_timer(by, WAITS[0]);
        assert_eq!((server.take_over(), server.sending()), (vec![3], Some(1)));
        assert_eq!(server.on_offer(AT, 3, 0), Err(Reason::StaleEpoch), "it was used");
    }

    #[test]
    fn of_two_dials_that_cross_the_higher_one_wins_at_both_ends() {
        let [mut client, mut server] = pair();
        let (odd, even) = (client.dial(AT).unwrap(), server.dial(AT).unwrap());
        assert_eq!((odd, even), (3, 2));
        client.on_offer(AT, even, 0).unwrap();
        server.on_offer(AT, odd, 0).unwrap();
        assert!(client.on_answer(AT, odd, 0));
        assert!(!server.on_answer(AT, even, 0));
        assert!(server.confirm(odd));
        for end in [&mut client, &mut server] {
            assert_eq!(end.epochs().collect::<Vec<_>>(), [3]);
            let mut over = end.take_over();
            over.sort_unstable();
            assert_eq!(over, [1, 2]);
            assert!(!end.is_dialling());
        }
    }

    #[test]
    fn an_answer_that_nobody_waits_for_opens_nothing() {
        let [mut client, _] = pair();
        assert_eq!(client.dial(AT), Some(3));
        client.cut(3);
        assert!(!client.on_answer(AT, 3, 0));
        assert_eq!((client.sending(), client.take_over()), (Some(1), vec![3]));
    }

    #[test]
    fn attempts_come_ever_more_rarely() {
        let mut client = paths(true);
        let mut waits = Vec::new();
        let mut now = AT;
        for _ in 0..4 {
            let epoch = client.dial(now).unwrap();
            client.cut(epoch);
            waits.push(client.redial_at().since(now).as_millis());
            now = client.redial_at();
        }
        assert_eq!(waits, [100, 200, 400, 400]);
        client.dial_at_once(AT);
        assert_eq!(client.redial_at(), AT);
    }

    #[test]
    fn epochs_have_an_end() {
        let [_, mut server] = pair();
        server.on_offer(AT, varint::MAX, 0).unwrap();
        assert_eq!(server.dial(AT), None);
    }
}

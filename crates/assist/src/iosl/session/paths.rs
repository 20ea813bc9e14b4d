//! The paths of a session, each with an epoch: one in use, and while it migrates another one.
//!
//! Epochs only rise. The end that has opened the session dials odd ones and the other even ones, so that two dials that cross
//! differ: at both ends the higher one wins, and the path with the lower one is dropped.

use handfast_core::{Duration, Instant};

use super::dials::{Dial, Dials};
use crate::iosl::frame::{Reason, Windows};

/// What was said on one path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) epoch: u64,
    /// The offset that goes out next here: each path carries all that the peer had not got when it began.
    pub(super) next: u64,
    pub(super) has_end: bool,
    /// Offset and credit of the last acknowledgment.
    pub(super) told: (u64, u64),
    /// An acknowledgment is due whether or not it says something new: the peer asks, or it shows that this end uses the path.
    pub(super) is_asked: bool,
    /// What the peer was told, and has told.
    pub(super) is_suspended: bool,
    pub(super) is_suspended_by_peer: bool,
    pub(super) has_expire: bool,
    pub(super) has_windows: bool,
    /// What the peer says of its side, by this path: another one may lead over another network.
    pub(super) hints: Option<Windows>,
    since: Instant,
    /// How long it took to come about: a round trip or more.
    pub(super) trip: Duration,
    /// When the peer has said something here, and since when it has been asked to.
    pub(super) heard: Instant,
    pub(super) asked: Option<Instant>,
    /// The question is still to go out.
    pub(super) is_asking: bool,
    /// When that is looked at next.
    pub(super) look_at: Instant,
    /// A datagram has gone out here since then: nobody acknowledges it, and somebody has to say something all the same.
    pub(super) has_sent: bool,
    /// Data goes here before the peer has used it, until it says something on the path from before.
    is_tried: bool,
}

impl Path {
    fn new(now: Instant, epoch: u64, next: u64, is_asked: bool) -> Self {
        Self {
            epoch,
            next,
            has_end: false,
            told: (0, 0),
            is_asked,
            is_suspended: false,
            is_suspended_by_peer: false,
            has_expire: false,
            has_windows: false,
            hints: None,
            since: now,
            trip: Duration::ZERO,
            heard: now,
            asked: None,
            is_asking: false,
            look_at: Instant::MAX,
            has_sent: false,
            is_tried: false,
        }
    }
}

/// Two round trips, as the window of what comes has it: at least what a busy machine needs to come round.
const SPAN: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

#[derive(Debug)]
pub(super) struct Paths {
    is_opener: bool,
    /// Both ends have used it.
    current: Option<Path>,
    /// The peer has asked for it and this end has answered; who has asked may have copied the peer's message, and show no key.
    candidate: Option<Path>,
    /// This end has asked for them.
    dials: Dials,
    /// No epoch up to here is taken again.
    highest: u64,
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
            dials: Dials::new(now, is_opener, redial),
            highest: 0,
            over: Vec::new(),
        }
    }

    /// The highest epoch that was taken, and the last that this end has dialled.
    pub(super) fn used(&self) -> [u64; 2] {
        [self.highest, self.dials.last()]
    }

    /// Of a session that was kept: these are used.
    pub(super) fn restore(&mut self, now: Instant, [highest, last]: [u64; 2]) {
        self.highest = highest;
        self.dials.restore(now, last);
    }

    pub(super) fn current(&self) -> Option<&Path> {
        self.current.as_ref()
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Path> {
        self.current.as_mut()
    }

    /// Whether a dial is under way that is worth waiting for.
    pub(super) fn is_dialling(&self) -> bool {
        self.dials.is_fresh()
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

    /// Where data goes: to who has shown the keys. Where nobody has, or who has is silent, to who has asked; if that was a copy, it
    /// gets what is sealed.
    pub(super) fn sending(&self) -> Option<u64> {
        self.in_use().map(|path| path.epoch)
    }

    /// The path where data goes.
    pub(super) fn in_use(&self) -> Option<&Path> {
        let tried = self.candidate.as_ref().filter(|path| path.is_tried);
        tried.or(self.current.as_ref()).or(self.candidate.as_ref())
    }

    /// The peer has not answered for a round trip on the path in use, and asks for another one: what it waits for goes there at once.
    pub(super) fn try_candidate(&mut self, now: Instant) {
        let is_silent = self.current.as_ref().is_some_and(|path| path.heard + path.trip < now);
        if let Some(path) = self.candidate.as_mut().filter(|_| is_silent) {
            path.is_tried = true;
        }
    }

    /// The peer has said something on a path: if that is the one from before, the new one was somebody's copy, or comes too early.
    pub(super) fn on_heard(&mut self, epoch: u64) {
        let is_current = self.current.as_ref().is_some_and(|path| path.epoch == epoch);
        if let Some(path) = self.candidate.as_mut().filter(|_| is_current) {
            path.is_tried = false;
        }
    }

    /// How long two round trips are, about.
    pub(super) fn span(&self) -> Duration {
        let trip = self.current.as_ref().map_or(Duration::ZERO, |path| path.trip);
        trip.saturating_mul(2).clamp(SPAN[0], SPAN[1])
    }

    /// Those to close, once.
    pub(super) fn take_over(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.over)
    }

    /// When to dial next, where there is a reason to.
    pub(super) fn redial_at(&self) -> Instant {
        self.dials.at(self.candidate.as_ref().map(|path| path.since))
    }

    /// Dials as soon as there is a reason to, whatever is under way.
    pub(super) fn dial_at_once(&mut self, now: Instant) {
        self.dials.at_once(now);
    }

    /// The epoch of the path to dial. [`None`]: there is none left.
    pub(super) fn dial(&mut self, now: Instant) -> Option<u64> {
        let epoch = self.dials.begin(now, self.highest)?;
        self.over.extend(self.dials.take_surplus());
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

    /// The peer has answered, with the keys of this path: the dial, if the path is used. One with a higher epoch may have come
    /// meanwhile.
    pub(super) fn on_answer(&mut self, now: Instant, epoch: u64, next: u64) -> Option<Dial> {
        let Some(dial) = self.dials.end(epoch).filter(|_| epoch > self.highest) else {
            self.over.push(epoch);
            return None;
        };
        self.highest = epoch;
        self.install(now, dial.since, Path::new(now, epoch, next, true));
        Some(dial)
    }

    /// A record has come by a path, so that who is there has its keys. Since when there is the path, if it is in use from now on.
    pub(super) fn confirm(&mut self, now: Instant, epoch: u64) -> Option<Instant> {
        let path = self.candidate.take_if(|path| path.epoch == epoch)?;
        let since = path.since;
        self.install(now, since, path);
        Some(since)
    }

    /// A path is gone, or an attempt to dial.
    pub(super) fn cut(&mut self, epoch: u64) {
        self.dials.end(epoch);
        self.candidate.take_if(|path| path.epoch == epoch);
        self.current.take_if(|path| path.epoch == epoch);
    }

    /// A path is to be closed.
    pub(super) fn give_up(&mut self, epoch: u64) {
        self.cut(epoch);
        self.over.push(epoch);
    }

    /// All are.
    pub(super) fn close(&mut self) {
        let epochs: Vec<_> = self.epochs().chain(self.dials.epochs()).collect();
        for epoch in epochs {
            self.give_up(epoch);
        }
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
    fn install(&mut self, now: Instant, asked: Instant, mut path: Path) {
        let epoch = path.epoch;
        self.dials.on_path(path.since);
        path.trip = now.since(asked);
        let before = [self.current.replace(path), self.candidate.take_if(|other| other.epoch < epoch)];
        self.over.extend(before.into_iter().flatten().map(|path| path.epoch));
        self.over.extend(self.dials.end_below(epoch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iosl::frame::varint;

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
        assert_eq!(client.on_answer(AT, 1, 0).map(|dial| dial.epoch), Some(1));
        assert_eq!((server.confirm(AT, 1), server.confirm(AT, 1)), (Some(AT), None));
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
        assert_eq!(server.sending(), Some(1), "nor is anything sent there");
        assert!(server.confirm(AT, 5).is_some());
        assert_eq!(server.sending(), Some(5));
        assert_eq!((server.take_over(), server.get_mut(1).is_none()), (vec![1], true));
    }

    #[test]
    fn who_asks_while_the_path_in_use_is_silent_is_sent_data_until_it_is_not() {
        let [_, mut server] = pair();
        let trip = WAITS[0];
        server.current_mut().unwrap().trip = trip;
        server.on_offer(AT + trip, 3, 0).unwrap();
        server.try_candidate(AT + trip);
        assert_eq!(server.sending(), Some(1), "an answer may be on its way");
        server.try_candidate(AT + trip + Duration::from_nanos(1));
        assert_eq!(server.sending(), Some(3));
        server.on_heard(3);
        assert_eq!(server.sending(), Some(3));
        server.on_heard(1);
        assert_eq!(server.sending(), Some(1));
        assert!(server.confirm(AT + trip, 3).is_some());
        assert_eq!((server.sending(), server.take_over()), (Some(3), vec![1]));
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
        assert!(client.on_answer(AT, odd, 0).is_some());
        assert!(server.on_answer(AT, even, 0).is_none());
        assert!(server.confirm(AT, odd).is_some());
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
        assert_eq!(client.on_answer(AT, 3, 0), None);
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
        client.dial_at_once(now);
        assert_eq!(client.redial_at(), now);
        client.dial(now).unwrap();
        client.dial_at_once(now);
        assert_eq!(client.redial_at(), now + WAITS[0], "not in a loop");
    }

    /// The first leads nowhere, and the address changes, and changes again.
    #[test]
    fn a_dial_from_before_the_address_changed_is_not_waited_for() {
        let mut client = paths(true);
        let at = |number: u64| AT + WAITS[0].saturating_mul(number);
        for number in 0..5 {
            client.dial_at_once(at(number));
            assert!(!client.is_dialling() && client.redial_at() == at(number));
            assert_eq!(client.dial(at(number)), Some(2 * number + 1));
            assert!(client.is_dialling());
        }
        assert_eq!(client.take_over(), [1, 3], "three are under way at most");
        assert_eq!(client.on_answer(at(9), 7, 0).map(|dial| dial.since), Some(at(3)));
        assert_eq!(client.take_over(), [5], "what is below is over");
        assert!(client.on_answer(at(9), 9, 0).is_some());
        assert_eq!((client.take_over(), client.sending()), (vec![7], Some(9)));
    }

    /// The other end asks for a path, and the address changes.
    #[test]
    fn who_asked_before_the_address_changed_is_not_waited_for() {
        let [_, mut server] = pair();
        server.on_offer(AT, 3, 0).unwrap();
        assert_eq!(server.redial_at(), AT + WAITS[1]);
        let later = AT + WAITS[0];
        server.dial_at_once(later);
        assert_eq!(server.redial_at(), later);
    }

    #[test]
    fn epochs_have_an_end() {
        let [_, mut server] = pair();
        server.on_offer(AT, varint::MAX, 0).unwrap();
        assert_eq!(server.dial(AT), None);
    }
}

//! Sessions of datagrams, and what goes straight: of which program each is, to which target, and which one is over.

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::ids::Socket;
use handfast_core::Instant;
use handfast_io::SourceId;

use super::associations::{Associations, MOST_OF_ONE};
use super::port::Port;
use super::route::{Early, Route};

/// Sessions of all programs. Of more, the one that was silent for longest ends. So it is with what goes straight.
const MOST_SESSIONS: usize = 256;

impl Associations {
    /// Of which program a session is, and to which target it leads.
    pub(in super::super) fn of(&self, session: Socket) -> Option<(u64, Target)> {
        self.sessions.get(&session).cloned()
    }

    /// A session that has to end before this program gets another one.
    pub(super) fn in_the_way(&self, number: u64) -> Option<Socket> {
        let is_own = |socket: &Socket| self.sessions.get(socket).is_some_and(|(of, _)| *of == number);
        if self.idle.len() >= MOST_SESSIONS {
            return self.idle.longest().next();
        }
        let is_full = self.sessions.values().filter(|(of, _)| *of == number).count() >= MOST_OF_ONE;
        self.idle.longest().find(|socket| is_full && is_own(socket))
    }

    /// What goes straight, and has to end before something else does.
    pub(super) fn straight_in_the_way(&self) -> Option<SourceId> {
        self.straight_idle.longest().next().filter(|_| self.straight_idle.len() >= MOST_SESSIONS)
    }

    fn put(&mut self, number: u64, target: &Target, route: Route) {
        let Some(association) = self.all.get_mut(&number) else { return };
        // Those that are tried again later are not kept for ever.
        if association.routes.len() >= 2 * MOST_OF_ONE {
            association.routes.retain(|_, route| !matches!(route, Route::Refused(_)));
        }
        association.routes.insert(target.clone(), route);
    }

    /// A session is on its way for the first datagram of a program to a target. `by`: until then that waits for a peer.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        (number, target): (u64, Target),
        (session, by): (Socket, Option<Instant>),
        first: &[u8],
    ) {
        let mut early = Early::default();
        early.push(first);
        self.put(number, &target, Route::Opening { session, early, by });
        self.sessions.insert(session, (number, target));
        self.idle.touch(now, session);
    }

    /// What a program sends to a target goes straight.
    pub(super) fn insert_straight(&mut self, now: Instant, (number, target): (u64, Target), port: Port) {
        self.straight_idle.touch(now, port.id);
        self.straight.insert(port.id, (number, target.clone()));
        self.put(number, &target, Route::Straight(port));
    }

    /// What a program sends to a target goes nowhere, until then.
    pub(super) fn refuse(&mut self, number: u64, target: &Target, until: Instant) {
        if let Some(Route::Straight(port)) = self.route_mut(number, target) {
            let id = port.id;
            self.end_straight(id);
        }
        self.put(number, target, Route::Refused(until));
    }

    /// A session is open: what has waited for it. `is_unsure`: that may have to go another way.
    pub(super) fn opened(&mut self, session: Socket, is_unsure: bool) -> Early {
        let route = self.sessions.get(&session).and_then(|(number, target)| {
            self.all.get_mut(number).and_then(|association| association.routes.get_mut(target))
        });
        let Some(route) = route else { return Early::default() };
        let Route::Opening { early, .. } = route else { return Early::default() };
        let early = std::mem::take(early);
        *route = Route::Open { session, unsure: is_unsure.then(|| early.clone()) };
        early
    }

    /// It is used.
    pub(super) fn touch(&mut self, now: Instant, session: Socket) {
        if self.sessions.contains_key(&session) {
            self.idle.touch(now, session);
        }
    }

    /// The same of what goes straight.
    pub(super) fn touch_straight(&mut self, now: Instant, id: SourceId) {
        if self.straight.contains_key(&id) {
            self.straight_idle.touch(now, id);
        }
    }

    /// Which program's and which target's something is that has come straight.
    pub(super) fn straight_at(&self, id: SourceId) -> Option<(u64, Target)> {
        self.straight.get(&id).cloned()
    }

    /// All that goes straight.
    pub(super) fn ports_mut(&mut self) -> impl Iterator<Item = &mut Port> {
        self.all.values_mut().flat_map(|association| association.routes.values_mut()).filter_map(|route| {
            match route {
                Route::Straight(port) => Some(port),
                _ => None,
            }
        })
    }

    /// A session is over: what it had. `again`: until when its target is not tried again, if the program goes on sending there.
    pub(super) fn remove(&mut self, session: Socket, again: Option<Instant>) -> Option<Route> {
        self.idle.remove(session);
        let (number, target) = self.sessions.remove(&session)?;
        let association = self.all.get_mut(&number)?;
        match again {
            Some(until) => association.routes.insert(target, Route::Refused(until)),
            None => association.routes.remove(&target),
        }
    }

    /// Nothing goes straight by this socket any more.
    pub(super) fn end_straight(&mut self, id: SourceId) {
        self.straight_idle.remove(id);
        let Some((number, target)) = self.straight.remove(&id) else { return };
        if let Some(association) = self.all.get_mut(&number) {
            association.routes.remove(&target);
        }
    }

    /// What waits for a session waits until then.
    pub(super) fn wait(&mut self, session: Socket, until: Option<Instant>) {
        let route = self.of(session).and_then(|(number, target)| self.route_mut(number, &target));
        if let Some(Route::Opening { by, .. }) = route {
            *by = until;
        }
    }

    /// Sessions for whose peer nobody waits any longer than now.
    pub(super) fn waited(&self, now: Instant) -> Vec<Socket> {
        self.waiting().filter(|(_, by)| *by <= now).map(|(session, _)| session).collect()
    }

    fn waiting(&self) -> impl Iterator<Item = (Socket, Instant)> {
        self.all.values().flat_map(|association| association.routes.values()).filter_map(
            |route| match route {
                Route::Opening { session, by: Some(by), .. } => Some((*session, *by)),
                _ => None,
            },
        )
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let waits = self.waiting().map(|(_, by)| by).min();
        [self.idle.deadline(), self.straight_idle.deadline(), waits].into_iter().flatten().min()
    }

    /// A session that nobody has used for long.
    pub(super) fn take_idle(&mut self, now: Instant) -> Option<Socket> {
        self.idle.take(now)
    }

    /// The same of what goes straight.
    pub(super) fn take_idle_straight(&mut self, now: Instant) -> Option<SourceId> {
        self.straight_idle.take(now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use handfast_core::Duration;
    use proptest::prelude::*;

    use super::*;

    fn target(n: u16) -> Target {
        Target::of_datagrams("192.0.2.1", 1 + n).unwrap()
    }

    /// What programs do in any order, each at another second: a datagram of a program's socket to a target, and what becomes of a session.
    #[derive(Clone, Debug)]
    enum Step {
        Send(u16, u16),
        Opened(u64),
        Failed(u64),
        Over(u64),
        Closed(u16),
        Idle,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0..8_u16, 0..90_u16).prop_map(|(from, to)| Step::Send(from, to)),
            3 => (0..400_u64).prop_map(Step::Opened),
            1 => (0..400_u64).prop_map(Step::Failed),
            1 => (0..400_u64).prop_map(Step::Over),
            1 => (0..8_u16).prop_map(Step::Closed),
            1 => Just(Step::Idle),
        ]
    }

    fn check(all: &Associations) -> Result<(), TestCaseError> {
        prop_assert_eq!(all.sessions.len(), all.idle.len());
        prop_assert!(all.sessions.len() <= MOST_SESSIONS);
        for (session, (number, target)) in &all.sessions {
            let route = all.get(*number).and_then(|one| one.routes.get(target));
            prop_assert_eq!(route.and_then(Route::session), Some(*session));
        }
        for (_, one) in all.programs() {
            prop_assert!(one.routes.len() <= 2 * MOST_OF_ONE);
            prop_assert!(one.routes.values().filter_map(Route::session).count() <= MOST_OF_ONE);
            prop_assert!(
                one.routes.values().filter_map(Route::session).all(|of| all.sessions.contains_key(&of))
            );
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn sessions_and_routes_say_the_same_in_any_order(steps in prop::collection::vec(step(), 1..400)) {
            let mut all = Associations::new();
            for (second, step) in (0_u64..).zip(steps) {
                let now = Instant::from_millis(1_000 * second);
                match step {
                    Step::Send(from, to) => {
                        let from = SocketAddr::from(([127, 0, 0, 1], 1_000 + from));
                        let number = all.looked_at(from, now).unwrap();
                        if all.route_mut(number, &target(to)).is_none_or(|route| route.session().is_none()) {
                            if let Some(oldest) = all.in_the_way(number) {
                                all.remove(oldest, None);
                            }
                            all.insert(now, (number, target(to)), (Socket(second), Some(now)), b"x");
                        }
                    }
                    Step::Opened(session) => {
                        let waited = all.opened(Socket(session), true).iter().count();
                        prop_assert!(waited <= 1 && all.waited(now).iter().all(|of| of.0 != session));
                    }
                    Step::Failed(session) => drop(all.remove(Socket(session), Some(now))),
                    Step::Over(session) => drop(all.remove(Socket(session), None)),
                    Step::Closed(from) => {
                        let of = all.led_from(SocketAddr::from(([127, 0, 0, 1], 1_000 + from)));
                        for session in of.map(|(number, _)| all.close(number)).unwrap_or_default() {
                            prop_assert!(all.of(session).is_none());
                        }
                    }
                    Step::Idle => {
                        while let Some(session) = all.take_idle(now) {
                            all.remove(session, None);
                        }
                        all.forget_unused();
                    }
                }
                check(&all)?;
            }
            let long = Instant::from_millis(1_000 * 1_000);
            while let Some(session) = all.take_idle(long) {
                all.remove(session, None);
            }
            all.forget_unused();
            prop_assert_eq!((all.len(), all.deadline()), (0, None));
        }
    }

    #[test]
    fn what_waits_for_a_peer_does_so_until_then() {
        let (mut all, at) = (Associations::new(), |seconds| Instant::ZERO + Duration::from_secs(seconds));
        let number = all.looked_at(([127, 0, 0, 1], 7).into(), at(0)).unwrap();
        for (n, by) in [(0, Some(at(1))), (1, Some(at(2))), (2, None)] {
            all.insert(at(0), (number, target(n)), (Socket(u64::from(n)), by), b"early");
        }
        assert_eq!((all.deadline(), all.waited(at(1))), (Some(at(1)), vec![Socket(0)]));
        all.wait(Socket(0), None);
        assert_eq!((all.deadline(), all.waited(at(2))), (Some(at(2)), vec![Socket(1)]));
        assert_eq!(all.opened(Socket(1), true).iter().collect::<Vec<_>>(), [b"early"]);
        let before = all.remove(Socket(1), Some(at(9))).map(Route::into_early);
        assert_eq!(before.unwrap().iter().count(), 1, "it may go another way");
        assert!(all.opened(Socket(2), false).iter().count() == 1 && all.waited(at(9)).is_empty());
        assert_eq!(all.remove(Socket(2), None).map(Route::into_early).unwrap().iter().count(), 0);
    }
}

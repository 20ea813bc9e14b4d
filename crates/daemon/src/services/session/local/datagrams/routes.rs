//! Sessions of datagrams, and what goes straight: of which program each is, to which target, and which one is over.

use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::ids::Socket;
use handfast_core::Instant;
use handfast_io::SourceId;

use super::associations::{Associations, MOST_OF_ONE};
use super::route::{Early, Route};
use super::straight::Port;

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

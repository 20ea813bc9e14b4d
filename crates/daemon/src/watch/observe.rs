//! The loop: asks the kernel again and again, and hears what changes meanwhile.

use std::io;
use std::os::fd::AsFd;

use handfast_core::{Duration, Instant};
use handfast_io::netlink::{LinkChanges, TcpSockets, UdpSockets};
use handfast_io::{Clock, wait};
use handfast_watch::{DNS_PORT, Limits, Stall, Watcher};

use super::convert::{change, lookup, sample};

/// How it is watched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) limits: Limits,
    /// Between two looks.
    pub(super) every: Duration,
    /// When it ends by itself.
    pub(super) length: Option<Duration>,
}

/// What is seen.
pub(super) enum Observed {
    /// Stalls that have ended.
    Stalls(Vec<Stall>),
    /// How many connections there are, how many wait, and how long it has been watched.
    Look { watched: usize, waiting: usize, passed: Duration },
}

/// Watches until it is told to stop.
///
/// # Errors
/// What the kernel says.
pub(super) fn watch(
    settings: &Settings,
    stop: impl Fn() -> bool,
    mut tell: impl FnMut(Observed),
) -> io::Result<()> {
    let clock = Clock::start();
    let mut sockets = TcpSockets::new()?;
    let mut names = UdpSockets::new()?;
    let (mut links, there) = LinkChanges::new()?;
    let mut watcher = Watcher::new(settings.limits);
    for one in &there {
        watcher.on_change(clock.now(), change(one));
    }
    let mut next = Instant::ZERO;
    let end = settings.length.map(|length| Instant::ZERO + length);
    while !stop() && end.is_none_or(|end| clock.now() < end) {
        // A change has the time at which it is heard of.
        wait(Some(links.as_fd()), &mut [], next.since(clock.now()))?;
        for one in &links.take()? {
            watcher.on_change(clock.now(), change(one));
        }
        let now = clock.now();
        if now < next {
            continue;
        }
        // A machine that was asleep does not look more often afterwards.
        next = now + settings.every;
        let mut stalls = watcher.on_samples(now, sockets.all()?.iter().map(sample).collect());
        // A kernel without `CONFIG_INET_UDP_DIAG` shows none.
        let asking = names.to_port(DNS_PORT).unwrap_or_default();
        stalls.extend(watcher.on_lookups(now, &asking.iter().map(lookup).collect::<Vec<_>>()));
        if !stalls.is_empty() {
            tell(Observed::Stalls(stalls));
        }
        tell(look(&watcher, now));
    }
    let now = clock.now();
    tell(Observed::Stalls(watcher.finish(now)));
    tell(look(&watcher, now));
    Ok(())
}

fn look(watcher: &Watcher, now: Instant) -> Observed {
    Observed::Look {
        watched: watcher.watched(),
        waiting: watcher.waiting(now),
        passed: now.since(Instant::ZERO),
    }
}

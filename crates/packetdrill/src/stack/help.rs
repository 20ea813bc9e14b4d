//! The help at the ends, for scripts: socket options at a level of their own.
//!
//! packetdrill's language has no word for the bits of [eln], and the notification of [vho] is no packet that it knows. So a script sets
//! which bits the segments that arrive have, reads which ones the last segment had that left, and hands over notifications as a
//! driver does. docs/reference/packetdrill.md lists the options.

use handfast_core::{BitRate, Duration};
use handfast_tcp::{Config, Recovery, Undo, VhoRule, VhoRules};
use handfast_wire::Notification;
use handfast_wire::notification::{AccessLink, Kind};
use handfast_wire::tcp::Flags;

use super::Errno;

/// The level: a protocol number for experiments (RFC 3692 §2.1), that of the notification.
pub(super) const LEVEL: i32 = handfast_wire::notification::PROTOCOL as i32;

/// Whether both ends do explicit loss and handoff notification.
const ELN: i32 = 1;
/// The rules of [vho] that a sender follows: a bit each, in the order of [`VhoRule::ALL`].
const VHO: i32 = 2;
/// The bits of [eln] that the segments have that arrive from now on.
const ARRIVING: i32 = 3;
/// Those of the last segment that has left; read only.
const LEFT: i32 = 4;
/// The new access link, kbit/s and microseconds one way; and the old one.
const RATE: i32 = 5;
const DELAY: i32 = 6;
const OLD_RATE: i32 = 7;
const OLD_DELAY: i32 = 8;
/// The peer tells of a link: 0 the beginning, 1 make before break, 2 break before make, 3 the same link is back.
const NOTIFY: i32 = 9;

/// The bits of [eln].
const BITS: Flags = Flags(Flags::ELN.0 | Flags::ELN_LOSS.0);
const KINDS: [Kind; 4] = [Kind::Start, Kind::MakeBeforeBreak, Kind::BreakBeforeMake, Kind::Resumed];

/// What a script has set of a socket.
#[derive(Clone, Debug, Default)]
pub(super) struct Help {
    eln: bool,
    rules: i32,
    pub(super) arriving: Flags,
    left: Flags,
    /// The new link and the old one: kbit/s and microseconds.
    links: [(i32, i32); 2],
    /// Notifications so far.
    count: u32,
}

impl Help {
    /// The configuration with it. Help is for recoveries that count duplicates; without help nothing changes.
    pub(super) fn over(&self, config: Config) -> Config {
        if !self.eln && self.rules == 0 {
            return config;
        }
        let (eln, vho) = (self.eln, self.rules());
        Config { eln, vho, recovery: Recovery::Sack, undo: Undo::Rfc4015, loss_probes: false, ..config }
    }

    fn rules(&self) -> VhoRules {
        let asked = |i: usize| self.rules & 1 << i != 0;
        VhoRule::ALL.into_iter().enumerate().filter(|&(i, _)| asked(i)).map(|(_, rule)| rule).collect()
    }

    /// Sets an option; the notification that follows.
    pub(super) fn set(&mut self, name: i32, value: i32) -> Result<Option<Notification>, Errno> {
        if value < 0 {
            return Err(Errno(libc::EINVAL));
        }
        match name {
            ELN => self.eln = value != 0,
            VHO => self.rules = value,
            ARRIVING => self.arriving = Flags(u16::try_from(value).unwrap_or(0) & BITS.0),
            RATE => self.links[0].0 = value,
            DELAY => self.links[0].1 = value,
            OLD_RATE => self.links[1].0 = value,
            OLD_DELAY => self.links[1].1 = value,
            NOTIFY => return self.notify(value).map(Some).ok_or(Errno(libc::EINVAL)),
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(None)
    }

    fn notify(&mut self, kind: i32) -> Option<Notification> {
        let kind = *KINDS.get(usize::try_from(kind).ok()?)?;
        let link = |(rate, delay): (i32, i32)| AccessLink {
            rate: BitRate::from_bps(u64::from(rate.unsigned_abs()) * 1000),
            delay: Duration::from_micros(delay.unsigned_abs().into()),
        };
        let [new, old] = self.links;
        self.count += 1;
        let old = (old.0 > 0).then(|| link(old));
        Some(Notification { kind, number: self.count, flows: 1, new: link(new), old })
    }

    pub(super) fn get(&self, name: i32) -> Result<i32, Errno> {
        match name {
            ELN => Ok(self.eln.into()),
            VHO => Ok(self.rules),
            ARRIVING => Ok(self.arriving.0.into()),
            LEFT => Ok(self.left.0.into()),
            _ => Err(Errno(libc::ENOPROTOOPT)),
        }
    }

    /// A segment leaves with these flags: those that the tool sees.
    pub(super) fn depart(&mut self, flags: Flags) -> Flags {
        self.left = Flags(flags.0 & BITS.0);
        Flags(flags.0 & !BITS.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_make_rules_and_notifications() {
        let mut help = Help::default();
        let plain = format!("{:?}", Config::default());
        assert_eq!(format!("{:?}", help.over(Config::default())), plain);
        help.set(VHO, 0b1000).unwrap();
        let config = help.over(Config::default());
        assert!(config.vho.has(VhoRule::Retransmit) && !config.vho.has(VhoRule::MinRto) && !config.eln);
        for (name, value) in [(RATE, 2000), (DELAY, 50_000)] {
            assert_eq!(help.set(name, value), Ok(None));
        }
        let new = AccessLink { rate: BitRate::from_bps(2_000_000), delay: Duration::from_millis(50) };
        let told = Notification { kind: Kind::Resumed, number: 1, flows: 1, new, old: None };
        assert_eq!(help.set(NOTIFY, 3), Ok(Some(told)));
        assert_eq!(help.set(NOTIFY, 4), Err(Errno(libc::EINVAL)));
        assert_eq!(help.set(NOTIFY, -1), Err(Errno(libc::EINVAL)));
        assert_eq!(help.set(LEFT, 0), Err(Errno(libc::ENOPROTOOPT)));
    }

    #[test]
    fn the_tool_does_not_see_the_bits_of_eln() {
        let mut help = Help::default();
        assert_eq!(help.depart(Flags::ACK | Flags::ELN), Flags::ACK);
        assert_eq!(help.get(LEFT), Ok(i32::from(Flags::ELN.0)));
        help.set(ARRIVING, 0xffff).unwrap();
        assert_eq!(help.arriving, Flags::ELN | Flags::ELN_LOSS, "and nothing else");
    }
}

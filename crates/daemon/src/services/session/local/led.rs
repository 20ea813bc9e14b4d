//! Connections of programs that believe that they are connected, and that no session has: where this end is killed they do not just end.
//!
//! With those that the kernel has led here, and that wait for their session, the next end goes on. Those that go straight it resets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use handfast_assist::iosl::frame::Target;
use handfast_io::net::TcpStream as Stream;
use handfast_io::{EventLoop, SourceId, disconnect, end_on_close};

use super::super::carrier::Plug;
use super::Local;
use super::client::{Client, Via};
use super::front::Dialect;

/// What the names of their descriptors begin with; the target follows, and a number.
pub(super) const WAITING: &str = "waiting-";
/// The same of those that go straight; a number follows. Nobody takes them, so the next end resets them.
const STRAIGHT: &str = "straight-";
/// So many are kept at once.
const MOST: usize = 256;

/// Those that are kept.
#[derive(Debug, Default)]
pub(super) struct Led {
    names: BTreeMap<SourceId, String>,
    straight: BTreeMap<SourceId, String>,
    number: u64,
}

impl Local {
    /// Programs have been led here.
    pub(super) fn on_led(&mut self, io: &mut EventLoop, clients: Vec<Client>) {
        for mut client in clients {
            self.led.number += 1;
            if let Some(name) = name_of(WAITING, &client.target, self.led.number)
                && let (Via::Plug(plug @ Plug::Tcp(_), id), Some(store)) =
                    (&mut client.via, self.carrier.store())
                && self.led.names.len() < MOST
                && let Plug::Tcp(stream) = &*plug
                && store.keep(&name, stream).is_ok()
                && let Ok(known) = plug.add_to(io)
            {
                *id = Some(known);
                self.led.names.insert(known, name);
            }
            if let Via::Plug(Plug::Tcp(stream), _) = &client.via {
                // It may be gone.
                let _ = end_on_close(stream);
            }
            self.ask(io, client);
        }
    }

    /// Goes on with those of the end before.
    pub(super) fn go_on_with_led(&mut self, io: &mut EventLoop, left: Vec<(String, OwnedFd)>) {
        for (name, descriptor) in left {
            let stream = TcpStream::from(descriptor);
            let program = stream.peer_addr();
            // One that a session has was not taken out of the store yet.
            let is_new = program.is_ok_and(|program| !self.carrier.has_program_at(program));
            let mut plug = Plug::Tcp(Stream::from_std(stream));
            let (Some((target, number)), true, Ok(id)) = (target_of(&name), is_new, plug.add_to(io)) else {
                if let (Plug::Tcp(stream), true) = (plug, is_new) {
                    // It may be gone.
                    let _ = disconnect(&stream);
                }
                if let Some(store) = self.carrier.store() {
                    store.drop_from_store(&name);
                }
                continue;
            };
            self.led.number = self.led.number.max(number);
            self.led.names.insert(id, name);
            let (via, dialect, rest) = (Via::Plug(plug, Some(id)), Dialect::Silent, Vec::new());
            self.ask(io, Client { via, dialect, target, rest });
        }
        self.hear(io);
    }

    /// Lets go of those that somebody has by now, or nobody wants.
    pub(super) fn let_go_of_led(&mut self) {
        if self.led.names.is_empty() {
            return;
        }
        let waiting = self.waiting.values().map(|waiting| &waiting.client);
        let clients = waiting.chain(self.looked_up.values().map(|(client, _)| client));
        let clients = clients.chain(self.straight.connecting());
        let ids: BTreeSet<SourceId> = clients
            .filter_map(|client| match &client.via {
                Via::Plug(_, id) => *id,
                Via::Call(_) => None,
            })
            .collect();
        let Self { led: Led { names, .. }, carrier, .. } = self;
        names.retain(|id, name| {
            let is_waiting = ids.contains(id);
            if let (false, Some(store)) = (is_waiting, carrier.store()) {
                store.drop_from_store(name);
            }
            is_waiting
        });
    }
}

impl Local {
    /// Has those kept that go straight from now on, and those no more that have ended.
    pub(super) fn note_straight(&mut self) {
        if !self.straight.take_changed() {
            return;
        }
        let Self { straight, carrier, led, .. } = self;
        let Some(store) = carrier.store() else { return };
        led.straight.retain(|id, name| {
            let is_there = straight.has(*id);
            if !is_there {
                store.drop_from_store(name);
            }
            is_there
        });
        for (id, program) in straight.programs() {
            if led.straight.len() < MOST && !led.straight.contains_key(&id) {
                let name = format!("{STRAIGHT}{}", id.0);
                if store.keep(&name, program).is_ok() {
                    led.straight.insert(id, name);
                }
            }
        }
    }
}

/// A name that begins so, and says where a program wanted to go. [`None`]: the target is no address, which the kernel does not lead to.
pub(super) fn name_of(begin: &str, target: &Target, number: u64) -> Option<String> {
    let address = match target.host().parse().ok()? {
        IpAddr::V4(four) => four.to_ipv6_mapped(),
        IpAddr::V6(six) => six,
    };
    Some(format!("{begin}{:032x}{:04x}-{number}", u128::from(address), target.port()))
}

/// What a name says that begins so: the target's address, and the number.
pub(super) fn parsed(begin: &str, name: &str) -> Option<(SocketAddr, u64)> {
    let (place, number) = name.strip_prefix(begin)?.split_once('-')?;
    let (address, port) = place.split_at_checked(32)?;
    let address = Ipv6Addr::from(u128::from_str_radix(address, 16).ok()?).to_canonical();
    let at = SocketAddr::from((address, u16::from_str_radix(port, 16).ok()?));
    Some((at, number.parse().ok()?))
}

fn target_of(name: &str) -> Option<(Target, u64)> {
    let (at, number) = parsed(WAITING, name)?;
    Some((Target::new(&at.ip().to_string(), at.port())?, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_where_a_program_wanted_to_go() {
        for (host, port) in [("192.0.2.7", 443), ("2001:db8::1", 1)] {
            let target = Target::new(host, port).unwrap();
            let name = name_of(WAITING, &target, 77).unwrap();
            assert!(name.len() < 64 && !name.contains(':'), "{name}");
            assert_eq!(target_of(&name), Some((target, 77)));
        }
        assert_eq!(name_of(WAITING, &Target::new("server.example", 1).unwrap(), 1), None);
        for wrong in ["waiting-", "waiting-00-1", "other", "waiting-zz\u{e9}"] {
            assert_eq!(target_of(wrong), None, "{wrong}");
        }
    }
}

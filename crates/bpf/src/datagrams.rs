//! Datagrams of a cgroup's programs, led to an end: `bpf/sockets/datagrams.h`.
//!
//! The kernel gives each target that is used one of the end's sockets, an alias, and only the end takes it back.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::place::{PLACE, address, place};
use crate::programs::{Programs, delete, first_key, insert, lookup};

/// Bytes of `struct alias` of `bpf/sockets/datagrams.h`.
const ALIAS: usize = 2 * PLACE + 16;

/// More entries than any of the maps has.
const MOST: usize = 4_096;

/// An alias that a target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Where it is.
    pub at: SocketAddr,
    /// Whose it is.
    pub target: SocketAddr,
    /// When something was led there last, in nanoseconds of `CLOCK_MONOTONIC`.
    pub used_ns: u64,
}

/// What the programs know of datagrams.
pub struct Datagrams {
    aliases: OwnedFd,
    by_target: OwnedFd,
    refused: OwnedFd,
    senders: OwnedFd,
}

impl Datagrams {
    /// So many aliases there are of each family.
    pub const EACH: usize = 128;

    /// The names of [`Datagrams::descriptors`].
    pub const NAMES: [&'static str; 4] = ["aliases", "by_target", "refused", "senders"];

    pub(crate) fn of(programs: &Programs, aliases: &[Option<SocketAddr>]) -> Result<Self, String> {
        for (slot, at) in (0_u32..).zip(aliases).filter_map(|(slot, at)| Some((slot, (*at)?))) {
            programs.update("aliases", &slot.to_ne_bytes(), &free(at))?;
            programs.update("by_place", &place(at), &slot.to_ne_bytes())?;
        }
        let descriptor = |name| programs.descriptor(name);
        let [aliases, by_target, refused, senders] = Self::NAMES.map(descriptor);
        Ok(Self { aliases: aliases?, by_target: by_target?, refused: refused?, senders: senders? })
    }

    /// Those of programs that another process has attached, in the order of [`Datagrams::NAMES`].
    pub fn attached([aliases, by_target, refused, senders]: [OwnedFd; 4]) -> Self {
        Self { aliases, by_target, refused, senders }
    }

    /// What lets another process go on with them, in the order of [`Datagrams::NAMES`].
    pub fn descriptors(&self) -> [&OwnedFd; 4] {
        [&self.aliases, &self.by_target, &self.refused, &self.senders]
    }

    /// What an alias is used for; [`None`]: it is free.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn alias(&self, slot: usize) -> Result<Option<Alias>, String> {
        let found: Option<[u8; ALIAS]> = lookup(self.aliases.as_fd(), &key(slot))?;
        Ok(found.as_ref().and_then(parsed))
    }

    /// A target has an alias no more: what is sent to it from now on gets another one. What is under way still comes to this one.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn forget(&self, target: SocketAddr) -> Result<(), String> {
        delete(self.by_target.as_fd(), &place(target))
    }

    /// It has this one after all, unless it has another one by now.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn remember(&self, target: SocketAddr, slot: usize) -> Result<(), String> {
        let known: Option<[u8; 4]> = lookup(self.by_target.as_fd(), &place(target))?;
        if known.is_some() {
            return Ok(());
        }
        insert(self.by_target.as_fd(), &place(target), &key(slot))
    }

    /// An alias that was forgotten may be given to another target.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn free(&self, slot: usize, at: SocketAddr) -> Result<(), String> {
        insert(self.aliases.as_fd(), &key(slot), &free(at))
    }

    /// Whether a program of the cgroup sends from there, or has 2 s ago or less: `now_ns` of `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn is_sender(&self, from: SocketAddr, now_ns: u64) -> Result<bool, String> {
        let until = lookup::<8>(self.senders.as_fd(), &place(from))?;
        Ok(until.is_some_and(|until| u64::from_ne_bytes(until) > now_ns))
    }

    /// Programs that send there get an error (`EPERM`), until `until_ns` of `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn refuse(&self, target: SocketAddr, until_ns: u64) -> Result<(), String> {
        insert(self.refused.as_fd(), &place(target), &until_ns.to_ne_bytes())
    }

    /// They get none any more, whatever was refused.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn refuse_none(&self) -> Result<(), String> {
        let refused: BorrowedFd<'_> = self.refused.as_fd();
        for _ in 0..MOST {
            let Some(target) = first_key::<PLACE>(refused)? else { break };
            delete(refused, &target)?;
        }
        Ok(())
    }
}

fn key(slot: usize) -> [u8; 4] {
    (slot as u32).to_ne_bytes()
}

/// One that nobody uses.
fn free(at: SocketAddr) -> [u8; ALIAS] {
    let mut alias = [0; ALIAS];
    alias[..PLACE].copy_from_slice(&place(at));
    alias
}

fn parsed(alias: &[u8; ALIAS]) -> Option<Alias> {
    let (at, rest) = alias.split_first_chunk::<PLACE>()?;
    let (target, rest) = rest.split_first_chunk::<PLACE>()?;
    let (used, rest) = rest.split_first_chunk::<8>()?;
    let is_taken = u32::from_ne_bytes(*rest.first_chunk()?) != 0;
    let (at, target) = (address(at), address(target));
    is_taken.then_some(Alias { at, target, used_ns: u64::from_ne_bytes(*used) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_free_until_it_is_taken() {
        let at = "127.0.0.1:7".parse().unwrap();
        let mut alias = free(at);
        assert_eq!(parsed(&alias), None);
        let target = "192.0.2.7:443".parse().unwrap();
        alias[PLACE..2 * PLACE].copy_from_slice(&place(target));
        alias[2 * PLACE..2 * PLACE + 8].copy_from_slice(&9_u64.to_ne_bytes());
        alias[2 * PLACE + 8] = 1;
        assert_eq!(parsed(&alias), Some(Alias { at, target, used_ns: 9 }));
    }
}

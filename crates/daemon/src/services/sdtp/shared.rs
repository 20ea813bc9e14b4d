//! The keys that SDTP has in a scenario too. They are read through that table, so that names, units, ranges, defaults and
//! messages are the same in both files.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use handfast_assist::Sdtp;
use handfast_assist::sdtp::spec::SdtpTable;
use handfast_assist::spec::Spec;
use handfast_document::{Checked, Located, Problem, Table, problem, unknown_key};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

/// Hosts that one entry may stand for.
const MOST_HOSTS: u32 = 4096;

/// Takes the keys of SDTP that `is_one` names out of a table, and reads them. What is left has the keys `own`.
pub(in crate::services) fn take(
    table: &mut DeTable<'_>,
    own: &[&str],
    is_one: impl Fn(&str) -> bool,
) -> Checked<Sdtp> {
    let mut taken = DeTable::new();
    for key in SdtpTable::KEYS.iter().filter(|key| is_one(key)) {
        if let Some((key, value)) = table.remove_entry(*key) {
            taken.insert(key, value);
        }
    }
    let read = SdtpTable::deserialize(toml::Deserializer::from(Spanned::new(0..0, taken)));
    let kind = Located { span: 0..0, value: "sdtp".to_owned() };
    let sdtp = Sdtp::read(&read.map_err(|error| problem(&error, &[]))?, &kind)?;
    let names: Vec<&str> =
        own.iter().chain(SdtpTable::KEYS.iter().filter(|key| is_one(key))).copied().collect();
    let Some(key) = table.keys().find(|key| !own.contains(&key.get_ref().as_ref())) else { return Ok(sdtp) };
    if SdtpTable::KEYS.contains(&key.get_ref().as_ref()) {
        let title = format!("`{}` has another place", key.get_ref());
        return Err(Problem::at(key.span(), title).help(
            "what describes a simulated network is of scenarios only; where functions are is the controller's: [sdtp-controller]",
        ));
    }
    Err(unknown_key(key.span(), key.get_ref(), &names))
}

/// Addresses and prefixes of hosts, as addresses.
pub(in crate::services) fn hosts(given: &[Located<String>]) -> Checked<BTreeSet<IpAddr>> {
    let mut hosts = BTreeSet::new();
    for text in given {
        let expanded = expand(text).ok_or_else(|| {
            Problem::at(text.span.clone(), format!("`{}` names no hosts", text.escape_debug())).expected(
                format!("expected an address, or a prefix of at most {MOST_HOSTS}, such as \"10.0.0.0/24\""),
            )
        })?;
        hosts.extend(expanded);
    }
    Ok(hosts)
}

fn expand(text: &str) -> Option<Vec<IpAddr>> {
    let Some((address, len)) = text.split_once('/') else { return Some(vec![text.parse().ok()?]) };
    let (address, len): (IpAddr, u32) = (address.parse().ok()?, len.parse().ok()?);
    let bits: u32 = if address.is_ipv4() { 32 } else { 128 };
    let count = 1_u32.checked_shl(bits.checked_sub(len)?).filter(|&count| count <= MOST_HOSTS)?;
    let nth = |nth: u32| match address {
        IpAddr::V4(first) => IpAddr::from(Ipv4Addr::from_bits(first.to_bits() | nth)),
        IpAddr::V6(first) => IpAddr::from(Ipv6Addr::from_bits(first.to_bits() | u128::from(nth))),
    };
    // A prefix has no bits beyond its length.
    let is_prefix = match address {
        IpAddr::V4(first) => first.to_bits() & (count - 1) == 0,
        IpAddr::V6(first) => first.to_bits() & u128::from(count - 1) == 0,
    };
    is_prefix.then(|| (0..count).map(nth).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_stands_for_its_addresses() {
        let of = |text: &str| expand(text).map(|hosts| (hosts.len(), hosts[0], hosts[hosts.len() - 1]));
        let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
        assert_eq!(of("10.0.0.7"), Some((1, ip("10.0.0.7"), ip("10.0.0.7"))));
        assert_eq!(of("10.0.4.0/22"), Some((1024, ip("10.0.4.0"), ip("10.0.7.255"))));
        assert_eq!(of("fd00::/120"), Some((256, ip("fd00::"), ip("fd00::ff"))));
        assert_eq!(of("fd00::1/128"), Some((1, ip("fd00::1"), ip("fd00::1"))));
        for wrong in [
            "",
            "10.0.0.1/24",
            "10.0.0.0/19",
            "10.0.0.0/33",
            "fd00::/64",
            "10.0.0.0/",
            "0.0.0.0/0",
            "::/0",
            "host",
        ] {
            assert_eq!(expand(wrong), None, "{wrong}");
        }
    }
}

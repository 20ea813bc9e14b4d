//! The keys that a scenario's controller has too. They are read through the controller's own table, so that names, units, ranges,
//! defaults and messages are the same in both files.

use std::borrow::Cow;

use handfast_assist::sdn::Policy;
use handfast_assist::sdn::spec::{Sdn, SdnTable};
use handfast_assist::spec::Spec;
use handfast_document::{Checked, Located, Problem, Table, duplicate_key, problem, unknown_key};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::File;

/// What the file says of it.
pub(super) struct Shared {
    /// What the machine is told.
    pub(super) sdn: Sdn,
    /// Where `policy` stands.
    policy: std::ops::Range<usize>,
}

/// A policy where the file names none. A scenario always names one: what it compares must be said.
const POLICY: &str = "spurious";

/// Older names of keys: the table that they are in, their name there, and that of today.
const OLDER: &[(&str, &str, &str)] = &[
    ("release", "rate", "release_rate"),
    ("release", "burst", "release_burst"),
    ("limits", "per_connection", "hold_per_connection"),
    ("limits", "per_station", "hold_per_station"),
    ("limits", "total", "hold_total"),
];

/// The keys: those of the controller's table that do not describe a simulated network.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    SdnTable::KEYS.iter().copied().filter(|key| !Sdn::NETWORK_KEYS.contains(key))
}

/// Takes them out of the document, and reads them.
pub(super) fn take(document: &mut DeTable<'_>) -> Checked<Shared> {
    let mut own = DeTable::new();
    for key in keys().filter(|key| *key != "release") {
        if let Some((key, value)) = document.remove_entry(key) {
            own.insert(key, value);
        }
    }
    take_release(document, &mut own)?;
    take_older("limits", document, &mut own)?;
    let policy = own.get("policy").map_or(0..0, Spanned::span);
    if !own.contains_key("policy") {
        own.insert(Spanned::new(0..0, "policy".into()), Spanned::new(0..0, DeValue::String(POLICY.into())));
    }
    let table = SdnTable::deserialize(toml::Deserializer::from(Spanned::new(0..0, own)));
    let kind = Located { span: 0..0, value: "sdn".to_owned() };
    let sdn = Sdn::read(&table.map_err(|error| problem(&error, &[]))?, &kind)?;
    Ok(Shared { sdn, policy }).and_then(Shared::in_the_field)
}

/// What is left has keys of the daemon's own.
pub(super) fn known(rest: &DeTable<'_>) -> Checked<()> {
    let names: Vec<&str> = File::KEYS.iter().copied().chain(keys()).collect();
    let unknown = rest.keys().find(|key| !File::KEYS.contains(&key.get_ref().as_ref()));
    let Some(key) = unknown else { return Ok(()) };
    if Sdn::NETWORK_KEYS.iter().chain(Sdn::OLDER_NETWORK_KEYS).any(|known| key.get_ref() == known) {
        let title = format!("`{}` is a key of scenarios only", key.get_ref());
        return Err(Problem::at(key.span(), title)
            .help("it describes a simulated network; this one is real: leave it out"));
    }
    Err(unknown_key(key.span(), key.get_ref(), &names))
}

impl Shared {
    fn in_the_field(self) -> Checked<Self> {
        match self.sdn.policy {
            Policy::ZeroWindow => Err(Problem::at(self.policy, Sdn::ZERO_WINDOW_IS_SIMULATED)),
            Policy::Bare | Policy::Spurious => Ok(self),
        }
    }
}

/// `release` is a word, or as older files have it a table.
fn take_release<'i>(document: &mut DeTable<'i>, own: &mut DeTable<'i>) -> Checked<()> {
    if document.get("release").is_some_and(|value| value.get_ref().is_table()) {
        take_older("release", document, own)?;
        let rest = document.remove("release");
        let rest = rest.as_ref().and_then(|value| value.get_ref().as_table());
        let names = ["rate", "burst"];
        return match rest.and_then(|rest| rest.keys().next()) {
            Some(key) => Err(unknown_key(key.span(), key.get_ref(), &names)),
            None => Ok(()),
        };
    }
    if let Some((key, value)) = document.remove_entry("release") {
        own.insert(key, value);
    }
    Ok(())
}

/// Moves what stands in a table by its older name to where it stands today.
fn take_older<'i>(table: &str, document: &mut DeTable<'i>, own: &mut DeTable<'i>) -> Checked<()> {
    let Some(DeValue::Table(inner)) = document.get_mut(table).map(Spanned::get_mut) else { return Ok(()) };
    for (_, older, key) in OLDER.iter().filter(|(of, ..)| *of == table) {
        let Some((place, value)) = inner.remove_entry(*older) else { continue };
        if own.contains_key(*key) {
            return Err(duplicate_key(place.span(), key));
        }
        own.insert(Spanned::new(place.span(), Cow::Borrowed(*key)), value);
    }
    Ok(())
}

//! Links with a cellular radio: what `access` says of them, checked.

use handfast_core::Duration;
use handfast_document::{Checked, Located, Problem};
use handfast_net::cell::{Profile, RequestProfile};

use super::cellular::Cellular;
use super::links::Links;
use super::nodes::Nodes;
use crate::file::{Access, Generation, TimeSpan};
use crate::model::{Direction, radio};

/// Gives each direction its radio.
pub(super) fn resolve(nodes: &Nodes, links: &mut Links) -> Checked<()> {
    for Cellular { link, directions } in std::mem::take(&mut links.cellular) {
        let on_air = links.is_on_air(link);
        let traced = [0, 1].map(|end| links.traced.contains_key(&(link, end)));
        let made = &mut links.list[link];
        let ends = radio(&nodes.list, made.between);
        for (end, (access, queue_said)) in directions.into_iter().enumerate() {
            let Some(access) = access else { continue };
            let Some((station, _)) = ends else {
                let title = format!(
                    "`{}` has a cellular radio, but does not join a station and an access point",
                    made.name
                );
                return Err(Problem::at(access.span, title)
                    .expected("only for links between these")
                    .help("an access point stands for a base station; a phone is a station"));
            };
            if on_air {
                let title = format!("`{}` is on the air and has a cellular radio", made.name);
                return Err(Problem::at(access.span, title).expected("expected either `air` or `access`"));
            }
            if traced[end] {
                let title = format!("`{}` follows a trace and has a cellular radio", made.name);
                return Err(Problem::at(access.span, title)
                    .expected("expected either `trace` or `access`")
                    .help("a trace of a cellular network has its radio's delays already"));
            }
            let uplink = made.between[end] == station;
            let direction = if end == 0 { &mut made.forward } else { &mut made.backward };
            apply(direction, &access, uplink, queue_said)?;
        }
    }
    Ok(())
}

fn apply(direction: &mut Direction, access: &Located<Access>, uplink: bool, queue_said: bool) -> Checked<()> {
    direction.access = Some(Box::new(profile(access, uplink)?));
    if !queue_said {
        direction.queue = Profile::QUEUE;
    }
    Ok(())
}

/// The profile of one direction.
fn profile(access: &Located<Access>, uplink: bool) -> Checked<Profile> {
    let Access(table) = &access.value;
    let mut profile = usual(table.profile.0, table.slot.as_ref(), uplink)?;
    set(&mut profile.processing, table.processing.map(|time| time.0));
    set(&mut profile.harq.bler, table.bler.map(|p| p.0));
    set(&mut profile.harq.combined_bler, table.combined_bler.map(|p| p.0));
    set(&mut profile.harq.transmissions, table.transmissions.map(|number| number.0));
    set(&mut profile.harq.round_trip, table.harq_round_trip.map(|time| time.0));
    set(&mut profile.harq.nack_to_ack, table.nack_to_ack.map(|p| p.0));
    set(&mut profile.rlc.t_reordering, nonzero(table.t_reordering.as_ref(), "t_reordering")?);
    set(&mut profile.rlc.t_status_prohibit, table.t_status_prohibit.map(|time| time.0));
    set(&mut profile.rlc.t_poll_retransmit, nonzero(table.t_poll_retransmit.as_ref(), "t_poll_retransmit")?);
    set(&mut profile.rlc.max_retx, table.max_retx.map(|number| number.0));
    if let Some(RequestProfile { period, grant }) = &mut profile.request {
        set(period, table.request_period.map(|time| time.0));
        set(grant, table.grant.map(|time| time.0));
    }
    Ok(profile)
}

/// The profile of a generation with its usual values.
fn usual(generation: Generation, slot: Option<&Located<TimeSpan>>, uplink: bool) -> Checked<Profile> {
    let made = match (generation, uplink) {
        (Generation::Lte, false) => Some(Profile::lte()),
        (Generation::Lte, true) => Some(Profile::lte_uplink()),
        (Generation::Nr, _) => {
            let slot = slot.map_or(Profile::SLOT_30_KHZ, |slot| slot.value.0);
            if uplink { Profile::nr_uplink(slot) } else { Profile::nr(slot) }
        }
    };
    let fits = |profile: &Profile| slot.is_none_or(|slot| slot.value.0 == profile.slot);
    made.filter(fits).ok_or_else(|| {
        let (name, expected) = match generation {
            Generation::Lte => ("LTE", "expected \"1ms\""),
            Generation::Nr => ("NR", "expected \"1ms\", \"0.5ms\", \"0.25ms\" or \"0.125ms\""),
        };
        // Without a slot in the file the usual one fits.
        let (span, value) = slot.map_or((0..0, Duration::ZERO), |slot| (slot.span.clone(), slot.value.0));
        Problem::at(span, format!("{name} has no slots of {value}")).expected(expected)
    })
}

fn set<T>(value: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *value = said;
    }
}

fn nonzero(time: Option<&Located<TimeSpan>>, key: &str) -> Checked<Option<Duration>> {
    match time {
        Some(time) if time.value.0 == Duration::ZERO => {
            Err(Problem::at(time.span.clone(), format!("a `{key}` of zero"))
                .expected("expected a time above zero"))
        }
        time => Ok(time.map(|time| time.value.0)),
    }
}

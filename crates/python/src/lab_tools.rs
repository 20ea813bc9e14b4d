//! What the lab's commands need besides runs: what the machine carries, and the relay.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use handfast_core::Duration;
use handfast_lab::capacity::{self, Site};
use handfast_lab::relay::{self, Relay};
use handfast_lab::{Clock, Identity, Netns, PacketSocket, Stack, WireHost};
use handfast_tcp::profile;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::run::Control;

/// Measure what the packet loop carries between two hosts: a JSON object.
///
/// `ends` are the loop's interfaces, `interfaces` the hosts' own; `receiver` is an address and port of the second host.
/// `on_step` is called with each transfer as JSON; what it raises ends the measurement.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are keywords on the Python side")]
pub(crate) fn lab_capacity(
    py: Python<'_>,
    hub: String,
    ends: [String; 2],
    hosts: [String; 2],
    interfaces: [String; 2],
    receiver: &str,
    seconds: f64,
    on_step: Py<PyAny>,
) -> PyResult<String> {
    let site = Site { hub, ends, hosts, interfaces, receiver: parse(receiver, "an address and port")? };
    let length = Duration::from_nanos((seconds.clamp(0.1, 600.0) * 1e9) as u64);
    let mut raised = None;
    let measured = py.detach(|| {
        capacity::measure(&site, length, |step| {
            let told = Python::attach(|py| on_step.call1(py, (json(step)?,)).map(|_| ()));
            told.map_err(|error| raised = Some(error)).is_ok()
        })
    })?;
    raised.map_or_else(|| json(&measured), Err)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Relay between local programs and our endpoint on an interface.
///
/// It goes on until `control` is cancelled or the one connection of standard input and output is over, and returns
/// connections, broken ones, bytes to the wire, bytes from it. `netns` is where the interface is, `mac` its address where it is
/// not to be the kernel's, `neighbours` pairs of IP and
/// Ethernet address.
#[pyfunction]
#[pyo3(signature = (interface, addresses, wire, local, *, netns = None, mac = None, neighbours = Vec::new(), profile = "linux", control = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords on the Python side")]
pub(crate) fn lab_relay(
    py: Python<'_>,
    interface: &str,
    addresses: Vec<String>,
    wire: &str,
    local: &str,
    netns: Option<&str>,
    mac: Option<&str>,
    neighbours: Vec<(String, String)>,
    profile: &str,
    control: Option<&Control>,
) -> PyResult<(u64, u64, u64, u64)> {
    let wire: relay::Wire = wire.parse().map_err(PyValueError::new_err::<String>)?;
    let local: relay::Local = local.parse().map_err(PyValueError::new_err::<String>)?;
    let config = config_of(profile)?;
    let ip = |text: &String| parse::<IpAddr>(text, "an IP address");
    let addresses = addresses.iter().map(ip).collect::<PyResult<_>>()?;
    let neighbours: Vec<_> =
        neighbours.iter().map(|(address, at)| Ok((ip(address)?, parse_mac(at)?))).collect::<PyResult<_>>()?;
    let mac = mac.map(parse_mac).transpose()?;
    let host = open(interface, netns, mac, addresses, neighbours)?;
    let control = control.map_or_else(Arc::default, |control| control.core.clone());
    let carried = py.detach(|| Relay::new(host, config, wire, local)?.run(|| control.is_cancelled()))?;
    Ok((carried.connections, carried.broken, carried.to_wire, carried.to_local))
}

/// The endpoint's host, in the namespace of its interface.
fn open(
    interface: &str,
    netns: Option<&str>,
    mac: Option<[u8; 6]>,
    addresses: Vec<IpAddr>,
    neighbours: Vec<(IpAddr, [u8; 6])>,
) -> PyResult<WireHost> {
    let _there = netns.map(|name| Netns::open(name)?.enter()).transpose()?;
    let mac = match mac {
        Some(mac) => mac,
        None => PacketSocket::on(interface)?
            .mac()?
            .ok_or_else(|| PyValueError::new_err(format!("`{interface}` is no Ethernet interface")))?,
    };
    let stack = Stack::new(Identity { mac, addresses }, neighbours);
    Ok(WireHost::new(interface, stack, Clock::start())?)
}

fn config_of(name: &str) -> PyResult<Arc<handfast_tcp::Config>> {
    let found = profile(name).map(|profile| Arc::new(profile.config()));
    found.ok_or_else(|| PyValueError::new_err(format!("there is no profile called `{name}`")))
}

fn parse<T: FromStr>(text: &str, wanted: &str) -> PyResult<T> {
    text.parse().map_err(|_| PyValueError::new_err(format!("`{text}` is not {wanted}")))
}

/// Six hexadecimal numbers with colons between.
fn parse_mac(text: &str) -> PyResult<[u8; 6]> {
    let wrong =
        || PyValueError::new_err(format!("`{text}` is not an Ethernet address such as 02:00:00:00:00:01"));
    let parts = text.split(':').map(|part| u8::from_str_radix(part, 16)).collect::<Result<Vec<_>, _>>();
    parts.ok().and_then(|parts| parts.try_into().ok()).ok_or_else(wrong)
}

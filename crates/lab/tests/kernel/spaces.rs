//! Namespaces for a test, gone when it ends, however it ends.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use handfast_lab::{Netns, offloads_off};

/// Namespaces of one test.
pub(crate) struct Spaces {
    prefix: String,
    names: Vec<String>,
}

/// Namespaces, or the reason why there can be none is printed.
pub(crate) fn spaces() -> Option<Spaces> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("hft{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut spaces = Spaces { prefix, names: Vec::new() };
    match spaces.try_add("loop") {
        Ok(_) => Some(spaces),
        Err(why) => {
            println!("skipped: network namespaces cannot be made here: {why}");
            None
        }
    }
}

impl Spaces {
    /// The name of the namespace that is always there.
    pub(crate) fn hub(&self) -> String {
        format!("{}loop", self.prefix)
    }

    /// Makes another one, and returns its name.
    pub(crate) fn add(&mut self, suffix: &str) -> String {
        self.try_add(suffix).unwrap()
    }

    fn try_add(&mut self, suffix: &str) -> Result<String, String> {
        let name = format!("{}{suffix}", self.prefix);
        ip(&format!("netns add {name}"))?;
        self.names.push(name.clone());
        // Only what a test sends is to be seen.
        let quiet = "net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1";
        ip(&format!("netns exec {name} sysctl -qw {quiet}"))?;
        Ok(name)
    }

    /// Connects a namespace to the hub: a veth pair called `name` at both ends, up, without offloads.
    pub(crate) fn wire(&self, space: &str, name: &str, mac: &str) {
        let hub = self.hub();
        for command in [
            format!("-n {space} link add name {name} address {mac} type veth peer name {name} netns {hub}"),
            format!("-n {space} link set dev {name} up"),
            format!("-n {hub} link set dev {name} up"),
        ] {
            ip(&command).unwrap();
        }
        let _there = Netns::open(space).unwrap().enter().unwrap();
        offloads_off(name).unwrap();
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

/// Runs ip(8).
pub(crate) fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|e| format!("ip: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

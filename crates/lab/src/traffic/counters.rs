//! The kernel's counters of a namespace.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// Counters by name, as nstat(8) shows them: `TcpRetransSegs`, `TcpExtTCPLossUndo`.
pub(crate) type Counters = BTreeMap<String, u64>;

/// The TCP counters of the calling thread's namespace.
///
/// # Errors
/// Where `/proc` is not mounted.
pub(crate) fn read() -> io::Result<Counters> {
    let [snmp, netstat] =
        ["snmp", "netstat"].map(|file| fs::read_to_string(format!("/proc/thread-self/net/{file}")));
    let mut counters = parse(&snmp?);
    counters.extend(parse(&netstat?));
    counters.retain(|name, _| name.starts_with("Tcp"));
    Ok(counters)
}

/// Pairs of lines: a group with names, the same group with values.
fn parse(text: &str) -> Counters {
    let lines: Vec<&str> = text.lines().collect();
    let groups = lines.chunks_exact(2).filter_map(|pair| {
        let ((group, names), (_, values)) = (pair[0].split_once(':')?, pair[1].split_once(':')?);
        let pairs = names.split_whitespace().zip(values.split_whitespace());
        // `Tcp: MaxConn` is -1: no counter.
        let known =
            pairs.filter_map(move |(name, value)| Some((format!("{group}{name}"), value.parse().ok()?)));
        Some(known)
    });
    groups.flatten().collect()
}

/// What was counted between two readings; counters that stand still are left out.
pub(crate) fn difference(before: &Counters, after: &Counters) -> Counters {
    let grown = after.iter().filter_map(|(name, &value)| {
        let by = value.saturating_sub(before.get(name).copied().unwrap_or(0));
        (by > 0).then(|| (name.clone(), by))
    });
    grown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_with_values_and_groups() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 2 64\nTcp: MaxConn RetransSegs\nTcp: -1 7\n";
        let counters = parse(text);
        assert_eq!(counters.get("TcpRetransSegs"), Some(&7));
        assert_eq!(counters.get("TcpMaxConn"), None);
        let mut later = counters.clone();
        later.insert("TcpRetransSegs".to_owned(), 10);
        let difference = difference(&counters, &later);
        assert_eq!(difference.into_iter().collect::<Vec<_>>(), [("TcpRetransSegs".to_owned(), 3)]);
    }

    #[test]
    fn this_kernel_counts() {
        let counters = read().unwrap();
        assert!(counters.contains_key("TcpExtTCPTimeouts") && counters.contains_key("TcpRetransSegs"));
    }
}

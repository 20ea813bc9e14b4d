//! What of a script's shell commands is about the tool's link: the stack heeds that itself, and the shell does not see it. The rest is
//! the shell's.
#![forbid(unsafe_code)]

use crate::stack::Queue;

/// Interface of the tool.
const LINK: &str = "tun0";

/// What a command asks of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Another queueing discipline (`tc qdisc`).
    Queue(Queue),
    /// Something that changes nothing here (`ethtool -K`: no segment is ever cut by hardware).
    Nothing,
}

/// What the commands ask of the stack, in order, and what is left of them for the shell.
pub(crate) fn heed(commands: &str) -> (Vec<Asked>, String) {
    let (mut asked, mut left) = (Vec::new(), String::new());
    for (command, separator) in simple_commands(commands) {
        match understood(command) {
            Some(one) => {
                asked.push(one);
                // What it would have said: done.
                left.push_str(" : ");
            }
            None => left.push_str(command),
        }
        left.push_str(separator);
    }
    (asked, left)
}

/// The commands one by one, each with what divides it from the next. Nothing that a script says of its link is quoted.
fn simple_commands(mut text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    while !text.is_empty() {
        let end = ["\n", ";", "&&", "||"]
            .iter()
            .filter_map(|separator| text.find(separator).map(|at| (at, at + separator.len())))
            .min();
        let (at, next) = end.unwrap_or((text.len(), text.len()));
        found.push((&text[..at], &text[at..next]));
        text = &text[next..];
    }
    found
}

fn understood(command: &str) -> Option<Asked> {
    // A continued line is one command.
    let words = command.split_whitespace().filter(|word| !word.contains('>') && *word != "\\");
    let words = words.collect::<Vec<_>>();
    match words.as_slice() {
        ["tc", "qdisc", verb, rest @ ..] if is_of_link(rest) && rest.contains(&"root") => {
            queue(verb, rest).map(Asked::Queue)
        }
        ["ethtool", "-K", LINK, ..] => Some(Asked::Nothing),
        _ => None,
    }
}

fn is_of_link(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair == ["dev", LINK])
}

/// What follows a key.
fn after<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().skip_while(|word| **word != key).nth(1).copied()
}

/// tc(8): disciplines that the stack has.
fn queue(verb: &str, words: &[&str]) -> Option<Queue> {
    match verb {
        "del" | "delete" => return Some(Queue::Taking),
        "add" | "replace" | "change" => {}
        _ => return None,
    }
    if words.contains(&"pfifo") || words.contains(&"bfifo") {
        let drops =
            after(words, "limit").is_some_and(|limit| limit.trim_end_matches(char::is_alphabetic) == "0");
        Some(if drops { Queue::Dropping } else { Queue::Taking })
    } else if words.contains(&"fq") {
        Some(if words.contains(&"nopacing") { Queue::Taking } else { Queue::Pacing })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(commands: &str) -> Vec<Asked> {
        heed(commands).0
    }

    #[test]
    fn what_is_of_the_link_is_heeded_and_the_rest_is_left() {
        let text = "./defaults.sh\ntc qdisc replace dev tun0 root fq\nsysctl -q net/ipv4/tcp_sack=1";
        let (asked, left) = heed(text);
        assert_eq!(asked, [Asked::Queue(Queue::Pacing)]);
        assert_eq!(left, "./defaults.sh\n : \nsysctl -q net/ipv4/tcp_sack=1");
    }

    #[test]
    fn disciplines_come_and_go() {
        let [pacing, dropping, taking] = [Queue::Pacing, Queue::Dropping, Queue::Taking].map(Asked::Queue);
        let both = "tc qdisc delete dev tun0 root 2>/dev/null ; tc qdisc add dev tun0 root pfifo limit 0";
        assert_eq!(queues(both), [taking, dropping]);
        assert_eq!(queues("tc qdisc add dev tun0 root pfifo limit 10"), [taking]);
        assert_eq!(queues("true && tc qdisc add dev tun0 root handle 1: fq limit 0 || false"), [pacing]);
        assert_eq!(queues("tc qdisc change dev tun0 root fq nopacing"), [taking]);
    }

    #[test]
    fn what_is_of_other_links_or_not_known_is_the_shells() {
        for text in [
            "tc qdisc add dev eth0 root fq",
            "tc qdisc add dev tun0 ingress",
            "tc qdisc show dev tun0 root",
            "tc qdisc add dev tun0 root netem delay 10ms",
            "ethtool -K eth0 tso off",
            "# tc qdisc add dev tun0 root fq",
            "",
        ] {
            assert_eq!(heed(text), (Vec::new(), text.to_owned()), "{text}");
        }
        assert_eq!(queues("ethtool -K tun0 tso off gso off"), [Asked::Nothing]);
    }
}

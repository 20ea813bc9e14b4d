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
///
/// # Errors
/// A discipline of the link that the stack does not have, or one that the shell would set only on a condition: what is wrong.
pub(crate) fn heed(commands: &str) -> Result<(Vec<Asked>, String), String> {
    let (mut asked, mut left) = (Vec::new(), String::new());
    let commands = simple_commands(commands);
    let is_compound = commands.iter().any(|(command, _)| begins_compound(command));
    let mut conditional = is_compound;
    for (command, separator) in commands {
        let one = understood(command).map_err(|why| format!("`{}`: {why}", in_a_line(command)))?;
        if conditional && matches!(one, Some(Asked::Queue(_))) {
            return Err(format!(
                "`{}`: a discipline of {LINK} is set on no condition and in no loop here",
                in_a_line(command)
            ));
        }
        match one {
            Some(one) => {
                asked.push(one);
                // What it would have said: done.
                left.push_str(" : ");
            }
            None => left.push_str(command),
        }
        left.push_str(separator);
        conditional = is_compound || matches!(separator, "&&" | "||");
    }
    Ok((asked, left))
}

/// A command as a message names it.
fn in_a_line(command: &str) -> String {
    command.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ")
}

/// The commands one by one, each with what divides it from the next. What is quoted or a comment divides nothing, nor does a newline after
/// a backslash.
fn simple_commands(mut text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    while !text.is_empty() {
        let (at, separator) = first_separator(text);
        found.push((&text[..at], separator));
        text = &text[at + separator.len()..];
    }
    found
}

/// Where the first command of a text ends, and by what.
fn first_separator(text: &str) -> (usize, &str) {
    let (mut escaped, mut quote, mut comment, mut before) = (false, None, false, ' ');
    for (at, c) in text.char_indices() {
        let separator =
            ["\n", ";", "&&", "||"].into_iter().find(|separator| text[at..].starts_with(separator));
        match separator {
            _ if std::mem::take(&mut escaped) => {}
            Some("\n") if quote.is_none() => return (at, "\n"),
            _ if comment => {}
            Some(separator) if quote.is_none() => return (at, separator),
            _ if quote == Some(c) => quote = None,
            _ if c == '\\' && quote != Some('\'') => escaped = true,
            _ if quote.is_none() && matches!(c, '\'' | '"') => quote = Some(c),
            _ => comment |= quote.is_none() && c == '#' && before.is_whitespace(),
        }
        before = c;
    }
    (text.len(), "")
}

/// Whether commands from this one on are carried out on a condition, or more than once.
fn begins_compound(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    matches!(first, "if" | "for" | "while" | "until" | "case" | "{" | "!") || first.starts_with('(')
}

fn understood(command: &str) -> Result<Option<Asked>, String> {
    let words = words(command);
    if words.starts_with(&["ethtool", "-K", LINK]) {
        return Ok(Some(Asked::Nothing));
    }
    let Some(tc) = words.iter().position(|word| *word == "tc") else { return Ok(None) };
    let Some(qdisc) = words.iter().position(|word| *word == "qdisc").filter(|&at| at > tc) else {
        return Ok(None);
    };
    let (verb, rest) =
        (words.get(qdisc + 1).copied().unwrap_or_default(), words.get(qdisc + 2..).unwrap_or(&[]));
    let is_deletion = matches!(verb, "del" | "delete");
    let sets = is_deletion && rest.contains(&"root") || matches!(verb, "add" | "replace" | "change" | "link");
    if !sets || !rest.windows(2).any(|pair| pair == ["dev", LINK]) {
        return Ok(None);
    }
    if (tc, qdisc) != (0, 1) {
        return Err(format!("a discipline of {LINK} is set by a command that begins with `tc qdisc` here"));
    }
    let queue = if is_deletion { Some(Queue::Taking) } else { queue(rest) };
    queue.map(|queue| Some(Asked::Queue(queue))).ok_or_else(|| {
        format!(
            "{LINK} has no such discipline here; known are fq (limit, flow_limit, buckets, orphan_mask, refill_delay, timer_slack, \
             pacing, nopacing), pfifo, bfifo limit 0, pfifo_fast and noqueue, each as root"
        )
    })
}

/// The words of a command, without quotes, redirections, comments and what continues a line.
fn words(command: &str) -> Vec<&str> {
    let mut redirects = false;
    let words = command.split_whitespace().take_while(|word| !word.starts_with('#'));
    let words = words.filter(|word| {
        let target = std::mem::replace(&mut redirects, word.ends_with('>'));
        !target && !word.contains('>') && *word != "\\"
    });
    words.map(|word| word.trim_matches(['"', '\'', '(', ')'])).collect()
}

/// tc(8): disciplines that the stack has. `words`: what follows the verb.
fn queue(words: &[&str]) -> Option<Queue> {
    let (mut words, mut is_root) = (words.iter().copied(), false);
    let kind = loop {
        match words.next()? {
            "dev" | "handle" => drop(words.next()),
            "root" => is_root = true,
            kind => break kind,
        }
    };
    let words = words.collect::<Vec<_>>();
    match kind {
        _ if !is_root => None,
        "pfifo" | "bfifo" => match words.as_slice() {
            ["limit", limit] if is_zero(limit) => Some(Queue::Dropping),
            [] => Some(Queue::Taking),
            ["limit", _] if kind == "pfifo" => Some(Queue::Taking),
            _ => None,
        },
        "pfifo_fast" | "noqueue" => words.is_empty().then_some(Queue::Taking),
        "fq" => fair_queue(&words),
        _ => None,
    }
}

/// tc-fq(8): what changes nothing for one flow on a link that takes no time is taken.
fn fair_queue(words: &[&str]) -> Option<Queue> {
    let (mut words, mut queue) = (words.iter(), Queue::Pacing);
    while let Some(&key) = words.next() {
        match key {
            // `fq_enqueue`: as many wait already.
            "limit" | "flow_limit" => {
                let drops = is_zero(words.next()?);
                queue = if drops { Queue::Dropping } else { queue };
            }
            "nopacing" if queue == Queue::Pacing => queue = Queue::Taking,
            "pacing" | "nopacing" => {}
            "buckets" | "orphan_mask" | "refill_delay" | "timer_slack" => drop(words.next()?),
            _ => return None,
        }
    }
    Some(queue)
}

/// A number with or without a unit.
fn is_zero(limit: &str) -> bool {
    limit.trim_end_matches(char::is_alphabetic) == "0"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(commands: &str) -> Vec<Asked> {
        heed(commands).expect("known").0
    }

    #[test]
    fn what_is_of_the_link_is_heeded_and_the_rest_is_left() {
        let text = "./defaults.sh\ntc qdisc replace dev tun0 root fq\nsysctl -q net/ipv4/tcp_sack=1";
        let (asked, left) = heed(text).expect("known");
        assert_eq!(asked, [Asked::Queue(Queue::Pacing)]);
        assert_eq!(left, "./defaults.sh\n : \nsysctl -q net/ipv4/tcp_sack=1");
    }

    #[test]
    fn disciplines_come_and_go() {
        let [pacing, dropping, taking] = [Queue::Pacing, Queue::Dropping, Queue::Taking].map(Asked::Queue);
        let both = "tc qdisc delete dev tun0 root 2>/dev/null ; tc qdisc add dev tun0 root pfifo limit 0";
        assert_eq!(queues(both), [taking, dropping]);
        assert_eq!(queues("tc qdisc add dev tun0 root pfifo limit 10 > /dev/null"), [taking]);
        assert_eq!(queues("tc qdisc add dev tun0 root handle 1: fq flow_limit 5 || false"), [pacing]);
        assert_eq!(queues("tc qdisc add dev tun0 root fq limit 0 nopacing"), [dropping]);
        assert_eq!(queues("tc qdisc change dev tun0 root fq nopacing"), [taking]);
        assert_eq!(queues("tc qdisc add dev tun0 root noqueue"), [taking]);
    }

    #[test]
    fn a_continued_line_is_one_command() {
        let (asked, left) = heed("tc qdisc add dev tun0 \\\n  root pfifo \\\n limit 0\ntrue").expect("known");
        assert_eq!(asked, [Asked::Queue(Queue::Dropping)]);
        assert_eq!(left, " : \ntrue");
    }

    #[test]
    fn what_is_of_other_links_or_only_looks_is_the_shells() {
        for text in [
            "tc qdisc add dev eth0 root fq",
            "tc qdisc show dev tun0 root",
            "tc -s qdisc show dev tun0",
            "tc qdisc del dev tun0 ingress",
            "ethtool -K eth0 tso off",
            "# tc qdisc add dev tun0 root fq",
            "true # so; tc qdisc add dev tun0 root netem",
            "echo 'a; b' && true",
            "",
        ] {
            assert_eq!(heed(text), Ok((Vec::new(), text.to_owned())), "{text}");
        }
        assert_eq!(queues("ethtool -K tun0 tso off gso off"), [Asked::Nothing]);
    }

    #[test]
    fn another_link_than_the_stack_has_is_refused() {
        for command in [
            "tc qdisc add dev tun0 root netem delay 10ms",
            "tc qdisc replace dev tun0 root tbf rate 1mbit burst 10k latency 1s",
            "tc qdisc add dev tun0 root fq_codel",
            "tc qdisc add dev tun0 root prio",
            "tc qdisc add dev tun0 root fq maxrate 1mbit",
            "tc qdisc add dev tun0 root bfifo limit 10",
            "tc qdisc add dev tun0 parent 1:1 pfifo",
            "tc qdisc add dev tun0 ingress",
            "tc qdisc add dev tun0 \\\n root netem loss 1%",
        ] {
            let error = heed(&format!("true\n{command}\ntrue")).expect_err(command);
            let named = command.replace("\\\n ", "");
            assert!(error.starts_with(&format!("`{named}`: tun0 has no such discipline")), "{error}");
            assert!(error.contains("known are fq"), "{error}");
        }
    }

    #[test]
    fn conditions_and_loops_around_the_link_are_refused() {
        for commands in [
            "false && tc qdisc add dev tun0 root fq",
            "true || tc qdisc del dev tun0 root",
            "if false; then\ntc qdisc add dev tun0 root fq\nfi",
            "if false; then tc qdisc add dev tun0 root fq; fi",
            "(false; tc qdisc add dev tun0 root fq)",
            "sh -c \"tc qdisc add dev tun0 root netem\"",
        ] {
            assert!(heed(commands).is_err(), "{commands}");
        }
        assert_eq!(queues("true && true ; tc qdisc add dev tun0 root fq"), [Asked::Queue(Queue::Pacing)]);
    }
}

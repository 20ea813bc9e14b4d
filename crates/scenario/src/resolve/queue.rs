//! The queue of a link: which discipline, with which parameters.

use handfast_core::units::{BYTES, PACKETS, SHARE, Units};
use handfast_core::{Bytes, Duration};
use handfast_document::{Checked, Located, Problem, Quantity, nearest, parse_units};
use handfast_net::Queue;
use handfast_net::queue::Value;

use crate::file::{self, QueueLimit, QueueText, TimeSpan};

/// The key that names the discipline.
const DISCIPLINE: &str = "discipline";

type Entry = (Located<String>, Located<QueueText>);

/// A queue as the file says it.
pub(super) fn resolve(queue: &Located<file::Queue>) -> Checked<Queue> {
    let entries = match &queue.value {
        file::Queue::Word(queue) => return Ok(queue.clone()),
        file::Queue::Table(entries) => entries,
    };
    let Some((_, name)) = entries.iter().find(|(key, _)| key.value == DISCIPLINE) else {
        let problem = Problem::at(queue.span.clone(), format!("the key `{DISCIPLINE}` is missing"));
        return Err(problem.expected(format!("needs `{DISCIPLINE}`")));
    };
    let mut queue = named(name)?;
    for entry in entries.iter().filter(|(key, _)| key.value != DISCIPLINE) {
        set(&mut queue, entry)?;
    }
    Ok(queue)
}

/// The discipline of that name, with its usual parameters.
fn named(name: &Located<QueueText>) -> Checked<Queue> {
    let word = name.value.0.as_str();
    Queue::named(word).ok_or_else(|| {
        let all = Queue::all();
        let names = all.iter().map(|queue| queue.config().name());
        let title = format!("there is no queue discipline called `{}`", word.escape_debug());
        Problem::at(name.span.clone(), title).nearest(word, names)
    })
}

/// Gives a parameter its value.
fn set(queue: &mut Queue, (key, text): &Entry) -> Checked<()> {
    let word = key.value.as_str();
    let mut parameters = queue.config_mut().parameters();
    let Some(parameter) = parameters.iter_mut().find(|parameter| parameter.key == word) else {
        let keys = parameters.iter().map(|parameter| parameter.key);
        let known: Vec<_> = [DISCIPLINE].into_iter().chain(keys).collect();
        let problem = Problem::at(key.span.clone(), format!("unknown key `{}`", word.escape_debug()));
        let problem = problem.expected(format!("expected one of: {}", known.join(", ")));
        return Err(match nearest(word, known.into_iter()) {
            Some(name) => problem.help(format!("did you mean `{name}`?")),
            None => problem,
        });
    };
    read(&mut parameter.value, &text.value.0).map_err(|wrong| Problem::at(text.span.clone(), wrong))
}

/// The whole of a share, in hundredths of a percent.
const ALL: u32 = 10_000;

/// Reads a parameter's value, or says what is wrong with it.
fn read(value: &mut Value<'_>, text: &str) -> Result<(), String> {
    match value {
        Value::Limit(limit) => **limit = QueueLimit::read(text)?.0,
        Value::Time(time) => match TimeSpan::read(text)?.0 {
            Duration::ZERO => return Err("expected a time above zero".to_owned()),
            read => **time = read,
        },
        Value::Size(bytes) => **bytes = Bytes(above_zero(&BYTES, text)?),
        Value::Packets(packets) => **packets = above_zero(&PACKETS, text)? as u32,
        Value::Share(share) => **share = above_zero(&SHARE, text)? as u32,
        Value::Part(share) => match above_zero(&SHARE, text)? as u32 {
            ALL => return Err("expected less than 100%: nothing is left for the rest".to_owned()),
            read => **share = read,
        },
    }
    Ok(())
}

/// A whole number of the base unit, which keeps to the unit's bound.
fn above_zero(units: &Units, text: &str) -> Result<u64, String> {
    match parse_units(units, text)? {
        0 => Err(format!("expected {} above zero", units.what)),
        value => Ok(value),
    }
}

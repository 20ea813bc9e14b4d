//! Whatever the bytes are: a scenario or an error with a place, never a panic, and bounded memory.

use handfast_scenario::Scenario;
use proptest::prelude::*;

const EVERYTHING: &str = include_str!("everything.toml");

/// One change to a right file.
#[derive(Clone, Debug)]
enum Mutation {
    /// Cut off at this share of the length.
    Truncate(f64),
    /// Remove some bytes.
    Remove(f64, usize),
    /// Put text in.
    Insert(f64, String),
    /// Put a line of the file somewhere else.
    Repeat(f64, f64),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let words = "[-a-z0-9 =\"'\\[\\]{}.,#\n\r\té∞\u{301}\u{0}]{0,8}|99999999999999999999|-1|nan|inf|1e400|\"\"\"|0x7f|1979-05-27";
    prop_oneof![
        (0.0..1.0).prop_map(Mutation::Truncate),
        (0.0..1.0, 1..40usize).prop_map(|(at, len)| Mutation::Remove(at, len)),
        (0.0..1.0, words).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (0.0..1.0, 0.0..1.0).prop_map(|(from, to)| Mutation::Repeat(from, to)),
    ]
}

/// A character boundary at this share of the text.
fn at(text: &str, share: f64) -> usize {
    let wanted = (text.len() as f64 * share) as usize;
    (0..=wanted).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

fn mutate(text: &mut String, mutation: &Mutation) {
    match mutation {
        Mutation::Truncate(share) => text.truncate(at(text, *share)),
        Mutation::Remove(share, len) => {
            let start = at(text, *share);
            let end = (start..=(start + len).min(text.len())).rev().find(|&i| text.is_char_boundary(i));
            text.replace_range(start..end.unwrap_or(start), "");
        }
        Mutation::Insert(share, word) => text.insert_str(at(text, *share), word),
        Mutation::Repeat(from, to) => {
            let lines: Vec<&str> = text.lines().collect();
            let line = |share: f64| (lines.len() as f64 * share) as usize;
            let Some(copied) = lines.get(line(*from)) else { return };
            let place = line(*to).min(lines.len());
            let all = lines[..place].iter().chain([copied]).chain(&lines[place..]);
            *text = all.copied().collect::<Vec<_>>().join("\n");
        }
    }
}

/// The only property that every text has.
fn scenario_or_place(text: &str, overrides: &[(String, String)]) -> Result<(), TestCaseError> {
    if let Err(error) = Scenario::parse(text, "hostile.toml", overrides) {
        let lines = if error.source_name == "--set" { 1 } else { text.matches('\n').count() + 1 };
        prop_assert!((1..=lines).contains(&error.line), "line {} of {lines}: {error}", error.line);
        prop_assert!(error.column >= 1, "{error}");
        prop_assert!(error.message.starts_with("error: "), "{error}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files(mutations in proptest::collection::vec(mutation(), 1..6)) {
        let mut text = EVERYTHING.to_owned();
        for mutation in &mutations {
            mutate(&mut text, mutation);
        }
        scenario_or_place(&text, &[])?;
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        scenario_or_place(&text, &[])?;
    }

    #[test]
    fn any_override(path in "[a-z0-9.]{0,20}|links\\.[a-z0-9]{1,3}\\.[a-z]{1,5}|\\PC{0,10}", value in "\\PC{0,20}|[\\[{\"]{0,3}") {
        scenario_or_place(EVERYTHING, &[("duration".to_owned(), "90s".to_owned()), (path, value)])?;
    }
}

/// Files that are small and ask for much.
#[test]
fn greed_is_an_error() {
    let base = include_str!("errors/base.toml");
    let nested = format!("{base}\n[tcp]\nmss = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = "\n[generate.line]\nlink = {rate = \"1Gbit/s\", delay = \"1ms\"}\n";
    let flows = "\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\ncount = 60000\n";
    let files = [
        (nested, "max recursion depth"),
        (format!("{base}{line}switches = 4000000000"), "1 to 99999"),
        (format!("{base}{line}switches = 5001"), "more than 5000 nodes with several links"),
        (format!("{base}{line}switches = 3\ncount = 4000000000"), "1 to 99999"),
        (format!("{base}{flows}{flows}"), "more than 100000 flows"),
        ("#".repeat(5 << 20), "longer than"),
    ];
    let set: [(&[(&str, &str)], &str); 3] = [
        (&[("flows.0.count", "4000000000")], "1 to 100000"),
        (&[("events.0.gap", "1ns"), ("events.0.every", "1ns")], "repetitions"),
        (&[("sample_interval", "1ns")], "samples of each series"),
    ];
    let files = files.iter().map(|(text, why)| (&text[..], &[][..], *why));
    for (text, changes, why) in files.chain(set.map(|(changes, why)| (base, changes, why))) {
        let overrides: Vec<_> =
            changes.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        let error = Scenario::parse(text, "greed", &overrides).expect_err(why);
        assert!(error.message.contains(why), "{why}: {error}");
    }
}

#[test]
fn the_largest_generated_topology_is_read() {
    let text = "duration = \"1s\"\n[generate.dumbbell]\npairs = 99999\naccess = {rate = \"1Gbit/s\", delay = \"1ms\"}\n\
                bottleneck = {rate = \"1Gbit/s\", delay = \"1ms\"}";
    let scenario = Scenario::parse(text, "large", &[]).unwrap();
    assert_eq!(
        (scenario.nodes.len(), scenario.links.len(), scenario.flows.len()),
        (200_000, 199_999, 99_999)
    );
}

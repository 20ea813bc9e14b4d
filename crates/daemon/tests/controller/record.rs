//! What passed is recorded without payload, and told again has the same effect.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Command;

use handfast_assist::sdn::Controller;
use handfast_daemon::config::Settings;
use handfast_daemon::recording::Recording;
use handfast_document::testing::edited;
use nix::sys::signal::Signal;

use crate::roam::roam;
use crate::support::{ACT, Daemon, Switch, folder};

/// A roam as it was recorded, with its daemon ended by `signal`.
fn recorded(signal: Signal) -> (Recording, Vec<u8>) {
    let path = record(signal);
    let bytes = fs::read(&path).unwrap();
    (Recording::read(BufReader::new(File::open(path).unwrap())).unwrap(), bytes)
}

fn record(signal: Signal) -> PathBuf {
    let folder = folder();
    let path = folder.join("recording");
    let mut daemon = Daemon::start_in(folder, ACT, &["--record", path.to_str().unwrap()]);
    let (mut switch, _) = Switch::ready(&daemon);
    roam(&daemon, &mut switch);
    daemon.signal(signal);
    path
}

fn replay(recording: &Recording, config: &str) -> Result<usize, String> {
    let settings = Settings::parse(config, "recording").unwrap();
    let mut controller = Controller::new(settings.controller);
    recording.replay(&mut controller).map_err(|difference| difference.to_string())
}

#[test]
fn a_recording_told_again_has_the_same_effect() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let (recording, _) = recorded(signal);
        // Greeting, features, two roles, ports, two for its tables, trial, removal, barrier; what diverts; a repetition; what
        // listens goes, where it is now, what diverts again, three segments, a barrier, a removal; and the last removal of
        // one that ends well.
        let sent = 10 + 4 + 1 + 2 + 3 + 3 + 1 + 1 + usize::from(signal == Signal::SIGTERM);
        assert_eq!(replay(&recording, recording.config()), Ok(sent));
        assert!(recording.inputs() > 10);
        // Control: another controller is told apart.
        let other = edited(recording.config(), "mode =", "priority = 40001\nmode =");
        let difference = replay(&recording, &other).unwrap_err();
        assert!(difference.starts_with("after line "), "{difference}");
        let other = edited(recording.config(), "54Mbit/s\"}", "54Mbit/s\", burst = \"1B\"}");
        assert!(replay(&recording, &other).is_err(), "another pace");
    }
}

#[test]
fn replay_ends_with_its_verdict() {
    let path = record(Signal::SIGTERM);
    let replay = || Command::new(env!("CARGO_BIN_EXE_handfastd")).arg("replay").arg(&path).output().unwrap();
    let same = replay();
    assert_eq!(same.status.code(), Some(0));
    assert!(String::from_utf8(same.stdout).unwrap().ends_with("26 outputs, all the same\n"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, edited(&text, "\"ap\":1", "\"ap\":0")).unwrap();
    let other = replay();
    assert_eq!(other.status.code(), Some(1), "another access point is another port");
    assert!(String::from_utf8(other.stdout).unwrap().starts_with("after line "));
    fs::write(&path, "{}").unwrap();
    assert_eq!(replay().status.code(), Some(2), "nothing but a line that was cut off");
}

#[test]
fn no_payload_is_written() {
    let (_, bytes) = recorded(Signal::SIGTERM);
    let text = String::from_utf8(bytes).unwrap();
    let secret = b"SECRET--".map(|byte| format!("{byte:02x}")).concat();
    let zeros = text.split('+').skip(1).filter_map(|rest| rest.split_once('"')?.0.parse().ok());
    // Four packets came and left.
    assert_eq!(zeros.filter(|&zeros: &u32| zeros >= 1000).count(), 8);
    assert!(!text.contains(&secret) && !text.contains("SECRET"));
}

#[test]
fn what_is_no_recording_is_refused() {
    let read = |text: &str| Recording::read(text.as_bytes()).map(drop).unwrap_err().to_string();
    let begin = "{\"recording\":{\"version\":2,\"config\":\"\"}}\n";
    assert!(read("{\"timer\":{\"at\":1}}\n").contains("line 1 of the recording: expected a recording"));
    assert!(read("{\"recording\":{\"version\":1,\"config\":\"\"}}\n").contains("version 2"));
    assert!(read(&format!("{begin}{{\"timer\":{{\"at\":1,\"x\":2}}}}\n")).contains("line 2"));
    assert!(read(&format!("{begin}{{\"closed\":{{\"conn\":1}}}}\n")).contains("nothing was told before"));
    assert!(
        read(&format!("{begin}{{\"message\":{{\"at\":1,\"conn\":1,\"bytes\":\"0g\"}}}}\n"))
            .contains("hexadecimal")
    );
    assert_eq!(Recording::read(format!("{begin}{{\"timer\"").as_bytes()).unwrap().inputs(), 0, "cut off");
}

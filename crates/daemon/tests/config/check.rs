//! `--check`: whether the file is right, and whether this machine lets it run.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use handfast_document::testing::edited;

use crate::BASE;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("handfastd-check-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The base file with a socket and an address of a test's own.
fn config(socket: &Path, listen: &str) -> String {
    edited(&edited(BASE, "/run/handfast.sock", socket.to_str().unwrap()), "127.0.0.1:6653", listen)
}

fn handfastd(folder: &Path, text: &str, options: &[&str]) -> Output {
    let file = folder.join("handfastd.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_handfastd"));
    command.args(["controller", "--config"]).arg(&file).args(options).output().unwrap()
}

fn check(folder: &Path, socket: &Path, listen: &str) -> (Option<i32>, String) {
    let done = handfastd(folder, &config(socket, listen), &["--check"]);
    assert!(String::from_utf8(done.stdout).unwrap().starts_with("act: makes flow entries"), "the plan");
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

const FREE: &str = "127.0.0.1:0";

#[test]
fn it_ends_with_its_verdict_and_leaves_nothing() {
    let folder = folder("verdict");
    assert_eq!(check(&folder, &folder.join("socket"), FREE), (Some(0), String::new()));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["handfastd.toml"]);
    let wrong = handfastd(&folder, "mode = 3", &["--check"]);
    assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("handfastd.toml:1:8"));
}

#[test]
fn certificates_have_to_be_there_for_who_shows_them() {
    let folder = folder("certificates");
    let tls = "[tls]\ncertificate = \"/no/cert\"\nkey = \"/no/key\"\nauthorities = \"/no/ca\"\n[limits]";
    let text = edited(&config(&folder.join("socket"), FREE), "[limits]", tls);
    let done = handfastd(&folder, &text, &["--check"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(
        done.status.code() == Some(2) && said.contains("tls.certificate /no/cert: No such file"),
        "{said}"
    );
    let done = handfastd(&folder, &text, &[]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(2) && said.contains("tls.certificate /no/cert"), "{said}");
    // Nobody needs them to ask, to switch off or to replay.
    assert!(handfast_daemon::config::Settings::parse(&text, "x").is_ok());
}

#[test]
fn a_socket_s_directory_must_exist_and_take_files() {
    let folder = folder("directory");
    let nowhere = folder.join("nowhere");
    let (code, said) = check(&folder, &nowhere.join("socket"), FREE);
    let make = format!("does not exist; make it (mkdir -p {}), or choose another path\n", nowhere.display());
    assert!(code == Some(2) && said.ends_with(&make), "{said}");
    let file = folder.join("handfastd.toml");
    let (code, said) = check(&folder, &file.join("socket"), FREE);
    assert!(code == Some(2) && said.contains("is no directory; choose another path"), "{said}");
    // Not even root makes files there.
    let (code, said) = check(&folder, Path::new("/proc/handfast.sock"), FREE);
    assert!(code == Some(2) && said.contains("no file can be made in the directory /proc"), "{said}");
    assert!(said.contains("run as a user who may, or choose another path"), "{said}");
}

#[test]
fn what_is_at_the_socket_s_path_is_looked_at() {
    let folder = folder("place");
    let socket = folder.join("socket");
    fs::write(&socket, "").unwrap();
    let (code, said) = check(&folder, &socket, FREE);
    assert!(code == Some(2) && said.contains("is no socket; remove it, or choose another path"), "{said}");
    fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let (code, said) = check(&folder, &socket, FREE);
    assert!(code == Some(2) && said.contains("another daemon listens at"), "{said}");
    drop(listener);
    assert_eq!(check(&folder, &socket, FREE).0, Some(0), "a dead daemon's file is replaced at the start");
}

#[test]
fn who_holds_the_port_is_named() {
    let folder = folder("port");
    let (socket, taken) = (folder.join("socket"), TcpListener::bind(FREE).unwrap());
    let listen = taken.local_addr().unwrap().to_string();
    let (code, said) = check(&folder, &socket, &listen);
    let pid = std::process::id();
    let expected = format!("(pid {pid}); stop that first, or choose another port\n");
    assert!(code == Some(2) && said.starts_with(&format!("error: listen: {listen} is taken by ")), "{said}");
    assert!(said.ends_with(&expected), "{said}");
    // And the same words without `--check`.
    let start = handfastd(&folder, &config(&socket, &listen), &[]);
    assert_eq!(start.status.code(), Some(2));
    assert!(String::from_utf8(start.stderr).unwrap().ends_with(&expected));
}

#[test]
fn all_that_is_in_the_way_is_said_at_once() {
    let folder = folder("all");
    let taken = TcpListener::bind(FREE).unwrap();
    let (code, said) = check(&folder, &folder.join("no/socket"), &taken.local_addr().unwrap().to_string());
    assert_eq!((code, said.lines().count()), (Some(2), 2), "{said}");
}

//! What users of `handfastd session` learn of failures, and what a failure must not do.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::session_scene::{Detour, Scene, echo, errors, exchange, resetting, slow};
use crate::support::PATIENCE;

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// What a failed `connect` must say, and that its exit code says so.
fn fails(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(errors(output).contains(why), "{why}: {output:?}");
}

#[test]
fn a_connection_that_goes_straight_and_fails_is_an_error() {
    let scene = Scene::new();
    let peer = nobody().to_string();
    let straight = |host: &str, port: u16| {
        let port = port.to_string();
        scene.exchange(&["connect", "--policy", "prefer", "--peer", &peer, host, &port], b"hello")
    };
    fails(&straight("nowhere.invalid", 9), "the name has no address");
    fails(&straight("127.0.0.1", nobody().port()), "refused");
    let cut = straight("127.0.0.1", resetting());
    fails(&cut, "reset");
    assert_eq!(cut.stdout, b"partial");
}

#[test]
fn a_target_that_resets_is_an_error() {
    let port = resetting().to_string();
    let scene = Scene::to(&port);
    let peer = scene.server.address.to_string();
    let output = scene.exchange(&["connect", "--peer", &peer, "echo.example", &port], b"hello");
    fails(&output, "has reset the connection");
}

#[test]
fn a_peer_with_another_key_does_not_leave_connect_waiting() {
    let scene = Scene::new();
    let peer = scene.server.address.to_string();
    let folder = scene.home.join(".config/handfast");
    fs::create_dir_all(&folder).unwrap();
    let known = folder.join("known_peers");
    fs::write(&known, format!("{peer} {}\n", "5d".repeat(32))).unwrap();
    fs::set_permissions(&known, fs::Permissions::from_mode(0o600)).unwrap();
    let text = "exec 3<>/dev/tcp/192.0.2.8/9 || echo no way";
    let begin = Instant::now();
    let run = ["run", "--all", "--policy", "prefer", "--peer", &peer, "--", "/bin/bash", "-c", text];
    let output = scene.exchange(&run, b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "no way\n", "{output:?}");
    assert!(errors(&output).contains("shows another key"), "{output:?}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_session_without_a_program_fails_silently() {
    // The program has gone straight when the peer says that it does not take this client.
    let scene = Scene::with(|config| config.replace("pin_first = 1", "pin_first = 0"));
    let peer = slow(scene.server.address, Duration::from_millis(150)).to_string();
    let port = echo().0.to_string();
    let mut child = scene
        .command(&["connect", "--policy", "prefer", "--peer", &peer, "127.0.0.1", &port])
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    to.write_all(b"straight").unwrap();
    scene.server.status_with(|status| status["counters"]["requests_refused"].as_u64() >= Some(1));
    thread::sleep(Duration::from_millis(600));
    drop(to);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"straight"[..]), "{output:?}");
    assert_eq!(errors(&output), "");
}

#[test]
fn a_target_to_which_a_peer_that_is_far_away_does_not_lead_goes_straight() {
    let scene = Scene::new();
    let peer = slow(scene.server.address, Duration::from_millis(150)).to_string();
    let port = echo().0.to_string();
    let program = env!("CARGO_BIN_EXE_handfastd");
    // The first one goes straight since nobody knows the peer yet, which answers late; the second one asks it.
    let one = format!("echo hello | {program} session connect 127.0.0.1 {port} || echo failed");
    let text = format!("{one}; sleep 2; {one}; {one}");
    let output =
        scene.exchange(&["run", "--policy", "prefer", "--peer", &peer, "--", "/bin/sh", "-c", &text], b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\nhello\nhello\n", "{output:?}");
    let refused = scene.server.status()["counters"]["targets_refused"].clone();
    assert!(refused.as_u64() >= Some(1), "the peer was asked");
}

/// The next line of a program.
fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    line
}

#[test]
fn a_peer_with_another_key_ends_no_session_that_was_open() {
    let (scene, other) = (Scene::new(), Scene::new());
    let between = Detour::new(scene.server.address);
    let (peer, program) = (between.address.to_string(), env!("CARGO_BIN_EXE_handfastd"));
    let connect = format!("{program} session connect echo.example {}", scene.port);
    let text = format!(
        "coproc {connect}; say() {{ echo $1 >&${{COPROC[1]}}; read back <&${{COPROC[0]}}; echo $back; }}; \
         say before; read go; {connect} </dev/null || echo refused; read go; say behind"
    );
    let mut child = scene.command(&["run", "--peer", &peer, "--", "/bin/bash", "-c", &text]).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    assert_eq!(line(&mut from), "before\n");
    between.lead(other.server.address);
    to.write_all(b"go\n").unwrap();
    assert_eq!(line(&mut from), "refused\n");
    between.lead(scene.server.address);
    to.write_all(b"go\n").unwrap();
    assert_eq!(line(&mut from), "behind\n");
    drop(to);
    let output = child.wait_with_output().unwrap();
    assert!(errors(&output).contains("shows another key"), "{output:?}");
    assert_eq!((output.status.code(), other.led.load(std::sync::atomic::Ordering::SeqCst)), (Some(0), 0));
}

/// Seconds of a processor that a process has used.
fn used(child: &Child) -> f64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<_> = text[text.rfind(')').unwrap()..].split(' ').collect();
    // proc_pid_stat(5): `utime` and `stime`, the 14th and the 15th, in hundredths.
    fields[12].parse::<f64>().unwrap() / 100.0 + fields[13].parse::<f64>().unwrap() / 100.0
}

#[test]
fn a_program_may_go_on_without_a_terminal() {
    goes_on_without_a_terminal(&["run"]);
}

#[test]
fn a_program_that_is_asked_for_its_connections_may_too() {
    goes_on_without_a_terminal(&["run", "--all"]);
}

fn goes_on_without_a_terminal(run: &[&str]) {
    let scene = Scene::new();
    let (peer, program) = (scene.server.address.to_string(), env!("CARGO_BIN_EXE_handfastd"));
    let text = format!(
        "trap '' HUP; echo ready; sleep 5; echo late | {program} session connect echo.example {}",
        scene.port
    );
    let run = [run, &["--peer", &peer, "--", "/bin/sh", "-c", &text]].concat();
    let mut child = scene.command(&run).spawn().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    // The first that is known of it: nobody has asked yet whether it hears signals.
    assert_eq!(line(&mut from), "ready\n");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGHUP).unwrap();
    let before = used(&child);
    // Longer than what an end has that does not run a program any more.
    thread::sleep(Duration::from_millis(4_500));
    assert!(used(&child) - before < 0.5, "{} s of a processor", used(&child) - before);
    let (said, output) = (line(&mut from), exchange(child, b""));
    assert_eq!((said.as_str(), output.status.code()), ("late\n", Some(0)), "{output:?}");
}

#[test]
fn connect_of_a_run_says_that_its_session_has_failed() {
    let port = resetting().to_string();
    let scene = Scene::to(&port);
    let (peer, program) = (scene.server.address.to_string(), env!("CARGO_BIN_EXE_handfastd"));
    let run = ["run", "--peer", &peer, "--", program, "session", "connect", "echo.example", &port];
    fails(&scene.exchange(&run, b"hello"), "reset");
}

#[test]
fn a_server_that_has_ended_its_direction_still_hears() {
    // It says something, ends, and only then listens: what has come goes to the test.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (heard, came) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(b"bye\n").unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            heard.send(all).unwrap();
        }
    });
    let scene = Scene::to(&port);
    let (peer, program) = (scene.server.address.to_string(), env!("CARGO_BIN_EXE_handfastd"));
    let by_itself = ["connect", "--peer", &peer, "echo.example", &port];
    let in_a_run = ["run", "--peer", &peer, "--", program, "session", "connect", "echo.example", &port];
    let straight = ["connect", "127.0.0.1", &port];
    // A `run` has its program's standard output open itself: that ends with it.
    for (arguments, ends) in [(&by_itself[..], true), (&in_a_run, false), (&straight, true)] {
        let mut child = scene.command(arguments).spawn().unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut said = [0; 4];
        from.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"bye\n", "{arguments:?}");
        assert!(!ends || from.read(&mut said).unwrap() == 0, "{arguments:?}");
        to.write_all(b"still here").unwrap();
        drop(to);
        let all = came.recv_timeout(PATIENCE).unwrap();
        assert!(all.ends_with(b"still here"), "{arguments:?}: {all:?}");
        assert!(child.wait().unwrap().success(), "{arguments:?}");
    }
}

/// A server that gives back nothing, and does not close: what has come to each of its connections, and whether they were ended.
fn keeping_open() -> (String, std::sync::mpsc::Receiver<(Vec<u8>, bool)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (heard, came) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut all = Vec::new();
            let is_ended = stream.read_to_end(&mut all).is_ok();
            heard.send((all, is_ended)).unwrap();
            open.push(stream);
        }
    });
    (port, came)
}

#[test]
fn a_program_that_has_closed_its_socket_keeps_nobody_waiting() {
    let (port, came) = keeping_open();
    let scene = Scene::to(&port);
    let (peer, nowhere) = (scene.server.address.to_string(), nobody().to_string());
    // By HTTP CONNECT, as curl asks; then it says something, and is gone.
    let text = format!(
        "url=${{HANDFAST_SESSION#http://}}; at=${{url#*@}}; auth=$(printf %s ${{url%@*}} | base64 -w0); \
         exec 3<>/dev/tcp/${{at%:*}}/${{at#*:}}; \
         printf 'CONNECT %s:{port} HTTP/1.1\r\nProxy-Authorization: Basic %s\r\n\r\n' $0 $auth >&3; \
         read -u 3 status; read -u 3 empty; echo $status; echo hello >&3"
    );
    for (peer, policy, host) in [(&peer, "require", "echo.example"), (&nowhere, "prefer", "127.0.0.1")] {
        let begin = Instant::now();
        let run = ["run", "--peer", peer, "--policy", policy, "--", "/bin/bash", "-c", &text, host];
        let output = scene.exchange(&run, b"");
        assert_eq!((output.status.code(), errors(&output).as_str()), (Some(0), ""), "{output:?}");
        assert!(begin.elapsed() < PATIENCE / 2, "{host}: {:?}", begin.elapsed());
        let (all, is_ended) = came.recv_timeout(PATIENCE).unwrap();
        assert!(all.ends_with(b"hello\n") && is_ended, "{host}: {all:?}");
    }
}

#[test]
fn a_program_begins_with_the_limits_of_who_has_started_it() {
    let scene = Scene::new();
    let (peer, program) = (scene.server.address, env!("CARGO_BIN_EXE_handfastd"));
    for kind in ["", "--all"] {
        let inner = format!("{program} session run {kind} --peer {peer} -- /bin/sh -c 'ulimit -Sn'");
        let text = format!("ulimit -Sn 400; exec {inner}");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &text]).env_clear().env("HOME", &scene.home).env("XDG_RUNTIME_DIR", &scene.home);
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "400\n", "{kind} {output:?}");
    }
}

#[test]
fn what_an_end_that_was_killed_has_left_is_removed() {
    let scene = Scene::new();
    let folder = scene.home.join("handfast");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    // Nobody listens at the one; at the other one somebody does, who never answers.
    drop(UnixListener::bind(folder.join("1.control")).unwrap());
    let _silent = UnixListener::bind(folder.join("2.control")).unwrap();
    let peer = scene.server.address.to_string();
    let left = || {
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(scene.exchange(&["run", "--peer", &peer, "--", "/bin/true"], b"").status.code(), Some(0));
    assert_eq!(left(), ["2.control"]);
    // The other ends are told all the same.
    let mut child = scene.command(&["run", "--peer", &peer, "--", "/bin/sleep", "60"]).spawn().unwrap();
    let begin = Instant::now();
    while left().len() < 2 {
        assert!(begin.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(10));
    }
    let told = scene.exchange(&["status"], b"");
    assert!(
        String::from_utf8_lossy(&told.stdout).contains(&format!("\"process\":{}", child.id())),
        "{told:?}"
    );
    assert!(!told.status.success() && errors(&told).contains("2.control"), "{told:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_whose_starter_ignores_the_ends_of_its_children_has_its_exit_code() {
    let scene = Scene::new();
    let program = env!("CARGO_BIN_EXE_handfastd");
    let peer = scene.server.address;
    let text = format!("trap '' CHLD; exec {program} session run --peer {peer} -- /bin/sh -c 'exit 7'");
    let mut command = Command::new("/bin/bash");
    command.args(["-c", &text]).env_clear().env("HOME", &scene.home).env("XDG_RUNTIME_DIR", &scene.home);
    assert_eq!(command.output().unwrap().status.code(), Some(7));
}

#[test]
fn a_call_that_cannot_be_looked_at_is_refused_where_a_peer_is_required() {
    let (port, _) = echo();
    let scene = Scene::new();
    let peer = scene.server.address.to_string();
    // A process that is not dumpable is read by nobody without CAP_SYS_PTRACE (ptrace(2)): its memory is no end's.
    let text = format!(
        "import ctypes, socket; ctypes.CDLL(None).prctl(4, 0)\n\
         try: socket.create_connection(('127.0.0.1', {port})); print('straight')\n\
         except PermissionError: print('refused')"
    );
    let run = |policy: &str| {
        let inner = scene.command(&["run", "--all", "--policy", policy, "--peer", &peer, "--"]);
        let mut command = Command::new("setpriv");
        if nix::unistd::geteuid().is_root() {
            command.arg("--bounding-set=-sys_ptrace");
        }
        command.arg("--").arg(inner.get_program()).args(inner.get_args()).args(["python3", "-c", &text]);
        command.env("HOME", &scene.home).env("XDG_RUNTIME_DIR", &scene.home);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output)
    };
    assert_eq!((run("require").as_str(), run("prefer").as_str()), ("refused\n", "straight\n"));
}

#[test]
fn a_client_that_was_struck_off_does_not_come_back_with_the_next_one() {
    let scene = Scene::with(|config| config.replace("pin_first = 1", "pin_first = 2"));
    assert!(scene.connect(scene.server.address, b"x").status.success());
    let clients = scene.server.folder.join("clients");
    // Struck off, and no newline at the end of what is left.
    fs::write(&clients, format!("other {}", "5d".repeat(32))).unwrap();
    fs::rename(&scene.home, scene.home.with_extension("before")).unwrap();
    fs::create_dir(&scene.home).unwrap();
    assert!(scene.connect(scene.server.address, b"x").status.success());
    let own = String::from_utf8(scene.exchange(&["key"], b"").stdout).unwrap();
    let text = fs::read_to_string(&clients).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("other ") && lines[1].ends_with(own.trim()), "{text}");
}

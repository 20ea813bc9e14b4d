//! `handfastd session run`, `connect`, `status`, `suspend` and `resume`.

use std::ffi::OsString;
use std::os::unix::net::UnixStream as Stream;
use std::path::Path;
use std::process::{Command as Program, ExitCode};

use clap::{ArgMatches, Args, Command, ValueEnum};
use handfast_assist::iosl::end::Config;
use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::probe::Policy;
use handfast_io::net::UnixStream;
use handfast_io::{DescriptorStore, EventLoop, keeps_octets};
use serde_json::{Value, json};

use super::super::below::Below;
use super::super::carrier::Plug;
use super::super::keeping::Outlives;
use super::super::keys::{self, Known};
use super::client::{Client, Via};
use super::front::{self, Dialect};
use super::peers::{self, Peers};
use super::pipes::Pipes;
use super::{END_VARIABLE, Local, Places, Reach, Setup, keeper};
use crate::process::{Level, Tool, ask, log, parsed, say};
use crate::services::session::GROUP;
use crate::services::{Begun, Companion};

/// What `run` and `connect` have in common.
#[derive(Args)]
struct PeerOptions {
    /// The end before the server: HOST or HOST:PORT. Default: each target's own host at port 7443, if somebody is there
    #[arg(long, value_name = "HOST:PORT")]
    peer: Option<String>,
    /// The peer's public key. Default: the one in `known_peers`, or the first that it shows
    #[arg(long, value_name = "KEY", requires = "peer")]
    peer_key: Option<String>,
    /// Without a peer: an error, or a connection that goes straight. Default: require with --peer, otherwise prefer
    #[arg(long, value_enum, value_name = "POLICY")]
    policy: Option<PolicyWord>,
    /// What is below sessions
    #[arg(long, value_enum, value_name = "BELOW", default_value = "tcp")]
    below: Below,
    /// Logs to standard error what happens to sessions
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum PolicyWord {
    /// An error
    Require,
    /// Straight to the server; such a connection does not outlive a change of address
    Prefer,
}

#[derive(Args)]
struct RunOptions {
    #[command(flatten)]
    peer: PeerOptions,
    /// Takes all its connections, UDP by connect(2) too, also of programs that know of no proxy; see below for sudo
    #[arg(long)]
    all: bool,
    /// The same by the kernel's cgroup hooks (eBPF): as root, and without what --all does to sudo
    #[arg(long, conflicts_with = "all")]
    cgroup: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Args)]
struct ConnectOptions {
    #[command(flatten)]
    peer: PeerOptions,
    /// The server, as its peer calls it
    host: String,
    /// Its port
    port: u16,
}

const RUN_HELP: &str = "\
PROGRAM reaches the network by a local proxy that speaks SOCKS5 and HTTP CONNECT, which the variables ALL_PROXY and
HTTPS_PROXY name. For ssh use `handfastd session connect` as its ProxyCommand.

--all is for programs that read no such variables, static ones too: the kernel asks this process at each connect(2)
(seccomp's user notification). It needs no root. PROGRAM and all that it starts then cannot get other rights: sudo, su
and other set-user-ID programs do not work in it. What uses io_uring is not seen.

--cgroup needs root and a kernel with BTF. PROGRAM runs in a cgroup of its own, where the kernel leads connections to this
process: those of set-user-ID programs and of io_uring, too, and getpeername(2) names the server. A program is connected
at once, and sees a reset where its server is not reached.

UDP goes by sessions too, but for questions to name servers (port 53). --cgroup takes all of it, --all what a program has
connected by connect(2), and the proxy what is asked for by SOCKS5's UDP ASSOCIATE, which needs --peer.

Exit code: that of PROGRAM. 2: the system does not allow it to run.";

/// Sessions that `connect` may have at once: its own, and some that ask its peer for something.
const MOST_OF_CONNECT: usize = 16;

const CONNECT_HELP: &str = "\
For ssh:  ssh -o 'ProxyCommand handfastd session connect --peer SERVER %h %p' SERVER
Inside `handfastd session run` the session is that end's, and --peer is its.

Exit code 1: the session has failed; the reason is on standard error.";

pub(in crate::services::session) fn companions() -> Vec<Companion> {
    let run = RunOptions::augment_args(Command::new("run"))
        .about("Runs a program whose connections go on while this machine's addresses change")
        .after_help(RUN_HELP);
    let connect = ConnectOptions::augment_args(Command::new("connect"))
        .about("Connects standard input and output to a server: for ssh's ProxyCommand")
        .after_help(CONNECT_HELP);
    vec![
        Companion { group: GROUP, command: run, start: begin_run },
        Companion { group: GROUP, command: connect, start: begin_connect },
    ]
}

pub(in crate::services::session) fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, about: &'static str, run| Tool {
        group: GROUP,
        command: Command::new(name).about(about),
        run,
    };
    vec![
        tool("status", "Prints what sessions this user's programs have, a JSON object for each end", |_| {
            tell("status")
        }),
        tool("suspend", "Freezes this user's sessions: the link is about to go", |_| tell("suspend")),
        tool("resume", "Lets them go on", |_| tell("resume")),
    ]
}

/// Says something to all ends of this user.
fn tell(event: &str) -> Result<ExitCode, String> {
    let places = Places::of_user()?;
    places.clear()?;
    let (mut is_any, mut wrong) = (false, Vec::new());
    for control in places.controls()? {
        match ask(&control, &json!({"event": event})) {
            Ok(answer) => {
                is_any = true;
                say(&described(&control, &answer));
            }
            // One that does not answer keeps the others from nothing.
            Err(error) => wrong.push(format!("error: {}: {error}", control.display())),
        }
    }
    match wrong.is_empty() {
        false => Err(wrong.join("\n")),
        true if is_any => Ok(ExitCode::SUCCESS),
        true => Err("error: no program of yours has an end of sessions".to_owned()),
    }
}

/// With whose it is.
fn described(control: &Path, answer: &Value) -> String {
    let mut answer = answer.clone();
    let process = control.file_stem().and_then(|name| name.to_str()?.parse::<u32>().ok());
    answer["process"] = process.into();
    answer.to_string()
}

/// `is_again`: another process has begun as this one does, and has been killed.
fn setup(options: PeerOptions, places: &Places, is_again: bool) -> Result<Setup, String> {
    let PeerOptions { peer, peer_key, policy, below, .. } = options;
    below.is_there().map_err(|why| format!("error: --below {}: {why}", below.name()))?;
    let key = peer_key.map(|text| {
        keys::parse(&text).ok_or_else(|| "error: --peer-key: expected 64 hexadecimal digits".to_owned())
    });
    let policy = match policy {
        Some(PolicyWord::Require) => Policy::Require,
        None if peer.is_some() => Policy::Require,
        Some(PolicyWord::Prefer) | None => Policy::Prefer,
    };
    let fixed = peer.map(|text| peers::named(&text, is_again)).transpose()?;
    let known = Known::of_peers(&places.known_peers())?;
    let peers = Peers::new(fixed, key.transpose()?, policy, known);
    let outlives =
        Outlives::No("this kernel forgets what was read of a connection (SO_PEEK_OFF for TCP: Linux 6.9)");
    let (keys, config) = (keys::own(&places.key())?, Config::default());
    Ok(Setup { peers, keys, config, below, outlives, is_for_connect: false })
}

/// A log on standard error, where somebody wants one. It ends with the process.
fn start_log(is_verbose: bool) {
    if is_verbose {
        std::mem::forget(log::start(Level::Info, true));
    }
}

fn begin_run(options: &ArgMatches, io: &mut EventLoop) -> Result<Begun, String> {
    let RunOptions { peer, all, cgroup, program } = parsed(options);
    let places = Places::of_user()?;
    start_log(peer.verbose);
    if let Some(kept) = given() {
        let setup = setup(peer, &places, kept.is_again())?;
        return Ok(Begun::Running(Box::new(kept.begin(setup, &places, io)?)));
    }
    let reach = match (all, cgroup) {
        (true, _) => Reach::Caught,
        (_, true) => Reach::Led,
        _ => Reach::Asked,
    };
    let Some((name, arguments)) = program.split_first() else { return Err("error: no program".to_owned()) };
    let mut command = Program::new(name);
    command.args(arguments);
    if keeps_octets() {
        return keeper::run(command, reach).map(Begun::Done);
    }
    let mut local = Local::new(setup(peer, &places, false)?, &places, io)?;
    command.envs(front::for_reach(local.listen(io)?, reach));
    local.program = Some((command, reach));
    Ok(Begun::Running(Box::new(local)))
}

/// What this process's keeper has given it, if it has one. A store that is of no use is none of these commands'.
fn given() -> Option<keeper::Given> {
    DescriptorStore::of_process().ok().flatten().and_then(keeper::Given::of)
}

fn begin_connect(options: &ArgMatches, io: &mut EventLoop) -> Result<Begun, String> {
    let ConnectOptions { peer, host, port } = parsed(options);
    let target =
        Target::new(&host, port).ok_or_else(|| format!("error: `{}` is no host", host.escape_debug()))?;
    start_log(peer.verbose);
    let places = Places::of_user()?;
    if let Some(kept) = given() {
        let mut setup = Setup { is_for_connect: true, ..setup(peer, &places, kept.is_again())? };
        setup.config.sessions = MOST_OF_CONNECT;
        return Ok(Begun::Running(Box::new(kept.begin(setup, &places, io)?)));
    }
    if peer.peer.is_none()
        && let Ok(end) = std::env::var(END_VARIABLE)
    {
        return by_another(&end, &target).map(Begun::Done);
    }
    if keeps_octets() {
        return keeper::connect(target).map(Begun::Done);
    }
    let setup = Setup { is_for_connect: true, ..setup(peer, &places, false)? };
    let mut local = Local::new(setup, &places, io)?;
    let system = |error: std::io::Error| format!("error: {error}");
    let (here, there) = Stream::pair().map_err(system)?;
    here.set_nonblocking(true).map_err(system)?;
    local.pipes = Some(Pipes::start(there).map_err(system)?);
    let plug = Plug::Unix(UnixStream::from_std(here));
    let (via, dialect, rest) = (Via::Plug(plug, None), Dialect::Silent, Vec::new());
    local.ask(io, Client { via, dialect, target, rest });
    Ok(Begun::Running(Box::new(local)))
}

/// By the end of the program that this one belongs to.
fn by_another(end: &str, target: &Target) -> Result<ExitCode, String> {
    let pipes = Pipes::by_end(end, target).map_err(|error| format!("error: {END_VARIABLE}: {error}"))?;
    let pipes = pipes.ok_or_else(|| format!("error: {target} is not reached"))?;
    Ok(if pipes.wait_and_say(target) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

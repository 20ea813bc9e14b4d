//! The end beside a program: `handfastd session run` and `handfastd session connect`.

mod catcher;
mod child;
mod client;
mod commands;
mod datagrams;
mod failures;
mod front;
mod fronts;
mod gate;
mod group;
mod keeper;
mod lane;
mod led;
mod names;
mod owners;
mod peers;
mod pipes;
mod places;
mod programs;
mod resolver;
mod running;
mod straight;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use handfast_assist::iosl::end::{Config, Identity};
use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::secure::{Allowed, Keys};
use handfast_core::Instant;
use handfast_io::netlink::LinkChanges;
use handfast_io::{Clock, Connects, EventLoop, SourceId, Timers, source_towards};
use tracing::info;

use super::below::Below;
use super::carrier::Carrier;
use super::keeping::Outlives;
use super::keys;
use crate::services::questions::Questions;
use catcher::Catcher;
use child::Child;
use client::Client;
pub(super) use commands::{companions, tools};
use datagrams::{Associations, Refusals};
use fronts::Fronts;
use gate::Gate;
use group::Group;
use led::Led;
use names::Names;
use peers::{Peer, Peers};
use pipes::Pipes;
pub(super) use places::Places;
use resolver::Resolver;
use straight::Straight;

/// Where the end of a program is, as a URL with its password: what `session connect` looks for.
const END_VARIABLE: &str = "HANDFAST_SESSION";

/// A program that waits until it is known whether there is a peer, and whether it leads to the target.
struct Waiting {
    client: Client,
    since: Instant,
    by: Instant,
    /// The peer has answered.
    is_opened: bool,
}

/// What a session is for.
struct Purpose {
    peer: Peer,
    target: Target,
    aim: Aim,
}

/// Who wants a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    Program,
    /// Programs that send datagrams.
    Datagrams,
    /// It only asks which key the peer has.
    Key,
    /// Its program has gone without it: should the peer answer late, the next one has it.
    Later,
}

/// How connections of a program come here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// It asks for them, by a proxy.
    Asked,
    /// Its calls of connect(2) are seen.
    Caught,
    /// The kernel leads them here.
    Led,
}

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Carrier,
    Straight,
    /// Programs that wait for a peer.
    Waiting,
    /// Programs that have not said what they want.
    Asking,
    /// Datagrams that wait, and what nobody uses of what carries them.
    Datagrams,
    /// Programs that could not be taken.
    Accept,
    Questions,
    /// What has changed in this machine's network.
    Routes,
    /// It may be over.
    End,
}

/// The running end.
pub(super) struct Local {
    carrier: Carrier,
    peers: Peers,
    fronts: Option<Fronts>,
    associations: Associations,
    /// Targets to which programs that were led here get nothing through.
    refusals: Refusals,
    /// When it is looked at what nobody uses any more of what datagrams are led to.
    look_at_led: Option<Instant>,
    /// The program has ended: until when its datagrams wait for sessions.
    leaving_by: Option<Instant>,
    /// Sockets of UDP that were connected to one of a program, in all.
    pairs_made: u64,
    questions: Questions,
    resolver: Resolver,
    names: Names,
    straight: Straight,
    /// Programs that wait for a name; whether a peer is not to be asked.
    looked_up: BTreeMap<u64, (Client, bool)>,
    next_number: u64,
    waiting: BTreeMap<Socket, Waiting>,
    purposes: BTreeMap<Socket, Purpose>,
    /// A peer that was asked, and by which address of this machine.
    source: Option<(SocketAddr, Option<IpAddr>)>,
    routes: LinkChanges,
    routes_id: SourceId,
    timers: Timers<Due>,
    /// The terminal is gone.
    is_hung_up: bool,
    /// It ends by then.
    end_by: Option<Instant>,
    child: Option<Child>,
    /// Where the program's calls of connect(2) come, if they do.
    catcher: Option<Catcher>,
    /// Where the kernel leads the program's connections, if it does.
    gate: Option<Gate>,
    led: Led,
    /// The program's, where this process has made it. It goes after what is attached to it.
    group: Option<Group>,
    /// What is to be started once signals are heard.
    program: Option<(Command, Reach)>,
    /// The program is `connect`.
    is_for_connect: bool,
    /// Where the program is this process's own standard input and output.
    pipes: Option<Pipes>,
    has_failed: bool,
}

/// What was said on the command line.
struct Setup {
    peers: Peers,
    keys: Keys,
    config: Config,
    below: Below,
    outlives: Outlives,
    /// For `connect`.
    is_for_connect: bool,
}

impl Local {
    fn new(setup: Setup, places: &Places, io: &mut EventLoop) -> Result<Self, String> {
        let Setup { peers, keys, config, below, outlives, is_for_connect } = setup;
        let system = |error: std::io::Error| format!("error: {error}");
        // Nobody dials this end.
        let identity = Identity { keys, allowed: Allowed::default(), seed: keys::random()? };
        places.clear()?;
        // Of the process that the user has started, which stays the same.
        let process = match outlives {
            Outlives::Yes(_) => std::os::unix::process::parent_id(),
            Outlives::No(_) => std::process::id(),
        };
        let control = places.sockets()?.join(format!("{process}.control"));
        let questions = Questions::listen(&control, io)
            .map_err(|error| format!("error: socket {}: {error}", control.display()))?;
        let routes = LinkChanges::with_routes().map_err(system)?;
        let routes_id = io.add_descriptor(&routes).map_err(system)?;
        Ok(Self {
            carrier: Carrier::new(identity, config, below, outlives, keys::random()?),
            peers,
            fronts: None,
            associations: Associations::new(),
            refusals: Refusals::default(),
            look_at_led: None,
            leaving_by: None,
            pairs_made: 0,
            questions,
            resolver: Resolver::new(io).map_err(system)?,
            names: Names::default(),
            straight: Straight::new(),
            looked_up: BTreeMap::new(),
            next_number: 0,
            waiting: BTreeMap::new(),
            purposes: BTreeMap::new(),
            source: None,
            routes,
            routes_id,
            timers: Timers::default(),
            is_hung_up: false,
            end_by: None,
            child: None,
            catcher: None,
            gate: None,
            led: Led::default(),
            group: None,
            program: None,
            is_for_connect,
            pipes: None,
            has_failed: false,
        })
    }

    /// Listens for programs: what a program has in its environment for that.
    fn listen(&mut self, io: &mut EventLoop) -> Result<Vec<(&'static str, String)>, String> {
        let wrong = |error: std::io::Error| format!("error: a port of 127.0.0.1: {error}");
        let password = keys::password()?;
        let fronts = Fronts::listen(password.clone(), io).map_err(wrong)?;
        let at = fronts.address().map_err(wrong)?;
        self.fronts = Some(fronts);
        Ok(front::environment(at, &password))
    }

    /// Starts the program; how its connections come here.
    fn start(&mut self, mut command: Command, reach: Reach, io: &mut EventLoop) -> Result<(), String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let wrong = |error: std::io::Error| format!("error: {name}: {error}");
        Child::hear_of_ends().map_err(wrong)?;
        if reach == Reach::Led {
            let group = Group::of_process()?;
            self.gate = Some(Gate::open(self.peers.policy(), &group.open()?, None, io)?);
            group.take_in(&mut command).map_err(wrong)?;
            self.group = Some(group);
        }
        let child = if reach == Reach::Caught {
            let (child, connects) = Connects::of(&mut command).map_err(wrong)?;
            self.catcher = Some(Catcher::new(connects, self.peers.policy(), None, io).map_err(wrong)?);
            child
        } else {
            command.spawn().map_err(wrong)?
        };
        self.child = Some(Child::watch(child, io).map_err(wrong)?);
        Ok(())
    }

    /// Whether nothing is under way for any program.
    fn is_idle(&self) -> bool {
        let nobody_waits = self.waiting.is_empty() && self.looked_up.is_empty() && self.straight.is_empty();
        nobody_waits && !self.has_datagrams_left() && self.carrier.is_idle()
    }

    /// What has changed in this machine's network.
    fn look_at_routes(&mut self) {
        // Another network may block what this one lets through, and the other way round.
        if self.source.is_some_and(|(server, source)| source_towards(server).ok() != source) {
            self.source = None;
            self.peers.probes().on_network_change();
            self.refuse_none();
            self.look_up_all_again();
        }
        self.look_at_straight();
        let migrating = self.carrier.on_routes_changed();
        if migrating > 0 {
            info!(sessions = migrating, "addresses have changed: sessions migrate");
        }
    }

    fn now() -> Instant {
        Clock::SYSTEM.now()
    }
}

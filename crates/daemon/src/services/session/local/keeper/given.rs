//! What an end gets from its keeper, and begins with.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use handfast_io::net::{TcpListener as Listener, UnixStream as Stream};
use handfast_io::{Connects, DescriptorStore, EventLoop};

use super::super::super::keeping::{Keeping, SLOTS};
use super::super::catcher::Catcher;
use super::super::child::Child as Watched;
use super::super::datagrams::PAIRED;
use super::super::fronts::Fronts;
use super::super::gate::Gate;
use super::super::led::WAITING;
use super::super::{END_VARIABLE, Local, Places, Setup, front};
use super::{CALLS, FRONT, GROUP, NOTICES, PROGRAM};

/// What an end gets from its keeper.
pub(in super::super) struct Given {
    store: DescriptorStore,
    front: TcpListener,
    program: UnixStream,
    password: String,
    /// Where calls of connect(2) are answered, and where they come from, if they are asked for.
    calls: Option<[OwnedFd; 2]>,
    /// The program's cgroup, if the kernel leads its connections.
    group: Option<File>,
}

impl Given {
    /// [`None`]: it has none.
    pub(in super::super) fn of(mut store: DescriptorStore) -> Option<Self> {
        let (front, program) = (store.take(FRONT)?.into(), store.take(PROGRAM)?.into());
        let calls = store.take(NOTICES).zip(store.take(CALLS)).map(|(notices, calls)| [notices, calls]);
        let group = store.take(GROUP).map(File::from);
        let end = std::env::var(END_VARIABLE).ok()?;
        let password = front::end_at(&end)?.0.to_owned();
        Some(Self { store, front, program, password, calls, group })
    }

    /// Whether an end before has begun.
    pub(in super::super) fn is_again(&self) -> bool {
        self.store.names().iter().any(|name| name == SLOTS)
    }

    /// Begins, and goes on with what an end before has left.
    pub(in super::super) fn begin(
        self,
        setup: Setup,
        places: &Places,
        io: &mut EventLoop,
    ) -> Result<Local, String> {
        let is_again = self.is_again();
        let Self { store, front, program, password, calls, group } = self;
        let wrong = |error: std::io::Error| format!("error: {error}");
        front.set_nonblocking(true).and_then(|()| program.set_nonblocking(true)).map_err(wrong)?;
        let (outlives, left) = Keeping::of(Some(store), setup.config.sessions)?;
        let policy = setup.peers.policy();
        let mut local = Local::new(Setup { outlives, ..setup }, places, io)?;
        local.fronts = Some(Fronts::at(Listener::from_std(front), password, io).map_err(wrong)?);
        local.child = Some(Watched::elsewhere(Stream::from_std(program), io).map_err(wrong)?);
        if let Some([notices, calls]) = calls {
            let connects = Connects::passed_on(notices, calls.into()).map_err(wrong)?;
            let catcher = Catcher::new(connects, policy, local.carrier.store(), io);
            local.catcher = Some(catcher.map_err(wrong)?);
        }
        if let Some(group) = group {
            local.gate = Some(Gate::open(policy, &group, local.carrier.store(), io)?);
        }
        let led = local.carrier.store().map(|store| store.take_all(WAITING)).unwrap_or_default();
        let paired = local.carrier.store().map(|store| store.take_all(PAIRED)).unwrap_or_default();
        local.restore(io, left);
        if is_again {
            local.look_up_unknown();
        }
        local.go_on_with_led(io, led);
        local.go_on_with_pairs(io, paired);
        if let Some(store) = local.carrier.store() {
            store.ready();
        }
        Ok(local)
    }
}

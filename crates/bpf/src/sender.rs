//! The sender whose peer is away: `bpf/sender`.

use std::fs::File;
use std::path::Path;

use crate::Network;
use crate::programs::{Programs, object};

/// `enum task` of `bpf/sender/sender.bpf.c`.
#[derive(Clone, Copy)]
enum Task {
    Adopt,
    Freeze,
    Kick,
}

/// What its connections have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Connections that were given the congestion control.
    pub adopted: u64,
    /// Connections that have frozen, each time.
    pub frozen: u64,
    /// Those that have gone on with what they had.
    pub thawed: u64,
    /// Timeouts in which cwnd stayed.
    pub timeouts: u64,
}

/// CUBIC that keeps cwnd and ssthresh of connections whose peer is away.
pub struct Sender {
    programs: Programs,
    rto_max_ms: u32,
    network: u64,
    is_bounded: bool,
    longest_ms: u32,
}

impl Sender {
    /// Takes the connections to its peers that programs of a cgroup open from now on. `is_bounded`: of those that are there already, only
    /// what was taken before; otherwise all, of whatever cgroup. `rto_max_ms`: the longest retransmission timeout of
    /// those, where the kernel knows that (Linux 6.15); 0: as it is. `network`: the network namespace (`SO_NETNS_COOKIE`).
    /// Until [`Sender::set_longest`] nobody is away for so long that a closed window matters.
    ///
    /// # Errors
    /// What the kernel lacks, or does not allow.
    pub fn attach(cgroup: &Path, is_bounded: bool, rto_max_ms: u32, network: u64) -> Result<Self, String> {
        let mut programs = Programs::load(object!("sender"))?;
        let folder = File::open(cgroup).map_err(|error| format!("{}: {error}", cgroup.display()))?;
        programs.attach_struct_ops("cubic")?;
        programs.attach_cgroup("on_established", &folder)?;
        let this = Self { programs, rto_max_ms, network, is_bounded, longest_ms: 0 };
        this.order(Task::Adopt)?;
        Ok(this)
    }

    /// Nobody is away for longer: so long a sender has to wait whose window is closed.
    pub fn set_longest(&mut self, longest_ms: u32) {
        self.longest_ms = longest_ms;
    }

    /// Has one more peer; also for its connections that are there already.
    ///
    /// # Errors
    /// What the kernel says, as where there are too many.
    pub fn add_peers(&self, network: Network) -> Result<(), String> {
        self.set(network, 0)?;
        self.run(Task::Adopt)
    }

    /// These peers are away until then (`CLOCK_MONOTONIC`, ns), if nothing else is said.
    ///
    /// # Errors
    /// What the kernel says, as where there are too many.
    pub fn set_away(&self, network: Network, until: u64) -> Result<(), String> {
        self.set(network, until)
    }

    /// Has the connections keep what they have now, of those that are away. Again and again while they are: a window may close later.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn freeze(&self) -> Result<(), String> {
        self.run(Task::Freeze)
    }

    /// These peers are back. `keep`: they may go away again; otherwise they are no peers any more.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_back(&self, network: Network, keep: bool) -> Result<(), String> {
        if keep { self.set(network, 0) } else { self.programs.delete("peers", &network.key()) }
    }

    /// Has frozen connections whose peers are back send at once.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn kick(&self) -> Result<(), String> {
        self.run(Task::Kick)
    }

    /// What its connections have done.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn counters(&self) -> Result<SenderCounters, String> {
        let [adopted, frozen, thawed, timeouts] = self.programs.numbers("counters")?;
        Ok(SenderCounters { adopted, frozen, thawed, timeouts })
    }

    fn set(&self, network: Network, until: u64) -> Result<(), String> {
        self.programs.update("peers", &network.key(), &until.to_ne_bytes())
    }

    fn order(&self, task: Task) -> Result<(), String> {
        let words = [(task as u32).to_ne_bytes(), self.rto_max_ms.to_ne_bytes()].concat();
        let is_bounded = [u32::from(self.is_bounded).to_ne_bytes(), self.longest_ms.to_ne_bytes()].concat();
        let orders = [&words[..], &self.network.to_ne_bytes(), &is_bounded].concat();
        self.programs.update("orders", &0_u32.to_ne_bytes(), &orders)
    }

    fn run(&self, task: Task) -> Result<(), String> {
        self.order(task)?;
        self.programs.iterate("look_at")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_registered() -> bool {
        let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        known.is_ok_and(|known| known.contains("handfast_cubic"))
    }

    fn exercise(sender: &Sender) {
        assert!(is_registered());
        // Where no other program of this machine connects to.
        let peers = "2001:db8:6862:7066::/64".parse().unwrap();
        sender.add_peers(peers).unwrap();
        sender.set_away(peers, u64::MAX).unwrap();
        sender.freeze().unwrap();
        sender.set_back(peers, false).unwrap();
        sender.set_back(peers, false).unwrap();
        sender.kick().unwrap();
        assert_eq!(sender.counters().unwrap(), SenderCounters::default(), "nobody is there");
    }

    /// Where it cannot run the reason is part of what it says.
    #[test]
    fn it_is_there_as_long_as_it_is_wanted() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let cgroup = mounts.lines().find_map(|line| line.split_once(" cgroup2 "));
        let cgroup = cgroup.and_then(|(before, _)| before.split(' ').nth(1)).unwrap_or("/nowhere");
        match Sender::attach(Path::new(cgroup), false, 1000, 0) {
            Ok(sender) => exercise(&sender),
            Err(refused) => {
                let reasons =
                    ["built without eBPF", "run as root", "a machine has one", "/nowhere", "eBPF: load"];
                assert!(reasons.iter().any(|reason| refused.contains(reason)), "{refused}");
                return println!("skipped: {refused}");
            }
        }
        assert!(!is_registered(), "the kernel has taken it off");
    }
}

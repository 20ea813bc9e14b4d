//! How well a Wi-Fi client hears its access point: nl80211 (`linux/nl80211.h`). Anyone may ask.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use handfast_core::Dbm;
use netlink_packet_generic::GenlMessage;
use netlink_packet_generic::ctrl::nlas::{GenlCtrlAttrs, McastGrpAttrs};
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use wl_nl80211::{Nl80211Attr, Nl80211Command, Nl80211Message, Nl80211StationInfo};

use super::{Brought, KERNEL, ask, ask_for_one, read};

/// The family's name, and the group that hears of associations (`NL80211_MULTICAST_GROUP_MLME`).
const FAMILY: &str = "nl80211";
const ASSOCIATIONS: &str = "mlme";

/// Becomes readable when the interface's association changes.
#[derive(Debug)]
pub struct Wireless {
    asking: Socket,
    associations: Socket,
    family: u16,
    interface: u32,
    number: u32,
}

impl Wireless {
    /// An interface of the calling thread's network namespace, by its index.
    ///
    /// # Errors
    /// A kernel without Wi-Fi, an interface that is none of Wi-Fi, and what the kernel says.
    pub fn open(interface: u32) -> io::Result<Self> {
        let asking = generic()?;
        let (family, group) = family(&asking)?;
        let associations = generic()?;
        associations.add_membership(group)?;
        associations.set_non_blocking(true)?;
        let mut this = Self { asking, associations, family, interface, number: 0 };
        this.signal().map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENODEV) => {
                io::Error::new(io::ErrorKind::Unsupported, "it is no interface of Wi-Fi")
            }
            _ => error,
        })?;
        Ok(this)
    }

    /// The power of what came last from the access point; [`None`]: there is no association.
    ///
    /// # Errors
    /// What the kernel says: `ENODEV` where the interface is gone.
    pub fn signal(&mut self) -> io::Result<Option<Dbm>> {
        self.number = self.number.wrapping_add(1);
        let attributes = vec![Nl80211Attr::IfIndex(self.interface)];
        let mut request =
            GenlMessage::from_payload(Nl80211Message { cmd: Nl80211Command::GetStation, attributes });
        request.set_resolved_family_id(self.family);
        ask(&self.asking, self.number, request)?;
        let mut strongest = None;
        loop {
            let (messages, is_last) = match read::<GenlMessage<Nl80211Message>>(&self.asking)? {
                Brought::Some(messages) => (messages, false),
                Brought::Last(messages) => (messages, true),
            };
            let answers = messages.into_iter().filter(|(number, _)| *number == self.number);
            strongest = strongest.max(answers.filter_map(|(_, message)| power(&message.payload)).max());
            if is_last {
                return Ok(strongest);
            }
        }
    }

    /// Whether an association has changed since the last time, of any interface.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_changes(&mut self) -> io::Result<bool> {
        let mut has_changed = false;
        loop {
            // What it is the next question for the signal says.
            match self.associations.recv_from_full() {
                Ok((_, from)) => has_changed |= from.port_number() == KERNEL,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(has_changed),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // More has changed than the socket can hold.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => has_changed = true,
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Wireless {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.associations.as_fd()
    }
}

fn generic() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(KERNEL, 0))?;
    Ok(socket)
}

/// The family's number, and its group's.
fn family(socket: &Socket) -> io::Result<(u16, u32)> {
    let nlas = vec![GenlCtrlAttrs::FamilyName(FAMILY.to_owned())];
    let request = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas });
    let lacking = || {
        let reason =
            "this kernel has no Wi-Fi (nl80211): load the interface's driver, or write the signal to a file";
        io::Error::new(io::ErrorKind::Unsupported, reason)
    };
    ask_for_one(socket, 0, request)?;
    let answer = match read::<GenlMessage<GenlCtrl>>(socket) {
        Ok(Brought::Some(answer) | Brought::Last(answer)) => answer,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(lacking()),
        Err(error) => return Err(error),
    };
    answer.iter().find_map(|(_, message)| numbers(&message.payload.nlas)).ok_or_else(lacking)
}

fn numbers(attributes: &[GenlCtrlAttrs]) -> Option<(u16, u32)> {
    let family = attributes.iter().find_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(family) => Some(*family),
        _ => None,
    })?;
    let group = attributes.iter().find_map(|attribute| match attribute {
        GenlCtrlAttrs::McastGroups(groups) => groups.iter().find_map(|group| associations(group)),
        _ => None,
    })?;
    Some((family, group))
}

/// The number of the group that hears of associations, if this is it.
fn associations(group: &[McastGrpAttrs]) -> Option<u32> {
    let is_it = group.iter().any(|one| matches!(one, McastGrpAttrs::Name(name) if name == ASSOCIATIONS));
    let number = group.iter().find_map(|one| match one {
        McastGrpAttrs::Id(number) => Some(*number),
        McastGrpAttrs::Name(_) => None,
    });
    number.filter(|_| is_it)
}

/// The power of a station's last frame. A driver that does not say it may know an average.
fn power(message: &Nl80211Message) -> Option<Dbm> {
    let said = message.attributes.iter().find_map(|attribute| match attribute {
        Nl80211Attr::StationInfo(said) => Some(said),
        _ => None,
    })?;
    let of = |wanted: fn(&Nl80211StationInfo) -> Option<i8>| said.iter().find_map(wanted);
    let last = of(|one| if let Nl80211StationInfo::Signal(power) = one { Some(*power) } else { None });
    let average = of(|one| if let Nl80211StationInfo::SignalAvg(power) = one { Some(*power) } else { None });
    last.or(average).map(|power| Dbm(i32::from(power) * 1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{Emitable, NetlinkDeserializable, NetlinkHeader};

    /// An answer as it comes from the kernel.
    fn answer(said: Vec<Nl80211StationInfo>) -> Nl80211Message {
        let attributes = vec![Nl80211Attr::IfIndex(3), Nl80211Attr::StationInfo(said)];
        let message =
            GenlMessage::from_payload(Nl80211Message { cmd: Nl80211Command::NewStation, attributes });
        let mut octets = vec![0; message.buffer_len()];
        message.emit(&mut octets);
        GenlMessage::<Nl80211Message>::deserialize(&NetlinkHeader::default(), &octets).unwrap().payload
    }

    #[test]
    fn the_last_frame_counts_and_an_average_without_it() {
        let average = Nl80211StationInfo::SignalAvg(-70);
        assert_eq!(
            power(&answer(vec![average.clone(), Nl80211StationInfo::Signal(-61)])),
            Some(Dbm(-61_000))
        );
        assert_eq!(power(&answer(vec![average])), Some(Dbm(-70_000)));
        assert_eq!(power(&answer(vec![Nl80211StationInfo::InactiveTime(4)])), None);
    }

    #[test]
    fn the_group_is_found_by_its_name() {
        let group =
            |name: &str, number| vec![McastGrpAttrs::Name(name.to_owned()), McastGrpAttrs::Id(number)];
        let groups = GenlCtrlAttrs::McastGroups(vec![group("scan", 7), group("mlme", 9)]);
        assert_eq!(numbers(&[GenlCtrlAttrs::FamilyId(30), groups.clone()]), Some((30, 9)));
        assert_eq!(numbers(&[groups]), None);
    }

    /// The kernel's own answer: it has a family of that kind even where it has no Wi-Fi.
    #[test]
    fn a_family_that_is_not_there_is_told_from_an_error() {
        match Wireless::open(1) {
            Ok(_) => panic!("the loopback interface has no access point"),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
                assert!(error.to_string().contains("Wi-Fi"), "{error}");
            }
        }
    }
}

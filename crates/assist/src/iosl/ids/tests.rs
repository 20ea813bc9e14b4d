use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn ends(port: u16) -> Ends {
    [SocketAddr::from(([10, 0, 0, 1], port)), SocketAddr::from(([10, 0, 0, 2], 80))]
}

fn manager(connections: usize) -> (IdManager, Id) {
    let mut ids = IdManager::new(&[7; 32], Most { applications: 2, connections });
    let application = ids.open_application().unwrap();
    (ids, application)
}

#[test]
fn each_kind_has_an_id_of_its_own_and_an_association_has_one() {
    let (mut ids, application) = manager(9);
    let kinds = [
        Connection::Tcp(ends(1)),
        Connection::Sctp(ends(1)),
        Connection::Subflow(1, ends(1)),
        Connection::Subflow(1, ends(2)),
        Connection::Subflow(2, ends(1)),
    ];
    let mut seen = BTreeSet::from([application]);
    for (number, connection) in (0..).zip(kinds) {
        let id = ids.open(application, Socket(number), Some(connection)).unwrap();
        assert!(seen.insert(id));
        assert_eq!(ids.find(&id), Some(Socket(number)));
        assert_eq!(ids.open(application, Socket(number), Some(connection)), Ok(id), "another stream of it");
        let other = Some(Connection::Tcp(ends(9)));
        assert_eq!(ids.open(application, Socket(number), other), Err(Refused::Taken));
    }
    assert_eq!(ids.connections_of(&application), Some(5));
}

#[test]
fn a_connection_that_comes_again_is_the_newer_sockets() {
    let (mut ids, application) = manager(2);
    let connection = Connection::Tcp(ends(1));
    let before = ids.open(application, Socket(1), Some(connection)).unwrap();
    let after = ids.open(application, Socket(2), Some(connection)).unwrap();
    assert_ne!(before, after);
    assert_eq!([before, after].map(|id| ids.find(&id)), [1, 2].map(|number| Some(Socket(number))));
    assert_eq!(ids.open(application, Socket(3), Some(connection)), Err(Refused::Full));
    assert_eq!(ids.socket_of(&connection), Some(Socket(2)), "who is refused takes nothing");
    ids.close(Socket(1));
    assert_eq!(ids.socket_of(&connection), Some(Socket(2)));
}

#[test]
fn an_id_does_not_follow_from_the_5_tuple() {
    let (mut ids, application) = manager(9);
    let first = ids.open(application, Socket(1), Some(Connection::Tcp(ends(1)))).unwrap();
    ids.close(Socket(1));
    let again = ids.open(application, Socket(1), Some(Connection::Tcp(ends(1)))).unwrap();
    assert_ne!(first, again, "the same ports later");
    let mut others = IdManager::new(&[8; 32], Most { applications: 1, connections: 1 });
    let application = others.open_application().unwrap();
    assert_ne!(others.open(application, Socket(1), Some(Connection::Tcp(ends(1)))).unwrap(), first);
}

#[test]
fn a_migrated_connection_has_its_last_id_until_it_migrates_again() {
    let (mut ids, application) = manager(9);
    let before = ids.open(application, Socket(1), Some(Connection::Tcp(ends(1)))).unwrap();
    let after = ids.succeed(Socket(1)).unwrap();
    assert_eq!(ids.succeed(Socket(1)), Ok(after), "asked twice");
    assert_eq!((ids.find(&before), ids.find(&after)), (Some(Socket(1)), Some(Socket(1))));
    ids.confirm(Socket(1));
    ids.confirm(Socket(1));
    assert_eq!((ids.find(&before), ids.find(&after)), (Some(Socket(1)), Some(Socket(1))), "said twice");
    let third = ids.succeed(Socket(1)).unwrap();
    ids.confirm(Socket(1));
    assert_eq!([before, after, third].map(|id| ids.find(&id)), [None, Some(Socket(1)), Some(Socket(1))]);
    assert_eq!(ids.socket_of(&Connection::Tcp(ends(1))), Some(Socket(1)), "which the program knows it by");
}

#[test]
fn what_is_full_refuses_and_an_application_takes_its_connections_along() {
    let (mut ids, one) = manager(2);
    let other = ids.open_application().unwrap();
    assert_eq!(ids.open_application(), Err(Refused::Full));
    ids.open(one, Socket(1), Some(Connection::Tcp(ends(1)))).unwrap();
    ids.open(other, Socket(2), Some(Connection::Tcp(ends(2)))).unwrap();
    assert_eq!(ids.open(one, Socket(3), Some(Connection::Tcp(ends(3)))), Err(Refused::Full));
    assert_eq!(ids.close_application(one), [Socket(1)]);
    assert_eq!(ids.open(one, Socket(3), Some(Connection::Tcp(ends(3)))), Err(Refused::Unknown));
    ids.open(other, Socket(3), Some(Connection::Tcp(ends(3)))).unwrap();
    assert_eq!(ids.len(), 2);
}

#[test]
fn a_log_does_not_show_what_an_attacker_could_use() {
    assert_eq!(format!("{:?}", Id([0xab; 16])), "Id(abab..)");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Open(u64, u16),
    Succeed(u64),
    Confirm(u64),
    Close(u64),
}

fn step() -> impl Strategy<Value = Step> {
    (0..4, 0u64..6, 0u16..6).prop_map(|(kind, socket, port)| match kind {
        0 => Step::Open(socket, port),
        1 => Step::Succeed(socket),
        2 => Step::Confirm(socket),
        _ => Step::Close(socket),
    })
}

proptest! {
    /// Every ID that was ever given is found as long as its socket has it, and never after.
    #[test]
    fn the_tables_agree(steps in prop::collection::vec(step(), 0..200)) {
        let (mut ids, application) = manager(4);
        let mut valid: BTreeMap<Socket, Vec<Id>> = BTreeMap::new();
        let mut given = BTreeSet::new();
        // Whose last ID is the next one.
        let mut has_next = BTreeSet::new();
        for step in steps {
            match step {
                Step::Open(socket, port) => {
                    let is_new = !valid.contains_key(&Socket(socket));
                    if let Ok(id) = ids.open(application, Socket(socket), Some(Connection::Tcp(ends(port)))) {
                        given.insert(id);
                        if is_new {
                            valid.insert(Socket(socket), vec![id]);
                        }
                    }
                }
                Step::Succeed(socket) => {
                    if let Ok(id) = ids.succeed(Socket(socket)) {
                        given.insert(id);
                        let own = valid.get_mut(&Socket(socket)).unwrap();
                        if has_next.insert(socket) {
                            own.push(id);
                        }
                        prop_assert_eq!(own.last(), Some(&id));
                    }
                }
                Step::Confirm(socket) => {
                    ids.confirm(Socket(socket));
                    if has_next.remove(&socket) {
                        let own = valid.get_mut(&Socket(socket)).unwrap();
                        let old = own.len().saturating_sub(2);
                        own.drain(..old);
                    }
                }
                Step::Close(socket) => {
                    ids.close(Socket(socket));
                    valid.remove(&Socket(socket));
                    has_next.remove(&socket);
                }
            }
            prop_assert!(ids.len() <= 4);
            prop_assert_eq!(ids.connections_of(&application), Some(ids.len()));
            prop_assert!(ids.by_connection.len() <= ids.len());
            for (connection, socket) in &ids.by_connection {
                prop_assert_eq!(ids.sockets[socket].connection, Some(*connection));
            }
            for id in &given {
                let owner = valid.iter().find(|(_, own)| own.contains(id)).map(|(&socket, _)| socket);
                prop_assert_eq!(ids.find(id), owner);
            }
        }
    }
}

//! SOCKS5 over QUIC: each connection of a program is a stream of one QUIC connection, which follows the client's address.
//!
//! A stream begins with the target as SOCKS has it (RFC 1928 §4: a port after an IPv4 address); the rest is the program's.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use quinn::{Connection, Endpoint, RecvStream, SendStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::Failure;

/// The end before the servers: leads each stream to its target.
pub(crate) async fn lead(endpoint: Endpoint) -> Result<(), Failure> {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            loop {
                let (answer, mut ask) = connection.accept_bi().await?;
                tokio::spawn(async move {
                    let stream = TcpStream::connect(target(&mut ask).await?).await?;
                    join(stream, answer, ask).await
                });
            }
            #[expect(unreachable_code, reason = "it names the type of the error")]
            Ok::<(), Failure>(())
        });
    }
    Ok(())
}

/// The end beside the program: a SOCKS5 server at `listen`.
pub(crate) async fn take(connection: Connection, listen: SocketAddr) -> Result<(), Failure> {
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let connection = connection.clone();
        tokio::spawn(async move { carry(stream, &connection).await });
    }
}

/// RFC 1928 §3, §4: no authentication, CONNECT to an IPv4 address, and what else is refused.
async fn carry(mut program: TcpStream, connection: &Connection) -> Result<(), Failure> {
    let mut methods = [0; 2];
    program.read_exact(&mut methods).await?;
    program.read_exact(&mut vec![0; usize::from(methods[1])]).await?;
    program.write_all(&[5, 0]).await?;
    let mut head = [0; 4];
    program.read_exact(&mut head).await?;
    if head != [5, 1, 0, 1] {
        program.write_all(&[5, 7, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
        return Ok(());
    }
    let (mut ask, answer) = connection.open_bi().await?;
    let mut wanted = [0; 6];
    program.read_exact(&mut wanted).await?;
    ask.write_all(&wanted).await?;
    program.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    join(program, ask, answer).await
}

async fn target(ask: &mut RecvStream) -> Result<SocketAddrV4, Failure> {
    let mut wanted = [0; 6];
    ask.read_exact(&mut wanted).await?;
    let [a, b, c, d, high, low] = wanted;
    Ok(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low])))
}

/// Each direction to its own end.
async fn join(mut stream: TcpStream, mut ask: SendStream, mut answer: RecvStream) -> Result<(), Failure> {
    let (mut from, mut to) = stream.split();
    let up = async {
        copy(&mut from, &mut ask).await?;
        ask.finish().map_err(io::Error::from)
    };
    let down = async {
        copy(&mut answer, &mut to).await?;
        to.shutdown().await
    };
    tokio::try_join!(up, down)?;
    Ok(())
}

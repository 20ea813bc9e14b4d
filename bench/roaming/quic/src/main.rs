//! A download by QUIC whose client follows its address: `serve ADDRESS CERTIFICATE OCTETS` and `get ADDRESS CERTIFICATE`. With `stay`
//! instead of `get` it does not, and has to be carried.
//! And a proxy over it: `lead ADDRESS CERTIFICATE` before the servers, `socks ADDRESS CERTIFICATE LISTEN` beside a program.
#![forbid(unsafe_code)]

mod tunnel;

use std::error::Error;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::{ClientConfig, Connection, Endpoint, IdleTimeout, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::io::AsyncWriteExt;

type Failure = Box<dyn Error + Send + Sync>;

/// How often the client looks whether it has another address.
const LOOK: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, certificate, octets] => serve(address.parse()?, certificate, octets).await,
        ["get", address, certificate] => get(connected(address.parse()?, certificate).await?).await,
        ["stay", address, certificate] => get(staying(address.parse()?, certificate).await?.1).await,
        ["lead", address, certificate] => tunnel::lead(server(address.parse()?, certificate)?).await,
        ["socks", address, certificate, listen] => {
            tunnel::take(connected(address.parse()?, certificate).await?, listen.parse()?).await
        }
        _ => Err("serve|lead ADDRESS CERTIFICATE, get|stay|socks ADDRESS CERTIFICATE: see the source".into()),
    }
}

/// A stream's window, octets. quinn's own is for 100 Mbit/s, and less is what it reaches on a wire of 20 ms each way.
const WINDOW: u32 = 8 << 20;

/// As long as a client that goes on for minutes needs.
fn transport() -> Result<Arc<TransportConfig>, Failure> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(IdleTimeout::try_from(Duration::from_secs(60))?));
    transport.stream_receive_window(WINDOW.into());
    Ok(Arc::new(transport))
}

/// A server of QUIC; whoever waits for the file of its certificate finds it there.
fn server(address: SocketAddr, certificate: &str) -> Result<Endpoint, Failure> {
    let made = rcgen::generate_simple_self_signed(vec!["roaming".to_owned()])?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let mut config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key)?;
    config.transport_config(transport()?);
    let endpoint = Endpoint::server(config, address)?;
    std::fs::write(certificate, made.cert.pem())?;
    Ok(endpoint)
}

async fn serve(address: SocketAddr, certificate: &str, octets: &str) -> Result<(), Failure> {
    let octets: Arc<[u8]> = std::fs::read(octets)?.into();
    let endpoint = server(address, certificate)?;
    while let Some(incoming) = endpoint.accept().await {
        let octets = Arc::clone(&octets);
        tokio::spawn(async move {
            let connection = incoming.await?;
            let (mut stream, _) = connection.accept_bi().await?;
            stream.write_all(&octets).await?;
            stream.finish()?;
            connection.closed().await;
            Ok::<_, Failure>(())
        });
    }
    Ok(())
}

/// A connection by one socket, and what has that.
async fn staying(address: SocketAddr, certificate: &str) -> Result<(Endpoint, Connection), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport()?);
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(address, "roaming")?.await?;
    Ok((endpoint, connection))
}

/// A connection that follows this end's address.
async fn connected(address: SocketAddr, certificate: &str) -> Result<Connection, Failure> {
    let (endpoint, connection) = staying(address, certificate).await?;
    tokio::spawn(follow(endpoint, address));
    Ok(connection)
}

async fn get(connection: Connection) -> Result<(), Failure> {
    let (mut ask, mut answer) = connection.open_bi().await?;
    ask.write_all(b"?").await?;
    let mut out = tokio::io::stdout();
    while let Some(chunk) = answer.read_chunk(1 << 16, true).await? {
        out.write_all(&chunk.bytes).await?;
    }
    out.flush().await?;
    connection.close(0_u32.into(), b"");
    Ok(())
}

/// RFC 9000 §9.2: the client migrates, and says so at once.
async fn follow(endpoint: Endpoint, server: SocketAddr) {
    let mut last = own_address(server);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = own_address(server);
        if now.is_some() && now != last {
            last = now;
            if let Ok(socket) = UdpSocket::bind("0.0.0.0:0") {
                let _ = endpoint.rebind(socket);
            }
        }
    }
}

/// The address that packets to the server would have. Nothing is sent.
fn own_address(server: SocketAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(server).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

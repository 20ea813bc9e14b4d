//! One path's handshake, and the records after it.

use std::cell::Cell;
use std::fmt;

use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

use super::records::{MOST_PLAIN, MOST_RECORD, PREFIX};
use super::transport::Transport;
use super::{Entropy, Keys, PublicKey};

/// Which handshake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The key of the end that is dialled is known.
    Ik,
    /// It is not.
    Xx,
}

impl Pattern {
    const fn name(self) -> &'static str {
        match self {
            Self::Ik => "Noise_IK_25519_AESGCM_SHA256",
            Self::Xx => "Noise_XX_25519_AESGCM_SHA256",
        }
    }

    /// What the end that dials sends first, and both have as their prologue (Noise §6): a name, the version, the pattern.
    pub const fn preamble(self) -> [u8; 8] {
        let pattern = match self {
            Self::Ik => 1,
            Self::Xx => 2,
        };
        [b'h', b'f', b'i', b'o', b's', b'l', 1, pattern]
    }

    /// Which one a preamble announces.
    pub fn of(preamble: &[u8; 8]) -> Option<Self> {
        [Self::Ik, Self::Xx].into_iter().find(|pattern| pattern.preamble() == *preamble)
    }
}

/// Somebody else has made the message, or changed it, or it comes at the wrong time. Nothing comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl From<snow::Error> for Broken {
    fn from(_: snow::Error) -> Self {
        Self
    }
}

enum State {
    Shaking(Box<HandshakeState>),
    Open(Box<Transport>),
    Broken,
}

/// What seals and opens what travels on one path.
pub struct Channel {
    state: State,
    pattern: Pattern,
    is_initiator: bool,
    remote: Option<PublicKey>,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, is_initiator, remote, .. } = self;
        f.debug_struct("Channel")
            .field("pattern", pattern)
            .field("is_initiator", is_initiator)
            .field("remote", remote)
            .finish_non_exhaustive()
    }
}

impl Channel {
    /// Of the initiator (Noise §5): the end that dials another one, whose key it knows or does not.
    ///
    /// # Errors
    /// [`Broken`]: the key is none.
    pub fn initiator(own: &Keys, peer: Option<&PublicKey>, entropy: Entropy) -> Result<Self, Broken> {
        let pattern = if peer.is_some() { Pattern::Ik } else { Pattern::Xx };
        let preamble = pattern.preamble();
        let mut builder = builder(own, pattern, &preamble, entropy)?;
        if let Some(peer) = peer {
            builder = builder.remote_public_key(&peer.0)?;
        }
        let state = State::Shaking(Box::new(builder.build_initiator()?));
        Ok(Self { state, pattern, is_initiator: true, remote: None })
    }

    /// Of the responder: the end that was dialled, with a handshake of this pattern.
    ///
    /// # Errors
    /// [`Broken`]: never, as long as `snow` has what it is built with.
    pub fn responder(own: &Keys, pattern: Pattern, entropy: Entropy) -> Result<Self, Broken> {
        let preamble = pattern.preamble();
        let state = State::Shaking(Box::new(builder(own, pattern, &preamble, entropy)?.build_responder()?));
        Ok(Self { state, pattern, is_initiator: false, remote: None })
    }

    /// Which handshake it is.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// Who is at the other end, once it has proven it.
    pub fn remote(&self) -> Option<PublicKey> {
        self.remote
    }

    /// Whether the handshake is complete.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether the next message of the handshake is this end's, or a record may go out.
    pub fn may_write(&self) -> bool {
        match &self.state {
            State::Shaking(state) => state.is_my_turn(),
            State::Open(_) => true,
            State::Broken => false,
        }
    }

    /// Whether this end's next message may say something: in XX nobody does before both know each other.
    pub fn may_say(&self) -> bool {
        self.may_write()
            && (self.pattern == Pattern::Ik || self.is_initiator && self.remote.is_some() || self.is_open())
    }

    /// Whether the message that has been read last may have said something.
    pub fn has_said(&self) -> bool {
        self.pattern == Pattern::Ik || self.is_open()
    }

    /// The next message of the handshake, or the next record, with this inside.
    ///
    /// # Errors
    /// [`Broken`]: also where it is not this end's turn, or the payload is too long. Nothing can be written after it.
    pub fn write(&mut self, payload: &[u8]) -> Result<Vec<u8>, Broken> {
        self.write_after(0, payload)
    }

    /// The same as it goes into a stream: with its length before it.
    ///
    /// # Errors
    /// As of [`Channel::write`].
    pub fn write_prefixed(&mut self, payload: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut message = self.write_after(PREFIX, payload)?;
        // Records are at most `MOST_RECORD` long.
        let len = (message.len() - PREFIX) as u16;
        message[..PREFIX].copy_from_slice(&len.to_be_bytes());
        Ok(message)
    }

    /// With room for so many octets before it.
    fn write_after(&mut self, before: usize, payload: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut message = vec![0; before + payload.len() + 96 + 48];
        let record = &mut message[before..];
        let written = match &mut self.state {
            _ if payload.len() > MOST_PLAIN => None,
            State::Shaking(state) => state.write_message(payload, record).ok(),
            State::Open(transport) => transport.write(payload, record).ok(),
            State::Broken => None,
        };
        let Some(len) = written.filter(|&len| len <= MOST_RECORD) else {
            self.state = State::Broken;
            return Err(Broken);
        };
        self.advance();
        message.truncate(before + len);
        Ok(message)
    }

    /// What is inside the peer's next message or record.
    ///
    /// # Errors
    /// [`Broken`]: nothing can be read after it.
    pub fn read(&mut self, message: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut payload = vec![0; message.len()];
        let read = match &mut self.state {
            State::Shaking(state) => state.read_message(message, &mut payload).ok(),
            State::Open(transport) => transport.read(message, &mut payload).ok(),
            State::Broken => None,
        };
        let Some(len) = read else {
            self.state = State::Broken;
            return Err(Broken);
        };
        self.learn();
        self.advance();
        payload.truncate(len);
        Ok(payload)
    }

    /// Whether a datagram may go beside the records.
    pub fn may_write_datagram(&self) -> bool {
        matches!(&self.state, State::Open(transport) if transport.may_write_datagram())
    }

    /// A datagram, sealed by itself: it may get lost, or come in any order. [`None`]: the handshake is not over, or it is too long, or
    /// there were too many.
    pub fn write_datagram(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        let State::Open(transport) = &mut self.state else { return None };
        transport.write_datagram(datagram)
    }

    /// What is inside a datagram of the peer. [`None`]: it is somebody else's, or has come before. Nothing else changes by that.
    pub fn read_datagram(&mut self, sealed: &[u8]) -> Option<Vec<u8>> {
        let State::Open(transport) = &mut self.state else { return None };
        transport.read_datagram(sealed)
    }

    /// A static key is proven by the tag of the message that brings it: of IK's initiator in the first, of XX's two ends in the second
    /// and third. IK's responder proves its own with the second.
    fn learn(&mut self) {
        let State::Shaking(state) = &self.state else { return };
        if let Some(key) = state.get_remote_static().and_then(|key| key.first_chunk()) {
            self.remote = Some(PublicKey(*key));
        }
    }

    /// Goes on to records after the last message.
    fn advance(&mut self) {
        if !matches!(&self.state, State::Shaking(state) if state.is_handshake_finished()) {
            return;
        }
        let State::Shaking(state) = std::mem::replace(&mut self.state, State::Broken) else { return };
        if let Ok(keys) = state.into_stateless_transport_mode() {
            self.state = State::Open(Box::new(Transport::new(keys)));
        }
    }
}

/// With all that both ends of a pattern need.
pub(super) fn builder<'a>(
    own: &'a Keys,
    pattern: Pattern,
    preamble: &'a [u8],
    entropy: Entropy,
) -> Result<Builder<'a>, Broken> {
    let params = pattern.name().parse().map_err(|_| Broken)?;
    let builder = Builder::with_resolver(params, Box::new(Primitives(Cell::new(Some(entropy)))));
    Ok(builder.local_private_key(own.secret())?.prologue(preamble)?)
}

/// What `snow` computes with: ring, which has no curve without the system's randomness, and a curve that has; the randomness is
/// what this was given, once.
struct Primitives(Cell<Option<Entropy>>);

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(self.0.take()?))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        RingResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

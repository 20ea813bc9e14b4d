//! The connection to the controller: greeting, role, configuration.

use handfast_wire::openflow::{Hello, Role, RoleMessage, SwitchConfig, VERSION};

use super::refusal::Refusal;

/// `OFPC_FRAG_DROP`: with it and with 0 fragments need no reassembly. There are none here: [`handfast_wire::Packet`] is whole.
const FRAGMENTS_DROP: u16 = 1;
/// `miss_send_len` before it is set (§7.3.2).
const MISS_SEND_LEN: u16 = 128;

/// What the switch knows of its controller.
#[derive(Clone, Debug)]
pub(super) struct Session {
    connected: bool,
    role: Role,
    /// The newest generation of masters that was heard of.
    generation: Option<u64>,
    config: SwitchConfig,
}

impl Default for Session {
    fn default() -> Self {
        let config = SwitchConfig { flags: 0, miss_send_len: MISS_SEND_LEN };
        Self { connected: false, role: Role::Equal, generation: None, config }
    }
}

impl Session {
    /// A new connection: its role is that of an equal, what older masters said still counts (§6.3, multiple controllers).
    pub(super) fn connect(&mut self) {
        *self = Self { connected: true, generation: self.generation, ..Self::default() };
    }

    pub(super) fn disconnect(&mut self) {
        self.connected = false;
    }

    pub(super) const fn is_connected(&self) -> bool {
        self.connected
    }

    /// Whether packets and ends of entries are told: not to a slave (§6.3).
    pub(super) fn hears_packets(&self) -> bool {
        self.connected && self.role != Role::Slave
    }

    /// §6.3, multiple controllers: a slave may not change the switch.
    pub(super) fn may_change(&self) -> Result<(), Refusal> {
        if self.role == Role::Slave { Err(Refusal::IS_SLAVE) } else { Ok(()) }
    }

    pub(super) const fn config(&self) -> SwitchConfig {
        self.config
    }

    /// §7.3.2.
    pub(super) fn configure(&mut self, config: SwitchConfig) -> Result<(), Refusal> {
        self.may_change()?;
        if config.flags & !FRAGMENTS_DROP != 0 {
            return Err(Refusal::BAD_CONFIG_FLAGS);
        }
        self.config = config;
        Ok(())
    }

    /// §7.3.9.
    pub(super) fn request_role(&mut self, request: RoleMessage) -> Result<RoleMessage, Refusal> {
        if matches!(request.role, Role::Master | Role::Slave) {
            self.renew(request.generation_id)?;
        }
        if request.role != Role::NoChange {
            self.role = request.role;
        }
        // A generation that was never told is answered as all ones.
        Ok(RoleMessage { role: self.role, generation_id: self.generation.unwrap_or(u64::MAX) })
    }

    /// §6.3, multiple controllers: generations are compared as sequence numbers.
    fn renew(&mut self, generation: u64) -> Result<(), Refusal> {
        if self.generation.is_some_and(|newest| (generation.wrapping_sub(newest) as i64) < 0) {
            return Err(Refusal::STALE);
        }
        self.generation = Some(generation);
        Ok(())
    }
}

/// §6.3, connection setup: a common version is in both bitmaps, or else the smaller of the two highest.
pub(super) fn negotiate(hello: &Hello) -> Result<(), Refusal> {
    let speaks = match hello.bitmaps.first() {
        Some(versions) => versions & 1 << VERSION != 0,
        None => hello.version >= VERSION,
    };
    if speaks { Ok(()) } else { Err(Refusal::INCOMPATIBLE) }
}

//! What an entry does with a packet: its instructions, checked and in the order of execution.

use std::mem::discriminant;

use handfast_wire::openflow::{Action, Instruction, PortNo};

use super::refusal::Refusal;

/// Most actions in one list. The specification leaves the number to the switch (`OFPBAC_TOO_MANY`).
pub(super) const MAX_ACTIONS: usize = 64;

const GROUP: u16 = 22;
const WRITE_METADATA: u16 = 2;
const METER: u16 = 6;
const EXPERIMENTER: u16 = 0xffff;

/// Out by a port; to the controller: that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) port: PortNo,
    pub(super) max_len: u16,
}

/// §5.9: instructions are executed in the order of these fields, however they stand in the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) apply: Vec<Output>,
    pub(super) clear: bool,
    /// §5.10: the action set holds one output at most, the last that was written.
    pub(super) write: Option<Output>,
    pub(super) goto: Option<u8>,
}

impl Program {
    /// Checks the instructions of an entry of table `table`, one of `n_tables`.
    pub(super) fn new(instructions: &[Instruction], table: u8, n_tables: u8) -> Result<Self, Refusal> {
        let mut program = Self::default();
        for (at, instruction) in instructions.iter().enumerate() {
            program.add(instruction, table, n_tables)?;
            // §5.9: at most one instruction of each type.
            if instructions[..at].iter().any(|earlier| discriminant(earlier) == discriminant(instruction)) {
                return Err(Refusal::UNSUPPORTED_INSTRUCTION);
            }
        }
        Ok(program)
    }

    fn add(&mut self, instruction: &Instruction, table: u8, n_tables: u8) -> Result<(), Refusal> {
        match instruction {
            Instruction::GotoTable(next) => self.goto = Some(later(*next, table, n_tables)?),
            Instruction::WriteActions(actions) => self.write = outputs(actions)?.last().copied(),
            Instruction::ApplyActions(actions) => self.apply = outputs(actions)?,
            Instruction::ClearActions => self.clear = true,
            Instruction::Other { kind, .. } => return Err(unknown_instruction(*kind)),
        }
        Ok(())
    }

    /// The port, if all that the entry does is one output.
    pub(super) fn only_output(&self) -> Option<PortNo> {
        match (&self.apply[..], self.write, self.goto) {
            ([output], None, None) => Some(output.port),
            _ => None,
        }
    }

    /// Whether an action of the entry sends to `port` (§6.4: only actions of the entry itself count).
    pub(super) fn sends_to(&self, port: PortNo) -> bool {
        self.apply.iter().chain(&self.write).any(|output| output.port == port)
    }
}

/// §5.1: a packet goes on in a table with a greater number only.
fn later(next: u8, table: u8, n_tables: u8) -> Result<u8, Refusal> {
    if next > table && next < n_tables { Ok(next) } else { Err(Refusal::BAD_GOTO) }
}

fn unknown_instruction(kind: u16) -> Refusal {
    match kind {
        WRITE_METADATA | METER => Refusal::UNSUPPORTED_INSTRUCTION,
        EXPERIMENTER => Refusal::BAD_INSTRUCTION_EXPERIMENTER,
        _ => Refusal::UNKNOWN_INSTRUCTION,
    }
}

/// The actions of an entry's list.
fn outputs(actions: &[Action]) -> Result<Vec<Output>, Refusal> {
    if actions.len() > MAX_ACTIONS {
        return Err(Refusal::TOO_MANY_ACTIONS);
    }
    let list: Vec<Output> = actions.iter().map(output).collect::<Result<_, _>>()?;
    // §7.2.1: only a packet-out may send to the tables.
    if list.iter().any(|output| output.port == PortNo::TABLE) { Err(Refusal::BAD_OUT_PORT) } else { Ok(list) }
}

/// What a packet-out does, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Output(Output),
    /// From here on the packet has this metadata, as in Open vSwitch.
    Metadata(u32),
}

/// The actions of a packet-out.
pub(super) fn packet_steps(actions: &[Action]) -> Result<Vec<Step>, Refusal> {
    if actions.len() > MAX_ACTIONS {
        return Err(Refusal::TOO_MANY_ACTIONS);
    }
    let step = |action: &Action| match action {
        Action::SetMetadata(value) => {
            u32::try_from(*value).map(Step::Metadata).map_err(|_| Refusal::BAD_ACTION_TYPE)
        }
        action => output(action).map(Step::Output),
    };
    actions.iter().map(step).collect()
}

fn output(action: &Action) -> Result<Output, Refusal> {
    match action {
        Action::Output { port, max_len } if may_exist(*port) => Ok(Output { port: *port, max_len: *max_len }),
        Action::Output { .. } => Err(Refusal::BAD_OUT_PORT),
        // There are no groups here: each is one that does not exist.
        Action::Other { kind: GROUP, .. } => Err(Refusal::BAD_OUT_GROUP),
        Action::Other { kind: EXPERIMENTER, .. } => Err(Refusal::BAD_ACTION_EXPERIMENTER),
        Action::SetMetadata(_) | Action::Other { .. } => Err(Refusal::BAD_ACTION_TYPE),
    }
}

/// §6.4: an output to a port that is not there yet is no error; packets for it are dropped, as by Open vSwitch.
const fn may_exist(port: PortNo) -> bool {
    matches!(port.0, 1..=0xffff_ff00 | 0xffff_fff8..=0xffff_fffe)
}

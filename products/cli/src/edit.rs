//! Edits of PTX that mend a finding, as machines and editors take them.

use ptx_atomics::hazards::{Position, Remedy};
use ptx_atomics::ptx::InstPlace;

/// An instruction to be put in, or in place of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The line next to which it stands, from 1.
    pub line: u32,
    /// Where.
    pub side: Side,
    /// The instruction, without its semicolon.
    pub instruction: String,
}

/// Where an instruction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// In front of the line.
    Before,
    /// Behind it.
    After,
    /// In place of its instruction.
    InPlace,
}

impl Edit {
    /// The lines that it takes away, and in front of which it stands: from the first one to the one in front of the second one.
    pub fn lines(&self) -> [u32; 2] {
        match self.side {
            Side::Before => [self.line; 2],
            Side::After => [self.line + 1; 2],
            Side::InPlace => [self.line, self.line + 1],
        }
    }
}

impl Edit {
    /// An edit of a whole line; none where the line has other instructions.
    pub fn of(at: InstPlace, side: Side, instruction: &str) -> Option<Self> {
        (at.column == 0).then(|| Self { line: at.line, side, instruction: instruction.to_owned() })
    }

    /// The edits of a remedy, all or none of them.
    pub fn all(remedy: &Remedy) -> Vec<Self> {
        let edit = |edit: &ptx_atomics::hazards::Edit| {
            let side = match edit.position {
                Position::Before => Side::Before,
                Position::After => Side::After,
            };
            Self::of(edit.at, side, &edit.instruction)
        };
        remedy.edits.iter().map(edit).collect::<Option<_>>().unwrap_or_default()
    }
}

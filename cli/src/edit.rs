//! Edits of PTX that mend a finding, as machines and editors take them.

use ptx_hazards::Position;

/// An instruction to be put in, or in place of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The line next to which it stands, from 1.
    pub line: u32,
    /// Where.
    pub place: Place,
    /// The instruction, without its semicolon.
    pub instruction: String,
}

/// Where an instruction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Place {
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
        match self.place {
            Place::Before => [self.line; 2],
            Place::After => [self.line + 1; 2],
            Place::InPlace => [self.line, self.line + 1],
        }
    }
}

impl From<&ptx_hazards::Edit> for Edit {
    fn from(edit: &ptx_hazards::Edit) -> Self {
        let place = match edit.position {
            Position::Before => Place::Before,
            Position::After => Place::After,
        };
        Self { line: edit.line, place, instruction: edit.instruction.clone() }
    }
}

//! The identity of an instruction in its module, and its position in the text.

use std::fmt::{self, Display, Formatter};

use crate::module::{Function, Line, Module};

/// An instruction of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InstId {
    /// The index of its function in [`Module::functions`].
    pub function: u32,
    /// Its index in the body of the function. The end of the function has the index after the last instruction.
    pub index: u32,
}

/// An instruction, and the line that represents it in output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InstPlace {
    /// The line in the text of the module, from 1.
    pub line: u32,
    /// The column of its mnemonic, from 1, if the line has several instructions; else 0.
    pub column: u32,
    /// The instruction; `None` for a kernel as a whole.
    pub id: Option<InstId>,
}

impl InstPlace {
    /// A line as a whole.
    pub fn line(line: u32) -> Self {
        Self { line, ..Self::default() }
    }
}

/// `7`, or `7:25` on a line with several instructions.
impl Display for InstPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}", self.line),
            column => write!(f, "{}:{column}", self.line),
        }
    }
}

impl Module {
    /// The line of an instruction; `None` for the end of a function.
    pub fn line(&self, id: InstId) -> Option<&Line> {
        self.functions().nth(id.function as usize)?.body.as_ref()?.get(id.index as usize)
    }

    /// The first instruction on a line of the text.
    pub fn first_on(&self, line: u32) -> Option<InstPlace> {
        self.functions().enumerate().find_map(|(function, own)| {
            let index = own.body.as_ref()?.iter().position(|of| of.number == line && of.mnemonic().is_some())?;
            Some(own.place(function as u32, index))
        })
    }
}

impl Function {
    /// The place of an instruction of this function, or of the function's end if `index` is past the last instruction.
    /// `function` is the function's index in the module.
    pub fn place(&self, function: u32, index: usize) -> InstPlace {
        let (line, column) = match self.body.as_ref().and_then(|body| body.get(index)) {
            Some(line) => (line.number, line.column),
            None => (0, 0),
        };
        InstPlace { line, column, id: Some(InstId { function, index: index as u32 }) }
    }
}

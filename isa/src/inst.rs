//! The identity of an instruction in its module, and its place in the text.

use std::fmt::{self, Display, Formatter};

use crate::module::{Function, Line, Module};

/// An instruction of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InstId {
    /// The place of its function among [`Module::functions`].
    pub function: u32,
    /// Its place in the body of the function. The end of the function comes after the last one.
    pub index: u32,
}

/// An instruction, and the line that is shown for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InstPlace {
    /// The line in the text of the module, from 1.
    pub line: u32,
    /// The column of its mnemonic, from 1, if the line has several instructions; else 0.
    pub column: u32,
    /// The instruction; nothing for a kernel as a whole.
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
    /// An instruction, or nothing for the end of a function.
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
    /// An instruction of the function, whose place among the functions of the module is given; after the last one, its end.
    pub fn place(&self, function: u32, index: usize) -> InstPlace {
        let (line, column) = match self.body.as_ref().and_then(|body| body.get(index)) {
            Some(line) => (line.number, line.column),
            None => (0, 0),
        };
        InstPlace { line, column, id: Some(InstId { function, index: index as u32 }) }
    }
}

//! Why it cannot be told whether something is wrong: what is not known, in words, and the option that settles it.

use std::fmt::{self, Display, Formatter};

use ptx_isa::Text;

/// What is not known. The words that messages, JSON and the book have stand in one table of this file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cause {
    /// The size of a CTA; if that is all, with more than how many threads something is wrong.
    Block(Option<u32>),
    /// The size of the grid.
    Grid,
    /// A parameter of the kernel, by its name.
    Parameter(String),
    /// A value that is loaded from memory.
    Loaded,
    /// The address in a matrix descriptor.
    Descriptor,
    /// What an address is relative to, or how far it is from there.
    Address,
    /// Which element of a ring a round uses.
    Index,
    /// How many rounds a loop goes.
    Rounds,
    /// Which arrival a wait has observed.
    Arrival,
    /// Which threads know what others have waited for.
    Threads,
    /// Which of several paths threads take.
    Path,
    /// Whether threads that have ended are counted.
    Ended,
    /// What other grids access, and when.
    Grids,
    /// What code does that is not here or not understood.
    Code,
    /// Anything: the kernel is too large.
    Size,
}

impl Cause {
    /// What it is, as the subject of a sentence; and the option that says it.
    fn row(&self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Block(_) => ("how many threads a CTA has", Some("--block")),
            Self::Grid => ("how many CTAs the grid has", Some("--grid")),
            Self::Parameter(_) => ("the parameter", Some("--param")),
            Self::Loaded => ("a value that is loaded from memory", None),
            Self::Descriptor => ("the address in a matrix descriptor", None),
            Self::Address => ("how an address is computed", None),
            Self::Index => ("which element of a ring each round uses", None),
            Self::Rounds => ("how many rounds a loop goes", None),
            Self::Arrival => ("which arrival the wait has observed", None),
            Self::Threads => ("which threads have waited", None),
            Self::Path => ("which path threads take", None),
            Self::Ended => ("whether threads that have ended are counted", None),
            Self::Grids => ("what other grids do at the same time", None),
            Self::Code => ("what the code does", None),
            Self::Size => ("what so large a kernel does", None),
        }
    }

    /// What it is, whichever one it is.
    pub fn words(&self) -> &'static str {
        self.row().0
    }

    /// The option that settles it, as it is given.
    pub fn option(&self) -> Option<String> {
        let option = self.row().1?;
        Some(match self {
            Self::Block(_) => format!("{option} THREADS"),
            Self::Parameter(name) => format!("{option} {name}=VALUE"),
            _ => format!("{option} CTAS"),
        })
    }

    /// What would settle it, as a whole.
    pub fn help(&self) -> Option<String> {
        Some(format!("give {}, and it is settled", self.option()?))
    }

    /// A sentence of what may be wrong.
    pub fn possible(&self, fault: impl Into<Text>) -> Text {
        let before = match self {
            Self::Block(Some(threads)) => format!("if a CTA has more than {threads} threads, "),
            _ => "it cannot be told whether ".to_owned(),
        };
        fault.into().between(before, format!(": {self} is not known"))
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)?;
        if let Self::Parameter(name) = self {
            write!(f, " '{name}'")?;
        }
        Ok(())
    }
}

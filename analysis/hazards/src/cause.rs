//! The causes of an undecided finding: the unknown fact, in words, and the option that settles it.

use std::fmt::{self, Display, Formatter};

use ptx_isa::Text;

/// An unknown fact. One table of this file holds its words in messages, JSON and the book.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cause {
    /// The size of a CTA; if nothing else is unknown, the number of threads above which the fault exists.
    Block(Option<u32>),
    /// The size of the grid.
    Grid,
    /// A parameter of the kernel, by its name.
    Parameter(String),
    /// A value that is loaded from memory.
    Loaded,
    /// The address in a matrix descriptor.
    Descriptor,
    /// The base of an address, or the offset from it.
    Address,
    /// The element of a ring that an iteration uses.
    Index,
    /// The number of iterations of a loop.
    Rounds,
    /// The arrival that a wait has observed.
    Arrival,
    /// The threads that know which waits other threads have done.
    Threads,
    /// The path, of several, that threads take.
    Path,
    /// Whether threads that have ended are counted.
    Ended,
    /// The accesses of other grids, and their times.
    Grids,
    /// The effect of code that is missing or not understood.
    Code,
    /// Any fact: the kernel is too large.
    Size,
}

impl Cause {
    /// The cause as the subject of a sentence, and the option that settles it.
    fn row(&self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Block(_) => ("the number of threads of a CTA", Some("--block")),
            Self::Grid => ("the number of CTAs of the grid", Some("--grid")),
            Self::Parameter(_) => ("the parameter", Some("--param")),
            Self::Loaded => ("a value that is loaded from memory", None),
            Self::Descriptor => ("the address in a matrix descriptor", None),
            Self::Address => ("the computation of an address", None),
            Self::Index => ("the ring element that each iteration uses", None),
            Self::Rounds => ("the number of iterations of a loop", None),
            Self::Arrival => ("the arrival that the wait has observed", None),
            Self::Threads => ("the set of threads that have waited", None),
            Self::Path => ("the path that threads take", None),
            Self::Ended => ("the count of threads that have ended", None),
            Self::Grids => ("the work of other grids at the same time", None),
            Self::Code => ("the effect of the code", None),
            Self::Size => ("the effect of so large a kernel", None),
        }
    }

    /// The cause in words, without the name of a parameter.
    pub fn words(&self) -> &'static str {
        self.row().0
    }

    /// The option that settles it, in the form in which it is given.
    pub fn option(&self) -> Option<String> {
        let option = self.row().1?;
        Some(match self {
            Self::Block(_) => format!("{option} THREADS"),
            Self::Parameter(name) => format!("{option} {name}=VALUE"),
            _ => format!("{option} CTAS"),
        })
    }

    /// The advice that settles it, as a whole sentence.
    pub fn help(&self) -> Option<String> {
        Some(format!("give {} to settle it", self.option()?))
    }

    /// A sentence about a fault that is possible.
    pub fn possible(&self, fault: impl Into<Text>) -> Text {
        let before = match self {
            Self::Block(Some(threads)) => format!("if a CTA has more than {threads} threads, "),
            _ => "it is open whether ".to_owned(),
        };
        fault.into().between(before, format!(": {self} is unknown"))
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

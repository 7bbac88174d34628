//! PTX that nobody sees, and where each of its lines comes from.

use ptx_atomics_common::Location;
use ptx_atomics_common::helper::data::location;
#[cfg(feature = "llvm")]
use ptx_atomics_llvm::{AsynchronousLines, Hidden};
use serde::{Deserialize, Serialize};

/// The PTX of one module before LLVM's optimizer where LLVM compiles that, and where each of its lines comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unoptimized {
    /// The name of the `gpu.module`.
    pub name: Option<String>,
    /// The PTX.
    pub ptx: String,
    /// For each line of the PTX the function, and the place in the source program or in the input, as far as they are known.
    pub places: Vec<Option<Site>>,
    /// Inline assembly that does what it does not declare, each with a sentence about it without a period.
    pub hidden: Vec<(Site, String)>,
    /// Why it is the PTX after LLVM's optimizer at -O1: how LLVM ended without it.
    pub failure: Option<String>,
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The function.
    pub function: String,
    /// The place in the source program, or in the input.
    #[serde(with = "location")]
    pub location: Option<Location>,
}

impl Unoptimized {
    #[cfg(feature = "llvm")]
    pub(super) fn new(name: Option<String>, lines: AsynchronousLines) -> Self {
        let AsynchronousLines { ptx, places, hidden } = lines;
        let place = |(function, location)| Site { function, location };
        let hidden =
            hidden.into_iter().map(|Hidden { function, location, message }| (place((function, location)), message));
        let places = places.into_iter().map(|at| at.map(place)).collect();
        Self { name, ptx, places, hidden: hidden.collect(), failure: None }
    }

    /// Where a line comes from, counted from 1.
    pub fn place(&self, line: u32) -> Option<&Site> {
        self.places.get((line as usize).checked_sub(1)?)?.as_ref()
    }
}

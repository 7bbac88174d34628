//! Unoptimized PTX for checks, which is never output, with the origin of each line.

use ptx_atomics_common::Location;
use ptx_atomics_common::helper::data::location;
#[cfg(feature = "host-llvm")]
use ptx_atomics_llvm::{AsynchronousLines, Hidden};
use serde::{Deserialize, Serialize};

/// The PTX of one module before LLVM's optimizer, with the origin of each line; or the PTX after -O1, if LLVM cannot
/// compile the former.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Unoptimized {
    /// The name of the `gpu.module`.
    pub name: Option<String>,
    /// The PTX.
    pub ptx: String,
    /// The function of each line of the PTX, and the known place in the source program or in the input.
    pub places: Vec<Option<Site>>,
    /// Inline assembly with undeclared effects, each with a sentence about the effect, without a period.
    pub hidden: Vec<(Site, String)>,
    /// The reason why the PTX is the result of LLVM's optimizer at -O1: the end of LLVM at unoptimized code.
    pub failure: Option<String>,
}

/// A function and a location in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The function.
    pub function: String,
    /// The place in the source program, or in the input.
    #[serde(with = "location")]
    pub location: Option<Location>,
}

impl Unoptimized {
    #[cfg(feature = "host-llvm")]
    pub(super) fn new(name: Option<String>, lines: AsynchronousLines) -> Self {
        let AsynchronousLines { ptx, places, hidden } = lines;
        let place = |(function, location)| Site { function, location };
        let hidden =
            hidden.into_iter().map(|Hidden { function, location, message }| (place((function, location)), message));
        let places = places.into_iter().map(|at| at.map(place)).collect();
        Self { name, ptx, places, hidden: hidden.collect(), failure: None }
    }

    /// The origin of a line, counted from 1.
    pub fn place(&self, line: u32) -> Option<&Site> {
        self.places.get((line as usize).checked_sub(1)?)?.as_ref()
    }
}

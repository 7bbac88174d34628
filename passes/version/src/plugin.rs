//! The parts that the plugins for LLVM's hosts and for MLIR's hosts share: the border to C++, and the check of the
//! host's LLVM.

mod host;
mod info;
mod text;

pub use self::{host::Plugin, info::PassPluginLibraryInfo, text::Text};

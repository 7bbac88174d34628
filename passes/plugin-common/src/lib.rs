//! What the plugins for LLVM's hosts and for MLIR's share: the border to C++, and the check of the host's LLVM.

mod info;
mod text;
mod version;

pub use self::{info::PassPluginLibraryInfo, text::Text, version::Plugin};

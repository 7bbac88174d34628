//! The driver API, a file for each part of `cuda.h`.

pub mod array;
pub mod context;
pub mod copy;
pub mod device;
pub mod entry;
pub mod graph;
pub mod launch;
pub mod memory;
pub mod module;
pub mod pool;
pub mod stream;
mod tensor;
pub mod texture;
mod unsupported;
mod virtual_memory;

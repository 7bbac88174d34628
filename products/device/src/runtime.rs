//! The runtime API, a file for each part of `cuda_runtime_api.h`. Functions that the driver API has under another name
//! are rows of tables.

mod array;
mod device;
mod errors;
mod graph;
mod launch;
mod memory;
mod properties;
mod registration;
mod stream;
mod symbol;
mod texture;
mod unsupported;
mod version;

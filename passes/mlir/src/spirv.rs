//! The SPIR-V dialect: its atomics and barriers, and the modules that contain them.

mod atomics;
mod module;
mod words;

pub use self::{
    atomics::{asked, check_embeddable, expand, is_one, missing},
    module::convert,
};

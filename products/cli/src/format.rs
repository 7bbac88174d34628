//! Tables as text, as markdown and as JSON.

pub use ptx_atomics_table::{columns, json, markdown_table};

//! Tables as text, as markdown and as JSON.

pub use ptx_atomics::lowering::table::{json, markdown_table};
pub use ptx_atomics::ptx::columns::columns;

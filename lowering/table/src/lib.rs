//! The whole mapping as a target gets it: [`Table`], as `ptx-atomics table` prints it.

mod format;
mod table;

pub use self::{
    format::{columns, json, markdown_table},
    table::Table,
};

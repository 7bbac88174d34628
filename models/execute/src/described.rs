//! Descriptions of the runs of a kernel on the CPU: comments of the file, buffers and arguments, and conditions on the
//! final memory. The command `ptx-atomics run`, the golden suite and the page that checks PTX use this module; the rest
//! of the machine does not.

pub mod argument;
pub mod assumed;
pub mod comment;
pub mod element;
pub mod expect;
pub mod npy;
pub mod plan;
pub mod result;
pub mod runs;
pub mod simulate;
pub mod sizes;
pub mod tensor_map;
mod words;

//! How a kernel is run on the CPU: what comments say of it, its buffers and arguments, and what must hold at the end.
//! The command `ptx-atomics run`, the golden suite and the page that checks PTX have all of it from here; nothing else of the machine
//! uses it.

pub mod argument;
pub mod assumed;
pub mod comment;
pub mod element;
pub mod expect;
pub mod found;
pub mod npy;
pub mod plan;
pub mod runs;
pub mod simulate;
pub mod sizes;
pub mod tensor_map;
mod words;

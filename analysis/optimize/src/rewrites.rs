//! The rewrites, a file each: what it does, when, and why that is sound.

pub mod fences;
pub mod loops;
pub mod reads;
pub mod scope;
pub mod unseen;
pub mod writes;

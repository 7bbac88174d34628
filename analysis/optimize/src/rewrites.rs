//! The rewrites, one file each: the rule, its conditions, and the reason why it is sound.

pub mod fences;
pub mod loops;
pub mod reads;
pub mod scope;
pub mod unseen;
pub mod writes;

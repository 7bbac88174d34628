//! The tests of this crate as one program: a module for each subject.

mod imports;
mod mnemonics;
mod packages;
mod scripts;
mod sizes;

//! The tests of this crate in a single program: a module for each subject.

mod apart;
mod committed;
mod executed;
mod groups;
mod large;
mod launched;
mod litmus;
mod missing;
mod possible;
mod read;
mod roles;

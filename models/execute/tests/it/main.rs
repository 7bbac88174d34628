//! The tests of this crate as one program: a module for each subject.

mod asynchronous;
mod barriers;
mod dependent;
mod device;
mod fences;
mod lock_step;
mod matrix;
mod schedules;
mod search;
mod sites;
mod textures;
mod values;

//! `ptx-atomics-llc`, for toolchains that expect the name of an llc.

#[path = "../llc.rs"]
mod llc;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    llc::run(&env::args_os().skip(1).collect::<Vec<_>>())
}

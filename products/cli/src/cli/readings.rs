//! The arguments that choose among readings of the manual.

use clap::{Args, ValueEnum};
use ptx_atomics::memory_model::ptx::readings::{self, Ambiguity, Reading, Readings};

/// How the manual is read.
#[derive(Args, Clone)]
pub struct ReadingArgs {
    /// How the manual is read where it leaves room about asynchronous operations: default (as libraries and compilers rely on
    /// it), strict (what its text says)
    #[arg(long, value_enum, default_value_t = Profile::Default, help_heading = "Asynchronous operations")]
    pub profile: Profile,
    /// One question read otherwise than in the profile, as 'A2=strict' or 'fence-besides-release=lenient'
    #[arg(long = "reading", value_name = "QUESTION=READING", value_parser = readings::read, help_heading = "Asynchronous operations")]
    pub readings: Vec<(Ambiguity, Reading)>,
}

/// How the manual is read where it leaves room about asynchronous operations.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    Default,
    Strict,
}

impl ReadingArgs {
    pub fn readings(&self) -> Readings {
        let profile = match self.profile {
            Profile::Default => Readings::DEFAULT,
            Profile::Strict => Readings::STRICT,
        };
        self.readings.iter().fold(profile, |readings, (of, reading)| readings.with(*of, *reading))
    }
}

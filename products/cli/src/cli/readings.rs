//! The arguments that choose among readings of the manual.

use clap::{Args, ValueEnum};
use ptx_atomics::memory_model::ptx::readings::{self, Ambiguity, Reading, Readings};

/// The readings of the manual that the flags choose.
#[derive(Args, Clone)]
pub struct ReadingArgs {
    /// Reading of the manual where it is ambiguous about asynchronous operations
    ///
    /// default: the reading on which libraries and compilers rely. strict: the words of the manual.
    #[arg(long, value_enum, default_value_t = Profile::Default, help_heading = "Asynchronous operations")]
    pub profile: Profile,
    /// Reading of one question that differs from the profile
    ///
    /// Examples: 'A2=strict', 'fence-besides-release=lenient'
    #[arg(long = "reading", value_name = "QUESTION=READING", value_parser = readings::read, help_heading = "Asynchronous operations")]
    pub readings: Vec<(Ambiguity, Reading)>,
}

/// The reading of the manual where it is ambiguous about asynchronous operations.
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

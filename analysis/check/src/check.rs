//! A check of the kernels of a module: its input and its limits.

use std::time::Duration;

use ptx_isa::{LaunchSize, Module, Stop};
use ptx_memory_model::{kernel::source_name, ptx::readings::Readings};

use crate::{budget::Budget, order::Judged, question::Questions};

/// A check of the kernels of a module.
#[derive(Clone, Debug)]
pub struct Check<'c> {
    /// The module. A kernel without a body has errors.
    pub ptx: &'c Module,
    /// The operations of the IR from which the module was compiled, with their fates.
    pub ir: Option<&'c Judged>,
    /// The launches that the report is about.
    pub launch: Launch,
    /// The launches of kernels that a program makes, by the name of the kernel. A kernel in this list is checked in
    /// these launches only.
    pub launches: Vec<(String, Launch)>,
    /// A substring of the names of the kernels to check.
    pub kernel: Option<&'c str>,
    /// The questions.
    pub questions: Questions,
    /// The readings of unclear passages of the manual.
    pub readings: Readings,
    /// The counted limits for each kernel.
    pub budget: Budget,
    /// The emergency stop of the whole check.
    pub stop: Stop,
    /// The emergency stop of each kernel and question.
    pub time: Duration,
    /// The number of kernels that are checked at the same time; 0 means one per processor.
    pub jobs: usize,
    /// Whether findings have litmus tests.
    pub explains: bool,
}

/// The part of a launch that a user gives. The check guesses the rest for executions; in proofs the rest is arbitrary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The sizes.
    pub size: LaunchSize,
    /// The values of parameters by name, or by `name+16` for the part of a struct at an offset.
    pub numbers: Vec<(String, u64)>,
    /// Whether pointers of different parameters may point to the same memory.
    pub may_alias: bool,
}

/// The default emergency stop.
const PATIENCE: Duration = Duration::from_secs(120);

impl<'c> Check<'c> {
    /// A check that asks every question, with the default limits.
    pub fn new(ptx: &'c Module) -> Self {
        Self {
            ptx,
            ir: None,
            launch: Launch::default(),
            launches: Vec::new(),
            kernel: None,
            questions: Questions::ALL,
            readings: Readings::DEFAULT,
            budget: Budget::default(),
            stop: Stop::never(),
            time: PATIENCE,
            jobs: 0,
            explains: false,
        }
    }

    /// A key of all inputs that affect the report, except the text of the module and the stops.
    pub fn key(&self) -> String {
        let Self {
            ptx: _,
            ir,
            launch,
            launches,
            kernel,
            questions,
            readings,
            budget,
            stop: _,
            time: _,
            jobs: _,
            explains,
        } = self;
        format!("{:?}", (ir, launch, launches, kernel, questions, readings, budget, explains))
    }

    /// The launches in which a kernel is checked, each once, up to the budget. Launches of different sizes come first.
    pub(crate) fn launches_of(&self, kernel: &str) -> Vec<&Launch> {
        let mut own: Vec<(bool, &Launch)> = Vec::new();
        for launch in self.launches.iter().filter(|(name, _)| name == kernel).map(|(_, launch)| launch) {
            if own.iter().all(|(_, other)| *other != launch) {
                own.push((own.iter().any(|(_, other)| other.size == launch.size), launch));
            }
        }
        own.sort_by_key(|(has_known_size, _)| *has_known_size);
        let own: Vec<&Launch> = own.into_iter().take(self.budget.program_launches).map(|(_, launch)| launch).collect();
        if own.is_empty() { vec![&self.launch] } else { own }
    }

    /// Whether a kernel is selected: by a substring of its symbol, or of its name in the source.
    pub fn is_asked(&self, symbol: &str) -> bool {
        self.kernel.is_none_or(|part| symbol.contains(part) || source_name(symbol).contains(part))
    }
}

//! A check of the kernels of a module: its input and its limits.

use std::time::Duration;

use ptx_isa::{LaunchSize, Module, Stop};
use ptx_memory_model::{kernel::shown, ptx::readings::Readings};

use crate::{budget::Budget, order::Judged, question::Questions};

/// A check of the kernels of a module.
#[derive(Clone, Debug)]
pub struct Check<'c> {
    /// The module. A kernel without a body is one that has errors.
    pub ptx: &'c Module,
    /// The operations of the IR that the module was made of, with their fates.
    pub ir: Option<&'c Judged>,
    /// The launches that the report is about.
    pub launch: Launch,
    /// A part of the names of the kernels that are checked.
    pub kernel: Option<&'c str>,
    /// The questions.
    pub questions: Questions,
    /// How the manual is read where it is not clear.
    pub readings: Readings,
    /// The counted limits for each kernel.
    pub budget: Budget,
    /// The emergency stop of the whole check.
    pub stop: Stop,
    /// The emergency stop of each kernel and question.
    pub time: Duration,
    /// How many kernels are checked at the same time; 0 for as many as there are processors.
    pub jobs: usize,
    /// Whether findings have litmus tests.
    pub explains: bool,
}

/// The part of a launch that a user gives. The rest is guessed for executions, and arbitrary in proofs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The sizes.
    pub size: LaunchSize,
    /// Parameters that are numbers: by the name, or `name+16` for the part of a struct at an offset.
    pub numbers: Vec<(String, u64)>,
    /// Whether pointers of different parameters may have the same memory.
    pub may_alias: bool,
}

/// The emergency stop, unless a user gives another one.
const PATIENCE: Duration = Duration::from_secs(120);

impl<'c> Check<'c> {
    /// A check that asks every question, with the usual limits.
    pub fn new(ptx: &'c Module) -> Self {
        Self {
            ptx,
            ir: None,
            launch: Launch::default(),
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

    /// All that decides the report except the text of the module and the stops.
    pub fn key(&self) -> String {
        let Self { ptx: _, ir, launch, kernel, questions, readings, budget, stop: _, time: _, jobs: _, explains } =
            self;
        format!("{:?}", (ir, launch, kernel, questions, readings, budget, explains))
    }

    /// Whether a kernel is checked: by a part of its symbol, or of its name in the source.
    pub fn is_asked(&self, symbol: &str) -> bool {
        self.kernel.is_none_or(|part| symbol.contains(part) || shown(symbol).contains(part))
    }
}

//! The positions of the values in a final state.

use crate::program::{Language, Location, Program, Register, Value};

/// The positions of the values in a final state.
#[derive(Clone, Debug)]
pub struct Layout {
    registers: Vec<(usize, Register)>,
    /// For each location, the index of its physical location.
    locations: Vec<usize>,
}

impl Layout {
    /// The layout of the final states of a program.
    pub fn new<L: Language>(program: &Program<L>) -> Self {
        let all = || (0..program.locations.len()).map(|index| Location(index as u16));
        let physical: Vec<_> = all().filter(|&location| program.physical(location) == location).collect();
        let index = |location| physical.iter().position(|&other| other == program.physical(location)).unwrap_or(0);
        Self { registers: program.observed().collect(), locations: all().map(index).collect() }
    }

    /// The number of values of a final state.
    pub fn width(&self) -> usize {
        self.registers.len() + self.locations.iter().max().map_or(0, |last| last + 1)
    }

    /// The last value of a register of a thread; `None` if outcomes do not contain it.
    pub fn register(&self, state: &[Value], thread: usize, register: Register) -> Option<Value> {
        let index = self.registers.iter().position(|&observed| observed == (thread, register))?;
        state.get(index).copied()
    }

    /// The last value of a variable.
    pub fn location(&self, state: &[Value], location: Location) -> Option<Value> {
        state.get(self.registers.len() + self.locations.get(usize::from(location.0))?).copied()
    }

    /// The registers at the beginning of a state, each with the number of its thread.
    pub fn registers(&self) -> &[(usize, Register)] {
        &self.registers
    }
}

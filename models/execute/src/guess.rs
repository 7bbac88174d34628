//! The search for arguments with which a kernel passes the checks at its beginning.

mod assumed;
mod boxes;
mod division;
mod fields;
mod loads;
mod numbers;
mod search;

use ptx_isa::Module;

use crate::{
    device::State,
    launch::{Argument, Contents, Launch, LaunchError, ModuleId, RunOptions, Schedule},
};

use self::numbers::numbers;
pub use self::{
    assumed::{Assumed, Assumption, Value},
    division::Part,
    search::{End, Given, SearchBudget, Tried, search, search_within},
};

/// The budget of a trial, in warp instructions.
const STEPS: u64 = 4_000;

impl Launch {
    /// Replaces the arguments at the indices `open` by numbers with which the kernel passes the checks at its
    /// beginning, which end in `trap`. Returns the first launch that passes, and launches that differ from it in one
    /// number. During the search, buffers are replaced by buffers that grow. If no numbers pass, the result is one
    /// launch, with the numbers that got farthest.
    ///
    /// # Errors
    /// If the kernel cannot be launched.
    pub fn fitting(&self, module: &Module, open: &[usize]) -> Result<Vec<Self>, Vec<LaunchError>> {
        let budget = SearchBudget::default();
        let options =
            RunOptions { schedule: Schedule::WarpAhead, races: false, products: false, ..RunOptions::default() };
        let mut state = State::new(module, options)?;
        let mut scratch = self.clone();
        for (index, argument) in scratch.arguments.iter_mut().enumerate() {
            if let Argument::Buffer(buffer, _) = argument {
                *buffer = state.allocate(&format!("scratch {index}"), Contents::Grows(1 << 26));
            }
        }
        let numbers =
            state.with_program((ModuleId::default(), &self.kernel), |program| numbers(program, budget.numbers))?;
        let mut search = Search { state, scratch, best: self.clone(), others: Vec::new() };
        let mut score = search.state.trial(&search.scratch, STEPS)?;
        for _ in 0..3 {
            for (index, number) in open.iter().flat_map(|index| numbers.iter().map(move |number| (*index, *number))) {
                if score < u64::MAX {
                    score = search.improve(index, number, score)?;
                }
            }
        }
        for (index, number) in open.iter().flat_map(|index| numbers.iter().map(move |number| (*index, *number))) {
            if score == u64::MAX && search.others.len() + 1 < budget.fitting_launches {
                search.vary(index, number)?;
            }
        }
        Ok(std::iter::once(search.best).chain(search.others).collect())
    }
}

struct Search<'m> {
    state: State<'m>,
    /// The launch to try.
    scratch: Launch,
    best: Launch,
    others: Vec<Launch>,
}

impl Search<'_> {
    /// Puts a number into an argument. Returns the previous argument, or `None` if the argument is not a number.
    fn put(&mut self, index: usize, number: u64) -> Option<Argument> {
        let argument = self.scratch.arguments.get_mut(index)?;
        let Argument::Bytes(old) = &*argument else { return None };
        let bytes = number.to_le_bytes().iter().copied().chain([0; 8]).take(old.len()).collect();
        let new = Argument::Bytes(bytes);
        (new != *argument).then(|| std::mem::replace(argument, new))
    }

    /// Keeps a number if the kernel gets farther with it.
    fn improve(&mut self, index: usize, number: u64, score: u64) -> Result<u64, Vec<LaunchError>> {
        let Some(old) = self.put(index, number) else { return Ok(score) };
        let new = self.state.trial(&self.scratch, STEPS)?;
        if new > score {
            self.best.arguments[index].clone_from(&self.scratch.arguments[index]);
            return Ok(new);
        }
        self.scratch.arguments[index] = old;
        Ok(score)
    }

    /// Keeps a launch with another number if the kernel passes its checks.
    fn vary(&mut self, index: usize, number: u64) -> Result<(), Vec<LaunchError>> {
        let Some(old) = self.put(index, number) else { return Ok(()) };
        if self.state.trial(&self.scratch, STEPS)? == u64::MAX {
            let mut other = self.best.clone();
            other.arguments[index].clone_from(&self.scratch.arguments[index]);
            self.others.push(other);
        }
        self.scratch.arguments[index] = old;
        Ok(())
    }
}

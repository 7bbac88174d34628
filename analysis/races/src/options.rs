//! The launches that a user asks about, and how long a kernel may take.

use std::time::Duration;

use ptx_isa::{
    LaunchSize,
    arithmetic::mask,
    flat::{Action, Flat, Operand},
};

/// The launches that a user names, and the time that a kernel may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The sizes; the PTX's own numbers go first.
    pub size: LaunchSize,
    /// Whether pointers of different parameters may have the same memory.
    pub may_alias: bool,
    /// The numbers of parameters: by the name, or for a part of a struct by `name+offset`.
    pub numbers: Vec<(String, u64)>,
    /// How long a kernel may take: the proof half of it, the search for executions three fifths of the remainder, remedies the rest.
    pub limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let limit = Duration::from_secs(10);
        Self { size: LaunchSize::default(), may_alias: false, numbers: Vec::new(), limit }
    }
}

impl Options {
    /// Replaces each parameter that has a number by the number.
    pub fn give_numbers(&self, flat: &mut Flat) {
        for step in &mut flat.steps {
            let Action::Parameter { symbol, offset, ty } = step.action else { continue };
            let name = &flat.symbols[symbol].variable.name;
            let is_it = |own: &str| match own.split_once('+') {
                Some((own, at)) => own == name && at.parse() == Ok(offset),
                None => own == name && offset == 0,
            };
            if let Some((_, number)) = self.numbers.iter().find(|(own, _)| is_it(own))
                && step.writes.len() == 1
            {
                let number = number & mask(ty.bits().min(64)) as u64;
                step.action = Action::Pass { ty, from: vec![Operand::Constant(number.cast_signed())] };
            }
        }
    }
}

//! The names of a program: variables, registers, labels.

use crate::{
    program::{Label, Location, Register, RegisterDeclaration, Variable},
    ptx::{Alias, Program, Ptx, Thread},
};

/// The first character of the names of scratch registers, which are not part of an outcome.
const SCRATCH: char = '%';

/// Whether outcomes contain the register with this name.
pub(crate) fn is_observed(name: &str) -> bool {
    !name.starts_with(SCRATCH)
}

/// The variable of this name.
pub(crate) fn variable(program: &Program, name: &str) -> Option<Location> {
    program.locations.iter().position(|variable| variable.name == name).map(|index| Location(index as u16))
}

/// The aliases by which the multimem address of this name points to its replicas; empty for another name.
pub(crate) fn replicas(program: &Program, name: &str) -> Vec<Location> {
    let is_replica = |variable: &Variable<Ptx>| {
        variable.name == name && variable.alias.is_some_and(|(alias, _)| alias == Alias::Multimem)
    };
    let all = program.locations.iter().enumerate().filter(|(_, variable)| is_replica(variable));
    all.map(|(index, _)| Location(index as u16)).collect()
}

/// Whether a variable is a multimem address.
pub(crate) fn is_multimem(program: &Program, location: Location) -> bool {
    program.locations[usize::from(location.0)].alias.is_some_and(|(alias, _)| alias == Alias::Multimem)
}

/// The error for a multimem address in another instruction.
pub(crate) fn only_multimem(name: &str) -> String {
    format!(
        "`{name}` is a multimem address: access it by `multimem.ld_reduce`, `multimem.st` or `multimem.red`, or name a \
         replica"
    )
}

/// Adds a variable; `None` if there are too many.
pub fn declare(program: &mut Program, variable: Variable<Ptx>) -> Option<Location> {
    let index = u16::try_from(program.locations.len()).ok().filter(|index| *index != u16::MAX)?;
    program.locations.push(variable);
    Some(Location(index))
}

/// The register with this name, which is created if necessary.
pub fn register(thread: &mut Thread, name: &str) -> Register {
    let index = thread.registers.iter().position(|register| register.name == name).unwrap_or_else(|| {
        thread.registers.push(RegisterDeclaration { name: name.into(), initial: 0, observed: is_observed(name) });
        thread.registers.len() - 1
    });
    Register(index as u16)
}

/// The label with this name, which is created if necessary.
pub fn label(thread: &mut Thread, name: &str) -> Label {
    let index = thread.labels.iter().position(|label| label == name).unwrap_or_else(|| {
        thread.labels.push(name.into());
        thread.labels.len() - 1
    });
    Label(index as u16)
}

//! Variables in shared memory (section 5.1.6) and in tensor memory (9.7.16.1), with a separate instance for every CTA.

use super::names::{declare, variable};
use crate::{
    asynchronous::Memory,
    place::Place,
    program::{Instruction, Location, Statement, Variable},
    ptx::{Fence, Program},
};

/// An instruction that determines the memory of a variable.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) variable: Location,
    pub(crate) memory: Memory,
    /// Whether the instruction works for a pair of CTAs that share the variable.
    pub(crate) of_pair: bool,
    /// The position of the instruction, in bytes.
    pub(crate) at: usize,
}

/// A `mapa`: the address of a shared variable in another CTA of the cluster.
#[derive(Clone, Copy)]
pub(crate) struct Mapped {
    pub(crate) variable: Location,
    pub(crate) thread: usize,
    pub(crate) statement: usize,
    /// The number of the CTA in the cluster of the thread.
    pub(crate) cta: u32,
    /// The position of the instruction, in bytes.
    pub(crate) at: usize,
}

/// A position, in bytes, and an error message.
type Wrong = (usize, String);

/// The part of a variable's name before the thread whose CTA has the variable.
const INSTANCE: &str = "$P";

/// Gives each CTA its own shared variables. If there are several CTAs, `x` becomes `x$P0` in P0's CTA, and so on.
///
/// A variable of tensor memory with which an instruction works for a pair of CTAs is not divided. If there are
/// asynchronous instructions, the variables record their memory afterwards.
pub(crate) fn give_each_cta_its_own(program: &mut Program, uses: &[Use], mapped: &[Mapped]) -> Result<(), Wrong> {
    let instructions = program.threads.iter().flat_map(|thread| &thread.code).map(|statement| &statement.instruction);
    let instructions: Vec<_> = instructions.collect();
    let is_restricted = instructions.iter().any(|of| matches!(of, Instruction::Fence(Fence::Restricted(_))));
    let is_asynchronous = is_restricted || instructions.iter().any(|of| matches!(of, Instruction::Asynchronous(_)));
    let mut done: Vec<Location> = Vec::new();
    for used in uses.iter().filter(|used| used.memory != Memory::Global) {
        if done.contains(&used.variable) {
            continue;
        }
        done.push(used.variable);
        let of_it = || uses.iter().filter(|other| other.variable == used.variable);
        let name = &program.locations[usize::from(used.variable.0)].name;
        if let Some(other) = of_it().find(|other| other.memory != used.memory) {
            return Err((other.at, format!("`{name}` is in {} memory elsewhere", used.memory)));
        }
        let is_divided = !name.contains(INSTANCE) && !of_it().any(|other| other.of_pair);
        if is_asynchronous {
            program.locations[usize::from(used.variable.0)].memory = used.memory;
        }
        if is_divided {
            divide(program, *used, mapped)?;
        }
    }
    if is_restricted {
        record_ctas(program);
    }
    Ok(())
}

/// Records the CTA of each variable in shared memory: the CTA of its instance, or the only CTA that has it.
fn record_ctas(program: &mut Program) {
    let places: Vec<Place> = program.threads.iter().map(|thread| thread.place).collect();
    for index in 0..program.locations.len() {
        let of = &program.locations[index];
        if of.memory != Memory::Shared {
            continue;
        }
        let thread = match of.name.rsplit_once(INSTANCE) {
            Some((_, thread)) => thread.parse().ok(),
            None => {
                let mentions = |statement: &Statement<_>| statement.instruction.mentions(Location(index as u16));
                program.threads.iter().position(|thread| thread.code.iter().any(mentions))
            }
        };
        program.locations[index].cta = thread.and_then(|thread: usize| places.get(thread).copied());
    }
}

/// Divides a variable into one for each CTA that has it.
fn divide(program: &mut Program, used: Use, mapped: &[Mapped]) -> Result<(), Wrong> {
    let Use { variable: divided, at, .. } = used;
    let Variable { name, initial, memory, .. } = program.locations[usize::from(divided.0)].clone();
    let mut variables = program.locations.iter().enumerate();
    if variables.any(|(index, of)| of.alias.is_some_and(|(_, of)| of == divided || index == usize::from(divided.0))) {
        return Err((at, format!("`{name}` has an alias, and cannot be in {} memory", used.memory)));
    }
    let mapped: Vec<Mapped> = mapped.iter().copied().filter(|mapa| mapa.variable == divided).collect();
    let targets = mapped.iter().map(|mapa| target(program, mapa)).collect::<Result<Vec<_>, _>>()?;
    let mentions = program
        .threads
        .iter()
        .filter(|thread| thread.code.iter().any(|statement| statement.instruction.mentions(divided)));
    let mut places: Vec<Place> = Vec::new();
    for place in mentions.map(|thread| thread.place).chain(targets.iter().copied()) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.len() < 2 {
        return Ok(());
    }
    let mut instances = Vec::new();
    for place in places {
        let first = program.threads.iter().position(|thread| thread.place == place).unwrap_or_default();
        let own = format!("{name}{INSTANCE}{first}");
        let is_new = variable(program, &own).is_none();
        let instance = if instances.is_empty() {
            program.locations[usize::from(divided.0)].name = own.clone();
            Some(divided)
        } else {
            declare(program, Variable { memory, ..Variable::new(own.clone(), initial) })
        };
        let Some(instance) = instance.filter(|_| is_new) else {
            return Err((at, format!("`{own}`, the `{name}` of P{first}'s CTA, is declared already")));
        };
        instances.push((place, instance));
    }
    for (index, thread) in program.threads.iter_mut().enumerate() {
        for (number, statement) in thread.code.iter_mut().enumerate() {
            let mapa = mapped.iter().position(|mapa| (mapa.thread, mapa.statement) == (index, number));
            let place = mapa.map_or(thread.place, |mapa| targets[mapa]);
            if let Some((_, instance)) = instances.iter().find(|(of, _)| *of == place) {
                statement.instruction.replace(divided, *instance);
            }
        }
    }
    Ok(())
}

/// The CTA whose variable a `mapa` returns.
fn target(program: &Program, mapa: &Mapped) -> Result<Place, Wrong> {
    let own = program.threads[mapa.thread].place;
    let place = match own.cluster {
        Some(_) => Place { cta: mapa.cta, ..own },
        // A CTA without a cluster is a cluster by itself, with rank 0.
        None => own,
    };
    let is_there = program.threads.iter().any(|thread| thread.place == place);
    if is_there && (own.cluster.is_some() || mapa.cta == 0) {
        Ok(place)
    } else {
        Err((mapa.at, format!("the cluster of P{} has no CTA {}", mapa.thread, mapa.cta)))
    }
}

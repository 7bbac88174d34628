//! The writes that may happen beyond a loop's bound, or beyond a statement that is not modelled.

use super::{
    address::{ARRAY, addresses},
    path::{EventKind, Path, PathEvent, Term},
    thread::{PathAccess, Unfold, Unfolded},
};
use crate::{
    flow::{uses, written},
    program::{
        AluOp, AtomOp, Computation, Instruction, Language, Location, Operand, Program, RmwOp, Span, Value, truncate,
    },
    relation::Set,
};

/// The memory that the value of a register may point to.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Leads {
    /// Arrays, by their addresses in units of [`ARRAY`].
    arrays: Vec<Value>,
    /// Whether it may be an address that was read from memory.
    anywhere: bool,
}

/// The maximum number of values of one variable beyond a bound.
const MAX_BEYOND: usize = 4;

impl<L: Language> Unfold<'_, L> {
    /// Adds an event for each variable that may be written beyond a loop's bound. The event depends on the branches
    /// that decide whether the variable is written at all. Returns the variables that may be written by statements that
    /// no path reached.
    pub(super) fn go_beyond(&mut self) -> Vec<Location> {
        if self.cut.is_empty() {
            return Vec::new();
        }
        // A write that no path reaches may write any variable whose address is in a register.
        let mut writes: Vec<Vec<Location>> = vec![Vec::new(); self.thread.code.len()];
        for touch in self.touched.iter().filter(|touch| touch.writes) {
            if !writes[touch.statement].contains(&touch.span.variable) {
                writes[touch.statement].push(touch.span.variable);
            }
        }
        let arrays = self.arrays();
        let mut unseen = Vec::new();
        for (known, statement) in writes.iter_mut().zip(&self.thread.code) {
            let came_to = !known.is_empty();
            match written(statement) {
                Some(named) => *known = named,
                None if !came_to => *known = self.may_be_written(&statement.instruction, &arrays),
                None => {}
            }
            if !came_to {
                unseen.extend_from_slice(known);
            }
        }
        for (path, pc, controls) in std::mem::take(&mut self.cut) {
            let after: Vec<_> = controls.iter().map(|control| self.flow.written_from(control.until, &writes)).collect();
            let shared = |variable: &Location| !self.program.locations[usize::from(variable.0)].private;
            for variable in self.flow.written_from(pc, &writes).into_iter().filter(shared) {
                let inside = controls.iter().zip(&after).filter(|(_, after)| !after.contains(&variable));
                let depends = inside.fold(Set(0), |all, (control, _)| all | control.reads);
                let beyond = PathEvent::new(EventKind::Beyond { known: false }, pc);
                self.paths[path].events.push(PathEvent { span: Span::whole(variable), depends, ..beyond });
            }
        }
        unseen
    }

    /// For each register, the arrays that it may point into, and whether it may hold a value that was read. A sum
    /// points into the array of its address, or is undefined.
    pub(super) fn arrays(&self) -> Vec<Leads> {
        let known = |value: Value| self.addresses.iter().any(|&(at, _)| at / ARRAY == value / ARRAY);
        let constant = |value: Value| Leads {
            arrays: Some(value / ARRAY).filter(|_| known(value)).into_iter().collect(),
            anywhere: false,
        };
        let mut leads: Vec<Leads> = self.thread.registers.iter().map(|declared| constant(declared.initial)).collect();
        loop {
            let before = leads.clone();
            for statement in &self.thread.code {
                let (_, mut written) = uses(&statement.instruction);
                let Instruction::Alu { d, sources, computation, .. } = &statement.instruction else {
                    while written != 0 {
                        leads[written.trailing_zeros() as usize].anywhere = true;
                        written &= written - 1;
                    }
                    continue;
                };
                let of = sources[..computation.arity()].iter().map(|source| match *source {
                    Operand::Register(register) => leads[usize::from(register.0)].clone(),
                    Operand::Immediate(value) => constant(value),
                    Operand::Address(location) => constant(self.program.address_of(location)),
                });
                let of: Vec<Leads> = of.collect();
                let is_sum = matches!(
                    computation,
                    Computation::Alu(AluOp::Add | AluOp::Sub | AluOp::MadLo | AluOp::MadWide | AluOp::Or)
                );
                let has_base = of.iter().any(|source| !source.arrays.is_empty());
                let to = &mut leads[usize::from(d.0)];
                to.anywhere |= !(is_sum && has_base) && of.iter().any(|source| source.anywhere);
                for array in of.into_iter().flat_map(|source| source.arrays) {
                    if !to.arrays.contains(&array) {
                        to.arrays.push(array);
                    }
                }
            }
            if leads == before {
                return leads;
            }
        }
    }

    /// The variables that an instruction may write if its address is unknown in every path.
    pub(super) fn may_be_written(&self, instruction: &Instruction<L>, leads: &[Leads]) -> Vec<Location> {
        let mut accesses = Vec::new();
        addresses(instruction, &mut accesses);
        let bases = accesses.iter().filter_map(|(a, _)| match a.base {
            Operand::Register(register) => Some(&leads[usize::from(register.0)]),
            _ => None,
        });
        let bases: Vec<&Leads> = bases.collect();
        let may = |at: Value| bases.iter().any(|base| base.anywhere || base.arrays.contains(&(at / ARRAY)));
        self.addresses.iter().filter(|(at, _)| may(*at)).map(|(_, location)| *location).collect()
    }
}

/// All values that a location ever holds, if all writes to it are of constants.
pub(super) fn constants<L: Language>(program: &Program<L>, unfolded: &[Unfolded<L>], span: Span) -> Option<Vec<Value>> {
    let mut unseen = unfolded.iter().flat_map(|of| &of.unseen);
    if unseen.any(|variable| program.physical(*variable) == span.variable) {
        return None;
    }
    let writes = |span: Span| {
        let threads = program.threads.iter().zip(unfolded);
        threads.flat_map(move |(thread, of)| {
            let here = move |touch: &&PathAccess| touch.writes && program.physical_span(touch.span).overlaps(span);
            of.touched.iter().filter(here).map(|touch| (touch.span, &thread.code[touch.statement].instruction))
        })
    };
    let initial = span.extract(program.locations[usize::from(span.variable.0)].initial);
    let written = writes(span).map(|(at, instruction)| match instruction {
        _ if program.physical_span(at) != span => None,
        Instruction::Store { b: Operand::Immediate(value), ty, .. }
        | Instruction::Rmw { op: RmwOp::Atom(AtomOp::Exch), b: Operand::Immediate(value), ty, .. }
        | Instruction::Rmw { op: RmwOp::Atom(AtomOp::Cas), c: Operand::Immediate(value), ty, .. } => {
            Some(truncate(*ty, *value))
        }
        _ => None,
    });
    let mut values = written.chain([Some(initial)]).collect::<Option<Vec<_>>>()?;
    values.sort_unstable();
    values.dedup();
    Some(values)
}

/// Sets the values of the writes beyond bounds, if they are among a few constants.
pub(super) fn tell_beyond<L: Language>(program: &Program<L>, unfolded: &mut [Unfolded<L>]) {
    let is_beyond = |event: &PathEvent<L>| matches!(event.kind, EventKind::Beyond { .. });
    let beyond = unfolded.iter().flat_map(|of| &of.paths).filter(|path| path.is_cut()).flat_map(|path| &path.events);
    let mut variables: Vec<Location> =
        beyond.filter(|event| is_beyond(event)).map(|event| event.span.variable).collect();
    variables.sort_unstable();
    variables.dedup();
    // The result for a variable applies if the variable has a single location.
    let known = |variable: &Location| {
        let physical = program.physical(*variable);
        let touched = unfolded.iter().flat_map(|of| &of.touched).map(|touch| program.physical_span(touch.span));
        let mut spans: Vec<Span> = touched.filter(|span| span.variable == physical).collect();
        spans.sort_unstable();
        spans.dedup();
        let [span] = spans[..] else { return None };
        constants(program, unfolded, span).filter(|values| values.len() <= MAX_BEYOND)
    };
    let known: Vec<(Location, Vec<Value>)> =
        variables.iter().filter_map(|variable| Some((*variable, known(variable)?))).collect();
    for path in unfolded.iter_mut().flat_map(|of| &mut of.paths).filter(|path| path.is_cut()) {
        let events = std::mem::take(&mut path.events).into_iter().flat_map(|event| {
            let values = known.iter().find(|(variable, _)| is_beyond(&event) && *variable == event.span.variable);
            match values {
                None => vec![event],
                Some((_, values)) => {
                    let kind = EventKind::Beyond { known: true };
                    values.iter().map(|value| PathEvent { kind, value: Term::Constant(*value), ..event }).collect()
                }
            }
        });
        path.events = events.collect();
    }
}

/// The paths without the writes beyond their bounds that no other thread reads.
pub(crate) fn without_unread_beyond<L: Language>(program: &Program<L>, paths: &[&Path<L>]) -> Vec<Path<L>> {
    // Through another proxy, a thread may read from its own later writes.
    let aliased = program.locations.iter().any(|variable| variable.alias.is_some());
    let is_read = |variable: Location, by: usize| {
        let reads = |path: &Path<L>| {
            let read =
                |event: &PathEvent<L>| matches!(event.kind, EventKind::Read(_)) && event.span.variable == variable;
            path.events.iter().any(read)
        };
        aliased || paths.iter().enumerate().any(|(other, path)| other != by && reads(path))
    };
    let without = |(thread, path): (usize, &&Path<L>)| {
        let mut path = Path::clone(path);
        path.events
            .retain(|event| !matches!(event.kind, EventKind::Beyond { .. }) || is_read(event.span.variable, thread));
        path
    };
    paths.iter().enumerate().map(without).collect()
}

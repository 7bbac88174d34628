//! The conversion of a source program to the optimizer's graph and back.
//!
//! Each thread is a kernel. A location that only threads of one CTA access may be in its shared memory. A location that
//! only threads of a cluster access may be in the cluster's shared memory. A location that only threads of a GPU access
//! is accessible to that GPU alone. So scopes are narrowed as often as a program allows. A thread whose CTA has no
//! other thread is alone in it.

use std::ops::Range;

use itertools::{Itertools, chain};
use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, SyncScope,
    ptx::{Form, Space},
};
use ptx_memory_model::{
    place::Scope,
    program::{AtomOp, Cmp, Instruction, Label, Location, Operand, Program, RmwOp, Statement, Thread},
    source::{Cpp, Fence, Order, Semantics},
};
use ptx_optimize::{Address, Atomic, Block, End, Event, EventKind, Function, OptimizeOptions, Remark, optimize};

use crate::translate::{NoProgram, operation};

/// A program after the optimizer.
pub struct Optimized {
    pub program: Program<Cpp>,
    /// Its atomic operations and fences in program order, and whether each result is read.
    pub operations: Vec<(AtomicOp, bool)>,
    pub remarks: Vec<Remark>,
}

/// Optimizes each thread.
///
/// # Errors
/// If the program has a construct that no source language has.
pub fn optimized(program: &Program<Cpp>, access: Access, options: &OptimizeOptions) -> Result<Optimized, NoProgram> {
    let mut optimized = Optimized {
        program: Program { locations: program.locations.clone(), threads: Vec::with_capacity(program.threads.len()) },
        operations: Vec::with_capacity(8),
        remarks: Vec::new(),
    };
    let reach = reaches(program, options);
    for thread in &program.threads {
        let basics = basics(thread)?;
        let mut function = function(thread, &basics, access, &reach)?;
        let in_cta = |other: &&Thread<Cpp>| thread.place.includes(Scope::Cta, other.place);
        if options.one_grid {
            function.within = within(program);
        }
        function.single_thread = program.threads.iter().filter(in_cta).count() == 1;
        optimized.remarks.extend(optimize(&mut function, options));
        let (thread, operations) = rebuilt(thread, &basics, &function);
        optimized.operations.extend(operations);
        optimized.program.threads.push(thread);
    }
    Ok(optimized)
}

/// The narrowest scope that includes all threads of a program.
pub fn within(program: &Program<Cpp>) -> Scope {
    let first = program.threads[0].place;
    let has_all = |scope: &Scope| program.threads.iter().all(|thread| first.includes(*scope, thread.place));
    [Scope::Cta, Scope::Gpu, Scope::Sys].into_iter().find(has_all).unwrap_or(Scope::Sys)
}

/// The scope of the threads that can access each location, and a state space with that scope.
fn reaches(program: &Program<Cpp>, options: &OptimizeOptions) -> Vec<(Scope, Space)> {
    let mut narrowest = vec![(Scope::Sys, Space::Global); program.locations.len()];
    let has_clusters = options.target.meets(Form::ClusterScope.requirement());
    for (location, reach) in narrowest.iter_mut().enumerate() {
        let names = |thread: &&Thread<Cpp>| {
            thread.code.iter().any(|statement| accessed(&statement.instruction) == Some(location))
        };
        let places = program.threads.iter().filter(names).map(|thread| thread.place).collect_vec();
        let within = |scope| places.iter().all(|place| places[0].includes(scope, *place));
        if within(Scope::Cta) {
            *reach = (Scope::Cta, Space::Shared);
        } else if has_clusters && within(Scope::Cluster) {
            *reach = (Scope::Cluster, Space::SharedCluster);
        } else if within(Scope::Gpu) {
            *reach = (Scope::Gpu, Space::Global);
        }
    }
    narrowest
}

/// The number of the location that an instruction accesses.
fn accessed(instruction: &Instruction<Cpp>) -> Option<usize> {
    match instruction {
        Instruction::Load { a, .. } | Instruction::Store { a, .. } | Instruction::Rmw { a, .. } => match a.base {
            Operand::Address(Location(location)) => Some(location.into()),
            _ => None,
        },
        _ => None,
    }
}

/// A basic block of a thread.
struct Basic {
    statements: Range<usize>,
    /// The target of its branch.
    branch: Option<usize>,
    /// The next block, if control can reach it from this block.
    next: Option<usize>,
}

impl Basic {
    /// The outgoing edges.
    fn edges(&self) -> impl Iterator<Item = usize> {
        chain!(self.branch, self.next).dedup()
    }
}

/// The basic blocks. The first block has no predecessor, and the last block is the end.
fn basics(thread: &Thread<Cpp>) -> Result<Vec<Basic>, NoProgram> {
    let end = thread.code.len();
    let starts = thread.code.iter().enumerate().filter_map(|(index, statement)| match statement.instruction {
        Instruction::Label(_) => Some(index),
        Instruction::Branch { .. } | Instruction::Stop(_) => Some(index + 1),
        _ => None,
    });
    let bounds = chain!([0], chain!(starts, [end]).dedup(), [end]).collect_vec();
    let starts_at = |label: Label| {
        let at = thread.code.iter().position(|statement| statement.instruction == Instruction::Label(label))?;
        bounds.iter().rposition(|start| *start == at)
    };
    let basic = |(number, (&start, &end)): (usize, (&usize, &usize))| {
        let next = Some(number + 1).filter(|next| next + 1 < bounds.len());
        let statements = start..end;
        let last = statements.clone().last().map(|last| &thread.code[last].instruction);
        Ok(match last {
            Some(branch @ Instruction::Branch { when, target }) => {
                let to = starts_at(*target);
                let to = to.ok_or_else(|| NoProgram::Unmodelled(format!("{branch:?}, which has no target")))?;
                Basic { statements, branch: Some(to), next: next.filter(|_| when.is_some()) }
            }
            Some(Instruction::Stop(_)) => Basic { statements, branch: None, next: None },
            _ => Basic { statements, branch: None, next },
        })
    };
    bounds.iter().tuple_windows().enumerate().map(basic).collect()
}

fn function(
    thread: &Thread<Cpp>,
    basics: &[Basic],
    access: Access,
    reach: &[(Scope, Space)],
) -> Result<Function, NoProgram> {
    let mut function = Function { kernel: true, ..Function::default() };
    for (number, basic) in basics.iter().enumerate() {
        let mut block = Block { next: basic.edges().collect(), ..Block::default() };
        for index in basic.statements.clone() {
            let Statement { guard, instruction } = &thread.code[index];
            let plain = match instruction {
                Instruction::Load { access, .. } | Instruction::Store { access, .. } => {
                    access.order == Order::NonAtomic
                }
                Instruction::Alu { .. } | Instruction::Branch { .. } | Instruction::Label(_) => continue,
                Instruction::Stop(_) => {
                    block.end = End::Never;
                    continue;
                }
                _ => false,
            };
            if guard.is_some() {
                return Err(NoProgram::Unmodelled(format!("{instruction:?} with a predicate")));
            }
            let kind = if plain {
                EventKind::Plain
            } else {
                EventKind::Atomic(atomic(thread, number, basic, index, access, reach)?)
            };
            block.events.push(Event { id: Some(index), kind });
        }
        function.blocks.push(block);
    }
    Ok(function)
}

/// The atomic operation or fence of a statement in a block.
fn atomic(
    thread: &Thread<Cpp>,
    number: usize,
    basic: &Basic,
    index: usize,
    access: Access,
    reach: &[(Scope, Space)],
) -> Result<Atomic, NoProgram> {
    let instruction = &thread.code[index].instruction;
    let Some(value) = accessed(instruction) else { return Ok(Atomic::fence(operation(instruction, access)?.0)) };
    let (reach, space) = reach[value];
    let (op, _) = operation(instruction, Access { space, ..access })?;
    let success = success(thread, &basic.statements, index);
    let success = success.and_then(|taken| if taken { basic.branch } else { basic.next });
    let success = success.filter(|_| basic.branch != basic.next).map(|to| (number, to));
    Ok(Atomic { op, address: Some(Address { value, block: None, reach }), success, can_acquire: true })
}

/// For a compare-and-exchange: whether the branch at the end of its block is taken on success; `None` if the branch
/// compares something else.
fn success(thread: &Thread<Cpp>, block: &Range<usize>, index: usize) -> Option<bool> {
    let Instruction::Rmw { op: RmwOp::Atom(AtomOp::Cas), d: Some(d), b: expected, .. } = thread.code[index].instruction
    else {
        return None;
    };
    let last = &thread.code[block.end - 1].instruction;
    let Instruction::Branch { when: Some((cmp @ (Cmp::Eq | Cmp::Ne), a, b)), .. } = last else { return None };
    let old = Operand::Register(d);
    let overwritten = thread.code[index + 1..block.end].iter().any(|statement| match statement.instruction {
        Instruction::Load { d, .. } | Instruction::Alu { d, .. } | Instruction::Rmw { d: Some(d), .. } => {
            [old, expected].contains(&Operand::Register(d))
        }
        _ => false,
    });
    let compared = old != expected && ([*a, *b] == [old, expected] || [*b, *a] == [old, expected]);
    (compared && !overwritten).then_some(*cmp == Cmp::Eq)
}

/// A statement, and its atomic operation or fence, if it is one.
type Line = (Statement<Cpp>, Option<(AtomicOp, bool)>);

/// A thread whose code is reassembled.
struct Rebuilt<'t> {
    thread: &'t Thread<Cpp>,
    function: &'t Function,
    labels: Vec<String>,
    code: Vec<Line>,
    /// The code on edges of taken branches, which follows all other code.
    after: Vec<Line>,
}

/// The thread after the optimizer, with its atomic operations and fences.
fn rebuilt(thread: &Thread<Cpp>, basics: &[Basic], function: &Function) -> (Thread<Cpp>, Vec<(AtomicOp, bool)>) {
    let (code, after) = (Vec::with_capacity(thread.code.len()), Vec::new());
    let mut rebuilt = Rebuilt { thread, function, labels: thread.labels.clone(), code, after };
    for (number, basic) in basics.iter().enumerate() {
        rebuilt.block(number, basic);
    }
    if !rebuilt.after.is_empty() {
        let end = rebuilt.label();
        rebuilt.code.push((Instruction::Branch { when: None, target: end }.into(), None));
        rebuilt.code.append(&mut rebuilt.after);
        rebuilt.code.push((Instruction::Label(end).into(), None));
    }
    let (code, operations): (_, Vec<_>) = rebuilt.code.into_iter().unzip();
    let Thread { place, ref registers, .. } = *thread;
    let thread = Thread { place, registers: registers.clone(), labels: rebuilt.labels, code };
    (thread, operations.into_iter().flatten().collect())
}

impl Rebuilt<'_> {
    fn block(&mut self, number: usize, basic: &Basic) {
        let mut events = &self.function.blocks[number].events[..];
        for index in basic.statements.clone() {
            let statement = &self.thread.code[index];
            match statement.instruction {
                Instruction::Branch { when, target } => {
                    self.events(std::mem::take(&mut events));
                    let fences = self.on_edge(number, basic.branch);
                    let target = match when {
                        Some(_) if !fences.is_empty() => self.aside(fences, target),
                        _ => {
                            self.code.extend(fences);
                            target
                        }
                    };
                    self.code.push((Instruction::Branch { when, target }.into(), None));
                }
                Instruction::Label(_) | Instruction::Alu { .. } | Instruction::Stop(_) => {
                    self.code.push((statement.clone(), None));
                }
                // A removed event is left out.
                _ => {
                    if let Some(at) = events.iter().position(|event| event.id == Some(index)) {
                        let (here, rest) = events.split_at(at + 1);
                        self.events(here);
                        events = rest;
                    }
                }
            }
        }
        self.events(events);
        let fences = self.on_edge(number, basic.next);
        self.code.extend(fences);
    }

    fn events(&mut self, events: &[Event]) {
        let lines = events.iter().map(|event| line(self.thread, event));
        self.code.extend(lines);
    }

    /// The code on an edge.
    fn on_edge(&self, from: usize, to: Option<usize>) -> Vec<Line> {
        let blocks = &self.function.blocks;
        for &next in &blocks[from].next {
            let (mut at, mut lines) = (next, Vec::new());
            while blocks[at].on_edge.is_some() {
                lines.extend(blocks[at].events.iter().map(|event| line(self.thread, event)));
                at = blocks[at].next[0];
            }
            if Some(at) == to {
                return lines;
            }
        }
        Vec::new()
    }

    /// Appends code that continues at a label after all other code. Returns the label of the appended code.
    fn aside(&mut self, lines: Vec<Line>, target: Label) -> Label {
        let there = self.label();
        self.after.push((Instruction::Label(there).into(), None));
        self.after.extend(lines);
        self.after.push((Instruction::Branch { when: None, target }.into(), None));
        there
    }

    fn label(&mut self) -> Label {
        self.labels.push(format!("edge{}", self.labels.len()));
        Label(self.labels.len() as u16 - 1)
    }
}

/// The statement of an event, with its current ordering and scope.
fn line(thread: &Thread<Cpp>, event: &Event) -> Line {
    let original = event.id.map(|index| thread.code[index].instruction.clone());
    let Some(Atomic { op, .. }) = event.atomic() else {
        return (original.expect("only fences are new").into(), None);
    };
    let order = order(op.ordering);
    let scope = match op.scope {
        SyncScope::Threads(scope) => scope,
        SyncScope::SingleThread => Scope::Cta,
    };
    let failure = match op.operation {
        Operation::CmpXchg { failure, .. } => self::order(failure),
        _ => order,
    };
    let mut instruction = original.unwrap_or(Instruction::Fence(Fence { order, scope }));
    let mut read = false;
    match &mut instruction {
        Instruction::Load { access, .. } => (*access, read) = (Semantics { order, failure, scope }, true),
        Instruction::Store { access, .. } => *access = Semantics { order, failure, scope },
        Instruction::Rmw { access, d, .. } => (*access, read) = (Semantics { order, failure, scope }, d.is_some()),
        Instruction::Fence(fence) => *fence = Fence { order, scope },
        _ => {}
    }
    (instruction.into(), Some((*op, read)))
}

fn order(ordering: Ordering) -> Order {
    match ordering {
        Ordering::Unordered | Ordering::Relaxed => Order::Relaxed,
        Ordering::Acquire => Order::Acquire,
        Ordering::Release => Order::Release,
        Ordering::AcqRel => Order::AcqRel,
        Ordering::SeqCst => Order::SeqCst,
    }
}

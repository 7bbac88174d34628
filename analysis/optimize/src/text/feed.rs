//! The optimizer's graph of a PTX function.

use std::ops::Range;

use crate::{Address, Atomic, Block, End, Event, EventKind, Function};
use itertools::Itertools;
use ptx_isa::{
    self as ptx, AtomOp, Cmp, Code, FenceSem, Line, Sem, Space,
    arithmetic::Computation,
    flat::{self, AccessKind, Action, BasicBlock, Cfg, Flat, Library, Operand},
};
use ptx_lowering::{Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type};
use rustc_hash::FxHashMap;

use crate::text::reach::{Reach, Writers};

/// A function, and the positions of its parts in the text. The number of an event is the number of its instruction.
pub struct Fed<'m> {
    pub function: Function,
    /// The instructions of each block; empty for a block that exists only in the graph.
    pub blocks: Vec<Range<usize>>,
    /// The instructions.
    pub lines: Vec<&'m Line>,
    pub flat: Flat,
    /// The block that begins with a given instruction.
    pub begins: FxHashMap<usize, usize>,
}

/// The graph of a function of a module.
pub fn feed<'m>(library: &Library<'m>, function: &'m ptx::Function, reach: &Reach) -> Fed<'m> {
    let flat = Flat::alone(library, function);
    let is_instruction = |line: &&Line| matches!(line.code, Code::Instruction { .. } | Code::Other(_));
    let lines: Vec<&Line> = function.body.iter().flatten().filter(is_instruction).collect();
    // The end follows the last instruction.
    debug_assert_eq!(lines.len() + 1, flat.steps.len());
    let writers = Writers::new(&flat);
    let mut reader = Reader { flat: &flat, lines: &lines, reach, writers: &writers, values: FxHashMap::default() };
    let mut kinds: Vec<Option<EventKind>> = (0..lines.len()).map(|index| reader.kind(index)).collect();
    kinds.push(None);
    let is_guarded: Vec<bool> =
        kinds.iter().zip(&flat.steps).map(|(kind, step)| kind.is_some() && step.guard.is_some()).collect();

    // A guarded event has a block by itself, and so has the end.
    let cfg = Cfg::new(&flat, |step| is_guarded[step] || step == lines.len());
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut begins = FxHashMap::default();
    for BasicBlock { steps, .. } in &cfg.blocks {
        begins.insert(steps.start, blocks.len());
        // A guarded event is preceded by a block that leads to the event or past it.
        if is_guarded[steps.start] {
            blocks.push(steps.start..steps.start);
        }
        // The end has no line.
        blocks.push(steps.start..steps.end.min(lines.len()));
    }
    // The targets of guarded exits and guarded traps.
    let [leaves, traps] = [blocks.len(), blocks.len() + 1];
    blocks.extend([0..0, 0..0]);
    let mut made = vec![Block::default(); blocks.len()];
    made[traps].end = End::Never;
    for BasicBlock { steps, next } in &cfg.blocks {
        let mut number = begins[&steps.start];
        let last = &flat.steps[steps.end - 1];
        let next = next.iter().map(|next| begins[&cfg.blocks[*next].steps.start]);
        if is_guarded[steps.start] {
            made[number].next = [number + 1].into_iter().chain(next.clone()).collect();
            number += 1;
        }
        let (out, end) = match last.action {
            Action::Leave(_) => (Some(leaves), End::Return),
            Action::Trap => (Some(traps), End::Never),
            _ => (None, End::Return),
        };
        let block = &mut made[number];
        block.next = out.filter(|_| last.guard.is_some()).into_iter().chain(next).unique().collect();
        block.end = if last.guard.is_some() { End::Return } else { end };
        let events = steps.clone().filter_map(|step| Some(Event { id: Some(step), kind: kinds[step].take()? }));
        block.events = events.collect();
    }
    let mut fed = Fed {
        function: Function {
            blocks: made,
            kernel: flat.head.is_entry,
            single_thread: flat.head.is_entry && flat.head.required_threads == Some([1; 3]),
            shared_obstacle: reach.obstacle.clone(),
            within: reach.within,
        },
        blocks,
        lines,
        flat: Flat::default(),
        begins,
    };
    // So far, addresses have the numbers of instructions.
    let block_of: FxHashMap<usize, usize> = fed
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(number, steps)| steps.clone().map(move |step| (step, number)))
        .collect();
    for event in fed.function.blocks.iter_mut().flat_map(|block| &mut block.events) {
        if let EventKind::Atomic(Atomic { address: Some(address), .. }) = &mut event.kind {
            address.block = address.block.map(|step| block_of[&step]);
        }
    }
    succeed(&mut fed.function, &fed.blocks, &flat, &writers);
    fed.flat = flat;
    fed
}

/// Finds the edges that control takes after a successful compare-and-exchange.
fn succeed(function: &mut Function, blocks: &[Range<usize>], flat: &Flat, writers: &Writers) {
    for (number, steps) in blocks.iter().enumerate() {
        let Some(last) = steps.clone().next_back() else { continue };
        let (Action::Jump(labels, None), Some((p, holds))) = (&flat.steps[last].action, flat.steps[last].guard) else {
            continue;
        };
        let Ok(Some(compared)) = writers.single_writer(p) else { continue };
        let Action::Compute(ptx::operation::Operation::Arithmetic(Computation::Setp(cmp, _)), sources) =
            &flat.steps[compared].action
        else {
            continue;
        };
        let is_equality = matches!(cmp, Cmp::Eq | Cmp::Ne);
        if !is_equality || !steps.contains(&compared) || flat.steps[compared].guard.is_some() {
            continue;
        }
        let [taken, falls] = match function.blocks[number].next[..] {
            [taken, falls] if labels.len() == 1 => [taken, falls],
            _ => continue,
        };
        let on_success = if holds == (*cmp == Cmp::Eq) { taken } else { falls };
        for event in &mut function.blocks[number].events {
            let Some(step) = event.id.filter(|step| *step < compared) else { continue };
            let EventKind::Atomic(atomic) = &mut event.kind else { continue };
            let Action::Access(access) = &flat.steps[step].action else { continue };
            let (Operation::CmpXchg { .. }, [Some(old)]) = (atomic.op.operation, &flat.steps[step].writes[..]) else {
                continue;
            };
            let old = Operand::Register(*old);
            let Some(expected) = access.data.first() else { continue };
            let is_it =
                sources[..] == [old.clone(), expected.clone()] || sources[..] == [expected.clone(), old.clone()];
            let is_stable = |operand: &Operand| match operand {
                Operand::Register(register) => writers.single_writer(*register).is_ok(),
                Operand::Constant(_) => true,
                _ => false,
            };
            if is_it && old != *expected && is_stable(&old) && is_stable(expected) {
                atomic.success = Some((number, on_success));
            }
        }
    }
}

struct Reader<'a, 'm> {
    flat: &'a Flat,
    lines: &'a [&'m Line],
    reach: &'a Reach,
    writers: &'a Writers,
    /// The numbers of equal addresses, by base and offset.
    values: FxHashMap<(Base, i64), usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Base {
    Register(usize),
    Symbol(usize),
    Constant(i64),
    /// A base that equals no other base.
    Of(usize),
}

impl Reader<'_, '_> {
    /// The event of an instruction; `None` if it does not access memory that another thread can access.
    fn kind(&mut self, index: usize) -> Option<EventKind> {
        let (step, text) = (&self.flat.steps[index], &*self.lines[index].text);
        let unknown = || Some(EventKind::Unknown(format!("`{}`", mnemonic(text))));
        match &step.action {
            // Only the host writes parameters.
            Action::Access(access) if access.is_private() || access.is_parameter => None,
            Action::Access(access) if access.kind == AccessKind::Matrix || access.sem == Sem::Weak => {
                Some(EventKind::Plain)
            }
            Action::Access(access) => Some(EventKind::Atomic(self.atomic(index, access))),
            Action::Fence(_) if text.contains("sync_restrict") => unknown(),
            Action::Fence(ptx::Fence { sem, scope }) => {
                let ordering = match sem {
                    Some(FenceSem::Sc) => Ordering::SeqCst,
                    Some(FenceSem::AcqRel) | None => Ordering::AcqRel,
                    Some(FenceSem::Acquire) => Ordering::Acquire,
                    Some(FenceSem::Release) => Ordering::Release,
                };
                let op = AtomicOp { operation: Operation::Fence, ordering, scope: SyncScope::Threads(*scope) };
                Some(EventKind::Atomic(Atomic::fence(op)))
            }
            Action::Barrier(_) => Some(EventKind::Barrier),
            Action::Invoke { callee, .. } => Some(EventKind::Unknown(format!("the call to `{callee}`"))),
            Action::Asynchronous(..) | Action::Call(..) | Action::Elsewhere(..) | Action::Unknown => unknown(),
            _ => None,
        }
    }

    fn atomic(&mut self, index: usize, access: &flat::MemoryAccess) -> Atomic {
        let space = access.space.unwrap_or(Space::Generic);
        let ty = if access.bytes().is_some_and(|bytes| bytes > 4) { Type::I64 } else { Type::I32 };
        let volatile = access.sem == Sem::Volatile || access.mmio;
        let of = Access { volatile, ..Access::new(space, ty) };
        let ordering = match access.sem {
            Sem::Acquire => Ordering::Acquire,
            Sem::Release => Ordering::Release,
            Sem::AcqRel => Ordering::AcqRel,
            Sem::Weak | Sem::Relaxed | Sem::Volatile => Ordering::Relaxed,
        };
        let operation = match (access.kind, access.op) {
            (AccessKind::Ld, _) => Operation::Load(of),
            (AccessKind::St, _) => Operation::Store(of),
            (_, Some(AtomOp::Cas)) => {
                let failure = if ordering.acquires() { Ordering::Acquire } else { Ordering::Relaxed };
                Operation::CmpXchg { access: of, failure }
            }
            (_, Some(AtomOp::Exch)) => Operation::Rmw(RmwOp::Xchg, of),
            // The computed function does not affect the barriers around the operation.
            _ => Operation::Rmw(RmwOp::Add, of),
        };
        let scope = SyncScope::Threads(access.strong().unwrap_or(ptx::Scope::Sys));
        let (base, offset) = match &access.address {
            Operand::Address(base, offset) => (&**base, *offset),
            other => (other, 0),
        };
        let (base, block) = match base {
            Operand::Register(register) => match self.writers.single_writer(*register) {
                Ok(writer) => (Base::Register(*register), writer),
                Err(()) => (Base::Of(index), Some(index)),
            },
            Operand::Symbol(symbol) => (Base::Symbol(*symbol), None),
            Operand::Constant(number) => (Base::Constant(*number), None),
            _ => (Base::Of(index), Some(index)),
        };
        let count = self.values.len();
        let value = *self.values.entry((base, offset)).or_insert(count);
        let reach = self.reach.at(&access.address, access.space, self.flat, self.writers);
        Atomic {
            op: AtomicOp { operation, ordering, scope },
            address: Some(Address { value, block, reach }),
            success: None,
            can_acquire: access.kind != AccessKind::Red,
        }
    }
}

/// The mnemonic of an instruction, with its modifiers.
pub fn mnemonic(text: &str) -> &str {
    let mut words = text.split_whitespace().skip_while(|word| word.starts_with('@'));
    words.next().unwrap_or_default().trim_end_matches(';')
}

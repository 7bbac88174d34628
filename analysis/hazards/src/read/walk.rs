//! The symbolic evaluation of a kernel: the contents of the registers at each instruction.

use ptx_isa::{
    Asynchronous, Axis, Family, Role, Special, SpecialScalar, SpecialVector, Type,
    arithmetic::mask,
    effects::{Effect, MbarrierEffect},
    flat::{self, Action, Flat, Operand},
    launch::MOST_THREADS,
};
use rustc_hash::FxHashMap;

use super::{
    causes,
    code::{self, is_shared},
    compute::{Source, compute},
    graph::Graph,
    ranges::ranges,
    terms::{AtomExpression, Content, Facts, Literal, PhiInputs, PredicateMeaning, Terms, Value},
};
use crate::{
    kernel::{Sum, Varies},
    options::HazardOptions,
};

/// A relevant instruction, with the contents of its operands.
#[derive(Debug)]
pub struct Step {
    /// The number of the instruction.
    pub op: usize,
    /// The guard: it holds in a thread that executes the instruction.
    pub guard: Literal,
    /// The address of an access, the number of a barrier.
    pub first: Option<Value>,
    /// The number of threads of a barrier.
    pub second: Option<Value>,
    /// The operands of an asynchronous instruction.
    pub operands: Vec<(Role, Source)>,
}

/// The values of a kernel.
#[derive(Debug)]
pub struct Walked {
    pub terms: Terms,
    /// The steps of each block.
    pub steps: Vec<Vec<Step>>,
    /// The literal that chooses the successor of each block.
    pub branches: Vec<Option<Literal>>,
    /// The predicates whose truth means a successful wait, each with its instruction.
    pub waits: FxHashMap<u32, (usize, Value)>,
    /// The incoming values of each phi, by its block and its register.
    pub phi_inputs: PhiInputs,
    /// The predecessors of each block with phis, in the order of their incoming values.
    pub origins: FxHashMap<usize, Vec<usize>>,
    /// The contents of the registers with phis at the beginning of each block.
    pub met: FxHashMap<usize, Vec<(usize, Content)>>,
}

/// The facts about a phi from an earlier walk.
#[derive(Clone, Copy, Debug)]
struct Known {
    range: Option<(i64, i64)>,
    varies: Varies,
    /// Whether all incoming values except the phi itself are the same.
    is_copy: bool,
    /// The number that every iteration of a loop adds.
    step: Option<i64>,
    /// A register of the same block that always differs from this one by the same constant.
    twin: Option<(usize, i64)>,
}

/// Walks the code twice: the first walk computes facts about the phis of loops.
pub fn walk(code: &Flat, graph: &Graph, options: &HazardOptions) -> Walked {
    let mut first = pass(code, graph, options, FxHashMap::default(), &[]);
    let ranges = ranges(&first.terms, &first.phi_inputs, code);
    let mut known = FxHashMap::default();
    for (&place, met) in &first.phi_inputs {
        let is_itself = |content: Content| match content {
            Content::Value(value) => first.terms.only(value) == Some(&AtomExpression::Phi(place.0, place.1)),
            Content::Literal(literal) => {
                literal.holds
                    && first.terms.predicates[literal.predicate as usize].0 == PredicateMeaning::Phi(place.0, place.1)
            }
            Content::Unset => true,
        };
        let mut others = met.iter().map(|(content, _)| *content).filter(|content| !is_itself(*content));
        let is_copy = others.next().is_some_and(|one| others.all(|other| other == one));
        let varies = met.iter().map(|(content, _)| first.terms.content_varies(*content)).max().unwrap_or(Varies::No);
        let range = ranges.get(&place).copied();
        known.insert(place, Known { range, varies, is_copy, step: step(&first.terms, place, met), twin: None });
    }
    for (block, own) in graph.blocks.iter().enumerate() {
        let mut seen: FxHashMap<Vec<Content>, (usize, i64)> = FxHashMap::default();
        for &register in &own.phis {
            let Some(met) = first.phi_inputs.get(&(block, register)) else { continue };
            let contents: Vec<Content> = met.iter().map(|(content, _)| *content).collect();
            let (contents, begin) = from_zero(&mut first.terms, &contents);
            let (twin, other) = *seen.entry(contents).or_insert((register, begin));
            if let Some(known) = known.get_mut(&(block, register)).filter(|_| twin != register) {
                known.twin = Some((twin, begin.wrapping_sub(other)));
            }
        }
    }
    // A load may precede the `tcgen05.alloc` of another warp.
    let allocations = allocations(code, &first);
    if known.is_empty() && allocations.is_empty() { first } else { pass(code, graph, options, known, &allocations) }
}

/// The contents minus a constant that makes the constant of the first one 0; and that constant.
fn from_zero(terms: &mut Terms, contents: &[Content]) -> (Vec<Content>, i64) {
    let begin = match contents.first() {
        Some(Content::Value(value)) => terms.sum(*value).constant,
        _ => 0,
    };
    let shifted = |content: &Content| match content {
        Content::Value(value) => {
            let sum = terms.sum(*value).clone();
            Content::Value(terms.value(Sum { constant: sum.constant.wrapping_sub(begin), ..sum }))
        }
        other => *other,
    };
    (contents.iter().map(shifted).collect(), begin)
}

/// The addresses to which `tcgen05.alloc` writes, if they are addresses of variables.
fn allocations(code: &Flat, walked: &Walked) -> Vec<(usize, i64)> {
    let mut found = Vec::new();
    for step in walked.steps.iter().flatten() {
        if let Action::Asynchronous(form, _) = &code.steps[step.op].action
            && form.family() == Family::Tcgen05Alloc
            && let Some(address) = address(&step.operands, Role::Destination)
        {
            let sum = walked.terms.sum(address);
            if let [(atom, 1)] = sum.terms[..]
                && let AtomExpression::Symbol(symbol) = walked.terms.definition(atom)
            {
                found.push((*symbol, sum.constant));
            }
        }
    }
    found
}

/// The number that every iteration of a loop adds to a register whose first value is unique.
fn step(terms: &Terms, (block, register): (usize, usize), met: &[(Content, Literal)]) -> Option<i64> {
    let (mut step, mut first) = (None, None);
    for (content, _) in met {
        let Content::Value(value) = content else { return None };
        let sum = terms.sum(*value);
        match sum.terms[..] {
            [(atom, 1)] if *terms.definition(atom) == AtomExpression::Phi(block, register) => {
                let is_one = *step.get_or_insert(sum.constant) == sum.constant;
                is_one.then_some(())?;
            }
            _ if *first.get_or_insert(*value) != *value => return None,
            _ => {}
        }
    }
    step.filter(|step| *step != 0 && first.is_some())
}

/// Walks the dominator tree: a block is evaluated after its predecessors along the flow of control.
fn pass(
    code: &Flat,
    graph: &Graph,
    options: &HazardOptions,
    known: FxHashMap<(usize, usize), Known>,
    allocations: &[(usize, i64)],
) -> Walked {
    let mut depths = vec![0; graph.blocks.len()];
    for block in 1..graph.blocks.len() {
        depths[block] = depths[graph.blocks[block].dominator] + 1;
    }
    let mut walker = Walker {
        code,
        graph,
        options,
        terms: Terms::new(depths, is_flat(code)),
        contents: vec![Content::Unset; code.registers.len()],
        undo: Vec::new(),
        allocations: Vec::new(),
        walked: Parts {
            steps: graph.blocks.iter().map(|_| Vec::new()).collect(),
            branches: vec![None; graph.blocks.len()],
            waits: FxHashMap::default(),
            phi_inputs: PhiInputs::default(),
            origins: FxHashMap::default(),
            met: FxHashMap::default(),
        },
        known,
        counts: FxHashMap::default(),
        at: (0, 0),
    };
    for (symbol, offset) in allocations {
        let address = Operand::Address(Box::new(Operand::Symbol(*symbol)), *offset);
        let address = walker.value(&address);
        walker.allocations.extend(address);
    }
    // A block, the length of the undo list before it, and the number of blocks done that it dominates.
    let mut stack = vec![(0, 0, 0)];
    walker.block(0);
    while let Some((block, undo, done)) = stack.pop() {
        match graph.dominated[block].get(done) {
            Some(&next) => {
                stack.push((block, undo, done + 1));
                stack.push((next, walker.undo.len(), 0));
                walker.block(next);
            }
            None => {
                for (register, content) in walker.undo.drain(undo..).rev() {
                    walker.contents[register] = content;
                }
            }
        }
    }
    let Walker { mut terms, walked: Parts { steps, branches, waits, phi_inputs, origins, met }, .. } = walker;
    terms.settle(&phi_inputs);
    Walked { terms, steps, branches, waits, phi_inputs, origins, met }
}

/// Whether the threads of a CTA have one dimension: the kernel specifies it, or reads only the first.
fn is_flat(code: &Flat) -> bool {
    let reads = |axis| code.reads_special(Special::Vector(SpecialVector::Tid, axis));
    match code.head.required_threads {
        Some([_, y, z]) => y <= 1 && z <= 1,
        None => !reads(Axis::Y) && !reads(Axis::Z),
    }
}

struct Parts {
    steps: Vec<Vec<Step>>,
    branches: Vec<Option<Literal>>,
    waits: FxHashMap<u32, (usize, Value)>,
    phi_inputs: PhiInputs,
    origins: FxHashMap<usize, Vec<usize>>,
    met: FxHashMap<usize, Vec<(usize, Content)>>,
}

struct Walker<'c> {
    code: &'c Flat,
    graph: &'c Graph,
    options: &'c HazardOptions,
    terms: Terms,
    contents: Vec<Content>,
    /// The registers that were written, with their previous contents.
    undo: Vec<(usize, Content)>,
    /// The addresses that `tcgen05.alloc` has written to.
    allocations: Vec<Value>,
    walked: Parts,
    known: FxHashMap<(usize, usize), Known>,
    /// The current block and instruction.
    at: (usize, usize),
    /// The counter of a loop, by its first block.
    counts: FxHashMap<usize, Value>,
}

impl Walker<'_> {
    fn set(&mut self, register: usize, content: Content) {
        if self.graph.given_up[register] {
            return;
        }
        let old = std::mem::replace(&mut self.contents[register], content);
        self.undo.push((register, old));
    }

    /// The number of the current instruction: it is different in each iteration that has blocks of its own.
    fn here(&self) -> usize {
        let (block, index) = self.at;
        index + self.graph.blocks[block].iteration * self.code.steps.len()
    }

    fn block(&mut self, block: usize) {
        let graph = self.graph;
        let own = &graph.blocks[block];
        let counter = self.counter(block);
        for &register in counter.iter().chain(&own.phis) {
            let twin = self.known.get(&(block, register)).and_then(|known| known.twin);
            let met = self.walked.met.get(&block).map_or(&[][..], |met| met);
            let twin = twin.and_then(|(twin, apart)| Some((met.iter().find(|(own, _)| *own == twin)?.1, apart)));
            let twin = twin.map(|(content, apart)| self.apart(content, apart));
            let content = match (twin, counter) {
                (Some(content), _) => content,
                (None, Some(counter)) if counter != register => {
                    self.counted(block, register, counter).unwrap_or_else(|| self.phi(block, register))
                }
                (None, Some(_)) if self.counts.contains_key(&block) => continue,
                _ => self.phi(block, register),
            };
            if counter == Some(register)
                && let Content::Value(value) = content
            {
                self.counts.insert(block, value);
            }
            self.walked.met.entry(block).or_default().push((register, content));
            self.set(register, content);
        }
        for index in own.ops.clone() {
            self.op(block, index);
        }
        if let Some(last) = own.ops.clone().last()
            && self.code.steps[last].action.jumps()
        {
            self.walked.branches[block] = self.guard(&self.code.steps[last]);
        }
        let branch = self.walked.branches[block];
        for (index, &next) in own.next.iter().enumerate() {
            let when = branch.map_or(Literal::TRUE, |literal| literal.if_(own.is_taken(self.code, index)));
            self.walked.origins.entry(next).or_default().push(block);
            for &register in &graph.blocks[next].phis {
                let content = if when == Literal::FALSE { Content::Unset } else { self.contents[register] };
                self.walked.phi_inputs.entry((next, register)).or_default().push((content, when));
            }
        }
    }

    /// A content plus a number.
    fn apart(&mut self, content: Content, number: i64) -> Content {
        match content {
            Content::Value(value) if number != 0 => {
                let number = self.terms.constant(number);
                Content::Value(self.terms.add(value, number, 64))
            }
            content => content,
        }
    }

    /// The register to which each iteration of a loop adds the smallest number, among the registers that begin with a
    /// known number and have such a step.
    fn counter(&self, block: usize) -> Option<usize> {
        let begins = |register: usize| match self.walked.phi_inputs.get(&(block, register))?.first()?.0 {
            Content::Value(value) => self.terms.as_number(value),
            _ => None,
        };
        let step = |register: usize| {
            begins(register)?;
            self.known.get(&(block, register))?.step
        };
        let steps = self.graph.blocks[block].phis.iter().filter_map(|register| Some((step(*register)?, *register)));
        steps.min_by_key(|(step, register)| (step.unsigned_abs(), *register)).map(|(_, register)| register)
    }

    /// The content of a register of a loop whose step is a multiple of the counter's step: a sum in terms of the
    /// counter.
    fn counted(&mut self, block: usize, register: usize, counter: usize) -> Option<Content> {
        let step = |register: usize| self.known.get(&(block, register)).and_then(|known| known.step);
        let (own, unit) = (step(register)?, step(counter)?);
        let first = |register: usize| match self.walked.phi_inputs.get(&(block, register))?.first()?.0 {
            Content::Value(value) => Some(value),
            _ => None,
        };
        let (from, unit_from) = (first(register)?, first(counter)?);
        let count = *self.counts.get(&block)?;
        if own % unit != 0 {
            return None;
        }
        let bits = if self.code.registers.get(register).is_some_and(|register| register.bits == 32) { 32 } else { 64 };
        let rounds = self.terms.subtract(count, unit_from, bits);
        let added = self.terms.scale(rounds, own / unit, bits);
        Some(Content::Value(self.terms.add(from, added, bits)))
    }

    /// The content of a register at the beginning of a block where several of its values meet.
    fn phi(&mut self, block: usize, register: usize) -> Content {
        let own = &self.graph.blocks[block];
        let met: Vec<Content> = self
            .walked
            .phi_inputs
            .get(&(block, register))
            .map_or_else(Vec::new, |met| met.iter().map(|(content, _)| *content).collect());
        let known = self.known.get(&(block, register)).copied();
        let is_complete = met.len() == own.previous.len();
        let mut set = met.iter().copied().filter(|content| *content != Content::Unset);
        let Some(first) = set.next() else {
            let facts = self.met_facts(&[], own.is_in_loop.then_some(block), known);
            let varies = known.map_or(Varies::Thread, |known| known.varies);
            let expression = AtomExpression::Phi(block, register);
            return match is_complete {
                true => Content::Unset,
                false => Content::Value(self.terms.varying(expression, facts, varies)),
            };
        };
        let is_one = set.all(|content| content == first);
        if is_one && (is_complete || known.is_some_and(|known| known.is_copy)) {
            return first;
        }
        let varies = match known {
            Some(known) => known.varies,
            None if is_complete => {
                met.iter().map(|content| self.terms.content_varies(*content)).max().unwrap_or(Varies::No)
            }
            None => Varies::Thread,
        };
        let block_of = own.is_in_loop.then_some(block);
        if let Content::Literal(_) = first {
            return Content::Literal(self.terms.varying_predicate(
                PredicateMeaning::Phi(block, register),
                block_of,
                varies,
            ));
        }
        let facts = self.met_facts(if is_complete { &met } else { &[] }, block_of, known);
        Content::Value(self.terms.varying(AtomExpression::Phi(block, register), facts, varies))
    }

    /// The facts about a phi that follow from its incoming values.
    fn met_facts(&self, met: &[Content], block: Option<usize>, known: Option<Known>) -> Facts {
        let one = |content: &Content| match content {
            Content::Value(value) => Some(self.terms.facts(*value)),
            Content::Unset => None,
            Content::Literal(_) => Some(Facts::UNKNOWN),
        };
        let both = |a: Facts, b: Facts| Facts {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
            mask: a.mask | b.mask,
            block: None,
        };
        let met = met.iter().filter_map(one).reduce(both).unwrap_or(Facts::UNKNOWN);
        let (low, high) = known.and_then(|known| known.range).unwrap_or((i64::MIN, i64::MAX));
        let (low, high) = (low.max(met.low), high.min(met.high));
        let facts = Facts::range(low, high.max(low));
        Facts { mask: facts.mask & met.mask, block, ..facts }
    }

    /// The literal of a guard; `None` if there is none.
    fn guard(&mut self, op: &flat::Step) -> Option<Literal> {
        let (register, holds) = op.guard?;
        Some(self.literal(register).if_(holds))
    }

    fn literal(&mut self, register: usize) -> Literal {
        match self.contents[register] {
            Content::Unset if self.graph.given_up[register] => {
                let says = PredicateMeaning::Result(usize::MAX - register, self.here());
                let block = self.at.0;
                let block = self.graph.blocks[block].is_in_loop.then_some(block);
                self.terms.varying_predicate(says, block, Varies::Thread)
            }
            Content::Literal(literal) => literal,
            Content::Value(value) => match self.terms.as_number(value) {
                Some(number) => Literal::TRUE.if_(number != 0),
                None => self.terms.within(value, 0, 0).opposite(),
            },
            Content::Unset => self.terms.predicate(PredicateMeaning::Unset(register), None),
        }
    }

    fn read(&mut self, register: usize) -> Content {
        match self.contents[register] {
            // Each reading of a register that is not tracked is a new value.
            Content::Unset if self.graph.given_up[register] => {
                let block = self.at.0;
                let block = self.graph.blocks[block].is_in_loop.then_some(block);
                let expression = AtomExpression::Result(usize::MAX - register, self.here(), None);
                Content::Value(self.terms.varying(expression, Facts { block, ..Facts::UNKNOWN }, Varies::Thread))
            }
            Content::Unset => Content::Value(self.terms.atom(AtomExpression::Unset(register), Facts::UNKNOWN)),
            content => content,
        }
    }

    fn source(&mut self, operand: &Operand) -> Source {
        match operand {
            Operand::Vector(elements) => {
                let one = |source| match source {
                    Source::One(content) => content,
                    Source::Many(_) => Content::Unset,
                };
                Source::Many(elements.iter().map(|element| one(self.source(element))).collect())
            }
            Operand::Register(register) => Source::One(self.read(*register)),
            Operand::Not(register) => Source::One(Content::Literal(self.literal(*register).opposite())),
            Operand::Constant(number) => Source::One(Content::Value(self.terms.constant(*number))),
            Operand::Symbol(symbol) => {
                let Some(known) = self.code.symbols.get(*symbol) else { return Source::One(Content::Unset) };
                let bits = if is_shared(known) { 24 } else { 48 };
                let low_bits = known.variable.align.max(1).next_power_of_two() - 1;
                let range = Facts::range(0, (1 << bits) - 1);
                let facts = Facts { mask: range.mask & !low_bits, ..range };
                Source::One(Content::Value(self.terms.atom(AtomExpression::Symbol(*symbol), facts)))
            }
            Operand::Special(special) => {
                if let Some(number) = self.launched(*special) {
                    return Source::One(Content::Value(self.terms.constant(number)));
                }
                let facts = self.special(*special);
                Source::One(Content::Value(self.terms.atom(AtomExpression::Special(*special), facts)))
            }
            Operand::Address(base, offset) => match self.source(base) {
                Source::One(Content::Value(value)) => {
                    let offset = self.terms.constant(*offset);
                    Source::One(Content::Value(self.terms.add(value, offset, 64)))
                }
                other => other,
            },
            Operand::Tensor(base, _) => self.source(base),
            Operand::Nothing => Source::One(Content::Unset),
        }
    }

    /// A special register that has the same value in every thread, if the launch is known.
    fn launched(&self, special: Special) -> Option<i64> {
        let (sizes, axis) = match special {
            Special::Vector(SpecialVector::Ntid, axis) => (self.code.head.required_threads?, axis),
            Special::Vector(SpecialVector::Nctaid, axis) => (self.options.size.grid?, axis),
            _ => return None,
        };
        Some(i64::from(sizes[axis.index()]))
    }

    fn special(&self, special: Special) -> Facts {
        let threads = |index: usize| {
            let most = self
                .code
                .head
                .required_threads
                .map(|threads| threads[index])
                .or(self.code.head.most_threads)
                .unwrap_or(MOST_THREADS);
            Facts::range(0, i64::from(most).max(1) - 1)
        };
        match special {
            Special::Vector(SpecialVector::Tid, axis) => threads(axis.index()),
            Special::Scalar(SpecialScalar::Laneid) => Facts::range(0, 31),
            Special::Scalar(SpecialScalar::Warpid) => Facts::range(0, 63),
            Special::Scalar(SpecialScalar::ClusterCtarank) => Facts::range(0, 15),
            Special::WarpSize => Facts::range(32, 32),
            _ => Facts::range(0, i64::from(u32::MAX)),
        }
    }

    fn value(&mut self, operand: &Operand) -> Option<Value> {
        match self.source(operand) {
            Source::One(Content::Value(value)) => Some(value),
            _ => None,
        }
    }

    fn op(&mut self, block: usize, index: usize) {
        self.at = (block, index);
        let code = self.code;
        let op = &code.steps[index];
        if let (Action::Nothing | Action::Jump(..) | Action::Leave(_) | Action::Trap, []) = (&op.action, &op.writes[..])
        {
            return;
        }
        let guard = self.guard(op).unwrap_or(Literal::TRUE);
        if guard == Literal::FALSE {
            return;
        }
        let (mut results, mut loaded_from) = (None, None);
        let mut step = Step { op: index, guard, first: None, second: None, operands: Vec::new() };
        match &op.action {
            Action::Compute(operation, sources) => {
                let changes =
                    sources.iter().any(|source| matches!(source, Operand::Special(special) if is_clock(*special)));
                if !changes {
                    let sources: Vec<_> = sources.iter().map(|source| self.source(source)).collect();
                    results = compute(&mut self.terms, operation, &sources, op.writes.len());
                }
            }
            Action::Pass { from, .. } => {
                let content = |source| match source {
                    Source::One(content) => content,
                    Source::Many(_) => Content::Unset,
                };
                results = Some(from.iter().map(|source| content(self.source(source))).collect());
            }
            Action::Parameter { symbol, offset, ty } => results = Some(self.parameter(*symbol, *offset, *ty, op)),
            Action::ParameterAt { address, ty } => {
                if let Some(address) = self.value(address)
                    && let Sum { terms, constant } = self.terms.sum(address)
                    && let [(atom, 1)] = terms[..]
                    && let AtomExpression::Symbol(symbol) = *self.terms.definition(atom)
                {
                    results = Some(self.parameter(symbol, *constant, *ty, op));
                }
            }
            Action::Access(access) if !access.is_private() => {
                step.first = self.value(&access.address);
                if access.reads && !access.writes {
                    loaded_from = step.first;
                    results = self.allocation(step.first, access.bytes(), op.writes.len());
                }
                self.walked.steps[block].push(step);
            }
            Action::Asynchronous(form, operands) => {
                step.operands = operands.iter().map(|(role, operand)| (*role, self.source(operand))).collect();
                let barrier = address(&step.operands, Role::Barrier);
                if is_wait(form)
                    && let (Some(barrier), [Some(register), ..]) = (barrier, &op.writes[..])
                {
                    let block_of = self.graph.blocks[block].is_in_loop.then_some(block);
                    let literal =
                        self.terms.varying_predicate(PredicateMeaning::Result(self.here(), 0), block_of, Varies::No);
                    self.walked.waits.insert(literal.predicate, (index, barrier));
                    self.assign(*register, Content::Literal(literal), guard);
                    return;
                }
                if form.family() == Family::Tcgen05Alloc
                    && let Some(address) = address(&step.operands, Role::Destination)
                    && !self.allocations.contains(&address)
                {
                    self.allocations.push(address);
                }
                self.walked.steps[block].push(step);
            }
            Action::Barrier(barrier) => {
                step.first = self.value(&barrier.id);
                step.second = barrier.threads.as_ref().and_then(|threads| self.value(threads));
                self.walked.steps[block].push(step);
            }
            action => {
                if matches!(action, Action::Fence(_)) || code::unread(op).is_some() {
                    self.walked.steps[block].push(step);
                }
            }
        }
        self.results(block, index, results, loaded_from, guard);
    }

    /// The contents that a read of a parameter returns.
    fn parameter(&mut self, symbol: usize, offset: i64, ty: Type, op: &flat::Step) -> Vec<Content> {
        let bytes = u64::from(ty.bits()).div_ceil(8);
        let name = causes::parameter(self.code, symbol, offset);
        let given = name.and_then(|name| self.options.parameters.get(&name));
        let param = |(index, _): (usize, &Option<usize>)| {
            if let Some(number) = given.filter(|_| index == 0) {
                // A number for the first bytes of a struct may be longer than the part that is read.
                let bits = ty.bits().min(64);
                let fits = bits > 32 || i32::try_from(*number).is_ok();
                let number = if fits { *number } else { *number & mask(bits) as i64 };
                return Content::Value(self.terms.constant(number));
            }
            let offset = offset.wrapping_add((index as i64).wrapping_mul(bytes as i64));
            Content::Value(self.terms.parameter(symbol, offset, bytes))
        };
        op.writes.iter().enumerate().map(param).collect()
    }

    /// The registers that hold the address that a `tcgen05.alloc` has written, if the load reads it.
    fn allocation(&mut self, address: Option<Value>, bytes: Option<u64>, results: usize) -> Option<Vec<Content>> {
        let known = address.filter(|address| self.allocations.contains(address) && bytes == Some(4) && results == 1)?;
        let facts = Facts { mask: !0xffff_ffff_0000_0000, ..Facts::range(0, 0xffff_ffff) };
        Some(vec![Content::Value(self.terms.atom(AtomExpression::Allocation(known), facts))])
    }

    fn results(
        &mut self,
        block: usize,
        index: usize,
        results: Option<Vec<Content>>,
        loaded_from: Option<Value>,
        guard: Literal,
    ) {
        let code = self.code;
        let op = &code.steps[index];
        let block_of = self.graph.blocks[block].is_in_loop.then_some(block);
        for (number, register) in op.writes.iter().enumerate() {
            let Some(register) = *register else { continue };
            let content = match results.as_ref().and_then(|results| results.get(number)) {
                Some(content) if *content != Content::Unset => *content,
                _ if self.is_predicate(&op.action, number) => {
                    let says = PredicateMeaning::Result(self.here(), number);
                    Content::Literal(self.terms.varying_predicate(says, block_of, Varies::Thread))
                }
                _ => {
                    let expression = AtomExpression::Result(self.here(), number, loaded_from);
                    let facts = self.loaded(&op.action, op.writes.len());
                    let facts = Facts { block: block_of, ..facts };
                    Content::Value(self.terms.varying(expression, facts, Varies::Thread))
                }
            };
            self.assign(register, content, guard);
        }
    }

    /// The facts about a loaded value.
    fn loaded(&self, action: &Action, results: usize) -> Facts {
        let bytes = code::access(action).and_then(|access| Some(access.bytes()? / results.max(1) as u64));
        match bytes {
            Some(bytes @ 1..=3) => Facts::range(0, (1 << (8 * bytes)) - 1),
            _ => Facts::UNKNOWN,
        }
    }

    /// Whether a result is a predicate.
    fn is_predicate(&self, action: &Action, number: usize) -> bool {
        match action {
            Action::Compute(operation, _) => operation.gives_predicate(number),
            Action::Asynchronous(form, _) => {
                is_wait(form) || form.family() == Family::ClusterlaunchcontrolQueryCancel && form.has("is_canceled")
            }
            _ => false,
        }
    }

    /// Writes a register if the guard holds.
    fn assign(&mut self, register: usize, content: Content, guard: Literal) {
        let content = match (guard, self.contents[register], content) {
            (Literal::TRUE, ..) | (_, Content::Unset, _) => content,
            (_, Content::Value(old), Content::Value(new)) => Content::Value(self.terms.select(guard, new, old)),
            (_, Content::Literal(old), Content::Literal(new)) => {
                // The new content if the guard holds, otherwise the old one.
                let with = self.terms.all(&[guard, new]);
                let without = self.terms.all(&[guard.opposite(), old]);
                Content::Literal(self.terms.any(&[with, without]))
            }
            (_, _, content) => content,
        };
        self.set(register, content);
    }
}

/// The value of an address operand.
pub fn address(operands: &[(Role, Source)], role: Role) -> Option<Value> {
    operands.iter().find(|(own, _)| *own == role).and_then(|(_, source)| match source {
        Source::One(Content::Value(value)) => Some(*value),
        _ => None,
    })
}

/// Whether the result of an instruction tells that a phase of an mbarrier is complete.
fn is_wait(form: &Asynchronous) -> bool {
    matches!(form.effect(), Effect::Mbarrier(MbarrierEffect::Wait { .. }))
}

/// Whether a special register may have a different value each time that it is read.
fn is_clock(special: Special) -> bool {
    use SpecialScalar::*;
    match special {
        Special::Scalar(scalar) => {
            matches!(scalar, Clock | ClockHi | Clock64 | Globaltimer | GlobaltimerLo | GlobaltimerHi | Smid)
        }
        Special::Counter(_) | Special::WideCounter(_) => true,
        _ => false,
    }
}

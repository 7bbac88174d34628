//! The flow of values through registers: which values steer a kernel, and which values reach memory.
//!
//! A value steers if a branch, an address, a guard of an access or an operand of a synchronization depends on it. The
//! flow ignores the order of the instructions, so it may name a flow that no execution has, and never misses one. Local
//! memory of all functions together is one node, and so is the carry flag.
//!
//! `mbarrier.try_wait` and `.test_wait` may answer no at any time, so their answer depends on the schedule. It is harmless
//! if a branch on it only leads to more waits for the same phase.

mod shape;
mod uses;

use std::rc::Rc;

use ptx_isa::{AluOp, AtomOp, Family, Role, Runtime, Space, Special, SpecialScalar, arithmetic::Computation, graph};
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::uses::is_mbarrier_wait;
use self::{
    shape::{Shape, pure_range, reach, successors},
    uses::{ADDRESSES, Node, Reach, SHARED_NODES, Uses},
};
use crate::{
    code::{Callee, Collective, DecodedAccess, Function, Op, Passed, Pc, Source, Step},
    memory::{Region, region},
};

/// The meaning of races that an earlier run of a launch has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectedRaces {
    /// Their values depend on the schedule. If these steer nothing, every schedule has the same races.
    #[default]
    Varying,
    /// A repair gives them an order: the run is about the kernel after it.
    Ordered,
}

/// The flow of values of a program.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The first node and the first step of each function.
    functions: Vec<(Node, Pc)>,
    /// By node, the instructions that read it as a guard, an address and the like.
    direct: Vec<Vec<Pc>>,
    /// By node, the number of instructions that write it.
    writers: Vec<u32>,
    /// By node, an instruction that a value of the node steers.
    steered: Vec<Option<Pc>>,
    /// By node, the nodes whose values depend on it, and the instructions that write it to memory.
    next: Vec<Vec<Node>>,
    stores: Vec<Vec<Pc>>,
    /// The instructions whose results another schedule may change whatever the other threads do, such as reads of
    /// `%clock`; ascending.
    pub varying: Vec<Pc>,
    /// The instructions that write a result of a strong access or of a varying instruction to memory; ascending.
    carriers: Vec<Pc>,
    /// By instruction, whether it is a strong access whose results steer or are stored, or a `cas`, whose result decides whether
    /// it writes.
    pub counts: Rc<[bool]>,
    /// The waits for mbarriers with an answer.
    pub answers: FxHashMap<Pc, Answer>,
    /// The pairs of instructions that raced in an earlier run of the same launch.
    racing: FxHashSet<(Pc, Pc)>,
    races: ExpectedRaces,
    /// The accesses by generic addresses that may be of local memory; `None` if all may be.
    local: Option<FxHashSet<Pc>>,
    /// The registers that hold the address of a parameter and nothing else.
    parameters: FxHashSet<Node>,
    /// Branches over instructions on registers alone, with the nodes that these write. Such a branch selects values.
    selecting: FxHashMap<Pc, Vec<Node>>,
}

/// The effect of the answer of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The thread waits again by the same instruction until the answer is yes, or ignores the answer.
    Repeats,
    /// After the answer no, the thread waits by these other instructions; after the answer yes, it does not.
    Skips(Vec<Pc>),
    /// The answer steers another instruction.
    Steers,
}

impl Flow {
    /// The flow of a program, in which pairs of instructions raced in an earlier run.
    pub fn new(steps: &[Step], functions: &[Function], (racing, races): (FxHashSet<(Pc, Pc)>, ExpectedRaces)) -> Self {
        let mut flow = Self { racing, races, ..Self::default() };
        flow.connect(steps, functions);
        flow.local = flow.find_local(steps);
        flow.parameters = flow.find_parameters(steps);
        if flow.local.is_some() || !flow.parameters.is_empty() {
            flow.connect(steps, functions);
        }
        flow.find_answers(steps, functions);
        flow.find_varying(steps);
        flow.steer();
        flow.find_carriers(steps);
        flow
    }

    /// Connects the nodes by all instructions.
    fn connect(&mut self, steps: &[Step], functions: &[Function]) {
        let flow = self;
        let mut count = 0;
        flow.functions.clear();
        for function in functions {
            flow.functions.push((count, function.entry));
            count += function.registers as usize + 1;
        }
        let local = count;
        count += SHARED_NODES;
        flow.direct = vec![Vec::new(); count];
        flow.writers = vec![0; count];
        flow.steered = vec![None; count];
        flow.next = vec![Vec::new(); count];
        flow.stores = vec![Vec::new(); count];
        flow.find_selecting(steps);
        for (pc, step) in (0..).zip(steps) {
            let mut uses = flow.uses(steps, pc);
            if let Op::Invoke(call) = &step.op {
                flow.pass(call, flow.function(pc), functions, local, &mut uses);
            }
            uses.results.iter().for_each(|node| flow.writers[*node] += 1);
            for from in &uses.inputs {
                flow.next[*from].extend(&uses.results);
            }
            uses.steers.iter().for_each(|node| flow.direct[*node].push(pc));
            uses.stored.iter().for_each(|node| flow.stores[*node].push(pc));
        }
    }

    /// Finds the branches over instructions on registers alone.
    fn find_selecting(&mut self, steps: &[Step]) {
        self.selecting.clear();
        let is_pure = |pc: usize| !self.uses(steps, pc as Pc).has_effect;
        let selects = |pc: usize| {
            let range = pure_range(steps, pc, &is_pure)?;
            let mut results: Vec<Node> = range.flat_map(|at| self.uses(steps, at as Pc).results).collect();
            results.sort_unstable();
            results.dedup();
            Some((pc as Pc, results))
        };
        self.selecting = (0..steps.len()).filter_map(selects).collect();
    }

    /// The memory that an access by a generic address may reach.
    fn reach(&self, steps: &[Step], pc: Pc) -> Reach {
        let Op::Access(access) = &steps[pc as usize].op else { return Reach::Any };
        match access.address.base {
            Source::Reg(register) if self.parameters.contains(&(self.function(pc) + register as usize)) => {
                Reach::Parameters
            }
            _ if self.local.as_ref().is_some_and(|local| !local.contains(&pc)) => Reach::Shared,
            _ => Reach::Any,
        }
    }

    /// The registers that hold the address of a parameter and nothing else.
    fn find_parameters(&self, steps: &[Step]) -> FxHashSet<Node> {
        let is_address = |source: &Source| match source {
            Source::Number(value) => matches!(region(Space::Generic, *value), Region::Param(_)),
            _ => false,
        };
        let addressed = (0..).zip(steps).filter_map(|(pc, step)| match &step.op {
            Op::Compute(of) if matches!(of.of, Computation::Alu(AluOp::Mov, _)) && is_address(&of.sources[0]) => {
                Some(self.function(pc) + of.results[0]? as usize)
            }
            _ => None,
        });
        addressed.filter(|node| self.writers[*node] == 1).collect()
    }

    /// The accesses whose addresses depend on an address of local memory; `None` if such an address is in other memory, or
    /// reaches an unknown function.
    fn find_local(&self, steps: &[Step]) -> Option<FxHashSet<Pc>> {
        let root = self.next.len() - SHARED_NODES + ADDRESSES;
        let reached = self.reached(vec![root]);
        let uses: FxHashSet<Pc> = reached.iter().flat_map(|node| &self.direct[*node]).copied().collect();
        let escapes = reached.iter().any(|node| !self.stores[*node].is_empty())
            || uses.iter().any(|pc| matches!(steps[*pc as usize].op, Op::Invoke(_)));
        (!escapes).then_some(uses)
    }

    /// The first node of the function that contains a step.
    fn function(&self, pc: Pc) -> Node {
        let after = self.functions.partition_point(|(_, entry)| *entry <= pc);
        after.checked_sub(1).map_or(0, |index| self.functions[index].0)
    }

    /// Adds the flow of a call's arguments and results.
    fn pass(&mut self, call: &crate::code::Invoke, at: Node, functions: &[Function], local: Node, uses: &mut Uses) {
        let node = |passed: &Passed, at: Node| match passed {
            Passed::Value(Source::Reg(register) | Source::Not(register)) => Some(at + *register as usize),
            Passed::Value(Source::Local(_) | Source::Param(_)) => Some(local + ADDRESSES),
            Passed::Value(_) => None,
            Passed::Memory(..) => Some(local),
        };
        match call.callee {
            Callee::Function(callee) => {
                let to = self.functions[callee].0;
                let parameters = call.arguments.iter().zip(&functions[callee].parameters);
                let results = functions[callee].results.iter().zip(&call.results);
                let pairs = parameters.map(|(from, to_)| (node(from, at), node(to_, to)));
                let pairs: Vec<_> = pairs.chain(results.map(|(from, to_)| (node(from, to), node(to_, at)))).collect();
                for (from, to) in pairs {
                    if let (Some(from), Some(to)) = (from, to) {
                        self.next[from].push(to);
                    }
                }
            }
            // A message of the kernel steers nothing.
            Callee::Outside(ref name)
                if matches!(Runtime::from_symbol(name), Some(Runtime::Prints | Runtime::Fails)) => {}
            // The callee is not known here.
            Callee::Register(_) | Callee::Outside(_) => {
                uses.steers.extend(call.arguments.iter().filter_map(|passed| node(passed, at)));
                if let Callee::Register(register) = call.callee {
                    uses.steers.push(at + register as usize);
                }
            }
        }
    }

    /// Finds an instruction that each node steers.
    fn steer(&mut self) {
        let previous = graph::previous(self.next.len(), |node| self.next[node].iter().copied());
        let mut open: Vec<Node> = Vec::new();
        for (node, sites) in self.direct.iter().enumerate() {
            if let Some(site) = sites.first() {
                self.steered[node] = Some(*site);
                open.push(node);
            }
        }
        while let Some(node) = open.pop() {
            for from in &previous[node] {
                if self.steered[*from].is_none() {
                    self.steered[*from] = self.steered[node];
                    open.push(*from);
                }
            }
        }
    }

    fn find_answers(&mut self, steps: &[Step], functions: &[Function]) {
        let has_answer = |step: &Step| match &step.op {
            Op::Asynchronous(of) => is_mbarrier_wait(of.form.family()) && of.register(Role::Done).is_some(),
            _ => false,
        };
        let ends = functions.iter().skip(1).map(|function| function.entry).chain([steps.len() as Pc]);
        for (function, end) in functions.iter().zip(ends) {
            let waits: Vec<Pc> = (function.entry..end).filter(|pc| has_answer(&steps[*pc as usize])).collect();
            if waits.is_empty() {
                continue;
            }
            let shape = Shape::new(steps, function.entry, end);
            for wait in waits {
                let answer = self.find_answer(steps, &shape, wait);
                self.answers.insert(wait, answer);
            }
        }
    }

    fn find_varying(&mut self, steps: &[Step]) {
        let varies = |pc: Pc, step: &Step| match &step.op {
            Op::Activemask(_) => true,
            Op::Collective(of, None, _) => matches!(**of, Collective::Of(..)),
            Op::Asynchronous(of) => {
                of.form.family() == Family::MbarrierPendingCount || self.answers.get(&pc) == Some(&Answer::Steers)
            }
            Op::Compute(of) => of.sources[..of.count].iter().any(is_varying),
            Op::Pack(_, _, parts, _) => parts.iter().any(is_varying),
            Op::Unpack(_, source, _) | Op::Move128(_, source) => is_varying(source),
            Op::Moves(all) => all.iter().any(|(_, source)| is_varying(source)),
            _ => false,
        };
        let followed = self.racing.iter().filter(|_| self.races == ExpectedRaces::Varying);
        let races: FxHashSet<Pc> = followed.flat_map(|(one, other)| [*one, *other]).collect();
        let changes = |pc: Pc, step: &Step| varies(pc, step) || races.contains(&pc);
        self.varying = (0..).zip(steps).filter(|(pc, step)| changes(*pc, step)).map(|(pc, _)| pc).collect();
    }

    fn find_carriers(&mut self, steps: &[Step]) {
        let mut carriers: Vec<Pc> = Vec::new();
        for pc in &self.varying {
            carriers.extend(self.stores_of(steps, *pc));
            carriers.extend(is_copy(&steps[*pc as usize]).then_some(*pc));
        }
        let mut counts = vec![false; steps.len()];
        for (pc, step) in steps.iter().enumerate() {
            let is_shared = |access: &DecodedAccess| access.strong.is_some() || access.rmw.is_some();
            let Op::Access(access) = &step.op else { continue };
            let is_cas = access.rmw.is_some_and(|rmw| rmw.op == AtomOp::Cas);
            if is_cas || is_shared(access) && !access.results.is_empty() {
                let stores = self.stores_of(steps, pc as Pc);
                counts[pc] = is_cas || !stores.is_empty() || self.steered_by(steps, pc as Pc).is_some();
                carriers.extend(stores);
            }
        }
        self.counts = counts.into();
        carriers.sort_unstable();
        carriers.dedup();
        self.carriers = carriers;
    }

    fn uses(&self, steps: &[Step], pc: Pc) -> Uses {
        let local = self.next.len() - SHARED_NODES;
        let mut uses = Uses::new(&steps[pc as usize], self.function(pc), local, self.reach(steps, pc));
        if let Some(results) = self.selecting.get(&pc) {
            uses.inputs.append(&mut uses.steers);
            uses.results.clone_from(results);
            uses.has_effect = false;
        }
        uses
    }

    /// The instructions that use results of an instruction as a guard, an address and the like; the instructions that
    /// write them to memory; and the nodes that depend on them. A register with several writers is followed up to its
    /// next writer, since a kernel may use it for several values.
    fn uses_of_results(&self, steps: &[Step], pc: Pc) -> (Vec<Pc>, Vec<Pc>, Vec<Node>) {
        let (mut direct, mut stores, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for node in self.uses(steps, pc).results {
            if self.writers[node] <= 1 || node >= self.next.len() - SHARED_NODES {
                direct.extend(&self.direct[node]);
                stores.extend(&self.stores[node]);
                nodes.extend(&self.next[node]);
                continue;
            }
            let after = |at: usize| {
                let uses = self.uses(steps, at as Pc);
                let is_overwritten = uses.results.contains(&node) && steps[at].guard.is_none();
                if is_overwritten { Vec::new() } else { successors(steps, at) }
            };
            for at in reach(successors(steps, pc as usize), after) {
                let uses = self.uses(steps, at as Pc);
                direct.extend(uses.steers.contains(&node).then_some(at as Pc));
                stores.extend(uses.stored.contains(&node).then_some(at as Pc));
                if uses.inputs.contains(&node) {
                    nodes.extend(uses.results);
                }
                if matches!(steps[at].op, Op::Invoke(_) | Op::Return) {
                    nodes.extend(&self.next[node]);
                }
            }
        }
        (direct, stores, nodes)
    }

    /// An instruction that the results of an instruction steer.
    pub fn steered_by(&self, steps: &[Step], pc: Pc) -> Option<Pc> {
        let (direct, _, nodes) = self.uses_of_results(steps, pc);
        direct.first().copied().or_else(|| nodes.into_iter().find_map(|node| self.steered[node]))
    }

    /// The nodes whose values depend on other nodes, with these nodes.
    fn reached(&self, from: Vec<Node>) -> Vec<Node> {
        reach(from, |node| self.next[node].iter().copied())
    }

    /// The instructions that write results of an instruction to memory.
    pub fn stores_of(&self, steps: &[Step], pc: Pc) -> Vec<Pc> {
        let (_, mut stores, nodes) = self.uses_of_results(steps, pc);
        self.reached(nodes).into_iter().for_each(|node| stores.extend(&self.stores[node]));
        stores
    }

    /// Whether any instruction is a carrier.
    pub fn has_carriers(&self) -> bool {
        !self.carriers.is_empty()
    }

    /// The meaning of a race of two instructions, if they raced in an earlier run.
    pub fn race(&self, one: Pc, other: Pc) -> Option<ExpectedRaces> {
        let has_raced = self.racing.contains(&(one, other)) || self.racing.contains(&(other, one));
        has_raced.then_some(self.races)
    }

    /// Whether an instruction reads memory into registers or tensor memory only.
    pub fn has_results(&self, steps: &[Step], pc: Pc) -> bool {
        steps.get(pc as usize).is_some_and(|step| matches!(step.op, Op::Access(_)))
            || !self.uses(steps, pc).results.is_empty()
    }

    /// Whether an instruction writes a result of a strong access or of a varying instruction to memory.
    pub fn is_carrier(&self, pc: Pc) -> bool {
        self.carriers.binary_search(&pc).is_ok()
    }
}

impl Flow {
    /// The effect of the answer of a wait in a function.
    fn find_answer(&self, steps: &[Step], shape: &Shape, pc: Pc) -> Answer {
        let (mut sites, mut stores, nodes) = self.uses_of_results(steps, pc);
        for node in self.reached(nodes) {
            sites.extend(&self.direct[node]);
            stores.extend(&self.stores[node]);
        }
        if !stores.is_empty() {
            return Answer::Steers;
        }
        let mut waits = Vec::new();
        for site in &sites {
            let is_branch = matches!(steps[*site as usize].op, Op::Jump(_));
            let is_here = shape.contains(*site);
            let Some(region) = shape.region(*site).filter(|_| is_branch && is_here) else { return Answer::Steers };
            for other in &region {
                match &steps[*other as usize].op {
                    Op::Jump(_) => {}
                    Op::Asynchronous(of) if is_mbarrier_wait(of.form.family()) => waits.push(*other),
                    _ if self.has_use_outside(steps, *other, &region) => return Answer::Steers,
                    _ => {}
                }
            }
        }
        waits.sort_unstable();
        waits.dedup();
        waits.retain(|other| *other != pc);
        if waits.is_empty() { Answer::Repeats } else { Answer::Skips(waits) }
    }

    /// Whether a step has an effect, or its results are used outside of a region.
    fn has_use_outside(&self, steps: &[Step], pc: Pc, region: &[Pc]) -> bool {
        if self.uses(steps, pc).has_effect {
            return true;
        }
        let is_outside = |site: &Pc| region.binary_search(site).is_err();
        let (direct, stores, nodes) = self.uses_of_results(steps, pc);
        let later = self.reached(nodes);
        let later = later.iter().flat_map(|node| self.stores[*node].iter().chain(&self.direct[*node]));
        direct.iter().chain(&stores).chain(later).any(is_outside)
    }
}

/// By step, the first step of its function that all paths from it pass.
pub fn joins(steps: &[Step], functions: &[Function]) -> Vec<Option<Pc>> {
    let ends = functions.iter().skip(1).map(|function| function.entry).chain([steps.len() as Pc]);
    functions.iter().zip(ends).flat_map(|(function, end)| Shape::new(steps, function.entry, end).joins()).collect()
}

/// Whether another schedule, or another GPU, may give a special register another value.
fn is_varying(source: &Source) -> bool {
    use SpecialScalar::{Clock, Clock64, ClockHi, Globaltimer, GlobaltimerHi, GlobaltimerLo, Smid, Warpid};
    match source {
        Source::Special(Special::Scalar(scalar)) => {
            matches!(scalar, Clock | Clock64 | ClockHi | Globaltimer | GlobaltimerHi | GlobaltimerLo | Smid | Warpid)
        }
        Source::Special(Special::Counter(_) | Special::WideCounter(_)) => true,
        _ => false,
    }
}

/// Whether an instruction copies memory to memory.
pub fn is_copy(step: &Step) -> bool {
    use Family::{CpAsync, CpAsyncBulk, CpAsyncBulkTensor, CpReduceAsyncBulk, CpReduceAsyncBulkTensor};
    let Op::Asynchronous(of) = &step.op else { return false };
    matches!(of.form.family(), CpAsync | CpAsyncBulk | CpAsyncBulkTensor | CpReduceAsyncBulk | CpReduceAsyncBulkTensor)
}

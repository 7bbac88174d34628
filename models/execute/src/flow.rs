//! The flow of values through registers: which values steer a kernel, and which values reach memory.
//!
//! A value steers if a branch, an address, a guard of an access or an operand of a synchronization depends on it. The
//! flow ignores the order of the instructions, so it may name a flow that no execution has, and never misses one. Local
//! memory of all functions together is one node, and so is the carry flag.
//!
//! `mbarrier.try_wait` and `.test_wait` may answer no at any time, so their answer depends on the schedule. It is harmless
//! if a branch on it only leads to more waits for the same phase.

mod shape;

use std::rc::Rc;

use ptx_isa::{AtomOp, Family, Role, Space, Special, SpecialScalar, graph};
use rustc_hash::FxHashMap;

use self::shape::{Shape, reach, successors};
use crate::code::{
    Callee, Collective, DecodedAccess, Function, Given, MatrixCode, Op, Operation, Passed, Pc, Reg, Source, Step,
};

/// A register of a function, local memory, or the carry flag.
type Node = usize;

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
}

/// The number of nodes that all functions share: local memory, the carry flag and tensor memory, in this order.
const SHARED_NODES: usize = 3;

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

/// The uses of the operands of an instruction.
#[derive(Default)]
struct Uses {
    inputs: Vec<Node>,
    results: Vec<Node>,
    steers: Vec<Node>,
    stored: Vec<Node>,
    /// Whether the instruction has an effect other than its results, so that its guard steers.
    has_effect: bool,
}

impl Flow {
    pub fn new(steps: &[Step], functions: &[Function]) -> Self {
        let mut flow = Self::default();
        let mut count = 0;
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
        for (pc, step) in (0..).zip(steps) {
            let at = flow.function(pc);
            let mut uses = Uses::new(step, at, local);
            if let Op::Invoke(call) = &step.op {
                flow.pass(call, at, functions, local, &mut uses);
            }
            uses.results.iter().for_each(|node| flow.writers[*node] += 1);
            for from in &uses.inputs {
                flow.next[*from].extend(&uses.results);
            }
            uses.steers.iter().for_each(|node| flow.direct[*node].push(pc));
            uses.stored.iter().for_each(|node| flow.stores[*node].push(pc));
        }
        flow.find_answers(steps, functions);
        flow.find_varying(steps);
        flow.steer();
        flow.find_carriers(steps);
        flow
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
        self.varying = (0..).zip(steps).filter(|(pc, step)| varies(*pc, step)).map(|(pc, _)| pc).collect();
    }

    fn find_carriers(&mut self, steps: &[Step]) {
        let mut carriers: Vec<Pc> = Vec::new();
        self.varying.iter().for_each(|pc| carriers.extend(self.stores_of(steps, *pc)));
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
        Uses::new(&steps[pc as usize], self.function(pc), self.next.len() - SHARED_NODES)
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

/// Whether an instruction waits for a phase of an mbarrier.
pub fn is_mbarrier_wait(family: Family) -> bool {
    use Family::{MbarrierTestWait, MbarrierTestWaitParity, MbarrierTryWait, MbarrierTryWaitParity};
    matches!(family, MbarrierTestWait | MbarrierTestWaitParity | MbarrierTryWait | MbarrierTryWaitParity)
}

impl Uses {
    /// The uses of an instruction of the function whose first node is `at`. `local` is the first shared node.
    fn new(step: &Step, at: Node, local: Node) -> Self {
        let mut uses = Self::default();
        uses.read(step, at, local);
        if let Some((guard, _)) = step.guard {
            let guard = at + guard as usize;
            if uses.has_effect { uses.steers.push(guard) } else { uses.inputs.push(guard) }
        }
        uses
    }

    fn read(&mut self, step: &Step, at: Node, local: Node) {
        let (carry, tensor) = (local + 1, local + 2);
        let node = |source: &Source| match source {
            Source::Reg(register) | Source::Not(register) => Some(at + *register as usize),
            _ => None,
        };
        let nodes = |sources: &[Source]| sources.iter().filter_map(node).collect::<Vec<_>>();
        let register = |register: Reg| at + register as usize;
        let wide = |source: &Source| node(source).into_iter().flat_map(|node| [node, node + 1]).collect::<Vec<_>>();
        self.has_effect = true;
        match &step.op {
            Op::Nothing | Op::Fence(_) | Op::GridWait | Op::Return | Op::Exit | Op::Trap | Op::Jump(_) => {
                self.has_effect = !matches!(step.op, Op::Nothing);
            }
            Op::Unsupported(_) => {}
            Op::Compute(of) => {
                self.has_effect = false;
                self.inputs = nodes(&of.sources[..of.count]);
                self.results = of.results.iter().flatten().copied().map(register).collect();
                if of.of.touches_carry() {
                    self.inputs.push(carry);
                    self.results.push(carry);
                }
            }
            Op::Pack(d, _, parts, words) => {
                self.has_effect = false;
                self.inputs = nodes(parts);
                self.results = (0..*words).map(|word| register(d + word)).collect();
            }
            Op::Unpack(results, source, bits) => {
                self.has_effect = false;
                let is_wide = *bits as usize * results.len() > 64;
                self.inputs = if is_wide { wide(source) } else { nodes(std::slice::from_ref(source)) };
                self.results = results.iter().flatten().copied().map(register).collect();
            }
            Op::Move128(d, source) => {
                self.has_effect = false;
                self.inputs = wide(source);
                self.results = vec![register(*d), register(d + 1)];
            }
            Op::Moves(all) => {
                self.has_effect = false;
                self.inputs = all.iter().filter_map(|(_, source)| node(source)).collect();
                self.results = all.iter().filter_map(|(d, _)| d.map(register)).collect();
            }
            Op::Access(access) => self.access(access, &node, local),
            Op::Parameter(results, ..) => {
                self.has_effect = false;
                self.results = loaded(results, at);
            }
            Op::Setmaxnreg(_, source) | Op::JumpIndexed(source, _) => self.steers = nodes(std::slice::from_ref(source)),
            Op::Invoke(call) => {
                let result = |passed: &Passed| match passed {
                    Passed::Value(source) => node(source),
                    Passed::Memory(..) => Some(local),
                };
                if !matches!(call.callee, Callee::Function(_)) {
                    self.results = call.results.iter().filter_map(result).collect();
                }
            }
            Op::Barrier(of, d) => {
                self.steers = node(&of.id).into_iter().chain(of.threads.as_ref().and_then(node)).collect();
                self.inputs = of.reduces.iter().filter_map(|(_, p)| node(p)).collect();
                self.results = d.iter().copied().map(register).collect();
            }
            Op::Collective(of, mask, results) => {
                self.steers = mask.iter().filter_map(node).collect();
                if let Collective::Of(_, operands) = &**of {
                    self.inputs = nodes(operands);
                }
                self.results = results.iter().flatten().copied().map(register).collect();
            }
            Op::Activemask(d) => {
                self.has_effect = false;
                self.results = vec![register(*d)];
            }
            op @ (Op::Cvta { .. } | Op::Isspacep { .. } | Op::Getctarank { .. } | Op::Mapa { .. }) => {
                self.address(op, &node)
            }
            op @ (Op::Alloca { .. } | Op::Stack { .. }) => self.stack(op, &node),
            Op::Asynchronous(of) => self.asynchronous(of, &node, tensor),
            Op::Matrix(of) => {
                let operands = of.operands.iter().flat_map(sources).collect::<Vec<_>>();
                let is_memory =
                    !matches!(of.code, Ok(MatrixCode::Mma(_) | MatrixCode::Wmma(_) | MatrixCode::Movmatrix));
                let (addresses, data) = operands.split_at(usize::from(is_memory && !operands.is_empty()));
                self.steers = nodes(addresses);
                self.results = of.results.iter().flatten().copied().map(register).collect();
                match is_memory && of.results.is_empty() {
                    true => self.stored = nodes(data),
                    false => self.inputs = nodes(data),
                }
            }
            Op::Texture(results, _) => {
                self.has_effect = false;
                self.results = results.iter().flatten().copied().map(register).collect();
            }
        }
    }

    /// Reads the uses of a computation of an address.
    fn address(&mut self, op: &Op, node: &impl Fn(&Source) -> Option<Node>) {
        let (d, sources) = match op {
            Op::Cvta { d, a, .. } | Op::Isspacep { d, a, .. } | Op::Getctarank { d, a, .. } => (d, vec![*a]),
            Op::Mapa { d, a, rank, .. } => (d, vec![*a, *rank]),
            _ => return,
        };
        self.has_effect = false;
        self.inputs = sources.iter().filter_map(node).collect();
        self.results = node(&Source::Reg(*d)).into_iter().collect();
    }

    /// Reads the uses of a change of the stack.
    fn stack(&mut self, op: &Op, node: &impl Fn(&Source) -> Option<Node>) {
        let (d, sources) = match op {
            Op::Alloca { d, bytes, align } => (Some(*d), vec![*bytes, *align]),
            Op::Stack { d, a } => (*d, vec![*a]),
            _ => return,
        };
        self.steers = sources.iter().filter_map(node).collect();
        self.results = d.and_then(|d| node(&Source::Reg(d))).into_iter().collect();
    }

    fn access(&mut self, access: &DecodedAccess, node: &impl Fn(&Source) -> Option<Node>, local: Node) {
        self.steers.extend(node(&access.address.base));
        let is_wide = access.bytes == 16;
        let both = |node: Node| [Some(node), is_wide.then_some(node + 1)].into_iter().flatten();
        let data: Vec<Node> = access.data.iter().chain(&access.swap).filter_map(node).flat_map(both).collect();
        let at = access.results.iter().flatten().map(|(register, _)| Source::Reg(*register));
        self.results = at.filter_map(|source| node(&source)).flat_map(both).collect();
        let is_local = access.space == Space::Local;
        let may_be_local = is_local || access.space == Space::Generic;
        if may_be_local && !access.results.is_empty() {
            self.inputs.push(local);
        }
        if may_be_local && !data.is_empty() {
            self.results.push(local);
            self.inputs.extend(&data);
        }
        if !is_local {
            self.stored = data;
        }
    }

    fn asynchronous(&mut self, of: &Operation, node: &impl Fn(&Source) -> Option<Node>, tensor: Node) {
        let family = of.form.family();
        for (role, given) in &of.arguments {
            let all = sources(given).iter().filter_map(node).collect::<Vec<_>>();
            let is_many = matches!(given, Given::Many(_));
            match role {
                Role::State if is_mbarrier_wait(family) => {}
                Role::State | Role::Source if family == Family::MbarrierPendingCount || is_query(family) => {
                    self.inputs.extend(all);
                }
                Role::Done | Role::State => self.results.extend(all),
                Role::Count if family == Family::MbarrierPendingCount => self.results.extend(all),
                Role::Destination if is_many || is_query(family) => self.results.extend(all),
                Role::Value => self.stored.extend(all),
                Role::A | Role::Source if is_many => self.inputs.extend(all),
                Role::D if is_many => {
                    self.inputs.extend(&all);
                    self.results.extend(all);
                }
                _ => self.steers.extend(all),
            }
        }
        match family {
            Family::Tcgen05Ld | Family::Tcgen05LdRed => self.inputs.push(tensor),
            Family::Tcgen05St => self.results.push(tensor),
            _ => {}
        }
    }
}

fn is_query(family: Family) -> bool {
    family == Family::ClusterlaunchcontrolQueryCancel
}

/// The registers of loaded elements.
fn loaded(results: &[Option<(Reg, u32)>], at: Node) -> Vec<Node> {
    let words = |(register, bits): &(Reg, u32)| {
        let first = at + *register as usize;
        [Some(first), (*bits > 64).then_some(first + 1)].into_iter().flatten()
    };
    results.iter().flatten().flat_map(words).collect()
}

/// The sources of an operand.
fn sources(given: &Given) -> Vec<Source> {
    match given {
        Given::One(source) => vec![*source],
        Given::Address(address) => vec![address.base],
        Given::Tensor(map, place) => std::iter::once(*map).chain(place.iter().copied()).collect(),
        Given::Many(sources) => sources.clone(),
    }
}

//! The uses of the operands of an instruction.

use ptx_isa::{Family, Role, Space};

use crate::code::{Callee, Collective, DecodedAccess, Given, MatrixCode, Op, Operation, Passed, Reg, Source, Step};

/// A register of a function, local memory, or the carry flag.
pub type Node = usize;

/// The number of nodes that all functions share. The first is local memory; these are the distances of the other three from it.
pub const SHARED_NODES: usize = 4;
const CARRY: usize = 1;
/// The addresses of local memory.
pub const ADDRESSES: usize = 2;
const TENSOR: usize = 3;

/// The memory that a generic address may reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Any,
    /// Memory that threads share.
    Shared,
    /// The parameters of the kernel.
    Parameters,
}

/// The uses of the operands of an instruction.
#[derive(Default)]
pub struct Uses {
    pub inputs: Vec<Node>,
    pub results: Vec<Node>,
    pub steers: Vec<Node>,
    pub stored: Vec<Node>,
    /// Whether the instruction has an effect other than its results, so that its guard steers.
    pub has_effect: bool,
}

impl Uses {
    /// The uses of an instruction of the function whose first node is `at`. `local` is the first shared node.
    /// `reach` is the memory of a generic address.
    pub fn new(step: &Step, at: Node, local: Node, reach: Reach) -> Self {
        let mut uses = Self::default();
        uses.read(step, at, local, reach);
        if let Some((guard, _)) = step.guard {
            let guard = at + guard as usize;
            if uses.has_effect { uses.steers.push(guard) } else { uses.inputs.push(guard) }
        }
        uses
    }

    fn read(&mut self, step: &Step, at: Node, local: Node, reach: Reach) {
        let [carry, addresses, tensor] = [CARRY, ADDRESSES, TENSOR].map(|distance| local + distance);
        let node = |source: &Source| match source {
            Source::Reg(register) | Source::Not(register) => Some(at + *register as usize),
            Source::Local(_) | Source::Param(_) => Some(addresses),
            _ => None,
        };
        let nodes = |sources: &[Source]| sources.iter().filter_map(node).collect::<Vec<_>>();
        let register = |register: Reg| at + register as usize;
        let wide = |source: &Source| node(source).into_iter().flat_map(|node| [node, node + 1]).collect::<Vec<_>>();
        self.has_effect = true;
        match &step.op {
            Op::Nothing | Op::Fence(_) | Op::Grid(_) | Op::Return | Op::Exit | Op::Trap | Op::Jump(_) => {
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
            Op::Access(access) => self.access(access, &node, local, reach),
            Op::Parameter(results, ..) => {
                self.has_effect = false;
                self.results = loaded(results, at);
            }
            Op::Setmaxnreg(_, source) | Op::JumpIndexed(source, _) => self.steers = nodes(std::slice::from_ref(source)),
            Op::Invoke(call) if !matches!(call.callee, Callee::Function(_)) => {
                self.results = call.results.iter().filter_map(|passed| result(passed, &node, local)).collect();
            }
            Op::Invoke(_) => {}
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
            op @ (Op::Alloca { .. } | Op::Stack { .. }) => {
                self.stack(op, &node);
                self.inputs.push(addresses);
            }
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
            Op::Texture(of) => {
                self.steers = of.address().filter_map(|source| node(&source)).collect();
                self.stored = nodes(&of.memory.data);
                self.results = of.results.iter().flatten().copied().map(register).collect();
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

    fn access(&mut self, access: &DecodedAccess, node: &impl Fn(&Source) -> Option<Node>, local: Node, reach: Reach) {
        self.steers.extend(node(&access.address.base));
        let is_wide = access.bytes == 16;
        let both = |node: Node| [Some(node), is_wide.then_some(node + 1)].into_iter().flatten();
        let data: Vec<Node> = access.data.iter().chain(&access.swap).filter_map(node).flat_map(both).collect();
        let at = access.results.iter().flatten().map(|(register, _)| Source::Reg(*register));
        self.results = at.filter_map(|source| node(&source)).flat_map(both).collect();
        let is_local = access.space == Space::Local;
        // No other thread writes local memory, parameters and constants.
        self.has_effect = !matches!(access.space, Space::Local | Space::Const) && reach != Reach::Parameters;
        let may_be_local = is_local || access.space == Space::Generic && reach == Reach::Any;
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
            Family::Tcgen05St | Family::Tcgen05Cp | Family::Tcgen05Shift => self.results.push(tensor),
            Family::Tcgen05Mma | Family::Tcgen05MmaSp | Family::Tcgen05MmaWs | Family::Tcgen05MmaWsSp => {
                self.results.push(tensor);
            }
            _ => {}
        }
    }
}

fn is_query(family: Family) -> bool {
    family == Family::ClusterlaunchcontrolQueryCancel
}

/// The node of a result of a call.
fn result(passed: &Passed, node: &impl Fn(&Source) -> Option<Node>, local: Node) -> Option<Node> {
    match passed {
        Passed::Value(source) => node(source),
        Passed::Memory(..) => Some(local),
    }
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

/// Whether an instruction waits for a phase of an mbarrier.
pub fn is_mbarrier_wait(family: Family) -> bool {
    use Family::{MbarrierTestWait, MbarrierTestWaitParity, MbarrierTryWait, MbarrierTryWaitParity};
    matches!(family, MbarrierTestWait | MbarrierTestWaitParity | MbarrierTryWait | MbarrierTryWaitParity)
}

//! The events of asynchronous instructions, from their effects and the values of their operands.

use ptx_isa::{
    Asynchronous, Role, Scope,
    Space::SharedCluster,
    effects::{At, Effect, Effects, Extent, FenceEffect, MbarrierEffect, OneSided, OperandAccess, Started, Tracking},
};

use super::{
    super::{
        compute::Source,
        terms::{Content, Literal, Terms, Value},
        walk::{Step, address},
    },
    Base, Maker, Thing,
};
use crate::kernel::{Address, Barrier, BarrierId, EventAccess, EventKind, Operation, Semantics, Space, Start, Sum};

/// An asynchronous instruction, with the contents of its operands.
struct AsynchronousInstruction<'s> {
    form: &'s Asynchronous,
    step: &'s Step,
    terms: &'s Terms,
}

impl AsynchronousInstruction<'_> {
    /// The address or value in a role.
    fn operand(&self, role: Role) -> Option<Value> {
        address(&self.step.operands, role)
    }

    /// The value in a role, if it is a number.
    fn number_in_role(&self, role: Role) -> Option<i64> {
        self.terms.as_number(self.operand(role)?)
    }

    fn size(&self, role: Role) -> Option<u64> {
        u64::try_from(self.number_in_role(role)?).ok()
    }

    fn scope(&self) -> Scope {
        self.form.scope().unwrap_or(Scope::Cta)
    }

    /// The number of CTAs that share the tensor memory of the instruction.
    fn group(&self) -> u8 {
        self.form.cta_group().unwrap_or(1)
    }

    fn extent(&self, extent: Extent) -> Option<u64> {
        match extent {
            Extent::Fixed(number) => Some(number),
            Extent::Operand(role) => self.size(role),
            Extent::Accumulator => {
                let columns = ((self.number_in_role(Role::Descriptor)?.cast_unsigned() >> 17) & 63) << 3;
                Some(columns).filter(|columns| *columns > 0)
            }
            Extent::Unknown => None,
        }
    }

    /// Whether a product overwrites its accumulator without a read of it.
    fn overwrites(&self) -> bool {
        match self.step.operands.iter().find(|(own, _)| *own == Role::Accumulate) {
            Some((_, Source::One(Content::Literal(literal)))) => *literal == Literal::FALSE,
            Some((_, Source::One(Content::Value(value)))) => self.terms.as_number(*value) == Some(0),
            _ => false,
        }
    }
}

impl Maker<'_> {
    pub(super) fn asynchronous(&mut self, form: &Asynchronous, step: &Step) -> Vec<EventKind> {
        let of = &AsynchronousInstruction { form, step, terms: self.terms() };
        let Effects { effect, touches } = form.effects();
        let accesses: Vec<EventAccess> = touches.iter().map(|touch| self.touched(of, touch)).collect();
        match (effect, &accesses[..]) {
            (Effect::Start(started, tracking), _) => {
                // The mbarrier is in the CTA that the operation writes to.
                let is_cluster = touches.first().is_some_and(|touch| touch.at == At::Address(SharedCluster));
                vec![self.start(of, (started, tracking), accesses, is_cluster)]
            }
            (Effect::Allocate, [written]) => {
                let object = match of.operand(Role::Destination) {
                    Some(address) => self.object(Thing::Base(Base::Allocation(address))),
                    None => self.object(Thing::Unknown(Space::Tensor, None)),
                };
                vec![EventKind::Allocate { object, access: written.clone() }]
            }
            (Effect::Deallocate, [freed]) => vec![EventKind::Deallocate(freed.clone())],
            _ => accesses.into_iter().map(EventKind::Access).chain(self.effect(of, effect)).collect(),
        }
    }

    /// The effect of an instruction that starts no operation.
    fn effect(&mut self, of: &AsynchronousInstruction<'_>, effect: Effect) -> Vec<EventKind> {
        let form = of.form;
        let cluster = |arrives: bool, orders: bool| {
            let (of, aligned) = (BarrierId::Cluster, form.has("aligned"));
            EventKind::Barrier(Barrier { of, arrives, waits: !arrives, threads: None, aligned, orders })
        };
        vec![match effect {
            Effect::CommitGroup(group) => EventKind::CommitGroup(group),
            Effect::WaitGroup { of: group, all: true, reads_only } => {
                return vec![EventKind::CommitGroup(group), EventKind::WaitGroup { of: group, pending: 0, reads_only }];
            }
            Effect::WaitGroup { of: group, all: false, reads_only } => {
                let pending = of.size(Role::Pending).and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
                EventKind::WaitGroup { of: group, pending, reads_only }
            }
            Effect::TensorWait(wait) => EventKind::TensorWait(wait),
            Effect::TensorCommit(far) => {
                EventKind::TensorCommit { group: of.group(), of: far, barrier: self.barrier(of) }
            }
            Effect::CopyArrive { .. } => EventKind::CopyArrive(self.barrier(of)),
            Effect::Mbarrier(MbarrierEffect::Init) => {
                EventKind::Initialize { barrier: self.barrier(of), count: of.size(Role::Count) }
            }
            Effect::Mbarrier(MbarrierEffect::Inval) => EventKind::Invalidate(self.barrier(of)),
            Effect::Mbarrier(MbarrierEffect::Arrive { expects, relaxed, .. }) => EventKind::Arrive {
                expects,
                barrier: self.barrier(of),
                semantics: Semantics { acquires: false, releases: !relaxed },
                scope: of.scope(),
                names_cluster: form.spaces().next() == Some(SharedCluster),
            },
            Effect::Fence(FenceEffect::MbarrierInit) => EventKind::InitializeFence,
            Effect::Fence(FenceEffect::Memory(half)) => {
                let semantics = Semantics { acquires: half == OneSided::Acquire, releases: half == OneSided::Release };
                EventKind::Fence { semantics, scope: of.scope() }
            }
            Effect::Fence(FenceEffect::Proxy(fence)) => EventKind::ProxyFence(fence),
            Effect::Fence(FenceEffect::Wgmma) => EventKind::MatrixFence,
            Effect::Fence(FenceEffect::Tensor(side)) => EventKind::TensorFence(side),
            Effect::ClusterArrive { relaxed } => cluster(true, !relaxed),
            Effect::ClusterWait => cluster(false, true),
            Effect::GridWait => EventKind::GridWait,
            Effect::Relinquish => EventKind::Relinquish,
            Effect::Unknown => EventKind::Unknown(format!("the instruction `{}`", form.mnemonic())),
            // A `try_wait` becomes an event where its result is tested.
            Effect::Mbarrier(MbarrierEffect::ExpectTx | MbarrierEffect::CompleteTx | MbarrierEffect::Wait { .. })
            | Effect::Nothing
            | Effect::Allocate
            | Effect::Deallocate
            | Effect::Start(..) => return Vec::new(),
        }]
    }

    /// An operation, whose mbarrier may be in another CTA of the cluster.
    fn start(
        &mut self,
        of: &AsynchronousInstruction<'_>,
        (started, tracking): (Started, Tracking),
        mut accesses: Vec<EventAccess>,
        is_cluster: bool,
    ) -> EventKind {
        if let (Tracking::Value, [access]) = (tracking, &accesses[..]) {
            let semantics = Semantics { acquires: false, releases: true };
            return EventKind::Atomic { access: access.clone(), semantics, scope: of.scope() };
        }
        let barrier = (tracking == Tracking::Mbarrier)
            .then(|| self.address(of.operand(Role::Barrier), Space::Shared, is_cluster));
        let group = of.group();
        let operation = match started {
            Started::Mma => {
                let descriptor = of.operand(Role::Descriptor);
                let shape = descriptor.map(|value| self.sum(self.terms().sum(value)));
                Operation::TensorMatrix { group, shape }
            }
            Started::TensorCopy => Operation::TensorCopy { group, is_4x256b: of.form.has("4x256b") },
            Started::TensorShift => Operation::TensorShift { group },
            Started::TensorLoad => Operation::TensorLoad,
            Started::TensorStore => Operation::TensorStore,
            Started::Copy => Operation::Copy,
            Started::Wgmma => {
                // It also accesses registers of matrices.
                accesses.append(&mut self.touched);
                Operation::Wgmma
            }
            Started::Bulk | Started::Store | Started::TryCancel => match barrier {
                Some(_) => Operation::BulkLoad,
                None => Operation::BulkStore,
            },
        };
        EventKind::Start(Start { operation, accesses, barrier })
    }

    fn barrier(&mut self, of: &AsynchronousInstruction<'_>) -> Address {
        let is_cluster = of.form.spaces().any(|space| space == SharedCluster);
        self.address(of.operand(Role::Barrier), Space::Shared, is_cluster)
    }

    /// The access of memory that an operand names.
    fn touched(&mut self, of: &AsynchronousInstruction<'_>, touch: &OperandAccess) -> EventAccess {
        let OperandAccess { role, at, proxy, reads, writes, extent } = *touch;
        let operand = of.operand(role);
        let does = (reads && !(role == Role::D && of.overwrites()), writes);
        let access = match at {
            At::Address(space) => self.named(operand, space, proxy, does),
            At::Tmem(_) => self.access(operand, Space::Tensor, proxy, does),
            At::Matrix => self.described(operand),
            At::Map => self.access(operand, Space::Global, proxy, does),
            At::Tensor => {
                let map = self.address(operand, Space::Global, false).object;
                let thing = self.objects.iter().find(|(_, own)| **own == map).map(|(thing, _)| thing.clone());
                let object = match (of.operand(Role::Override), thing) {
                    // The override names a different tensor than the map.
                    (Some(address), _) => self.address(Some(address), Space::Global, false).object,
                    (None, Some(thing @ Thing::Base(_))) => self.object(Thing::Tensor(Box::new(thing))),
                    _ => self.object(Thing::Unknown(Space::Global, None)),
                };
                let address = Address { object, offset: Sum::number(0), is_remote: false };
                EventAccess { address, extent: None, space: Space::Global, proxy, reads, writes }
            }
        };
        let mut access = EventAccess { extent: of.extent(extent), ..access };
        if let At::Tmem(Some(further)) = at {
            match of.number_in_role(further) {
                Some(further) => {
                    access.address.offset.constant = access.address.offset.constant.wrapping_add(further);
                }
                None => access.extent = None,
            }
        }
        access
    }
}

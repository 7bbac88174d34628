//! What asynchronous instructions do: a method for each kind of them.

use ptx_isa::{Asynchronous, Family, Role, Scope};

use super::{
    super::{
        compute::Source,
        terms::{Content, Literal, Terms, Value},
        walk::{Step, address},
    },
    Base, Maker, Thing,
};
use crate::kernel::{
    Access, Address, Barrier, BarrierId, Committed, Direction, EventKind, Groups, Operation, Proxy, ProxyFence,
    Semantics, Side, Space, Start, Sum,
};

/// An asynchronous instruction, with what its operands hold where it stands.
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

    /// The value in a role, where it is a number.
    fn known(&self, role: Role) -> Option<i64> {
        self.terms.known(self.operand(role)?)
    }

    fn size(&self, role: Role) -> Option<u64> {
        u64::try_from(self.known(role)?).ok()
    }

    /// The state space at a place in the instruction's words.
    fn space(&self, index: usize) -> Option<ptx_isa::Space> {
        self.form.spaces().nth(index)
    }

    fn scope(&self) -> Scope {
        self.form.scope().unwrap_or(Scope::Cta)
    }

    /// How many CTAs share the tensor memory that the instruction is for.
    fn group(&self) -> u8 {
        self.form.cta_group().unwrap_or(1)
    }
}

fn start(what: Operation, accesses: Vec<Access>, barrier: Option<Address>) -> EventKind {
    EventKind::Start(Start { what, accesses, barrier })
}

/// What an instruction does that is known by its words alone; nothing, if its operands say it.
fn by_words(form: &Asynchronous) -> Option<Vec<EventKind>> {
    use Family::*;
    let acquires = form.has("acquire");
    let proxy =
        |acquire: ProxyFence, release: ProxyFence| EventKind::ProxyFence(if acquires { acquire } else { release });
    let cluster = |arrives: bool, orders: bool| {
        let (of, aligned) = (BarrierId::Cluster, form.has("aligned"));
        EventKind::Barrier(Barrier { of, arrives, waits: !arrives, threads: None, aligned, orders })
    };
    Some(vec![match form.family() {
        FenceProxyAlias
        | FenceAlias
        | MembarProxyAlias
        | FenceProxyGenericFabric
        | FenceProxyFabricGeneric
        | FenceProxyFabricFabric => EventKind::ProxyFence(ProxyFence::Other),
        FenceProxyAsync | MembarProxyAsync => {
            let own =
                |space: ptx_isa::Space| if space == ptx_isa::Space::Global { Space::Global } else { Space::Shared };
            EventKind::ProxyFence(ProxyFence::Async(form.spaces().next().map(own)))
        }
        FenceProxyTensormapGeneric => proxy(ProxyFence::TensormapAcquire, ProxyFence::TensormapRelease),
        FenceProxyAsyncGeneric => proxy(ProxyFence::AsyncAcquire, ProxyFence::AsyncRelease),
        FenceMbarrierInit => EventKind::InitializeFence,
        Fence => {
            let semantics = Semantics { acquires, releases: form.has("release") };
            EventKind::Fence { semantics, scope: form.scope().unwrap_or(Scope::Cta) }
        }
        CpAsyncCommitGroup => EventKind::CommitGroup(Groups::Copy),
        CpAsyncBulkCommitGroup => EventKind::CommitGroup(Groups::Bulk),
        WgmmaCommitGroup => EventKind::CommitGroup(Groups::Wgmma),
        CpAsyncWaitAll => {
            let wait = EventKind::WaitGroup { of: Groups::Copy, pending: 0, reads_only: false };
            return Some(vec![EventKind::CommitGroup(Groups::Copy), wait]);
        }
        BarrierClusterArrive => cluster(true, !form.has("relaxed")),
        BarrierClusterWait => cluster(false, true),
        GriddepcontrolWait => EventKind::GridWait,
        WgmmaFence => EventKind::MatrixFence,
        Tcgen05RelinquishAllocPermit => EventKind::Relinquish,
        Tcgen05FenceBeforeThreadSync => EventKind::TensorFence(Side::Before),
        Tcgen05FenceAfterThreadSync => EventKind::TensorFence(Side::After),
        Tcgen05WaitLd => EventKind::TensorWait(Direction::Load),
        Tcgen05WaitSt => EventKind::TensorWait(Direction::Store),
        // These are no events. A `try_wait` is one where its result is tested.
        MbarrierExpectTx
        | MbarrierCompleteTx
        | MbarrierPendingCount
        | MbarrierCheckLayout
        | MbarrierTestWait
        | MbarrierTestWaitParity
        | MbarrierTryWait
        | MbarrierTryWaitParity
        | CpAsyncBulkPrefetch
        | CpAsyncBulkPrefetchTensor
        | ApplypriorityAsyncBulk
        | ApplypriorityAsyncBulkTensor
        | GriddepcontrolLaunchDependents
        | ClusterlaunchcontrolQueryCancel => return Some(Vec::new()),
        _ => return None,
    }])
}

impl Maker<'_> {
    pub(super) fn asynchronous(&mut self, form: &Asynchronous, step: &Step) -> Vec<EventKind> {
        use Family::*;
        if form.has_unknown_order() {
            return vec![EventKind::Unknown(format!("the instruction `{}`", form.mnemonic()))];
        }
        if let Some(kinds) = by_words(form) {
            return kinds;
        }
        let of = &AsynchronousInstruction { form, step, terms: self.terms() };
        match form.family() {
            TensormapCpFenceproxy | TensormapReplaceTile | StBulk => self.written_at_once(of),
            MbarrierInit
            | MbarrierInval
            | MbarrierArrive
            | MbarrierArriveExpectTx
            | MbarrierArriveNoComplete
            | MbarrierArriveDrop
            | MbarrierArriveDropExpectTx
            | MbarrierArriveDropNoComplete
            | CpAsyncMbarrierArrive
            | Tcgen05Commit => self.at_mbarrier(of),
            CpAsyncWaitGroup | CpAsyncBulkWaitGroup | WgmmaWaitGroup => vec![wait_group(of)],
            CpAsync | CpAsyncBulk | CpReduceAsyncBulk | MultimemCpAsyncBulk | MultimemCpReduceAsyncBulk => {
                self.copy(of)
            }
            CpAsyncBulkTensor | CpReduceAsyncBulkTensor => self.tensor_copy(of),
            StAsync | RedAsync | ClusterlaunchcontrolTryCancelAsync => self.remote_write(of),
            WgmmaMmaAsync | WgmmaMmaAsyncSp => self.warpgroup_product(of),
            Tcgen05Alloc | Tcgen05Dealloc => self.allocation(of),
            Tcgen05Shift | Tcgen05Cp | Tcgen05Ld | Tcgen05LdRed | Tcgen05St => self.tensor_memory(of),
            Tcgen05Mma | Tcgen05MmaWs | Tcgen05MmaSp | Tcgen05MmaWsSp => self.product(of),
            family => vec![EventKind::Unknown(format!("the instruction `{family}`"))],
        }
    }

    fn barrier(&mut self, of: &AsynchronousInstruction<'_>) -> Address {
        let is_cluster = of.form.spaces().any(|space| space == ptx_isa::Space::SharedCluster);
        self.address(of.operand(Role::Barrier), Space::Shared, is_cluster)
    }

    /// Instructions that write memory, and are done when the next one begins.
    fn written_at_once(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let destination = of.operand(Role::Destination);
        match of.form.family() {
            Family::TensormapCpFenceproxy => {
                let source = self.access(of.operand(Role::Source), Space::Shared, Proxy::Generic, (true, false));
                let written = self.access(destination, Space::Global, Proxy::Generic, (false, true));
                vec![
                    EventKind::Access(Access { extent: Some(128), ..source }),
                    EventKind::Access(Access { extent: Some(128), ..written }),
                    EventKind::ProxyFence(ProxyFence::TensormapRelease),
                ]
            }
            Family::TensormapReplaceTile => {
                let space = if of.space(0) == Some(ptx_isa::Space::Global) { Space::Global } else { Space::Shared };
                let written = self.access(destination, space, Proxy::Generic, (true, true));
                vec![EventKind::Access(Access { extent: Some(128), ..written })]
            }
            _ => {
                let written = self.access(destination, Space::Shared, Proxy::Generic, (false, true));
                vec![EventKind::Access(Access { extent: of.size(Role::Size), ..written })]
            }
        }
    }

    /// What is done to an mbarrier.
    fn at_mbarrier(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let barrier = self.barrier(of);
        vec![match of.form.family() {
            Family::MbarrierInit => EventKind::Initialize { barrier, count: of.size(Role::Count) },
            Family::MbarrierInval => EventKind::Invalidate(barrier),
            Family::CpAsyncMbarrierArrive => EventKind::CopyArrive(barrier),
            Family::Tcgen05Commit => {
                let reads = of.form.has(Committed::READ_A);
                let far = if reads { Committed::ReadA } else { Committed::Complete };
                EventKind::TensorCommit { group: of.group(), of: far, barrier }
            }
            family => {
                let semantics = Semantics { acquires: false, releases: !of.form.has("relaxed") };
                let expects = matches!(family, Family::MbarrierArriveExpectTx | Family::MbarrierArriveDropExpectTx);
                let names_cluster = of.space(0) == Some(ptx_isa::Space::SharedCluster);
                EventKind::Arrive { expects, barrier, semantics, scope: of.scope(), names_cluster }
            }
        }]
    }

    /// A copy whose addresses are both plain.
    fn copy(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let (destination, source) = (of.operand(Role::Destination), of.operand(Role::Source));
        let extent = of.size(Role::Size);
        if of.form.family() == Family::CpAsync {
            let written = self.access(destination, Space::Shared, Proxy::Generic, (false, true));
            let read = self.access(source, Space::Global, Proxy::Generic, (true, false));
            return vec![start(Operation::Copy, vec![Access { extent, ..written }, Access { extent, ..read }], None)];
        }
        let is_reduce = matches!(of.form.family(), Family::CpReduceAsyncBulk | Family::MultimemCpReduceAsyncBulk);
        let [to, from] = [0, 1].map(|index| of.space(index).unwrap_or(ptx_isa::Space::Global));
        let written = self.named(destination, to, Proxy::Async, (is_reduce, true));
        let read = self.named(source, from, Proxy::Async, (true, false));
        let accesses = vec![Access { extent, ..written }, Access { extent, ..read }];
        let barrier = of.operand(Role::Barrier);
        let barrier =
            barrier.map(|barrier| self.address(Some(barrier), Space::Shared, to == ptx_isa::Space::SharedCluster));
        let what = if barrier.is_some() { Operation::BulkLoad } else { Operation::BulkStore };
        vec![start(what, accesses, barrier)]
    }

    /// A copy of which a tensor map says where one side is.
    fn tensor_copy(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let is_reduce = of.form.family() == Family::CpReduceAsyncBulkTensor;
        let is_load = of.operand(Role::Barrier).is_some();
        let (map, plain) = if is_load { (Role::Source, Role::Destination) } else { (Role::Destination, Role::Source) };
        let map = self.access(of.operand(map), Space::Global, Proxy::Tensormap, (true, false));
        let thing = self.objects.iter().find(|(_, own)| **own == map.address.object).map(|(thing, _)| thing.clone());
        let tensor = match (of.operand(Role::Override), thing) {
            // Another tensor than that of the map.
            (Some(address), _) => self.access(Some(address), Space::Global, Proxy::Async, (true, false)).address.object,
            (None, Some(thing @ Thing::Base(_))) => self.object(Thing::Tensor(Box::new(thing))),
            _ => self.object(Thing::Unknown(Space::Global, None)),
        };
        let tensor = Access {
            address: Address { object: tensor, offset: Sum::number(0), is_remote: false },
            extent: None,
            space: Space::Global,
            proxy: Proxy::Async,
            reads: is_load || is_reduce,
            writes: !is_load,
        };
        let space = of.form.spaces().find(|space| *space != ptx_isa::Space::Global).unwrap_or(ptx_isa::Space::Shared);
        let shared = self.named(of.operand(plain), space, Proxy::Async, (!is_load, is_load));
        let map = Access { extent: Some(128), ..map };
        let accesses = if is_load { vec![shared, tensor, map] } else { vec![tensor, shared, map] };
        let barrier = of.operand(Role::Barrier);
        let barrier =
            barrier.map(|barrier| self.address(Some(barrier), Space::Shared, space == ptx_isa::Space::SharedCluster));
        vec![start(if is_load { Operation::BulkLoad } else { Operation::BulkStore }, accesses, barrier)]
    }

    /// Writes that may be to another CTA, of which an mbarrier learns.
    fn remote_write(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let destination = of.operand(Role::Destination);
        if of.form.family() == Family::ClusterlaunchcontrolTryCancelAsync {
            let written = self.access(destination, Space::Shared, Proxy::Async, (false, true));
            let barrier = Some(self.barrier(of));
            return vec![start(Operation::BulkLoad, vec![Access { extent: Some(16), ..written }], barrier)];
        }
        let is_update = of.form.family() == Family::RedAsync;
        let barrier = of.operand(Role::Barrier);
        let space = if barrier.is_some() { ptx_isa::Space::SharedCluster } else { ptx_isa::Space::Global };
        let written = self.named(destination, space, Proxy::Generic, (is_update, true));
        let access = Access { extent: element_bytes(of.form), ..written };
        vec![match barrier {
            Some(barrier) => {
                let barrier = self.address(Some(barrier), Space::Shared, true);
                start(Operation::BulkLoad, vec![access], Some(barrier))
            }
            None => {
                let semantics = Semantics { acquires: false, releases: true };
                EventKind::Atomic { access, semantics, scope: of.scope() }
            }
        }]
    }

    /// A product of a warpgroup, with what it touches of the registers of matrices.
    fn warpgroup_product(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let mut accesses = Vec::new();
        if let Some((_, Source::One(Content::Value(a)))) = operand_of(of.step, Role::A) {
            accesses.push(self.described(Some(*a)));
        }
        accesses.push(self.described(of.operand(Role::B)));
        accesses.append(&mut self.touched);
        vec![start(Operation::Wgmma, accesses, None)]
    }

    /// Tensor memory that is given or taken back.
    fn allocation(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        if of.form.family() == Family::Tcgen05Dealloc {
            let freed = self.access(of.operand(Role::Tmem), Space::Tensor, Proxy::Tensor, (false, true));
            return vec![EventKind::Deallocate(Access { extent: of.size(Role::Columns), ..freed })];
        }
        let destination = of.operand(Role::Destination);
        let written = self.access(destination, Space::Shared, Proxy::Generic, (false, true));
        let object = match destination {
            Some(address) => self.object(Thing::Base(Base::Allocation(address))),
            None => self.object(Thing::Unknown(Space::Tensor, None)),
        };
        vec![EventKind::Allocate { object, access: Access { extent: Some(4), ..written } }]
    }

    /// Moves into tensor memory, out of it and within it.
    fn tensor_memory(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let (form, group) = (of.form, of.group());
        let does = match form.family() {
            Family::Tcgen05Shift => (true, true),
            Family::Tcgen05Cp | Family::Tcgen05St => (false, true),
            _ => (true, false),
        };
        let access = self.access(of.operand(Role::Tmem), Space::Tensor, Proxy::Tensor, does);
        let (what, accesses) = match form.family() {
            Family::Tcgen05Shift => (Operation::TensorShift { group }, vec![access]),
            Family::Tcgen05Cp => {
                let columns = if form.has("128x256b") || form.has("4x256b") { 8 } else { 4 };
                let read = self.described(of.operand(Role::Source));
                let what = Operation::TensorCopy { group, is_4x256b: form.has("4x256b") };
                (what, vec![Access { extent: Some(columns), ..access }, read])
            }
            family => {
                let columns = columns(form);
                let mut accesses = vec![Access { extent: columns, ..access.clone() }];
                if form.has("16x32bx2") {
                    let mut second = Access { extent: columns, ..access };
                    match of.known(Role::Split) {
                        Some(split) => {
                            second.address.offset.constant = second.address.offset.constant.wrapping_add(split);
                        }
                        None => second.extent = None,
                    }
                    accesses.push(second);
                }
                let is_store = family == Family::Tcgen05St;
                (if is_store { Operation::TensorStore } else { Operation::TensorLoad }, accesses)
            }
        };
        vec![start(what, accesses, None)]
    }

    /// A product of tensor cores.
    fn product(&mut self, of: &AsynchronousInstruction<'_>) -> Vec<EventKind> {
        let terms = self.terms();
        let (operand, form, step, group) = (|role: Role| of.operand(role), of.form, of.step, of.group());
        let descriptor = operand(Role::Descriptor);
        let columns =
            descriptor.and_then(|value| terms.known(value)).map(|bits| ((bits.cast_unsigned() >> 17) & 63) << 3);
        let overwrites = match operand_of(step, Role::Accumulate) {
            Some((_, Source::One(Content::Literal(literal)))) => *literal == Literal::FALSE,
            Some((_, Source::One(Content::Value(value)))) => terms.known(*value) == Some(0),
            _ => false,
        };
        let d = self.access(operand(Role::D), Space::Tensor, Proxy::Tensor, (!overwrites, true));
        let mut accesses = vec![Access { extent: columns.filter(|columns| *columns > 0), ..d }];
        accesses.push(match form.address(Role::A) {
            // A row has 32 bytes, whatever its elements are.
            Some(_) => {
                let a = self.access(operand(Role::A), Space::Tensor, Proxy::Tensor, (true, false));
                Access { extent: Some(8), ..a }
            }
            None => self.described(operand(Role::A)),
        });
        accesses.push(self.described(operand(Role::B)));
        for role in [Role::ScaleA, Role::ScaleB, Role::Metadata] {
            if form.address(role).is_some() {
                accesses.push(self.access(operand(role), Space::Tensor, Proxy::Tensor, (true, false)));
            }
        }
        let shape = descriptor.map(|value| self.sum(terms.sum(value)));
        let what = Operation::TensorMatrix { group, shape };
        vec![start(what, accesses, None)]
    }
}

/// A wait until no more than so many groups are pending.
fn wait_group(of: &AsynchronousInstruction<'_>) -> EventKind {
    let groups = match of.form.family() {
        Family::CpAsyncWaitGroup => Groups::Copy,
        Family::CpAsyncBulkWaitGroup => Groups::Bulk,
        _ => Groups::Wgmma,
    };
    let pending = of.size(Role::Pending).and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
    EventKind::WaitGroup { of: groups, pending, reads_only: of.form.has("read") }
}

fn operand_of(step: &Step, role: Role) -> Option<&(Role, Source)> {
    step.operands.iter().find(|(own, _)| *own == role)
}

/// How many columns a load or store of tensor memory touches, of each half.
fn columns(form: &Asynchronous) -> Option<u64> {
    let number: u64 = form.modifier(ptx_isa::ModifierKind::Repetition)?.strip_prefix('x')?.parse().ok()?;
    Some(match form.modifier(ptx_isa::ModifierKind::Shape)? {
        "16x128b" => number * 2,
        "16x256b" => number * 4,
        _ => number,
    })
}

/// How many bytes `st.async` and `red.async` write.
fn element_bytes(form: &Asynchronous) -> Option<u64> {
    let ty: ptx_isa::Type = form.modifier(ptx_isa::ModifierKind::Type)?.parse().ok()?;
    let elements = if form.has("v2") {
        2
    } else if form.has("v4") {
        4
    } else {
        1
    };
    Some(u64::from(ty.bits() / 8) * elements)
}

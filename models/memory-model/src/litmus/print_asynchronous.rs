//! The printer of asynchronous instructions, of the waits for them, and of their fences.

use super::{
    asynchronous::HALVES,
    shape::{MmaKind, MmaShape},
    spelling::Words,
};
use crate::{
    asynchronous::{
        AsyncAccess, Asynchronous, Committed, Completion, Group, MbarrierOperation, Memory, Operation, OperationKind,
        Phase, Written,
    },
    place::Scope,
    program::{Address, Operand, Type},
    ptx::{Fence, OneSided, Proxy, ProxyFence},
};

/// A fence that asynchronous operations need.
pub(super) fn fence_of_async(fence: &Fence) -> String {
    match fence {
        Fence::MbarrierInit => "fence.mbarrier_init.release.cluster".into(),
        Fence::Restricted(side) => format!("fence.{side}.{}.cluster", restriction(*side)),
        Fence::Tensor(side) => format!("tcgen05.{side}"),
        Fence::Wgmma => "wgmma.fence.sync.aligned".into(),
        Fence::Proxy(ProxyFence::AsyncOf(space)) => format!("fence.proxy.async.{space}"),
        Fence::Proxy(ProxyFence::AsyncHalf(half)) => {
            format!("fence.proxy.async::generic.{half}.{}.cluster", restriction(*half))
        }
        Fence::Proxy(ProxyFence::TensormapRelease(scope)) => format!("fence.proxy.tensormap::generic.release.{scope}"),
        Fence::Proxy(ProxyFence::Alias | ProxyFence::Of(_)) | Fence::Memory { .. } | Fence::Host(_) => String::new(),
    }
}

/// The modifier that restricts one side of a synchronization to shared memory.
fn restriction(side: OneSided) -> &'static str {
    HALVES.iter().find(|(half, _)| *half == side).map_or("?", |(_, word)| word)
}

impl Words<'_> {
    pub(super) fn asynchronous(&self, of: &Asynchronous) -> String {
        match of {
            Asynchronous::Start(operation) => self.operation(operation),
            Asynchronous::CommitGroup(of) => format!("{}.commit_group{}", group(*of), aligned(*of)),
            Asynchronous::WaitGroup { of, all: true, .. } => format!("{}.wait_all", group(*of)),
            Asynchronous::WaitGroup { of, pending, read, .. } => {
                let read = if *read { ".read" } else { "" };
                format!("{}.wait_group{read}{} {pending}", group(*of), aligned(*of))
            }
            Asynchronous::TensorWait(wait) => format!("tcgen05.{wait}.sync.aligned"),
            Asynchronous::Commit { cta_group, of, mbarrier } => {
                let of = match of {
                    Committed::Complete => String::new(),
                    Committed::ReadA => format!(".{}", Committed::READ_A),
                };
                let mbarrier = self.memory(*mbarrier);
                format!("tcgen05.commit.{cta_group}.mbarrier::arrive::one{of}.shared::cluster.b64 {mbarrier}")
            }
            Asynchronous::ArriveOnCopies { mbarrier, noinc } => {
                let noinc = if *noinc { ".noinc" } else { "" };
                format!("cp.async.mbarrier.arrive{noinc}.shared::cta.b64 {}", self.memory(*mbarrier))
            }
            Asynchronous::Allocate { d, tensor, cta_group } => format!(
                "tcgen05.alloc.{cta_group}.sync.aligned.shared::cta.b32 {}, {}",
                self.memory(*d),
                self.address(*tensor)
            ),
            Asynchronous::Deallocate { tensor, cta_group } => {
                format!("tcgen05.dealloc.{cta_group}.sync.aligned.b32 {}, 32", self.address(*tensor))
            }
            Asynchronous::Relinquish => "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned".into(),
            Asynchronous::AcquireTensormap { a, scope } => {
                format!("fence.proxy.tensormap::generic.acquire.{scope} {}, 128", self.memory(*a))
            }
            Asynchronous::Mbarrier { a, of } => self.mbarrier(*a, of),
        }
    }

    /// An address in brackets.
    fn memory(&self, a: Address) -> String {
        let text = self.address(a);
        if text.starts_with('[') { text } else { format!("[{text}]") }
    }

    fn accessed(&self, access: &AsyncAccess) -> String {
        self.memory(access.a)
    }

    fn mbarrier(&self, a: Address, of: &MbarrierOperation) -> String {
        let bar = self.memory(a);
        let space = "shared::cta.b64";
        match of {
            MbarrierOperation::Init { count } => format!("mbarrier.init.{space} {bar}, {}", self.operand(*count)),
            MbarrierOperation::Inval => format!("mbarrier.inval.{space} {bar}"),
            MbarrierOperation::ExpectTx { bytes } => {
                format!("mbarrier.expect_tx.relaxed.cta.{space} {bar}, {}", self.operand(*bytes))
            }
            MbarrierOperation::CompleteTx { bytes } => {
                format!("mbarrier.complete_tx.relaxed.cta.{space} {bar}, {}", self.operand(*bytes))
            }
            MbarrierOperation::Arrive { d, count, expects, drops, relaxed, scope } => {
                let (drop, expect) = (if *drops { "_drop" } else { "" }, expects.map_or("", |_| ".expect_tx"));
                let d = d.map_or("_", |d| self.register(d));
                let third = match (expects, count) {
                    (Some(bytes), _) => format!(", {}", self.operand(*bytes)),
                    (None, Operand::Immediate(1)) => String::new(),
                    (None, count) => format!(", {}", self.operand(*count)),
                };
                let sem = semantics(*relaxed, "release", *scope);
                format!("mbarrier.arrive{drop}{expect}.{sem}.{space} {d}, {bar}{third}")
            }
            MbarrierOperation::Wait { d, phase, relaxed, scope } => {
                let (parity, which) = match phase {
                    Phase::Parity(which) => (".parity", which),
                    Phase::State(which) => ("", which),
                };
                let sem = semantics(*relaxed, "acquire", *scope);
                let (d, which) = (self.register(*d), self.operand(*which));
                format!("mbarrier.try_wait{parity}.{sem}.{space} {d}, {bar}, {which}")
            }
        }
    }

    fn operation(&self, operation: &Operation) -> String {
        let Operation { kind, reads, writes, d, completion } = operation;
        let read = |index: usize| reads.get(index).map_or("?".into(), |access| self.accessed(access));
        let written = writes.first().map_or("?".into(), |(access, _)| self.accessed(access));
        let value = match writes.first() {
            Some((access, Written::Value(value) | Written::ReducedBy(_, _, value))) => self.value(*value, access.ty),
            _ => String::new(),
        };
        let ty = writes.first().map_or(Type::U64, |(access, _)| access.ty);
        let mbarrier = match completion {
            Completion::Transactions { mbarrier, .. } => self.memory(*mbarrier),
            _ => String::new(),
        };
        match kind {
            OperationKind::Mma { cta_group, shape } => format!(
                "tcgen05.mma{} {written}, {}",
                mma_modifiers(MmaShape::from(*shape), reads.len(), &cta_group.to_string()),
                self.mma_operands(MmaShape::from(*shape), reads)
            ),
            OperationKind::TensorCopy { cta_group, is_4x256b } => {
                let shape = if *is_4x256b { "4x256b" } else { "128x256b" };
                let source = reads.first().map_or("?".into(), |access| self.address(access.a));
                format!("tcgen05.cp.{cta_group}.{shape} {written}, {source}")
            }
            OperationKind::Shift { cta_group } => format!("tcgen05.shift.{cta_group}.down {written}"),
            OperationKind::TensorLoad => {
                let d = d.map_or("_", |d| self.register(d));
                format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{{d}}}, {}", read(0))
            }
            OperationKind::TensorStore => format!("tcgen05.st.sync.aligned.32x32b.x1.b32 {written}, {{{value}}}"),
            OperationKind::Copy => {
                format!("cp.async.ca.shared::cta.global {written}, {}, {}", read(0), ty.bits() / 8)
            }
            OperationKind::Bulk => self.bulk(operation),
            OperationKind::Wgmma => {
                let matrices = reads.iter().map(|access| self.address(access.a));
                let registers = if reads.len() == 1 { "_, _" } else { "_" };
                let all: Vec<String> = [registers.to_owned()].into_iter().chain(matrices).collect();
                format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {}", all.join(", "))
            }
            OperationKind::Store => {
                let (mnemonic, op) = match writes.first() {
                    Some((_, Written::ReducedBy(op, ..))) => ("red.async.relaxed.cluster", format!(".{op}")),
                    _ => ("st.async.weak", String::new()),
                };
                let words = "shared::cluster.mbarrier::complete_tx::bytes";
                format!("{mnemonic}.{words}{op}.{ty} {written}, {value}, {mbarrier}")
            }
            OperationKind::TryCancel => format!(
                "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 {written}, {mbarrier}"
            ),
        }
    }

    /// The operands after the accumulator.
    fn mma_operands(&self, shape: MmaShape, reads: &[AsyncAccess]) -> String {
        let matrix = |access: &AsyncAccess| match access.proxy {
            Proxy::Tensor => self.memory(access.a),
            _ => self.address(access.a),
        };
        let mut operands: Vec<String> = reads.iter().map(matrix).collect();
        // The accumulator is also read.
        if operands.len() > 2 {
            operands.remove(2);
        }
        let scales = if shape.kind.has_scales() { 2 } else { 0 };
        operands.insert(operands.len().saturating_sub(scales), shape.idesc.to_string());
        operands.push("1".into());
        operands.join(", ")
    }

    fn bulk(&self, Operation { reads, writes, completion, .. }: &Operation) -> String {
        let (Some(source), Some((destination, written))) = (reads.first(), writes.first()) else { return "?".into() };
        let descriptor = reads.last().filter(|access| access.proxy == Proxy::Tensormap);
        let described = |access: &AsyncAccess| match descriptor {
            Some(map) => format!("[{}, {{{}}}]", self.address(map.a), self.address(access.a)),
            None => self.memory(access.a),
        };
        let (reduce, suffix) = match written {
            // For a tensor, the descriptor contains the type.
            Written::Reduced(op, _) if descriptor.is_some() => ("reduce.", format!(".{op}")),
            Written::Reduced(op, _) => ("reduce.", format!(".{op}.{}", destination.ty)),
            _ => ("", String::new()),
        };
        let tensor = if descriptor.is_some() { ".tensor.1d" } else { "" };
        let size = |bytes: u32| if descriptor.is_some() { String::new() } else { format!(", {bytes}") };
        match completion {
            Completion::Transactions { mbarrier, bytes } => {
                let is_shared = matches!(source.a.base, Operand::Address(of)
                    if self.program.locations.get(usize::from(of.0)).is_some_and(|of| of.memory == Memory::Shared));
                let from = if is_shared { "shared::cta" } else { "global" };
                let words = format!("shared::cluster.{from}.mbarrier::complete_tx::bytes{suffix}");
                let (d, s) = (self.memory(destination.a), described(source));
                format!("cp.{reduce}async.bulk{tensor}.{words} {d}, {s}{}, {}", size(*bytes), self.memory(*mbarrier))
            }
            _ => {
                let (d, s) = (described(destination), self.memory(source.a));
                format!("cp.{reduce}async.bulk{tensor}.global.shared::cta.bulk_group{suffix} {d}, {s}{}", size(16))
            }
        }
    }
}

fn mma_modifiers(MmaShape { kind, ws, .. }: MmaShape, reads: usize, cta_group: &str) -> String {
    let scaled = kind.has_scales();
    let is_sparse = reads == if scaled { 6 } else { 4 };
    let word = |is: bool, word: &'static str| if is { word } else { "" };
    let (ws, sp) = (word(ws, ".ws"), word(is_sparse, ".sp"));
    let scale = if kind == MmaKind::Mxf4nvf4 { ".block_scale.block16" } else { word(scaled, ".block_scale") };
    format!("{ws}{sp}.{cta_group}.{kind}{scale}")
}

fn semantics(relaxed: bool, otherwise: &str, scope: Scope) -> String {
    format!("{}.{scope}", if relaxed { "relaxed" } else { otherwise })
}

fn group(of: Group) -> &'static str {
    match of {
        Group::Copy => "cp.async",
        Group::Bulk => "cp.async.bulk",
        Group::Wgmma => "wgmma",
    }
}

/// The suffix of `wgmma` instructions.
fn aligned(of: Group) -> &'static str {
    if of == Group::Wgmma { ".sync.aligned" } else { "" }
}

//! Asynchronous instructions, the waits for them, and their fences: the instruction of the model for each family of
//! `ptx_isa`.
//!
//! After the words of the family, modifiers may be in any order, and modifiers without a meaning for the model may be
//! omitted.

mod form;

use ptx_isa::{
    AluOp, Family, ModifierKind, Role,
    effects::{self, Effect, FenceEffect, MbarrierEffect, Started},
    syntax::{Number, Shape},
};

use self::form::Form;
use super::{
    operand::{Reader, Wrong},
    shape::{MmaKind, MmaShape},
};
use crate::{
    asynchronous::{
        AsyncAccess, Asynchronous, Completion, CtaGroup, Group, MbarrierOperation, Memory, Operation, OperationKind,
        Phase, TENSOR_BYTES,
    },
    program::{Address, Computation, Operand, Type},
    ptx::{Fence, FencedSpace, Instruction, OneSided, Proxy, ProxyFence},
};

/// Whether a `fence.proxy` belongs to the async or the tensormap proxy alone.
pub(super) fn is_of_async(proxy: &str, rest: &[&str]) -> bool {
    matches!((proxy, rest), ("async", [_]) | ("async::generic" | "tensormap::generic", _))
}

/// The modifiers of the two sides of fences that are restricted to shared memory.
pub(super) const HALVES: [(OneSided, &str); 2] =
    [(OneSided::Release, "sync_restrict::shared::cta"), (OneSided::Acquire, "sync_restrict::shared::cluster")];

/// Families whose effects are modelled, but with values or operands that are not.
const UNMODELLED: [Family; 7] = [
    Family::TensormapCpFenceproxy,
    Family::MbarrierArriveNoComplete,
    Family::MbarrierArriveDropNoComplete,
    Family::MultimemCpAsyncBulk,
    Family::MultimemCpReduceAsyncBulk,
    Family::WgmmaMmaAsyncSp,
    Family::Tcgen05LdRed,
];

impl Reader<'_, '_> {
    /// An instruction that starts operations, waits for them, orders them, or operates on an mbarrier.
    pub(super) fn asynchronous(&mut self) -> Result<Instruction, Wrong> {
        let mut form = Form::read(self)?;
        let found = form.instruction()?;
        form.done()?;
        Ok(found)
    }
}

impl Form<'_, '_, '_> {
    fn instruction(&mut self) -> Result<Instruction, Wrong> {
        let fence = |of| Ok(Instruction::Fence(of));
        let found = match self.outline.effect() {
            _ if UNMODELLED.contains(&self.outline.family) => return self.no_instruction(),
            Effect::Fence(FenceEffect::MbarrierInit) => return fence(Fence::MbarrierInit),
            Effect::Fence(FenceEffect::Proxy(effects::ProxyFence::TensormapHalf(_))) => return self.tensormap(),
            Effect::Fence(FenceEffect::Proxy(_)) => return fence(Fence::Proxy(self.proxy_fence()?)),
            Effect::Fence(FenceEffect::Memory(side)) => return fence(Fence::Restricted(side)),
            Effect::Fence(FenceEffect::Wgmma) => return fence(Fence::Wgmma),
            Effect::Fence(FenceEffect::Tensor(side)) => return fence(Fence::Tensor(side)),
            Effect::Mbarrier(of) => self.mbarrier(of)?,
            Effect::CommitGroup(of) => Asynchronous::CommitGroup(of),
            Effect::WaitGroup { of, all: true, .. } => {
                Asynchronous::WaitGroup { of, pending: 0, read: false, all: true }
            }
            Effect::WaitGroup { of, all: false, reads_only: read } => {
                let pending = self.small(Role::Pending, "the number of groups that may be incomplete")?;
                Asynchronous::WaitGroup { of, pending, read, all: false }
            }
            Effect::TensorWait(wait) => Asynchronous::TensorWait(wait),
            Effect::CopyArrive { noinc } => {
                Asynchronous::ArriveOnCopies { mbarrier: self.shared(Role::Barrier)?, noinc }
            }
            Effect::TensorCommit(of) => {
                let cta_group = self.cta_group_of_one()?;
                Asynchronous::Commit { cta_group, of, mbarrier: self.shared(Role::Barrier)? }
            }
            Effect::Allocate => {
                // The variable of the allocated memory replaces PTX's number of columns.
                let cta_group = self.cta_group_of_one()?;
                let d = self.shared(Role::Destination)?;
                Asynchronous::Allocate { d, tensor: self.in_memory(Role::Columns, Memory::Tensor)?, cta_group }
            }
            Effect::Deallocate => {
                let cta_group = self.cta_group()?;
                Asynchronous::Deallocate { tensor: self.in_memory(Role::Tmem, Memory::Tensor)?, cta_group }
            }
            Effect::Relinquish => {
                self.cta_group()?;
                Asynchronous::Relinquish
            }
            Effect::Start(started, _) => Asynchronous::Start(self.operation(started)?),
            _ => return self.no_instruction(),
        };
        Ok(found.into())
    }

    /// The CTA group of an instruction that does not need the other CTA of a pair.
    fn cta_group_of_one(&mut self) -> Result<CtaGroup, Wrong> {
        let cta_group = self.cta_group();
        self.reader.cell.of_pair = false;
        cta_group
    }

    /// The operation that an instruction starts.
    fn operation(&mut self, started: Started) -> Result<Operation, Wrong> {
        Ok(match started {
            Started::TensorLoad => {
                let (d, which) = self.single(Role::Destination)?;
                let d = self.reader.register_of(d, which)?;
                Operation::tensor_load(d, self.tensor(Role::Tmem)?)
            }
            Started::TensorStore => {
                let t = self.tensor(Role::Tmem)?;
                let (b, which) = self.single(Role::Source)?;
                Operation::tensor_store(t, self.reader.value_of(b, which, Type::U64)?)
            }
            Started::TensorCopy => {
                let (cta_group, is_4x256b) = (self.cta_group()?, self.outline.has("4x256b"));
                let t = self.tensor(Role::Tmem)?;
                Operation::tensor_copy(cta_group, is_4x256b, t, self.shared(Role::Source)?)
            }
            Started::TensorShift => {
                let cta_group = self.cta_group()?;
                Operation::shift(cta_group, self.tensor(Role::Tmem)?)
            }
            Started::Mma => self.mma()?,
            Started::Copy => self.copy()?,
            Started::Bulk => self.bulk()?,
            Started::Store => self.store()?,
            Started::TryCancel => {
                let d = self.shared(Role::Destination)?;
                Operation::try_cancel(d, self.shared(Role::Barrier)?)
            }
            Started::Wgmma => self.wgmma()?,
        })
    }

    fn no_instruction<T>(&self) -> Result<T, Wrong> {
        self.wrong(format!("`{}` is not an instruction of a litmus test", self.reader.spelled()))
    }

    /// `fence.proxy.async` of one space, or one of its halves.
    fn proxy_fence(&self) -> Result<ProxyFence, Wrong> {
        if let Some(space) = self.modifier::<FencedSpace>(ModifierKind::Space) {
            return Ok(ProxyFence::AsyncOf(space));
        }
        let place = self.outline.modifier(ModifierKind::Restriction);
        let found = HALVES
            .into_iter()
            .find(|half| (self.modifier(ModifierKind::Semantics), place) == (Some(half.0), Some(half.1)));
        found.map_or_else(|| self.no_instruction(), |(half, _)| Ok(ProxyFence::AsyncHalf(half)))
    }

    fn tensormap(&mut self) -> Result<Instruction, Wrong> {
        let half = self.modifier::<OneSided>(ModifierKind::Semantics);
        let (Some(half), Some(scope)) = (half, self.modifier(ModifierKind::Scope)) else {
            return self.no_instruction();
        };
        if half == OneSided::Release {
            return Ok(Instruction::Fence(Fence::Proxy(ProxyFence::TensormapRelease(scope))));
        }
        if self.written(Role::Size)?.1.shape != Shape::Number(Number::Integer(128)) {
            return self.wrong("the acquire fence is for 128 bytes: write `[a], 128`");
        }
        let a = self.index(Role::Destination)?;
        Ok(Asynchronous::AcquireTensormap { a: self.reader.address(a)?, scope }.into())
    }

    fn mbarrier(&mut self, of: MbarrierEffect) -> Result<Asynchronous, Wrong> {
        match of {
            MbarrierEffect::Init => self.mbarrier_with(Role::Count, |count| MbarrierOperation::Init { count }),
            MbarrierEffect::Inval => {
                Ok(Asynchronous::Mbarrier { a: self.shared(Role::Barrier)?, of: MbarrierOperation::Inval })
            }
            MbarrierEffect::ExpectTx => self.mbarrier_with(Role::Bytes, |bytes| MbarrierOperation::ExpectTx { bytes }),
            MbarrierEffect::CompleteTx => {
                self.mbarrier_with(Role::Bytes, |bytes| MbarrierOperation::CompleteTx { bytes })
            }
            MbarrierEffect::Arrive { drops, relaxed, .. } => self.arrive(drops, relaxed),
            MbarrierEffect::Wait { phase: role, relaxed } => {
                let phase = if role == Role::State { Phase::State } else { Phase::Parity };
                let (scope, d) = (self.scope(), self.register(Role::Done)?);
                self.mbarrier_with(role, |which| MbarrierOperation::Wait { d, phase: phase(which), relaxed, scope })
            }
        }
    }

    /// An operation on an mbarrier with a value.
    fn mbarrier_with(
        &mut self,
        role: Role,
        of: impl FnOnce(Operand) -> MbarrierOperation,
    ) -> Result<Asynchronous, Wrong> {
        Ok(Asynchronous::Mbarrier { a: self.shared(Role::Barrier)?, of: of(self.value(role, Type::U32)?) })
    }

    fn arrive(&mut self, drops: bool, relaxed: bool) -> Result<Asynchronous, Wrong> {
        let scope = self.scope();
        if let Some(Shape::Memory { .. }) = self.reader.of.operands.first().map(|first| &first.shape) {
            return self.wrong("expected `state, [bar]` and an optional third operand; `_` stands for an unused state");
        }
        let d = match self.written(Role::State)?.1.shape {
            Shape::Sink => None,
            _ => Some(self.register(Role::State)?),
        };
        let a = self.shared(Role::Barrier)?;
        let count = if self.has(Role::Count) { self.value(Role::Count, Type::U32)? } else { Operand::Immediate(1) };
        let expects = if self.has(Role::Bytes) { Some(self.value(Role::Bytes, Type::U32)?) } else { None };
        let of = MbarrierOperation::Arrive { d, count, expects, drops, relaxed, scope };
        Ok(Asynchronous::Mbarrier { a, of })
    }

    /// `[d], a, b, idesc, p`, with metadata after `b` and scales after `idesc` if the instruction takes them.
    fn mma(&mut self) -> Result<Operation, Wrong> {
        let ws = matches!(self.outline.family, Family::Tcgen05MmaWs | Family::Tcgen05MmaWsSp);
        let cta_group = self.cta_group()?;
        let Some(kind) = self.modifier::<MmaKind>(ModifierKind::MatrixKind) else {
            return self.wrong("`tcgen05.mma` needs a kind, such as `.kind::f16`");
        };
        let d = self.tensor(Role::D)?;
        let a = match self.written(Role::A)?.1.shape {
            Shape::Memory { .. } => AsyncAccess::by(Proxy::Tensor, self.tensor(Role::A)?),
            _ => AsyncAccess::by(Proxy::Async, self.shared(Role::A)?),
        };
        let b = self.shared(Role::B)?;
        let further = [Role::Metadata, Role::ScaleA, Role::ScaleB].into_iter().filter(|role| self.has(*role));
        let further: Vec<Role> = further.collect();
        let further = further.into_iter().map(|role| self.tensor(role)).collect::<Result<Vec<_>, _>>()?;
        let idesc = self.small(Role::Descriptor, "the descriptor of the instruction, the same for the same shape")?;
        if self.constant(Role::Accumulate, "whether the accumulator is read")? == 0 {
            return self.wrong(
                "the accumulator is read here: write 1 as the last operand, or a register that is 1 from the start",
            );
        }
        let kind = OperationKind::Mma { cta_group, shape: MmaShape { idesc, kind, ws }.into() };
        Ok(Operation::mma(kind, d, a, b, further))
    }

    /// `cp.async.ca.shared.global [dst], [src], size`
    fn copy(&mut self) -> Result<Operation, Wrong> {
        if self.spaces() != [Memory::Shared, Memory::Global] {
            return self.wrong("`cp.async` copies from global to shared memory: write `.shared.global`");
        }
        let ty = match self.small(Role::Size, "a size in bytes")? {
            4 => Type::U32,
            8 | 16 => Type::U64,
            size => return self.wrong(format!("`cp.async` copies 4, 8 or 16 bytes, not {size}")),
        };
        Ok(Operation::copy(self.shared(Role::Destination)?, self.in_memory(Role::Source, Memory::Global)?, ty))
    }

    /// `cp.async.bulk` and `cp.reduce.async.bulk`, with and without `.tensor`.
    fn bulk(&mut self) -> Result<Operation, Wrong> {
        let tensor = matches!(self.outline.family, Family::CpAsyncBulkTensor | Family::CpReduceAsyncBulkTensor);
        let Some(completion) = self.outline.modifier(ModifierKind::Completion) else {
            return self.wrong("a bulk copy completes at an mbarrier or with its group: `.mbarrier::complete_tx::bytes` or `.bulk_group`");
        };
        let &[to, from] = &self.spaces()[..] else {
            return self.wrong("a bulk copy names two state spaces: of the destination, then of the source");
        };
        if self.outline.has("relaxed") {
            return self.wrong("bulk copies are weak here: leave `.relaxed`, its scope and `.b128` out");
        }
        if self.outline.has("cta_group::2") {
            return self.wrong("a copy completes at an mbarrier of its own CTA here: write `.cta_group::1`");
        }
        let reduction = self.reduction()?;
        let mut descriptor = None;
        let mut side = |form: &mut Self, role: Role, memory: Memory| {
            if !tensor || memory == Memory::Shared {
                return form.in_memory(role, memory);
            }
            let (map, data) = form.described(role)?;
            descriptor = Some(map);
            Ok(data)
        };
        let (d, s) = (side(self, Role::Destination, to)?, side(self, Role::Source, from)?);
        let bytes = if tensor { TENSOR_BYTES } else { self.small(Role::Size, "a size in bytes")? };
        let completion = match completion {
            "bulk_group" => Completion::Group(Group::Bulk),
            _ => Completion::Transactions { mbarrier: self.shared(Role::Barrier)?, bytes },
        };
        Ok(Operation::bulk(d, s, descriptor, reduction, completion))
    }

    /// The operation of a reduction, and the type of its elements; `None` if the instruction is not a reduction.
    fn reduction(&mut self) -> Result<Option<(AluOp, Type)>, Wrong> {
        let is_tensor = match self.outline.family {
            Family::CpReduceAsyncBulkTensor => true,
            Family::CpReduceAsyncBulk | Family::RedAsync => false,
            _ => return Ok(None),
        };
        let (op, ty) = (self.modifier::<AluOp>(ModifierKind::Operation), self.modifier::<Type>(ModifierKind::Type));
        if ty.is_none() && !is_tensor && op != Some(AluOp::Add) {
            return self
                .wrong(format!("`{}` needs a type: only `.add` without a type has 64 bits", self.reader.spelled()));
        }
        let ty = ty.unwrap_or(Type::U64);
        match op {
            Some(op) if Computation::Alu(op).is_known(ty) && op.arity() == 2 => Ok(Some((op, ty))),
            _ => self.wrong(format!("the model does not compute `{}`: it has only integers", self.reader.spelled())),
        }
    }

    /// `[map, {x}]`: the descriptor, and the data that it describes; the variable of the data replaces PTX's first
    /// coordinate.
    fn described(&mut self, role: Role) -> Result<(Address, Address), Wrong> {
        const FORM: &str =
            "the tensor is `[map, {x}]`: its descriptor, and the variable of its data as first coordinate";
        let (index, written) = self.written(role)?;
        let Shape::Memory { parts, suffix: None } = &written.shape else { return self.wrong(FORM) };
        let [map, coordinates] = &parts[..] else { return self.wrong(FORM) };
        let Shape::Vector(coordinates) = &coordinates.shape else { return self.wrong(FORM) };
        let Some(Shape::Name { .. }) = coordinates.first().map(|first| &first.shape) else { return self.wrong(FORM) };
        let map = self.reader.address_of(map, index + 1)?;
        let data = self.reader.address_of(&coordinates[0], index + 1)?;
        self.put(data, Memory::Global);
        Ok((map, data))
    }

    /// `st.async` and `red.async`
    fn store(&mut self) -> Result<Operation, Wrong> {
        let reduction = self.reduction()?;
        let ty = self.modifier(ModifierKind::Type).unwrap_or(Type::U64);
        let a = self.shared(Role::Destination)?;
        let (value, written) = self.written(Role::Value)?;
        let b = self.reader.fitting(written, value + 1, ty)?;
        Ok(Operation::store(a, ty, b, reduction.map(|(op, _)| op), self.shared(Role::Barrier)?))
    }

    /// `wgmma.mma_async _, a, b, …`
    fn wgmma(&mut self) -> Result<Operation, Wrong> {
        let operands = &self.reader.of.operands;
        let is_valid = operands.len() >= 3
            && operands[0].shape == Shape::Sink
            && operands[3..].iter().all(|operand| matches!(operand.shape, Shape::Number(_)));
        if !is_valid {
            return self.wrong(
                "expected `_, a, b` and numbers as operands of `wgmma.mma_async`: `_` stands for its registers, which have no values",
            );
        }
        self.unread.clear();
        let matrices = [Role::A, Role::B].into_iter().skip(usize::from(operands[1].shape == Shape::Sink));
        let matrices = matrices.map(|role| self.shared(role)).collect::<Result<Vec<_>, _>>()?;
        Ok(Operation::wgmma(matrices))
    }
}

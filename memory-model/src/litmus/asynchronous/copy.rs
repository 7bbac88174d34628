//! Copies of all kinds (section 9.7.9), `wgmma` (9.7.15), and `clusterlaunchcontrol.try_cancel`.

use ptx_isa::{AluOp, syntax::Shape};

use super::words::Words;
use crate::{
    asynchronous::{Asynchronous, Completion, Group, Memory, Operation, TENSOR_BYTES},
    litmus::operand::{Reader, Wrong},
    program::{Address, Computation, Type},
};

impl<'t> Reader<'_, 't> {
    /// `cp.async` and `cp.async.bulk`, with their groups.
    pub(super) fn copy(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        if !words.take("async") {
            return self.no_instruction();
        }
        let bulk = words.take("bulk");
        let group = if bulk { Group::Bulk } else { Group::Copy };
        if let Some(found) = self.group(&mut words, group)? {
            return Ok(found);
        }
        if !bulk && words.take("mbarrier") && words.take("arrive") {
            let noinc = words.take("noinc");
            words.ignore(&["shared", "shared::cta", "b64"]);
            self.done(&words)?;
            self.count(1)?;
            return Ok(Asynchronous::ArriveOnCopies { mbarrier: self.mbarrier_at(0)?, noinc });
        }
        Ok(Asynchronous::Start(if bulk { self.bulk(words)? } else { self.small_copy(words)? }))
    }

    /// `commit_group`, `wait_group` and `wait_all`.
    fn group(&mut self, words: &mut Words<'t>, of: Group) -> Result<Option<Asynchronous>, Wrong> {
        if words.take("commit_group") {
            self.done(words)?;
            self.count(0)?;
            return Ok(Some(Asynchronous::CommitGroup(of)));
        }
        if words.take("wait_group") {
            let read = of == Group::Bulk && words.take("read");
            self.done(words)?;
            self.count(1)?;
            let pending = self.small(0, "the number of groups that may be incomplete")?;
            return Ok(Some(Asynchronous::WaitGroup { of, pending, read, all: false }));
        }
        if of == Group::Copy && words.take("wait_all") {
            self.done(words)?;
            self.count(0)?;
            return Ok(Some(Asynchronous::WaitGroup { of, pending: 0, read: false, all: true }));
        }
        Ok(None)
    }

    /// Checks the number of operands, behind which a cache policy may stand.
    fn count_with_hint(&self, words: &mut Words<'t>, expected: usize) -> Result<(), Wrong> {
        let hint = usize::from(words.take("L2::cache_hint"));
        self.done(words)?;
        self.count(expected + hint)
    }

    /// `cp.async.ca.shared.global [dst], [src], size`
    fn small_copy(&mut self, mut words: Words<'t>) -> Result<Operation, Wrong> {
        words.ignore(&["ca", "cg", "L2::64B", "L2::128B", "L2::256B"]);
        if words.spaces() != [Memory::Shared, Memory::Global] {
            return self.wrong("`cp.async` copies from global to shared memory: write `.shared.global`");
        }
        self.count_with_hint(&mut words, 3)?;
        let size = self.small(2, "a size in bytes")?;
        let ty = match size {
            4 => Type::U32,
            8 | 16 => Type::U64,
            _ => return self.wrong(format!("`cp.async` copies 4, 8 or 16 bytes, not {size}")),
        };
        Ok(Operation::copy(self.in_memory(0, Memory::Shared)?, self.in_memory(1, Memory::Global)?, ty))
    }

    /// `cp.async.bulk` and `cp.reduce.async.bulk`, with and without `.tensor`.
    fn bulk(&mut self, mut words: Words<'t>) -> Result<Operation, Wrong> {
        let tensor = words.take("tensor");
        let reduces = words.take("reduce");
        words.ignore(&["cta_group::1"]);
        if tensor {
            words.ignore(&["tile", "1d", "2d", "3d", "4d", "5d"]);
        }
        let signals = words.take("mbarrier::complete_tx::bytes");
        if !signals && !words.take("bulk_group") {
            return self.wrong("a bulk copy completes at an mbarrier or with its group: `.mbarrier::complete_tx::bytes` or `.bulk_group`");
        }
        let spaces = words.spaces();
        let &[to, from] = &spaces[..] else {
            return self.wrong("a bulk copy names two state spaces, first that of the destination");
        };
        if (to == Memory::Shared) != signals || to == from && to == Memory::Global {
            return self
                .wrong("a bulk copy to shared memory completes at an mbarrier, one to global memory with its group");
        }
        let reduction = if reduces { Some(self.reduction(&mut words)?) } else { None };
        let sized = usize::from(!tensor);
        self.count_with_hint(&mut words, 2 + sized + usize::from(signals))?;
        let mut descriptor = None;
        let mut side = |reader: &mut Self, index: usize, memory: Memory| {
            if !tensor || memory == Memory::Shared {
                return reader.in_memory(index, memory);
            }
            let (map, data) = reader.described(index)?;
            descriptor = Some(map);
            Ok(data)
        };
        let (d, s) = (side(self, 0, to)?, side(self, 1, from)?);
        let completion = if signals {
            let bytes = if tensor { TENSOR_BYTES } else { self.small(2, "a size in bytes")? };
            Completion::Transactions { mbarrier: self.mbarrier_at(2 + sized)?, bytes }
        } else {
            if !tensor {
                self.small(2, "a size in bytes")?;
            }
            Completion::Group(Group::Bulk)
        };
        Ok(Operation::bulk(d, s, descriptor, reduction, completion))
    }

    /// What `cp.reduce` does, and the type of its elements.
    fn reduction(&mut self, words: &mut Words<'t>) -> Result<(AluOp, Type), Wrong> {
        let op = words.parse::<AluOp>();
        let ty = words.parse::<Type>().unwrap_or(Type::U64);
        match op {
            Some(op) if Computation::Alu(op).is_known(ty) && Computation::Alu(op).arity() == 2 => Ok((op, ty)),
            _ => self.wrong(format!("`{}` is not what the model computes: it has integers alone", self.spelled())),
        }
    }

    /// `[map, {x}]`: the descriptor, and the data that it describes, whose variable stands where PTX has the first coordinate.
    fn described(&mut self, index: usize) -> Result<(Address, Address), Wrong> {
        const FORM: &str =
            "the tensor is `[map, {x}]`: its descriptor, and the variable of its data as first coordinate";
        let written = &self.of.operands[index];
        let Shape::Memory { parts, suffix: None } = &written.shape else { return self.wrong(FORM) };
        let [map, coordinates] = &parts[..] else { return self.wrong(FORM) };
        let Shape::Vector(coordinates) = &coordinates.shape else { return self.wrong(FORM) };
        let Some(Shape::Name { .. }) = coordinates.first().map(|first| &first.shape) else { return self.wrong(FORM) };
        let map = self.address_of(map, index + 1)?;
        let data = self.address_of(&coordinates[0], index + 1)?;
        self.put(data, Memory::Global);
        Ok((map, data))
    }

    /// `st.async` and `red.async`
    pub(super) fn store_async(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        let reduces = self.mnemonic() == "red";
        words.ignore(&["async", "mbarrier::complete_tx::bytes", "shared::cluster"]);
        words.ignore(if reduces { &["relaxed", "cluster"] } else { &["weak"] });
        let (op, ty) = if reduces {
            let (op, ty) = self.reduction(&mut words)?;
            (Some(op), ty)
        } else {
            (None, words.parse::<Type>().unwrap_or(Type::U64))
        };
        self.done(&words)?;
        if !matches!(ty.bits(), 32 | 64) {
            return self.wrong(format!("`{}.async` has 32 or 64 bits, not {}", self.mnemonic(), ty.bits()));
        }
        self.count(3)?;
        let a = self.in_memory(0, Memory::Shared)?;
        let b = self.fitting(&self.of.operands[1], 2, ty)?;
        Ok(Asynchronous::Start(Operation::store(a, ty, b, op, self.mbarrier_at(2)?)))
    }

    /// `clusterlaunchcontrol.try_cancel`.
    pub(super) fn try_cancel(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        if !words.take("try_cancel") {
            return self.no_instruction();
        }
        words.ignore(&["async", "shared::cta", "mbarrier::complete_tx::bytes", "b128"]);
        self.done(&words)?;
        self.count(2)?;
        let d = self.in_memory(0, Memory::Shared)?;
        Ok(Asynchronous::Start(Operation::try_cancel(d, self.mbarrier_at(1)?)))
    }

    /// `wgmma.mma_async _, a, b, …` and its groups.
    pub(super) fn wgmma(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        words.ignore(&["sync", "aligned"]);
        if let Some(found) = self.group(&mut words, Group::Wgmma)? {
            return Ok(found);
        }
        if !words.take("mma_async") {
            return self.no_instruction();
        }
        let is_shape =
            |word: &str| word.starts_with('m') && word[1..].bytes().all(|byte| b"0123456789nk".contains(&byte));
        words.ignore_if(|word| is_shape(word) || word.parse::<Type>().is_ok());
        words.ignore(&["bf16", "tf32", "e4m3", "e5m2", "b1", "and", "popc", "satfinite", "s8", "u8"]);
        self.done(&words)?;
        let operands = &self.of.operands;
        let is_valid = operands.len() >= 3
            && operands[0].shape == Shape::Sink
            && operands[3..].iter().all(|operand| matches!(operand.shape, Shape::Number(_)));
        if !is_valid {
            return self.wrong(
                "`wgmma.mma_async` is `_, a, b` here, and numbers: its registers have no values, and `_` stands for them",
            );
        }
        let matrices = (1..3).filter(|index| operands[*index].shape != Shape::Sink || *index == 2);
        let matrices = matrices.map(|index| self.in_memory(index, Memory::Shared)).collect::<Result<Vec<_>, _>>()?;
        Ok(Asynchronous::Start(Operation::wgmma(matrices)))
    }
}

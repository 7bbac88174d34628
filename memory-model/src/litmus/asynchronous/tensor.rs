//! `tcgen05` (section 9.7.16).

use ptx_isa::syntax::{Operand as Written, Shape};

use super::words::Words;
use crate::{
    asynchronous::{Asynchronous, CtaGroup, Memory, Operation, OperationKind, TensorWait, Through},
    litmus::{
        operand::{Reader, Wrong},
        shape::{MmaKind, MmaShape},
    },
    program::Type,
};

/// Whether a word is a shape, a number of repetitions, or how elements are laid out or converted.
fn is_layout(word: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let shape =
        word.strip_suffix('b').and_then(|word| word.split_once('x')).is_some_and(|(a, b)| digits(a) && digits(b));
    let repeated = word.strip_prefix('x').is_some_and(digits);
    let others =
        ["pack::16b", "unpack::16b", "b8x16", "b6x16_p32", "b4x16_p64", "warpx4", "warpx2::02_13", "warpx2::01_23"];
    shape || repeated || others.contains(&word)
}

impl<'t> Reader<'_, 't> {
    pub(super) fn tensor(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        if let Some(wait) = words.parse::<TensorWait>() {
            words.ignore(&["sync", "aligned"]);
            self.done(&words)?;
            self.count(0)?;
            return Ok(Asynchronous::TensorWait(wait));
        }
        let operation = match () {
            () if words.take("ld") => self.tensor_load(words)?,
            () if words.take("st") => self.tensor_store(words)?,
            () if words.take("mma") => self.mma(words)?,
            () if words.take("cp") => self.tensor_copy(words)?,
            () if words.take("shift") => {
                let cta_group = self.cta_group(&mut words)?;
                words.ignore(&["down"]);
                self.done(&words)?;
                self.count(1)?;
                Operation::shift(cta_group, self.tensor_matrix(0)?)
            }
            () => return self.allocation(words),
        };
        Ok(Asynchronous::Start(operation))
    }

    /// What is synchronous: the signal of completion, and what allocates.
    fn allocation(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        let which = ["commit", "alloc", "dealloc", "relinquish_alloc_permit"];
        let Some(which) = which.into_iter().find(|word| words.take(word)) else { return self.no_instruction() };
        let cta_group = self.cta_group(&mut words)?;
        self.cell.of_pair &= which != "commit";
        words.ignore(&["sync", "aligned", "b32", "b64", "mbarrier::arrive::one", "shared::cta", "shared::cluster"]);
        self.done(&words)?;
        Ok(match which {
            "commit" => {
                self.count(1)?;
                Asynchronous::Commit { cta_group, mbarrier: self.mbarrier_at(0)? }
            }
            "alloc" => {
                self.count(2)?;
                self.cell.of_pair = false;
                let d = self.in_memory(0, Memory::Shared)?;
                Asynchronous::Allocate { d, tensor: self.in_memory(1, Memory::Tensor)?, cta_group }
            }
            "dealloc" => {
                // How many columns are freed is nothing to the model.
                if !matches!(self.of.operands.len(), 1 | 2) {
                    self.count(2)?;
                }
                Asynchronous::Deallocate { tensor: self.in_memory(0, Memory::Tensor)?, cta_group }
            }
            _ => {
                self.count(0)?;
                Asynchronous::Relinquish
            }
        })
    }

    fn cta_group(&mut self, words: &mut Words<'t>) -> Result<CtaGroup, Wrong> {
        let Some(cta_group) = words.parse() else {
            return self.wrong(format!("`{}` needs `.cta_group::1` or `.cta_group::2`", self.spelled()));
        };
        self.cell.of_pair = cta_group == CtaGroup::Two;
        Ok(cta_group)
    }

    /// The register of a list of one.
    fn single<'a>(&self, written: &'a Written<'t>) -> Result<&'a Written<'t>, Wrong> {
        match &written.shape {
            Shape::Vector(elements) => match &elements[..] {
                [one] => Ok(one),
                _ => self.wrong("a matrix is one element here: write one register"),
            },
            _ => Ok(written),
        }
    }

    fn tensor_load(&mut self, mut words: Words<'t>) -> Result<Operation, Wrong> {
        words.ignore(&["sync", "aligned", "b32"]);
        words.ignore_if(is_layout);
        self.done(&words)?;
        self.count(2)?;
        let d = self.register_of(self.single(&self.of.operands[0])?, 1)?;
        Ok(Operation::tensor_load(d, self.tensor_matrix(1)?))
    }

    fn tensor_store(&mut self, mut words: Words<'t>) -> Result<Operation, Wrong> {
        words.ignore(&["sync", "aligned", "b32"]);
        words.ignore_if(is_layout);
        self.done(&words)?;
        self.count(2)?;
        let t = self.tensor_matrix(0)?;
        let b = self.value_of(self.single(&self.of.operands[1])?, 2, Type::U64)?;
        Ok(Operation::tensor_store(t, b))
    }

    fn tensor_copy(&mut self, mut words: Words<'t>) -> Result<Operation, Wrong> {
        let cta_group = self.cta_group(&mut words)?;
        let is_4x256b = words.take("4x256b");
        words.ignore_if(is_layout);
        self.done(&words)?;
        self.count(2)?;
        let t = self.tensor_matrix(0)?;
        Ok(Operation::tensor_copy(cta_group, is_4x256b, t, self.in_memory(1, Memory::Shared)?))
    }

    /// `[d], a, b, idesc, p`, with metadata behind `b` and scales behind `idesc` where it takes them.
    fn mma(&mut self, mut words: Words<'t>) -> Result<Operation, Wrong> {
        let cta_group = self.cta_group(&mut words)?;
        let Some(kind) = words.parse::<MmaKind>() else {
            return self.wrong("`tcgen05.mma` needs a kind, such as `.kind::f16`");
        };
        let (ws, is_sparse) = (words.take("ws"), words.take("sp"));
        let described = ["collector::", "scale_vec::"];
        words.ignore_if(|word| described.iter().any(|start| word.starts_with(start)));
        words.ignore(&["block_scale", "block16", "block32", "ashift"]);
        self.done(&words)?;
        let (metadata, scales) = (usize::from(is_sparse), if kind.has_scales() { 2 } else { 0 });
        self.count(5 + metadata + scales)?;
        let d = self.tensor_matrix(0)?;
        let a = match self.of.operands[1].shape {
            Shape::Memory { .. } => Through::Tensor.at(self.tensor_matrix(1)?),
            _ => Through::Async.at(self.in_memory(1, Memory::Shared)?),
        };
        let b = self.in_memory(2, Memory::Shared)?;
        let further = (3..3 + metadata).chain(4 + metadata..4 + metadata + scales);
        let further = further.map(|index| self.tensor_matrix(index)).collect::<Result<Vec<_>, _>>()?;
        let idesc = self.small(3 + metadata, "the descriptor of the instruction, the same for the same shape")?;
        if self.constant(4 + metadata + scales, "whether the accumulator is read")? == 0 {
            return self.wrong("the accumulator is read here: let the last operand be 1, or 1 from the start");
        }
        let kind = OperationKind::Mma { cta_group, shape: MmaShape { idesc, kind, ws }.into() };
        Ok(Operation::mma(kind, d, a, b, further))
    }
}

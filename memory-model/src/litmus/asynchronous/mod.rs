//! The reader of asynchronous instructions, of what waits for them, and of their fences.
//!
//! Modifiers may stand in any order, and those that say nothing to the model may be left out.

mod copy;
mod mbarrier;
mod tensor;
mod words;

use super::operand::{Reader, Wrong};
use crate::{
    asynchronous::{Asynchronous, Memory},
    place::Scope,
    program::{Address, Operand, Value},
    ptx::{Fence, FencedSpace, Instruction, OneSided, ProxyFence, TensorFence},
};
use ptx_isa::syntax::{Number, Shape};
use words::Words;

/// Whether a `fence.proxy` is one that the async or the tensormap proxy has for itself.
pub(super) fn is_of_async(proxy: &str, rest: &[&str]) -> bool {
    matches!((proxy, rest), ("async", [_]) | ("async::generic" | "tensormap::generic", _))
}

/// Where the halves of `fence.proxy.async::generic` stand in PTX.
const HALVES: [(OneSided, &str); 2] =
    [(OneSided::Release, "sync_restrict::shared::cta"), (OneSided::Acquire, "sync_restrict::shared::cluster")];

impl<'t> Reader<'_, 't> {
    /// An instruction that starts operations, waits for them, orders them, or is about an mbarrier.
    pub(super) fn asynchronous(&mut self) -> Result<Instruction, Wrong> {
        let mut words = Words::of(&self.of.modifiers);
        let found = match self.mnemonic() {
            "mbarrier" => self.mbarrier(words)?,
            "cp" => self.copy(words)?,
            "wgmma" if words.take("fence") => {
                words.ignore(&["sync", "aligned"]);
                self.done(&words)?;
                return self.fence(Fence::Wgmma);
            }
            "wgmma" => self.wgmma(words)?,
            "tcgen05" => {
                if let Some(side) = words.parse::<TensorFence>() {
                    self.done(&words)?;
                    return self.fence(Fence::Tensor(side));
                }
                self.tensor(words)?
            }
            "clusterlaunchcontrol" => self.try_cancel(words)?,
            _ => self.store_async(words)?,
        };
        Ok(found.into())
    }

    /// `fence.proxy.async.space`, and fences of one direction in two halves.
    pub(super) fn fence_of_async(&mut self, proxy: &str, rest: &[&str]) -> Result<Instruction, Wrong> {
        if proxy == "async" {
            return match rest[0].parse::<FencedSpace>() {
                Ok(space) => self.fence(Fence::Proxy(ProxyFence::AsyncOf(space))),
                Err(_) => self.no_instruction(),
            };
        }
        let [half, place @ .., scope] = rest else { return self.no_instruction() };
        let (Ok(half), Ok(scope)) = (half.parse::<OneSided>(), scope.parse::<Scope>()) else {
            return self.no_instruction();
        };
        match (proxy, half, place) {
            ("tensormap::generic", OneSided::Release, []) => {
                self.fence(Fence::Proxy(ProxyFence::TensormapRelease(scope)))
            }
            ("tensormap::generic", OneSided::Acquire, []) => {
                self.count(2)?;
                if self.of.operands[1].shape != Shape::Number(Number::Integer(128)) {
                    return self.wrong("the acquire half is for 128 bytes: `[a], 128`");
                }
                let a = self.address(0)?;
                Ok(Asynchronous::AcquireTensormap { a, scope }.into())
            }
            ("async::generic", half, [place]) if scope == Scope::Cluster && HALVES.contains(&(half, *place)) => {
                self.fence(Fence::Proxy(ProxyFence::AsyncHalf(half)))
            }
            _ => self.no_instruction(),
        }
    }

    fn no_instruction<T>(&self) -> Result<T, Wrong> {
        self.wrong(format!("`{}` is no instruction of a litmus test", self.spelled()))
    }

    /// An error at the first word that nothing has read.
    fn done(&self, words: &Words<'t>) -> Result<(), Wrong> {
        match words.first() {
            Some(word) => self.wrong_at(word, format!("`{}` takes no `.{}` here", self.mnemonic(), word.text)),
            None => Ok(()),
        }
    }

    /// An address in this memory.
    fn in_memory(&mut self, index: usize, memory: Memory) -> Result<Address, Wrong> {
        let a = self.address(index)?;
        self.put(a, memory);
        Ok(a)
    }

    /// Says where the variable of an address is.
    fn put(&mut self, a: Address, memory: Memory) {
        if let Operand::Address(variable) = a.base {
            self.cell.placed.push((variable, memory));
        }
    }

    /// The address of an mbarrier.
    fn mbarrier_at(&mut self, index: usize) -> Result<Address, Wrong> {
        self.in_memory(index, Memory::Shared)
    }

    /// A matrix in tensor memory.
    fn tensor_matrix(&mut self, index: usize) -> Result<Address, Wrong> {
        let a = self.in_memory(index, Memory::Tensor)?;
        if a.offset != 0 {
            return self.wrong("tensor memory has no offsets here: write another variable for other columns");
        }
        Ok(a)
    }

    /// A number, or a register that keeps the number of its start.
    fn constant(&mut self, index: usize, what: &str) -> Result<Value, Wrong> {
        match self.of.operands[index].shape {
            Shape::Number(Number::Integer(value)) => Ok(value),
            Shape::Name { name, suffix: None }
                if self.thread().registers.iter().any(|known| known.name == name.text) =>
            {
                let register = self.register(index)?;
                self.cell.constant.push(register);
                Ok(self.thread().registers[usize::from(register.0)].initial)
            }
            _ => self.wrong(format!(
                "operand {} of `{}` is {what}: write a number, or a register that has it from the start, as in \
                 `{{ P0:r0=1; }}`",
                index + 1,
                self.mnemonic()
            )),
        }
    }

    /// The same, of 32 bits.
    fn small(&mut self, index: usize, what: &str) -> Result<u32, Wrong> {
        let value = self.constant(index, what)?;
        u32::try_from(value).or_else(|_| self.wrong(format!("`{value}` is more than 32 bits, as {what}")))
    }
}

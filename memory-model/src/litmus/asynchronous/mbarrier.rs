//! Instructions on mbarriers (section 9.7.13.15).

use ptx_isa::syntax::Shape;

use super::words::Words;
use crate::{
    asynchronous::{Asynchronous, MbarrierOperation, Phase},
    litmus::operand::{Reader, Wrong},
    place::Scope,
    program::{Address, Operand, Register, Type},
};

impl<'t> Reader<'_, 't> {
    pub(super) fn mbarrier(&mut self, mut words: Words<'t>) -> Result<Asynchronous, Wrong> {
        words.ignore(&["b64", "shared", "shared::cta", "shared::cluster"]);
        let of = |found: Result<_, Wrong>| found.map(|(a, of)| Asynchronous::Mbarrier { a, of });
        let result = match () {
            () if words.take("init") => {
                self.done(&words)?;
                self.count(2)?;
                Ok((self.mbarrier_at(0)?, MbarrierOperation::Init { count: self.value(1, Type::U32)? }))
            }
            () if words.take("inval") => {
                self.done(&words)?;
                self.count(1)?;
                Ok((self.mbarrier_at(0)?, MbarrierOperation::Inval))
            }
            () if words.take("arrive") => self.arrive(words, false),
            () if words.take("arrive_drop") => self.arrive(words, true),
            () if words.take("test_wait") || words.take("try_wait") => self.wait(words),
            // Behind the arrivals, of which it may be a part.
            () if words.take("expect_tx") => self.transactions(words, |bytes| MbarrierOperation::ExpectTx { bytes }),
            () if words.take("complete_tx") => {
                self.transactions(words, |bytes| MbarrierOperation::CompleteTx { bytes })
            }
            () => self.no_instruction(),
        };
        of(result)
    }

    fn transactions(
        &mut self,
        mut words: Words<'t>,
        of: fn(Operand) -> MbarrierOperation,
    ) -> Result<(Address, MbarrierOperation), Wrong> {
        words.ignore(&["relaxed"]);
        self.cluster_scope(&mut words)?;
        self.done(&words)?;
        self.count(2)?;
        Ok((self.mbarrier_at(0)?, of(self.value(1, Type::U32)?)))
    }

    fn arrive(&mut self, mut words: Words<'t>, drops: bool) -> Result<(Address, MbarrierOperation), Wrong> {
        let expects = words.take("expect_tx");
        let relaxed = words.take("relaxed");
        if !relaxed {
            words.take("release");
        }
        let scope = self.cluster_scope(&mut words)?;
        self.done(&words)?;
        let operands = self.of.operands.len();
        if operands != 3 && (expects || operands != 2) {
            let form = if expects { "`state, [bar], bytes`" } else { "`state, [bar]` or `state, [bar], count`" };
            return self.wrong(format!("an arrival is {form}; `_` stands for a state that nothing needs"));
        }
        let d = match self.of.operands[0].shape {
            Shape::Sink => None,
            _ => Some(self.register(0)?),
        };
        let a = self.mbarrier_at(1)?;
        let third = if operands == 3 { Some(self.value(2, Type::U32)?) } else { None };
        let (count, expects) = if expects { (None, third) } else { (third, None) };
        let count = count.unwrap_or(Operand::Immediate(1));
        Ok((a, MbarrierOperation::Arrive { d, count, expects, drops, relaxed, scope }))
    }

    fn wait(&mut self, mut words: Words<'t>) -> Result<(Address, MbarrierOperation), Wrong> {
        let parity = words.take("parity");
        let relaxed = words.take("relaxed");
        if !relaxed {
            words.take("acquire");
        }
        let scope = self.cluster_scope(&mut words)?;
        self.done(&words)?;
        // The last one says how long to try, which is nothing to the model.
        if !matches!(self.of.operands.len(), 3 | 4) {
            let which = if parity { "parity" } else { "state" };
            return self.wrong(format!("a wait is `p, [bar], {which}`"));
        }
        let d: Register = self.register(0)?;
        let a = self.mbarrier_at(1)?;
        let which = self.value(2, Type::U64)?;
        let phase = if parity { Phase::Parity(which) } else { Phase::State(which) };
        Ok((a, MbarrierOperation::Wait { d, phase, relaxed, scope }))
    }

    /// The scope, which is that of the CTA where none is written.
    fn cluster_scope(&self, words: &mut Words<'t>) -> Result<Scope, Wrong> {
        match words.parse::<Scope>() {
            None => Ok(Scope::Cta),
            Some(scope @ (Scope::Cta | Scope::Cluster)) => Ok(scope),
            Some(scope) => self.wrong(format!("`mbarrier` takes `.cta` or `.cluster`, not `.{scope}`")),
        }
    }
}

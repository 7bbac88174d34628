//! The values that a term may have, and the values of reads for which it has a given value.

use super::{
    address::MAX_ADDRESSES,
    path::{Node, Path, Term},
};
use crate::program::{AluOp, Computation, Language, Type, Value, fits, truncate};

/// The maximum number of values of a read for which an address has the same value.
pub(super) const MAX_PREIMAGES: usize = 8;

impl<L: Language> Path<L> {
    /// All values that a term may have, if there are few.
    pub(super) fn values(&self, term: Term) -> Option<Vec<Value>> {
        let Some(Node::Computed(computation, ty, sources)) = self.node(term) else {
            return if let Term::Constant(value) = term { Some(vec![value]) } else { None };
        };
        if let (Computation::Alu(AluOp::And), [_, Term::Constant(mask), _] | [Term::Constant(mask), ..]) =
            (computation, sources)
        {
            let mask = truncate(ty, mask);
            if mask.count_ones() <= MAX_ADDRESSES.ilog2() {
                // Each part of the mask.
                let next = |part: &Value| (*part != mask).then(|| (part | !mask).wrapping_add(1) & mask);
                return Some(std::iter::successors(Some(0), next).collect());
            }
        }
        let used = |index: usize| if index < computation.arity() { self.values(sources[index]) } else { Some(vec![0]) };
        let [a, b, c] = [used(0)?, used(1)?, used(2)?];
        if a.len() * b.len() * c.len() > MAX_ADDRESSES {
            return None;
        }
        let mut values = Vec::new();
        for &a in &a {
            for &b in &b {
                for &c in &c {
                    values.push(computation.apply(ty, [a, b, c])?);
                }
            }
        }
        values.sort_unstable();
        values.dedup();
        Some(values)
    }

    /// The only event on which a term depends, and all values of the event for which the term has this value. `None` if
    /// the term depends on several events, or if there may be too many values.
    pub(super) fn preimages(&self, term: Term, value: Value, all: &mut Vec<Value>) -> Option<usize> {
        let node = match term {
            Term::Node(node) => self.nodes[node as usize],
            Term::Constant(_) => return None,
        };
        let (computation, ty, sources) = match node {
            Node::Event(event) => {
                let bits = self.bits(term);
                if bits >= Value::BITS || value >> bits == 0 {
                    all.push(value);
                }
                return Some(event);
            }
            Node::Computed(computation, ty, sources) => (computation, ty, sources),
            Node::Rmw(..) | Node::Expected(..) => return None,
        };
        let Computation::Alu(op) = computation else {
            let Computation::Cvt(to) = computation else { return None };
            // An extension; if the sign bit is set, the value has to agree.
            if to.bits() < ty.bits() {
                return None;
            }
            return self.among(sources[0], &[truncate(ty, value)], computation, ty, sources, value, all);
        };
        let (width, wide) = (|value: Value| truncate(ty, value), op.result_type(ty));
        let (source, candidates) = match (op, sources) {
            (AluOp::Mov, [a, ..]) => (a, vec![value]),
            (AluOp::Add, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) => {
                (a, vec![width(value.wrapping_sub(c))])
            }
            (AluOp::Sub, [a, Term::Constant(c), _]) => (a, vec![width(value.wrapping_add(c))]),
            (AluOp::Sub, [Term::Constant(c), a, _]) => (a, vec![width(c.wrapping_sub(value))]),
            (AluOp::Xor, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) => (a, vec![width(value ^ c)]),
            (AluOp::MulLo, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) => (a, quotients(value, c, ty)?),
            (AluOp::MadLo, [a, Term::Constant(c), Term::Constant(d)] | [Term::Constant(c), a, Term::Constant(d)]) => {
                (a, quotients(value.wrapping_sub(d), c, ty)?)
            }
            (AluOp::MulWide, [a, Term::Constant(c), _] | [Term::Constant(c), a, _]) if !ty.is_signed() => {
                (a, quotients(value, c, wide)?.into_iter().filter(|value| fits(ty, *value)).collect())
            }
            (AluOp::MadWide, [a, Term::Constant(c), Term::Constant(d)] | [Term::Constant(c), a, Term::Constant(d)])
                if !ty.is_signed() =>
            {
                let all = quotients(value.wrapping_sub(d), c, wide)?;
                (a, all.into_iter().filter(|value| fits(ty, *value)).collect())
            }
            (AluOp::Shl, [a, Term::Constant(c), _]) if c < ty.bits().into() => (a, quotients(value, 1 << c, ty)?),
            _ => return None,
        };
        // A value that the source never has is excluded; in a wider source, further values have the same low bits.
        if self.bits(source) > ty.bits() {
            return None;
        }
        self.among(source, &candidates, computation, ty, sources, value, all)
    }

    /// Like [`Self::preimages`], for the values that one source of a computation may have.
    #[expect(clippy::too_many_arguments, reason = "a computation and its result")]
    pub(super) fn among(
        &self,
        source: Term,
        candidates: &[Value],
        computation: Computation,
        ty: Type,
        sources: [Term; 3],
        value: Value,
        all: &mut Vec<Value>,
    ) -> Option<usize> {
        let bits = self.bits(source);
        let mut event = self.event_of(source)?;
        for &candidate in candidates {
            let put = |term: Term| match term {
                _ if term == source => candidate,
                Term::Constant(constant) => constant,
                Term::Node(_) => 0,
            };
            let fits = bits >= Value::BITS || candidate >> bits == 0;
            if fits && computation.apply(ty, sources.map(put)) == Some(value) {
                event = self.preimages(source, candidate, all)?;
            }
        }
        (all.len() <= MAX_PREIMAGES).then_some(event)
    }

    /// The only event on which a term depends.
    pub(super) fn event_of(&self, term: Term) -> Option<usize> {
        let Term::Node(node) = term else { return None };
        match self.nodes[node as usize] {
            Node::Event(event) => Some(event),
            Node::Computed(_, _, sources) => {
                let mut events = sources.into_iter().filter(|source| matches!(source, Term::Node(_)));
                let first = events.next()?;
                events.next().is_none().then(|| self.event_of(first)).flatten()
            }
            Node::Rmw(..) | Node::Expected(..) => None,
        }
    }

    /// The constants in a sum.
    pub(super) fn addends(&self, term: Term, constants: &mut Vec<Value>) {
        match (term, self.node(term)) {
            (Term::Constant(value), _) => constants.push(value),
            (_, Some(Node::Computed(computation, _, [a, b, c]))) => match computation {
                Computation::Alu(AluOp::Add | AluOp::Sub | AluOp::Or) => {
                    self.addends(a, constants);
                    self.addends(b, constants);
                }
                Computation::Alu(AluOp::Mov) | Computation::Cvt(_) => self.addends(a, constants),
                Computation::Alu(AluOp::MadLo | AluOp::MadWide) => self.addends(c, constants),
                _ => {}
            },
            _ => {}
        }
    }
}

/// All values of a type's width whose product with a constant is this value; `None` if there are too many.
fn quotients(value: Value, by: Value, ty: Type) -> Option<Vec<Value>> {
    let (value, by) = (truncate(ty, value), truncate(ty, by));
    let twos = by.trailing_zeros();
    if by == 0 || 1usize.checked_shl(twos)? > MAX_PREIMAGES {
        return None;
    }
    if value.trailing_zeros() < twos {
        return Some(Vec::new());
    }
    // The inverse of an odd number, by Newton's method: each iteration doubles the number of correct bits.
    let odd = by >> twos;
    let inverse =
        (0..6).fold(odd, |inverse: Value, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
    let bits = ty.bits() - twos;
    let low = truncate(ty, (value >> twos).wrapping_mul(inverse)) & (Value::MAX >> (64 - bits));
    Some((0..1 << twos).map(|high: Value| low | high << (bits % 64)).collect())
}

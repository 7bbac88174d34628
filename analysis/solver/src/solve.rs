//! Satisfiability of conditions on terms, by translation of their bits to clauses for a SAT solver.

use std::cell::Cell;

use batsat::{Callbacks, Lit, Solver, SolverInterface, lbool};
use ptx_isa::Stop;
use rustc_hash::FxHashMap;

use crate::term::{Binary, Leaf, Node, Term, Terms, ones};

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The conditions never hold together.
    Never,
    /// The conditions hold with these values of leaves. The results of functions are chosen freely, so an execution
    /// with these values need not exist.
    Holds(Vec<(Leaf, u64)>),
    /// The solver exceeded its step limit.
    TooHard,
}

struct Steps<'s> {
    left: Cell<u64>,
    stop: &'s Stop,
}

impl Callbacks for Steps<'_> {
    fn stop(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() == 0 || self.stop.is_due()
    }
}

/// The largest number of results of one function that are compared with each other.
const CONGRUENT: usize = 48;
/// The largest number of clauses of one question.
const CLAUSES: usize = 1_500_000;

/// Whether all of these one-bit conditions can hold together. `steps` bounds the decisions of the solver and is reduced
/// by the decisions made. `clauses` bounds the clauses of this question and of later questions. `stop` ends the search,
/// too.
pub fn solve(terms: &Terms, all: &[Term], steps: &mut u64, clauses: &mut u64, stop: &Stop) -> Answer {
    let callbacks = Steps { left: Cell::new((*steps).max(1)), stop };
    let mut solver = Solver::new(batsat::SolverOpts::default(), callbacks);
    let truth = Lit::new(solver.new_var_default(), true);
    let (done, functions) = (FxHashMap::default(), FxHashMap::default());
    let most = CLAUSES.min(usize::try_from(*clauses).unwrap_or(CLAUSES));
    let mut bits = Bits { terms, solver, truth, done, functions, clauses: 0, most };
    bits.clause(&[truth]);
    for term in all {
        let lit = bits.encode_term(*term)[0];
        bits.clause(&[lit]);
    }
    bits.congruence();
    *clauses = clauses.saturating_sub(bits.clauses as u64);
    if bits.clauses > bits.most {
        return Answer::TooHard;
    }
    let found = bits.solver.solve_limited(&[]);
    *steps = bits.solver.cb().left.get();
    match () {
        () if found == lbool::FALSE => Answer::Never,
        () if found == lbool::TRUE => Answer::Holds(bits.leaves()),
        () => Answer::TooHard,
    }
}

struct Bits<'t, 's> {
    terms: &'t Terms,
    solver: Solver<Steps<'s>>,
    truth: Lit,
    done: FxHashMap<Term, Vec<Lit>>,
    functions: FxHashMap<u32, Vec<Term>>,
    clauses: usize,
    /// The largest number of clauses.
    most: usize,
}

impl Bits<'_, '_> {
    fn clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        if self.clauses <= self.most {
            self.solver.add_clause_reuse(&mut lits.to_vec());
        }
    }

    fn fresh(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    fn constant(&self, holds: bool) -> Lit {
        if holds { self.truth } else { !self.truth }
    }

    fn constant_truth(&self, lit: Lit) -> Option<bool> {
        (lit.var() == self.truth.var()).then_some(lit == self.truth)
    }

    fn and(&mut self, a: Lit, b: Lit) -> Lit {
        match (self.constant_truth(a), self.constant_truth(b)) {
            (Some(false), _) | (_, Some(false)) => return !self.truth,
            (Some(true), _) => return b,
            (_, Some(true)) => return a,
            _ if a == b => return a,
            _ if a == !b => return !self.truth,
            _ => {}
        }
        let c = self.fresh();
        self.clause(&[!a, !b, c]);
        self.clause(&[a, !c]);
        self.clause(&[b, !c]);
        c
    }

    fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        match (self.constant_truth(a), self.constant_truth(b)) {
            (Some(x), _) => return if x { !b } else { b },
            (_, Some(y)) => return if y { !a } else { a },
            _ if a == b => return !self.truth,
            _ if a == !b => return self.truth,
            _ => {}
        }
        let c = self.fresh();
        self.clause(&[!a, !b, !c]);
        self.clause(&[a, b, !c]);
        self.clause(&[a, !b, c]);
        self.clause(&[!a, b, c]);
        c
    }

    fn choose(&mut self, condition: Lit, a: Lit, b: Lit) -> Lit {
        match self.constant_truth(condition) {
            Some(true) => return a,
            Some(false) => return b,
            None if a == b => return a,
            None => {}
        }
        let (with, without) = (self.and(condition, a), self.and(!condition, b));
        self.or(with, without)
    }

    fn add(&mut self, a: &[Lit], b: &[Lit], carry: Lit) -> Vec<Lit> {
        let mut carry = carry;
        let mut sum = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let (bit, next) = self.full(a, b, carry);
            sum.push(bit);
            carry = next;
        }
        sum
    }

    /// The sum of three bits, and the carry. Redundant clauses between sum and carry help the solver (Eén and
    /// Sörensson, 2006).
    fn full(&mut self, a: Lit, b: Lit, c: Lit) -> (Lit, Lit) {
        let is_simple = [a, b, c].iter().any(|lit| self.constant_truth(*lit).is_some())
            || [(a, b), (a, c), (b, c)].iter().any(|(x, y)| x.var() == y.var());
        if is_simple {
            let either = self.xor(a, b);
            let (both, through) = (self.and(a, b), self.and(either, c));
            return (self.xor(either, c), self.or(both, through));
        }
        let (sum, carry) = (self.fresh(), self.fresh());
        for flip in [false, true] {
            let of = |lit: Lit| if flip { !lit } else { lit };
            let [a, b, c, sum, carry] = [a, b, c, sum, carry].map(of);
            self.clause(&[!a, !b, !c, sum]);
            self.clause(&[!a, b, c, sum]);
            self.clause(&[a, !b, c, sum]);
            self.clause(&[a, b, !c, sum]);
            for (x, y) in [(a, b), (a, c), (b, c)] {
                self.clause(&[!x, !y, carry]);
            }
            for x in [a, b, c] {
                self.clause(&[!carry, !sum, x]);
            }
        }
        (sum, carry)
    }

    fn number(&self, value: u64, bits: u32) -> Vec<Lit> {
        (0..bits).map(|bit| self.constant(value >> bit & 1 == 1)).collect()
    }

    fn shifted(&self, of: &[Lit], by: usize) -> Vec<Lit> {
        (0..of.len()).map(|bit| if bit < by { !self.truth } else { of[bit - by] }).collect()
    }

    fn scaled(&mut self, of: &[Lit], factor: u64) -> Vec<Lit> {
        let bits = of.len() as u32;
        let factor = factor & ones(bits);
        let negative = factor.wrapping_neg() & ones(bits);
        if negative.count_ones() < factor.count_ones() {
            let product = self.scaled(of, negative);
            return self.negated(&product);
        }
        let mut sum: Option<Vec<Lit>> = None;
        for bit in (0..bits).filter(|bit| factor >> bit & 1 == 1) {
            let part = self.shifted(of, bit as usize);
            sum = Some(match sum {
                Some(sum) => self.add(&sum, &part, !self.truth),
                None => part,
            });
        }
        sum.unwrap_or_else(|| self.number(0, bits))
    }

    fn negated(&mut self, of: &[Lit]) -> Vec<Lit> {
        let not: Vec<Lit> = of.iter().map(|lit| !*lit).collect();
        let zero = self.number(0, of.len() as u32);
        self.add(&not, &zero, self.truth)
    }

    fn product(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let mut sum = self.number(0, a.len() as u32);
        for (bit, by) in b.iter().enumerate() {
            if self.constant_truth(*by) == Some(false) {
                continue;
            }
            let part: Vec<Lit> = self.shifted(a, bit).into_iter().map(|lit| self.and(lit, *by)).collect();
            sum = self.add(&sum, &part, !self.truth);
        }
        sum
    }

    fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut all = self.truth;
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            all = self.and(all, !differ);
        }
        all
    }

    fn less(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut less = !self.truth;
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            less = self.choose(differ, b, less);
        }
        less
    }

    /// A shift by an unknown number of bits; `fill` is shifted in, and `left` is the direction.
    fn shift(&mut self, of: &[Lit], by: &[Lit], left: bool, fill: Lit) -> Vec<Lit> {
        let mut of = of.to_vec();
        let width = of.len();
        let mut too_far = !self.truth;
        for (bit, &by) in by.iter().enumerate() {
            let distance = 1usize.checked_shl(bit as u32).filter(|distance| *distance < width);
            let Some(distance) = distance else {
                too_far = self.or(too_far, by);
                continue;
            };
            let moved = |at: usize| match left {
                true => at.checked_sub(distance),
                false => Some(at + distance).filter(|from| *from < width),
            };
            of = (0..width)
                .map(|at| (at, moved(at).map_or(fill, |from| of[from])))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|(at, from)| self.choose(by, from, of[at]))
                .collect();
        }
        of.into_iter().map(|lit| self.choose(too_far, fill, lit)).collect()
    }

    /// An unsigned quotient and remainder; division by zero gives a quotient of all ones.
    fn divided(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        let width = a.len();
        let mut rest = self.number(0, width as u32);
        let mut quotient = vec![!self.truth; width];
        for bit in (0..width).rev() {
            // The remainder has a spare bit: it is at most the consumed prefix of `a` without the last bit.
            rest.pop();
            rest.insert(0, a[bit]);
            let fits = !self.less(&rest, b);
            let not: Vec<Lit> = b.iter().map(|lit| !*lit).collect();
            let difference = self.add(&rest, &not, self.truth);
            rest = (0..width).map(|at| self.choose(fits, difference[at], rest[at])).collect();
            quotient[bit] = fits;
        }
        let zero = self.number(0, width as u32);
        let by_zero = self.equal(b, &zero);
        let all = self.number(u64::MAX, width as u32);
        let pick = |this: &mut Self, of: Vec<Lit>| (0..width).map(|at| this.choose(by_zero, all[at], of[at])).collect();
        (pick(self, quotient), pick(self, rest))
    }

    fn divided_signed(&mut self, a: &[Lit], b: &[Lit]) -> (Vec<Lit>, Vec<Lit>) {
        let width = a.len();
        let (minus_a, minus_b) = (a[width - 1], b[width - 1]);
        let magnitude = |this: &mut Self, of: &[Lit], minus: Lit| -> Vec<Lit> {
            let negated = this.negated(of);
            (0..width).map(|at| this.choose(minus, negated[at], of[at])).collect()
        };
        let (x, y) = (magnitude(self, a, minus_a), magnitude(self, b, minus_b));
        let (quotient, rest) = self.divided(&x, &y);
        let minus = self.xor(minus_a, minus_b);
        let (quotient, rest) = (magnitude(self, &quotient, minus), magnitude(self, &rest, minus_a));
        let zero = self.number(0, width as u32);
        let by_zero = self.equal(b, &zero);
        let all = self.number(u64::MAX, width as u32);
        let pick = |this: &mut Self, of: Vec<Lit>| (0..width).map(|at| this.choose(by_zero, all[at], of[at])).collect();
        (pick(self, quotient), pick(self, rest))
    }

    fn encode_term(&mut self, term: Term) -> Vec<Lit> {
        let mut open = vec![term];
        while let Some(next) = open.last().copied() {
            if self.done.contains_key(&next) {
                open.pop();
                continue;
            }
            let missing: Vec<Term> =
                self.terms.operands(next).into_iter().filter(|of| !self.done.contains_key(of)).collect();
            if missing.is_empty() {
                let lits = self.node(next);
                self.done.insert(next, lits);
                open.pop();
            } else {
                open.extend(missing);
            }
            if self.clauses > self.most {
                return vec![self.truth; self.terms.bits(term) as usize];
            }
        }
        self.done[&term].clone()
    }

    fn node(&mut self, term: Term) -> Vec<Lit> {
        let bits = self.terms.bits(term);
        let get = |this: &Self, of: &Term| this.done[of].clone();
        match self.terms.node(term) {
            Node::Constant(value) => self.number(*value, bits),
            Node::Leaf(_) => {
                let most = self.terms.most(term);
                (0..bits).map(|bit| if most >> bit & 1 == 1 { self.fresh() } else { !self.truth }).collect()
            }
            Node::Function(number, _) => {
                self.functions.entry(*number).or_default().push(term);
                (0..bits).map(|_| self.fresh()).collect()
            }
            Node::Sum(constant, parts) => {
                let mut sum = self.number(*constant, bits);
                for (factor, of) in parts {
                    let of = get(self, of);
                    let part = self.scaled(&of, *factor);
                    sum = self.add(&sum, &part, !self.truth);
                }
                sum
            }
            Node::Equal(a, b) => {
                let (a, b) = (get(self, a), get(self, b));
                vec![self.equal(&a, &b)]
            }
            Node::LessUnsigned(a, b) => {
                let (a, b) = (get(self, a), get(self, b));
                vec![self.less(&a, &b)]
            }
            Node::LessSigned(a, b) => {
                let (mut a, mut b) = (get(self, a), get(self, b));
                let top = a.len() - 1;
                (a[top], b[top]) = (!a[top], !b[top]);
                vec![self.less(&a, &b)]
            }
            Node::If(condition, a, b) => {
                let (condition, a, b) = (get(self, condition)[0], get(self, a), get(self, b));
                a.iter().zip(&b).map(|(a, b)| self.choose(condition, *a, *b)).collect()
            }
            Node::Extract(of, low) => get(self, of)[*low as usize..(*low + bits) as usize].to_vec(),
            Node::Zeros(of) => {
                let mut of = get(self, of);
                of.resize(bits as usize, !self.truth);
                of
            }
            Node::Signs(of) => {
                let mut of = get(self, of);
                let sign = of[of.len() - 1];
                of.resize(bits as usize, sign);
                of
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (get(self, a), get(self, b));
                let zip = |this: &mut Self, each: fn(&mut Self, Lit, Lit) -> Lit| {
                    a.iter().zip(&b).map(|(a, b)| each(this, *a, *b)).collect()
                };
                match op {
                    Binary::Mul => self.product(&a, &b),
                    Binary::And => zip(self, Self::and),
                    Binary::Or => zip(self, Self::or),
                    Binary::Xor => zip(self, Self::xor),
                    Binary::Shl => self.shift(&a, &b, true, !self.truth),
                    Binary::ShrUnsigned => self.shift(&a, &b, false, !self.truth),
                    Binary::ShrSigned => self.shift(&a, &b, false, a[a.len() - 1]),
                    Binary::DivUnsigned => self.divided(&a, &b).0,
                    Binary::RemUnsigned => self.divided(&a, &b).1,
                    Binary::DivSigned => self.divided_signed(&a, &b).0,
                    Binary::RemSigned => self.divided_signed(&a, &b).1,
                }
            }
        }
    }

    /// Adds clauses for congruence: equal operands give equal results.
    fn congruence(&mut self) {
        for of in self.functions.clone().into_values() {
            for (index, &one) in of.iter().enumerate().take(CONGRUENT) {
                for &other in of[..index].iter() {
                    let (x, y) = (self.terms.operands(one), self.terms.operands(other));
                    let alike = |(a, b): (&Term, &Term)| self.terms.bits(*a) == self.terms.bits(*b);
                    if x.len() != y.len()
                        || !x.iter().zip(&y).all(alike)
                        || self.terms.bits(one) != self.terms.bits(other)
                    {
                        continue;
                    }
                    let mut same = self.truth;
                    for (a, b) in x.iter().zip(&y) {
                        let (a, b) = (self.encode_term(*a), self.encode_term(*b));
                        let equal = self.equal(&a, &b);
                        same = self.and(same, equal);
                    }
                    let (one, other) = (self.encode_term(one), self.encode_term(other));
                    let equal = self.equal(&one, &other);
                    self.clause(&[!same, equal]);
                }
            }
        }
    }

    fn leaves(&self) -> Vec<(Leaf, u64)> {
        let value = |lits: &[Lit]| {
            lits.iter()
                .enumerate()
                .fold(0, |all, (bit, lit)| all | u64::from(self.solver.value_lit(*lit) == lbool::TRUE) << bit)
        };
        let mut found: Vec<(Leaf, u64)> = Vec::new();
        for (term, lits) in &self.done {
            if let Node::Leaf(leaf) = self.terms.node(*term) {
                found.push((leaf.clone(), value(lits)));
            }
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ptx_isa::{AluOp, Type, arithmetic::alu};

    use super::*;
    use crate::term::{LeafName, Shared};

    /// Each operation with its PTX counterpart.
    const OPERATIONS: [(Binary, AluOp, bool); 11] = [
        (Binary::Mul, AluOp::MulLo, false),
        (Binary::And, AluOp::And, false),
        (Binary::Or, AluOp::Or, false),
        (Binary::Xor, AluOp::Xor, false),
        (Binary::Shl, AluOp::Shl, false),
        (Binary::ShrUnsigned, AluOp::Shr, false),
        (Binary::ShrSigned, AluOp::Shr, true),
        (Binary::DivUnsigned, AluOp::Div, false),
        (Binary::RemUnsigned, AluOp::Rem, false),
        (Binary::DivSigned, AluOp::Div, true),
        (Binary::RemSigned, AluOp::Rem, true),
    ];

    /// Checks that the term of an operation cannot differ from the result of PTX arithmetic. Each operand is a number,
    /// or a leaf that equals the number, so that both simplification and clauses are tested.
    fn check(x: u64, y: u64, bits: u32) {
        let (unsigned, signed) = if bits == 16 { (Type::U16, Type::S16) } else { (Type::U32, Type::S32) };
        let (x, y) = (x & ones(bits), y & ones(bits));
        for (op, of, is_signed) in OPERATIONS {
            let ty = if is_signed { signed } else { unsigned };
            let of = if matches!(of, AluOp::And | AluOp::Or | AluOp::Xor | AluOp::Shl) {
                alu(of, if bits == 16 { Type::B16 } else { Type::B32 }, &[x.into(), y.into()])
            } else {
                alu(of, ty, &[x.into(), y.into()])
            };
            let expected = of.map_or(ones(bits), |value| value as u64);
            for known in [[false, false], [true, false], [false, true], [true, true]] {
                let mut terms = Terms::default();
                let mut all = Vec::new();
                let operands = [x, y].into_iter().zip(known).enumerate().map(|(index, (value, is_known))| {
                    let value = terms.constant(value, bits);
                    if is_known {
                        return value;
                    }
                    let leaf = terms.leaf(LeafName::Parameter(index, 0), Shared::Grid, bits);
                    let same = terms.equal(leaf, value);
                    all.push(same);
                    leaf
                });
                let operands: Vec<Term> = operands.collect();
                let result = terms.binary(op, operands[0], operands[1]);
                let expected = terms.constant(expected, bits);
                let same = terms.equal(result, expected);
                let differs = terms.not(same);
                assert_ne!(
                    solve(&terms, &[&all[..], &[same]].concat(), &mut 100_000, &mut 10_000_000, &Stop::never()),
                    Answer::Never,
                    "{op:?} {x} {y}"
                );
                all.push(differs);
                assert_eq!(
                    solve(&terms, &all, &mut 100_000, &mut 10_000_000, &Stop::never()),
                    Answer::Never,
                    "{op:?} {x} {y} {known:?}"
                );
            }
        }
    }

    #[test]
    fn at_the_edges() {
        let edges = [0, 1, 2, 15, 16, 31, 32, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];
        for x in edges {
            for y in edges {
                check(x, y, 16);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn anywhere(x: u32, y: u32, shift in 0..32u32) {
            check(x.into(), (y >> shift).into(), 32);
        }
    }

    /// Equal operands give equal results, and different operands may give different results.
    #[test]
    fn functions_are_functions() {
        let mut terms = Terms::default();
        let [a, b] = [0, 1].map(|index| terms.leaf(LeafName::Parameter(index, 0), Shared::Grid, 8));
        let [f, g] = [a, b].map(|of| terms.function("f", vec![of], 8));
        let (same, alike) = (terms.equal(a, b), terms.equal(f, g));
        let differs = terms.not(alike);
        assert_eq!(solve(&terms, &[same, differs], &mut 1000, &mut 10_000_000, &Stop::never()), Answer::Never);
        assert!(matches!(solve(&terms, &[differs], &mut 1000, &mut 10_000_000, &Stop::never()), Answer::Holds(_)));
    }

    #[test]
    fn it_gives_up() {
        let mut terms = Terms::default();
        let [a, b] = [0, 1].map(|index| terms.leaf(LeafName::Parameter(index, 0), Shared::Grid, 48));
        let product = terms.binary(Binary::Mul, a, b);
        let prime = terms.constant(67_280_421_310_721, 48);
        let equal = terms.equal(product, prime);
        let one = terms.constant(1, 48);
        let more = [a, b].map(|of| terms.less(false, one, of));
        assert_eq!(
            solve(&terms, &[equal, more[0], more[1]], &mut 10, &mut 10_000_000, &Stop::never()),
            Answer::TooHard
        );
    }
}

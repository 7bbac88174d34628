//! The value in each thread of a CTA, if it depends only on the thread's number.

use std::sync::Arc;

use ptx_isa::{Axis, Special, SpecialScalar, SpecialVector, launch::MOST_THREADS};
use rustc_hash::FxHashMap;

use crate::kernel::{SIZES, Varies};

use super::terms::{Atom, AtomExpression, Function, Literal, PredicateMeaning, Terms, Value, ones, wrapped};

/// The largest depth of expressions that are evaluated.
const DEPTH: usize = 64;

/// The number of threads of a warp.
const WARP: usize = 32;

/// The limit of stored numbers, for all atoms together.
const NUMBERS: usize = 4_000_000;

/// The values of the threads, in the order of their numbers.
type Each = Arc<[i64]>;

/// The known values of each thread.
pub struct Threads {
    /// The largest number of threads, if a single register numbers them.
    count: usize,
    /// Whether the number of threads is unknown.
    is_open: bool,
    known: FxHashMap<Atom, Option<Each>>,
}

impl Threads {
    pub fn new(terms: &Terms, most: Option<u32>) -> Self {
        let count = most.unwrap_or(MOST_THREADS) as usize;
        Self {
            count: if terms.is_flat() && count <= MOST_THREADS as usize { count } else { 0 },
            is_open: most.is_none(),
            known: FxHashMap::default(),
        }
    }

    /// The lowest and the highest value in any thread.
    pub fn range(&mut self, terms: &Terms, atom: Atom) -> Option<(i64, i64)> {
        let each = self.atom(terms, atom, DEPTH)?;
        Some((*each.iter().min()?, *each.iter().max()?))
    }

    /// The same range over the first threads, for each of the counts in [`SIZES`], if they differ.
    pub fn by_threads(&mut self, terms: &Terms, atom: Atom) -> Vec<(i64, i64)> {
        let Some(each) = self.atom(terms, atom, DEPTH) else { return Vec::new() };
        let of = |count: usize| Some((*each[..count].iter().min()?, *each[..count].iter().max()?));
        let all: Vec<_> =
            SIZES.iter().map(|count| *count as usize).take_while(|count| *count <= each.len()).filter_map(of).collect();
        if all.windows(2).all(|pair| pair[0] == pair[1]) { Vec::new() } else { all }
    }

    /// The value in each thread, if the number of threads is known.
    pub fn each(&mut self, terms: &Terms, atom: Atom) -> Option<Each> {
        if self.is_open { None } else { self.of_large(terms, atom) }
    }

    /// The value in each thread of a CTA of the largest size.
    pub fn of_large(&mut self, terms: &Terms, atom: Atom) -> Option<Each> {
        self.atom(terms, atom, DEPTH)
    }

    /// The truth of a literal in each thread, if the number of threads is known.
    pub fn holds(&mut self, terms: &Terms, literal: Literal) -> Option<Arc<[Option<bool>]>> {
        let is_known = !self.is_open && self.count > 0 && terms.literal_varies(literal) != Varies::No;
        if is_known { self.decided(terms, literal, DEPTH).map(Arc::from) } else { None }
    }

    fn atom(&mut self, terms: &Terms, atom: Atom, depth: usize) -> Option<Each> {
        if let Some(known) = self.known.get(&atom) {
            return known.clone();
        }
        if depth == 0 || (self.known.len() + 1).saturating_mul(self.count) > NUMBERS {
            return None;
        }
        let each = self.computed(terms, atom, depth - 1).map(Each::from);
        // An atom with values outside of its range is not understood.
        let facts = terms.atoms[atom.0 as usize].1;
        let fits = |each: &Each| each.iter().all(|number| facts.low <= *number && *number <= facts.high);
        let each = each.filter(fits);
        self.known.insert(atom, each.clone());
        each
    }

    fn computed(&mut self, terms: &Terms, atom: Atom, depth: usize) -> Option<Vec<i64>> {
        let count = i64::try_from(self.count).ok().filter(|count| *count > 0)?;
        match terms.definition(atom) {
            AtomExpression::Special(Special::Vector(SpecialVector::Tid, Axis::X)) => Some((0..count).collect()),
            AtomExpression::Special(Special::Scalar(SpecialScalar::Laneid)) => {
                Some((0..count).map(|thread| thread % 32).collect())
            }
            AtomExpression::Field(value, low, bits) => {
                let each = self.value(terms, *value, depth)?;
                let field = |number: &i64| (number >> low) & ones(*bits).cast_signed();
                (*low < 64).then(|| each.iter().map(field).collect())
            }
            AtomExpression::Select(literal, a, b) => {
                let holds = self.literal(terms, *literal, depth)?;
                let (a, b) = (self.value(terms, *a, depth)?, self.value(terms, *b, depth)?);
                Some(holds.iter().zip(a.iter().zip(&b)).map(|(holds, (a, b))| if *holds { *a } else { *b }).collect())
            }
            AtomExpression::Shuffle(value, Some(lane)) => {
                let each = self.value(terms, *value, depth)?;
                let of_lane = |thread: usize| each.get(thread / WARP * WARP + usize::from(*lane)).copied();
                (0..each.len()).map(of_lane).collect()
            }
            AtomExpression::Computed(function, values) => {
                let &[a, b] = &values[..] else { return None };
                let operation = operation(function)?;
                let (a, b) = (self.value(terms, a, depth)?, self.value(terms, b, depth)?);
                a.iter().zip(&b).map(|(a, b)| operation(*a, *b)).collect()
            }
            _ => None,
        }
    }

    fn value(&mut self, terms: &Terms, value: Value, depth: usize) -> Option<Vec<i64>> {
        let sum = terms.sum(value);
        let mut all = vec![sum.constant; self.count];
        for (atom, factor) in &sum.terms {
            let each = self.atom(terms, *atom, depth)?;
            all.iter_mut().zip(each.iter()).for_each(|(sum, own)| *sum = sum.wrapping_add(own.wrapping_mul(*factor)));
        }
        Some(all)
    }

    /// The truth of a literal in each thread, if it is known for all threads.
    fn literal(&mut self, terms: &Terms, literal: Literal, depth: usize) -> Option<Vec<bool>> {
        self.decided(terms, literal, depth)?.into_iter().collect()
    }

    /// The truth of a literal in each thread. Values that do not follow from the thread's number may be anything in
    /// their ranges.
    fn decided(&mut self, terms: &Terms, literal: Literal, depth: usize) -> Option<Vec<Option<bool>>> {
        let depth = depth.checked_sub(1)?;
        let mut holds = match &terms.predicates[literal.predicate as usize].0 {
            PredicateMeaning::Within(value, low, high) => {
                // The ends of the full range mean no bound.
                let low = if *low == i64::MIN { i128::MIN } else { i128::from(*low) };
                let high = if *high == i64::MAX { i128::MAX } else { i128::from(*high) };
                let within = |(least, most): (i128, i128)| match () {
                    () if low <= least && most <= high => Some(true),
                    () if most < low || high < least => Some(false),
                    () => None,
                };
                self.ranges(terms, *value, depth)?.into_iter().map(within).collect()
            }
            PredicateMeaning::All(list) => {
                let mut all = vec![Some(true); self.count];
                for literal in list {
                    let own = self.decided(terms, *literal, depth).unwrap_or_else(|| vec![None; self.count]);
                    all.iter_mut().zip(own).for_each(|(all, own)| match (&all, own) {
                        (Some(false), _) | (_, Some(true)) => {}
                        (_, own) => *all = own,
                    });
                }
                all
            }
            _ => return None,
        };
        if !literal.holds {
            holds.iter_mut().for_each(|holds| *holds = holds.map(|holds| !holds));
        }
        Some(holds)
    }

    /// The range of a value in each thread; `None` if no part of the value follows from the number of the thread.
    fn ranges(&mut self, terms: &Terms, value: Value, depth: usize) -> Option<Vec<(i128, i128)>> {
        let sum = terms.sum(value);
        let mut all = vec![(i128::from(sum.constant), i128::from(sum.constant)); self.count];
        let mut is_known = sum.terms.is_empty();
        for (atom, factor) in &sum.terms {
            let factor = i128::from(*factor);
            let facts = terms.atoms[atom.0 as usize].1;
            let ends = [facts.low, facts.high].map(|end| i128::from(end) * factor);
            let each = self.atom(terms, *atom, depth);
            is_known |= each.is_some();
            for (thread, (low, high)) in all.iter_mut().enumerate() {
                let own = each.as_ref().map(|each| i128::from(each[thread]) * factor);
                *low = low.saturating_add(own.unwrap_or(ends[0].min(ends[1])));
                *high = high.saturating_add(own.unwrap_or(ends[0].max(ends[1])));
            }
        }
        is_known.then_some(all)
    }
}

/// The function that computes a result from two numbers.
fn operation(function: &Function) -> Option<fn(i64, i64) -> Option<i64>> {
    Some(match function {
        Function::And => |a, b| Some(a & b),
        Function::Or => |a, b| Some(a | b),
        Function::Xor => |a, b| Some(a ^ b),
        Function::Multiply => |a, b| a.checked_mul(b),
        Function::Divide => |a, b| (a >= 0 && b > 0).then(|| a / b),
        Function::Remainder => |a, b| (a >= 0 && b > 0).then(|| a % b),
        Function::ShiftRight => |a, b| u32::try_from(b).ok().map(|by| a >> by.min(63)),
        Function::MultiplyHigh { is_signed: true } => |a, b| Some(wrapped(a, 32).wrapping_mul(wrapped(b, 32)) >> 32),
        _ => return None,
    })
}

//! The waits on mbarriers that have succeeded if a predicate holds.
//!
//! The result of a `try_wait` may take a long way before it is tested: through a number that is 1 or 0, and through a
//! loop whose iterations each try the wait of the next iteration in advance.

use super::{
    terms::{Atom, AtomExpression, Content, Literal, PredicateMeaning},
    walk::Walked,
};
use crate::kernel::Sum;

/// The largest number of phis through which the result of a wait is traced.
const MEETINGS: usize = 3;
/// The largest number of incoming values of such a phi.
const WAYS: usize = 32;

/// A wait: its instruction, and the address of its mbarrier at the point of the test.
pub type Wait = (usize, Sum<Atom>);

/// The waits that have succeeded if a literal holds.
pub fn implied(walked: &Walked, literal: Literal) -> Vec<Wait> {
    let mut found = through(walked, literal, MEETINGS);
    found.sort_unstable_by(|a, b| (a.0, &a.1.terms, a.1.constant).cmp(&(b.0, &b.1.terms, b.1.constant)));
    found.dedup();
    // One wait on each mbarrier is enough.
    let mut seen: Vec<Sum<Atom>> = Vec::new();
    found.retain(|(_, barrier)| {
        let is_new = !seen.contains(barrier);
        seen.push(barrier.clone());
        is_new
    });
    found
}

fn through(walked: &Walked, literal: Literal, depth: usize) -> Vec<Wait> {
    let terms = &walked.terms;
    let says = |literal: Literal| &terms.predicates[literal.predicate as usize].0;
    let all = match says(literal) {
        PredicateMeaning::All(list) if literal.holds => list.clone(),
        _ => vec![literal],
    };
    let mut found = Vec::new();
    for literal in all {
        match says(literal) {
            PredicateMeaning::Result(..) if literal.holds => {
                let wait = walked.waits.get(&literal.predicate);
                found.extend(wait.map(|(op, barrier)| (*op, terms.sum(*barrier).clone())));
            }
            PredicateMeaning::Phi(block, register) if depth > 0 => {
                let met = |content: Content| match content {
                    Content::Literal(met) => Some(Way::Literal(met.if_(literal.holds))),
                    _ => None,
                };
                found.extend(waits_at_phi(walked, (*block, *register), &met, depth));
            }
            PredicateMeaning::Within(value, low, high) if depth > 0 => {
                if let Some(&AtomExpression::Phi(block, register)) = terms.only(*value) {
                    let met = |content: Content| tested(walked, content, *low, *high, literal.holds);
                    found.extend(waits_at_phi(walked, (block, register), &met, depth));
                }
            }
            _ => {}
        }
    }
    found
}

/// The condition under which an incoming value of a phi passes a test.
enum Way {
    Literal(Literal),
    /// The phi of this block and register passes the test, too.
    Phi(usize, usize),
}

/// The condition under which a value is inside of a range, or outside. Numbers, selections between two numbers and phis
/// are understood.
fn tested(walked: &Walked, content: Content, low: i64, high: i64, holds: bool) -> Option<Way> {
    let terms = &walked.terms;
    let Content::Value(value) = content else { return None };
    let is_meant = |number: i64| (low <= number && number <= high) == holds;
    if let Some(number) = terms.as_number(value) {
        return Some(Way::Literal(Literal::TRUE.if_(is_meant(number))));
    }
    match terms.only(value)? {
        AtomExpression::Select(literal, a, b) => {
            Some(Way::Literal(match (is_meant(terms.as_number(*a)?), is_meant(terms.as_number(*b)?)) {
                (true, true) => Literal::TRUE,
                (false, false) => Literal::FALSE,
                (first, _) => literal.if_(first),
            }))
        }
        AtomExpression::Phi(block, register) => Some(Way::Phi(*block, *register)),
        _ => None,
    }
}

/// The waits that have succeeded if a phi passes a test. Each incoming value except constants must imply some wait.
fn waits_at_phi(
    walked: &Walked,
    place: (usize, usize),
    met: &dyn Fn(Content) -> Option<Way>,
    depth: usize,
) -> Vec<Wait> {
    let mut ways: Vec<(usize, Vec<Wait>)> = Vec::new();
    let all = walked.phi_inputs.get(&place).map_or(&[][..], |met| met);
    if all.len() > WAYS {
        return Vec::new();
    }
    for (way, (content, _)) in all.iter().enumerate() {
        let waits = match met(*content) {
            _ if *content == Content::Unset => continue,
            // With a constant, the program states that it need not wait: for another reason, for example because no
            // iteration follows.
            Some(Way::Literal(Literal::FALSE | Literal::TRUE)) => continue,
            Some(Way::Literal(literal)) => through(walked, literal, depth - 1),
            Some(Way::Phi(..)) if depth <= 1 => Vec::new(),
            Some(Way::Phi(block, register)) => waits_at_phi(walked, (block, register), met, depth - 1),
            None => Vec::new(),
        };
        if waits.is_empty() {
            return Vec::new();
        }
        ways.push((way, waits));
    }
    if let [(_, waits)] = &ways[..] {
        return waits.clone();
    }
    // The mbarrier's address may differ from edge to edge, and yet be the same in terms of the phis of the block.
    let unified = ways.iter().flat_map(|(way, waits)| waits.iter().map(move |wait| (*way, wait)));
    let unified: Vec<Wait> = unified
        .filter_map(|(way, (op, barrier))| {
            let unified = lifted(walked, place.0, way, barrier);
            let is_same = |(way, waits): &(usize, Vec<Wait>)| {
                waits.iter().any(|(_, other)| lowered(walked, place.0, *way, &unified) == *other)
            };
            ways.iter().all(is_same).then_some((*op, unified))
        })
        .collect();
    if unified.is_empty() { ways.into_iter().flat_map(|(_, waits)| waits).collect() } else { unified }
}

/// The phis of a block that are numbers: the value of each in the block, and its incoming value along one edge.
fn pairs(walked: &Walked, block: usize, way: usize) -> Vec<(Sum<Atom>, Sum<Atom>)> {
    let terms = &walked.terms;
    let pair = |(register, content): &(usize, Content)| {
        let Content::Value(there) = content else { return None };
        match walked.phi_inputs.get(&(block, *register))?.get(way)?.0 {
            Content::Value(comes) if comes != *there => Some((terms.sum(*there).clone(), terms.sum(comes).clone())),
            _ => None,
        }
    };
    walked.met.get(&block).map_or(&[][..], |met| met).iter().filter_map(pair).collect()
}

/// A sum in which the incoming values along one edge replace the phis of a block.
fn lowered(walked: &Walked, block: usize, way: usize, sum: &Sum<Atom>) -> Sum<Atom> {
    replaced(sum, pairs(walked, block, way).iter().map(|(there, comes)| (there, comes)))
}

/// A sum in which the phis of a block replace their incoming values along one edge.
fn lifted(walked: &Walked, block: usize, way: usize, sum: &Sum<Atom>) -> Sum<Atom> {
    replaced(sum, pairs(walked, block, way).iter().map(|(there, comes)| (comes, there)))
}

/// A sum in which the second sum of each pair replaces the first.
fn replaced<'s>(sum: &Sum<Atom>, pairs: impl Iterator<Item = (&'s Sum<Atom>, &'s Sum<Atom>)>) -> Sum<Atom> {
    let mut result = sum.clone();
    for (old, new) in pairs {
        let Some(&(atom, unit)) = old.terms.last() else { continue };
        let factor = result.terms.iter().find(|(own, _)| *own == atom).map_or(0, |(_, factor)| *factor);
        if factor != 0 && factor % unit == 0 {
            let times = factor / unit;
            result = result.plus(old, times.wrapping_neg()).plus(new, times);
        }
    }
    result
}

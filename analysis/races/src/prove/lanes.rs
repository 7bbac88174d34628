//! Warp-synchronous instructions: whether all lanes of the mask may reach the instruction.

use itertools::Itertools;
use ptx_isa::{SpecialVector, flat::Action};
use rustc_hash::FxHashMap;

use super::prover::Prover;
use crate::walked::Together;
use ptx_solver::{solve::Answer, term::Term};

/// The threads of a warp.
const WARP: usize = 32;

/// The number of threads for which the solver is asked if the indices alone do not decide.
const ASKED: usize = WARP;

impl Prover<'_> {
    /// Leaves a kernel open if a lane waits for another lane of its mask that reaches neither this instruction nor a
    /// matching instruction of the same kind.
    pub(super) fn together(&mut self, all: &[Together]) {
        let [Some(width), Some(height), Some(depth)] = self.questions.eval.sizes.block else { return };
        let block = [width, height, depth];
        let masks = all.iter().map(|own| self.questions.eval.terms.value(own.mask)).collect_vec();
        let flat = self.questions.eval.flat;
        let comes = all.iter().zip(&masks).map(|(own, mask)| mask.map(|_| self.comes(own, block))).collect_vec();
        for (at, own) in all.iter().enumerate() {
            let (Some(mask), Some(here)) = (masks[at], &comes[at]) else { continue };
            // A different site at which lanes that do not reach this one wait for these lanes.
            let is_instead = |other: usize, thread: usize| {
                let start = thread / WARP * WARP;
                let is_apart = |there: &Vec<bool>| {
                    here.iter().zip(there).skip(start).take(WARP).all(|(here, there)| !(here & there))
                };
                masks[other] == Some(mask)
                    && is_of_one_kind(&flat.steps[own.step].action, &flat.steps[all[other].step].action)
                    && comes[other].as_ref().is_some_and(|there| there[thread] && is_apart(there))
            };
            let is_missing = |thread: usize| {
                let mut others = (0..all.len()).filter(|other| *other != at);
                mask >> (thread % WARP) & 1 == 1 && !here[thread] && !others.any(|other| is_instead(other, thread))
            };
            let threads = (0..here.len()).collect_vec();
            let is_wrong = |warp: &[usize]| warp.iter().any(|at| here[*at]) && warp.iter().any(|at| is_missing(*at));
            if threads.chunks(WARP).any(is_wrong) {
                let why = "lanes that the mask names never reach it, and other lanes wait for them";
                self.proof.open.insert((flat.steps[own.step].at, why.to_owned()));
            }
        }
    }

    /// For each thread of a CTA, whether it may reach an instruction.
    fn comes(&mut self, own: &Together, [width, height, depth]: [u32; 3]) -> Vec<bool> {
        let indices = SpecialVector::Tid.elements().map(|element| self.questions.eval.special(element));
        let threads = (0..width.saturating_mul(height).saturating_mul(depth)).map(|number| {
            let index = [number % width, number / width % height, number / (width * height)];
            let terms = &mut self.questions.eval.terms;
            let values: FxHashMap<Term, Term> =
                indices.into_iter().zip(index).map(|(term, value)| (term, terms.constant(value.into(), 32))).collect();
            let here = own.holds.iter().map(|term| terms.substitute(term, &|leaf| values.get(&leaf).copied()));
            let here = here.collect_vec();
            let is_never = here.iter().any(|term| terms.value(*term) == Some(0));
            let is_open = here.iter().any(|term| terms.value(*term).is_none());
            !(is_never || is_open && (number as usize) < ASKED && self.questions.ask(here) == Answer::Never)
        });
        threads.collect()
    }
}

fn is_of_one_kind(one: &Action, other: &Action) -> bool {
    match (one, other) {
        (Action::Barrier(_), Action::Barrier(_)) => true,
        (Action::Compute(one, _), Action::Compute(other, _)) => one == other,
        _ => false,
    }
}

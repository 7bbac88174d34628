//! Barriers of some threads of a CTA: those that announce something arrive, those that need it wait.
//!
//! Such a barrier opens when as many threads have come as it is for. If no more ever do, and each once, all of them have come: what one did
//! in front of it is in order with what another one does behind its wait (section 9.7.13.1 of the manual).

use std::collections::BTreeMap;

use ptx_isa::flat::{Action, Flat, Operand};
use rustc_hash::FxHashMap;

use crate::{
    question::Questions,
    solve::Answer,
    term::Term,
    threads::{Copy, PAIR, Threads},
    walked::Meeting,
};

/// The threads of a warp.
const WARP: usize = 32;

/// A barrier to which each of some threads comes once: all places in the kernel where they do.
#[derive(Clone, Debug)]
pub struct Named {
    places: Vec<Place>,
}

#[derive(Clone, Debug)]
struct Place {
    step: usize,
    holds: Vec<Term>,
    waits: bool,
}

/// The barriers that are for as many threads as come to them; of the others, the steps. `whole` are those that all threads of a CTA come to.
pub fn named(questions: &mut Questions<'_>, all: &[Meeting], whole: &[usize]) -> (Vec<Named>, Vec<usize>) {
    let flat = questions.eval.flat;
    let mut of: BTreeMap<i64, Vec<&Meeting>> = BTreeMap::new();
    let (mut fitting, mut left) = (Vec::new(), Vec::new());
    for meeting in all {
        match id(flat, meeting.step) {
            Some(id) => of.entry(id).or_default().push(meeting),
            None => left.push(meeting.step),
        }
    }
    for (number, meetings) in of {
        let has_other_use = whole.iter().any(|step| id(flat, *step) == Some(number));
        if !has_other_use && fits(questions, &meetings) {
            let place = |own: &&Meeting| {
                let waits = matches!(&flat.steps[own.step].action, Action::Barrier(barrier) if barrier.waits);
                Place { step: own.step, holds: own.holds.clone(), waits }
            };
            fitting.push(Named { places: meetings.iter().map(place).collect() });
        } else {
            left.extend(meetings.iter().map(|meeting| meeting.step));
        }
    }
    (fitting, left)
}

/// Which barrier of the CTA a step is.
fn id(flat: &Flat, step: usize) -> Option<i64> {
    match &flat.steps[step].action {
        Action::Barrier(barrier) => match barrier.id {
            Operand::Constant(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a barrier is for just as many threads as come to it, whole warps at each place, in every CTA alike.
fn fits(questions: &mut Questions<'_>, meetings: &[&Meeting]) -> bool {
    let flat = questions.eval.flat;
    let count = |meeting: &&Meeting| match &flat.steps[meeting.step].action {
        Action::Barrier(barrier) => match barrier.threads {
            Some(Operand::Constant(count)) => Some(count),
            _ => None,
        },
        _ => None,
    };
    let Some(wanted) = meetings.first().and_then(count) else { return false };
    let [Some(width), Some(height), Some(depth)] = questions.eval.sizes.block else { return false };
    if meetings.iter().any(|meeting| count(meeting) != Some(wanted) || meeting.is_in_loop) {
        return false;
    }
    let indices = ["tid.x", "tid.y", "tid.z"].map(|name| questions.eval.special(name));
    let mut come = 0;
    for meeting in meetings {
        let mut who = Vec::new();
        for number in 0..width * height * depth {
            let index = [number % width, number / width % height, number / (width * height)];
            let terms = &mut questions.eval.terms;
            let values: FxHashMap<Term, Term> =
                indices.into_iter().zip(index).map(|(term, value)| (term, terms.constant(value.into(), 32))).collect();
            let here: Vec<Option<u64>> = meeting
                .holds
                .iter()
                .map(|term| {
                    let here = terms.substitute(*term, &|leaf| values.get(&leaf).copied());
                    terms.value(here)
                })
                .collect();
            match here {
                here if here.contains(&Some(0)) => who.push(false),
                here if here.iter().all(|value| *value == Some(1)) => who.push(true),
                // It depends on something else than the number of the thread.
                _ => return false,
            }
        }
        if who.chunks(WARP).any(|warp| warp.iter().any(|comes| *comes != warp[0])) {
            return false;
        }
        come += who.iter().filter(|comes| **comes).count() as i64;
    }
    come == wanted
}

/// Whether the accesses of the threads of [`PAIR`], which are of one CTA and of which some conditions hold, are in order by such a barrier.
pub fn is_met(threads: &mut Threads<'_, '_>, all: &[Named], holds: &[Term], accesses: [usize; 2]) -> bool {
    let [one, other] = [0, 1].map(|at| (accesses[at], PAIR[at]));
    [(one, other), (other, one)].into_iter().any(|(first, second)| {
        all.iter().any(|named| {
            named.places.iter().any(|place| is_beside(threads, holds, first, place, true))
                && named.places.iter().any(|place| place.waits && is_beside(threads, holds, second, place, false))
        })
    })
}

/// Whether the thread of an access comes to a place in front of it, or behind it.
fn is_beside(
    threads: &mut Threads<'_, '_>,
    holds: &[Term],
    (access, copy): (usize, Copy),
    place: &Place,
    is_behind: bool,
) -> bool {
    let step = threads.all[access].touch.step;
    let [from, to] = if is_behind { [step, place.step] } else { [place.step, step] };
    let leads = |from: usize, to: usize| threads.paths.reaches(from, to, &[], &|_| false);
    if !leads(from, to) || leads(to, from) {
        return false;
    }
    let comes = threads.all_of(&place.holds, copy);
    let terms = &mut threads.questions.eval.terms;
    let comes = terms.all(comes);
    let not = terms.not(comes);
    let conditions = holds.iter().copied().chain([not]).collect();
    threads.questions.ask(conditions) == Answer::Never
}

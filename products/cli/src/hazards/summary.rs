//! What is said of all files together.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

use ptx_atomics::hazards::Report;
use ptx_atomics::pass::Diagnostic;
use ptx_atomics::races::check::Verdict::Free;
use strum::IntoEnumIterator;

use crate::order::Verdict;

use super::{
    kernels::{Checked, Read},
    placed::{Level, Placed},
};

/// What is known of all files.
#[derive(Default)]
pub struct Summary {
    /// The file and the name of each kernel.
    pub kernels: Vec<(String, String)>,
    /// How many atomics and fences have each verdict, if any program had PTX and IR.
    order: Option<BTreeMap<Verdict, usize>>,
    /// How many kernels were looked at for data races, and how many of them are proved free.
    races: (usize, usize),
    /// How many kernels were not looked at for them, since it is not known how many threads a CTA has.
    without_block: usize,
    synchronizations: usize,
    unchecked: usize,
    wrong: usize,
    possible: usize,
    /// How many findings are those of the baseline, and how many of the baseline there were not.
    pub known: Option<(usize, usize)>,
    /// What kept a file, or a part of it, from being checked.
    pub errors: Vec<Diagnostic>,
}

impl Summary {
    pub fn add(&mut self, Read { input, modules, order, races, without_block, .. }: &Read) {
        let file = input.as_ref().map_or_else(String::new, |input| input.name().to_owned());
        for Checked { report: Report { synchronizations, unchecked, .. }, name, .. } in
            modules.iter().flat_map(|module| &module.kernels)
        {
            self.kernels.push((file.clone(), name.clone()));
            self.synchronizations += synchronizations;
            self.unchecked += unchecked;
        }
        self.without_block += without_block;
        for report in races.iter().flat_map(|file| &file.reports) {
            self.races.0 += 1;
            self.races.1 += usize::from(report.verdict == Free);
        }
        for verdict in order.iter().flat_map(|order| Verdict::iter().map(|verdict| (verdict, order.count(verdict)))) {
            *self.order.get_or_insert_default().entry(verdict.0).or_default() += verdict.1;
        }
    }

    pub fn count(&mut self, findings: &[Placed]) {
        let of = |level| findings.iter().filter(|placed| placed.level == level).count();
        self.wrong += of(Level::Error);
        self.possible += of(Level::Possible);
    }

    /// Whether there is no error; with `is_strict`, nothing that is possible either.
    pub fn is_right(&self, is_strict: bool) -> bool {
        self.wrong == 0 && self.errors.is_empty() && !(is_strict && self.possible > 0)
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernels, synchronizations, unchecked, wrong, possible, known, .. } = self;
        let s = |count: usize| if count == 1 { "" } else { "s" };
        if let Some(order) = &self.order {
            let of = |verdict| order.get(&verdict).copied().unwrap_or_default();
            let (kept, lost, open) = (of(Verdict::Kept), of(Verdict::Lost), of(Verdict::NotJudged));
            let all = order.values().sum::<usize>();
            writeln!(
                f,
                "{all} atomic{} and fences: {kept} kept, {lost} not, {open} not checked",
                if all == 1 { "" } else { "s" }
            )?;
        }
        let kernels = kernels.len();
        write!(f, "{kernels} kernel{}, {synchronizations} synchronization{}", s(kernels), s(*synchronizations))?;
        write!(f, ": {wrong} error{}, {possible} possible, {unchecked} not checked", s(*wrong))?;
        if let (looked @ 1.., free) = self.races {
            write!(f, "; {free} of {looked} proved free of races")?;
        }
        if self.without_block > 0 {
            let count = self.without_block;
            write!(
                f,
                "; data races not looked for in {count} kernel{}: give the threads of a CTA by --block",
                s(count)
            )?;
        }
        known.map_or(Ok(()), |(known, left)| write!(f, "; of the baseline {known} are there and {left} are not"))
    }
}

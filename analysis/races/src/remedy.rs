//! Remedies for races, confirmed by a proof; and the search for barriers that order two threads of a CTA.

use itertools::Itertools;
use ptx_isa::{
    Code, Function, InstPlace, Instruction, Line, Module, Scope, Sem,
    flat::{self, Flat, Library},
};

use crate::{
    budget::ProofBudget,
    launch::Sizes,
    options::{Budget, RaceOptions},
    prove::{Proof, prove},
};

/// A remedy for a race.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Remedy {
    /// All changes with their sites; never empty.
    pub changes: Vec<Change>,
    /// Whether the changed kernel is proved free, and not only these two accesses.
    pub mends_all: bool,
}

impl Remedy {
    /// The remedy in words; `change` describes each change.
    pub fn words(&self, change: impl Fn(&Change) -> String) -> String {
        let changes: Vec<_> = self.changes.iter().map(change).collect();
        let with = if changes.len() == 1 { "with it" } else { "with these" };
        let effect = match self.mends_all {
            true => "the kernel is proved free of races",
            false => "these two accesses are proved ordered",
        };
        format!("{}: {with}, {effect}", changes.join(" and "))
    }
}

/// A change of the PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Change {
    /// [`BARRIER`], for all threads of the CTA, before an instruction.
    Barrier(InstPlace),
    /// A different ordering or scope: the instruction before and after the change, both without a semicolon.
    InPlace { at: InstPlace, before: String, after: String, sem: Sem, scope: Scope },
}

impl Change {
    /// The change in words of PTX, at a site. `short` shortens an instruction.
    pub fn words(&self, place: &str, short: impl Fn(&str) -> String) -> String {
        match self {
            Self::Barrier(_) => format!("add `{BARRIER};` before {place}"),
            Self::InPlace { before, after, .. } => {
                format!("use `{}` instead of `{}` at {place}", short(after), short(before))
            }
        }
    }

    /// The instruction.
    pub fn at(&self) -> InstPlace {
        match self {
            Self::Barrier(at) | Self::InPlace { at, .. } => *at,
        }
    }
}

/// The instruction of a [`Change::Barrier`].
pub const BARRIER: &str = "bar.sync 0";

/// The proofs that the search for a remedy may make.
pub struct Pool {
    proofs: usize,
    budget: ProofBudget,
}

impl Pool {
    /// All remedies of a kernel together cost a quarter of its proof, and each remedy a quarter of that.
    const PART: u64 = 4;

    pub fn new(budget: &Budget) -> Self {
        Self { proofs: budget.remedies, budget: budget.proof.part(Self::PART) }
    }

    pub fn is_empty(&self) -> bool {
        self.proofs == 0 || self.budget.clauses == 0 || self.budget.all_decisions == 0
    }

    /// A proof of a changed kernel.
    pub fn prove(&mut self, flat: &Flat, sizes: Sizes, options: &RaceOptions) -> Proof {
        self.proofs = self.proofs.saturating_sub(1);
        let proof = prove(flat, sizes, options.may_alias, self.budget.part(Self::PART), &options.stop);
        self.budget = self.budget.without(proof.clauses, proof.decisions);
        proof
    }
}

/// The sites at which a barrier was tried, each with the resulting proof and its unproved pairs.
pub struct Tried {
    places: Vec<(InstPlace, Proof, Vec<[InstPlace; 2]>)>,
}

impl Tried {
    /// Tries a barrier next to the accesses of the given pairs, and at labels and branches. Each site takes a proof
    /// from the pool.
    pub fn try_sites(
        module: &Module,
        kernel: &Function,
        sizes: Sizes,
        options: &RaceOptions,
        pairs: &[[InstPlace; 2]],
        pool: &mut Pool,
    ) -> Self {
        let mut tried = Self { places: Vec::new() };
        let (Some(body), Some(barrier)) = (&kernel.body, barrier()) else { return tried };
        let Some(function) = module.functions().position(|own| own.name == kernel.name && own.body.is_some()) else {
            return tried;
        };
        let place = |index: usize| kernel.place(function as u32, index);
        let is_access = |index: usize| pairs.iter().flatten().any(|own| *own == place(index));
        let is_label = |line: &Line| matches!(line.code, Code::Label(_));
        let is_typed = typed(body);
        let has_source = body.iter().any(is_source);
        let is_jump = |line: &Line| match &line.code {
            Code::Instruction { instruction: Instruction::Bra { .. }, .. } => has_source,
            Code::Other(other) => other.base() == "bra",
            _ => false,
        };
        let is_place = |at: usize| {
            let before = (0..at).rev().find(|index| !matches!(body[*index].code, Code::Directive(_)));
            let is_start =
                |index: usize| is_access(index) || is_label(&body[index]) || has_source && is_jump(&body[index]);
            is_typed[at] && (is_access(at) || is_jump(&body[at]) || before.is_some_and(is_start))
        };
        for at in (0..body.len()).filter(|at| is_place(*at)) {
            if pool.is_empty() || options.stop.is_due() {
                break;
            }
            let mut changed = kernel.clone();
            let line = Line { number: body[at].number, ..barrier.clone() };
            changed.body.iter_mut().for_each(|body| body.insert(at, line.clone()));
            let mut flat = Flat::inline_calls(&Library::new(module), &changed, flat::Limits::default());
            options.give_numbers(&mut flat);
            let proof = pool.prove(&flat, sizes, options);
            // The inserted barrier moves later instructions by one position.
            let moved = |own: InstPlace| match own.id {
                Some(id) if id.function as usize == function && id.index as usize > at => place(id.index as usize - 1),
                _ => own,
            };
            let unproved = proof.unproved.iter().filter(|own| !own.is_across);
            let left = unproved.map(|own| pair(&flat, own.steps).map(moved)).collect();
            // Code that is not followed may have more accesses.
            if proof.divergent.is_empty() && proof.open.is_empty() {
                tried.places.push((place(at), proof, left));
            }
        }
        tried
    }

    /// The barrier that orders two accesses of a CTA: of all sites tried, the one that leaves the fewest pairs
    /// unproved.
    pub fn remedy(&self, pair: [InstPlace; 2]) -> Option<Remedy> {
        let mends = self.places.iter().filter(|(_, _, left)| !left.contains(&pair));
        let (at, proof, _) = mends.min_by_key(|(_, proof, left)| (left.len(), proof.unproved.len()))?;
        Some(Remedy { changes: vec![Change::Barrier(*at)], mends_all: proof.holds() })
    }
}

/// Whether a line gives the source of the following lines: `.loc file line column`.
fn is_source(line: &Line) -> bool {
    matches!(&line.code, Code::Directive(text) if text.trim_start().starts_with(".loc"))
}

/// For each line, whether a programmer can insert a statement before it. The line must be an instruction. If the PTX
/// has source locations, it must be the first instruction of a statement whose code is contiguous, which excludes the
/// head of a loop.
fn typed(body: &[Line]) -> Vec<bool> {
    let mut source: Option<String> = None;
    let mut statements: Vec<(Option<String>, usize)> = Vec::new();
    let mut is_typed = vec![false; body.len()];
    for (at, line) in body.iter().enumerate() {
        match &line.code {
            Code::Directive(text) if is_source(line) => {
                source = Some(text.split_whitespace().skip(1).take(2).join(" "));
            }
            Code::Instruction { .. } | Code::Other(_) if source.is_none() => is_typed[at] = true,
            Code::Instruction { .. } | Code::Other(_) if statements.last().is_none_or(|(last, _)| *last != source) => {
                statements.push((source.clone(), at));
            }
            _ => {}
        }
    }
    let count = statements.iter().counts_by(|(source, _)| source.clone());
    for (source, at) in statements {
        is_typed[at] = count.get(&source) == Some(&1);
    }
    is_typed
}

/// The sites of two steps in the order of the text.
pub fn pair(flat: &Flat, steps: [usize; 2]) -> [InstPlace; 2] {
    let [a, b] = steps.map(|step| flat.steps[step].at);
    [a.min(b), a.max(b)]
}

/// The barrier as a line.
fn barrier() -> Option<Line> {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n{BARRIER};\n}}\n");
    let module: Module = text.parse().ok()?;
    module.functions().find_map(|function| function.body.as_ref()?.first().cloned())
}

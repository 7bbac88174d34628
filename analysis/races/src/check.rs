//! The verdict on a kernel: proved free of races, refuted by an execution, or open.

use ptx_execute::{Detail, Fault, FaultKind, Given};
use ptx_isa::{
    Family, Function, InstPlace, LaunchSize, Module,
    flat::{self, Action, Flat, Library},
};
use rustc_hash::FxHashSet;
use strum::{Display, EnumString};

pub use crate::options::{Budget, RaceOptions};
use crate::{
    assumption::Assumption,
    launch::Sizes,
    ordering::orderings,
    prove::{Proof, prove},
    remedy::{Pool, Remedy, Tried, pair},
    witness::{Needs, Witness, polls, witnesses},
};

/// The verdict on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// No execution has a race or a divergent barrier, under the listed assumptions.
    Free,
    /// Some execution has a race.
    Race,
    /// In some execution threads of a CTA wait at a barrier that other threads never reach.
    Divergent,
    /// Neither is proved.
    Open,
}

/// The kind of an obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Two accesses that may conflict without an ordering between them.
    Race {
        /// Whether both accesses write the same value.
        same_value: bool,
        /// Whether the question was too hard for the solver.
        too_hard: bool,
    },
    /// A barrier that not all threads may reach.
    Barrier,
    /// A loop that waits for a lane of its warp which has left it, below sm_70.
    LockStep,
    /// The analysis does not follow an instruction of the kernel.
    NotFollowed,
}

/// The class of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// Two accesses conflict and nothing orders them; an execution shows the race.
    Race,
    /// A race of stores that write the same value.
    SameValue,
    /// A barrier that not all threads reach, or whose thread count does not fit; or lanes that wait forever for a lane
    /// of their warp. An execution shows it.
    Divergent,
    /// Neither a proof nor a witness was found for two accesses or a barrier.
    NotProved,
    /// The analysis does not follow an instruction of the kernel.
    NotFollowed,
}

/// A reason why a proof fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The class, which takes executions into account.
    pub class: Class,
    /// The kind, which does not depend on executions.
    pub kind: Kind,
    /// The sites in the PTX, with lines from 1: of two accesses the earlier first; twice the same site for one
    /// instruction of two threads.
    pub pair: [InstPlace; 2],
    /// The message: a sentence without a full stop.
    pub message: String,
    /// The execution that shows the finding.
    pub witness: Option<Witness>,
    /// The remedy that the proof found.
    pub remedy: Option<Remedy>,
}

impl Obstacle {
    /// Whether a witness shows the obstacle. A warp that meets two barriers shows both of them.
    fn is_shown_by(&self, kind: Kind, pair: [InstPlace; 2]) -> bool {
        let is_met = self.kind == Kind::Barrier && kind == Kind::Barrier && pair.contains(&self.pair[0]);
        pair == self.pair || is_met
    }
}

/// The result of the check of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the kernel in the module.
    pub kernel: String,
    /// The verdict on the kernel.
    pub verdict: Outcome,
    /// Whether the number of threads of a CTA is known; otherwise the executions use a guessed number.
    pub has_block: bool,
    /// The assumptions of a proof; empty if nothing is proved.
    pub assumptions: Vec<Assumption>,
    /// The reasons why a proof fails.
    pub obstacles: Vec<Obstacle>,
    /// The number of executions; `None` if the kernel cannot be launched or needs no execution.
    pub executions: Option<u32>,
    /// Whether the emergency stop ended the check early.
    pub is_stopped: bool,
}

/// Checks the kernels of a module.
pub fn check(module: &Module, options: &RaceOptions) -> Vec<Report> {
    let library = Library::new(module);
    module.kernels().map(|kernel| check_kernel(module, &library, kernel, options)).collect()
}

/// Checks one kernel.
pub fn check_kernel(module: &Module, library: &Library<'_>, kernel: &Function, options: &RaceOptions) -> Report {
    let mut flat = Flat::inline_calls(library, kernel, flat::Limits::default());
    options.give_numbers(&mut flat);
    let sizes = Sizes::new(&flat, options.size);
    let has_block = LaunchSize::from_head(&flat.head).or(options.size).block.is_some();
    let proof = prove(&flat, sizes, options.may_alias, options.budget.proof, &options.stop);
    let free = |executions| Report {
        kernel: kernel.name.clone(),
        verdict: Outcome::Free,
        has_block,
        assumptions: proof.assumptions.iter().copied().collect(),
        obstacles: Vec::new(),
        executions,
        is_stopped: options.stop.has_struck(),
    };
    // The proof does not look at the order of the paths of a warp.
    if proof.holds() && !(flat.is_lock_step() && polls(&flat)) {
        return free(None);
    }
    // A kernel that reads no CTA index is run with one CTA, as in the proof.
    let grid = if let [Some(x), Some(y), Some(z)] = sizes.grid { Some([x, y, z]) } else { None };
    let size = options.size.or(LaunchSize { grid, ..LaunchSize::default() });
    let given = Given { size, most: Some(sizes.most), numbers: options.numbers.clone() };
    let proposed = proposed(&flat, &proof);
    let is_enough = |found: &[Witness]| {
        let is_shown = |finding: &Obstacle| {
            found.iter().any(|witness| {
                let (_, kind) = kind(&witness.found);
                finding.is_shown_by(kind, witness.pair())
            })
        };
        !proposed.is_empty() && proposed.iter().all(is_shown)
    };
    let is_across = proof.unproved.iter().any(|own| own.is_across);
    let ctas = [2, if sizes.grid[1].is_none() { 2 } else { 1 }, 1];
    let barriers = barriers(&flat);
    let needs = Needs { zeros: polls(&flat), ctas: is_across.then_some(ctas), barriers: &barriers };
    // If guessed numbers show too few findings, the numbers of the solver's answers may show more.
    let answers = proof.numbers.iter().map(|numbers| named(&flat, numbers)).filter(|numbers| !numbers.is_empty());
    let mut all = vec![given.clone()];
    all.extend(answers.map(|numbers| Given { numbers: [&options.numbers[..], &numbers].concat(), ..given.clone() }));
    // A kernel that the machine rejects has no witness.
    let searched = witnesses(module, &kernel.name, &all, needs, options, &is_enough);
    let executions = searched.as_ref().ok().map(|(_, executions)| *executions);
    let (shown, _) = searched.unwrap_or_default();
    let mut obstacles: Vec<Obstacle> = shown.into_iter().map(of_witness).collect();
    if proof.holds() {
        obstacles.retain(|shown| shown.kind == Kind::LockStep);
        if obstacles.is_empty() {
            return free(executions);
        }
    }
    let is_shown = |finding: &Obstacle| obstacles.iter().any(|shown| finding.is_shown_by(shown.kind, shown.pair));
    let left: Vec<Obstacle> = proposed.iter().filter(|finding| !is_shown(finding)).cloned().collect();
    obstacles.extend(left);
    // If the values differ in one execution, a second execution with equal values adds nothing.
    let racy: Vec<[InstPlace; 2]> =
        obstacles.iter().filter(|own| own.class == Class::Race).map(|own| own.pair).collect();
    obstacles.retain(|finding| finding.class != Class::SameValue || !racy.contains(&finding.pair));
    obstacles.sort_by_key(|finding| (finding.class, finding.pair));
    add_remedies(module, kernel, (&mut flat, sizes), options, &proof, &mut obstacles);
    let has = |class: Class| obstacles.iter().any(|finding| finding.class == class);
    let verdict = match () {
        // A guessed number of threads may differ from the number that the kernel runs with.
        () if !has_block => Outcome::Open,
        () if has(Class::Divergent) => Outcome::Divergent,
        () if has(Class::Race) || has(Class::SameValue) => Outcome::Race,
        () => Outcome::Open,
    };
    let is_stopped = options.stop.has_struck();
    Report {
        kernel: kernel.name.clone(),
        verdict,
        has_block,
        assumptions: Vec::new(),
        obstacles,
        executions,
        is_stopped,
    }
}

/// The numeric parameters, under the names that executions use. A parameter that may be an address is left out.
fn named(flat: &Flat, numbers: &[((usize, i64), u64)]) -> Vec<(String, u64)> {
    let parameters = &flat.head.parameters;
    let has_pointers = parameters.iter().any(|parameter| parameter.is_pointer);
    let name = |((symbol, offset), value): &((usize, i64), u64)| {
        let own = &flat.symbols.get(*symbol)?.variable.name;
        let parameter = parameters.iter().find(|parameter| parameter.name == *own)?;
        let bits = parameter.ty?.bits();
        let is_number = !parameter.is_pointer && (bits <= 32 || has_pointers && parameter.elements.is_none());
        let name = match (offset, parameter.elements) {
            (0, None) => parameter.name.clone(),
            (offset, _) => format!("{}+{offset}", parameter.name),
        };
        is_number.then_some((name, *value))
    };
    numbers.iter().filter_map(name).collect()
}

/// The barriers of a CTA and of a cluster.
fn barriers(flat: &Flat) -> Vec<InstPlace> {
    let is_barrier = |action: &Action| match action {
        Action::Barrier(_) => true,
        Action::Asynchronous(form, _) => form.family() == Family::BarrierClusterWait,
        _ => false,
    };
    flat.steps.iter().filter(|step| is_barrier(&step.action)).map(|step| step.at).collect()
}

/// Adds remedies to the races that executions showed. Only a proof confirms a remedy.
fn add_remedies(
    module: &Module,
    kernel: &Function,
    (flat, sizes): (&mut Flat, Sizes),
    options: &RaceOptions,
    proof: &Proof,
    obstacles: &mut [Obstacle],
) {
    let mut pool = Pool::new(&options.budget);
    let is_race = |finding: &&mut Obstacle| finding.witness.as_ref().is_some_and(Witness::is_race_of_cta);
    let pairs: Vec<[InstPlace; 2]> = obstacles.iter_mut().filter(is_race).map(|finding| finding.pair).collect();
    if !pairs.is_empty() {
        let tried = Tried::try_sites(module, kernel, sizes, options, &pairs, &mut pool);
        obstacles.iter_mut().filter(is_race).for_each(|finding| finding.remedy = tried.remedy(finding.pair));
    }
    let is_left = |finding: &&mut Obstacle| {
        let is_race = matches!(finding.class, Class::Race | Class::SameValue);
        is_race && finding.remedy.as_ref().is_none_or(|remedy| !remedy.mends_all)
    };
    if obstacles.iter_mut().any(|finding| is_left(&finding))
        && let Some(changes) = orderings(module, flat, sizes, options, proof, &mut pool)
    {
        let remedy = Remedy { changes, mends_all: true };
        obstacles.iter_mut().filter(is_left).for_each(|finding| finding.remedy = Some(remedy.clone()));
    }
}

/// The findings that a proof leaves open.
fn proposed(flat: &Flat, proof: &Proof) -> Vec<Obstacle> {
    let mut all: Vec<Obstacle> = Vec::new();
    let mut known = FxHashSet::default();
    for unproved in &proof.unproved {
        let pair = pair(flat, unproved.steps);
        if !known.insert(pair) {
            continue;
        }
        let threads = if unproved.is_across { "threads of different CTAs" } else { "two threads of a CTA" };
        let conflict = match (unproved.same_value, unproved.too_hard) {
            (true, _) => "may write the same value to the same place without an order",
            (_, true) => "may access the same place without an order; the question is too hard for the solver",
            _ => "may access the same place without an order",
        };
        let message = format!("{threads} {conflict}");
        let kind = Kind::Race { same_value: unproved.same_value, too_hard: unproved.too_hard };
        all.push(Obstacle { class: Class::NotProved, kind, pair, message, witness: None, remedy: None });
    }
    let barrier = "not all threads of the CTA may reach this barrier together";
    all.extend(proof.divergent.iter().map(|at| (Class::NotProved, Kind::Barrier, *at, barrier.to_owned())).map(single));
    all.extend(
        proof.open.iter().map(|(at, why)| (Class::NotFollowed, Kind::NotFollowed, *at, why.clone())).map(single),
    );
    all
}

fn single((class, kind, at, message): (Class, Kind, InstPlace, String)) -> Obstacle {
    Obstacle { class, kind, pair: [at; 2], message, witness: None, remedy: None }
}

/// The class and the kind of an obstacle that an execution shows.
fn kind(found: &Fault) -> (Class, Kind) {
    match found.kind {
        FaultKind::Race => (Class::Race, Kind::Race { same_value: false, too_hard: false }),
        FaultKind::SameValue => (Class::SameValue, Kind::Race { same_value: true, too_hard: false }),
        FaultKind::Hang if found.detail == Detail::LockStep => (Class::Divergent, Kind::LockStep),
        _ => (Class::Divergent, Kind::Barrier),
    }
}

fn of_witness(witness: Witness) -> Obstacle {
    let (class, kind) = kind(&witness.found);
    Obstacle {
        class,
        kind,
        pair: witness.pair(),
        message: witness.found.message.clone(),
        witness: Some(witness),
        remedy: None,
    }
}

//! The PTX of any compiler, with cheaper atomics and fences.
//!
//! `feed` tells [`crate`] a function as a graph of its accesses, and `apply` makes in the text the changes of
//! the graph. Unchanged lines stay byte for byte. A PTX file does not say which other programs access its memory: [`Launch`] does.
//!
//! ```
//! use ptx_optimize::text::{Options, rewrite};
//!
//! let ptx = "
//!     .version 8.6
//!     .target sm_90
//!     .visible .entry count(.param .u64 to) {
//!         .reg .b32 %r<2>;
//!         .shared .align 4 .b32 found;
//!         atom.acq_rel.gpu.shared.add.u32 %r1, [found], 1;
//!         ret;
//!     }";
//! let rewritten = rewrite(ptx, &Options::default())?;
//! assert!(rewritten.text.contains("atom.acq_rel.cta.shared.add.u32 %r1, [found], 1;"), "{}", rewritten.text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod feed;
mod launch;
mod polls;
mod reach;
mod verify;

use crate::{self as optimize, Budget, Condition, FirstRound, Least, Remark, Rewrite, Rewrites};
use itertools::Itertools;
use ptx_isa::{Form, Function, Module, ModuleErrors, flat::Library};
use ptx_lowering::{AtomicOp, Policy, PtxVersion, Sm, Target};

pub use self::launch::Launch;
use self::{apply::Edit, feed::Fed, reach::Reach};

/// What is rewritten, and what is known.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The rewrites. [`Rewrite::Writes`] is none of PTX.
    pub rewrites: Rewrites,
    /// Whether a loop that waits polls with relaxed loads first. It adds instructions, and pays where there is something to wait for.
    pub polls: bool,
    /// Of all kernels of the file.
    pub launch: Launch,
    /// How far to look for the least that each function can weigh, all functions together, if at all.
    pub least: Option<Budget>,
    /// A condition that is taken for granted, to see that it matters. For a test alone.
    #[doc(hidden)]
    pub without: Option<Condition>,
}

impl Default for Options {
    fn default() -> Self {
        Self { rewrites: Rewrites::on(), polls: false, launch: Launch::default(), least: None, without: None }
    }
}

/// What became of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The whole text.
    pub text: String,
    /// What was done, and what stood in the way, function by function.
    pub said: Vec<Said>,
    /// The functions that order anything.
    pub functions: Vec<Weight>,
}

/// What became of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The function.
    pub function: String,
    /// The line in the text before.
    pub line: u32,
    /// The instruction there.
    pub instruction: String,
    /// By which rewrite: the name of one of the optimizer, or `polls`.
    pub rewrite: &'static str,
    /// Whether it was done.
    pub applied: bool,
    /// What was done and why, or what stood in the way; a sentence without an end.
    pub message: String,
}

/// What the orderings of a function weigh in the machine code that ptxas makes of them: a barrier counts by what it waits for, in a loop
/// eight times. It compares, and is no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The function.
    pub function: String,
    /// As it was.
    pub before: u64,
    /// As it is.
    pub after: u64,
    /// What no placement of fences and orderings is below, if it was asked for; also where the first round of no loop gets dearer.
    pub least: Option<[Least; 2]>,
}

/// Why nothing was rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no PTX.
    #[error(transparent)]
    Unread(#[from] ModuleErrors),
    /// It is for a GPU that has no memory model.
    #[error("{0}")]
    Target(String),
}

/// Rewrites the functions of a file.
///
/// # Errors
/// If it is no PTX, or for no GPU that has the memory model of PTX: sm_70 is the first.
pub fn rewrite(text: &str, options: &Options) -> Result<Rewritten, Error> {
    let module: Module = text.parse()?;
    let target = target(&module)?;
    let (library, reach) = (Library::of(&module), Reach::of(&module, &target, options.launch));
    let mut labels = apply::Labels::of(text);
    let functions = || module.functions().enumerate().filter(|(_, function)| function.body.is_some());
    let mut parts = Vec::new();
    for (number, function) in functions() {
        let fed = feed::feed(&library, function, reach.within(function));
        parts.extend(one(text, number, function, fed, &target, options, &mut labels));
    }
    if let Some(budget) = options.least {
        find_least(&mut parts, &optimizing(options, options.rewrites, &target), budget);
    }
    // A function that does not pass the check stays as it was. Each turn leaves one more so.
    loop {
        let edits = parts.iter().flat_map(|part| part.edits.iter().cloned()).collect();
        let made = apply::edited(text, edits);
        let read: Result<Module, _> = made.parse();
        let after: Vec<Option<&Function>> = read.iter().flat_map(Module::functions).map(Some).collect();
        let faults = parts.iter_mut().filter(|part| !part.edits.is_empty()).filter_map(|part| {
            let after = after.get(part.number).copied().flatten();
            let fault = match after {
                Some(after) => verify::fault(part.function, after, &part.fed, &part.graph, &target)?,
                None => "expected PTX, found text that cannot be read".to_owned(),
            };
            Some((part, fault))
        });
        if faults.map(|(part, fault)| part.leave(&fault)).count() == 0 {
            let said = parts.iter_mut().flat_map(|part| std::mem::take(&mut part.said)).collect();
            let functions = parts.into_iter().filter_map(|part| part.weight).collect();
            return Ok(Rewritten { text: made, said, functions });
        }
    }
}

/// A function, and its rewritten text.
struct Part<'m> {
    /// Its place among the functions of the module.
    number: usize,
    function: &'m Function,
    fed: Fed<'m>,
    /// The optimized graph.
    graph: optimize::Function,
    edits: Vec<Edit>,
    said: Vec<Said>,
    weight: Option<Weight>,
}

impl Part<'_> {
    /// Leaves the function as it was, since its edits have a fault.
    fn leave(&mut self, fault: &str) {
        self.edits.clear();
        for said in self.said.iter_mut().filter(|said| said.applied) {
            said.applied = false;
            said.message =
                format!("nothing is changed in the function, since the check of the new text found a fault: {fault}");
        }
        if let Some(weight) = &mut self.weight {
            weight.after = weight.before;
        }
    }
}

/// Optimizes a function. Nothing if no edits give the result of the optimizer.
fn one<'m>(
    text: &str,
    number: usize,
    function: &'m Function,
    fed: Fed<'m>,
    target: &Target,
    options: &Options,
    labels: &mut apply::Labels,
) -> Option<Part<'m>> {
    let with = |rewrites| optimizing(options, rewrites, target);
    let all = with(options.rewrites);
    let before = optimize::weights(&fed.function, &all);
    // Some edges have no place in the text. What is done without loops has none.
    let (mut edits, mut remarks, mut graph) =
        [options.rewrites, options.rewrites.without(Rewrite::Loops)].into_iter().find_map(|rewrites| {
            let mut after = fed.function.clone();
            let remarks = optimize::optimize(&mut after, &with(rewrites));
            Some((apply::apply(text, &fed, &after, target, labels)?, remarks, after))
        })?;
    let mut weights = optimize::weights(&graph, &all);
    let mut polled = Vec::new();
    if options.polls {
        let costs = |op: &AtomicOp| optimize::weight_of(op, &all) > 0;
        for poll in polls::polls(text, &fed, &graph, labels, costs) {
            poll.add_to(&mut graph);
            remarks.retain(|remark| remark.applied || remark.id != poll.step);
            polled.push(poll.step);
            // The block behind goes round where the location has changed again.
            weights[poll.block] /= optimize::ROUNDS;
            edits.push(poll.edit);
        }
    }
    let (before, after) = (before.iter().sum(), weights.iter().sum());
    let said = said(function, &fed, remarks, &polled).collect();
    let weight = (before > 0).then(|| Weight { function: function.name.clone(), before, after, least: None });
    Some(Part { number, function, fed, graph, edits, said, weight })
}

/// The options of the optimizer for these rewrites.
fn optimizing(options: &Options, rewrites: Rewrites, target: &Target) -> optimize::Options {
    optimize::Options {
        rewrites,
        without: options.without,
        one_grid: options.launch.alone,
        ..optimize::Options::new(Policy::default(), *target)
    }
}

/// Finds the least that each function can weigh. The steps that a function leaves are for the functions after it.
fn find_least(parts: &mut [Part<'_>], options: &optimize::Options, mut budget: Budget) {
    let mut weighed =
        parts.iter_mut().filter_map(|part| Some((&part.fed.function, part.weight.as_mut()?))).collect_vec();
    let mut searches = 2 * weighed.len();
    for (function, weight) in &mut weighed {
        let least = [FirstRound::Any, FirstRound::NoDearer].map(|first| {
            let mut share = budget.share(searches);
            budget.steps -= share.steps;
            searches -= 1;
            let least = optimize::least(function, first, options, &mut share);
            budget.steps += share.steps;
            least
        });
        weight.least = least[0].zip(least[1]).map(<[Least; 2]>::from);
    }
}

fn said<'a>(
    function: &'a Function,
    fed: &'a Fed<'_>,
    remarks: Vec<Remark>,
    polled: &'a [usize],
) -> impl Iterator<Item = Said> + 'a {
    let at = |id: usize| (fed.lines[id].number, fed.lines[id].text.split_whitespace().join(" "));
    let all = remarks.into_iter().map(|Remark { id, rewrite, applied, message }| Said {
        function: function.name.clone(),
        line: at(id).0,
        instruction: at(id).1,
        rewrite: rewrite.into(),
        applied,
        message,
    });
    let polled = polled.iter().map(move |id| Said {
        function: function.name.clone(),
        line: at(*id).0,
        instruction: at(*id).1,
        rewrite: "polls",
        applied: true,
        message: "polls with relaxed loads in front of the loop".into(),
    });
    all.chain(polled).sorted_by_key(|said| said.line)
}

/// The target of a module.
fn target(module: &Module) -> Result<Target, Error> {
    let named = module.target.split(',').next().unwrap_or_default().trim();
    let wrong = |error: &dyn std::fmt::Display| Error::Target(error.to_string());
    let sm: Sm = named.parse().map_err(|error| wrong(&error))?;
    let parts =
        module.version.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = parts.ok_or_else(|| Error::Target(format!("PTX has no version {}", module.version)))?;
    let version = PtxVersion(major, minor);
    let target = Target::new(sm, Some(version)).map_err(|error| wrong(&error))?;
    match target.meets(Form::Semantics.requirement()) {
        true => Ok(target),
        false => Err(Error::Target(format!("{target} has no memory model: that begins with sm_70 and PTX 6.0"))),
    }
}

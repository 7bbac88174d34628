//! The optimizer for PTX text of any compiler.
//!
//! `feed` gives [`crate`] a function as a graph of its accesses, and `apply` edits the text according to the changes of
//! the graph. Unchanged lines stay identical byte for byte. A PTX file does not say which other programs access its
//! memory: [`Launch`] does.
//!
//! ```
//! use ptx_optimize::text::{TextOptions, rewrite};
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
//! let rewritten = rewrite(ptx, &TextOptions::default())?;
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

/// The enabled rewrites, and the facts about launches.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// The rewrites. [`Rewrite::Writes`] does not apply to PTX.
    pub rewrites: Rewrites,
    /// Whether a waiting loop first polls with relaxed loads. The option adds instructions, and pays if the loop has to
    /// wait.
    pub polls: bool,
    /// The facts about the launches of all kernels of the file.
    pub launch: Launch,
    /// The budget of the search for lower bounds, shared by all functions; `None` disables the search.
    pub least: Option<Budget>,
    /// A condition that is assumed to hold, for tests that show that it matters.
    #[doc(hidden)]
    pub without: Option<Condition>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { rewrites: Rewrites::on(), polls: false, launch: Launch::default(), least: None, without: None }
    }
}

/// The result of rewriting a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The whole text.
    pub text: String,
    /// The remarks about changes and obstacles, function by function.
    pub said: Vec<RewriteRemark>,
    /// The functions that have orderings.
    pub functions: Vec<Weight>,
}

/// A remark about one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteRemark {
    /// The function.
    pub function: String,
    /// The line in the input.
    pub line: u32,
    /// The instruction in that line.
    pub instruction: String,
    /// The name of the rewrite: one of the optimizer's rewrites, or `polls`.
    pub rewrite: &'static str,
    /// Whether the rewrite was applied.
    pub applied: bool,
    /// The change and its reason, or the obstacle; a sentence without a full stop.
    pub message: String,
}

/// The weight of the orderings of a function in the machine code that ptxas generates. Each barrier counts by the scope
/// that it waits for, eight times in a loop. Weights are for comparison and are not times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The function.
    pub function: String,
    /// The weight of the input.
    pub before: u64,
    /// The weight of the result.
    pub after: u64,
    /// Lower bounds on the weight of every placement of fences and orderings, if requested. The second bound is for
    /// placements that do not make the first iterations of loops more expensive.
    pub least: Option<[Least; 2]>,
}

/// The reason why a file was not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not valid PTX.
    #[error(transparent)]
    Unread(#[from] ModuleErrors),
    /// The target is a GPU without the memory model of PTX.
    #[error("{0}")]
    Target(String),
}

/// Rewrites the functions of a file.
///
/// # Errors
/// If the text is not valid PTX, or its target lacks the memory model of PTX: sm_70 is the first target that has it.
pub fn rewrite(text: &str, options: &TextOptions) -> Result<Rewritten, Error> {
    let module: Module = text.parse()?;
    let target = target(&module)?;
    let (library, reach) = (Library::new(&module), Reach::new(&module, &target, options.launch));
    let mut labels = apply::Labels::new(text);
    let functions = || module.functions().enumerate().filter(|(_, function)| function.body.is_some());
    let mut parts = Vec::new();
    for (number, function) in functions() {
        let fed = feed::feed(&library, function, reach.within(function));
        parts.extend(optimize_function(text, number, function, fed, &target, options, &mut labels));
    }
    if let Some(budget) = options.least {
        find_least(&mut parts, &optimizing(options, options.rewrites, &target), budget);
    }
    // A function that fails the check is left unchanged. Each turn leaves at least one more function unchanged.
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
    /// The index of the function in the module.
    number: usize,
    function: &'m Function,
    fed: Fed<'m>,
    /// The optimized graph.
    graph: optimize::Function,
    edits: Vec<Edit>,
    said: Vec<RewriteRemark>,
    weight: Option<Weight>,
}

impl Part<'_> {
    /// Leaves the function unchanged, because its edits have a fault.
    fn leave(&mut self, fault: &str) {
        self.edits.clear();
        for said in self.said.iter_mut().filter(|said| said.applied) {
            said.applied = false;
            said.message = format!("the function is unchanged, since the check of the new text found a fault: {fault}");
        }
        if let Some(weight) = &mut self.weight {
            weight.after = weight.before;
        }
    }
}

/// Optimizes a function; `None` if no edits produce the result of the optimizer.
fn optimize_function<'m>(
    text: &str,
    number: usize,
    function: &'m Function,
    fed: Fed<'m>,
    target: &Target,
    options: &TextOptions,
    labels: &mut apply::Labels,
) -> Option<Part<'m>> {
    let with = |rewrites| optimizing(options, rewrites, target);
    let all = with(options.rewrites);
    let before = optimize::weights(&fed.function, &all);
    // Some edges have no position in the text. Without the loop rewrite, no edge needs a position.
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
            // The loop of the original block iterates only if the location has changed again.
            weights[poll.block] /= optimize::ROUNDS;
            edits.push(poll.edit);
        }
    }
    let (before, after) = (before.iter().sum(), weights.iter().sum());
    let said = list_remarks(function, &fed, remarks, &polled).collect();
    let weight = (before > 0).then(|| Weight { function: function.name.clone(), before, after, least: None });
    Some(Part { number, function, fed, graph, edits, said, weight })
}

/// The options of the optimizer for these rewrites.
fn optimizing(options: &TextOptions, rewrites: Rewrites, target: &Target) -> optimize::OptimizeOptions {
    optimize::OptimizeOptions {
        rewrites,
        without: options.without,
        one_grid: options.launch.alone,
        ..optimize::OptimizeOptions::new(Policy::default(), *target)
    }
}

/// Searches a lower bound for each function. The steps that a function does not use go to later functions.
fn find_least(parts: &mut [Part<'_>], options: &optimize::OptimizeOptions, mut budget: Budget) {
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

fn list_remarks<'a>(
    function: &'a Function,
    fed: &'a Fed<'_>,
    remarks: Vec<Remark>,
    polled: &'a [usize],
) -> impl Iterator<Item = RewriteRemark> + 'a {
    let at = |id: usize| (fed.lines[id].number, fed.lines[id].text.split_whitespace().join(" "));
    let all = remarks.into_iter().map(|Remark { id, rewrite, applied, message }| RewriteRemark {
        function: function.name.clone(),
        line: at(id).0,
        instruction: at(id).1,
        rewrite: rewrite.into(),
        applied,
        message,
    });
    let polled = polled.iter().map(move |id| RewriteRemark {
        function: function.name.clone(),
        line: at(*id).0,
        instruction: at(*id).1,
        rewrite: "polls",
        applied: true,
        message: "polls with relaxed loads before the loop".into(),
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

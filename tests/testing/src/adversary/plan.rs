//! The threads of a module, their places and their steps.

use itertools::Itertools;

use crate::random::Random;

/// A target whose fences can be acquire-only or release-only.
pub const ONE_SIDED: (&str, &str) = ("sm_90", "ptx86");

/// Targets before clusters, with clusters, and with acquire-only and release-only fences.
const TARGETS: [(&str, &str); 5] = [("sm_70", "ptx63"), ("sm_80", "ptx70"), ("sm_90", "ptx78"), ONE_SIDED, ONE_SIDED];

/// Scopes from narrow to wide, in LLVM IR and in PTX.
pub const SCOPES: [(&str, &str); 4] = [("block", "cta"), ("cluster", "cluster"), ("device", "gpu"), ("", "sys")];
const CLUSTER: usize = 1;
const GPU: usize = 2;
pub const SYS: usize = 3;

/// The place of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadPlace {
    pub gpu: u32,
    pub cluster: Option<u32>,
    pub cta: u32,
}

impl ThreadPlace {
    /// The narrowest scope that contains both places.
    pub fn scope(self, other: Self) -> usize {
        match () {
            () if self == other => 0,
            () if self.gpu == other.gpu && self.cluster.is_some() && self.cluster == other.cluster => CLUSTER,
            () if self.gpu == other.gpu => GPU,
            () => SYS,
        }
    }
}

/// The role of the functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each thread is a separate kernel.
    Kernels,
    /// All threads run one kernel, and branch by their numbers.
    Kernel,
    /// Each thread is a function that other modules call.
    Functions,
    /// Each thread is a function that a kernel of the module calls.
    Called,
}

/// Whether an access reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Does {
    Read,
    Write,
}

/// An ordering, or a plain access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Plain,
    Monotonic,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

use Order::{AcqRel, Acquire, Monotonic, Plain, Release, SeqCst};

impl Order {
    /// The ordering in LLVM IR.
    pub fn word(self) -> &'static str {
        ["", "monotonic", "acquire", "release", "acq_rel", "seq_cst"][self as usize]
    }

    /// The part of the ordering that an access can have.
    pub fn restrict_to(self, does: Does) -> Self {
        match (does, self) {
            (Does::Read, Release) | (Does::Write, Acquire) => Monotonic,
            (Does::Read, AcqRel) => Acquire,
            (Does::Write, AcqRel) => Release,
            (_, other) => other,
        }
    }
}

/// A step of a thread.
#[derive(Clone)]
pub enum Step {
    Access {
        does: Does,
        variable: usize,
        order: Order,
        scope: usize,
        /// Whether a loop may wait for another thread's value.
        waits: bool,
    },
    /// Reads of two variables, in a loop.
    Both {
        variables: [usize; 2],
        orders: [Order; 2],
        scope: usize,
    },
    Fence {
        order: Order,
        scope: usize,
    },
    Barrier,
    /// An instruction without an effect on other threads that may look as if it had one.
    Quiet,
}

impl Step {
    fn uses(&self, variable: usize) -> bool {
        match self {
            Self::Access { variable: used, .. } => *used == variable,
            Self::Both { variables, .. } => variables.contains(&variable),
            _ => false,
        }
    }
}

/// The plan of a module.
pub struct Plan {
    pub target: (&'static str, &'static str),
    pub form: Form,
    /// Whether threads return the values that they read. Otherwise they store them.
    pub returns: bool,
    /// The place of each thread. The first thread is in CTA 0 of GPU 0, and the threads of a CTA are consecutive.
    pub places: Vec<ThreadPlace>,
    pub threads: Vec<Vec<Step>>,
}

impl Plan {
    pub fn new(random: &mut Random) -> Self {
        let target = random.pick(&TARGETS);
        let places = places(random, target);
        // The threads of a CTA and of a cluster run the same kernel.
        let apart = |[one, other]: [&ThreadPlace; 2]| one.scope(*other) >= GPU;
        let form = match random.pick(&[Form::Kernels, Form::Kernel, Form::Kernel, Form::Functions, Form::Called]) {
            Form::Kernels if !places.iter().array_combinations().all(apart) => Form::Kernel,
            form => form,
        };
        let returns = matches!(form, Form::Functions | Form::Called) && random.chance(2);
        let threads = Cycle { random, places: &places, has_clusters: has_clusters(target) }.threads();
        Self { target, form, returns, places, threads }
    }

    pub fn has_clusters(&self) -> bool {
        has_clusters(self.target)
    }

    /// The threads that use each variable. Unused variables follow the used ones and are omitted.
    pub fn users(&self) -> Vec<Vec<usize>> {
        let uses = |steps: &Vec<Step>, variable| steps.iter().any(|step| step.uses(variable));
        let users = |variable| self.threads.iter().positions(|steps| uses(steps, variable)).collect_vec();
        (0..).map(users).take_while(|users| !users.is_empty()).collect()
    }
}

fn has_clusters((sm, _): (&str, &str)) -> bool {
    sm == ONE_SIDED.0
}

fn places(random: &mut Random, target: (&str, &str)) -> Vec<ThreadPlace> {
    let ctas: &[&[u32]] = &[&[0, 0], &[0, 1], &[0, 1], &[0, 0, 1], &[0, 0, 1], &[0, 1, 2], &[0, 1, 1], &[0, 0, 0]];
    // The relation of other CTAs to the first CTA: on its GPU, on another GPU, or in its cluster.
    let near = random.below(if has_clusters(target) { 4 } else { 2 });
    let place =
        |cta: &u32| ThreadPlace { gpu: u32::from(near == 1 && *cta > 0), cluster: (near > 1).then_some(0), cta: *cta };
    random.pick(ctas).iter().map(place).collect()
}

/// A cycle through the threads. Each thread has two accesses, and its second access is of the same variable as the
/// first access of the next thread.
struct Cycle<'r> {
    random: &'r mut Random,
    places: &'r [ThreadPlace],
    has_clusters: bool,
}

impl Cycle<'_> {
    /// The steps of all threads. All threads are in the cycle, or one of three threads only writes, or two threads of a
    /// CTA share a position of the cycle, with a barrier between them.
    fn threads(&mut self) -> Vec<Vec<Step>> {
        let count = self.places.len();
        let pair = count == 3 && self.places[0] == self.places[1] && self.places[1] != self.places[2];
        let split = pair && self.random.chance(2);
        let writer = count == 3 && !split && self.random.chance(3);
        let length = if split || writer { 2 } else { count };
        // At least one of the two accesses of a variable writes. In most cases the other access observes the write.
        let pairs = [[Does::Read, Does::Write], [Does::Write, Does::Read], [Does::Write, Does::Read], [Does::Write; 2]];
        let edges = (0..length).map(|_| self.random.pick(&pairs)).collect_vec();
        let does = (0..length).map(|thread| [edges[(thread + length - 1) % length][1], edges[thread][0]]).collect_vec();
        // If a thread writes before it reads, only sequential consistency forbids the cycle.
        let sequential = does.contains(&[Does::Write, Does::Read]);
        let strong = !self.random.chance(4);
        let variables = |thread| [thread, (thread + 1) % length];
        let steps = |(thread, does): (usize, &[Does; 2])| self.steps(*does, variables(thread), sequential, strong);
        let mut threads = does.iter().enumerate().map(steps).collect_vec();
        if split {
            let rest = self.split(&mut threads[0]);
            threads.insert(1, rest);
        }
        if writer {
            let order = self.random.pick(&[Monotonic, Release, SeqCst]);
            let (variable, scope) = (self.random.below(2), self.scope());
            threads.push(vec![Step::Access { does: Does::Write, variable, order, scope, waits: false }]);
        }
        threads
    }

    /// The widest scope that two of the threads need, the system scope, or sometimes a random scope.
    fn scope(&mut self) -> usize {
        let pairs = self.places.iter().array_combinations();
        let widest = pairs.map(|[one, other]: [&ThreadPlace; 2]| one.scope(*other)).max().unwrap_or(0);
        let scope = match self.random.below(20) {
            0..=8 => SYS,
            9..=17 => widest,
            any => self.random.below(2) + if any == 18 { 0 } else { GPU },
        };
        if scope == CLUSTER && !self.has_clusters { GPU } else { scope }
    }

    /// The given scope, or sometimes another scope.
    fn or_other(&mut self, scope: usize) -> usize {
        if self.random.chance(6) { self.scope() } else { scope }
    }

    fn any_fence(&mut self) -> Order {
        self.random.pick(&[Acquire, Release, AcqRel, SeqCst])
    }

    /// The steps of a thread. If `strong`, their orderings forbid the cycle.
    fn steps(&mut self, does: [Does; 2], variables: [usize; 2], sequential: bool, strong: bool) -> Vec<Step> {
        let (mut orders, mut fences) = if strong { self.strong(does, sequential) } else { self.any() };
        // A fence that may be redundant.
        if self.random.chance(3) {
            fences.push(self.any_fence());
        }
        let scope = self.scope();
        let mut steps = Vec::new();
        if self.random.chance(4) {
            steps.push(Step::Fence { order: self.any_fence(), scope });
        }
        if does == [Does::Read; 2] && self.random.chance(2) {
            orders = orders.map(|order| if order == Plain { Monotonic } else { order });
            steps.push(Step::Both { variables, orders, scope });
            return steps;
        }
        let access = |this: &mut Self, index: usize| {
            let (does, variable, order) = (does[index], variables[index], orders[index]);
            Step::Access { does, variable, order, scope: this.or_other(scope), waits: index == 0 }
        };
        steps.push(access(self, 0));
        for order in fences {
            self.sometimes_quiet(&mut steps);
            let scope = self.or_other(scope);
            steps.push(Step::Fence { order, scope });
        }
        self.sometimes_quiet(&mut steps);
        steps.push(access(self, 1));
        if self.random.chance(8) {
            steps.push(Step::Fence { order: self.any_fence(), scope });
        }
        steps
    }

    fn sometimes_quiet(&mut self, steps: &mut Vec<Step>) {
        if self.random.chance(6) {
            steps.push(Step::Quiet);
        }
    }

    /// Orderings of both accesses, and fences between them, that keep the second access after the first.
    fn strong(&mut self, does: [Does; 2], sequential: bool) -> ([Order; 2], Vec<Order>) {
        let (acquires, releases) = (does[0] == Does::Read, does[1] == Does::Write);
        if sequential {
            return if self.random.chance(2) { ([SeqCst; 2], vec![]) } else { ([Monotonic; 2], vec![SeqCst]) };
        }
        let (mut orders, fence) = match self.random.below(5) {
            0 => ([Monotonic; 2], Some(SeqCst)),
            1 => ([Monotonic; 2], Some(AcqRel)),
            2 => ([Monotonic; 2], Some(if acquires { Acquire } else { Release })),
            _ if acquires && (!releases || self.random.chance(2)) => ([Acquire, Monotonic], None),
            _ => ([Monotonic, Release], None),
        };
        // One access is plain data, and the other access carries the synchronization.
        if acquires != releases && self.random.chance(2) {
            orders[usize::from(acquires)] = Plain;
        }
        (orders, fence.into_iter().collect())
    }

    fn any(&mut self) -> ([Order; 2], Vec<Order>) {
        let all = [Plain, Monotonic, Acquire, Release, AcqRel, SeqCst];
        let orders = [self.random.pick(&all), self.random.pick(&all)];
        let fence = if self.random.chance(2) { Some(self.any_fence()) } else { None };
        (orders, fence.into_iter().collect())
    }

    /// Keeps the first access of a thread and moves its later steps to another thread, after a barrier and sometimes
    /// with fences on both sides of the barrier.
    fn split(&mut self, steps: &mut Vec<Step>) -> Vec<Step> {
        let first = steps.iter().position(|step| matches!(step, Step::Access { .. } | Step::Both { .. }));
        let mut rest = steps.split_off(first.map_or(0, |first| first + 1));
        steps.push(Step::Barrier);
        let fence = rest.iter().find(|step| matches!(step, Step::Fence { .. })).cloned();
        let before = fence.filter(|_| self.random.chance(2));
        rest.splice(0..0, before.into_iter().chain([Step::Barrier]));
        rest
    }
}

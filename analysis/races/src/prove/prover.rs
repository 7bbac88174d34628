//! The state of a proof, and its result.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use ptx_isa::{InstPlace, Stop, flat::Flat, graph::reached};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    assumption::Assumption,
    budget::ProofBudget,
    cluster::Barriers,
    eval::Eval,
    graph::{Block, End, Order},
    launch::Sizes,
    question::Questions,
    walk::Written,
    walked::Open,
};
use ptx_solver::{
    solve::Answer,
    term::{Leaf, LeafName, Terms},
};

/// Two accesses that are not proved free of a race, or one access that may race with itself in another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unproved {
    /// The steps.
    pub steps: [usize; 2],
    /// Whether the threads belong to different CTAs.
    pub is_across: bool,
    /// Whether both accesses write the same value wherever they conflict.
    pub same_value: bool,
    /// Whether the solver gave up.
    pub too_hard: bool,
}

/// The number of solver answers that are kept for executions.
const NUMBERS: usize = 4;

/// The result of a proof.
#[derive(Debug, Default)]
pub struct Proof {
    pub unproved: Vec<Unproved>,
    /// The sites of barriers that not all threads may reach together.
    pub divergent: BTreeSet<InstPlace>,
    pub open: BTreeSet<Open>,
    pub assumptions: BTreeSet<Assumption>,
    /// The steps that are barriers of the whole grid.
    pub grid: BTreeSet<usize>,
    /// The parameter values in the solver's answers: each value has the number of its symbol and an offset in bytes.
    /// Only the first distinct answers are kept.
    pub numbers: Vec<Vec<((usize, i64), u64)>>,
    /// The number of questions to the solver.
    pub questions: usize,
    /// The clauses and the decisions that the questions took.
    pub clauses: u64,
    pub decisions: u64,
}

impl Proof {
    /// Keeps the parameters of an answer.
    pub(super) fn keep(&mut self, answer: &Answer) {
        let Answer::Holds(leaves) = answer else { return };
        let of_parameter = |(leaf, value): &(Leaf, u64)| match leaf.name {
            LeafName::Parameter(number, offset) => Some(((number, offset), *value)),
            _ => None,
        };
        let numbers: Vec<_> = leaves.iter().filter_map(of_parameter).sorted().dedup().collect();
        if !numbers.is_empty() && !self.numbers.contains(&numbers) && self.numbers.len() < NUMBERS {
            self.numbers.push(numbers);
        }
    }

    /// Whether the kernel has no race and no divergent barrier.
    pub fn holds(&self) -> bool {
        self.unproved.is_empty() && self.is_followed()
    }

    /// Whether only pairs of accesses of different CTAs remain.
    pub(super) fn is_across(&self) -> bool {
        self.unproved.iter().all(|unproved| unproved.is_across) && self.is_followed()
    }

    /// Whether the whole kernel is followed, and all threads reach the same barriers.
    pub(super) fn is_followed(&self) -> bool {
        self.divergent.is_empty() && self.open.is_empty()
    }
}

/// The orderings that a proof considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Barriers alone: no other CTA can write the memory of a plain load without a race.
    Barriers,
    /// Barriers, the values of acquires, and locks.
    Values,
}

/// The threads and the barriers that a proof considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level<'g> {
    /// Threads of one CTA, and threads of any two CTAs.
    Cta,
    /// Threads of different warps of a CTA, instead of all threads of the CTA.
    Apart,
    /// Threads of one warp, which barriers of the warp order, too.
    Warp,
    /// Threads of one CTA, and threads of two CTAs in different clusters.
    OtherClusters,
    /// Threads of two CTAs of a cluster, ordered by barriers of the cluster.
    Cluster,
    /// Threads of two CTAs, ordered by the grid barriers in these steps.
    Grid(&'g BTreeSet<usize>),
}

/// A proof in progress.
pub(super) struct Prover<'p> {
    pub(super) questions: Questions<'p>,
    pub(super) blocks: &'p [Block],
    pub(super) order: &'p Order,
    pub(super) clusters: &'p Barriers,
    pub(super) counted: &'p BTreeSet<i64>,
    pub(super) shared: Vec<Vec<usize>>,
    pub(super) mixed: Vec<bool>,
    pub(super) written: FxHashMap<usize, Written>,
    pub(super) steps_left: usize,
    pub(super) pairs_left: u64,
    pub(super) walks: u32,
    pub(super) means: Means,
    pub(super) level: Level<'p>,
    /// For each barrier of a CTA: the steps that arrive at the grid barrier that ends there; `None` if some path has no
    /// grid barrier.
    pub(super) adds: BTreeMap<usize, Option<BTreeSet<usize>>>,
    /// The pairs of steps that are not proved, and whether their threads belong to different CTAs.
    pub(super) unproved: FxHashSet<([usize; 2], bool)>,
    pub(super) proof: Proof,
}

impl<'p> Prover<'p> {
    pub(super) fn new(
        flat: &'p Flat,
        sizes: Sizes,
        may_alias: bool,
        (budget, stop): (ProofBudget, &Stop),
        (blocks, order, clusters, counted): (&'p [Block], &'p Order, &'p Barriers, &'p BTreeSet<i64>),
        proof: Proof,
    ) -> Self {
        let is_barrier = |block: usize| matches!(blocks[block].end, End::Barrier(..));
        let within = |block: usize| if is_barrier(block) { Vec::new() } else { blocks[block].next() };
        // If no thread can complete an iteration of a loop without a barrier, all threads of a CTA iterate together.
        let meets: Vec<bool> = order
            .loops
            .iter()
            .map(|own| {
                let start: Vec<usize> = within(own.header).into_iter().filter(|to| own.body.has(*to)).collect();
                let next = |block| within(block).into_iter().filter(|to| own.body.has(*to)).collect::<Vec<_>>();
                !reached(blocks.len(), start, next, |_| false)[own.header]
            })
            .collect();
        let mut around: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
        for (at, own) in order.loops.iter().enumerate() {
            own.body.blocks().for_each(|block| around[block].push(at));
        }
        let shared = |around: &Vec<usize>| -> Vec<usize> {
            let outer_meet = around.iter().take_while(|at| meets[**at]);
            outer_meet.map(|at| order.loops[*at].header).collect()
        };
        let shared: Vec<Vec<usize>> = around.iter().map(shared).collect();
        let has_barrier: Vec<bool> = order.loops.iter().map(|own| own.body.blocks().any(is_barrier)).collect();
        let is_mixed = |block: usize| {
            let is_apart = |at: &usize| has_barrier[*at] && !shared[block].contains(&order.loops[*at].header);
            around[block].iter().any(is_apart)
        };
        let mixed = (0..blocks.len()).map(is_mixed).collect();
        let mut terms = Terms::default();
        sizes.limit(&mut terms);
        let eval = Eval { flat, sizes, terms, has_rows: false };
        let questions = Questions {
            eval,
            may_alias,
            budget,
            stop: stop.clone(),
            assumptions: sizes.assumptions().collect(),
            count: 0,
            clauses_left: budget.clauses,
            decisions_left: budget.all_decisions,
        };
        let (written, steps_left) = (FxHashMap::default(), budget.steps);
        let (means, level) = (Means::Barriers, Level::Cta);
        Self {
            questions,
            blocks,
            order,
            clusters,
            counted,
            shared,
            mixed,
            written,
            steps_left,
            pairs_left: budget.pairs,
            walks: 0,
            means,
            level,
            adds: BTreeMap::new(),
            unproved: FxHashSet::default(),
            proof,
        }
    }
}

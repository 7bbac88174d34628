//! Classes of accesses that are followed together: every event changes their progress alike.

use ptx_isa::effects::{Committed, Proxy};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{barriers::Signals, flow::Flow, notices::Notices, token::TokenKind};
use crate::kernel::{Condition, EventKind, Operation, Space};

/// Accesses between two events that matter to them, on which these events have the same effect.
#[derive(Clone, Debug)]
pub struct Class {
    /// Their numbers, in program order. The first represents the class.
    pub numbers: Vec<usize>,
    /// Their block.
    pub block: usize,
    pub notices: Notices,
    /// The number of events in their block, before the accesses, that they take notice of.
    pub after: usize,
}

/// All properties that can make the states of two accesses differ.
#[derive(PartialEq, Eq, Hash)]
struct Nature<'t> {
    block: usize,
    after: usize,
    kind: std::mem::Discriminant<TokenKind<'t>>,
    operation: Option<std::mem::Discriminant<Operation>>,
    group: Option<u8>,
    /// Whether a commit may cover this read alone.
    reads_a: bool,
    signal: Signals,
    is_waited_elsewhere: bool,
    space: Space,
    proxy: Proxy,
    writes: bool,
    is_single: bool,
    crosses: bool,
    conditions: &'t [Condition],
    /// The blocks that compute values of its address.
    computed: Vec<usize>,
    /// An allocation is freed by its own address.
    allocation: Option<usize>,
}

/// The accesses of a kernel in classes.
pub fn classes(flow: &Flow<'_>) -> Vec<Class> {
    let kernel = flow.graph.kernel;
    let mut events = kernel.blocks.iter().flat_map(|block| &block.events);
    let tells_of_a = events.any(|event| matches!(event.kind, EventKind::TensorCommit { of: Committed::ReadA, .. }));
    let mut classes: Vec<Class> = Vec::new();
    let mut numbers: FxHashMap<Nature<'_>, usize> = FxHashMap::default();
    for (number, token) in flow.tokens.iter().enumerate() {
        let notices = Notices::from_token(token);
        let (block, index) = token.point;
        let own = &flow.noticed(notices, false)[block];
        let after = own.partition_point(|other| *other <= index);
        let terms = token.access.address.offset.terms.iter();
        let computed: FxHashSet<usize> = terms.filter_map(|(value, _)| kernel.unknowns[*value].block).collect();
        let mut computed: Vec<usize> = computed.into_iter().collect();
        computed.sort_unstable();
        let nature = Nature {
            block,
            after,
            kind: std::mem::discriminant(&token.kind),
            operation: token.operation().map(std::mem::discriminant),
            group: token.commit_group(),
            reads_a: tells_of_a && token.reads_a(),
            signal: flow.barriers.signal(token.point),
            is_waited_elsewhere: token.is_waited_elsewhere(),
            space: token.access.space,
            proxy: token.access.proxy,
            writes: token.access.writes,
            is_single: token.is_single,
            crosses: flow.crosses[number],
            conditions: &token.conditions,
            computed,
            allocation: (token.kind == TokenKind::Allocated).then_some(number),
        };
        match numbers.get(&nature) {
            Some(class) => classes[*class].numbers.push(number),
            None => {
                numbers.insert(nature, classes.len());
                classes.push(Class { numbers: vec![number], block, notices, after });
            }
        }
    }
    classes
}

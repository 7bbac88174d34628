//! The drawing of an execution: instructions, and the relations between them that help a reader.

use crate::{
    asynchronous::Step,
    execution::Execution,
    litmus::{self, Litmus},
    place::Place,
    program::Span,
    ptx::{
        Conventions, Ptx,
        axioms::{Cycle, Judged},
    },
    relation::Relation,
    unfold::EventKind,
};

use strum::Display;

use crate::report::subject::Subject;

/// A drawing of an execution: its nodes are events, its edges relations.
pub struct Diagram {
    /// The name of the litmus test.
    pub name: String,
    /// The subject of the drawing: that the outcome is allowed, or the axiom that forbids it.
    pub caption: String,
    /// The threads, in the order of their places.
    pub threads: Vec<Thread>,
    /// First the initial writes, then thread by thread, in program order.
    pub nodes: Vec<Node>,
    /// The relations between events.
    pub edges: Vec<Edge>,
    /// Indices of nodes, each with the relation that leads to the next.
    pub cycle: Vec<(usize, &'static Relations)>,
    /// The kind of the cycle.
    pub marked: Marked,
}

/// The kind of the marked cycle in a picture.
#[derive(Clone, Copy, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Marked {
    /// A cycle that the model forbids.
    Cycle,
    /// Two operations without an order.
    Race,
}

pub struct Thread {
    pub name: String,
    pub place: Place,
}

/// A level of the grouping of threads, from wide to narrow.
pub struct Level {
    pub color: &'static str,
    /// The group that a place is in.
    pub of: fn(&Place) -> Option<String>,
}

pub const LEVELS: [Level; 3] = [
    Level { color: "#dbe7f5", of: device },
    Level { color: "#e3f1e3", of: |place| place.cluster.map(|cluster| format!("cluster {cluster}")) },
    Level { color: "#f5ecdb", of: |place| place.processor.is_gpu().then(|| format!("cta {}", place.cta)) },
];

fn device(place: &Place) -> Option<String> {
    let of = place.processor;
    Some(match (of.is_gpu(), of.is_host()) {
        (true, _) => format!("gpu {}", place.gpu),
        (false, true) => format!("host, {of}"),
        (false, false) => of.to_string(),
    })
}

/// The maximum number of characters of a source line in a picture.
const SOURCE_WIDTH: usize = 56;

impl Node {
    /// The line of the source, shortened to the room in a picture.
    pub fn source_in_picture(&self) -> Option<String> {
        let source = self.source.as_ref()?;
        let is_long = source.chars().count() > SOURCE_WIDTH;
        let shown: String = source.chars().take(SOURCE_WIDTH).collect();
        Some(if is_long { shown.trim_end().to_owned() + "…" } else { shown })
    }
}

/// An initial write, or one execution of an instruction: its read and its write, or all elements of a vector, together.
/// An asynchronous instruction has a node for its start, its memory operations, its completion, and its arrival.
pub struct Node {
    /// A letter by which texts refer to the node.
    pub name: String,
    /// An index into [`Diagram::threads`].
    pub thread: Option<usize>,
    pub instruction: String,
    /// The line of the source.
    pub source: Option<String>,
    /// The values that it reads and writes.
    pub effect: String,
    /// The same, with the sources of the reads.
    pub effect_from: String,
    /// Whether it happens later than its thread issues it, outside of program order.
    pub later: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub relation: &'static Relations,
    pub in_cycle: bool,
}

/// A relation, with its name in pictures and texts.
#[derive(PartialEq, Eq)]
pub struct Relations {
    pub name: &'static str,
    pub color: &'static str,
    /// The verb between two events in a text.
    pub words: &'static str,
}

#[rustfmt::skip]
pub const RELATIONS: [Relations; 24] = [
    Relations { name: "po",             color: "#8a8f98", words: "precedes in program order" },
    Relations { name: "rf",             color: "#1a7f37", words: "is read by" },
    Relations { name: "co",             color: "#9a6700", words: "precedes in coherence order" },
    Relations { name: "fr",             color: "#cf222e", words: "reads a value older than the write" },
    Relations { name: "sync",           color: "#0969da", words: "synchronizes with" },
    Relations { name: "sc",             color: "#8250df", words: "precedes in Fence-SC order" },
    Relations { name: "barrier",        color: "#0b7285", words: "arrives at the barrier of the wait" },
    Relations { name: "causality",      color: "#bf3989", words: "precedes in causality order" },
    Relations { name: "base causality", color: "#a04aa0", words: "precedes in base causality order" },
    Relations { name: "observation",    color: "#4c8c2b", words: "is observed, at once or through atomics, by" },
    Relations { name: "start",          color: "#0969da", words: "precedes the start of" },
    Relations { name: "operation",      color: "#8a8f98", words: "is followed, in one asynchronous operation, by" },
    Relations { name: "complete",       color: "#1a7f37", words: "is complete before" },
    Relations { name: "pipe",           color: "#0b7285", words: "is pipelined with" },
    Relations { name: "phase",          color: "#8250df", words: "arrives in the mbarrier phase of the wait" },
    Relations { name: "signal",         color: "#1a7f37", words: "asks for" },
    Relations { name: "fence",          color: "#9a6700", words: "starts before" },
    Relations { name: "init",           color: "#9a6700", words: "initializes the mbarrier of" },
    Relations { name: "race",           color: "#cf222e", words: "is not ordered with" },
    Relations { name: "dependency",     color: "#57606a", words: "gives a value that decides" },
    Relations { name: "open dependency", color: "#57606a", words: "gives a value that may or may not decide" },
    Relations { name: "rmw",            color: "#57606a", words: "is in the same atomic operation as" },
    Relations { name: "local",          color: "#8a8f98", words: "is kept in order by its processor before" },
    Relations { name: "before",         color: "#57606a", words: "precedes" },
];

/// The relation with this name, as the library's cycles use it.
fn relation(name: &str) -> &'static Relations {
    RELATIONS.iter().find(|relation| relation.name == name).unwrap_or(&RELATIONS[RELATIONS.len() - 1])
}

impl Diagram {
    /// The drawing of an execution of a litmus test.
    pub fn new(
        subject: &Subject,
        execution: &Execution<Ptx>,
        conventions: Conventions,
        caption: String,
        cycle: &Cycle,
    ) -> Self {
        let litmus = &subject.litmus;
        let x = &execution.skeleton;
        let place = |thread: &usize| {
            let Place { processor, gpu, cluster, cta } = x.places[*thread];
            (processor, gpu, cluster, cta)
        };
        let mut order: Vec<usize> = (0..x.places.len()).collect();
        order.sort_by_key(place);
        let threads =
            order.iter().map(|&index| Thread { name: subject.thread(index), place: x.places[index] }).collect();

        let mut groups: Vec<Vec<usize>> = Vec::new();
        let column =
            |event: usize| x.events[event].thread.and_then(|thread| order.iter().position(|&other| other == thread));
        let mut events: Vec<usize> = (0..x.len()).collect();
        events.sort_by_key(|&event| (column(event), event));
        for event in events {
            match groups.last_mut() {
                Some(group) if same_instruction(execution, group[group.len() - 1], event) => group.push(event),
                _ => groups.push(vec![event]),
            }
        }
        let mut node_of = vec![0; x.len()];
        for (node, group) in groups.iter().enumerate() {
            group.iter().for_each(|&event| node_of[event] = node);
        }
        let node = |group: &Vec<usize>| Node {
            name: letters(node_of[group[0]]),
            thread: column(group[0]),
            later: part(execution, group[0]).is_some(),
            instruction: match part(execution, group[0]) {
                None | Some(Part::Start) => instruction(subject, execution, group[0]),
                Some(part) => format!("its {part}"),
            },
            source: x.events[group[0]].thread.and_then(|of| subject.source(of, x.events[group[0]].statement)),
            effect: effect(litmus, execution, group, None),
            effect_from: effect(litmus, execution, group, Some(&node_of)),
        };
        let nodes = groups.iter().map(node).collect();

        let steps = cycle.iter().enumerate().map(|(index, &(event, name))| {
            let next = cycle[(index + 1) % cycle.len()].0;
            (node_of[event], node_of[next], relation(name))
        });
        // The read and the write of an atomic operation are one node.
        let steps: Vec<_> = steps.filter(|(from, to, _)| from != to).collect();
        let races = !steps.is_empty() && steps.iter().all(|(.., of)| of.name == "race");
        let marked = if races { Marked::Race } else { Marked::Cycle };
        let mut edges: Vec<Edge> = Vec::new();
        // A race has no direction.
        let marks = if races { &steps[..1] } else { &steps[..] };
        for (from, to, relation) in marks.iter().copied().chain(drawn(execution, conventions, &node_of)) {
            if !edges.iter().any(|edge| (edge.from, edge.to, edge.relation) == (from, to, relation)) {
                edges.push(Edge { from, to, relation, in_cycle: edges.len() < marks.len() });
            }
        }
        let cycle = steps.into_iter().map(|(from, _, relation)| (from, relation)).collect();
        Self { name: litmus.name.clone(), caption, threads, nodes, edges, cycle, marked }
    }

    /// The relations of the edges.
    pub fn legend(&self) -> impl Iterator<Item = &'static Relations> {
        RELATIONS.iter().filter(|relation| self.edges.iter().any(|edge| edge.relation == *relation))
    }

    /// Whether a node is part of the cycle that forbids the execution.
    pub fn in_cycle(&self, node: usize) -> bool {
        self.cycle.iter().any(|&(other, _)| other == node)
    }

    /// Whether a node immediately follows another in one thread.
    pub fn adjacent(&self, from: usize, to: usize) -> bool {
        from + 1 == to && self.nodes[from].thread.is_some() && self.nodes[from].thread == self.nodes[to].thread
    }
}

/// A part of an asynchronous operation.
#[derive(Clone, Copy, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
enum Part {
    Start,
    #[strum(serialize = "memory operations")]
    Operations,
    Completion,
    /// The arrival at an mbarrier that a thread requested.
    Arrival,
}

/// The part of an asynchronous operation that an event is.
fn part(execution: &Execution<Ptx>, event: usize) -> Option<Part> {
    let event = &execution.skeleton.events[event];
    match event.kind {
        EventKind::Start(_) => Some(Part::Start),
        EventKind::Complete { .. } => Some(Part::Completion),
        EventKind::Step(Step::Signal(_)) => Some(Part::Arrival),
        _ => event.operation.map(|_| Part::Operations),
    }
}

/// Whether two events, one after the other, are of one execution of an instruction.
fn same_instruction(execution: &Execution<Ptx>, a: usize, b: usize) -> bool {
    let x = &execution.skeleton;
    let (first, second) = (&x.events[a], &x.events[b]);
    let synchronizes = (first.kind, second.kind) == (EventKind::Arrive, EventKind::Wait);
    let one = x.rmw.contains(a, b) || synchronizes || !x.po.contains(a, b);
    let same_part = part(execution, a) == part(execution, b) && first.operation == second.operation;
    first.thread.is_some() && (first.thread, first.statement) == (second.thread, second.statement) && one && same_part
}

/// The edges that every picture has, without those that follow by transitivity.
fn drawn(
    execution: &Execution<Ptx>,
    conventions: Conventions,
    node_of: &[usize],
) -> Vec<(usize, usize, &'static Relations)> {
    let x = &execution.skeleton;
    let judged = Judged::new(execution, conventions);
    let reduced = |relation: Relation| relation - relation.then(&relation);
    let between_threads = Relation::from_fn(x.len(), |a, b| !x.same_thread(a, b));
    let uninitialized = Relation::product(x.len(), !x.inits, !x.inits);
    let causality = judged.causality & x.same_location & between_threads & uninitialized;
    let shown = judged.synchronizes | execution.rf | execution.co;
    let causality = causality - x.po.then(&causality) - causality.then(&x.po) - shown;
    let relations = [
        ("po", reduced(x.po)),
        ("rf", execution.rf),
        ("co", reduced(execution.co) & uninitialized),
        ("fr", judged.fr - judged.fr.then(&execution.co)),
        ("sync", judged.synchronizes & between_threads),
        ("sc", reduced(execution.sc)),
        ("barrier", execution.barriers & between_threads),
        ("causality", causality),
    ];
    let pairs = relations.iter().flat_map(|(name, pairs)| pairs.pairs().map(|pair| (*name, pair)));
    let pairs = pairs.chain(asynchronous(execution, &judged));
    let edges = pairs.map(|(name, (a, b))| (node_of[a], node_of[b], relation(name)));
    edges.filter(|(from, to, _)| from != to).collect()
}

/// The steps of execution order that concern asynchronous operations, without those that follow by transitivity.
fn asynchronous(execution: &Execution<Ptx>, judged: &Judged) -> Vec<(&'static str, (usize, usize))> {
    let x = &execution.skeleton;
    if (0..x.len()).all(|event| part(execution, event).is_none()) {
        return Vec::new();
    }
    let order = judged.execution_order;
    let steps = order - order.then(&order);
    let name = |a: usize, b: usize| {
        let operation = |event: usize| (x.events[event].thread, x.events[event].operation);
        match (part(execution, a), part(execution, b)) {
            _ if execution.phases.contains(a, b) => Some("phase"),
            (None, None) => None,
            (Some(_), Some(_)) if operation(a) == operation(b) => Some("operation"),
            (Some(Part::Start), Some(Part::Start)) => Some("pipe"),
            (None, Some(Part::Arrival)) => Some("signal"),
            (Some(Part::Completion), _) => Some("complete"),
            (Some(Part::Start), None) => Some("fence"),
            (_, Some(Part::Start)) => Some("start"),
            _ => Some("before"),
        }
    };
    let shown = (steps | execution.phases) & Relation::product(x.len(), !x.inits, !x.inits);
    shown.pairs().filter_map(|(a, b)| Some((name(a, b)?, (a, b)))).collect()
}

fn variable(litmus: &Litmus, execution: &Execution<Ptx>, event: usize) -> String {
    let event = &execution.skeleton.events[event];
    // A replica has a name; its multimem address is the address of all of them.
    let Span { variable, offset, .. } = if event.is_multimem() { event.location } else { event.address };
    let name = litmus.program.locations.get(usize::from(variable.0)).map_or("?", |variable| variable.name.as_str());
    if offset == 0 { name.to_owned() } else { format!("{name}+{offset}") }
}

fn instruction(subject: &Subject, execution: &Execution<Ptx>, event: usize) -> String {
    let event = &execution.skeleton.events[event];
    let known = event.thread.and_then(|thread| subject.instruction(thread, event.statement));
    known.unwrap_or_else(|| "initial value".into())
}

/// The values that events read and write; with `names`, also the sources of the reads.
fn effect(litmus: &Litmus, execution: &Execution<Ptx>, events: &[usize], names: Option<&Vec<usize>>) -> String {
    let x = &execution.skeleton;
    let of = |event: usize| {
        let value = execution.values[event].map_or_else(|| "?".into(), litmus::number);
        let access = format!("{} = {value}", variable(litmus, execution, event));
        let source = names.and_then(|names| Some(letters(names[execution.rf.inverse().row(event).next()?])));
        let from = source.map(|source| format!(" from {source}")).unwrap_or_default();
        match x.events[event].kind {
            EventKind::Init => Some(access),
            EventKind::Read(_) => Some(format!("reads {access}{from}")),
            EventKind::Write(_) => Some(format!("writes {access}")),
            EventKind::Start(_) => Some("starts".into()),
            EventKind::Complete { bytes: Some(bytes), .. } => Some(format!("completes {bytes} bytes")),
            EventKind::Fence(_)
            | EventKind::Arrive
            | EventKind::Wait
            | EventKind::Complete { bytes: None, .. }
            | EventKind::Step(_)
            | EventKind::Beyond { .. } => None,
        }
    };
    events.iter().filter_map(|&event| of(event)).collect::<Vec<_>>().join(", ")
}

/// a, b, and so on to z, then aa.
fn letters(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    if index < 26 { last.into() } else { letters(index / 26 - 1) + &last.to_string() }
}

//! Findings as litmus tests: the two accesses, and what synchronizes between them.

use ptx_isa::Scope;
use ptx_memory_model::{
    litmus::{Litmus, Read},
    outcome::Limits,
    ptx::{Conventions, readings::Readings, search},
};

use crate::{
    check::EventGraph,
    finding::Finding,
    kernel::{
        Access, Address, Barrier, BarrierId, Direction, Event, EventKind, Groups, Kernel, Object, ObjectKind,
        Operation, Proxy, ProxyFence, Semantics, Side, Space, Start, Sum,
    },
};

/// The choices that the search may try. A test is a few instructions.
const CHOICES: u64 = 100_000;
/// The longest test, in lines of the kernel.
const LENGTH: usize = 24;

/// A litmus test of what a finding says: the two accesses, with what synchronizes between them, in one thread or in two. The
/// memory model finds a data race of these two accesses in it; where it does not, there is no test.
///
/// ```text
/// PTX kernel, lines 63 and 67
/// "the tcgen05.ld on line 63 may be in flight when the tcgen05.mma comes to the same tensor memory"
/// { .shared m=1; }
///  P0                                                 | P1 ;
///  tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t]    | L1: mbarrier.try_wait.parity.acquire.cta.b64 %p1, [m], 0 ;
///  mbarrier.arrive.release.cta.shared::cta.b64 _, [m] | @!%p1 bra L1 ;
///                                                     | tcgen05.mma.cta_group::1.kind::f16 [t], a, b, 0, 1 ;
/// exists (true)
/// ```
pub fn litmus(kernel: &Kernel, finding: &Finding, readings: Readings) -> Option<String> {
    let first_line = finding.first?;
    if finding.path.len() > LENGTH {
        return None;
    }
    let graph = EventGraph::new(kernel);
    let (first, second) = (events(kernel, first_line), events(kernel, finding.line));
    let tells = |line: &u32| events(kernel, *line).into_iter().any(|(_, event)| is_told(event));
    // What a thread does up to where it tells others; the rest is that of those who learn of it.
    let told = finding.path.iter().position(tells).map_or(0, |at| at + 1);
    for &(place, one) in &first {
        for &(other, two) in &second {
            let known = graph.known_at(place);
            let apart = graph.known_at(other).iter().any(|literal| graph.contradict(&known, *literal));
            let alone = (!apart).then_some([&finding.path[..], &[]]);
            let split = Some([&finding.path[..told], &finding.path[told..]]);
            let tests = [(alone, 1), (split, 2)].into_iter().filter_map(|(path, threads)| Some((path?, threads)));
            for (path, threads) in tests {
                let between = path.map(|lines| between(kernel, lines));
                let Some(test) = Test::new(kernel, one, two, between, threads) else { continue };
                let text = test.text(finding, first_line);
                if races(&text, test.expected(), readings) {
                    return Some(text);
                }
            }
        }
    }
    None
}

/// What a line has, with where that is.
fn events(kernel: &Kernel, line: u32) -> Vec<((usize, usize), &Event)> {
    // Another round of a loop shows nothing more.
    let is_elsewhere = |copy: bool| {
        let blocks = kernel.blocks.iter().filter(|block| block.is_copy == copy);
        blocks.flat_map(|block| &block.events).any(|event| event.line == line)
    };
    let copies = !is_elsewhere(false);
    let blocks = kernel.blocks.iter().enumerate().filter(|(_, block)| block.is_copy == copies);
    let all = blocks.flat_map(|(block, of)| of.events.iter().enumerate().map(move |(at, event)| ((block, at), event)));
    all.filter(|(_, event)| event.line == line).collect()
}

/// The events of lines, each once.
fn between<'k>(kernel: &'k Kernel, lines: &[u32]) -> Vec<&'k Event> {
    let mut all: Vec<&Event> = Vec::new();
    for line in lines {
        for (_, event) in events(kernel, *line) {
            if !all.iter().any(|other| other.line == event.line && other.kind == event.kind) {
                all.push(event);
            }
        }
    }
    all
}

/// Whether other threads learn by an event what its thread did.
fn is_told(event: &Event) -> bool {
    match &event.kind {
        EventKind::Arrive { .. } | EventKind::TensorCommit { .. } | EventKind::CopyArrive(_) => true,
        EventKind::Barrier(barrier) => barrier.arrives,
        _ => false,
    }
}

/// Whether the memory model finds a data race of the two statements, which are in these columns and lines.
fn races(text: &str, expected: [(usize, usize); 2], readings: Readings) -> bool {
    let Ok(Read { litmus, lines, .. }) = Litmus::read_with_lines(text, Default::default()) else { return false };
    let conventions = Conventions { readings, ..Conventions::MANUAL };
    let limits = Limits { choices: CHOICES, ..Limits::default() };
    let Ok(Some(race)) = search::race(&litmus.program, conventions, limits) else { return false };
    let found = [race.first, race.second].map(|event| {
        let event = &race.execution.skeleton.events[event];
        let thread = event.thread?;
        Some((thread, *lines.get(thread)?.get(event.statement)?))
    });
    let [first, second] = expected.map(Some);
    found == [first, second] || found == [second, first]
}

/// A test as it is made.
struct Test<'k> {
    kernel: &'k Kernel,
    /// The addresses of each variable.
    variables: Vec<Variable<'k>>,
    /// The two addresses that are one variable, whatever they look like.
    same: Option<[&'k Address; 2]>,
    /// The cells of each thread.
    threads: [Vec<String>; 2],
    /// Of each of the two accesses, the thread and the cell.
    places: [(usize, usize); 2],
    /// How many threads there are.
    count: usize,
    /// The shapes of products that differ.
    shapes: Vec<&'k Option<Sum>>,
    /// How many registers and labels have names.
    named: usize,
}

struct Variable<'k> {
    name: String,
    address: Option<&'k Address>,
    space: Space,
    /// Of an mbarrier, how many arrivals there are.
    arrivals: Option<usize>,
    /// Of an mbarrier, whether the test initializes it.
    is_initialized: bool,
    /// Of an mbarrier, whether a copy completes its phases.
    is_of_copy: bool,
}

impl<'k> Test<'k> {
    fn new(
        kernel: &'k Kernel,
        first: &'k Event,
        second: &'k Event,
        between: [Vec<&'k Event>; 2],
        count: usize,
    ) -> Option<Self> {
        let mut test = Self {
            kernel,
            variables: Vec::new(),
            same: common(first, second)?,
            threads: [Vec::new(), Vec::new()],
            places: [(0, 0); 2],
            count,
            shapes: Vec::new(),
            named: 0,
        };
        let [mut behind, mut before] = between;
        if count == 2 {
            pair_barriers(&mut behind, &mut before);
        }
        [first, second]
            .into_iter()
            .chain(behind.iter().copied())
            .chain(before.iter().copied())
            .for_each(|event| test.of_copy(event));
        behind.retain(|event| !test.is_beside_copy(event));
        before.retain(|event| !test.is_beside_copy(event));
        let all = [first].into_iter().chain(behind.iter().copied()).chain(before.iter().copied()).chain([second]);
        all.for_each(|event| test.count_arrivals(event));
        let last = count - 1;
        test.places[0] = test.access(0, first)?;
        behind.iter().try_for_each(|event| test.event(0, event))?;
        before.iter().try_for_each(|event| test.event(last, event))?;
        test.places[1] = test.access(last, second)?;
        Some(test)
    }

    /// The mbarriers of copies: the arrival that expects the bytes of a copy stands beside it in the test.
    fn of_copy(&mut self, event: &'k Event) {
        if let EventKind::Start(Start { barrier: Some(barrier), .. }) = &event.kind {
            let index = self.barrier(barrier);
            self.variables[index].is_of_copy = true;
        }
    }

    /// Whether an event is an arrival that stands beside a copy.
    fn is_beside_copy(&mut self, event: &'k Event) -> bool {
        let EventKind::Arrive { barrier, .. } = &event.kind else { return false };
        let index = self.barrier(barrier);
        self.variables[index].is_of_copy
    }

    fn count_arrivals(&mut self, event: &'k Event) {
        let (barrier, more) = match &event.kind {
            EventKind::Arrive { barrier, .. }
            | EventKind::TensorCommit { barrier, .. }
            | EventKind::CopyArrive(barrier) => (barrier, 1),
            EventKind::Start(Start { barrier: Some(barrier), .. }) => (barrier, 1),
            _ => return,
        };
        let index = self.barrier(barrier);
        *self.variables[index].arrivals.get_or_insert(0) += more;
    }

    /// Adds one of the two accesses, and gives its place.
    fn access(&mut self, thread: usize, event: &'k Event) -> Option<(usize, usize)> {
        self.event(thread, event)?;
        Some((thread, self.threads[thread].len().checked_sub(1)?))
    }

    /// The variable at an address.
    fn variable(&mut self, space: Space, address: Option<&'k Address>) -> usize {
        let is_same = |of: &Address| self.same.is_some_and(|same| same.contains(&of));
        let found = self.variables.iter().position(|other| {
            other.space == space
                && match (other.address, address) {
                    (Some(a), Some(b)) => a == b || is_same(a) && is_same(b),
                    _ => false,
                }
        });
        found.unwrap_or_else(|| {
            let object = address.and_then(|address| self.kernel.objects.get(address.object));
            let words = match object {
                // Of a name of several words, the last one.
                Some(Object { name, kind: ObjectKind::Variable }) => name.rsplit(' ').next().unwrap_or(name),
                _ => match space {
                    Space::Tensor => "t",
                    Space::Register => "r",
                    Space::Shared => "s",
                    Space::Global => "g",
                },
            };
            let mut plain: String = words.chars().filter(|of| of.is_ascii_alphanumeric() || *of == '_').collect();
            // No number, and no register of the test.
            if plain.trim_start_matches('r').chars().all(|of| of.is_ascii_digit())
                || plain.starts_with(|of: char| of.is_ascii_digit())
            {
                plain.insert(0, 'x');
            }
            let is_free = |name: &String| self.variables.iter().all(|other| other.name != *name);
            let names = std::iter::once(plain.clone()).chain((1..).map(|number| format!("{plain}_{number}")));
            let name = names.into_iter().find(is_free).unwrap_or_default();
            self.variables.push(Variable {
                name,
                address,
                space,
                arrivals: None,
                is_initialized: false,
                is_of_copy: false,
            });
            self.variables.len() - 1
        })
    }

    fn name(&mut self, space: Space, address: Option<&'k Address>) -> String {
        let index = self.variable(space, address);
        self.variables[index].name.clone()
    }

    fn name_of(&mut self, access: &'k Access) -> String {
        self.name(access.space, Some(&access.address))
    }

    /// An mbarrier.
    fn barrier(&mut self, address: &'k Address) -> usize {
        let index = self.variable(Space::Shared, Some(address));
        self.variables[index].arrivals.get_or_insert(0);
        index
    }

    /// A number for a register or a label.
    fn number(&mut self) -> usize {
        self.named += 1;
        self.named - 1
    }

    /// Adds what an event is in a test. Nothing if a test has no such thing.
    fn event(&mut self, thread: usize, event: &'k Event) -> Option<()> {
        let cells: Vec<String> = match &event.kind {
            EventKind::Access(access) => vec![self.plain(access)?],
            EventKind::Start(start) => self.start(start)?,
            EventKind::TensorWait(direction) => {
                let which = match direction {
                    Direction::Load => "ld",
                    Direction::Store => "st",
                };
                vec![format!("tcgen05.wait::{which}.sync.aligned")]
            }
            EventKind::TensorCommit { group, barrier } => {
                let index = self.barrier(barrier);
                let name = &self.variables[index].name;
                vec![format!("tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.b64 [{name}]")]
            }
            EventKind::TensorFence(Side::Before) => vec!["tcgen05.fence::before_thread_sync".into()],
            EventKind::TensorFence(Side::After) => vec!["tcgen05.fence::after_thread_sync".into()],
            EventKind::Deallocate(access) => {
                vec![format!("tcgen05.dealloc.cta_group::1.sync.aligned.b32 {}, 32", self.name_of(access))]
            }
            EventKind::CommitGroup(of) => vec![format!("{}.commit_group{}", groups(*of), aligned(*of))],
            EventKind::WaitGroup { of, pending, reads_only } => {
                let read = if *reads_only { ".read" } else { "" };
                // What is not known leaves nothing in flight in the test, where it may race least.
                let pending = if *pending == u32::MAX { 0 } else { *pending };
                vec![format!("{}.wait_group{read}{} {pending}", groups(*of), aligned(*of))]
            }
            EventKind::CopyArrive(barrier) => {
                let index = self.barrier(barrier);
                vec![format!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{}]", self.variables[index].name)]
            }
            EventKind::MatrixFence => vec!["wgmma.fence.sync.aligned".into()],
            EventKind::ProxyFence(fence) => match fence {
                ProxyFence::Async(None) => vec!["fence.proxy.async".into()],
                ProxyFence::Async(Some(Space::Global)) => vec!["fence.proxy.async.global".into()],
                ProxyFence::Async(Some(_)) => vec!["fence.proxy.async.shared::cta".into()],
                ProxyFence::AsyncRelease => {
                    vec!["fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster".into()]
                }
                ProxyFence::AsyncAcquire => {
                    vec!["fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster".into()]
                }
                ProxyFence::TensormapRelease => vec!["fence.proxy.tensormap::generic.release.gpu".into()],
                // Which map it is for, an event does not say.
                ProxyFence::TensormapAcquire => return None,
                ProxyFence::Other => Vec::new(),
            },
            EventKind::Initialize { barrier, .. } => {
                let index = self.barrier(barrier);
                let Variable { name, arrivals, is_initialized, .. } = &mut self.variables[index];
                *is_initialized = true;
                vec![format!("mbarrier.init.shared::cta.b64 [{name}], {}", arrivals.unwrap_or(0).max(1))]
            }
            EventKind::InitializeFence => vec!["fence.mbarrier_init.release.cluster".into()],
            EventKind::Arrive { barrier, semantics, scope, .. } => {
                let index = self.barrier(barrier);
                let sem = if semantics.releases { "release" } else { "relaxed" };
                vec![format!(
                    "mbarrier.arrive.{sem}.{}.shared::cta.b64 _, [{}]",
                    near(*scope),
                    self.variables[index].name
                )]
            }
            EventKind::Wait { barrier, semantics, scope } => self.wait(barrier, *semantics, *scope),
            EventKind::Barrier(barrier) => self::barrier(barrier)?,
            EventKind::Fence { semantics, scope } => {
                let sem = if semantics.acquires && semantics.releases { "acq_rel" } else { return None };
                vec![format!("fence.{sem}.{scope}")]
            }
            EventKind::Allocate { .. } | EventKind::Relinquish | EventKind::Invalidate(_) => Vec::new(),
            EventKind::Atomic { .. } | EventKind::Unknown(_) => return None,
        };
        self.threads[thread].extend(cells);
        Some(())
    }

    /// A wait, if anything in the test arrives: it is for something else where nothing does.
    fn wait(&mut self, barrier: &'k Address, semantics: Semantics, scope: Scope) -> Vec<String> {
        let index = self.barrier(barrier);
        if self.variables[index].arrivals == Some(0) {
            return Vec::new();
        }
        let number = self.number();
        let sem = if semantics.acquires { "acquire" } else { "relaxed" };
        let name = &self.variables[index].name;
        vec![
            format!(
                "L{number}: mbarrier.try_wait.parity.{sem}.{}.shared::cta.b64 %p{number}, [{name}], 0",
                near(scope)
            ),
            format!("@!%p{number} bra L{number}"),
        ]
    }

    fn plain(&mut self, access: &'k Access) -> Option<String> {
        if access.address.is_remote || matches!(access.space, Space::Tensor | Space::Register) {
            return None;
        }
        let (space, name) = (space(access.space), self.name_of(access));
        Some(match access.writes {
            true => format!("st.{space}.u64 [{name}], 1"),
            false => format!("ld.{space}.u64 r{}, [{name}]", self.number()),
        })
    }

    fn start(&mut self, start: &'k Start) -> Option<Vec<String>> {
        let Start { what, accesses, barrier } = start;
        if accesses.iter().any(|access| access.address.is_remote) {
            return None;
        }
        let mut of = |space: Space, is: &dyn Fn(&Access) -> bool, skip: usize| {
            let found = accesses.iter().filter(|access| access.space == space && is(access)).nth(skip);
            self.name(space, found.map(|access| &access.address))
        };
        let (reads, writes) = (|access: &Access| access.reads, |access: &Access| access.writes);
        Some(match what {
            Operation::TensorLoad => {
                let t = of(Space::Tensor, &reads, 0);
                vec![format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r{}}}, [{t}]", self.number())]
            }
            Operation::TensorStore => {
                vec![format!("tcgen05.st.sync.aligned.32x32b.x1.b32 [{}], {{1}}", of(Space::Tensor, &writes, 0))]
            }
            Operation::TensorMatrix { group, shape } => {
                let d = of(Space::Tensor, &writes, 0);
                let only_reads = |access: &Access| access.reads && !access.writes;
                let in_tensor =
                    accesses.iter().skip(1).any(|access| access.space == Space::Tensor && only_reads(access));
                let in_shared = accesses.iter().filter(|access| access.space == Space::Shared && access.reads).count();
                let a = match in_tensor && in_shared < 2 {
                    true => format!("[{}]", of(Space::Tensor, &only_reads, 0)),
                    false => of(Space::Shared, &reads, 0),
                };
                let b = of(Space::Shared, &reads, usize::from(in_shared > 1));
                let known = self.shapes.iter().position(|other| *other == shape);
                let number = known.unwrap_or_else(|| {
                    self.shapes.push(shape);
                    self.shapes.len() - 1
                });
                vec![format!("tcgen05.mma.cta_group::{group}.kind::f16 [{d}], {a}, {b}, {number}, 1")]
            }
            Operation::TensorCopy { group, is_4x256b } => {
                let shape = if *is_4x256b { "4x256b" } else { "128x256b" };
                let (t, a) = (of(Space::Tensor, &writes, 0), of(Space::Shared, &reads, 0));
                vec![format!("tcgen05.cp.cta_group::{group}.{shape} [{t}], {a}")]
            }
            Operation::TensorShift { group } => {
                vec![format!("tcgen05.shift.cta_group::{group}.down [{}]", of(Space::Tensor, &writes, 0))]
            }
            Operation::Copy => {
                let (a, x) = (of(Space::Shared, &writes, 0), of(Space::Global, &reads, 0));
                vec![format!("cp.async.ca.shared::cta.global [{a}], [{x}], 8")]
            }
            Operation::BulkLoad => {
                let barrier = barrier.as_ref()?;
                let mapped = |access: &Access| access.proxy == Proxy::Tensormap;
                let source = |access: &Access| access.reads && !mapped(access);
                let (a, x) = (of(Space::Shared, &writes, 0), of(Space::Global, &source, 0));
                let map = accesses.iter().any(mapped).then(|| of(Space::Global, &mapped, 0));
                let index = self.barrier(barrier);
                let full = &self.variables[index].name;
                let words = "shared::cta.global.mbarrier::complete_tx::bytes";
                let copy = match map {
                    Some(map) => format!("cp.async.bulk.tensor.1d.{words} [{a}], [{map}, {{{x}}}], [{full}]"),
                    None => format!("cp.async.bulk.{words} [{a}], [{x}], 16, [{full}]"),
                };
                vec![format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{full}], 16"), copy]
            }
            Operation::BulkStore => {
                let (y, a) = (of(Space::Global, &writes, 0), of(Space::Shared, &reads, 0));
                vec![format!("cp.async.bulk.global.shared::cta.bulk_group [{y}], [{a}], 16")]
            }
            Operation::Wgmma => {
                let (a, b) = (of(Space::Shared, &reads, 0), of(Space::Shared, &reads, 1));
                vec![format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 _, {a}, {b}")]
            }
        })
    }

    /// The columns and lines of the two accesses.
    fn expected(&self) -> [(usize, usize); 2] {
        self.places.map(|(thread, cell)| (thread, HEAD + 1 + cell))
    }

    fn text(&self, finding: &Finding, first: u32) -> String {
        let values = self.variables.iter().map(|variable| {
            let value = match variable.arrivals {
                Some(_) if variable.is_initialized => 0,
                Some(arrivals) => arrivals.max(1),
                None => 0,
            };
            let space = match variable.space {
                Space::Global => "",
                Space::Shared => ".shared ",
                Space::Tensor | Space::Register => ".tensor ",
            };
            format!("{space}{}={value};", variable.name)
        });
        let values: Vec<String> = values.collect();
        let comment = finding.message.replace(['"', '\n'], "'");
        let name: String = finding.kernel.chars().filter(|of| of.is_ascii_graphic()).collect();
        let mut text =
            format!("PTX {name}, lines {first} and {}\n\"{comment}\"\n{{ {} }}\n", finding.line, values.join(" "));
        let columns = &self.threads[..self.count];
        let head = |thread: usize| format!("P{thread}");
        let cell = |thread: usize, row: usize| columns[thread].get(row).map_or("", |cell| cell);
        let width = |thread: usize| columns[thread].iter().map(String::len).max().unwrap_or(0).max(2);
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut row = |of: &dyn Fn(usize) -> String| {
            let cells = (0..self.count).map(|thread| format!("{:1$}", of(thread), width(thread)));
            text += &format!(" {} ;\n", cells.collect::<Vec<_>>().join(" | "));
        };
        row(&head);
        (0..rows).for_each(|index| row(&|thread| cell(thread, index).to_owned()));
        text + "exists (true)\n"
    }
}

/// The lines of a test in front of its first cells.
const HEAD: usize = 4;

/// What two events have in common: the addresses of accesses that conflict, or nothing but an mbarrier. Nothing if they have
/// nothing.
fn common<'k>(first: &'k Event, second: &'k Event) -> Option<Option<[&'k Address; 2]>> {
    if matches!(first.kind, EventKind::Initialize { .. }) {
        return Some(None);
    }
    let (first, second) = (accesses(first), accesses(second));
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b)));
    let conflicts = pairs.filter(|(a, b)| a.space == b.space && (a.writes || b.writes));
    let is_same = |(a, b): &(&Access, &Access)| a.address.object == b.address.object;
    let (a, b) = conflicts.max_by_key(is_same)?;
    Some(Some([&a.address, &b.address]))
}

fn accesses(event: &Event) -> Vec<&Access> {
    match &event.kind {
        EventKind::Access(access) | EventKind::Deallocate(access) => vec![access],
        EventKind::Start(start) => start.accesses.iter().collect(),
        _ => Vec::new(),
    }
}

/// Leaves of the barriers those that both threads come to: of one, the first; of the other, the last.
fn pair_barriers(behind: &mut Vec<&Event>, before: &mut Vec<&Event>) {
    let which = |event: &Event| match &event.kind {
        EventKind::Barrier(barrier) if barrier.of != BarrierId::Warp => {
            Some((barrier.of, barrier.arrives, barrier.waits))
        }
        _ => None,
    };
    let count = |of: &[&Event]| of.iter().filter(|event| which(event).is_some()).count();
    let both = count(behind).min(count(before));
    let excess = count(before) - both;
    let kept = |of: &mut Vec<&Event>, range: std::ops::Range<usize>| {
        let mut seen = 0..;
        of.retain(|event| which(event).is_none() || seen.next().is_some_and(|number| range.contains(&number)));
    };
    kept(behind, 0..both);
    kept(before, excess..excess + both);
}

fn barrier(barrier: &Barrier) -> Option<Vec<String>> {
    let Barrier { of, arrives, waits, orders, .. } = barrier;
    Some(match (of, arrives, waits) {
        (BarrierId::Cta(number), true, true) => vec![format!("bar.sync {number}")],
        (BarrierId::SomeCta, true, true) => vec!["bar.sync 0".into()],
        (BarrierId::Cta(number), true, false) => vec![format!("bar.arrive {number}, 64")],
        (BarrierId::Cluster, true, false) if *orders => vec!["barrier.cluster.arrive".into()],
        (BarrierId::Cluster, true, false) => vec!["barrier.cluster.arrive.relaxed".into()],
        (BarrierId::Cluster, false, true) => vec!["barrier.cluster.wait".into()],
        // Lanes are one thread of a test.
        (BarrierId::Warp, ..) => Vec::new(),
        _ => return None,
    })
}

fn space(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared | Space::Tensor | Space::Register => "shared",
    }
}

fn groups(of: Groups) -> &'static str {
    match of {
        Groups::Copy => "cp.async",
        Groups::Bulk => "cp.async.bulk",
        Groups::Wgmma => "wgmma",
    }
}

/// What `wgmma` has behind its words.
fn aligned(of: Groups) -> &'static str {
    if of == Groups::Wgmma { ".sync.aligned" } else { "" }
}

/// The scope of an mbarrier, which has no more than these.
fn near(scope: Scope) -> Scope {
    if scope == Scope::Cta { Scope::Cta } else { Scope::Cluster }
}

//! The search for launches in which a kernel without a description runs to its end.

use std::ops::ControlFlow;

use ptx_isa::{
    AluOp, Axis, Dim3, Family, FullSize, Head, InstPlace, LaunchSize, Module, Special, SpecialVector, Stop,
    arithmetic::{Computation, mask},
    launch::{MOST_SHARED, MOST_THREADS},
    short_name,
};

use super::{
    assumed::{Assumed, Assumption, Buffers, OfField, Value},
    boxes::{boxes, map_of},
    fields::{Field, FieldKind, fields},
    numbers::numbers,
};
use crate::{
    Buffer, FaultKind, LaunchError, ModuleId, RunOptions, Schedule,
    code::{LANES, Op, Parameter, Program, Source},
    device::State,
    learned::Learned,
    memory::Region,
    warp::WARPGROUP,
};

/// The part of a launch that a user gives. The search chooses the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The sizes that are known.
    pub size: LaunchSize,
    /// The maximum number of threads of a CTA. Directives of the PTX take precedence.
    pub most: Option<u32>,
    /// Numbers for parameters, or for parts of parameters (`NAME+OFFSET`).
    pub numbers: Vec<(String, u64)>,
}

/// The end of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All threads ended.
    Ended,
    /// The trial reached its budget.
    Cut,
    /// The kind of the first finding that is not a race.
    Stopped(FaultKind),
}

/// A launch, and the result of its trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The launch.
    pub launch: Assumed,
    /// The end of its trial.
    pub end: End,
    /// The number of the kernel's instructions that some thread executed, and the number of all its instructions.
    pub covered: (usize, usize),
    /// The instructions that were executed, in their order.
    pub instructions: Vec<InstPlace>,
    /// The number of warp instructions.
    pub steps: u64,
    /// Whether a thread read uninitialized memory.
    pub reads_unwritten: bool,
}

/// The counted limits of a search for launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchBudget {
    /// Warp instructions in one trial.
    pub trial_steps: u64,
    /// Warp instructions in all trials.
    pub steps: u64,
    /// The price of a launch, in the same unit.
    pub launch_steps: u64,
    /// Launches in the answer.
    pub launches: usize,
    /// Launches that [`Launch::fitting`](crate::Launch::fitting) gives.
    pub fitting_launches: usize,
    /// Numbers that are tried for a parameter.
    pub numbers: usize,
}

impl Default for SearchBudget {
    fn default() -> Self {
        Self {
            trial_steps: 100_000,
            steps: 200_000,
            launch_steps: 2_000,
            launches: 4,
            fitting_launches: 16,
            numbers: 96,
        }
    }
}

/// The number of warp instructions that a trial should have.
const USUAL_STEPS: u64 = 50_000;
/// The candidates for numbers. The first is the initial value of all numbers.
const NUMBERS: [u64; 10] = [256, 512, 1024, 128, 64, 2048, 4096, 16, 4, 1];
/// Usual sizes of CTAs.
const BLOCKS: [u32; 16] = [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 416, 512, 640, 768, 1024];
/// Usual sizes of CTAs in two dimensions.
const PLANES: [Dim3; 5] = [[8, 8, 1], [16, 16, 1], [16, 20, 1], [32, 4, 1], [32, 8, 1]];
/// The candidates for the cluster size of a kernel that fails alone and has no cluster directive.
const CLUSTERS: [u32; 3] = [2, 4, 8];
/// The initial size in bytes of a tensor map's boxes, before mbarriers give more information. A store reads at least
/// this much of shared memory.
const BOX: u64 = 128;
/// The number of clusters of a grid in which CTAs take the work of other CTAs.
const MORE: u32 = 40;
/// Searches for launches. Returns at least one launch, the best one first. The budget counts the instructions of
/// trials, so that every machine finds the same launches, unless the emergency stop ends the search.
///
/// # Errors
/// If the module has no such kernel, or the machine cannot launch it.
pub fn search(
    module: &Module,
    kernel: &str,
    given: &Given,
    budget: &SearchBudget,
    stop: &Stop,
) -> Result<Vec<Tried>, Vec<LaunchError>> {
    search_within(module, kernel, given, budget, stop, &mut { budget.steps })
}

/// Like [`search`], with a budget of `steps` for all trials. `steps` is reduced by the steps used.
///
/// # Errors
/// As [`search`].
pub fn search_within(
    module: &Module,
    kernel: &str,
    given: &Given,
    budget: &SearchBudget,
    stop: &Stop,
    steps: &mut u64,
) -> Result<Vec<Tried>, Vec<LaunchError>> {
    let mut search = Search::new(module, kernel, given, *budget, stop)?;
    (search.most, search.left) = (budget.trial_steps.min(*steps / 2), *steps);
    let found = search.best();
    *steps = search.left;
    found
}

/// The quality of a launch. The number of executed instructions counts most, and counts less if the trial has a
/// finding or reads uninitialized memory, as too few threads do. Loops should have more iterations than rings have stages, and a trial should be short enough for many runs.
fn score(tried: &Tried) -> (usize, bool, std::cmp::Reverse<u64>) {
    let factor = match tried.end {
        End::Stopped(_) => 6,
        _ if tried.reads_unwritten => 7,
        _ => 8,
    };
    (tried.covered.0 * factor, tried.end == End::Ended, std::cmp::Reverse(tried.steps.abs_diff(USUAL_STEPS)))
}

/// Like `score`, but a small difference in executed instructions is ignored in favor of the length of the trial.
fn rank(tried: &Tried) -> (usize, bool, std::cmp::Reverse<u64>) {
    let (executed, ended, distance) = score(tried);
    (executed * 16 / tried.covered.1.max(1), ended, distance)
}

struct Search<'m> {
    state: State<'m>,
    /// The contents of global memory before a trial.
    held: Vec<Vec<u8>>,
    given: &'m Given,
    /// The sizes that the user gives or the kernel declares.
    known: LaunchSize,
    head: Head,
    start: Assumed,
    /// Numbers with which the kernel compares.
    numbers: Vec<u64>,
    is_plane: bool,
    names_others: bool,
    changes_registers: bool,
    /// The budget of a trial in warp instructions, and the remaining budget of all trials.
    most: u64,
    left: u64,
    budget: SearchBudget,
    stop: &'m Stop,
}

impl<'m> Search<'m> {
    fn new(
        module: &'m Module,
        kernel: &str,
        given: &'m Given,
        budget: SearchBudget,
        stop: &'m Stop,
    ) -> Result<Self, Vec<LaunchError>> {
        let options =
            RunOptions { schedule: Schedule::WarpAhead, races: false, products: false, ..RunOptions::default() };
        let mut state = State::new(module, options)?;
        let (start, numbers, is_plane, names_others, takes, changes_registers) =
            state.with_program((ModuleId::default(), kernel), |program| {
                let start = start(program, kernel, given);
                (
                    start,
                    numbers(program, budget.numbers),
                    reads_plane(program),
                    names_others(program),
                    takes_others(program),
                    changes_registers(program),
                )
            })?;
        let function = module.functions().find(|function| function.name == kernel && function.body.is_some());
        let mut head = function.map(|function| function.head.clone()).unwrap_or_default();
        head.most_threads = head.most_threads.or(given.most);
        let known = given.size.or(LaunchSize::from_head(&head));
        let held = state.held();
        let mut search = Self {
            state,
            held,
            given,
            known,
            head,
            start,
            numbers,
            is_plane,
            names_others,
            changes_registers,
            most: budget.trial_steps,
            left: budget.steps,
            budget,
            stop,
        };
        let cluster = known.cluster.unwrap_or([1; 3]);
        // A CTA can take the work only of CTAs that have not begun, and some CTAs begin at once.
        let grid = if takes { [cluster[0] * MORE, cluster[1], cluster[2]] } else { cluster };
        let size = &mut search.start.size;
        (size.cluster, size.grid) = (cluster, known.grid.unwrap_or(grid));
        Ok(search)
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.stop.is_due()
    }

    /// Finds launches, the best one first.
    fn best(&mut self) -> Result<Vec<Tried>, Vec<LaunchError>> {
        let mut best = self.sizes()?;
        let mut all = vec![best.clone()];
        for number in NUMBERS {
            if self.is_over() {
                break;
            }
            let mut launch = best.launch.clone();
            self.set_all(&mut launch, number);
            let tried = self.settle(launch)?;
            if score(&tried) > score(&best) {
                best = tried.clone();
            }
            all.push(tried);
        }
        best = self.climb(best)?;
        all.push(best);
        all.sort_by_key(|tried| std::cmp::Reverse(rank(tried)));
        all.dedup_by(|one, other| one.launch == other.launch);
        all.truncate(self.budget.launches);
        Ok(all)
    }

    /// The launch with the CTA size in which the kernel executes most. Of equal launches the smallest is taken, since
    /// the memory of an excess thread may belong to another thread.
    fn sizes(&mut self) -> Result<Tried, Vec<LaunchError>> {
        let mut best: Option<Tried> = None;
        let is_farther = |tried: &Tried, best: &Tried| {
            let key = |tried: &Tried| (score(tried).0, score(tried).1);
            key(tried) > key(best)
        };
        for block in self.blocks() {
            let mut launch = self.start.clone();
            launch.size.block = block;
            let tried = self.settle(launch)?;
            if best.as_ref().is_none_or(|best| is_farther(&tried, best)) {
                best = Some(tried);
            }
            // The size for which the kernel is compiled is right if the kernel runs, in one dimension or in two.
            let runs = |best: &Tried| {
                let is_declared = self.head.most_threads == Some(best.launch.size.block.iter().product());
                is_declared && !matches!(best.end, End::Stopped(_))
            };
            if best.as_ref().is_some_and(runs) && block[1] == 1 || self.is_over() {
                break;
            }
        }
        let mut best = best.ok_or_else(Vec::new)?;
        let has_clusters = self.state.with_program((ModuleId::default(), &self.start.kernel), Program::has_clusters)?;
        let is_open = has_clusters && self.known.cluster.is_none();
        // A kernel that addresses no other CTA needs at most the pair of an instruction with `.cta_group::2`.
        let count = if self.names_others { CLUSTERS.len() } else { 1 };
        for ctas in CLUSTERS.into_iter().take(count) {
            if !is_open || !matches!(best.end, End::Stopped(_)) || self.is_over() {
                break;
            }
            let cluster = [ctas, 1, 1];
            let grid = self.known.grid.unwrap_or(cluster);
            if (0..3).all(|axis| grid[axis].is_multiple_of(cluster[axis])) {
                let mut launch = best.launch.clone();
                (launch.size.cluster, launch.size.grid) = (cluster, grid);
                let tried = self.settle(launch)?;
                // A kernel that is made for a pair gets as far with more CTAs, but the phases of its mbarriers do not
                // fit.
                let fits = ctas == CLUSTERS[0] || tried.end == End::Ended;
                // More CTAs execute more instructions. This alone does not justify a cluster.
                if fits && is_farther(&tried, &best) {
                    best = tried;
                }
            }
        }
        Ok(best)
    }

    fn blocks(&self) -> Vec<Dim3> {
        if let Some(block) = self.known.block {
            return vec![block];
        }
        let most = self.head.most_threads.unwrap_or(MOST_THREADS);
        let lines = BLOCKS.iter().map(|threads| [*threads, 1, 1]);
        let planes = PLANES.into_iter().filter(|_| self.is_plane);
        let fits = |threads: u32| {
            threads <= most && (!self.changes_registers || threads.is_multiple_of(WARPGROUP * LANES as u32))
        };
        // A kernel that reads both indices of a thread usually has a block of two dimensions.
        let all = planes.chain(lines).filter(|block| fits(block.iter().product()));
        // A kernel is usually launched with the maximum number of threads for which it is compiled. `.maxntid` gives
        // only the product of the dimensions, and a second dimension usually counts warps.
        let declared = self.head.most_threads.into_iter().flat_map(|most| {
            let plane = self.is_plane && most > 32 && most.is_multiple_of(32);
            plane.then_some([32, most / 32, 1]).into_iter().chain([[most, 1, 1]])
        });
        declared.chain(all).collect()
    }

    /// Runs one launch on fresh memory.
    fn try_one(&mut self, launch: &Assumed) -> Result<(Tried, Learned, Buffers), Vec<LaunchError>> {
        self.state.restore(&self.held);
        let (on, buffers) = launch.on(&mut self.state);
        let (report, steps, learned) = self.state.run(&on, self.most, true, &mut |_| ControlFlow::Continue(()))?;
        self.left = self.left.saturating_sub(steps + self.budget.launch_steps);
        let is_wrong = |kind: &FaultKind| {
            use FaultKind::{Absent, Race, SameValue, Setmaxnreg, Unfinished, Uninitialized};
            !matches!(kind, Absent | Race | SameValue | Setmaxnreg | Uninitialized | Unfinished)
        };
        let wrong = report.findings.iter().map(|finding| finding.kind).find(is_wrong);
        let end = match wrong {
            Some(kind) => End::Stopped(kind),
            None if steps >= self.most => End::Cut,
            None => End::Ended,
        };
        let reads_unwritten = report.findings.iter().any(|finding| finding.kind == FaultKind::Uninitialized);
        let (covered, instructions) =
            self.state.with_program((ModuleId::default(), &launch.kernel), |program| covered(program, &learned))?;
        let tried = Tried { launch: launch.clone(), end, covered, instructions, steps, reads_unwritten };
        Ok((tried, learned, buffers))
    }

    /// Runs a launch repeatedly, and adds the tensor maps and box sizes that its trials lack.
    fn settle(&mut self, mut launch: Assumed) -> Result<Tried, Vec<LaunchError>> {
        let mut best: Option<Tried> = None;
        for _ in 0..10 {
            let (tried, learned, buffers) = self.try_one(&launch)?;
            let changed = self.learn(&mut launch, &learned, &buffers)?;
            if best.as_ref().is_none_or(|best| score(&tried) >= score(best)) {
                best = Some(tried);
            }
            if !changed || self.is_over() {
                break;
            }
        }
        best.ok_or_else(Vec::new)
    }

    /// Adds the inputs that a trial lacked to the launch. Returns whether the launch changed.
    fn learn(
        &mut self,
        launch: &mut Assumed,
        learned: &Learned,
        buffers: &[OfField],
    ) -> Result<bool, Vec<LaunchError>> {
        let (before, given) = (launch.clone(), self.given);
        let number = number_of(launch);
        self.state.with_program((ModuleId::default(), &before.kernel), |program| {
            for field in fields(program, learned.reads.iter().copied()) {
                add(launch, program, field, number, given);
            }
            for piece in &learned.synchronizing {
                if let Some(index) = field_of(launch, buffers, *piece) {
                    launch.fields[index].is_zero = true;
                }
            }
            for (place, rank) in &learned.maps {
                put_map(launch, program, buffers, *place, *rank);
            }
            let is_open = |place| map_at(launch, program, buffers, place).is_some();
            let found = boxes(&learned.mbarrier_events, &is_open);
            for (place, bytes) in found {
                let map = map_at(launch, program, buffers, place).map(|map| map.rank as usize);
                if let Some(rank) = map {
                    let new = map_of(rank, bytes);
                    replace_map(launch, program, buffers, place, new);
                }
            }
        })?;
        Ok(*launch != before)
    }

    fn set_all(&self, launch: &mut Assumed, number: u64) {
        for field in launch.fields.iter_mut().filter(|field| !field.is_given) {
            if let Value::Number(own) = &mut field.value {
                *own = number;
            }
        }
    }

    /// Changes one number after the other, as long as the kernel executes more.
    fn climb(&mut self, mut best: Tried) -> Result<Tried, Vec<LaunchError>> {
        if best.end == End::Ended && best.covered.0 * 50 > best.covered.1 * 49 {
            return Ok(best);
        }
        let candidates: Vec<u64> =
            [1, 0].into_iter().chain(NUMBERS).chain(self.numbers.iter().copied().take(24)).collect();
        for _ in 0..2 {
            let before = score(&best).0;
            for index in 0..best.launch.fields.len() {
                let field = &best.launch.fields[index];
                if field.is_given || !matches!(field.value, Value::Number(_)) {
                    continue;
                }
                for number in &candidates {
                    if self.is_over() {
                        return Ok(best);
                    }
                    let mut launch = best.launch.clone();
                    launch.fields[index].value = Value::Number(*number);
                    if launch == best.launch {
                        continue;
                    }
                    let tried = self.settle(launch)?;
                    if (score(&tried).0, score(&tried).1) > (score(&best).0, score(&best).1) {
                        best = tried;
                    }
                }
            }
            if score(&best).0 == before {
                break;
            }
        }
        Ok(best)
    }
}

/// The value of the launch's numbers that the user did not give.
fn number_of(launch: &Assumed) -> u64 {
    let numbers = launch.fields.iter().filter(|field| !field.is_given).filter_map(|field| match field.value {
        Value::Number(number) => Some(number),
        _ => None,
    });
    numbers.max().unwrap_or(NUMBERS[0])
}

/// The number of executed steps of the kernel and of all its steps, where asynchronous operations have a larger weight;
/// and the executed instructions.
fn covered(program: &Program, learned: &Learned) -> ((usize, usize), Vec<InstPlace>) {
    let weight = |op: &Op| match op {
        Op::Asynchronous(_) => 8,
        Op::Nothing => 0,
        _ => 1,
    };
    let all = program.steps.iter().map(|step| weight(&step.op)).sum();
    let executed = program.steps.iter().enumerate().filter(|(index, _)| learned.is_covered(*index));
    ((executed.map(|(_, step)| weight(&step.op)).sum(), all), learned.instructions(program))
}

/// Whether CTAs take the work of CTAs that have not begun.
fn takes_others(program: &Program) -> bool {
    program.steps.iter().any(|step| match &step.op {
        Op::Asynchronous(of) => of.form.family() == Family::ClusterlaunchcontrolTryCancelAsync,
        _ => false,
    })
}

/// Whether the kernel computes addresses of other CTAs of its cluster.
fn names_others(program: &Program) -> bool {
    program.steps.iter().any(|step| matches!(step.op, Op::Mapa { .. }))
}

/// Whether warpgroups of the kernel change their numbers of registers, so that its CTA has only whole warpgroups.
fn changes_registers(program: &Program) -> bool {
    program.steps.iter().any(|step| matches!(step.op, Op::Setmaxnreg(..)))
}

/// Whether the kernel reads the second dimension of the thread index.
fn reads_plane(program: &Program) -> bool {
    let second = |source: &Source| *source == Source::Special(Special::Vector(SpecialVector::Tid, Axis::Y));
    program.steps.iter().any(|step| match &step.op {
        Op::Compute(of) => {
            of.sources[..of.count].iter().any(second)
                && matches!(of.of, Computation::Alu(AluOp::Mov, _) | Computation::Cvt { .. })
        }
        _ => false,
    })
}

/// The first launch of a kernel, without sizes and with all parameters that its code shows.
fn start(program: &Program, kernel: &str, given: &Given) -> Assumed {
    let is_dynamic = program.shared_names.iter().any(|(_, bytes, _)| *bytes == u64::MAX);
    let most = u64::from(MOST_SHARED).saturating_sub(program.shared) as u32;
    let named = |own: &Parameter| Parameter { name: short_name(kernel, &own.name).to_owned(), ..own.clone() };
    let mut launch = Assumed {
        kernel: kernel.to_owned(),
        size: FullSize { shared: given.size.shared.unwrap_or(if is_dynamic { most } else { 0 }), ..[32, 1, 1].into() },
        parameters: program.parameters.iter().map(named).collect(),
        fields: Vec::new(),
        zeros: false,
    };
    for (parameter, own) in program.parameters.iter().enumerate() {
        // A parameter of 128 bytes is a tensor map.
        if own.bytes == 128 {
            let value = Value::Map(Box::new(map_of(2, BOX)));
            launch.fields.push(Assumption { parameter, offset: 0, bytes: 128, value, is_given: false, is_zero: false });
        }
    }
    for field in fields(program, []) {
        add(&mut launch, program, field, NUMBERS[0], given);
    }
    launch
}

/// Adds a field, unless it overlaps an existing field. A number that turns out to be an address, or part of a
/// division, becomes it.
fn add(launch: &mut Assumed, program: &Program, field: Field, number: u64, given: &Given) {
    let Some((parameter, offset)) = Assumed::place(&program.parameters, field.offset) else { return };
    let is_there = |own: &Assumption| {
        own.parameter == parameter && own.offset < offset + field.bytes && offset < own.offset + own.bytes
    };
    if let Some(own) = launch.fields.iter_mut().find(|own| is_there(own)) {
        let is_same = (own.offset, own.bytes) == (offset, field.bytes);
        if is_same && !own.is_given && matches!(own.value, Value::Number(_)) {
            match field.kind {
                FieldKind::Address => own.value = Value::Buffer(Vec::new()),
                FieldKind::Division(part, divisor) => own.value = Value::Division(part, divisor),
                FieldKind::Integer | FieldKind::Float => {}
            }
        }
        return;
    }
    let value = match field.kind {
        FieldKind::Address => Value::Buffer(Vec::new()),
        FieldKind::Division(part, divisor) => Value::Division(part, divisor),
        FieldKind::Integer => Value::Number(number),
        FieldKind::Float if field.bytes == 8 => Value::Number(1f64.to_bits()),
        FieldKind::Float => Value::Number(1f32.to_bits().into()),
    };
    let is_float = field.kind == FieldKind::Float;
    let mut new = Assumption { parameter, offset, bytes: field.bytes, value, is_given: is_float, is_zero: false };
    let name = launch.name_of(&new);
    if let Some((_, number)) = given.numbers.iter().find(|(own, _)| short_name(&launch.kernel, own) == name) {
        // A number for the first bytes of a struct may be longer than the field.
        let own = number & mask(8 * field.bytes.min(8) as u32) as u64;
        (new.value, new.is_given) = (Value::Number(own), true);
    }
    launch.fields.push(new);
    launch.fields.sort_by_key(|field| (field.parameter, field.offset));
}

/// The field whose value is the address of a piece of global memory.
fn field_of(launch: &Assumed, buffers: &[OfField], piece: usize) -> Option<usize> {
    let (at, _) = buffers.iter().find(|(_, buffer)| *buffer == Buffer(piece as u32))?;
    launch.fields.iter().position(|field| (field.parameter, field.offset) == *at)
}

/// The tensor map of a launch at a place.
fn map_at<'l>(
    launch: &'l Assumed,
    program: &Program,
    buffers: &[OfField],
    place: Region,
) -> Option<&'l crate::TensorMap> {
    match place {
        Region::Param(at) => {
            let (parameter, offset) = Assumed::place(&program.parameters, at)?;
            let is = |field: &&Assumption| field.parameter == parameter && field.offset == offset;
            launch.fields.iter().find(is).and_then(|field| match &field.value {
                Value::Map(map) => Some(&**map),
                _ => None,
            })
        }
        Region::Global(piece, at) => match &launch.fields.get(field_of(launch, buffers, piece)?)?.value {
            Value::Buffer(maps) => maps.iter().find(|(own, _)| *own == at).map(|(_, map)| map),
            _ => None,
        },
        _ => None,
    }
}

/// Puts a tensor map of `rank` dimensions at the place where a trial lacked it.
fn put_map(launch: &mut Assumed, program: &Program, buffers: &[OfField], place: Region, rank: usize) {
    let bytes = map_at(launch, program, buffers, place).map_or(BOX, |map| {
        map.box_sizes[..map.rank.min(5) as usize].iter().map(|size| u64::from(*size)).product::<u64>() * 2
    });
    replace_map(launch, program, buffers, place, map_of(rank, bytes));
}

fn replace_map(launch: &mut Assumed, program: &Program, buffers: &[OfField], place: Region, map: crate::TensorMap) {
    match place {
        Region::Param(at) => {
            let Some((parameter, offset)) = Assumed::place(&program.parameters, at) else { return };
            let covers = |own: &Assumption| {
                own.parameter == parameter && own.offset < offset + 128 && offset < own.offset + own.bytes
            };
            launch.fields.retain(|field| !covers(field) || field.is_given);
            let value = Value::Map(Box::new(map));
            launch.fields.push(Assumption { parameter, offset, bytes: 128, value, is_given: false, is_zero: false });
            launch.fields.sort_by_key(|field| (field.parameter, field.offset));
        }
        Region::Global(piece, at) => {
            let Some(index) = field_of(launch, buffers, piece) else { return };
            if let Value::Buffer(maps) = &mut launch.fields[index].value {
                maps.retain(|(own, _)| *own != at);
                maps.push((at, map));
                maps.sort_by_key(|(own, _)| *own);
            }
        }
        _ => {}
    }
}

//! The machine code of ptxas for lowered operations, disassembled, and compared with the data in `lowering/src/sass`.
//!
//! Each cell is a kernel with the operation, at an address that differs from thread to thread, and optionally a plain
//! store of the result. At an address that all threads share, ptxas combines the threads of a warp into one `atom`. For
//! such kernels, the test checks which threads execute the barriers.
//! execute the barriers.

mod machine;
mod warp;

use std::fmt::Write;

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use machine::{Kernel, kernel_name, missing};
use ptx_atomics::llvm::FpChoice;
use ptx_lowering::{
    AtomicOp, Lowering, Operation, Ordering, Policy, Sequence, Sm, Strategy, SyncScope, Target, lower,
    ptx::{Instruction, Operand, Scope, Space, Statement},
    sass::{Family, LaneOperands, ResultUse, Sass, combines, leader_orders},
};
use strum::IntoEnumIterator;
use testing::{ASSEMBLERS, Assembler, FP_ATOMICS, target, trial};

/// The first GPU that the disassembler supports.
const FIRST: u32 = 75;
/// The test assembles one cell in `STRIDE`.
const STRIDE: usize = 97;

pub fn trials() -> Vec<Trial> {
    let newest = "ptx88".parse().expect("a version");
    let targets = Sm::all().filter(|sm| sm.number() >= FIRST).map(|sm| {
        let version = sm.lowest_ptx().max(newest);
        Target::new(sm, Some(version)).expect("a version that knows the GPU")
    });
    // The assembler is the measured one, because another may differ.
    let mut families = Vec::new();
    let trials = targets.filter_map(|target| {
        let family = Family::from_sm(target.sm)?;
        let measured = format!("ptxas-{}", family.assembler());
        let assembler = ASSEMBLERS.into_iter().find(|a| a.name == measured && a.knows(&target))?;
        let name = format!("{measured} for {} emits the measured code of {family}", target.sm);
        let trial = trial(name, missing(&assembler), move || check(&assembler, &target, family));
        // The GPUs of a family have the same machine code.
        let is_first = !families.contains(&family);
        families.push(family);
        Some(if is_first { trial } else { testing::left_to_all(trial) })
    });
    let newest = ASSEMBLERS.into_iter().find(|assembler| assembler.name == "ptxas-13.5").expect("one of ours");
    let ordered = ["sm_90", "sm_120"].map(|sm| {
        let target = target(sm, Some("ptx94"));
        let name = format!("{} has barriers for every acq_rel rmw on {sm}", newest.name);
        let trial = trial(name, missing(&newest), move || keeps_ordering(&newest, &target));
        // The assembler loses the ordering on both GPUs.
        if sm == "sm_120" { testing::left_to_all(trial) } else { trial }
    });
    let led = ["sm_90"].map(|sm| {
        let target = target(sm, Some("ptx94"));
        let name = format!("{} has barriers in all lanes on {sm}, with auto", newest.name);
        testing::left_to_all(trial(name, missing(&newest), move || orders_in_all_lanes(&newest, &target)))
    });
    let trials = trials.chain(ordered).chain(led).chain(warp::trials());
    trials.collect::<Vec<Trial>>()
}

/// The machine code of each read-modify-write has a wait and a cache invalidation, including operations that were not
/// measured. The assembler omits them for some operations.
fn keeps_ordering(assembler: &Assembler, target: &Target) -> Result<(), Failed> {
    let spaces = [Space::Global, Space::Shared, Space::Generic, Space::SharedCluster];
    let rmw = |operation: &Operation| matches!(operation, Operation::Rmw(..) | Operation::CmpXchg { .. });
    let operations = spaces.into_iter().flat_map(Operation::all).filter(rmw);
    // Only operations on floats depend on the policy.
    let is_float = |operation: &Operation| operation.access().is_some_and(|access| access.ty.is_float());
    let cells = iproduct!(operations, FP_ATOMICS).filter_map(|(operation, floats)| {
        if floats != FP_ATOMICS[0] && !is_float(&operation) {
            return None;
        }
        let op = AtomicOp { operation, ordering: Ordering::AcqRel, scope: SyncScope::Threads(Scope::Gpu) };
        let policy = floats.parse::<FpChoice>().expect("a policy").apply(Policy::default());
        Cell::new(format!("{operation:?} {floats}"), &op, &policy, target)
    });
    let cells = cells.collect_vec();
    let real = disassembled(assembler, target, &cells.iter().collect_vec())?;
    let real = real.iter().map(Kernel::sass);
    let lost = cells.iter().zip(real).filter(|(_, sass)| sass.counts().membar == 0 || sass.counts().cctl == 0);
    let lost = lost.map(|(cell, sass)| format!("{}\n{}\n  ptxas {sass}", cell.name, cell.sequence)).collect_vec();
    println!("{} acq_rel operations for {target}", cells.len());
    if cells.len() < 1_000 || !lost.is_empty() {
        return Err(format!("{} of {} without barriers\n{}", lost.len(), cells.len(), lost.join("\n")).into());
    }
    Ok(())
}

/// With `auto`, all lanes of a warp execute the barriers of each read-modify-write at one address. With `recommended`,
/// only the leader executes them exactly where the data say so.
fn orders_in_all_lanes(assembler: &Assembler, target: &Target) -> Result<(), Failed> {
    let family = Family::from_sm(target.sm).ok_or("a GPU that was measured")?;
    let spaces = [Space::Global, Space::Shared, Space::Generic, Space::SharedCluster];
    let rmw = |operation: &Operation| matches!(operation, Operation::Rmw(..));
    let operations = spaces.into_iter().flat_map(Operation::all).filter(rmw);
    let cells = iproduct!(operations, [Ordering::AcqRel, Ordering::SeqCst], [Strategy::Recommended, Strategy::Auto]);
    let cells = cells.filter_map(|(operation, ordering, strategy)| {
        let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
        Some((Cell::new(format!("{operation:?} {ordering} {strategy}"), &op, &strategy.into(), target)?, strategy))
    });
    let cells = cells.flat_map(|(cell, strategy)| [cell.unread().map(|cell| (cell, strategy)), Some((cell, strategy))]);
    let cells = cells.flatten().map(|(cell, strategy)| (Cell { one_address: true, ..cell }, strategy));
    let cells = cells.collect_vec();
    let kernels = disassembled(assembler, target, &cells.iter().map(|(cell, _)| cell).collect_vec())?;
    let mut led = 0;
    let mut wrong = Vec::new();
    for ((cell, strategy), kernel) in cells.iter().zip(&kernels) {
        let result = if cell.store.statements().is_empty() { ResultUse::Unread } else { ResultUse::Read };
        let by_leader = |instruction: &Instruction| {
            leader_orders(instruction, family) && combines(instruction, LaneOperands::Equal, result, family)
        };
        let expected = *strategy == Strategy::Recommended && cell.sequence.instructions().any(by_leader);
        let found = kernel.guarded_barriers().next().is_some();
        led += usize::from(found);
        if found != expected {
            wrong.push(format!("{}\n{}\n  barriers of the leader: {found}", cell.name, cell.sequence));
        }
    }
    println!("{} operations at one address for {target}, {led} of them with barriers of the leader", cells.len());
    if led < 50 || !wrong.is_empty() {
        return Err(format!("{} wrong of {}\n{}", wrong.len(), cells.len(), wrong.join("\n")).into());
    }
    Ok(())
}

/// Assembles a sample of a target's cells. Different GPUs have different samples.
fn check(assembler: &Assembler, target: &Target, family: Family) -> Result<(), Failed> {
    let all = cells(target);
    let (cells, unmeasured): (Vec<_>, Vec<_>) = all.into_iter().partition(|cell| cell.sass(family).is_some());
    let sample = cells.iter().skip(target.sm.number() as usize % STRIDE).step_by(STRIDE).collect_vec();
    let mut wrong = Vec::new();
    for (cell, real) in sample.iter().zip(disassembled(assembler, target, &sample)?) {
        let real = real.sass();
        let ours = cell.sass(family).ok_or_else(|| format!("{}: nothing was measured", cell.name))?;
        if ours != real || ours.counts() != real.counts() {
            wrong.push(format!("{}\n  ptxas {real}\n  ours  {ours}", cell.name));
        }
    }
    println!("{} of {} cells for {target}; {} more were not measured", sample.len(), cells.len(), unmeasured.len());
    if sample.len() < 20 || !wrong.is_empty() {
        return Err(format!("{} wrong of {}\n{}", wrong.len(), sample.len(), wrong.join("\n")).into());
    }
    Ok(())
}

/// The machine code of each cell.
fn disassembled(assembler: &Assembler, target: &Target, cells: &[&Cell]) -> Result<Vec<Kernel>, Failed> {
    let texts = cells.iter().enumerate().map(|(index, cell)| cell.kernel(index));
    machine::disassembled(assembler, target, &texts.collect::<Result<Vec<_>, _>>()?)
}

struct Cell {
    name: String,
    sequence: Sequence,
    /// The use of the result.
    store: Sequence,
    space: Space,
    bits: u32,
    one_address: bool,
}

fn cells(target: &Target) -> Vec<Cell> {
    let spaces = [Space::Global, Space::Shared, Space::Generic, Space::SharedCluster];
    let operations = spaces.into_iter().flat_map(Operation::all);
    let cells = iproduct!(operations, Ordering::iter(), Scope::iter(), [Strategy::Recommended, Strategy::Fence]);
    let cells = cells.filter(|(operation, ordering, ..)| operation.takes(*ordering));
    let cells = cells.filter_map(|(operation, ordering, scope, strategy)| {
        let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(scope) };
        Cell::new(format!("{operation:?} {ordering} {scope} {strategy}"), &op, &strategy.into(), target)
    });
    cells.flat_map(|cell| [cell.unread(), Some(cell)]).flatten().collect()
}

impl Cell {
    /// `None` for a fence and for an operation that the target lacks.
    fn new(name: String, op: &AtomicOp, policy: &Policy, target: &Target) -> Option<Self> {
        let access = op.operation.access()?;
        let Lowering { sequence, .. } = lower(op, policy, target).ok()?;
        let bits = access.ty.bits();
        let reads = !matches!(op.operation, Operation::Store(_));
        let store = if reads { format!("st.global.b{bits} [%out], %d;") } else { String::new() };
        let store = store.parse().expect("a store");
        Some(Self { name, sequence, store, space: access.space, bits, one_address: false })
    }

    /// The same `atom` with a discarded result; `None` if a loop needs the result. For a generic operation, ptxas then
    /// narrows the part for local memory.
    fn unread(&self) -> Option<Self> {
        let mut statements = self.sequence.statements().to_vec();
        let atoms = statements.iter_mut().filter_map(|statement| match statement {
            Statement::Instruction { instruction: Instruction::Atom(atom), .. } => Some(atom),
            _ => None,
        });
        let atoms: Vec<_> = atoms.collect();
        let expanded = self.sequence.statements().iter().any(|statement| matches!(statement, Statement::Label(_)));
        let addressed = matches!(self.space, Space::Global | Space::Shared);
        if atoms.is_empty() || !addressed || expanded {
            return None;
        }
        atoms.into_iter().for_each(|atom| atom.d = Operand::Sink);
        Some(Self {
            name: format!("{} unread", self.name),
            sequence: statements.into_iter().collect(),
            store: Sequence::default(),
            ..*self
        })
    }

    fn kernel(&self, index: usize) -> Result<String, std::fmt::Error> {
        let Self { sequence, store, space, .. } = self;
        let mut ptx = String::new();
        // There are no narrower registers.
        let bits = self.bits.max(16);
        let name = kernel_name(index);
        writeln!(ptx, "// {}", self.name)?;
        writeln!(ptx, ".visible .entry {name}(.param .u64 a, .param .u64 o, .param .b{bits} b, .param .b{bits} c) {{")?;
        writeln!(ptx, ".reg .b32 %t; .reg .b64 %a, %out; .reg .b{bits} %d, %b, %c;")?;
        writeln!(ptx, ".shared .align 16 .b8 words[4096];")?;
        match space {
            Space::Shared | Space::SharedCluster => writeln!(ptx, "mov.u64 %a, words;")?,
            Space::Global => writeln!(ptx, "ld.param.u64 %a, [a]; cvta.to.global.u64 %a, %a;")?,
            _ => writeln!(ptx, "ld.param.u64 %a, [a];")?,
        }
        if !self.one_address {
            writeln!(ptx, "mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 16, %a;")?;
        }
        writeln!(ptx, "ld.param.b{bits} %b, [b]; ld.param.b{bits} %c, [c];")?;
        writeln!(ptx, "ld.param.u64 %out, [o]; cvta.to.global.u64 %out, %out;\n{sequence}")?;
        writeln!(ptx, "{store}\nret;\n}}")?;
        Ok(ptx)
    }

    fn sass(&self, family: Family) -> Option<Sass> {
        [&self.sequence, &self.store].into_iter().map(|sequence| Sass::of_sequence(sequence, family)).collect()
    }
}

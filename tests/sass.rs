//! What ptxas really makes of lowered operations, disassembled, against what `lowering/src/sass` says.
//!
//! Each cell is a kernel: the operation at an address that differs from thread to thread (else ptxas combines the threads of
//! a warp into one `atom`), and a plain store of the result, or none.

mod support;

use std::{collections::BTreeMap, fmt::Write, path::PathBuf, process::Command};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics::lowering::{
    AtomicOp, FpAtomics, Lowering, Operation, Ordering, Policy, Sequence, Sm, Strategy, SyncScope, Target, lower,
    ptx::{Instruction, Operand, Scope, Space, Statement},
    sass::{Family, Sass},
};
use strum::IntoEnumIterator;
use support::{ASSEMBLERS, Assembler, root, success, target, trial};

const NVDISASM: &str = "nvdisasm-13.5";
/// The disassembler knows no GPU before it.
const FIRST: u32 = 75;
/// Every so many cells are assembled.
const STRIDE: usize = 97;

fn main() {
    let newest = "ptx88".parse().expect("a version");
    let targets = Sm::all().filter(|sm| sm.number() >= FIRST).map(|sm| {
        let version = sm.lowest_ptx().max(newest);
        Target::new(sm, Some(version)).expect("a version that knows the GPU")
    });
    // By the assembler that was measured; another one may differ.
    let trials = targets.filter_map(|target| {
        let family = Family::of(target.sm)?;
        let measured = format!("ptxas-{}", family.assembler());
        let assembler = ASSEMBLERS.into_iter().find(|a| a.name == measured && a.knows(&target))?;
        let missing = assembler.missing().or((!nvdisasm().exists()).then_some(NVDISASM));
        let name = format!("{measured} for {} emits what {family} was measured to have", target.sm);
        Some(trial(name, missing, move || check(&assembler, &target, family)))
    });
    let newest = ASSEMBLERS.into_iter().find(|assembler| assembler.name == "ptxas-13.5").expect("one of ours");
    let missing = newest.missing().or((!nvdisasm().exists()).then_some(NVDISASM));
    let ordered = ["sm_90", "sm_120"].map(|sm| {
        let target = target(sm, Some("ptx94"));
        let name = format!("{} has barriers for every acq_rel rmw on {sm}", newest.name);
        trial(name, missing, move || keeps_ordering(&newest, &target))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.chain(ordered).collect::<Vec<Trial>>()).exit();
}

/// Whether the machine code of each rmw waits and drops its cache, measured before or not: the assembler forgets that of
/// some.
fn keeps_ordering(assembler: &Assembler, target: &Target) -> Result<(), Failed> {
    let spaces = [Space::Global, Space::Shared, Space::Generic, Space::SharedCluster];
    let rmw = |operation: &Operation| matches!(operation, Operation::Rmw(..) | Operation::CmpXchg { .. });
    let operations = spaces.into_iter().flat_map(Operation::all).filter(rmw);
    let cells = iproduct!(operations, FpAtomics::iter()).filter_map(|(operation, fp_atomics)| {
        let op = AtomicOp { operation, ordering: Ordering::AcqRel, scope: SyncScope::Threads(Scope::Gpu) };
        let policy = Policy { fp_atomics, ..Policy::default() };
        Cell::new(format!("{operation:?} {fp_atomics}"), &op, &policy, target)
    });
    let cells = cells.collect_vec();
    let real = disassembled(assembler, target, &cells.iter().collect_vec())?;
    let lost = cells.iter().zip(&real).filter(|(_, sass)| sass.counts().membar == 0 || sass.counts().cctl == 0);
    let lost = lost.map(|(cell, sass)| format!("{}\n{}\n  ptxas {sass}", cell.name, cell.sequence)).collect_vec();
    println!("{} acq_rel operations for {target}", cells.len());
    if cells.len() < 1_000 || !lost.is_empty() {
        return Err(format!("{} of {} without barriers\n{}", lost.len(), cells.len(), lost.join("\n")).into());
    }
    Ok(())
}

/// Assembles a sample of the cells of a target; different GPUs have different samples.
fn check(assembler: &Assembler, target: &Target, family: Family) -> Result<(), Failed> {
    let all = cells(target);
    let (cells, unmeasured): (Vec<_>, Vec<_>) = all.into_iter().partition(|cell| cell.sass(family).is_some());
    let sample = cells.iter().skip(target.sm.number() as usize % STRIDE).step_by(STRIDE).collect_vec();
    let mut wrong = Vec::new();
    for (cell, real) in sample.iter().zip(disassembled(assembler, target, &sample)?) {
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

/// What each cell becomes.
fn disassembled(assembler: &Assembler, target: &Target, cells: &[&Cell]) -> Result<Vec<Sass>, Failed> {
    let mut ptx = format!(".version {}\n.target {}\n.address_size 64\n", target.ptx, target.sm);
    for (index, cell) in cells.iter().enumerate() {
        cell.write_kernel(&mut ptx, index)?;
    }
    let file = tempfile::NamedTempFile::new()?;
    assembler.assemble_to(file.path(), target, ptx.as_bytes())?;
    let text = success(Command::new(nvdisasm()).args(["-c", "-ndf"]).arg(file.path()))?;
    let mut kernels = kernels(&text);
    let found = (0..cells.len()).map(|index| kernels.remove(&kernel_name(index)).map(Sass));
    Ok(found.collect::<Option<_>>().ok_or("a kernel is missing")?)
}

struct Cell {
    name: String,
    sequence: Sequence,
    /// What the kernel does with the result.
    store: Sequence,
    space: Space,
    bits: u32,
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
    /// `None` for a fence, and for what the target lacks.
    fn new(name: String, op: &AtomicOp, policy: &Policy, target: &Target) -> Option<Self> {
        let access = op.operation.access()?;
        let Lowering { sequence, .. } = lower(op, policy, target).ok()?;
        let bits = access.ty.bits();
        let reads = !matches!(op.operation, Operation::Store(_));
        let store = if reads { format!("st.global.b{bits} [%out], %d;") } else { String::new() };
        Some(Self { name, sequence, store: store.parse().expect("a store"), space: access.space, bits })
    }

    /// The same `atom` with its result discarded. A loop needs it; and of a generic operation, ptxas then narrows the part for
    /// local memory.
    fn unread(&self) -> Option<Self> {
        let mut sequence = self.sequence.clone();
        let atom = sequence.0.iter_mut().find_map(|statement| match statement {
            Statement::Instruction { instruction: Instruction::Atom(atom), .. } => Some(atom),
            _ => None,
        });
        let expanded = self.sequence.0.iter().any(|statement| matches!(statement, Statement::Label(_)));
        let addressed = matches!(self.space, Space::Global | Space::Shared);
        atom.filter(|_| addressed && !expanded)?.d = Operand::Sink;
        Some(Self { name: format!("{} unread", self.name), sequence, store: Sequence::default(), ..*self })
    }

    fn write_kernel(&self, ptx: &mut String, index: usize) -> std::fmt::Result {
        let Self { sequence, store, space, .. } = self;
        // No register is narrower.
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
        writeln!(ptx, "mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 16, %a;")?;
        writeln!(ptx, "ld.param.b{bits} %b, [b]; ld.param.b{bits} %c, [c];")?;
        writeln!(ptx, "ld.param.u64 %out, [o]; cvta.to.global.u64 %out, %out;\n{sequence}")?;
        writeln!(ptx, "{store}\nret;\n}}")
    }

    fn sass(&self, family: Family) -> Option<Sass> {
        [&self.sequence, &self.store].into_iter().map(|sequence| Sass::of_sequence(sequence, family)).collect()
    }
}

fn kernel_name(index: usize) -> String {
    format!("cell_{index}")
}

fn nvdisasm() -> PathBuf {
    root().join(".tools").join(NVDISASM).join("nvidia/cu13/bin/nvdisasm")
}

/// The memory and fence opcodes of each kernel: `/*0040*/ @!P0 LDG.E R2, …`.
fn kernels(text: &str) -> BTreeMap<String, Vec<String>> {
    let of_interest =
        "LD LDG LDS ST STG STS ATOM ATOMG ATOMS RED REDG MEMBAR ERRBAR CGAERRBAR CCTL QSPC".split(' ').collect_vec();
    let mut kernels = BTreeMap::new();
    let mut opcodes: &mut Vec<String> = &mut Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".text.").and_then(|line| line.strip_suffix(':')) {
            opcodes = kernels.entry(name.to_owned()).or_default();
        }
        let Some((_, instruction)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/")) else { continue };
        let opcode = instruction.split([' ', '{', ';']).find(|word| !word.is_empty() && !word.starts_with('@'));
        opcodes.extend(
            opcode
                .filter(|opcode| of_interest.contains(&opcode.split('.').next().unwrap_or_default()))
                .map(str::to_owned),
        );
    }
    kernels
}

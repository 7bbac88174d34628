//! The operations at one address that ptxas combines, and the lanes that execute their barriers.

use std::{env, fmt::Write};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_lowering::{
    Form, Sm, Target,
    ptx::{AtomOp, Instruction, Scope, Space, Statement, Type},
    sass::{Family, LaneOperands, ResultUse, combines, leader_orders},
};
use strum::IntoEnumIterator;

use testing::{ASSEMBLERS, Assembler, left_to_all, trial};

use crate::sass::{
    FIRST,
    machine::{Kernel, disassembled, kernel_name, missing},
};

/// The test assembles one cell in `STRIDE`; `SASS_STRIDE=1` is the whole measurement.
const STRIDE: usize = 149;

pub fn trials() -> impl Iterator<Item = Trial> {
    let gpus = Sm::all().filter(|sm| sm.number() >= FIRST && sm.name().ends_with(|last: char| last.is_ascii_digit()));
    let is_whole = env::var_os("SASS_STRIDE").is_some();
    iproduct!(gpus, ["ptx88", "ptx94"]).filter_map(move |(sm, version)| {
        let target = Target::new(sm, version.parse().ok()).ok()?;
        // The oldest assembler supports neither version.
        let assembler = ASSEMBLERS.into_iter().find(|assembler| assembler.knows(&target))?;
        let name = format!("{} for {target} combines the warps that were measured", assembler.name);
        let trial = trial(name, missing(&assembler), move || check(&assembler, &target));
        // A GPU runs with one of the two versions, in turn.
        let is_here = is_whole || (target.sm.number() / 2 % 2 == 0) == (version == "ptx88");
        Some(if is_here { trial } else { left_to_all(trial) })
    })
}

fn check(assembler: &Assembler, target: &Target) -> Result<(), Failed> {
    let family = Family::from_sm(target.sm).ok_or("a GPU that was measured")?;
    let stride = env::var("SASS_STRIDE").map_or(Ok(STRIDE), |stride| stride.parse())?;
    let mut all = cells(target)?;
    // ptxas 12.9 crashes on the addition of bfloat16 with a discarded result.
    all.retain(|cell| assembler.name != "ptxas-12.9" || !cell.name.contains("bf16"));
    let cells = all.iter().skip(target.sm.number() as usize % stride).step_by(stride).collect_vec();
    let texts = cells.iter().enumerate().map(|(index, cell)| cell.kernel(index)).collect::<Result<Vec<_>, _>>()?;
    let kernels = disassembled(assembler, target, &texts)?;
    let wrong = cells.iter().zip(&kernels).filter_map(|(cell, kernel)| cell.objection(kernel, family)).collect_vec();
    let combined = kernels.iter().filter(|kernel| kernel.is_of_warp()).count();
    let led = kernels.iter().filter(|kernel| kernel.guarded_barriers().next().is_some()).count();
    println!(
        "{} of {} cells for {target}: {combined} combined, {led} with barriers of the leader",
        cells.len(),
        all.len()
    );
    if combined == 0 || (led > 0) != (family >= Family::Sm90) || !wrong.is_empty() {
        return Err(format!("{} wrong of {}\n{}", wrong.len(), cells.len(), wrong.join("\n")).into());
    }
    Ok(())
}

/// An instruction at an address that all lanes share, with or without fences that carry its ordering.
struct Cell {
    name: String,
    instruction: Instruction,
    fences: [String; 2],
    bits: u32,
    space: Space,
    one_operand: bool,
    result_is_read: bool,
}

/// The use of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Unread,
    /// `red`.
    None,
}

/// The operand. A register is a parameter, or a value that each lane loads.
const OPERANDS: [(&str, bool); 4] = [("1", true), ("5", true), ("%b", true), ("%b", false)];

/// Each scalar operation of PTX of up to 64 bits × space × ordering, in the instruction or in fences × scope × operand
/// × use of the result.
fn cells(target: &Target) -> Result<Vec<Cell>, Failed> {
    let forms = iproduct!(AtomOp::iter(), [false, true], Type::iter())
        .filter(|(op, noftz, ty)| ty.bits() <= 64 && target.meets(Form::Atom(*op, *noftz, None, *ty).requirement()));
    let spaces = [Space::Global, Space::Shared, Space::Generic, Space::SharedCluster];
    let spaces = spaces.into_iter().filter(|space| *space != Space::SharedCluster || target.sm.number() >= 90);
    let orderings = iproduct!(["relaxed", "acquire", "release", "acq_rel"], [false, true]);
    let uses = [Use::Read, Use::Unread, Use::None];
    let cells = iproduct!(forms, spaces, orderings, [Scope::Cta, Scope::Gpu, Scope::Sys], OPERANDS, uses);
    let cells = cells.filter(|((op, _, ty), _, (sem, fenced), _, (operand, _), used)| {
        let integer = matches!(ty, Type::U32 | Type::S32 | Type::B32 | Type::U64 | Type::S64 | Type::B64);
        let red = !matches!(op, AtomOp::Exch | AtomOp::Cas) && (*fenced || !sem.starts_with("acq"));
        (integer || *operand == "%b") && (red || *used != Use::None) && (*sem != "relaxed" || !fenced)
    });
    let one_sided = target.meets(Form::OneSidedFence.requirement());
    let cells = cells.map(|(form, space, carried, scope, operand, used)| {
        Cell::new(one_sided, form, space, carried, scope, operand, used)
    });
    cells.collect()
}

impl Cell {
    fn new(
        one_sided: bool,
        (op, noftz, ty): (AtomOp, bool, Type),
        space: Space,
        (sem, fenced): (&str, bool),
        scope: Scope,
        (operand, one_operand): (&str, bool),
        used: Use,
    ) -> Result<Self, Failed> {
        let (mnemonic, d) = match used {
            Use::Read => ("atom", "%d, "),
            Use::Unread => ("atom", "_, "),
            Use::None => ("red", ""),
        };
        let fence = |kind: &str, other: &str| match () {
            () if !fenced || sem == other => String::new(),
            () if one_sided => format!("fence.{kind}.{scope};"),
            () => format!("fence.acq_rel.{scope};"),
        };
        let fences = [fence("release", "acquire"), fence("acquire", "release")];
        let noftz = if noftz { ".noftz" } else { "" };
        let c = if op == AtomOp::Cas { ", %c" } else { "" };
        let sem = if fenced { "relaxed" } else { sem };
        let space_of = if space == Space::Generic { String::new() } else { format!(".{space}") };
        let text = format!("{mnemonic}.{sem}.{scope}{space_of}.{op}{noftz}.{ty} {d}[%a], {operand}{c};");
        let statement: Statement = text.parse().map_err(|error| format!("{text}: {error:?}"))?;
        let [before, after] = &fences;
        let name = format!("{before} {text} {after} one operand: {one_operand}");
        let instruction = statement.instruction().ok_or("an instruction")?.clone();
        let bits = ty.bits().max(16);
        Ok(Cell { name, instruction, fences, bits, space, one_operand, result_is_read: used == Use::Read })
    }

    fn kernel(&self, index: usize) -> Result<String, std::fmt::Error> {
        let Self { instruction, fences: [before, after], bits, space, .. } = self;
        let mut ptx = String::new();
        let name = kernel_name(index);
        writeln!(ptx, ".visible .entry {name}(.param .u64 a, .param .u64 o, .param .b{bits} b, .param .b{bits} c) {{")?;
        writeln!(ptx, ".reg .b32 %t; .reg .b64 %a, %out; .reg .b{bits} %d, %b, %c;")?;
        writeln!(ptx, ".shared .align 16 .b8 words[16];")?;
        match space {
            Space::Shared | Space::SharedCluster => writeln!(ptx, "mov.u64 %a, words;")?,
            Space::Global => writeln!(ptx, "ld.param.u64 %a, [a]; cvta.to.global.u64 %a, %a;")?,
            _ => writeln!(ptx, "ld.param.u64 %a, [a];")?,
        }
        writeln!(ptx, "ld.param.u64 %out, [o]; cvta.to.global.u64 %out, %out;")?;
        writeln!(ptx, "mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 16, %out;")?;
        let operand = if self.one_operand { "ld.param" } else { "ld.global" };
        let from = if self.one_operand { "b" } else { "%out+8" };
        writeln!(ptx, "{operand}.b{bits} %b, [{from}]; ld.param.b{bits} %c, [c];")?;
        writeln!(ptx, "{before}\n{}\n{after}", Statement::from(instruction.clone()))?;
        let store = if self.result_is_read { format!("st.global.b{bits} [%out], %d;") } else { String::new() };
        writeln!(ptx, "{store}\nret;\n}}")?;
        Ok(ptx)
    }

    /// The difference between the machine code and the data, if any.
    fn objection(&self, kernel: &Kernel, family: Family) -> Option<String> {
        let operands = if self.one_operand { LaneOperands::Equal } else { LaneOperands::Different };
        let result = if self.result_is_read { ResultUse::Read } else { ResultUse::Unread };
        let (combined, expected) = (kernel.is_of_warp(), combines(&self.instruction, operands, result, family));
        if combined != expected {
            return Some(format!("{}: combined {combined}, not {expected}", self.name));
        }
        let by_leader = combined && leader_orders(&self.instruction, family);
        let mut barriers = kernel.0.iter().filter(|placed| placed.is_barrier());
        let other = barriers.find(|barrier| barrier.guarded != by_leader)?;
        Some(format!("{}: barriers of the leader: {by_leader}, but {other:?}", self.name))
    }
}

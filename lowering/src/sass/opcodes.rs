//! The opcodes of an instruction and of a sequence.

use std::fmt;

use super::{
    access::{self, ResultUse},
    barriers,
    family::Family,
};
use crate::{
    ptx::{Fence, FenceSem, Instruction, Operand, Scope},
    sequence::Sequence,
};

/// The memory and fence opcodes of a piece of code, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sass(Vec<String>);

/// The numbers of barriers among the opcodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// `MEMBAR`.
    pub membar: usize,
    /// `ERRBAR`, and `CGAERRBAR` from sm_90 on.
    pub errbar: usize,
    /// `CCTL.IVALL`, which invalidates all lines of the first-level cache.
    pub cctl: usize,
}

impl Sass {
    /// The opcodes that ptxas emits for an instruction. Returns `None` if the family lacks the instruction, or if it
    /// was not measured. Arithmetic has no such opcodes.
    pub fn from_instruction(instruction: &Instruction, result: ResultUse, family: Family) -> Option<Self> {
        if instruction.requirement().gpus.lowest().is_none_or(|lowest| lowest > family.number()) {
            return None;
        }
        let opcodes = match instruction {
            Instruction::Fence(fence) => barriers::fence(fence.sem, fence.scope, family),
            Instruction::Membar(level) => barriers::membar(*level, family),
            Instruction::Ld(ld) => access::ld(ld, result, family)?,
            Instruction::St(st) => access::st(st, family)?,
            Instruction::Atom(atom) => access::atom(atom, result, family)?,
            Instruction::Red(red) => access::red(red, family)?,
            Instruction::Alu { .. }
            | Instruction::Cvt { .. }
            | Instruction::Setp { .. }
            | Instruction::Isspacep { .. }
            | Instruction::Bra { .. } => Vec::new(),
        };
        Some(Self(opcodes))
    }

    /// The opcodes that ptxas emits for a sequence. A result counts as read unless its destination is the sink, `_`. If
    /// the kernel has a fence that acquires, ptxas 13.5 treats every result as read, because a fence after a reduction
    /// would acquire nothing.
    pub fn of_sequence(sequence: &Sequence, family: Family) -> Option<Self> {
        let keeps = |instruction: &Instruction| match instruction {
            Instruction::Fence(Fence { sem: Some(FenceSem::Release), .. }) => false,
            Instruction::Fence(fence) if family < Family::Sm90 => fence.scope > Scope::Cta && family >= Family::Sm80,
            Instruction::Fence(_) => true,
            _ => false,
        };
        let kept = sequence.instructions().any(keeps);
        let sink =
            |instruction: &Instruction| matches!(instruction, Instruction::Atom(atom) if atom.d == Operand::Sink);
        let result = |instruction| if kept || !sink(instruction) { ResultUse::Read } else { ResultUse::Unread };
        sequence
            .instructions()
            .map(|instruction| Self::from_instruction(instruction, result(instruction), family))
            .collect()
    }

    /// The opcodes, as the disassembler spells them.
    pub fn opcodes(&self) -> &[String] {
        &self.0
    }

    /// The numbers of barriers among the opcodes.
    pub fn counts(&self) -> Counts {
        let count = |mnemonics: &[&str]| {
            self.0.iter().filter(|opcode| mnemonics.contains(&opcode.split('.').next().unwrap_or_default())).count()
        };
        Counts { membar: count(&["MEMBAR"]), errbar: count(&["ERRBAR", "CGAERRBAR"]), cctl: count(&["CCTL"]) }
    }

    /// The cost for comparisons: the number of barriers, then the number of all opcodes.
    pub fn cost(&self) -> impl Ord + use<> {
        let Counts { membar, errbar, cctl } = self.counts();
        (membar + errbar + cctl, self.0.len())
    }
}

/// The opcodes in the order of the text.
impl FromIterator<String> for Sass {
    fn from_iter<I: IntoIterator<Item = String>>(opcodes: I) -> Self {
        Self(opcodes.into_iter().collect())
    }
}

/// Concatenates pieces of code.
impl FromIterator<Sass> for Sass {
    fn from_iter<I: IntoIterator<Item = Self>>(parts: I) -> Self {
        Self(parts.into_iter().flat_map(|part| part.0).collect())
    }
}

/// Prints opcodes in the format of the table of measurements: `MEMBAR.ALL.GPU ; ERRBAR`.
impl fmt::Display for Sass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" ; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::{loses_ordering, misplaces_ordering};

    fn check(sequence: &str, family: Family, expected: Option<&str>) {
        let sequence: Sequence = sequence.parse().expect(sequence);
        let sass = Sass::of_sequence(&sequence, family).map(|sass| sass.to_string());
        assert_eq!(sass.as_deref(), expected, "{family} {sequence}");
    }

    #[test]
    fn one_sided_fences_cost_half_of_a_fence() {
        let row = "fence.release.gpu; atom.relaxed.gpu.global.add.u32 %d, [%a], %b; fence.acquire.gpu;";
        let sass = "MEMBAR.ALL.GPU ; ERRBAR ; CGAERRBAR ; ATOMG.E.ADD.STRONG.GPU ; CCTL.IVALL";
        check(row, Family::Sm90, Some(sass));
        check("atom.acq_rel.gpu.global.add.u32 %d, [%a], %b;", Family::Sm90, Some(sass));
        check(row, Family::Sm80, None);
    }

    #[test]
    fn an_unread_result_makes_a_reduction() {
        check("atom.relaxed.sys.global.add.u64 _, [%a], %b;", Family::Sm80, Some("RED.E.ADD.64.STRONG.SYS"));
        check("atom.relaxed.cta.global.add.u64 _, [%a], %b;", Family::Sm90, Some("REDG.E.ADD.64.STRONG.SM"));
        check("atom.acquire.cta.global.add.u64 _, [%a], %b;", Family::Sm90, Some("ATOMG.E.ADD.64.STRONG.SM"));
    }

    #[test]
    fn a_fence_that_acquires_keeps_the_result() {
        let (after, cta, release) = (
            "atom.relaxed.gpu.global.or.b32 _, [%a], %b; fence.acq_rel.gpu;",
            "atom.relaxed.cta.global.or.b32 _, [%a], %b; fence.acq_rel.cta;",
            "fence.release.cta; atom.relaxed.cta.global.or.b32 _, [%a], %b;",
        );
        check(after, Family::Sm70, Some("RED.E.OR.STRONG.GPU ; MEMBAR.ALL.GPU ; ERRBAR ; CCTL.IVALL"));
        check(after, Family::Sm80, Some("ATOMG.E.OR.STRONG.GPU ; MEMBAR.ALL.GPU ; ERRBAR ; CCTL.IVALL"));
        check(cta, Family::Sm80, Some("RED.E.OR.STRONG.SM ; MEMBAR.ALL.CTA"));
        check(cta, Family::Sm90, Some("ATOMG.E.OR.STRONG.SM ; MEMBAR.ALL.CTA"));
        check(release, Family::Sm90, Some("MEMBAR.ALL.CTA ; REDG.E.OR.STRONG.SM"));
    }

    #[test]
    fn loops_in_shared_memory_lose_their_ordering() {
        let f32 = "atom.acq_rel.cta.shared.add.f32 %d, [%a], %b;";
        check(f32, Family::Sm80, Some("MEMBAR.ALL.CTA ; LDS ; ATOMS.CAST.SPIN"));
        check(f32, Family::Sm90, Some("LDS ; ATOMS.CAST.SPIN"));
        let loses = |text: &str, family| {
            let sequence: Sequence = text.parse().expect(text);
            sequence.instructions().any(|instruction| loses_ordering(instruction, family))
        };
        assert!(loses(f32, Family::Sm90) && !loses(f32, Family::Sm80));
        assert!(!loses("atom.acq_rel.cta.shared.add.u32 %d, [%a], %b;", Family::Sm90));
        assert!(!loses("atom.relaxed.cta.shared.add.f32 %d, [%a], %b;", Family::Sm90));
    }

    #[test]
    fn the_assembler_orders_no_loop_of_its_own() {
        let check = |text: &str, family, expected| {
            let sequence: Sequence = text.parse().expect(text);
            let found = sequence.instructions().any(|instruction| misplaces_ordering(instruction, family));
            assert_eq!(found, expected, "{family} {text}");
        };
        for (space, op, expected) in [
            (".shared", "add.f32", true),
            ("", "add.f64", true),
            ("", "max.s64", true),
            (".global", "add.f64", false),
            (".global", "add.noftz.f16", true),
            (".shared", "exch.b64", false),
            // This form is outside the table, so it is not known to be ordered.
            (".shared", "add.noftz.f32", true),
            ("", "add.u32", false),
        ] {
            let text = format!("atom.acq_rel.gpu{space}.{op} %d, [%a], %b;");
            check(&text, Family::Sm90, expected);
            check(&text, Family::Sm80, false);
            check(&text.replace("acq_rel", "relaxed"), Family::Sm90, false);
        }
    }

    #[test]
    fn unmeasured_cells_are_empty() {
        check("ld.relaxed.gpu.const.b32 %d, [%a];", Family::Sm90, None);
        check("atom.relaxed.gpu.global.add.noftz.f32 %d, [%a], %b;", Family::Sm100a, None);
        check("atom.relaxed.gpu.global.add.u32 %d, [%a], %b;", Family::Sm50, None);
    }
}

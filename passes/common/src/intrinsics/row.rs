//! A row of the table.

use std::ops::RangeInclusive;

use crate::needs::Needs;

/// A group of intrinsics or instructions whose names match a pattern.
#[derive(Debug)]
pub struct IntrinsicFamily {
    /// The start of their names: after `llvm.nvvm.` for the intrinsics of NVIDIA GPUs, else the whole name. A `*` stands
    /// for any text, and the part of the pattern after it can be anywhere in the rest of the name.
    pub(super) pattern: &'static str,
    /// The calls to which the row applies.
    pub(super) when: When,
    /// The instruction in messages, without the modifiers that do not change its requirements.
    pub(super) ptx: &'static str,
    /// The requirements of the instruction.
    pub needs: Needs,
    /// The only major version of LLVM to which the row applies; `None` for all.
    llvm: Option<u32>,
    /// Advice if no GPU meets the requirements.
    pub help: Option<&'static str>,
}

/// The calls to which a row applies.
#[derive(Debug, PartialEq)]
pub(super) enum When {
    Always,
    /// The calls whose immediate argument has a value in this range. The index counts only the arguments that must be
    /// constants.
    Immediate(usize, RangeInclusive<u64>),
    /// The calls of intrinsics whose name ends with another address space than these.
    Outside(&'static [u32]),
}

/// The GPUs whose variants several rows name.
pub(super) const BLACKWELL: &[u32] = &[100, 101, 103, 107, 110, 120, 121];
pub(super) const SM_100: &[u32] = &[100, 103, 107];

pub(super) const fn row(pattern: &'static str, needs: Needs, ptx: &'static str) -> IntrinsicFamily {
    IntrinsicFamily { pattern, when: When::Always, ptx, needs, llvm: None, help: None }
}

/// A row whose pattern names the instruction in messages.
pub(super) const fn measured(pattern: &'static str, needs: Needs) -> IntrinsicFamily {
    row(pattern, needs, pattern)
}

impl IntrinsicFamily {
    pub(super) const fn when(self, immediate: usize, values: RangeInclusive<u64>) -> Self {
        Self { when: When::Immediate(immediate, values), ..self }
    }

    pub(super) const fn outside(self, spaces: &'static [u32]) -> Self {
        Self { when: When::Outside(spaces), ..self }
    }

    pub(super) const fn only_in(self, llvm: u32) -> Self {
        Self { llvm: Some(llvm), ..self }
    }

    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    /// The name of the instruction in messages.
    pub fn name(&self) -> &'static str {
        self.ptx.trim_end_matches(['.', ' '])
    }

    pub(super) fn matches(&self, name: &str, llvm: u32) -> bool {
        let (start, part) = self.pattern.split_once('*').unwrap_or((self.pattern, ""));
        let rest = name.strip_prefix(start);
        let space = || name.rsplit_once(".p").and_then(|(_, space)| space.parse().ok());
        self.llvm.is_none_or(|only| only == llvm)
            && rest.is_some_and(|rest| rest.contains(part))
            && match self.when {
                When::Outside(spaces) => space().is_some_and(|space| !spaces.contains(&space)),
                _ => true,
            }
    }

    pub(super) fn is_about(&self, immediates: &[u64]) -> bool {
        match &self.when {
            When::Immediate(index, values) => immediates.get(*index).is_some_and(|value| values.contains(value)),
            _ => true,
        }
    }

    /// Among the rows that apply to a call, the row with the highest precedence counts.
    pub(super) fn precedence(&self) -> (bool, bool, usize) {
        (matches!(self.when, When::Outside(_)), self.pattern.contains('*'), self.pattern.len())
    }
}

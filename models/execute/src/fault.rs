//! The collection of findings, which reports each pair of sites once.

use ptx_isa::{Dim3, innermost_in_file};
use rustc_hash::FxHashMap;

use crate::{
    code::{Pc, Program},
    report::{Fault, FaultKind, Note, Site, SiteKind},
};

/// A thread of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId {
    /// The CTA's number.
    pub cta: u32,
    /// The index in the CTA.
    pub thread: u32,
}

/// The findings so far, and how often each kind occurred at each pair of steps.
#[derive(Debug, Default)]
pub struct Faults {
    pub found: Vec<Fault>,
    pub notes: Vec<Note>,
    seen: FxHashMap<(FaultKind, Pc, Pc), usize>,
    pub repeated: u64,
    /// Whether the run is over.
    pub is_over: bool,
}

impl Faults {
    /// Whether another finding of this kind and these steps is wanted.
    pub fn wants(&mut self, kind: FaultKind, first: Pc, second: Pc, most: usize) -> bool {
        let count = self.seen.entry((kind, first.min(second), first.max(second))).or_default();
        *count += 1;
        let wanted = *count <= most.max(1);
        self.repeated += u64::from(!wanted);
        wanted
    }

    pub fn push(&mut self, finding: Fault) {
        self.is_over |= finding.kind.ends();
        self.found.push(finding);
    }

    pub fn note(&mut self, line: u32, what: &str) {
        let note = Note { line, what: what.to_owned() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The coordinates of an index in a box.
pub fn place(index: u32, sizes: Dim3) -> Dim3 {
    let [x, y, _] = sizes.map(|size| size.max(1));
    [index % x, index / x % y, index / x / y]
}

/// The site of an instruction of a thread.
pub fn site(program: &Program, pc: Pc, who: ThreadId, block: Dim3, cta: Dim3) -> Site {
    let step = program.steps.get(pc as usize);
    let at = step.map(|step| step.at).unwrap_or_default();
    let kind = step.map_or(SiteKind::Other, |step| step.kind);
    let source = innermost_in_file(program.places.around(at.line)).cloned();
    let instruction = program.mnemonics.get(&at).cloned().unwrap_or_default();
    Site { at, source, kind, instruction, thread: place(who.thread, block), cta }
}

//! Asynchronous operations.

use crate::{
    code::{Matrix, Op, Operation},
    machine::{Cta, Machine},
    report::FindingKind,
    warp::Warp,
};

/// Those of a CTA.
#[derive(Default)]
pub struct Async;

impl Async {
    pub fn new(_threads: u32) -> Self {
        Self
    }

    pub fn has_barriers(&self) -> bool {
        false
    }
}

/// Those that have begun and not ended.
#[derive(Default)]
pub struct InFlight;

pub struct Begun;

impl InFlight {
    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn deliver_one(&mut self, _pick: &mut dyn FnMut(usize) -> bool) -> Option<Begun> {
        None
    }
}

impl Machine<'_> {
    pub fn complete(&mut self, _op: Begun) -> bool {
        false
    }

    pub fn give_up_waits(&mut self) -> bool {
        false
    }

    pub fn flush(&mut self) {}

    pub fn end_of_cta(&mut self, _cta: &Cta) {}

    pub fn asynchronous(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Operation) {
        self.unsupported(cta, warp, index, of.form.family().words());
    }

    pub fn matrix(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Matrix) {
        self.unsupported(cta, warp, index, &of.words.join("."));
    }

    pub fn unsupported(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, what: &str) {
        let group = warp.groups[index];
        let thread = warp.first + group.lanes.trailing_zeros();
        let message = format!("`{what}` is no instruction that can be run here");
        let _ = Op::Nothing;
        self.find(cta, FindingKind::Unsupported, thread, group.pc, None, None, message, None);
    }
}

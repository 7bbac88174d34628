//! `cp.async` (section 9.7.9.25.3). Its bytes are written at once; a read without a wait is reported as a race.

use ptx_isa::{Family, Role, Space};

use crate::in_flight::{Chain, record};
use crate::{
    access::Lane,
    code::{Given, Operation, Source},
    machine::{Cta, Machine},
    report::FaultKind,
    shadow::Info,
    warp::Warp,
};

impl Machine<'_> {
    pub fn copy(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let family = of.form.family();
        match family {
            Family::CpAsync => self.copy_bytes(cta, warp, at, of),
            Family::CpAsyncCommitGroup => cta.asynchronous.copies.entry(at.thread).or_default().commit(),
            _ => {
                let pending = self.number(cta, warp, at, of, Role::Pending);
                let groups = cta.asynchronous.copies.entry(at.thread).or_default();
                let epoch = match family {
                    Family::CpAsyncWaitAll => groups.started,
                    _ => groups.complete(pending),
                };
                let agent = self.agent(cta, Chain::Copy(at.thread), at.thread);
                cta.order[at.thread as usize].clock.see(agent, epoch);
            }
        }
    }

    fn copy_bytes(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let bytes = self.number(cta, warp, at, of, Role::Size).min(16);
        let is_predicate = matches!(of.given(Role::SourceSize), Some(Given::One(Source::Not(_))));
        let wanted = match self.operand(cta, warp, at, of, Role::SourceSize) {
            None => bytes,
            // The predicate selects whether nothing is read.
            Some(ignores) if is_predicate => bytes * (ignores & 1 ^ 1),
            Some(size) => (size & 0xffff_ffff).min(bytes),
        };
        let to = self.place(cta, warp, at, of, Role::Destination, Space::Shared);
        let from = self.place(cta, warp, at, of, Role::Source, Space::Global);
        let address = self.number(cta, warp, at, of, Role::Destination);
        let source = self.number(cta, warp, at, of, Role::Source);
        let is_wrong = |address: u64| bytes > 0 && address & (bytes - 1) != 0;
        if is_wrong(address) || is_wrong(source) && wanted > 0 {
            let message =
                format!("expected multiples of {bytes} as addresses, found a copy from {source:#x} to {address:#x}");
            self.find(cta, FaultKind::Misaligned, at.thread, at.pc, None, None, message, None);
        }
        let epoch = cta.asynchronous.copies.entry(at.thread).or_default().start();
        let agent = self.agent(cta, Chain::Copy(at.thread), at.thread);
        let start = cta.order[at.thread as usize].clock.clone();
        let access = |writes| record(agent, epoch, Info::new(at.pc, bytes, None, writes));
        let mut data = Vec::new();
        if wanted > 0 {
            if !self.touch_of(cta, at.thread, from, wanted, access(false), &start) {
                return;
            }
            data = self.copied(cta, from, wanted).unwrap_or_default();
        }
        data.resize(bytes as usize, 0);
        if self.touch_of(cta, at.thread, to, bytes, access(true), &start) {
            self.overwrite_barrier(cta, at, to, bytes);
            self.write_of(cta, at.pc, to, &data);
        }
    }
}

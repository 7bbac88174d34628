//! The accesses of memory by asynchronous operations.

use crate::in_flight::{further, record};
use crate::{
    access::shared_key,
    clock::{Agent, Clock},
    code::Pc,
    machine::{Cta, Machine},
    matrix::shared::{Bytes, SharedMatrix},
    memory::{Global, Region},
    shadow::{Info, Record},
};

impl Machine<'_> {
    /// Copies bytes of memory. `None` if they are outside of all memory.
    pub fn copied(&mut self, cta: &mut Cta, place: Region, bytes: u64) -> Option<Vec<u8>> {
        if let Region::Param(at) = place {
            let end = at.checked_add(bytes)?;
            return self.parameters.get(at as usize..end as usize).map(<[u8]>::to_vec);
        }
        if bytes > 1 << 24 {
            return None;
        }
        self.bytes(cta, place, bytes).map(<[u8]>::to_vec)
    }

    /// The shared memory of a CTA of the cluster.
    pub fn shared_of<'b>(&'b self, cta: &'b Cta, rank: u32) -> &'b [u8] {
        match self.rank(cta, Some(rank)) {
            Some(owner) if owner == cta.index => &cta.shared,
            Some(owner) => self.ctas.get(owner as usize).and_then(Option::as_ref).map_or(&[], |cta| &cta.shared),
            None => &[],
        }
    }

    /// Checks an access of an operation. Returns false, without a check, if the memory does not exist.
    pub fn touch_of(
        &mut self,
        cta: &mut Cta,
        thread: u32,
        place: Region,
        bytes: u64,
        record: Record,
        start: &Clock,
    ) -> bool {
        if bytes > 1 << 24 || self.bytes(cta, place, bytes).is_none() {
            let name = self.place_name(place);
            self.outside(cta, thread, record.info.step(), name);
            return false;
        }
        self.add_to_footprint(place, bytes, record.info.strong(), record.info.writes());
        if self.options.races {
            self.touch(cta, thread, place, bytes, record, None, Some(start), false);
        }
        true
    }

    /// Writes the result of an operation. Older values of the memory, and messages released there, are no longer
    /// observable.
    pub fn write_of(&mut self, cta: &mut Cta, pc: Pc, place: Region, data: &[u8]) {
        self.write(cta, place, data);
        let (key, owner) = match place {
            Region::Global(piece, at) => (Global::address(piece) + at, None),
            Region::Shared(rank, at) => {
                let Some(owner) = self.rank(cta, rank) else { return };
                (shared_key(owner, at), Some(owner))
            }
            _ => return,
        };
        if !self.history.places.is_empty() {
            self.history.overwrite(key, data.len() as u64);
        }
        let locations = match owner {
            None => &mut self.locations,
            Some(owner) if owner == cta.index => &mut cta.locations,
            Some(owner) => match self.ctas.get_mut(owner as usize) {
                Some(Some(other)) => &mut other.locations,
                _ => return,
            },
        };
        if !locations.is_empty() {
            let steps = (0..data.len() as u64).step_by(16);
            steps.for_each(|by| locations.overwrite(key + by, record(Agent::MAX, 0, Info::new(pc, 16, None, true))));
        }
    }

    /// Checks the access of a matrix in the shared memory of a CTA.
    pub fn touch_matrix(
        &mut self,
        cta: &mut Cta,
        thread: u32,
        rank: Option<u32>,
        ranges: &[Bytes],
        record: Record,
        start: &Clock,
    ) {
        for range in ranges {
            let place = further(Region::Shared(rank, 0), range.address.into());
            if !self.touch_of(cta, thread, place, range.bytes.into(), record, start) {
                return;
            }
        }
    }
}

/// The elements of a matrix in shared memory. Elements outside of the memory are 0.
pub fn load_matrix(matrix: &SharedMatrix, shared: &[u8]) -> Vec<u64> {
    matrix.load(&|address| {
        let found = shared.get(address as usize..).and_then(|rest| rest.first_chunk());
        found.copied().unwrap_or_default()
    })
}

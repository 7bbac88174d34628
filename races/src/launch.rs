//! The sizes of a launch, as far as they are known, and what follows of them.

use ptx_isa::Head;

use crate::term::{LeafName, Shared, Term, Terms};

/// How many threads and CTAs there are in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The threads of a CTA.
    pub block: [Option<u32>; 3],
    /// The CTAs of the grid.
    pub grid: [Option<u32>; 3],
    /// The most threads of a CTA.
    pub most: u32,
}

impl Sizes {
    /// Those of a kernel, with what a user says.
    pub fn of(head: &Head, block: Option<[u32; 3]>, grid: Option<[u32; 3]>) -> Self {
        let block = head.required_threads.or(block).map_or([None; 3], |block| block.map(Some));
        let grid = grid.map_or([None; 3], |grid| grid.map(Some));
        let known: Option<u32> = block.iter().copied().try_fold(1u32, |all, size| all.checked_mul(size?));
        let most = known.or(head.most_threads).unwrap_or(1024).min(1024);
        Self { block, grid, most }
    }

    /// What holds of the indices of a thread, and of the sizes where they are not known.
    pub fn holds(&self, terms: &mut Terms) -> Vec<Term> {
        let mut all = Vec::new();
        for at in 0..3u8 {
            let names = [
                (LeafName::Tid(at), Shared::Thread, LeafName::Ntid(at), self.block[usize::from(at)], self.most),
                (LeafName::Ctaid(at), Shared::Cta, LeafName::Nctaid(at), self.grid[usize::from(at)], i32::MAX as u32),
            ];
            for (index, shared, size, known, most) in names {
                let index = terms.leaf(index, shared, 32);
                let size = match known {
                    Some(known) => terms.constant(known.into(), 32),
                    None => {
                        let size = terms.leaf(size, Shared::Grid, 32);
                        let above = terms.constant(u64::from(most) + 1, 32);
                        all.push(terms.less(false, size, above));
                        size
                    }
                };
                all.push(terms.less(false, index, size));
            }
        }
        all
    }
}

//! The sizes of a launch, as far as they are known, and their consequences.

use ptx_isa::{
    Axis, Dim3, LaunchSize, Special, SpecialVector,
    flat::Flat,
    launch::{MOST_GRID, MOST_THREADS},
};

use crate::assumption::Assumption;
use ptx_solver::term::{LeafName, Shared, Term, Terms};

/// The numbers of threads and CTAs in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The threads of a CTA.
    pub block: [Option<u32>; 3],
    /// The CTAs of the grid.
    pub grid: [Option<u32>; 3],
    /// The CTAs of a cluster, if known.
    pub cluster: Option<Dim3>,
    /// The largest number of threads of a CTA.
    pub most: u32,
    /// Whether some direction has size 1 because the kernel reads no index in it.
    pub is_flat: bool,
}

impl Sizes {
    /// The sizes of a kernel from its directives and the user's numbers. If neither gives a number, a direction whose
    /// index the kernel does not read has one CTA and one thread. The first direction of threads is an exception: a
    /// kernel that reads no thread index has many threads.
    pub fn new(flat: &Flat, given: LaunchSize) -> Self {
        let known = LaunchSize::from_head(&flat.head).or(given);
        let most = known.threads().or(flat.head.most_threads).unwrap_or(MOST_THREADS).min(MOST_THREADS);
        let mut is_flat = false;
        let mut sizes = |given: Option<Dim3>, names: &[SpecialVector], first: usize| match given {
            Some(sizes) => sizes.map(Some),
            None => {
                let mut sizes = [None; 3];
                for (size, axis) in sizes.iter_mut().zip(Axis::ALL).skip(first) {
                    if !names.iter().any(|vector| flat.reads_special(Special::Vector(*vector, axis))) {
                        (*size, is_flat) = (Some(1), true);
                    }
                }
                sizes
            }
        };
        let block = sizes(known.block, &[SpecialVector::Tid], 1);
        let mut grid = sizes(known.grid, &[SpecialVector::Ctaid, SpecialVector::Clusterid], 0);
        let cluster = known.cluster;
        // A grid consists of whole clusters.
        for (size, ctas) in grid.iter_mut().zip(cluster.unwrap_or([1; 3])) {
            *size = size.filter(|size| size.is_multiple_of(ctas.max(1)));
        }
        Self { block, grid, cluster, most, is_flat }
    }

    /// The assumptions that a proof makes about unknown sizes.
    pub fn assumptions(&self) -> impl Iterator<Item = Assumption> {
        let is_open = self.grid.contains(&None);
        [(self.is_flat, Assumption::Directions), (is_open, Assumption::Grid)]
            .into_iter()
            .filter_map(|(holds, assumption)| holds.then_some(assumption))
    }

    /// Limits the indices whose sizes are known, so that their bits do not overlap the bits of multiples of the sizes.
    pub fn limit(&self, terms: &mut Terms) {
        for at in 0..3u8 {
            let sizes = [self.block, self.grid].map(|sizes| sizes[usize::from(at)]);
            for (name, size) in [LeafName::Tid(at), LeafName::Ctaid(at)].into_iter().zip(sizes) {
                size.into_iter().for_each(|size| terms.limit(name.clone(), u64::from(size).saturating_sub(1)));
            }
        }
    }

    /// The conditions on the indices of a thread, and on the sizes that are not known.
    pub fn holds(&self, terms: &mut Terms) -> Vec<Term> {
        let mut all = Vec::new();
        for at in 0..3u8 {
            let (block, grid) = (self.block[usize::from(at)], self.grid[usize::from(at)]);
            let most = MOST_GRID[usize::from(at)] / if at == 0 { block.unwrap_or(1).max(1) } else { 1 };
            let names = [
                (LeafName::Tid(at), Shared::Thread, LeafName::Ntid(at), block, self.most),
                (LeafName::Ctaid(at), Shared::Cta, LeafName::Nctaid(at), grid, most),
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

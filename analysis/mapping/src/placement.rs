//! The placement of a program's threads.

use itertools::Itertools;
use ptx_memory_model::place::Place;

/// Every placement of threads, the first at the origin: each thread is in the same CTA, cluster, or GPU as another
/// thread, or in a separate GPU.
pub fn placements(threads: usize) -> Vec<Vec<Place>> {
    let places = |number: u32| {
        let place = |gpu, cluster, cta| Place { gpu, cluster: Some(cluster), cta, ..Place::default() };
        [place(0, 0, 0), place(0, 0, number), place(0, number, number), place(number, 0, 0)]
    };
    let rest = (1..threads).map(|thread| places(thread as u32).into_iter());
    let origin = Place { cluster: Some(0), ..Place::default() };
    if threads <= 1 {
        return vec![vec![origin]; threads];
    }
    rest.multi_cartesian_product().map(|rest| [origin].into_iter().chain(rest).collect()).collect()
}

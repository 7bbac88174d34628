//! NVIDIA's Atomics Application Binary Interface: 15 rows, 23 sequences, in the order and the words of the document.

use super::row::{Row, rows};

/// The table of NVIDIA's document 'Atomics Application Binary Interface'.
#[rustfmt::skip]
pub const ABI: &[Row] = rows! {
    atomic_thread_fence(seq_cst) => { fence.sc.<scope>; }
    atomic_load(seq_cst)         => { fence.sc.<scope>; ld.acquire.<scope>; }
                                  | { fence.sc.<scope>; ld.relaxed.<scope>; fence.acquire.<scope>; }
    atomic_store(seq_cst)        => { fence.sc.<scope>; st.relaxed.<scope>; }
    atomic_<rmw op>(seq_cst)     => { fence.sc.<scope>; atom.acquire.<scope>.<rmw op>; }
                                  | { fence.sc.<scope>; atom.relaxed.<scope>.<rmw op>; fence.acquire.<scope>; }

    atomic_thread_fence(release) => { fence.release.<scope>; }
    atomic_store(release)        => { st.release.<scope>; }
                                  | { fence.release.<scope>; st.relaxed.<scope>; }
    atomic_<rmw op>(release)     => { atom.release.<scope>.<rmw op>; }
                                  | { fence.release.<scope>; atom.relaxed.<scope>.<rmw op>; }

    atomic_thread_fence(acquire) => { fence.acquire.<scope>; }
    atomic_load(acquire)         => { ld.acquire.<scope>; }
                                  | { ld.relaxed.<scope>; fence.acquire.<scope>; }
    atomic_<rmw op>(acquire)     => { atom.acquire.<scope>.<rmw op>; }
                                  | { atom.relaxed.<scope>.<rmw op>; fence.acquire.<scope>; }

    atomic_thread_fence(acq_rel) => { fence.acq_rel.<scope>; }
    atomic_<rmw op>(acq_rel)     => { atom.acq_rel.<scope>.<rmw op>; }
                                  | { fence.release.<scope>; atom.acquire.<scope>.<rmw op>; }
                                  | { fence.release.<scope>; atom.relaxed.<scope>.<rmw op>; fence.acquire.<scope>; }

    atomic_load(relaxed)         => { ld.relaxed.<scope>; }
    atomic_store(relaxed)        => { st.relaxed.<scope>; }
    atomic_<rmw op>(relaxed)     => { atom.relaxed.<scope>.<rmw op>; }
};

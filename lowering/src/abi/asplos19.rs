//! The mapping that 'A Formal Analysis of the NVIDIA PTX Memory Consistency Model' (ASPLOS 2019) proves correct, where
//! it is not NVIDIA's recommended one.
//!
//! Its seq_cst store and rmw carry a release on the access itself. Under the release sequences of C++11 to C++17, a
//! later relaxed store of the same thread continues the release of an rmw, so that what the rmw acquired must be
//! released at or after it (the paper's Figure 12). A leading fence alone does not do that; `atom.acq_rel` does.
//!
//! The paper has no forms of relaxed accesses and fences, which CAS loops and volatile accesses need. The second sequence
//! of each row is ours. The trailing fence of an rmw is `acq_rel`, not `acquire`, and so releases what the rmw has
//! acquired; a store acquires nothing, and the leading fence releases what is in front of it.

use super::row::{Row, rows};

/// The rows that the paper maps otherwise than [`ABI`](super::ABI) recommends.
#[rustfmt::skip]
pub const PROVEN: &[Row] = rows! {
    atomic_store(seq_cst)    => { fence.sc.<scope>; st.release.<scope>; }
                              | { fence.sc.<scope>; st.relaxed.<scope>; }
    atomic_<rmw op>(seq_cst) => { fence.sc.<scope>; atom.acq_rel.<scope>.<rmw op>; }
                              | { fence.sc.<scope>; atom.relaxed.<scope>.<rmw op>; fence.acq_rel.<scope>; }
    atomic_<rmw op>(acq_rel) => { atom.acq_rel.<scope>.<rmw op>; }
                              | { fence.release.<scope>; atom.relaxed.<scope>.<rmw op>; fence.acq_rel.<scope>; }
};

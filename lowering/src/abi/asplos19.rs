//! The mapping that 'A Formal Analysis of the NVIDIA PTX Memory Consistency Model' (ASPLOS 2019) proves correct, where
//! it differs from NVIDIA's recommended mapping.
//!
//! Its seq_cst store and rmw carry a release on the access itself. Under the release sequences of C++11 to C++17, a
//! later relaxed store of the same thread continues the release of an rmw. The writes that the rmw acquired must
//! therefore be released at or after the rmw (the paper's Figure 12). A leading fence alone does not release them;
//! `atom.acq_rel` does.
//!
//! The paper has no forms of relaxed accesses and fences, which CAS loops and volatile accesses need. The second
//! sequence of each row is this crate's. The trailing fence of an rmw is `acq_rel`, not `acquire`, and so releases the
//! writes that the rmw has acquired; a store acquires nothing, and the leading fence releases the preceding writes.

use super::row::{Row, rows};

/// The rows in which the paper's mapping differs from the recommendation of [`ABI`](super::ABI).
#[rustfmt::skip]
pub const PROVEN: &[Row] = rows! {
    atomic_store(seq_cst)    => { fence.sc.<scope>; st.release.<scope>; }
                              | { fence.sc.<scope>; st.relaxed.<scope>; }
    atomic_<rmw op>(seq_cst) => { fence.sc.<scope>; atom.acq_rel.<scope>.<rmw op>; }
                              | { fence.sc.<scope>; atom.relaxed.<scope>.<rmw op>; fence.acq_rel.<scope>; }
    atomic_<rmw op>(acq_rel) => { atom.acq_rel.<scope>.<rmw op>; }
                              | { fence.release.<scope>; atom.relaxed.<scope>.<rmw op>; fence.acq_rel.<scope>; }
};

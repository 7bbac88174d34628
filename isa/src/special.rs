//! The names of special registers (section 10).

/// Vectors, without `%`.
pub const VECTORS: [&str; 8] =
    ["tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"];

/// Registers with a single value, without `%`.
const SCALARS: [&str; 27] = [
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "total_smem_size",
    "aggr_smem_size",
    "dynamic_smem_size",
    "cluster_ctarank",
    "cluster_nctarank",
    "is_explicit_cluster",
    "current_graph_exec",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_end",
    "reserved_smem_offset_cap",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
];

/// Registers that ptxas 13.5 takes and the manual lacks: nothing is known of their values.
const UNDOCUMENTED: [&str; 3] = ["sm_ctaid", "locality_domain_id", "locality_domain_supplemental_sm"];

/// Names that a number follows, as in `%envreg3`; a counter is `%pm3_64` with all its bits.
const NUMBERED: [&str; 3] = ["envreg", "pm", "reserved_smem_offset_"];

/// Whether it is a special register with one value, or the constant `WARP_SZ`.
pub fn is_scalar(name: &str) -> bool {
    let Some(name) = name.strip_prefix('%') else { return name == "WARP_SZ" };
    let is_numbered = |begin: &&str| {
        let rest = name.strip_prefix(*begin).map(|rest| rest.strip_suffix("_64").unwrap_or(rest));
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    SCALARS.contains(&name) || NUMBERED.iter().any(is_numbered)
}

/// Whether it is a special register, or an element of one without its suffix.
pub fn is_special(name: &str) -> bool {
    let is_listed = |name: &str| VECTORS.contains(&name) || UNDOCUMENTED.contains(&name);
    is_scalar(name) || name.strip_prefix('%').is_some_and(is_listed)
}

/// The names of special registers with `%`, except numbered names.
pub fn names() -> impl Iterator<Item = String> {
    VECTORS.iter().chain(&SCALARS).map(|name| format!("%{name}"))
}

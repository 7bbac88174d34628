//! Special registers (section 10 of the manual).

/// A special register that can be read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Clusterid(u8),
    Nclusterid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    TotalSmemSize,
    DynamicSmemSize,
    WarpSize,
    /// The lower (0) and the upper (1) half of the address of a place that the grid meets at, in cooperative launches: `%envreg2`, `%envreg1`.
    Workspace(u8),
    /// What no launch here sets.
    Zero,
}

impl Special {
    /// The register of a name, without `%`; `None`, if there is no such register.
    pub fn of(name: &str) -> Option<Self> {
        let (stem, axis) = name.split_once('.').unwrap_or((name, ""));
        let axis = match axis {
            "x" | "" => 0,
            "y" => 1,
            "z" => 2,
            "w" => return Some(Self::Zero),
            _ => return None,
        };
        Some(match stem {
            "tid" => Self::Tid(axis),
            "ntid" => Self::Ntid(axis),
            "ctaid" => Self::Ctaid(axis),
            "nctaid" => Self::Nctaid(axis),
            "clusterid" => Self::Clusterid(axis),
            "nclusterid" => Self::Nclusterid(axis),
            "cluster_ctaid" => Self::ClusterCtaid(axis),
            "cluster_nctaid" => Self::ClusterNctaid(axis),
            "cluster_ctarank" => Self::ClusterCtarank,
            "cluster_nctarank" => Self::ClusterNctarank,
            "is_explicit_cluster" => Self::IsExplicitCluster,
            "laneid" => Self::Laneid,
            "warpid" => Self::Warpid,
            "nwarpid" => Self::Nwarpid,
            "smid" => Self::Smid,
            "nsmid" => Self::Nsmid,
            "gridid" => Self::Gridid,
            "lanemask_eq" => Self::LanemaskEq,
            "lanemask_le" => Self::LanemaskLe,
            "lanemask_lt" => Self::LanemaskLt,
            "lanemask_ge" => Self::LanemaskGe,
            "lanemask_gt" => Self::LanemaskGt,
            "clock" => Self::Clock,
            "clock_hi" => Self::ClockHi,
            "clock64" => Self::Clock64,
            "globaltimer" => Self::Globaltimer,
            "globaltimer_lo" => Self::GlobaltimerLo,
            "globaltimer_hi" => Self::GlobaltimerHi,
            "total_smem_size" | "aggr_smem_size" => Self::TotalSmemSize,
            "dynamic_smem_size" => Self::DynamicSmemSize,
            "WARP_SZ" => Self::WarpSize,
            "current_graph_exec" => Self::Zero,
            "envreg1" => Self::Workspace(1),
            "envreg2" => Self::Workspace(0),
            _ if stem.starts_with("envreg") || stem.starts_with("pm") || stem.starts_with("reserved_smem") => {
                Self::Zero
            }
            _ => return None,
        })
    }
}

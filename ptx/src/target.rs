//! GPUs and PTX versions.

use std::{fmt, ops::RangeInclusive, str::FromStr};

/// A PTX ISA version, major and minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion(pub u8, pub u8);

/// A GPU: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sm(&'static Gpu);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Gpu {
    name: &'static str,
    number: u32,
    ptx: PtxVersion,
}

/// What code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The GPU.
    pub sm: Sm,
    /// The version of PTX that is written.
    pub ptx: PtxVersion,
}

/// The GPUs, each with the lowest PTX version that has it (PTX ISA, section 11.1.2 and release notes), but not below 3.2,
/// the oldest that LLVM writes.
#[rustfmt::skip]
const GPUS: &[Gpu] = &[
    gpu("sm_20",   20, 3, 2),
    gpu("sm_21",   21, 3, 2),
    gpu("sm_30",   30, 3, 2),
    gpu("sm_32",   32, 4, 0),
    gpu("sm_35",   35, 3, 2),
    gpu("sm_37",   37, 4, 1),
    gpu("sm_50",   50, 4, 0),
    gpu("sm_52",   52, 4, 1),
    gpu("sm_53",   53, 4, 2),
    gpu("sm_60",   60, 5, 0),
    gpu("sm_61",   61, 5, 0),
    gpu("sm_62",   62, 5, 0),
    gpu("sm_70",   70, 6, 0),
    gpu("sm_72",   72, 6, 1),
    gpu("sm_75",   75, 6, 3),
    gpu("sm_80",   80, 7, 0),
    gpu("sm_86",   86, 7, 1),
    gpu("sm_87",   87, 7, 4),
    gpu("sm_88",   88, 9, 0),
    gpu("sm_89",   89, 7, 8),
    gpu("sm_90",   90, 7, 8),   gpu("sm_90a",  90, 8, 0),
    gpu("sm_100", 100, 8, 6),   gpu("sm_100a", 100, 8, 6),   gpu("sm_100f", 100, 8, 8),
    gpu("sm_101", 101, 8, 6),   gpu("sm_101a", 101, 8, 6),   gpu("sm_101f", 101, 8, 8),
    gpu("sm_103", 103, 8, 8),   gpu("sm_103a", 103, 8, 8),   gpu("sm_103f", 103, 8, 8),
    gpu("sm_110", 110, 9, 0),   gpu("sm_110a", 110, 9, 0),   gpu("sm_110f", 110, 9, 0),
    gpu("sm_120", 120, 8, 7),   gpu("sm_120a", 120, 8, 7),   gpu("sm_120f", 120, 8, 8),
    gpu("sm_121", 121, 8, 8),   gpu("sm_121a", 121, 8, 8),   gpu("sm_121f", 121, 8, 8),
];

/// The PTX versions from 3.2 on, as ranges of minor versions.
const VERSIONS: &[(u8, RangeInclusive<u8>)] =
    &[(3, 2..=2), (4, 0..=3), (5, 0..=0), (6, 0..=5), (7, 0..=8), (8, 0..=8), (9, 0..=4)];

const fn gpu(name: &'static str, number: u32, major: u8, minor: u8) -> Gpu {
    Gpu { name, number, ptx: PtxVersion(major, minor) }
}

/// The lowest GPU (by its number) and PTX version that have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The number in its name, as 90 of `sm_90`.
    pub sm: u32,
    /// The version of PTX.
    pub ptx: PtxVersion,
}

impl Requirement {
    /// What both require.
    pub fn and(self, other: Self) -> Self {
        Self { sm: self.sm.max(other.sm), ptx: self.ptx.max(other.ptx) }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{} and PTX {}", self.sm, self.ptx)
    }
}

impl Target {
    /// The target, with the lowest PTX version of the GPU if none is given.
    ///
    /// # Errors
    /// If the PTX version is older than the GPU.
    pub fn new(sm: Sm, ptx: Option<PtxVersion>) -> Result<Self, UnknownTarget> {
        let lowest = sm.lowest_ptx();
        match ptx {
            Some(ptx) if ptx < lowest => Err(UnknownTarget::TooOld { sm, ptx, lowest }),
            _ => Ok(Self { sm, ptx: ptx.unwrap_or(lowest) }),
        }
    }

    /// Whether the target has what is required.
    pub fn meets(&self, requirement: Requirement) -> bool {
        self.sm.number() >= requirement.sm && self.ptx >= requirement.ptx
    }
}

impl Sm {
    /// Every known GPU, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        GPUS.iter().map(Self)
    }

    /// As `sm_90a`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The lowest PTX version that has the GPU.
    pub fn lowest_ptx(self) -> PtxVersion {
        self.0.ptx
    }

    /// The number in the name: ten times the compute capability.
    pub fn number(self) -> u32 {
        self.0.number
    }
}

impl PtxVersion {
    /// Every known version, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        VERSIONS.iter().flat_map(|(major, minors)| minors.clone().map(|minor| Self(*major, minor)))
    }

    /// LLVM's name for the version: `ptx86`.
    pub fn feature(self) -> String {
        format!("ptx{}{}", self.0, self.1)
    }
}

impl FromStr for Sm {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        Self::all().find(|sm| sm.name() == name).ok_or_else(|| UnknownTarget::Sm(name.into()))
    }
}

/// Reads LLVM's name of a version, `ptx86`.
impl FromStr for PtxVersion {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        Self::all().find(|version| version.feature() == name).ok_or_else(|| UnknownTarget::Ptx(name.into()))
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with PTX {}", self.sm, self.ptx)
    }
}

/// A target that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownTarget {
    /// No GPU has this name.
    #[error("unknown GPU '{0}'; the known ones are {known}", known = Sm::all().map(Sm::name).collect::<Vec<_>>().join(", "))]
    Sm(String),
    /// No version has this name.
    #[error("unknown PTX version '{0}'; the known ones are {known}", known = PtxVersion::all().map(PtxVersion::feature).collect::<Vec<_>>().join(", "))]
    Ptx(String),
    /// The version is older than the GPU.
    #[error("PTX {ptx} does not know {sm}, which needs at least PTX {lowest}")]
    TooOld {
        /// The GPU.
        sm: Sm,
        /// The version that was asked for.
        ptx: PtxVersion,
        /// The lowest version that has the GPU.
        lowest: PtxVersion,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sm: &str, ptx: Option<&str>, expected: Result<&str, &str>) {
        let target = sm.parse().and_then(|sm| Target::new(sm, ptx.map(str::parse).transpose()?));
        assert_eq!(
            target.map(|target| target.to_string()).map_err(|error| error.to_string()),
            expected.map(Into::into).map_err(Into::into)
        );
    }

    #[test]
    fn the_default_version_is_the_lowest() {
        check("sm_20", None, Ok("sm_20 with PTX 3.2"));
        check("sm_61", None, Ok("sm_61 with PTX 5.0"));
        check("sm_70", None, Ok("sm_70 with PTX 6.0"));
        check("sm_90a", None, Ok("sm_90a with PTX 8.0"));
        check("sm_121f", Some("ptx94"), Ok("sm_121f with PTX 9.4"));
        check("sm_90", Some("ptx60"), Err("PTX 6.0 does not know sm_90, which needs at least PTX 7.8"));
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let sm = "sm_91".parse::<Sm>().expect_err("sm_91").to_string();
        assert!(sm.starts_with("unknown GPU 'sm_91'; the known ones are sm_20, ") && sm.ends_with("sm_121f"));
        let ptx = "ptx89".parse::<PtxVersion>().expect_err("ptx89").to_string();
        assert!(ptx.starts_with("unknown PTX version 'ptx89'; the known ones are ptx32, ") && ptx.ends_with("ptx94"));
    }
}

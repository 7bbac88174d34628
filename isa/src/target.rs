//! GPUs and PTX versions.

use std::{fmt, ops::RangeInclusive, str::FromStr};

/// A PTX ISA version, major and minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion(pub u8, pub u8);

/// A GPU: `sm_90`, `sm_90a`, `sm_100f`. The index of its row in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sm(u8);

struct Gpu {
    name: &'static str,
    number: u32,
    ptx: PtxVersion,
}

/// A target of code generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The GPU.
    pub sm: Sm,
    /// The PTX version of the generated text.
    pub ptx: PtxVersion,
}

/// The GPUs, each with the lowest PTX version that supports it (PTX ISA, section 11.1.2 and release notes), but at
/// least 3.2, the oldest version that LLVM supports.
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
    gpu("sm_107", 107, 9, 4),   gpu("sm_107a", 107, 9, 4),   gpu("sm_107f", 107, 9, 4),
    gpu("sm_110", 110, 9, 0),   gpu("sm_110a", 110, 9, 0),   gpu("sm_110f", 110, 9, 0),
    gpu("sm_120", 120, 8, 7),   gpu("sm_120a", 120, 8, 7),   gpu("sm_120f", 120, 8, 8),
    gpu("sm_121", 121, 8, 8),   gpu("sm_121a", 121, 8, 8),   gpu("sm_121f", 121, 8, 8),
];

/// The PTX versions from 3.2 on, as ranges of minor versions.
const VERSIONS: &[(u8, RangeInclusive<u8>)] =
    &[(3, 2..=2), (4, 0..=3), (5, 0..=0), (6, 0..=5), (7, 0..=8), (8, 0..=8), (9, 0..=5)];

const fn gpu(name: &'static str, number: u32, major: u8, minor: u8) -> Gpu {
    Gpu { name, number, ptx: PtxVersion(major, minor) }
}

/// A set of GPUs: one bit for each row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpus(u64);

const _: () = {
    assert!(GPUS.len() <= u64::BITS as usize);
    let mut index = 1;
    while index < GPUS.len() {
        assert!(GPUS[index - 1].number <= GPUS[index].number, "the rows stand in the order of their numbers");
        index += 1;
    }
};

impl Gpus {
    /// The GPUs with this number or a higher one.
    pub const fn since(number: u32) -> Self {
        let mut first = 0;
        while first < GPUS.len() && GPUS[first].number < number {
            first += 1;
        }
        let all = u64::MAX >> (u64::BITS as usize - GPUS.len());
        Self(all & !((1 << first) - 1))
    }

    /// The architecture-specific targets with these numbers, such as `sm_100a`. With `families`, the result includes
    /// the family-specific targets, such as `sm_100f`.
    pub const fn specific(numbers: &[u32], families: bool) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < GPUS.len() {
            let (Gpu { name, number, .. }, mut at) = (&GPUS[index], 0);
            let last = name.as_bytes()[name.len() - 1];
            while at < numbers.len() {
                if numbers[at] == *number && (last == b'a' || families && last == b'f') {
                    bits |= 1 << index;
                }
                at += 1;
            }
            index += 1;
        }
        Self(bits)
    }

    /// Whether the GPU is in the set.
    pub fn has(self, sm: Sm) -> bool {
        self.0 >> sm.0 & 1 == 1
    }

    /// The GPUs, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Sm> {
        Sm::all().filter(move |sm| self.has(*sm))
    }

    /// The lowest number; `None` if the set is empty.
    pub fn lowest(self) -> Option<u32> {
        self.iter().map(Sm::number).min()
    }
}

/// The GPUs and the lowest PTX version that support a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The GPUs.
    pub gpus: Gpus,
    /// The version of PTX.
    pub ptx: PtxVersion,
}

impl Requirement {
    /// All GPUs from this number on, and all PTX versions from this one on.
    pub const fn since(number: u32, major: u8, minor: u8) -> Self {
        Self::on(Gpus::since(number), major, minor)
    }

    /// These GPUs, and all PTX versions from this one on.
    pub const fn on(gpus: Gpus, major: u8, minor: u8) -> Self {
        Self { gpus, ptx: PtxVersion(major, minor) }
    }

    /// The conjunction of both requirements.
    pub fn and(self, other: Self) -> Self {
        Self { gpus: Gpus(self.gpus.0 & other.gpus.0), ptx: self.ptx.max(other.ptx) }
    }
}

/// Prints `sm_90` for the set of that GPU and all later ones, and other sets as lists.
impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(lowest) = self.lowest() else { return f.write_str("no GPU") };
        if *self == Self::since(lowest) {
            return write!(f, "sm_{lowest}");
        }
        let names: Vec<_> = self.iter().map(Sm::name).collect();
        match &names[..] {
            [rest @ .., last] if !rest.is_empty() => write!(f, "{} or {last}", rest.join(", ")),
            names => f.write_str(&names.join(", ")),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and PTX {}", self.gpus, self.ptx)
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

    /// Whether the target fulfills the requirement.
    pub fn meets(&self, requirement: Requirement) -> bool {
        requirement.gpus.has(self.sm) && self.ptx >= requirement.ptx
    }
}

impl Sm {
    /// Every known GPU, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..GPUS.len()).map(|index| Self(index as u8))
    }

    fn row(self) -> &'static Gpu {
        &GPUS[usize::from(self.0)]
    }

    /// The name, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The lowest PTX version that supports the GPU.
    pub fn lowest_ptx(self) -> PtxVersion {
        self.row().ptx
    }

    /// The number in the name: ten times the compute capability.
    pub fn number(self) -> u32 {
        self.row().number
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

impl fmt::Debug for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
    #[error("unknown GPU '{0}'; the known GPUs are {known}", known = Sm::all().map(Sm::name).collect::<Vec<_>>().join(", "))]
    Sm(String),
    /// No version has this name.
    #[error("unknown PTX version '{0}'; the known versions are {known}", known = PtxVersion::all().map(PtxVersion::feature).collect::<Vec<_>>().join(", "))]
    Ptx(String),
    /// The version is older than the GPU.
    #[error("PTX {ptx} does not support {sm}, which needs at least PTX {lowest}")]
    TooOld {
        /// The GPU.
        sm: Sm,
        /// The requested version.
        ptx: PtxVersion,
        /// The lowest version that supports the GPU.
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
        check("sm_90", Some("ptx60"), Err("PTX 6.0 does not support sm_90, which needs at least PTX 7.8"));
    }

    #[test]
    fn requirements() {
        let check = |requirement: Requirement, text: &str, meets: &[(&str, &str, bool)]| {
            assert_eq!(requirement.to_string(), text);
            for (sm, ptx, expected) in meets {
                let target = Target::new(sm.parse().expect(sm), ptx.parse().ok()).expect(ptx);
                assert_eq!(target.meets(requirement), *expected, "{text}: {target}");
            }
        };
        let old = Requirement::since(70, 6, 0);
        let cases = [("sm_70", "ptx60", true), ("sm_62", "ptx60", false), ("sm_120f", "ptx94", true)];
        check(old, "sm_70 and PTX 6.0", &cases);
        let exact = Requirement::on(Gpus::specific(&[100, 103], false), 8, 8);
        let cases = [("sm_100a", "ptx88", true), ("sm_100a", "ptx87", false), ("sm_100f", "ptx88", false)];
        check(exact, "sm_100a or sm_103a and PTX 8.8", &cases);
        let family = Requirement::on(Gpus::specific(&[90, 100], true), 8, 0);
        check(
            family,
            "sm_90a, sm_100a or sm_100f and PTX 8.0",
            &[("sm_90a", "ptx80", true), ("sm_90", "ptx80", false)],
        );
        check(family.and(exact), "sm_100a and PTX 8.8", &[]);
        check(old.and(exact), "sm_100a or sm_103a and PTX 8.8", &[]);
        check(family.and(Requirement::since(110, 9, 0)), "no GPU and PTX 9.0", &[("sm_110", "ptx90", false)]);
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let sm = "sm_91".parse::<Sm>().expect_err("sm_91").to_string();
        assert!(sm.starts_with("unknown GPU 'sm_91'; the known GPUs are sm_20, ") && sm.ends_with("sm_121f"));
        let ptx = "ptx89".parse::<PtxVersion>().expect_err("ptx89").to_string();
        assert!(
            ptx.starts_with("unknown PTX version 'ptx89'; the known versions are ptx32, ") && ptx.ends_with("ptx95")
        );
    }
}

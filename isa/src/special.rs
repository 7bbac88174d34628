//! The special registers (section 10).

use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
};

use strum::{EnumIter, EnumString, IntoEnumIterator};

/// A direction of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::Display, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Axis {
    /// `.x`
    X,
    /// `.y`
    Y,
    /// `.z`
    Z,
}

impl Axis {
    /// The three directions.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// The index of the direction in a list of sizes.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A special register with an element for each direction. The fourth element is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::Display, EnumString, EnumIter)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "named as the manual names them")]
pub enum SpecialVector {
    Tid,
    Ntid,
    Ctaid,
    Nctaid,
    Clusterid,
    Nclusterid,
    ClusterCtaid,
    ClusterNctaid,
}

impl SpecialVector {
    /// The elements, one for each direction.
    pub fn elements(self) -> [Special; 3] {
        Axis::ALL.map(|axis| Special::Vector(self, axis))
    }
}

/// A special register with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::Display, EnumString, EnumIter)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "named as the manual names them")]
pub enum SpecialScalar {
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    CurrentGraphExec,
    ReservedSmemOffsetBegin,
    ReservedSmemOffsetEnd,
    ReservedSmemOffsetCap,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
}

/// A special register that an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Special {
    /// An element of a vector: `%tid.x`.
    Vector(SpecialVector, Axis),
    /// A register with one value: `%laneid`.
    Scalar(SpecialScalar),
    /// `%envreg3`: the driver sets it.
    Environment(u32),
    /// `%pm3`: a counter.
    Counter(u32),
    /// `%pm3_64`: a counter with all its bits.
    WideCounter(u32),
    /// `%reserved_smem_offset_1`
    ReservedSmemOffset(u32),
    /// The constant `WARP_SZ`.
    WarpSize,
}

/// A prefix that a number follows, and the register.
type Numbered = (&'static str, fn(u32) -> Special);

const NUMBERED: [Numbered; 3] = [
    ("envreg", Special::Environment),
    ("pm", Special::Counter),
    ("reserved_smem_offset_", Special::ReservedSmemOffset),
];

/// Registers that ptxas 13.5 accepts and the manual lacks. Their values are unknown.
const UNDOCUMENTED: [&str; 3] = ["sm_ctaid", "locality_domain_id", "locality_domain_supplemental_sm"];

/// An unknown name of a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a special register")]
pub struct UnknownSpecial;

/// Reads a name without `%`, such as `tid.x` or `laneid`.
impl FromStr for Special {
    type Err = UnknownSpecial;

    fn from_str(name: &str) -> Result<Self, UnknownSpecial> {
        if name == "WARP_SZ" {
            return Ok(Self::WarpSize);
        }
        if let Some((vector, axis)) = name.split_once('.') {
            let element = vector.parse().ok().zip(axis.parse().ok());
            return element.map(|(vector, axis)| Self::Vector(vector, axis)).ok_or(UnknownSpecial);
        }
        if let Ok(scalar) = name.parse() {
            return Ok(Self::Scalar(scalar));
        }
        let numbered = NUMBERED.iter().find_map(|(begin, special)| Some((name.strip_prefix(begin)?, special)));
        let (rest, special) = numbered.ok_or(UnknownSpecial)?;
        let (digits, is_wide) = rest.strip_suffix("_64").map_or((rest, false), |digits| (digits, true));
        let number = digits.parse().map_err(|_| UnknownSpecial)?;
        match special(number) {
            Self::Counter(number) if is_wide => Ok(Self::WideCounter(number)),
            _ if is_wide => Err(UnknownSpecial),
            special => Ok(special),
        }
    }
}

/// Prints the name without `%`.
impl Display for Special {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(vector, axis) => write!(f, "{vector}.{axis}"),
            Self::Scalar(scalar) => write!(f, "{scalar}"),
            Self::Environment(number) => write!(f, "envreg{number}"),
            Self::Counter(number) => write!(f, "pm{number}"),
            Self::WideCounter(number) => write!(f, "pm{number}_64"),
            Self::ReservedSmemOffset(number) => write!(f, "reserved_smem_offset_{number}"),
            Self::WarpSize => write!(f, "WARP_SZ"),
        }
    }
}

/// The special register with one value for a module's spelling, with `%`. The constant `WARP_SZ` is spelled without it.
pub fn scalar(name: &str) -> Option<Special> {
    let special = match name.strip_prefix('%') {
        Some(name) => name.parse().ok()?,
        None => Some(Special::WarpSize).filter(|_| name == "WARP_SZ")?,
    };
    (!matches!(special, Special::Vector(..))).then_some(special)
}

/// The vector of special registers for a module's spelling, with `%`.
pub fn vector(name: &str) -> Option<SpecialVector> {
    name.strip_prefix('%')?.parse().ok()
}

/// Whether the name is a special register, or a vector of them without an element's suffix.
pub fn is_special(name: &str) -> bool {
    let is_undocumented = || name.strip_prefix('%').is_some_and(|name| UNDOCUMENTED.contains(&name));
    scalar(name).is_some() || vector(name).is_some() || is_undocumented()
}

/// The names of special registers with `%`, except numbered names.
pub fn names() -> impl Iterator<Item = String> {
    let vectors = SpecialVector::iter().map(|vector| format!("%{vector}"));
    vectors.chain(SpecialScalar::iter().map(|scalar| format!("%{scalar}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_registers_are_read_as_they_print() {
        let elements = SpecialVector::iter().flat_map(|vector| Axis::ALL.map(|axis| Special::Vector(vector, axis)));
        let scalars = SpecialScalar::iter().map(Special::Scalar);
        let numbered = [0, 7, 31].into_iter().flat_map(|number| {
            [Special::Environment, Special::Counter, Special::WideCounter, Special::ReservedSmemOffset]
                .map(|special| special(number))
        });
        let mut count = 0;
        for special in elements.chain(scalars).chain(numbered).chain([Special::WarpSize]) {
            assert_eq!(special.to_string().parse(), Ok(special));
            count += 1;
        }
        assert_eq!(count, 8 * 3 + 27 + 4 * 3 + 1);
        for wrong in ["tid", "tid.w", "laneid.x", "pm", "envreg3_64", "envregx", "warp_sz", ""] {
            assert_eq!(wrong.parse::<Special>(), Err(UnknownSpecial), "{wrong}");
        }
    }
}

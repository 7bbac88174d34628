//! Families of GPUs.

use strum::{Display, EnumIter};

use crate::ptx::Sm;

/// GPUs with the same SASS, named after the measured GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter)]
#[non_exhaustive]
pub enum Family {
    /// sm_50 to sm_62.
    #[strum(serialize = "sm_50")]
    Sm50,
    /// sm_70 to sm_75.
    #[strum(serialize = "sm_70")]
    Sm70,
    /// sm_80 to sm_89.
    #[strum(serialize = "sm_80")]
    Sm80,
    /// sm_90.
    #[strum(serialize = "sm_90")]
    Sm90,
    /// sm_100 and later.
    #[strum(serialize = "sm_100a")]
    Sm100a,
}

impl Family {
    /// The family of a GPU: the nearest measured GPU whose number is not higher.
    pub fn from_sm(sm: Sm) -> Option<Self> {
        Self::of_number(sm.number())
    }

    pub(super) fn of_number(number: u32) -> Option<Self> {
        match number {
            0..50 => None,
            50..70 => Some(Self::Sm50),
            70..80 => Some(Self::Sm70),
            80..90 => Some(Self::Sm80),
            90..100 => Some(Self::Sm90),
            100.. => Some(Self::Sm100a),
        }
    }

    /// The number of the measured GPU.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Sm50 => 50,
            Self::Sm70 => 70,
            Self::Sm80 => 80,
            Self::Sm90 => 90,
            Self::Sm100a => 100,
        }
    }

    /// The version of ptxas in the measurements.
    pub fn assembler(self) -> &'static str {
        match self {
            Self::Sm50 | Self::Sm70 => "12.9",
            Self::Sm80 | Self::Sm90 | Self::Sm100a => "13.5",
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn each_gpu_has_the_family_at_or_below_it() {
        for family in Family::iter() {
            assert_eq!(Family::of_number(family.number()), Some(family));
            assert_eq!(family.to_string().trim_end_matches('a'), format!("sm_{}", family.number()));
        }
        assert_eq!(
            [49, 53, 75, 89, 121].map(Family::of_number),
            [None, Some(Family::Sm50), Some(Family::Sm70), Some(Family::Sm80), Some(Family::Sm100a)]
        );
    }
}

//! The severity of a finding, derived from the claim of an analysis and the executions that show it.

use ptx_hazards::{Claim, Class};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, Serialize, Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// The program is wrong: a proof, a witness in a given launch, or witnesses in enough fitting launches.
    Error,
    /// The program may be wrong, or does less than the manual demands.
    Warning,
    /// The program is correct, but does more than necessary; or a part is not checked.
    Note,
}

/// The severity of a finding, and whether kernels are known to run in spite of it, so that `--strict` accepts it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assessed {
    pub severity: Severity,
    pub is_tolerated: bool,
}

impl Assessed {
    pub const ERROR: Self = Self { severity: Severity::Error, is_tolerated: false };
    pub const POSSIBLE: Self = Self { severity: Severity::Warning, is_tolerated: false };
    pub const TOLERATED: Self = Self { severity: Severity::Warning, is_tolerated: true };
    pub const NOTE: Self = Self { severity: Severity::Note, is_tolerated: true };

    /// The severity of a hazard. `is_about_two` says whether the hazard names a second access or a remedy, and
    /// `has_rule` whether it is about a rule. `shown` is the class of the execution that shows it, and whether enough
    /// launches do.
    pub fn of_hazard(claim: Claim, is_about_two: bool, has_rule: bool, shown: Option<(Class, bool)>) -> Self {
        match (claim, shown) {
            // The only guessed launch may be wrong for the kernel.
            (Claim::Wrong | Claim::NotChecked, Some((_, false))) => Self::POSSIBLE,
            (Claim::Wrong, Some((_, true))) | (_, Some((Class::Wrong, true))) => Self::ERROR,
            // The analysis says that no arrival comes, and an execution waits there.
            (_, Some((Class::Stuck, true))) if has_rule => Self::ERROR,
            (_, Some((Class::Stuck, true))) | (Claim::Wrong, None) => Self::POSSIBLE,
            (Claim::NotChecked, Some(_)) => Self::TOLERATED,
            (Claim::NotChecked, None) if has_rule => Self::POSSIBLE,
            (Claim::NotChecked, None) => Self::NOTE,
            (Claim::Note, _) if is_about_two => Self::TOLERATED,
            (Claim::Note, _) => Self::NOTE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_needs_enough_launches() {
        let of = |claim, shown| Assessed::of_hazard(claim, true, true, shown);
        for class in [Class::Wrong, Class::Warning, Class::Stuck] {
            assert_eq!(of(Claim::Wrong, Some((class, true))), Assessed::ERROR);
            assert_eq!(of(Claim::Wrong, Some((class, false))), Assessed::POSSIBLE);
        }
        assert_eq!(of(Claim::Wrong, None), Assessed::POSSIBLE);
        assert_eq!(of(Claim::NotChecked, Some((Class::Warning, true))), Assessed::TOLERATED);
        assert_eq!(of(Claim::Note, Some((Class::Wrong, false))), Assessed::TOLERATED);
        assert_eq!(Assessed::of_hazard(Claim::NotChecked, false, false, None), Assessed::NOTE);
        assert_eq!(
            Assessed::of_hazard(Claim::NotChecked, false, false, Some((Class::Stuck, true))),
            Assessed::POSSIBLE
        );
    }
}

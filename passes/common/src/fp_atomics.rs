//! The values of the option `fp-atomics`.

use std::{fmt, str::FromStr};

use ptx_lowering::{FpAtomics, Policy};

/// The settings for floating point that the option sets; `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FpChoice {
    additions: Option<FpAtomics>,
    no_nans: Option<bool>,
}

/// The words of the option, each with the settings that it makes.
const WORDS: [(&str, FpChoice); 4] = {
    const fn additions(policy: FpAtomics) -> FpChoice {
        FpChoice { additions: Some(policy), no_nans: None }
    }
    const fn no_nans(holds: bool) -> FpChoice {
        FpChoice { additions: None, no_nans: Some(holds) }
    }
    [
        ("native", additions(FpAtomics::Native)),
        ("ieee", additions(FpAtomics::Ieee)),
        ("nans", no_nans(false)),
        ("no-nans", no_nans(true)),
    ]
};

impl FpChoice {
    /// The words of the option.
    pub fn words() -> [&'static str; 4] {
        WORDS.map(|(word, _)| word)
    }

    /// This choice, completed by the settings of `other`.
    pub fn or(self, other: Self) -> Self {
        Self { additions: self.additions.or(other.additions), no_nans: self.no_nans.or(other.no_nans) }
    }

    /// A policy with these settings applied.
    pub fn apply(self, policy: Policy) -> Policy {
        Policy {
            fp_atomics: self.additions.unwrap_or(policy.fp_atomics),
            no_nans: self.no_nans.unwrap_or(policy.no_nans),
            ..policy
        }
    }
}

/// Words separated by commas or plus signs: `ieee,no-nans`. A later word overrides an earlier one.
impl FromStr for FpChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split([',', '+']).map(str::trim).try_fold(Self::default(), |choice, name| {
            let known = WORDS.iter().find(|(word, _)| *word == name);
            let (_, set) = known.ok_or_else(|| {
                let words = WORDS.map(|(word, _)| word).join(", ");
                format!("unknown policy '{name}'; the policies are {words}")
            })?;
            Ok(set.or(choice))
        })
    }
}

/// Words separated by plus signs, because a comma separates options.
impl fmt::Display for FpChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_set = |(_, set): &&(&str, Self)| set.or(*self) == *self;
        let words: Vec<_> = WORDS.iter().filter(is_set).map(|(word, _)| *word).collect();
        f.write_str(&words.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_words_override() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let found = text.parse::<FpChoice>().map(|choice| choice.to_string());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        };
        check("ieee", Ok("ieee"));
        check("ieee, no-nans", Ok("ieee+no-nans"));
        check("no-nans+native", Ok("native+no-nans"));
        check("no-nans,ieee,nans,native", Ok("native+nans"));
        check("ieee,exact", Err("unknown policy 'exact'; the policies are native, ieee, nans, no-nans"));
        check("", Err("unknown policy ''; the policies are native, ieee, nans, no-nans"));
    }
}

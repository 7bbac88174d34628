//! The rules that a finding may be about, by stable names. Each has a page in the book.

use ptx_execute::FaultKind;
use ptx_hazards::Rule as AsyncRule;
use ptx_judge::Loss;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoEnumIterator};

use crate::question::Question;

/// A rule that a program breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// A rule of asynchronous operations and barriers: `R1` to `R16`.
    Async(AsyncRule),
    /// Conflicting accesses of two threads are ordered: `R17`.
    Race,
    /// Stores of the same value by two threads are ordered: `R18`.
    SameValue,
    /// The PTX keeps the required properties of an operation of the IR: `R19` to `R26`.
    Order(#[serde(with = "crate::order::loss")] Loss),
    /// The assembler keeps the order of an operation: `R27`.
    Misplaced,
    /// No thread waits for an event that cannot come: `R28`.
    Deadlock,
    /// A wait for a phase of an mbarrier observes its end before the end of the next phase: `R29`.
    Lapped,
    /// All threads of a warpgroup execute the same `setmaxnreg`: `R30`.
    Setmaxnreg,
    /// All threads of a warp execute the same `.aligned` instruction: `R31`.
    Aligned,
}

/// The losses of operations by the names of their rules.
const LOSSES: [(Loss, &str); 8] = [
    (Loss::Ordering, "R19"),
    (Loss::Scope, "R20"),
    (Loss::NotAtomic, "R21"),
    (Loss::Missing, "R22"),
    (Loss::Effect, "R23"),
    (Loss::Volatile, "R24"),
    (Loss::WeakLoadInLoop, "R25"),
    (Loss::Undefined, "R26"),
];

/// The pages of the rules, in the order of the names.
const PAGES: [&str; 31] = [
    include_str!("../rules/R1.md"),
    include_str!("../rules/R2.md"),
    include_str!("../rules/R3.md"),
    include_str!("../rules/R4.md"),
    include_str!("../rules/R5.md"),
    include_str!("../rules/R6.md"),
    include_str!("../rules/R7.md"),
    include_str!("../rules/R8.md"),
    include_str!("../rules/R9.md"),
    include_str!("../rules/R10.md"),
    include_str!("../rules/R11.md"),
    include_str!("../rules/R12.md"),
    include_str!("../rules/R13.md"),
    include_str!("../rules/R14.md"),
    include_str!("../rules/R15.md"),
    include_str!("../rules/R16.md"),
    include_str!("../rules/R17.md"),
    include_str!("../rules/R18.md"),
    include_str!("../rules/R19.md"),
    include_str!("../rules/R20.md"),
    include_str!("../rules/R21.md"),
    include_str!("../rules/R22.md"),
    include_str!("../rules/R23.md"),
    include_str!("../rules/R24.md"),
    include_str!("../rules/R25.md"),
    include_str!("../rules/R26.md"),
    include_str!("../rules/R27.md"),
    include_str!("../rules/R28.md"),
    include_str!("../rules/R29.md"),
    include_str!("../rules/R30.md"),
    include_str!("../rules/R31.md"),
];

impl Rule {
    /// The rule that a fault of an execution breaks, if the kind of the fault says which.
    pub fn of_fault(kind: FaultKind) -> Option<Self> {
        match kind {
            FaultKind::Hang => Some(Self::Deadlock),
            FaultKind::Lapped => Some(Self::Lapped),
            FaultKind::Setmaxnreg => Some(Self::Setmaxnreg),
            FaultKind::DivergentWarp => Some(Self::Aligned),
            _ => None,
        }
    }

    /// The page of the book about the rule: a wrong kernel, an execution that shows it, and the corrected kernel.
    pub fn page(self) -> &'static str {
        Self::all().position(|rule| rule == self).map_or("", |at| PAGES[at])
    }

    /// Every rule, in the order of the names.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_losses = LOSSES.into_iter().map(|(loss, _)| Self::Order(loss));
        AsyncRule::iter().map(Self::Async).chain([Self::Race, Self::SameValue]).chain(of_losses).chain([
            Self::Misplaced,
            Self::Deadlock,
            Self::Lapped,
            Self::Setmaxnreg,
            Self::Aligned,
        ])
    }

    /// The rule with a name such as `R4`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }

    /// The stable name, such as `R4`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Async(rule) => rule.into(),
            Self::Race => "R17",
            Self::SameValue => "R18",
            Self::Order(loss) => LOSSES.iter().find(|(own, _)| *own == loss).map_or("R19", |(_, name)| name),
            Self::Misplaced => "R27",
            Self::Deadlock => "R28",
            Self::Lapped => "R29",
            Self::Setmaxnreg => "R30",
            Self::Aligned => "R31",
        }
    }

    /// The question that the rule belongs to.
    pub fn question(self) -> Question {
        match self {
            Self::Async(AsyncRule::R16) | Self::Deadlock | Self::Lapped | Self::Setmaxnreg | Self::Aligned => {
                Question::Barriers
            }
            Self::Async(_) => Question::Async,
            Self::Race | Self::SameValue => Question::Races,
            Self::Order(_) | Self::Misplaced => Question::Order,
        }
    }

    /// The rule in one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Async(rule) => rule.get_documentation().unwrap_or_default(),
            Self::Race => {
                "Accesses of two threads to the same memory are ordered if one of them is weak or writes other bytes."
            }
            Self::SameValue => "Stores of the same value to the same memory by two threads are ordered.",
            Self::Order(loss) => match loss {
                Loss::Scope => "An operation reaches the threads that its scope names.",
                Loss::NotAtomic => "An atomic operation is one strong access of its width.",
                Loss::Missing => "An instruction implements each operation.",
                Loss::Effect => "The PTX accesses the same memory as the IR, equally often.",
                Loss::Volatile => "A volatile access is volatile in PTX.",
                Loss::WeakLoadInLoop => "The load before a compare-and-swap loop is strong.",
                Loss::Undefined => "PTX defines the instruction on the memory that it accesses.",
                _ => "An operation keeps its acquire, its release and its sequential consistency.",
            },
            Self::Misplaced => "The assembler keeps the order that the PTX has.",
            Self::Deadlock => "Every event for which a thread waits comes.",
            Self::Lapped => "A wait observes the end of a phase of an mbarrier before the next phase ends.",
            Self::Setmaxnreg => {
                "All threads of a warpgroup execute the same `setmaxnreg`, and synchronize before the next."
            }
            Self::Aligned => "All threads of a warp execute the same `.aligned` instruction.",
        }
    }

    /// The document that demands the rule.
    pub fn source(self) -> String {
        match self {
            Self::Async(rule) => rule.source(),
            Self::Race | Self::SameValue => "section 8.10 of the PTX manual".to_owned(),
            Self::Order(_) => "sections 8.7 to 8.10 of the PTX manual".to_owned(),
            Self::Misplaced => "machine code of ptxas, as measured".to_owned(),
            Self::Deadlock => "section 9.7.13 of the PTX manual".to_owned(),
            Self::Lapped => "section 9.7.13.15 of the PTX manual".to_owned(),
            Self::Setmaxnreg => "section 9.7.19.5 of the PTX manual".to_owned(),
            Self::Aligned => "section 9.7.13 of the PTX manual".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_its_number() {
        let names: Vec<&str> = Rule::all().map(Rule::name).collect();
        let numbers: Vec<String> = (1..=names.len()).map(|number| format!("R{number}")).collect();
        assert_eq!(names, numbers);
        for rule in Rule::all() {
            assert_eq!(Rule::by_name(&rule.name().to_lowercase()), Some(rule));
            assert!(rule.page().starts_with(&format!("# {}: ", rule.name())), "{rule:?}");
            assert!(!rule.sentence().is_empty() && !rule.source().is_empty(), "{rule:?}");
        }
        assert!(Loss::iter().all(|loss| LOSSES.iter().any(|(own, _)| *own == loss)));
        assert_eq!(Rule::by_name("R0"), None);
    }
}

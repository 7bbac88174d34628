//! The choice of one sequence of a row.

use std::str::FromStr;

use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

use super::{
    asplos19::PROVEN,
    auto,
    carrier::Carrier,
    nvidia::ABI,
    row::{RowKind, RowName, Step},
};
use crate::{
    op::Ordering,
    ptx::{AtomSem, FenceSem, Form, Target},
};

/// A rule that chooses a sequence of each row. Sequences of different strategies may be mixed within a binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// The row's first sequence.
    Recommended,
    /// The sequence whose accesses are all relaxed: fences carry the ordering.
    Fence,
    /// `fence.release; atom.acquire` for an acq_rel rmw; the recommended sequence for other rows.
    FenceAcquire,
    /// The mapping of the ASPLOS 2019 paper, which is also sound under C++11 to C++17 release sequences.
    Proven,
    /// The cheapest sequence on the target, by measurements of ptxas.
    Auto,
}

/// A strategy for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strategies([Strategy; ABI.len()]);

impl Strategies {
    /// The sequence for an operation. This is the only function that evaluates a strategy.
    ///
    /// If only fences can carry the ordering, the choice is the strategy's sequence with only relaxed accesses. For a
    /// CAS loop on a target without one-sided fences, it is the first sequence whose access does not release. Returns
    /// `None` if the language has no such operation (a release load, a relaxed fence).
    pub fn choose(
        &self,
        kind: RowKind,
        ordering: Ordering,
        carrier: Carrier,
        target: &Target,
    ) -> Option<&'static [Step]> {
        let index = ABI.iter().position(|row| row.is(kind, ordering))?;
        let strategy = self.0[index];
        let row = match strategy {
            Strategy::Proven => PROVEN.iter().find(|row| row.is(kind, ordering)).unwrap_or(&ABI[index]),
            _ => &ABI[index],
        };
        let acquires = matches!(strategy, Strategy::Recommended | Strategy::FenceAcquire | Strategy::Auto);
        let in_loop = acquires && !target.meets(Form::OneSidedFence.requirement());
        let wanted = |steps: &&&[Step]| match strategy {
            _ if carrier == Carrier::Repeated && in_loop => !steps.iter().any(|step| step.releases_by_its_access()),
            _ if matches!(carrier, Carrier::Repeated | Carrier::Fences) => {
                !steps.iter().any(|step| step.orders_its_access())
            }
            Strategy::Recommended | Strategy::Proven => true,
            Strategy::Fence => !steps.iter().any(|step| step.orders_its_access()),
            Strategy::FenceAcquire => **steps == [Step::Fence(FenceSem::Release), Step::Atom(AtomSem::Acquire)],
            Strategy::Auto => **steps == auto::cheapest(row.sequences, carrier, target),
        };
        Some(row.sequences.iter().find(wanted).unwrap_or(&row.sequences[0]))
    }

    /// Adds a comma-separated list (`fence,rmw.acq_rel=recommended`). Later items override earlier ones.
    ///
    /// # Errors
    /// If a strategy or row is unknown. `self` is then unchanged.
    pub fn override_with(&mut self, list: &str) -> Result<(), UnknownStrategy> {
        let mut rows = self.0;
        for item in list.split(',').map(str::trim) {
            let (row, name) = item.split_once('=').map_or((None, item), |(row, name)| (Some(row.trim()), name.trim()));
            let strategy = name.parse().map_err(|_| UnknownStrategy::Strategy(name.into()))?;
            match row {
                None => rows.fill(strategy),
                Some(name) => {
                    let index = RowName::parse(name)
                        .and_then(|RowName(kind, ordering)| ABI.iter().position(|row| row.is(kind, ordering)));
                    rows[index.ok_or_else(|| UnknownStrategy::Row(name.into()))?] = strategy;
                }
            }
        }
        self.0 = rows;
        Ok(())
    }
}

impl From<Strategy> for Strategies {
    fn from(strategy: Strategy) -> Self {
        Self([strategy; ABI.len()])
    }
}

impl Default for Strategies {
    fn default() -> Self {
        Strategy::Recommended.into()
    }
}

impl FromStr for Strategies {
    type Err = UnknownStrategy;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        let mut strategies = Self::default();
        strategies.override_with(list)?;
        Ok(strategies)
    }
}

/// An unknown name in a list of strategies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownStrategy {
    /// The name is not a strategy.
    #[error("unknown strategy '{0}'; the known strategies are {known}", known = Strategy::iter().map(Into::into).collect::<Vec<&str>>().join(", "))]
    Strategy(String),
    /// The name is not a row of [`ABI`].
    #[error("unknown row '{0}' of the ABI table; the known rows are {known}", known = ABI.iter().map(|row| row.name().to_string()).collect::<Vec<_>>().join(", "))]
    Row(String),
}

#[cfg(test)]
mod tests {
    use super::{Carrier::*, *};

    fn check(list: &str, row: &str, carrier: Carrier, expected: &str) {
        let strategies: Strategies = list.parse().expect(list);
        let RowName(kind, ordering) = RowName::parse(row).expect(row);
        let target = Target::new("sm_90".parse().expect("sm_90"), None).expect("sm_90");
        let steps = strategies.choose(kind, ordering, carrier, &target).expect(row);
        let printed: Vec<_> =
            steps.iter().map(|step| step.to_string().replace(".<scope>", "").replace(".<rmw op>", "")).collect();
        assert_eq!(printed.join(" "), expected, "{list} {row}");
    }

    #[test]
    fn each_strategy_picks_its_sequence() {
        check("recommended", "rmw.acq_rel", Access, "atom.acq_rel;");
        check("fence", "rmw.acq_rel", Access, "fence.release; atom.relaxed; fence.acquire;");
        check("fence-acquire", "rmw.acq_rel", Access, "fence.release; atom.acquire;");
        check("fence-acquire", "rmw.seq_cst", Access, "fence.sc; atom.acquire;");
        check("proven", "rmw.seq_cst", Access, "fence.sc; atom.acq_rel;");
        check("proven", "store.seq_cst", Access, "fence.sc; st.release;");
        check("proven", "load.seq_cst", Access, "fence.sc; ld.acquire;");
        check("fence", "store.seq_cst", Access, "fence.sc; st.relaxed;");
        check("recommended", "rmw.acq_rel", Fences, "fence.release; atom.relaxed; fence.acquire;");
        check("proven", "rmw.acq_rel", Fences, "fence.release; atom.relaxed; fence.acq_rel;");
        check("auto", "rmw.acq_rel", Access, "atom.acq_rel;");
        check("auto", "rmw.acq_rel", Leader, "atom.acq_rel;");
        check("auto", "rmw.acq_rel", Fences, "fence.release; atom.relaxed; fence.acquire;");
        check("proven", "rmw.seq_cst", Fences, "fence.sc; atom.relaxed; fence.acq_rel;");
    }

    #[test]
    fn a_loop_acquires_in_its_compare_and_swap_where_only_full_fences_could() {
        for strategy in ["recommended", "fence-acquire", "auto"] {
            check(strategy, "rmw.acquire", Repeated, "atom.acquire;");
            check(strategy, "rmw.release", Repeated, "fence.release; atom.relaxed;");
            check(strategy, "rmw.acq_rel", Repeated, "fence.release; atom.acquire;");
            check(strategy, "rmw.seq_cst", Repeated, "fence.sc; atom.acquire;");
            check(strategy, "rmw.acquire", Fences, "atom.relaxed; fence.acquire;");
        }
        check("fence", "rmw.acquire", Repeated, "atom.relaxed; fence.acquire;");
        check("proven", "rmw.acq_rel", Repeated, "fence.release; atom.relaxed; fence.acq_rel;");
        let one_sided = Target::new("sm_90".parse().expect("sm_90"), "ptx86".parse().ok()).expect("sm_90");
        let choose = |carrier| Strategies::default().choose(RowKind::Rmw, Ordering::AcqRel, carrier, &one_sided);
        assert_eq!(choose(Repeated), choose(Fences));
    }

    /// The target of `check` has no one-sided fences; only `auto` depends on the carrier of the ordering.
    #[test]
    fn auto_splits_operations_that_a_leader_would_order() {
        let target = Target::new("sm_90".parse().expect("sm_90"), "ptx86".parse().ok()).expect("sm_90");
        for strategy in Strategy::iter() {
            let choose = |carrier| Strategies::from(strategy).choose(RowKind::Rmw, Ordering::AcqRel, carrier, &target);
            assert_eq!(choose(Leader) == choose(Access), strategy != Strategy::Auto, "{strategy}");
        }
    }

    #[test]
    fn later_ones_override_earlier() {
        check("fence, rmw.acq_rel=recommended", "rmw.acq_rel", Access, "atom.acq_rel;");
        check("fence, rmw.acq_rel=recommended", "rmw.acquire", Access, "atom.relaxed; fence.acquire;");
        check("rmw.acq_rel=recommended,fence", "rmw.acq_rel", Access, "fence.release; atom.relaxed; fence.acquire;");
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let error = |list: &str| list.parse::<Strategies>().expect_err(list).to_string();
        assert_eq!(
            error("magic"),
            "unknown strategy 'magic'; the known strategies are recommended, fence, fence-acquire, proven, auto"
        );
        assert!(error("load.release=fence").starts_with(
            "unknown row 'load.release' of the ABI table; the known rows are fence.seq_cst, load.seq_cst"
        ));
        assert!(error("fence,").contains("''"));
    }

    /// Every row of every table may be used for a CAS loop or a volatile access.
    #[test]
    fn every_row_has_a_sequence_of_relaxed_accesses() {
        for row in ABI.iter().chain(PROVEN) {
            assert!(row.sequences.iter().any(|steps| !steps.iter().any(|step| step.orders_its_access())), "{row}");
        }
    }
}

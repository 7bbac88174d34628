//! Conditions on final states.

use crate::{
    layout::Layout,
    program::{Location, Register, Value},
};

/// A condition on the final states, with operands of type `A`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition<A = Atom> {
    /// The final states that the condition is about.
    pub quantifier: Quantifier,
    /// The formula on a final state.
    pub formula: Formula<A>,
}

/// The number of final states in which the formula is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Quantifier {
    /// In at least one.
    #[strum(serialize = "exists")]
    Exists,
    /// In none.
    #[strum(serialize = "~exists")]
    NotExists,
    /// In all.
    #[strum(serialize = "forall")]
    Forall,
}

impl Condition {
    /// The truth value of the formula in one final state that decides the condition, and the decision.
    pub fn decided_by(&self) -> (bool, bool) {
        match self.quantifier {
            Quantifier::Exists => (true, true),
            Quantifier::NotExists => (true, false),
            Quantifier::Forall => (false, false),
        }
    }
}

/// A statement about one final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula<A = Atom> {
    /// Both operands have the same value.
    Equal(A, A),
    /// The operands have different values.
    Unequal(A, A),
    /// The formula does not hold.
    Not(Box<Self>),
    /// Both formulas hold.
    And(Box<Self>, Box<Self>),
    /// At least one of the formulas holds.
    Or(Box<Self>, Box<Self>),
    /// Holds in every state.
    True,
}

/// An operand of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atom {
    /// The last value of a register.
    Register {
        /// The number of its thread.
        thread: usize,
        /// The register in that thread.
        register: Register,
    },
    /// The last value of a variable.
    Location(Location),
    /// A constant.
    Value(Value),
}

impl<A: Clone> Formula<A> {
    /// The operands of all comparisons.
    pub fn atoms(&self) -> Vec<A> {
        self.comparisons().into_iter().flat_map(|(a, b)| [a, b]).collect()
    }

    /// The operands of each comparison.
    pub fn comparisons(&self) -> Vec<(A, A)> {
        match self {
            Self::Equal(a, b) | Self::Unequal(a, b) => vec![(a.clone(), b.clone())],
            Self::Not(formula) => formula.comparisons(),
            Self::And(a, b) | Self::Or(a, b) => [a.comparisons(), b.comparisons()].concat(),
            Self::True => Vec::new(),
        }
    }

    /// The same formula over other operands.
    pub fn map<B>(&self, of: &mut impl FnMut(&A) -> B) -> Formula<B> {
        match self {
            Self::Equal(a, b) => Formula::Equal(of(a), of(b)),
            Self::Unequal(a, b) => Formula::Unequal(of(a), of(b)),
            Self::Not(formula) => Formula::Not(Box::new(formula.map(of))),
            Self::And(a, b) => Formula::And(Box::new(a.map(of)), Box::new(b.map(of))),
            Self::Or(a, b) => Formula::Or(Box::new(a.map(of)), Box::new(b.map(of))),
            Self::True => Formula::True,
        }
    }
}

impl Formula {
    /// The values that registers and variables must have whenever the formula has this truth value.
    pub fn required(&self, truth: bool) -> Vec<(Atom, Value)> {
        match (self, truth) {
            (Self::Equal(a, b), true) | (Self::Unequal(a, b), false) => match (*a, *b) {
                (Atom::Value(_), Atom::Value(_)) => Vec::new(),
                (atom, Atom::Value(value)) | (Atom::Value(value), atom) => vec![(atom, value)],
                _ => Vec::new(),
            },
            (Self::Not(formula), truth) => formula.required(!truth),
            (Self::And(a, b), true) | (Self::Or(a, b), false) => [a.required(truth), b.required(truth)].concat(),
            _ => Vec::new(),
        }
    }

    /// Whether the formula holds in a state of this layout. A register or variable that is not in the layout differs
    /// from every value.
    pub fn holds(&self, layout: &Layout, state: &[Value]) -> bool {
        let value = |atom: &Atom| match *atom {
            Atom::Register { thread, register } => layout.register(state, thread, register),
            Atom::Location(location) => layout.location(state, location),
            Atom::Value(value) => Some(value),
        };
        match self {
            Self::Equal(a, b) => value(a) == value(b),
            Self::Unequal(a, b) => value(a) != value(b),
            Self::Not(formula) => !formula.holds(layout, state),
            Self::And(a, b) => a.holds(layout, state) && b.holds(layout, state),
            Self::Or(a, b) => a.holds(layout, state) || b.holds(layout, state),
            Self::True => true,
        }
    }
}

//! Conditions on final states.

use crate::{
    layout::Layout,
    program::{Location, Register, Value},
};

/// What is asked of the final states, in terms of what is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition<A = Atom> {
    /// Of which of them.
    pub quantifier: Quantifier,
    /// What is to hold in them.
    pub formula: Formula<A>,
}

/// Of how many final states a formula is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Quantifier {
    /// Of one.
    #[strum(serialize = "exists")]
    Exists,
    /// Of none.
    #[strum(serialize = "~exists")]
    NotExists,
    /// Of all.
    #[strum(serialize = "forall")]
    Forall,
}

impl Condition {
    /// Which truth value of the formula in one final state decides the condition, and to what.
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
    /// Both have the same value.
    Equal(A, A),
    /// They have different values.
    Unequal(A, A),
    /// It does not hold.
    Not(Box<Self>),
    /// Both hold.
    And(Box<Self>, Box<Self>),
    /// One holds, or both.
    Or(Box<Self>, Box<Self>),
    /// Nothing is asked.
    True,
}

/// What a condition compares.
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
    /// What the formula is about.
    pub fn atoms(&self) -> Vec<A> {
        self.comparisons().into_iter().flat_map(|(a, b)| [a, b]).collect()
    }

    /// What the formula compares with what.
    pub fn comparisons(&self) -> Vec<(A, A)> {
        match self {
            Self::Equal(a, b) | Self::Unequal(a, b) => vec![(a.clone(), b.clone())],
            Self::Not(formula) => formula.comparisons(),
            Self::And(a, b) | Self::Or(a, b) => [a.comparisons(), b.comparisons()].concat(),
            Self::True => Vec::new(),
        }
    }

    /// The same formula about other things.
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
    /// What registers and variables must hold, whatever else, where the formula has this truth value.
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

    /// Whether the formula holds in a state of this layout. What the layout does not have differs from every value.
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

//! Conditions on final states.

use crate::{
    layout::Layout,
    program::{Location, Register, Value},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub quantifier: Quantifier,
    pub formula: Formula,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Quantifier {
    #[strum(serialize = "exists")]
    Exists,
    #[strum(serialize = "~exists")]
    NotExists,
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    Equal(Atom, Atom),
    Unequal(Atom, Atom),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    True,
}

/// What a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atom {
    Register { thread: usize, register: Register },
    Location(Location),
    Value(Value),
}

impl Formula {
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

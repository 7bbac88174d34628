//! The part of a name's declaration that the checks of operands need.

use crate::{
    declaration::Head,
    word::{Space, Type},
};

/// The declaration of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// A register of one value.
    Register(Type),
    /// A variable in a state space.
    Variable(Space),
    /// A function, or the prototype of functions.
    Function(Signature),
    /// A special register, which needs no declaration.
    Special,
    /// Any other name: a label, a function, a parameter, a vector register.
    Other,
}

/// The numbers of arguments and results of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    pub results: usize,
    /// The minimum number of arguments. A last parameter of open length, such as `.param .b8 x[]`, may lack its
    /// argument.
    pub least: usize,
    pub most: usize,
}

impl Signature {
    /// The signature of a function, or of a `.callprototype`.
    pub fn from_head(Head { results, parameters, .. }: &Head) -> Self {
        let is_open = parameters.last().is_some_and(|last| last.elements == Some(0));
        Self { results: results.len(), least: parameters.len() - usize::from(is_open), most: parameters.len() }
    }
}

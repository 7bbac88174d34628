//! Instructions that leave out what a form needs, as in litmus tests.

use super::{
    argument::Role,
    family::Family,
    forms::{Row, no_form},
    grammar::{Filled, Parameter},
    kind::ModifierKind,
};
use crate::{parse::ParseError, syntax};

/// An asynchronous instruction from which modifiers, and operands at its end, may be left out. Its operands have roles, and any
/// shape: it is for the caller to say what it needs.
///
/// ```
/// use ptx_isa::{Family, Outline, Role, syntax};
///
/// let copy = syntax::statement("cp.async.shared.global a, [x], 8");
/// let Ok(syntax::Statement::Instruction(copy)) = copy else { panic!("{copy:?}") };
/// let Outline { family, modifiers, roles, .. } = Outline::read(&copy)?;
/// assert_eq!((family, &modifiers[..]), (Family::CpAsync, &["shared", "global"][..]));
/// assert_eq!(roles, [Role::Destination, Role::Source, Role::Size]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// The words that it begins with.
    pub family: Family,
    /// The words behind those that are written, without their dots, in the manual's order.
    pub modifiers: Vec<&'static str>,
    /// What each operand that is written is for.
    pub roles: Vec<Role>,
    /// What those are for that are left out.
    pub missing: Vec<Role>,
}

impl Outline {
    /// Reads an instruction, by the form that comes nearest.
    ///
    /// # Errors
    /// If it is of no family, or no form has these modifiers or so many operands.
    pub fn read(instruction: &syntax::Instruction<'_>) -> Result<Self, ParseError> {
        let error = |text: syntax::Text<'_>, reason| ParseError { span: text.span(), text: text.text.into(), reason };
        let modifiers = instruction.modifiers.iter().map(|word| word.text);
        let words: Vec<_> = std::iter::once(instruction.mnemonic.text).chain(modifiers).collect();
        let Some((family, behind)) = Family::of(&words) else {
            let reason = format!("`{}` is no asynchronous instruction", words.join("."));
            return Err(error(instruction.text, reason));
        };
        let operands = instruction.operands.len();
        let candidates =
            family.rows().map(|row| (row, row.modifiers.fill(behind))).filter(|(_, filled)| filled.is_part());
        let candidates = candidates.map(|(row, filled)| (roles(row, &filled.words, operands), filled));
        // The operands that are too many, the words and the operands that are too few.
        let distance = |(roles, filled): &(Vec<Role>, Filled<'_>)| {
            (operands.saturating_sub(roles.len()), filled.missing.len(), roles.len().saturating_sub(operands))
        };
        let Some((mut roles, Filled { words: modifiers, .. })) = candidates.min_by_key(distance) else {
            let (reason, wrong) = no_form(family, behind);
            let word = instruction.modifiers.iter().rev().find(|word| Some(word.text) == wrong);
            return Err(error(*word.unwrap_or(&instruction.text), reason));
        };
        let missing = roles.split_off(operands.min(roles.len()));
        let outline = Self { family, modifiers, roles, missing };
        if operands > outline.roles.len() {
            return Err(error(instruction.text, format!("too many operands: {}", outline.operands())));
        }
        Ok(outline)
    }

    /// What operands the form has, as a clause.
    pub fn operands(&self) -> String {
        let all = self.roles.iter().chain(&self.missing).map(|role| role.to_string().replace('_', " "));
        let all: Vec<_> = all.collect();
        format!("'{}' has {} here", self.family, if all.is_empty() { "none".into() } else { all.join(", ") })
    }

    /// The first modifier of a kind.
    pub fn modifier(&self, kind: ModifierKind) -> Option<&'static str> {
        self.modifiers.iter().copied().find(|word| ModifierKind::of(word) == kind)
    }

    /// Whether a modifier is there, without its dot.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }
}

/// The operands of the form with these words. Of those that may be left out, the first are there if so many are written.
fn roles(row: &Row, words: &[&str], written: usize) -> Vec<Role> {
    let expected = || row.parameters.iter().filter(|parameter| parameter.is_expected(words));
    let is_needed = |parameter: &&Parameter| !parameter.is_optional();
    let mut further = written.saturating_sub(expected().filter(is_needed).count());
    let mut is_there = |parameter: &&Parameter| {
        let is_further = parameter.is_optional() && further > 0;
        further -= usize::from(is_further);
        is_further || is_needed(parameter)
    };
    expected().filter(|parameter| is_there(parameter)).map(|parameter| parameter.role).collect()
}

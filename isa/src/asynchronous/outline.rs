//! Incomplete instructions, which omit parts of a form, as in litmus tests.

use super::{
    argument::Role,
    family::Family,
    forms::{Row, no_form},
    grammar::{Filled, Parameter},
    kind::ModifierKind,
};
use crate::{parse::ParseError, syntax};

/// An asynchronous instruction that may omit modifiers, and operands at its end. Its operands have roles, but any
/// shape: the caller checks the shapes that it needs.
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
    /// The family, which the first words of the instruction name.
    pub family: Family,
    /// The modifiers of the instruction, without their dots, in the manual's order.
    pub modifiers: Vec<&'static str>,
    /// The role of each operand that is present.
    pub roles: Vec<Role>,
    /// The roles of the omitted operands.
    pub missing: Vec<Role>,
}

impl Outline {
    /// Reads an instruction by the form that is nearest to it.
    ///
    /// # Errors
    /// If the instruction belongs to no family, or no form has these modifiers or this many operands.
    pub fn read(instruction: &syntax::Instruction<'_>) -> Result<Self, ParseError> {
        let error = |text: syntax::Text<'_>, reason| ParseError { span: text.span(), text: text.text.into(), reason };
        let modifiers = instruction.modifiers.iter().map(|word| word.text);
        let words: Vec<_> = std::iter::once(instruction.mnemonic.text).chain(modifiers).collect();
        let Some((family, after)) = Family::from_words(&words) else {
            let reason = format!("`{}` is not an asynchronous instruction", words.join("."));
            return Err(error(instruction.text, reason));
        };
        let operands = instruction.operands.len();
        let candidates =
            family.rows().map(|row| (row, row.modifiers.fill(after))).filter(|(_, filled)| filled.is_part());
        let candidates = candidates.map(|(row, filled)| (roles(row, &filled.words, operands), filled));
        // The number of excess operands, of missing words, and of missing operands.
        let distance = |(roles, filled): &(Vec<Role>, Filled<'_>)| {
            (operands.saturating_sub(roles.len()), filled.missing.len(), roles.len().saturating_sub(operands))
        };
        let Some((mut roles, Filled { words: modifiers, .. })) = candidates.min_by_key(distance) else {
            let (reason, wrong) = no_form(family, after);
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

    /// The operands of the form, as a clause for a message.
    pub fn operands(&self) -> String {
        let all = self.roles.iter().chain(&self.missing).map(|role| role.to_string().replace('_', " "));
        let all: Vec<_> = all.collect();
        format!("'{}' has {} here", self.family, if all.is_empty() { "none".into() } else { all.join(", ") })
    }

    /// The first modifier of a kind.
    pub fn modifier(&self, kind: ModifierKind) -> Option<&'static str> {
        self.modifiers.iter().copied().find(|word| ModifierKind::from_word(word) == kind)
    }

    /// Whether the instruction has a modifier, given without its dot.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }
}

/// The roles of the operands of the form with these words. Optional operands are included from the first on, as far as
/// the number of written operands allows.
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

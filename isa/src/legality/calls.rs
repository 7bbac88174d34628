//! Calls whose numbers of arguments or results differ from the function's (section 9.7.12.5).

use super::{
    count::{Refused, count},
    declared::{Declared, Signature},
};
use crate::syntax::{Operand, Shape};

/// The expected and the found number for the operands `(results), function, (arguments), prototype`. Calls through
/// `.calltargets` are not checked.
pub fn refused(operands: &[Operand<'_>], declared: &dyn Fn(&str) -> Declared) -> Refused {
    let (results, rest) = list(operands);
    let [callee, rest @ ..] = rest else { return Some(("a function".into(), "none".into())) };
    let (arguments, rest) = list(rest);
    let (name, Signature { results: expected, least, most }) =
        std::iter::once(callee).chain(rest).find_map(|operand| signature(operand, declared))?;
    let refused = count("argument", least, most, arguments).or_else(|| count("result", expected, expected, results));
    refused.map(|(expected, found)| (format!("{expected} of `{name}`"), found))
}

fn signature<'t>(operand: &Operand<'t>, declared: &dyn Fn(&str) -> Declared) -> Option<(&'t str, Signature)> {
    let Shape::Name { name, suffix: None } = operand.shape else { return None };
    match declared(name.text) {
        Declared::Function(signature) => Some((name.text, signature)),
        _ => None,
    }
}

/// The number of operands of a leading list in parentheses, and the operands after it.
fn list<'o, 't>(operands: &'o [Operand<'t>]) -> (usize, &'o [Operand<'t>]) {
    match operands {
        [Operand { shape: Shape::List(list), .. }, rest @ ..] => (list.len(), rest),
        _ => (0, operands),
    }
}

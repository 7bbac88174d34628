//! The reader of conditions.

use super::{
    error::Error,
    host::canonical,
    names::{is_multimem, only_multimem, variable},
    tokens::Tokens,
};
use crate::{
    condition::{Atom, Condition, Formula, Quantifier},
    program::Register,
    ptx::Program,
};

/// The maximum nesting of parentheses in a condition.
const MAX_DEPTH: usize = 100;
const MAX_COMPARISONS: usize = 1000;

/// Whether a condition begins here, or the text ends.
pub(crate) fn is_condition(tokens: &Tokens<'_>) -> bool {
    tokens.is_word("exists") || tokens.is_word("forall") || tokens.is(0, "~") || tokens.peek().text.text.is_empty()
}

/// Reads a condition. The registers that it names are observed from then on.
pub(crate) fn condition(tokens: &mut Tokens<'_>, program: &mut Program) -> Result<Condition, Error> {
    condition_of(tokens, &mut |tokens| atom(tokens, program))
}

/// The reader of an operand of a comparison.
type ReadAtom<'r, 't, A> = &'r mut dyn FnMut(&mut Tokens<'t>) -> Result<A, Error>;

/// Reads a condition whose operands `atom` reads.
pub(crate) fn condition_of<'t, A>(tokens: &mut Tokens<'t>, atom: ReadAtom<'_, 't, A>) -> Result<Condition<A>, Error> {
    const EXPECTED: &str = "`exists`, `~exists` or `forall`";
    let negated = tokens.accept("~");
    let word = tokens.word(EXPECTED)?;
    let quantifier = match (negated, word.text) {
        (false, "exists") => Quantifier::Exists,
        (true, "exists") => Quantifier::NotExists,
        (false, "forall") => Quantifier::Forall,
        (_, other) => return tokens.error_at(word.start, format!("expected {EXPECTED}, found `{other}`")),
    };
    let formula = Reader { tokens, atom, comparisons: 0 }.disjunction(0)?;
    Ok(Condition { quantifier, formula })
}

struct Reader<'r, 't, A> {
    tokens: &'r mut Tokens<'t>,
    atom: ReadAtom<'r, 't, A>,
    /// The number of comparisons so far.
    comparisons: usize,
}

impl<A> Reader<'_, '_, A> {
    fn disjunction(&mut self, depth: usize) -> Result<Formula<A>, Error> {
        let mut formula = self.conjunction(depth)?;
        while self.tokens.accept("\\/") || self.tokens.accept("||") {
            formula = Formula::Or(Box::new(formula), Box::new(self.conjunction(depth)?));
        }
        Ok(formula)
    }

    fn conjunction(&mut self, depth: usize) -> Result<Formula<A>, Error> {
        let mut formula = self.comparison(depth)?;
        while self.tokens.accept("/\\") || self.tokens.accept("&&") {
            formula = Formula::And(Box::new(formula), Box::new(self.comparison(depth)?));
        }
        Ok(formula)
    }

    fn comparison(&mut self, depth: usize) -> Result<Formula<A>, Error> {
        self.comparisons += 1;
        if depth > MAX_DEPTH || self.comparisons > MAX_COMPARISONS {
            return self.tokens.error("the condition is too large");
        }
        if self.tokens.accept("(") {
            let formula = self.disjunction(depth + 1)?;
            self.tokens.expect(")")?;
            return Ok(formula);
        }
        if self.tokens.accept("~") {
            return Ok(Formula::Not(Box::new(self.comparison(depth + 1)?)));
        }
        if self.tokens.is_word("true") {
            self.tokens.take();
            return Ok(Formula::True);
        }
        let a = (self.atom)(self.tokens)?;
        if self.tokens.accept("!=") {
            return Ok(Formula::Unequal(a, (self.atom)(self.tokens)?));
        }
        if !self.tokens.accept("==") {
            self.tokens.expect("=")?;
        }
        Ok(Formula::Equal(a, (self.atom)(self.tokens)?))
    }
}

/// A register, a variable or a number.
fn atom(tokens: &mut Tokens<'_>, program: &mut Program) -> Result<Atom, Error> {
    let at = tokens.here();
    if let Some(named) = tokens.thread_register() {
        let (thread, name) = named?;
        let Some(of) = program.threads.get_mut(thread) else {
            return tokens.error_at(at, format!("the test has no thread P{thread}"));
        };
        let known = canonical(of.place.processor, name.text);
        let Some(index) = of.registers.iter().position(|register| register.name == known) else {
            return tokens.error_at(at, format!("P{thread} has no register `{}`", name.text));
        };
        // A register that a condition names is observed.
        of.registers[index].observed = true;
        return Ok(Atom::Register { thread, register: Register(index as u16) });
    }
    let Some(name) = tokens.accept_word() else { return tokens.number().map(Atom::Value) };
    if let Some(location) = variable(program, name.text) {
        if is_multimem(program, location) {
            return tokens.error_at(name.start, only_multimem(name.text));
        }
        return Ok(Atom::Location(location));
    }
    let own = format!("{}$P", name.text);
    let own = program.locations.iter().map(|variable| &variable.name).filter(|name| name.starts_with(&own));
    let own: Vec<String> = own.map(|name| format!("`{name}`")).collect();
    let message = match own.is_empty() {
        true => format!("the test has no variable `{}`", name.text),
        false => format!("each CTA has its own `{}`: {}", name.text, own.join(", ")),
    };
    tokens.error_at(name.start, message)
}

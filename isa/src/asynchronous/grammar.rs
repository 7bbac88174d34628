//! The notation of the table of forms, and the reader of an instruction's words and operands by it.
//!
//! Modifiers are in the manual's order: `a|b` is one of several words, `{…}` may be omitted as a whole, and `x(1..8*2)`
//! is `x1|x2|x4|x8`, `n(8..32+8)` is `n8|n16|n24|n32`. An operand is its role, a colon, and its permitted form:
//!
//! | notation | operand |
//! | --- | --- |
//! | `b32`, `f32`, `element` | a register or a constant of the type, or of the type that the modifiers name |
//! | `pred`, `!pred` | a predicate or its negation; the negation alone, where a predicate looks like a register |
//! | `imm`, `imm=4/8` | a constant, or one of these |
//! | `[b64]`, `[b32]` | an address, in a register of this width |
//! | `[tensor]` | a tensor map with coordinates, and between them the operands of `.override::…` |
//! | `[b32,b64]` | a fabric handle: its parts, in registers of these widths |
//! | `pred/pred` | two predicates, `p` and `q` of `p|q` |
//! | `<b32*4>`, `<b32*registers>` | a vector, whose length is a number or follows from the modifiers |
//! | `<b32/_*4>` | some of its elements may be `_`, but not all |
//! | `_` | the sink |
//!
//! A final `?` marks an optional operand. A final `@word` marks an operand that is present exactly if the modifier is.

use super::{
    argument::{Argument, Role},
    kind::ModifierKind,
};
use crate::{
    instruction::{Address, Name, Operand},
    syntax::{self, Number, Shape},
};

/// The modifiers of a row of the table.
#[derive(Debug)]
pub(super) struct Modifiers(Vec<Group>);

/// Slots that are filled together, each by one of its words.
#[derive(Debug)]
struct Group {
    is_optional: bool,
    slots: Vec<Vec<String>>,
}

/// The words of an instruction, assigned to the slots of a row.
pub(super) struct Filled<'t> {
    /// The words that fill slots, in the order of the row.
    pub words: Vec<&'static str>,
    /// The slots without a word.
    pub missing: Vec<&'static [String]>,
    /// The words that fit no slot.
    pub left: Vec<&'t str>,
    /// Two words of one kind whose order is not the row's.
    pub swapped: Option<(&'static str, &'static str)>,
}

impl Filled<'_> {
    /// The distance of the words from a form of the row.
    pub fn distance(&self) -> usize {
        2 * (self.missing.len() + self.left.len()) + usize::from(self.swapped.is_some())
    }

    /// Whether the words are a form of the row, except for missing words.
    pub fn is_part(&self) -> bool {
        self.left.is_empty() && self.swapped.is_none()
    }
}

impl Modifiers {
    pub fn parse(text: &str) -> Self {
        let groups = pieces(text).map(|piece| match piece.strip_prefix('{') {
            Some(inner) => {
                let slots = inner.trim_end_matches('}').split_whitespace().map(alternatives).collect();
                Group { is_optional: true, slots }
            }
            None => Group { is_optional: false, slots: vec![alternatives(piece)] },
        });
        Self(groups.collect())
    }

    /// Every word that occurs in some form of the row.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|group| group.slots.iter().flatten()).map(String::as_str)
    }

    /// Assigns the words to the slots of the row. As in the assembler, the row's order is required only among words of
    /// one kind.
    pub fn fill<'t>(&'static self, words: &[&'t str]) -> Filled<'t> {
        let mut left: Vec<(usize, &str)> = words.iter().copied().enumerate().collect();
        let (mut taken, mut missing): (Vec<(usize, &'static str)>, Vec<&'static [String]>) = Default::default();
        for Group { is_optional, slots } in &self.0 {
            let occurs = |slot: &Vec<String>| left.iter().any(|(_, word)| slot.iter().any(|own| own == word));
            if *is_optional && !slots.iter().any(occurs) {
                continue;
            }
            for slot in slots {
                let found = left.iter().enumerate().find_map(|(index, (at, word))| {
                    slot.iter().find(|own| own == word).map(|own| (index, *at, own.as_str()))
                });
                match found {
                    Some((index, at, own)) => {
                        left.remove(index);
                        taken.push((at, own));
                    }
                    None => missing.push(slot),
                }
            }
        }
        let left: Vec<_> = left.into_iter().map(|(_, word)| word).collect();
        let swapped = [ModifierKind::Space, ModifierKind::Type].into_iter().find_map(|kind| {
            let alike: Vec<_> = taken.iter().filter(|(_, word)| ModifierKind::from_word(word) == kind).collect();
            alike.windows(2).find(|pair| pair[0].0 > pair[1].0).map(|pair| (pair[0].1, pair[1].1))
        });
        Filled { words: taken.into_iter().map(|(_, word)| word).collect(), missing, left, swapped }
    }

    /// The words of every form of the row.
    pub fn all(&'static self) -> Vec<Vec<&'static str>> {
        self.0.iter().fold(vec![Vec::new()], |forms, Group { is_optional, slots }| {
            let filled = slots.iter().fold(forms.clone(), |forms, slot| {
                let with = |form: &Vec<&'static str>, word: &'static String| [&form[..], &[word.as_str()]].concat();
                forms.iter().flat_map(|form| slot.iter().map(|word| with(form, word))).collect()
            });
            if *is_optional { [forms, filled].concat() } else { filled }
        })
    }
}

/// Splits a text at spaces. Braces hold a piece together.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let end = match rest.starts_with('{') {
            true => rest.find('}').map(|at| at + 1),
            false => rest.find(' '),
        };
        let (piece, following) = rest.split_at(end.unwrap_or(rest.len()));
        rest = following.trim_start();
        (!piece.is_empty()).then_some(piece)
    })
}

fn alternatives(text: &str) -> Vec<String> {
    text.split('|').flat_map(series).collect()
}

/// Expands `x(1..8*2)` to `x1`, `x2`, `x4`, `x8`.
fn series(word: &str) -> Vec<String> {
    let parsed = || {
        let (before, (range, after)) = word.split_once('(').and_then(|(a, b)| Some((a, b.split_once(')')?)))?;
        let (first, rest) = range.split_once("..")?;
        let sign = rest.find(['*', '+'])?;
        let (last, step): (u32, u32) = (rest[..sign].parse().ok()?, rest[sign + 1..].parse().ok()?);
        let is_product = rest[sign..].starts_with('*');
        let next = move |number: &u32| Some(if is_product { number * step } else { number + step });
        let numbers = std::iter::successors(first.parse().ok(), next).take_while(|number| *number <= last);
        Some(numbers.map(|number| format!("{before}{number}{after}")).collect())
    };
    parsed().unwrap_or_else(|| vec![word.to_owned()])
}

/// An operand of a row of the table.
#[derive(Debug)]
pub(super) struct Parameter {
    pub role: Role,
    types: Vec<ParameterType>,
    presence: Presence,
}

#[derive(Debug)]
enum Presence {
    Always,
    Optional,
    /// The operand is present exactly if this modifier is.
    With(String),
}

#[derive(Debug)]
enum ParameterType {
    Sink,
    Predicate,
    Negation,
    /// Any of these constants, or any constant if the list is empty.
    Constant(Vec<u64>),
    /// An address in a register of this type.
    Address(String),
    Tensor,
    /// A handle whose parts are in registers of these types.
    Handle(Vec<String>),
    Pair,
    Value(String),
    Vector {
        ty: String,
        length: String,
        /// Whether some elements may be `_`.
        sinks: bool,
    },
}

impl Parameter {
    /// Reads an operand in the notation. Returns `None` if the text is not in the notation.
    pub fn parse(text: &str) -> Option<Self> {
        let (role, rest) = text.split_once(':')?;
        let (types, presence) = match (rest.split_once('@'), rest.strip_suffix('?')) {
            (Some((types, word)), _) => (types, Presence::With(word.to_owned())),
            (None, Some(types)) => (types, Presence::Optional),
            (None, None) => (rest, Presence::Always),
        };
        let types = types.split('|').map(ParameterType::parse).collect::<Option<_>>()?;
        Some(Self { role: role.parse().ok()?, types, presence })
    }

    /// Whether the form with these words has this operand.
    pub fn is_expected(&self, words: &[&str]) -> bool {
        !matches!(&self.presence, Presence::With(word) if !words.contains(&word.as_str()))
    }

    pub fn is_optional(&self) -> bool {
        matches!(self.presence, Presence::Optional)
    }
}

impl ParameterType {
    fn parse(text: &str) -> Option<Self> {
        let between = |open, close| text.strip_prefix(open).and_then(|inner: &str| inner.strip_suffix(close));
        Some(match text {
            "_" => Self::Sink,
            "pred" => Self::Predicate,
            "pred/pred" => Self::Pair,
            "!pred" => Self::Negation,
            "imm" => Self::Constant(Vec::new()),
            "[tensor]" => Self::Tensor,
            _ => match (text.strip_prefix("imm="), between('[', ']'), between('<', '>')) {
                (Some(values), ..) => Self::Constant(
                    values
                        .split('/')
                        .map(|value| value.parse::<i64>().ok().map(i64::cast_unsigned))
                        .collect::<Option<_>>()?,
                ),
                (_, Some(parts), _) if parts.contains(',') => {
                    Self::Handle(parts.split(',').map(ToOwned::to_owned).collect())
                }
                (_, Some(register), _) => Self::Address(register.to_owned()),
                (_, _, Some(vector)) => {
                    let (ty, length) = vector.split_once('*')?;
                    let (ty, sinks) = ty.strip_suffix("/_").map_or((ty, false), |ty| (ty, true));
                    Self::Vector { ty: ty.to_owned(), length: length.to_owned(), sinks }
                }
                _ => Self::Value(text.to_owned()),
            },
        })
    }

    /// Reads an operand as an argument of this kind.
    fn read(&self, operand: &syntax::Operand<'_>, words: &[&str]) -> Option<Argument> {
        Some(match (self, &operand.shape) {
            (Self::Sink, Shape::Sink) => Argument::Value(Operand::Sink),
            (Self::Predicate, Shape::Name { name, suffix: None }) => {
                Argument::Predicate { p: Name(name.text.to_owned().into()), negated: false }
            }
            (Self::Predicate | Self::Negation, Shape::Not(name)) => {
                Argument::Predicate { p: Name(name.text.to_owned().into()), negated: true }
            }
            (Self::Constant(values), Shape::Number(Number::Integer(value)))
                if values.is_empty() || values.contains(value) =>
            {
                Argument::Value(Operand::Immediate(*value))
            }
            (Self::Address(_), Shape::Memory { suffix: None, .. }) => {
                let syntax::Address { base, offset } = operand.address()?;
                Argument::Address(Address { base: Name(base.text.to_owned().into()), offset })
            }
            (Self::Tensor, Shape::Memory { parts, suffix: None }) => match &parts[..] {
                [syntax::Operand { shape: Shape::Name { name, suffix: None }, .. }, overrides @ .., coordinates] => {
                    let map = Name(name.text.to_owned().into());
                    let expected = self::overrides(words)?;
                    if overrides.len() != expected.len() {
                        return None;
                    }
                    let part = |(operand, (_, length)): (&syntax::Operand<'_>, &(&str, Option<usize>))| match length {
                        Some(length) => Some(Operand::Vector(elements(operand, *length)?)),
                        None => value(operand),
                    };
                    let overrides = overrides.iter().zip(&expected).map(part).collect::<Option<_>>()?;
                    Argument::Tensor {
                        map,
                        overrides,
                        coordinates: elements(coordinates, count("coordinates", words)?)?,
                    }
                }
                _ => return None,
            },
            (Self::Handle(types), Shape::Memory { parts, suffix: None }) if parts.len() == types.len() => {
                Argument::Handle(parts.iter().map(value).collect::<Option<_>>()?)
            }
            (Self::Pair, Shape::Pair(pair)) => {
                let name = |operand: &syntax::Operand<'_>| match &operand.shape {
                    Shape::Name { name, suffix: None } => Some(Name(name.text.to_owned().into())),
                    _ => None,
                };
                Argument::Pair(name(&pair[0])?, name(&pair[1])?)
            }
            (Self::Value(_), _) => Argument::Value(value(operand)?),
            (Self::Vector { length, sinks, .. }, Shape::Vector(elements))
                if Some(elements.len()) == count(length, words) =>
            {
                let element = |operand: &syntax::Operand<'_>| match operand.shape {
                    Shape::Sink if *sinks => Some(Operand::Sink),
                    _ => value(operand),
                };
                let elements: Vec<_> = elements.iter().map(element).collect::<Option<_>>()?;
                if *sinks && elements.iter().all(|element| *element == Operand::Sink) {
                    return None;
                }
                Argument::Value(Operand::Vector(elements))
            }
            _ => return None,
        })
    }

    /// An example of this operand in the form with these words, with the number `index` in its register's name.
    fn example(&self, index: usize, words: &[&str]) -> Option<Argument> {
        let register = |ty: &str, index: usize| {
            let ty = if ty == "element" { element(words)? } else { ty };
            Some(Operand::Register(Name(format!("%{ty}_{index}").into())))
        };
        Some(match self {
            Self::Sink => Argument::Value(Operand::Sink),
            Self::Predicate | Self::Negation => {
                let negated = matches!(self, Self::Negation);
                Argument::Predicate { p: Name(format!("%pred_{index}").into()), negated }
            }
            Self::Constant(values) => Argument::Value(Operand::Immediate(values.first().copied().unwrap_or(1))),
            Self::Address(ty) => Argument::Address(Address { base: Name(format!("%{ty}_{index}").into()), offset: 0 }),
            Self::Tensor => Argument::Tensor {
                map: Name(format!("%b64_{index}").into()),
                overrides: overrides(words)?
                    .into_iter()
                    .map(|(ty, length)| match length {
                        Some(length) => {
                            let all = (0..length).map(|index| register(ty, index)).collect::<Option<_>>();
                            Some(Operand::Vector(all?))
                        }
                        None => register(ty, index + 8),
                    })
                    .collect::<Option<_>>()?,
                coordinates: (0..count("coordinates", words)?)
                    .map(|index| register("b32", index))
                    .collect::<Option<_>>()?,
            },
            Self::Handle(types) => {
                let part = |(part, ty): (usize, &String)| register(ty, index * 8 + part);
                Argument::Handle(types.iter().enumerate().map(part).collect::<Option<_>>()?)
            }
            Self::Pair => {
                let name = |number: usize| Name(format!("%pred_{number}").into());
                Argument::Pair(name(index), name(index + 1))
            }
            Self::Value(ty) => Argument::Value(register(ty, index)?),
            Self::Vector { ty, length, .. } => {
                let elements = (0..count(length, words)?).map(|index| register(ty, index)).collect::<Option<_>>()?;
                Argument::Value(Operand::Vector(elements))
            }
        })
    }

    /// A description of the permitted operand, for a message.
    fn description(&self, words: &[&str]) -> String {
        let ty = |ty: &String| if ty == "element" { element(words).unwrap_or("value") } else { ty }.to_owned();
        let length = |length: &str| count(length, words).map_or(String::new(), |count| count.to_string());
        match self {
            Self::Sink => "`_`".into(),
            Self::Predicate => "a predicate".into(),
            Self::Negation => "a negated predicate".into(),
            Self::Constant(values) if values.is_empty() => "a constant".into(),
            Self::Constant(values) => {
                values.iter().map(|value| value.cast_signed().to_string()).collect::<Vec<_>>().join(" or ")
            }
            Self::Address(_) => "an address".into(),
            Self::Tensor => {
                let part = |(ty, length): (&str, Option<usize>)| match length {
                    Some(length) => format!("{length} .{ty}, "),
                    None => format!("a .{ty}, "),
                };
                let parts: String = overrides(words).into_iter().flatten().map(part).collect();
                format!("a tensor map with {parts}{} coordinates", length("coordinates"))
            }
            Self::Handle(types) => format!("a fabric handle of {} parts", types.len()),
            Self::Pair => "a pair of predicates".into(),
            Self::Value(name) => format!("a value of type .{}", ty(name)),
            Self::Vector { ty: name, length: count, .. } => format!("a vector of {} .{}", length(count), ty(name)),
        }
    }
}

/// A register, a symbol or a constant.
fn value(operand: &syntax::Operand<'_>) -> Option<Operand> {
    Some(match &operand.shape {
        Shape::Name { .. } => Operand::Register(Name(operand.text.text.to_owned().into())),
        Shape::Number(Number::Integer(value)) => Operand::Immediate(*value),
        _ => return None,
    })
}

/// The elements of a vector, if it has this length.
fn elements(operand: &syntax::Operand<'_>, length: usize) -> Option<Vec<Operand>> {
    let Shape::Vector(elements) = &operand.shape else { return None };
    if elements.len() == length { elements.iter().map(value).collect() } else { None }
}

/// The operands between a tensor map and the coordinates: their types, and for vectors their lengths.
fn overrides(words: &[&str]) -> Option<Vec<(&'static str, Option<usize>)>> {
    let has = |what: &str| words.iter().any(|word| word.strip_prefix("override::") == Some(what));
    let mut all = Vec::new();
    if has("global_address") {
        all.push(("b64", None));
    }
    if has("global_dim") || has("global_dim_stride") {
        all.push(("b16", Some(count("coordinates", words)?)));
    }
    if has("global_dim_stride") {
        all.extend([("b32", Some(count("coordinates", words)?.checked_sub(1)?)), ("b16", None)]);
    }
    Some(all)
}

/// The first type among the modifiers, which is the type of the value or of the result.
fn element<'w>(words: &[&'w str]) -> Option<&'w str> {
    words.iter().copied().find(|word| ModifierKind::from_word(word) == ModifierKind::Type)
}

/// The length of a vector, given as a number or as a name from the table.
fn count(name: &str, words: &[&str]) -> Option<usize> {
    let number = |text: &str| text.parse::<usize>().ok();
    let after = |prefix: &str| words.iter().find_map(|word| number(word.strip_prefix(prefix)?.split('k').next()?));
    let dimensions = || words.iter().find_map(|word| number(word.strip_suffix('d')?));
    match name {
        // A scattered or gathered box has one column and four rows.
        "coordinates" if words.iter().any(|word| matches!(*word, "tile::gather4" | "tile::scatter4")) => Some(5),
        "coordinates" => dimensions(),
        "offsets" if words.contains(&"im2col") => dimensions()?.checked_sub(2),
        "offsets" => Some(2),
        "registers" => {
            let each = words.iter().find_map(|word| match *word {
                "16x256b" => Some(4),
                "16x128b" => Some(2),
                "32x32b" | "16x64b" | "16x32bx2" => Some(1),
                _ => None,
            });
            Some(each? * after("x")?)
        }
        // 64 rows of this many columns, shared by the 128 threads of a warpgroup.
        "accumulators" => Some(after("m64n")? / if element(words)? == "f16" { 4 } else { 2 }),
        length => number(length),
    }
}

/// Reads the operands of an instruction as arguments for the parameters of a row.
///
/// # Errors
/// A description of the first operand that does not fit.
pub(super) fn arguments(
    parameters: &[Parameter],
    operands: &[syntax::Operand<'_>],
    words: &[&str],
) -> Result<Vec<(Role, Argument)>, Misfit> {
    let Some((parameter, rest)) = parameters.split_first() else {
        return match operands.first() {
            None => Ok(Vec::new()),
            Some(_) => Err(Misfit { left: operands.len(), reason: "too many operands".into() }),
        };
    };
    if !parameter.is_expected(words) {
        return arguments(rest, operands, words);
    }
    let expected = || {
        let types: Vec<_> = parameter.types.iter().map(|ty| ty.description(words)).collect();
        format!("{} ({})", types.join(" or "), parameter.role.to_string().replace('_', " "))
    };
    let here = match operands.split_first() {
        None => Err(Misfit { left: 0, reason: format!("too few operands: {} is missing", expected()) }),
        Some((operand, following)) => match parameter.types.iter().find_map(|ty| ty.read(operand, words)) {
            None => {
                let reason = format!("expected {1}, found `{0}`", operand.text.text, expected());
                Err(Misfit { left: operands.len(), reason })
            }
            Some(argument) => arguments(rest, following, words).map(|mut arguments| {
                arguments.insert(0, (parameter.role, argument));
                arguments
            }),
        },
    };
    match here {
        Err(misfit) if parameter.is_optional() => {
            // The attempt that read more operands has the better message.
            arguments(rest, operands, words).map_err(|other| if other.left < misfit.left { other } else { misfit })
        }
        here => here,
    }
}

/// The reason why operands do not fit a row, and the number of operands that were not read.
pub(super) struct Misfit {
    pub left: usize,
    pub reason: String,
}

/// Example operands for the form with these words: every choice of optional operands and of operand types.
pub(super) fn examples(parameters: &[Parameter], words: &[&str]) -> Vec<Vec<(Role, Argument)>> {
    let expected = parameters.iter().filter(|parameter| parameter.is_expected(words));
    expected.enumerate().fold(vec![Vec::new()], |lists, (index, parameter)| {
        let choices = parameter.types.iter().filter_map(|ty| ty.example(index, words));
        let choices: Vec<_> = choices.map(|argument| (parameter.role, argument)).collect();
        let with = |list: &Vec<_>, choice: &(Role, Argument)| [&list[..], std::slice::from_ref(choice)].concat();
        let longer = lists.iter().flat_map(|list| choices.iter().map(|choice| with(list, choice)));
        if parameter.is_optional() { lists.iter().cloned().chain(longer).collect() } else { longer.collect() }
    })
}

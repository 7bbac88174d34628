//! The conversion of a typed instruction into the parser's form, so that one reader handles both.

use crate::{
    arithmetic::sign_extend,
    instruction::{Guard, Instruction, Name, Operand},
    print::Part,
    syntax::{self, Number, Shape, Text},
    word::Type,
};

/// The instruction with its guard. Its operands have no positions in a text.
pub(super) fn shaped<'i>(guard: &'i Option<Guard>, instruction: &'i Instruction) -> syntax::Instruction<'i> {
    let (words, parts) = instruction.parts();
    let mut words = words.into_iter().flat_map(|word| word.split('.')).map(Text::new);
    let guard = guard.as_ref().map(|guard| syntax::Guard { predicate: Text::new(&guard.p.0), negated: guard.negated });
    syntax::Instruction {
        text: Text::new(""),
        guard,
        mnemonic: words.next().unwrap_or(Text::new("")),
        modifiers: words.collect(),
        operands: parts.into_iter().map(part).collect(),
    }
}

fn part(part: Part<'_>) -> syntax::Operand<'_> {
    match part {
        Part::Name(name) => named(name),
        Part::Operand(of, ty) => operand(of, ty),
        Part::Address { address, unified } => {
            let base = match address.offset {
                0 => named(&address.base),
                offset => unplaced(Shape::Sum(syntax::Address { base: Text::new(&address.base.0), offset })),
            };
            unplaced(Shape::Memory { parts: vec![base], suffix: unified.then(|| Text::new("unified")) })
        }
    }
}

fn operand(operand: &Operand, ty: Type) -> syntax::Operand<'_> {
    match operand {
        Operand::Register(name) => named(name),
        Operand::Sink => unplaced(Shape::Sink),
        Operand::Vector(elements) => {
            unplaced(Shape::Vector(elements.iter().map(|element| self::operand(element, ty)).collect()))
        }
        Operand::Immediate(bits) => unplaced(Shape::Number(match ty {
            Type::F32 => Number::Single(*bits as u32),
            Type::F64 => Number::Double(*bits),
            _ => Number::Integer(sign_extend(*bits, ty.bits()).cast_unsigned()),
        })),
    }
}

/// A name, possibly with the suffix of a vector element: `%tid.x`.
fn named(Name(name): &Name) -> syntax::Operand<'_> {
    let (base, suffix) = name.split_once('.').map_or((&**name, None), |(base, suffix)| (base, Some(suffix)));
    let shape = Shape::Name { name: Text::new(base), suffix: suffix.map(Text::new) };
    syntax::Operand { text: Text::new(name), shape }
}

fn unplaced(shape: Shape<'_>) -> syntax::Operand<'_> {
    syntax::Operand { text: Text::new(""), shape }
}

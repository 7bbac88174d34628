//! The printer.

use std::fmt::{self, Display, Formatter, Write};

use crate::{
    arithmetic::sign_extend,
    instruction::{Address, Atom, Cache, Fence, Guard, Instruction, Ld, Name, Operand, Red, St, Statement},
    word::{LdSem, Space, StSem, Type},
};

/// How registers and addresses are spelled: as they are, or as the operands of an embedder's inline assembly.
pub trait Names {
    /// Writes a register, a symbol or a label.
    fn register(&self, f: &mut dyn Write, name: &Name) -> fmt::Result;
    /// Writes an address with its brackets.
    fn address(&self, f: &mut dyn Write, address: &Address) -> fmt::Result {
        self.in_brackets(f, address)
    }
    /// Writes brackets around a register and its offset.
    fn in_brackets(&self, f: &mut dyn Write, Address { base, offset }: &Address) -> fmt::Result {
        f.write_char('[')?;
        self.register(f, base)?;
        if *offset != 0 {
            write!(f, "+{offset}")?;
        }
        f.write_char(']')
    }
}

/// Names as PTX has them.
pub struct PtxNames;

impl Names for PtxNames {
    fn register(&self, f: &mut dyn Write, name: &Name) -> fmt::Result {
        f.write_str(&name.0)
    }
}

impl Statement {
    /// Prints the statement with its `;`.
    pub fn print(&self, f: &mut dyn Write, names: &dyn Names) -> fmt::Result {
        match self {
            Self::Instruction { guard, instruction } => {
                if let Some(Guard { p, negated }) = guard {
                    f.write_str(if *negated { "@!" } else { "@" })?;
                    names.register(f, p)?;
                    f.write_char(' ')?;
                }
                instruction.print(&mut Printer { f, names })?;
                f.write_char(';')
            }
            Self::Reg { ty, names: registers } => {
                write!(f, ".reg .{ty} ")?;
                for (index, register) in registers.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    names.register(f, register)?;
                }
                f.write_char(';')
            }
            Self::Label(label) => {
                names.register(f, label)?;
                f.write_char(':')
            }
        }
    }
}

struct Printer<'a> {
    f: &'a mut dyn Write,
    names: &'a dyn Names,
}

impl Printer<'_> {
    fn operand(&mut self, operand: &Operand, ty: Type) -> fmt::Result {
        self.f.write_str(", ")?;
        self.first_operand(operand, ty)
    }

    fn first_operand(&mut self, operand: &Operand, ty: Type) -> fmt::Result {
        match operand {
            Operand::Register(name) => self.names.register(self.f, name),
            Operand::Sink => self.f.write_char('_'),
            Operand::Immediate(bits) => match ty {
                Type::F32 => write!(self.f, "0f{bits:08X}"),
                Type::F64 => write!(self.f, "0d{bits:016X}"),
                _ => write!(self.f, "{}", sign_extend(*bits, ty.bits())),
            },
            Operand::Vector(elements) => {
                self.f.write_char('{')?;
                for (index, element) in elements.iter().enumerate() {
                    self.f.write_str(if index == 0 { "" } else { ", " })?;
                    self.first_operand(element, ty)?;
                }
                self.f.write_char('}')
            }
        }
    }

    fn policy(&mut self, cache: &Option<Cache>) -> fmt::Result {
        cache.as_ref().and_then(Cache::policy).map_or(Ok(()), |policy| self.operand(policy, Type::B64))
    }

    fn address(&mut self, address: &Address) -> fmt::Result {
        self.names.address(self.f, address)
    }

    fn modifier(&mut self, modifier: impl Display) -> fmt::Result {
        write!(self.f, ".{modifier}")
    }

    fn modifiers<const N: usize>(&mut self, modifiers: [Option<&'static str>; N]) -> fmt::Result {
        modifiers.into_iter().flatten().try_for_each(|modifier| self.modifier(modifier))
    }
}

impl Cache {
    fn modifier(&self) -> &'static str {
        match self {
            Self::Operator(operator) => operator.into(),
            Self::Hint(_) => "L2::cache_hint",
        }
    }

    fn policy(&self) -> Option<&Operand> {
        match self {
            Self::Operator(_) => None,
            Self::Hint(policy) => Some(policy),
        }
    }
}

impl Space {
    fn modifier(self) -> Option<&'static str> {
        (self != Self::Generic).then(|| self.into())
    }
}

impl Instruction {
    fn print(&self, p: &mut Printer<'_>) -> fmt::Result {
        match self {
            Self::Fence(Fence { sem, scope }) => {
                p.f.write_str("fence")?;
                p.modifiers([sem.map(Into::into), Some(scope.into())])
            }
            Self::Membar(level) => write!(p.f, "membar.{level}"),
            Self::Ld(Ld { sem, scope, space, cache, vec, ty, d, a, unified }) => {
                p.f.write_str("ld")?;
                let sem = (*sem != LdSem::Plain).then(|| sem.into());
                let cache_modifier = cache.as_ref().map(Cache::modifier);
                p.modifiers([sem, scope.map(Into::into), space.modifier(), cache_modifier, vec.map(Into::into)])?;
                write!(p.f, ".{ty} ")?;
                p.first_operand(d, *ty)?;
                p.f.write_str(", ")?;
                p.address(a)?;
                p.f.write_str(if *unified { ".unified" } else { "" })?;
                p.policy(cache)
            }
            Self::St(St { sem, scope, space, cache, vec, ty, a, b }) => {
                p.f.write_str("st")?;
                let sem = (*sem != StSem::Plain).then(|| sem.into());
                let cache_modifier = cache.as_ref().map(Cache::modifier);
                p.modifiers([sem, scope.map(Into::into), space.modifier(), cache_modifier, vec.map(Into::into)])?;
                write!(p.f, ".{ty} ")?;
                p.address(a)?;
                p.operand(b, *ty)?;
                p.policy(cache)
            }
            Self::Atom(Atom { sem, scope, space, cache, op, noftz, vec, ty, d, a, b, c }) => {
                p.f.write_str("atom")?;
                p.modifiers([sem.map(Into::into), scope.map(Into::into), space.modifier(), Some(op.into())])?;
                let cache_modifier = cache.as_ref().map(Cache::modifier);
                p.modifiers([noftz.then_some("noftz"), cache_modifier, vec.map(Into::into)])?;
                write!(p.f, ".{ty} ")?;
                p.first_operand(d, *ty)?;
                p.f.write_str(", ")?;
                p.address(a)?;
                p.operand(b, *ty)?;
                c.iter().try_for_each(|c| p.operand(c, *ty))?;
                p.policy(cache)
            }
            Self::Red(Red { sem, scope, space, cache, op, noftz, vec, ty, a, b }) => {
                p.f.write_str("red")?;
                p.modifiers([sem.map(Into::into), scope.map(Into::into), space.modifier(), Some(op.into())])?;
                let cache_modifier = cache.as_ref().map(Cache::modifier);
                p.modifiers([noftz.then_some("noftz"), cache_modifier, vec.map(Into::into)])?;
                write!(p.f, ".{ty} ")?;
                p.address(a)?;
                p.operand(b, *ty)?;
                p.policy(cache)
            }
            Self::Alu { op, ty, d, sources } => {
                write!(p.f, "{op}.{ty} ")?;
                p.first_operand(d, op.result_type(*ty))?;
                sources.iter().enumerate().try_for_each(|(index, source)| p.operand(source, op.source_type(*ty, index)))
            }
            Self::Cvt { rn, to, from, d, a } => {
                write!(p.f, "cvt{}.{to}.{from} ", if *rn { ".rn" } else { "" })?;
                p.names.register(p.f, d)?;
                p.operand(a, *from)
            }
            Self::Isspacep { space, p: predicate, a } => {
                write!(p.f, "isspacep.{space} ")?;
                p.names.register(p.f, predicate)?;
                p.operand(a, Type::B64)
            }
            Self::Setp { cmp, ty, p: predicate, a, b } => {
                write!(p.f, "setp.{cmp}.{ty} ")?;
                p.names.register(p.f, predicate)?;
                p.operand(a, *ty)?;
                p.operand(b, *ty)
            }
            Self::Bra { target } => {
                p.f.write_str("bra ")?;
                p.names.register(p.f, target)
            }
        }
    }
}

impl Display for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", if self.negated { "!" } else { "" }, self.p.0)
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.print(f, &PtxNames)
    }
}

impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.print(&mut Printer { f, names: &PtxNames })
    }
}

//! The printer of statements.

use std::fmt::{self, Display, Formatter, Write};

use crate::{
    arithmetic::sign_extend,
    instruction::{Address, Atom, Cache, Fence, Guard, Instruction, Ld, Name, Operand, Red, St, Statement},
    word::{LdSem, Space, StSem, Type},
};

/// The spelling of registers and addresses: PTX names, or operands of an embedder's inline assembly.
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

/// The spelling of PTX text.
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
                    self.operand(element, ty)?;
                }
                self.f.write_char('}')
            }
        }
    }

    fn part(&mut self, part: Part<'_>) -> fmt::Result {
        match part {
            Part::Name(name) => self.names.register(self.f, name),
            Part::Operand(operand, ty) => self.operand(operand, ty),
            Part::Address { address, unified } => {
                self.names.address(self.f, address)?;
                self.f.write_str(if unified { ".unified" } else { "" })
            }
        }
    }
}

/// An operand of a typed instruction, in its printed position.
#[derive(Clone, Copy)]
pub(crate) enum Part<'i> {
    /// A register or a label.
    Name(&'i Name),
    /// An operand, and the type that determines the spelling of a constant.
    Operand(&'i Operand, Type),
    /// `[base+offset]`
    Address {
        /// The address.
        address: &'i Address,
        /// `.unified`
        unified: bool,
    },
}

impl<'i> Part<'i> {
    fn from_address(address: &'i Address) -> Self {
        Self::Address { address, unified: false }
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
        let (words, parts) = self.parts();
        for (index, word) in words.into_iter().enumerate() {
            write!(p.f, "{}{word}", if index == 0 { "" } else { "." })?;
        }
        for (index, part) in parts.into_iter().enumerate() {
            p.f.write_str(if index == 0 { " " } else { ", " })?;
            p.part(part)?;
        }
        Ok(())
    }

    /// The mnemonic with its modifiers, and the operands. A modifier may contain a dot.
    pub(crate) fn parts(&self) -> (Vec<&'static str>, Vec<Part<'_>>) {
        /// The words of an access: modifiers that may be absent, and the type.
        fn words<const N: usize>(
            base: &'static str,
            optional: [Option<&'static str>; N],
            ty: Type,
        ) -> Vec<&'static str> {
            std::iter::once(base).chain(optional.into_iter().flatten()).chain([ty.into()]).collect()
        }
        fn policy(cache: &Option<Cache>) -> Option<Part<'_>> {
            cache.as_ref().and_then(Cache::policy).map(|policy| Part::Operand(policy, Type::B64))
        }
        fn hint(cache: &Option<Cache>) -> Option<&'static str> {
            cache.as_ref().map(Cache::modifier)
        }
        match self {
            Self::Fence(Fence { sem, scope }) => {
                (["fence"].into_iter().chain(sem.map(Into::into)).chain([scope.into()]).collect(), Vec::new())
            }
            Self::Membar(level) => (vec!["membar", level.into()], Vec::new()),
            Self::Ld(Ld { sem, scope, space, cache, vec, ty, d, a, unified }) => {
                let sem = (*sem != LdSem::Plain).then(|| sem.into());
                let all = [sem, scope.map(Into::into), space.modifier(), hint(cache), vec.map(Into::into)];
                let parts = [Part::Operand(d, *ty), Part::Address { address: a, unified: *unified }];
                (words("ld", all, *ty), parts.into_iter().chain(policy(cache)).collect())
            }
            Self::St(St { sem, scope, space, cache, vec, ty, a, b }) => {
                let sem = (*sem != StSem::Plain).then(|| sem.into());
                let all = [sem, scope.map(Into::into), space.modifier(), hint(cache), vec.map(Into::into)];
                let parts = [Part::from_address(a), Part::Operand(b, *ty)];
                (words("st", all, *ty), parts.into_iter().chain(policy(cache)).collect())
            }
            Self::Atom(Atom { sem, scope, space, cache, op, noftz, vec, ty, d, a, b, c }) => {
                let (sem, scope, op) = (sem.map(Into::into), scope.map(Into::into), Some(op.into()));
                let noftz = noftz.then_some("noftz");
                let all = [sem, scope, space.modifier(), op, noftz, hint(cache), vec.map(Into::into)];
                let parts = [Part::Operand(d, *ty), Part::from_address(a), Part::Operand(b, *ty)];
                let third = c.as_ref().map(|c| Part::Operand(c, *ty));
                (words("atom", all, *ty), parts.into_iter().chain(third).chain(policy(cache)).collect())
            }
            Self::Red(Red { sem, scope, space, cache, op, noftz, vec, ty, a, b }) => {
                let (sem, scope, op) = (sem.map(Into::into), scope.map(Into::into), Some(op.into()));
                let noftz = noftz.then_some("noftz");
                let all = [sem, scope, space.modifier(), op, noftz, hint(cache), vec.map(Into::into)];
                let parts = [Part::from_address(a), Part::Operand(b, *ty)];
                (words("red", all, *ty), parts.into_iter().chain(policy(cache)).collect())
            }
            Self::Alu { op, ty, d, sources } => {
                let sources = sources.iter().enumerate();
                let sources = sources.map(|(index, source)| Part::Operand(source, op.source_type(*ty, index)));
                let d = Part::Operand(d, op.result_type(*ty));
                (vec![op.into(), ty.into()], std::iter::once(d).chain(sources).collect())
            }
            Self::Cvt { rn, to, from, d, a } => {
                let words = ["cvt"].into_iter().chain(rn.then_some("rn")).chain([to.into(), from.into()]);
                (words.collect(), vec![Part::Name(d), Part::Operand(a, *from)])
            }
            Self::Isspacep { space, p, a } => {
                (vec!["isspacep", space.into()], vec![Part::Name(p), Part::Operand(a, Type::B64)])
            }
            Self::Setp { cmp, ty, p, a, b } => {
                let parts = vec![Part::Name(p), Part::Operand(a, *ty), Part::Operand(b, *ty)];
                (vec!["setp", cmp.into(), ty.into()], parts)
            }
            Self::Bra { target } => (vec!["bra"], vec![Part::Name(target)]),
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

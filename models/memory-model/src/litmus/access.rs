//! Instructions that access memory.

use ptx_isa::{
    AtomOp, Type, VectorSize,
    syntax::{Operand as Written, Shape},
    takes,
};
use strum::IntoEnumIterator;

use super::{
    names::register,
    operand::{NONE, Reader, Wrong},
    shorthand::Direction,
    test::Dialect,
};
use crate::{
    place::Scope,
    program::{Address, RmwOp},
    ptx::{Instruction, Proxy, Sem, Semantics},
};

impl<'t> Reader<'_, 't> {
    pub(super) fn access(&mut self, proxy: Proxy, direction: Direction) -> Result<Instruction, Wrong> {
        let mnemonic = self.mnemonic();
        let found = self.modifiers(&self.of.modifiers, |_| true)?;
        let is_atomic = matches!(mnemonic, "atom" | "red");
        let sem = found.sem.unwrap_or(if is_atomic { Sem::Relaxed } else { Sem::Weak });
        let is_generic = proxy == Proxy::Generic;
        let possible = match sem {
            Sem::Weak => !is_atomic,
            Sem::Volatile => !is_atomic && is_generic,
            Sem::Relaxed => is_generic,
            Sem::Acquire => is_generic && (direction == Direction::Load || mnemonic == "atom"),
            Sem::Release => is_generic && direction == Direction::Store,
            Sem::AcqRel => mnemonic == "atom" || is_atomic && self.dialect == Dialect::Dat3m,
        };
        if !possible {
            return self.wrong(format!("PTX has no `{mnemonic}.{sem}`"));
        }
        let scope = self.scope(sem, found.scope, is_atomic)?;
        if found.mmio && (is_atomic || !is_generic || matches!(sem, Sem::Weak | Sem::Volatile)) {
            return self.wrong("`.mmio` is for strong `ld` and `st`");
        }
        if found.mmio && (scope != Scope::Sys || found.is_shared == Some(true)) {
            return self.wrong("`.mmio` needs `.sys`, and global memory");
        }
        self.cell.is_shared = found.is_shared;
        let access = Semantics { mmio: found.mmio, proxy, ..Semantics::new(sem, scope) };
        let ty = found.ty.unwrap_or(self.default);
        if !(8..=64).contains(&ty.bits()) {
            return self.wrong(format!("expected an access of 8 to 64 bits, found {}", ty.bits()));
        }
        if is_atomic {
            return match found.op {
                Some(RmwOp::Sub) if self.dialect == Dialect::Ptx => {
                    self.wrong(format!("PTX has no `{mnemonic}.{}`: add a negative number", RmwOp::Sub))
                }
                Some(op) if found.vec.is_none() => {
                    self.check_type(op)?;
                    self.atomic(op, ty, access)
                }
                _ => self.wrong(format!("`{mnemonic}` needs an operation")),
            };
        }
        if found.op.is_some() {
            return self.wrong(format!("`{mnemonic}` takes no operation"));
        }
        self.count(2)?;
        let [first, second] = [&self.of.operands[0], &self.of.operands[1]];
        match found.vec {
            Some(vec) => self.vector(vec, direction, ty, access),
            None if direction == Direction::Load => self.load(first, second, ty, access),
            None => self.store(first, second, ty, access),
        }
    }

    /// The scope of an access. It is optional for atomic operations.
    pub(super) fn scope(&self, sem: Sem, scope: Option<Scope>, is_atomic: bool) -> Result<Scope, Wrong> {
        match (sem, scope) {
            (Sem::Weak | Sem::Volatile, None) => Ok(Scope::Sys),
            (Sem::Weak | Sem::Volatile, Some(_)) => self.wrong(format!("`.{sem}` takes no scope")),
            (_, Some(scope)) => Ok(scope),
            (_, None) if is_atomic => Ok(Scope::Gpu),
            (_, None) => self.wrong(format!("`.{sem}` needs a scope")),
        }
    }

    fn load(&mut self, d: &Written<'t>, a: &Written<'t>, ty: Type, access: Semantics) -> Result<Instruction, Wrong> {
        let a = self.address_of(a, 2)?;
        Ok(Instruction::Load { d: self.register_of(d, 1)?, a, ty, access })
    }

    fn store(&mut self, a: &Written<'t>, b: &Written<'t>, ty: Type, access: Semantics) -> Result<Instruction, Wrong> {
        let a = self.address_of(a, 1)?;
        Ok(Instruction::Store { a, b: self.fitting(b, 2, ty)?, ty, access })
    }

    /// The elements of a vector access are at one address, or at an address each.
    fn vector(
        &mut self,
        vec: VectorSize,
        direction: Direction,
        ty: Type,
        access: Semantics,
    ) -> Result<Instruction, Wrong> {
        let elements = vec.elements();
        if elements == 8 && ty.bits() > 32 {
            return self.wrong(format!("PTX has no `.{vec}` of {} bits", ty.bits()));
        }
        let (values, addresses) = match direction {
            Direction::Load => (0, 1),
            Direction::Store => (1, 0),
        };
        let [values, addresses] = [values, addresses].map(|index| &self.of.operands[index]);
        let Shape::Vector(values) = &values.shape else { return self.wrong("a vector access takes a list in braces") };
        let listed = match &addresses.shape {
            Shape::Vector(listed) => Some(listed),
            _ => None,
        };
        if values.len() != elements || listed.is_some_and(|listed| listed.len() != elements) {
            return self.wrong(format!("a `.{vec}` access takes lists of {elements} elements"));
        }
        let mut instructions = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let a = match listed {
                Some(listed) => self.address_of(&listed[index], 1)?,
                None => {
                    let a = self.address_of(addresses, 1)?;
                    let by = i64::from(ty.bits() / 8) * index as i64;
                    Address { offset: a.offset.wrapping_add(by), ..a }
                }
            };
            instructions.push(match direction {
                Direction::Load if value.shape == Shape::Sink => {
                    Instruction::Load { d: register(self.thread(), "%_"), a, ty, access }
                }
                Direction::Load => Instruction::Load { d: self.register_of(value, 1)?, a, ty, access },
                Direction::Store => Instruction::Store { a, b: self.fitting(value, 2, ty)?, ty, access },
            });
        }
        Ok(Instruction::Vector(instructions))
    }

    /// Checks the type: each operation has a list of allowed types.
    pub(super) fn check_type(&self, op: RmwOp) -> Result<(), Wrong> {
        let typed = self.of.modifiers.iter().find_map(|word| Some((*word, word.text.parse::<Type>().ok()?)));
        let Some((word, ty)) = typed else { return Ok(()) };
        if !op.is_known(ty) {
            return self.wrong_at(word, format!("the model does not compute `.{op}.{ty}`: it has only integers"));
        }
        let taken = |ty: &Type| matches!(op, RmwOp::Atom(op) if takes(op, false, None, *ty).is_some());
        if self.dialect == Dialect::Dat3m || taken(&ty) {
            return Ok(());
        }
        let known = Type::iter().filter(|ty| taken(ty) && op.is_known(*ty) && ty.bits() <= 64);
        let known: Vec<String> = known.map(|ty| format!("`.{ty}`")).collect();
        self.wrong_at(word, format!("`.{op}` takes {}, not `.{ty}`", known.join(", ")))
    }

    fn atomic(&mut self, op: RmwOp, ty: Type, access: Semantics) -> Result<Instruction, Wrong> {
        let results = usize::from(self.mnemonic() == "atom");
        let sources = if op == AtomOp::Cas.into() { 2 } else { 1 };
        if results == 0 && matches!(op, RmwOp::Atom(AtomOp::Cas | AtomOp::Exch)) {
            return self.wrong(format!("PTX has no `red.{op}`"));
        }
        self.count(results + 1 + sources)?;
        let operands = &self.of.operands;
        let a = self.address(results)?;
        // A discarded result of an `atom` turns it into a `red` (section 9.7.13, `atom`).
        let d = match operands[0].shape {
            _ if results == 0 => None,
            Shape::Sink => None,
            _ => Some(self.register(0)?),
        };
        let b = self.fitting(&operands[results + 1], results + 2, ty)?;
        let c = if sources == 2 { self.fitting(&operands[results + 2], results + 3, ty)? } else { NONE };
        Ok(Instruction::Rmw { op, d, a, b, c, ty, access })
    }
}

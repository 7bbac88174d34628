//! A sequence under construction.

use crate::{
    ptx::{AluOp, Cmp, Instruction, Name, Operand, Statement, Type},
    sequence::Sequence,
};

/// Statements, and their registers, which are declared at the beginning.
#[derive(Default)]
pub struct Body {
    registers: Vec<(Type, Vec<Name>)>,
    statements: Vec<Statement>,
}

impl Body {
    /// Declares a register with this name. Its type is untyped bits or a predicate.
    pub fn register(&mut self, ty: Type, name: &'static str) -> Name {
        self.declare(ty, Name::new(name))
    }

    /// Declares registers `stem_a`, `stem_b` and so on. No name in a sequence ends with a digit, because LLVM's names
    /// do.
    pub fn registers(&mut self, ty: Type, stem: &str, count: usize) -> Vec<Name> {
        let letters = ('a'..='z').take(count);
        letters.map(|letter| self.declare(ty, Name(format!("{stem}_{letter}").into()))).collect()
    }

    fn declare(&mut self, ty: Type, name: Name) -> Name {
        let other_type = |(known, names): &(Type, Vec<Name>)| *known != ty && names.contains(&name);
        debug_assert!(!self.registers.iter().any(other_type), "one name, one type: {}", name.0);
        match self.registers.iter_mut().find(|(known, _)| *known == ty) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name.clone()),
            None => self.registers.push((ty, vec![name.clone()])),
        }
        name
    }

    pub fn push(&mut self, statement: impl Into<Statement>) {
        self.statements.push(statement.into());
    }

    pub fn label(&mut self, label: Name) {
        self.statements.push(Statement::Label(label));
    }

    pub fn alu<const N: usize>(&mut self, op: AluOp, ty: Type, d: &Name, sources: [Operand; N]) {
        self.push(alu(op, ty, d, sources));
    }

    pub fn mov(&mut self, ty: Type, d: &Name, source: Operand) {
        self.alu(AluOp::Mov, ty, d, [source]);
    }

    pub fn cvt(&mut self, to: Type, from: Type, d: &Name, a: Operand) {
        self.push(Instruction::Cvt { rn: false, to, from, d: d.clone(), a });
    }

    /// Unpacks a register into registers of equal width.
    pub fn unpack(&mut self, ty: Type, elements: &[Name], source: Operand) {
        let d = Operand::Vector(elements.iter().map(register).collect());
        self.push(Instruction::Alu { op: AluOp::Mov, ty, d, sources: vec![source] });
    }

    /// Packs registers of equal width into a register.
    pub fn pack(&mut self, ty: Type, d: &Name, elements: &[Name]) {
        self.mov(ty, d, Operand::Vector(elements.iter().map(register).collect()));
    }

    /// Compares two operands, and sets a predicate with this name.
    pub fn test(&mut self, name: &'static str, cmp: Cmp, ty: Type, a: Operand, b: Operand) -> Name {
        let p = self.register(Type::Pred, name);
        self.push(setp(cmp, ty, &p, a, b));
        p
    }

    pub fn finish(self) -> Sequence {
        let declarations = self.registers.into_iter().map(|(ty, names)| Statement::Reg { ty, names });
        declarations.chain(self.statements).collect()
    }
}

pub fn register(name: &Name) -> Operand {
    Operand::Register(name.clone())
}

pub fn alu<const N: usize>(op: AluOp, ty: Type, d: &Name, sources: [Operand; N]) -> Statement {
    Instruction::Alu { op, ty, d: register(d), sources: sources.into() }.into()
}

pub fn setp(cmp: Cmp, ty: Type, p: &Name, a: Operand, b: Operand) -> Statement {
    Instruction::Setp { cmp, ty, p: p.clone(), a, b }.into()
}

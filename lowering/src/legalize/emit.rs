//! Memory instructions in the forms that the target supports.
//!
//! The memory model begins with sm_70. Before it, accesses are volatile and `membar` carries the ordering. `atom` has a
//! scope only from sm_60 on ('PTX ISA', sections on `ld`, `membar` and `atom`).

use super::{body::Body, change::Change};
use crate::{
    abi::Step,
    op::Access,
    ptx::{
        Address, Atom, AtomOp, AtomSem, Fence, FenceSem, Form, Instruction, Ld, LdSem, MembarLevel, Name, Operand,
        Scope, Space, St, StSem, Target, Type, VectorSize,
    },
    sequence::{A, B, D},
};

/// A form of `atom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomForm {
    pub op: AtomOp,
    pub noftz: bool,
    pub vec: Option<VectorSize>,
    pub ty: Type,
}

impl AtomForm {
    pub fn new(op: AtomOp, ty: Type) -> Self {
        Self { op, noftz: false, vec: None, ty }
    }

    pub fn exists_on(self, target: &Target) -> bool {
        target.meets(Form::Atom(self.op, self.noftz, self.vec, self.ty).requirement())
    }
}

/// The operands of an `atom`, named as in the manual: `atom d, [base], b, c`.
pub struct AtomOperands {
    pub d: Operand,
    pub base: Name,
    /// The offset in bytes.
    pub offset: i64,
    pub b: Operand,
    /// The new value of a `cas`.
    pub c: Option<Operand>,
}

/// The settings that all instructions of one lowering share.
pub struct Emit<'a> {
    pub scope: Scope,
    pub target: &'a Target,
    pub access: Option<Access>,
    /// Whether volatile accesses to global memory are `.mmio`.
    pub mmio: bool,
}

/// The qualifier of a load or store.
enum Qualifier {
    /// The semantics and scope from the row.
    Semantics,
    Volatile,
    Mmio,
}

impl Emit<'_> {
    pub fn access(&self) -> Access {
        self.access.expect("a row with ld, st or atom belongs to an operation that accesses memory")
    }

    /// The untyped PTX type of the value in memory.
    pub fn bits(&self) -> Type {
        bits(self.access().ty.bits())
    }

    /// Whether the target has the memory model.
    pub fn has_semantics(&self) -> bool {
        self.target.meets(Form::Semantics.requirement())
    }

    fn qualifier(&self) -> Qualifier {
        let Access { space, volatile, .. } = self.access();
        match volatile {
            true if self.mmio && space == Space::Global => Qualifier::Mmio,
            false if self.has_semantics() => Qualifier::Semantics,
            _ => Qualifier::Volatile,
        }
    }

    pub fn fence(&self, sem: FenceSem) -> Instruction {
        if self.has_semantics() {
            return Instruction::Fence(Fence { sem: Some(sem), scope: self.scope });
        }
        Instruction::Membar(match self.scope {
            Scope::Cta => MembarLevel::Cta,
            Scope::Cluster | Scope::Gpu => MembarLevel::Gl,
            Scope::Sys => MembarLevel::Sys,
        })
    }

    pub fn ld(&self, sem: LdSem, ty: Type, d: Name, base: Name) -> Instruction {
        let (sem, scope) = match self.qualifier() {
            Qualifier::Semantics => (sem, Some(self.scope)),
            Qualifier::Volatile => (LdSem::Volatile, None),
            Qualifier::Mmio => (LdSem::MmioRelaxed, Some(Scope::Sys)),
        };
        self.load(sem, scope, ty, d, base)
    }

    pub fn st(&self, sem: StSem, ty: Type, b: Name) -> Instruction {
        let (sem, scope) = match self.qualifier() {
            Qualifier::Semantics => (sem, Some(self.scope)),
            Qualifier::Volatile => (StSem::Volatile, None),
            Qualifier::Mmio => (StSem::MmioRelaxed, Some(Scope::Sys)),
        };
        self.store(sem, scope, ty, b)
    }

    /// A load of memory that no other thread accesses.
    pub fn plain_ld(&self, ty: Type, d: Name) -> Instruction {
        self.load(LdSem::Plain, None, ty, d, A)
    }

    /// A store to memory that no other thread accesses.
    pub fn plain_st(&self, ty: Type, b: Name) -> Instruction {
        self.store(StSem::Plain, None, ty, b)
    }

    fn load(&self, sem: LdSem, scope: Option<Scope>, ty: Type, d: Name, base: Name) -> Instruction {
        let (space, d, a) = (self.access().space, Operand::Register(d), Address { base, offset: 0 });
        Instruction::Ld(Ld { sem, scope, space, cache: None, vec: None, ty, d, a, unified: false })
    }

    fn store(&self, sem: StSem, scope: Option<Scope>, ty: Type, b: Name) -> Instruction {
        let (space, b, a) = (self.access().space, Operand::Register(b), Address { base: A, offset: 0 });
        Instruction::St(St { sem, scope, space, cache: None, vec: None, ty, a, b })
    }

    pub fn atom(&self, sem: AtomSem, form: AtomForm, operands: AtomOperands) -> Instruction {
        let AtomForm { op, noftz, vec, ty } = form;
        let AtomOperands { d, base, offset, b, c } = operands;
        let scope = self.target.meets(Form::AtomScope.requirement()).then_some(self.scope);
        let (sem, space, a) = (self.has_semantics().then_some(sem), self.access().space, Address { base, offset });
        Instruction::Atom(Atom { sem, scope, space, cache: None, op, noftz, vec, ty, d, a, b, c })
    }

    /// Emits the steps of an rmw's row, with its `atom` replaced by `access`.
    pub fn around(&self, steps: &[Step], body: &mut Body, mut access: impl FnMut(&mut Body, AtomSem)) {
        for step in steps {
            match step {
                Step::Fence(sem) => body.push(self.fence(*sem)),
                Step::Atom(sem) => access(body, *sem),
                Step::Ld(_) | Step::St(_) => unreachable!("the rows of an rmw have an atom"),
            }
        }
    }

    /// Emits the steps of an rmw's row, with an `atom` on the slots.
    pub fn atoms(&self, form: AtomForm, steps: &[Step], body: &mut Body, b: Operand, c: Option<Operand>) {
        self.around(steps, body, |body, sem| {
            body.push(self.atom(
                sem,
                form,
                AtomOperands { d: Operand::Register(D), base: A, offset: 0, b: b.clone(), c: c.clone() },
            ));
        });
    }

    /// The change of a volatile access. `plain` is true for an `ld` or `st`.
    pub fn volatile_change(&self, plain: bool) -> Change {
        match self.qualifier() {
            _ if !plain => Change::VolatileAtom,
            Qualifier::Mmio => Change::Mmio,
            _ => Change::Volatile,
        }
    }

    /// Emits a step of a row whose access is `ld` or `st`, or a fence of any row.
    pub fn plain_step(&self, step: Step) -> Instruction {
        match step {
            Step::Fence(sem) => self.fence(sem),
            Step::Ld(sem) => self.ld(sem, self.bits(), D, A),
            Step::St(sem) => self.st(sem, self.bits(), B),
            Step::Atom(_) => unreachable!("the rows of loads and stores have no atom"),
        }
    }
}

/// The untyped PTX type of this width in bits.
pub fn bits(width: u32) -> Type {
    match width {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        _ => Type::B128,
    }
}

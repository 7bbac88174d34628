//! Programs in the form in which the machine executes them: the code of all functions in one list.

mod decode;
mod fast;
mod touched;

use std::collections::BTreeMap;

use ptx_isa::{
    Asynchronous, Fence, InstPlace, Reduction, Role, Scope, Sem, Sm, Space, Special, TextureForm, Type,
    arithmetic::{Computation, Rmw},
    flat::AccessKind,
    operation::{self, RegisterChange},
};
use rustc_hash::FxHashSet;

pub use self::{
    decode::decode,
    fast::{Column, Fast, LANES},
    touched::is_wgmma,
};
use crate::{
    matrix::{
        element::Unsupported,
        ldmatrix::LdMatrix,
        mma::Mma,
        wmma::{Wmma, WmmaFragment},
    },
    report::SiteKind,
};

/// A register of a function: its first word of 64 bits.
pub type Reg = u32;
/// The number of a step.
pub type Pc = u32;

/// A source operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Reg(Reg),
    /// The negation of a predicate.
    Not(Reg),
    /// A number.
    Number(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable in local memory, relative to the function's local memory.
    Local(i64),
    /// The generic address of a parameter in local memory, relative to the function's local memory.
    Param(i64),
    /// `_`
    Nothing,
}

/// An address: a base, and an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: Source,
    /// The offset in bytes.
    pub offset: i64,
}

/// A computation that each lane performs on its own operands.
#[derive(Clone, Debug)]
pub struct Compute {
    /// The computation.
    pub of: Computation,
    /// The implementation of the computation for whole warps, if there is one.
    pub fast: Option<Fast>,
    /// The results.
    pub results: [Option<Reg>; 2],
    /// If the first result is signed and narrower than its register: its type, and the bits of the register.
    pub fills: Option<(Type, u32)>,
    /// The operands. The first `count` are used.
    pub sources: [Source; 5],
    /// The number of operands.
    pub count: usize,
}

/// An access of memory.
#[derive(Clone, Debug)]
pub struct DecodedAccess {
    /// The kind of instruction.
    pub kind: AccessKind,
    pub address: Address,
    /// The state space.
    pub space: Space,
    /// The type of an element. `results` or `data` give the number of elements.
    pub ty: Type,
    /// The size of an element in bytes.
    pub bytes: u64,
    /// The scope of a strong access.
    pub strong: Option<Scope>,
    /// The memory ordering of the access.
    pub sem: Sem,
    /// Whether the program declares that the memory is not written while the kernel runs.
    pub is_read_only: bool,
    /// The operation of `atom` and `red`.
    pub rmw: Option<Rmw>,
    /// The registers of the loaded elements. An element of 128 bits has two words.
    pub results: Vec<Option<(Reg, u32)>>,
    /// The stored elements.
    pub data: Vec<Source>,
    /// The new value of `cas`.
    pub swap: Option<Source>,
}

/// A call of a function of the module.
#[derive(Clone, Debug)]
pub struct Invoke {
    /// The called function.
    pub callee: Callee,
    /// The arguments.
    pub arguments: Vec<Passed>,
    /// The destinations of the results.
    pub results: Vec<Passed>,
}

/// The target of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function, by its number.
    Function(usize),
    /// The function whose address is in a register.
    Register(Reg),
    /// A function of the runtime, or a function without code: its name.
    Outside(String),
}

/// An argument, a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A value.
    Value(Source),
    /// Bytes in local memory: their offset in the function's local memory, and their number.
    Memory(i64, u64),
}

/// `bar` and `barrier` of a CTA.
#[derive(Clone, Debug)]
pub struct Barrier {
    pub id: Source,
    pub threads: Option<Source>,
    pub waits: bool,
    pub reduces: Option<(Reduction, Source)>,
    /// Whether all threads of a warp must execute it together.
    pub aligned: bool,
}

/// An operation that the lanes of a mask execute together, and its operands.
#[derive(Clone, Debug)]
pub enum Collective {
    Of(operation::Collective, [Source; 3]),
    Barrier,
}

/// The effect of a step.
#[derive(Clone, Debug)]
pub enum Op {
    Nothing,
    Compute(Box<Compute>),
    /// Packs values of the given number of bits into one register of one or two words.
    Pack(Reg, u32, Vec<Source>, u32),
    Unpack(Vec<Option<Reg>>, Source, u32),
    /// Moves a register of 128 bits.
    Move128(Reg, Source),
    /// Assigns values to the registers of a vector simultaneously.
    Moves(Vec<(Option<Reg>, Source)>),
    Access(Box<DecodedAccess>),
    /// Loads from a parameter of the kernel.
    Parameter(Vec<Option<(Reg, u32)>>, u32, Type),
    Jump(Pc),
    JumpIndexed(Source, Vec<Pc>),
    Invoke(Box<Invoke>),
    Return,
    Exit,
    Trap,
    Barrier(Box<Barrier>, Option<Reg>),
    Collective(Box<Collective>, Option<Source>, Vec<Option<Reg>>),
    Activemask(Reg),
    Fence(Fence),
    /// Converts to (or from) a generic address.
    Cvta {
        d: Reg,
        space: Space,
        to: bool,
        a: Source,
    },
    Isspacep {
        d: Reg,
        space: Space,
        a: Source,
    },
    Mapa {
        d: Reg,
        space: Space,
        a: Source,
        rank: Source,
    },
    Getctarank {
        d: Reg,
        space: Space,
        a: Source,
    },
    Alloca {
        d: Reg,
        bytes: Source,
        align: Source,
    },
    Stack {
        d: Option<Reg>,
        a: Source,
    },
    Asynchronous(Box<Operation>),
    Matrix(Box<Matrix>),
    Texture(Box<TextureAccess>),
    Grid(GridControl),
    /// `setmaxnreg`: the new number of registers.
    Setmaxnreg(RegisterChange, Source),
    Unsupported(String),
}

/// `griddepcontrol`
#[derive(Clone, Copy, Debug)]
pub enum GridControl {
    /// Waits for the earlier grids.
    Wait,
    /// Lets dependent grids start.
    Trigger,
}

/// An asynchronous operation, with its operands by their roles.
#[derive(Clone, Debug)]
pub struct Operation {
    pub form: Asynchronous,
    pub arguments: Vec<(Role, Given)>,
}

impl Operation {
    /// The operand of a role.
    pub fn given(&self, role: Role) -> Option<&Given> {
        self.arguments.iter().find(|(own, _)| *own == role).map(|(_, given)| given)
    }

    /// The register of a role, if the operand is a register.
    pub fn register(&self, role: Role) -> Option<Reg> {
        match self.given(role) {
            Some(Given::One(Source::Reg(register))) => Some(*register),
            _ => None,
        }
    }

    /// All sources of a role.
    pub fn many(&self, role: Role) -> &[Source] {
        match self.given(role) {
            Some(Given::Many(sources)) => sources,
            Some(Given::One(source)) => std::slice::from_ref(source),
            _ => &[],
        }
    }
}

/// An operand of an asynchronous operation.
#[derive(Clone, Debug)]
pub enum Given {
    One(Source),
    Address(Address),
    Tensor(Source, Vec<Source>),
    Many(Vec<Source>),
}

/// An instruction on a texture or a surface.
#[derive(Clone, Debug)]
pub struct TextureAccess {
    /// Its form; `None` if the machine does not have it.
    pub form: Option<TextureForm>,
    /// The mnemonic with its modifiers, for reports.
    pub mnemonic: String,
    /// The handle of the texture or surface.
    pub object: Source,
    /// The index of the layer, if the geometry has layers, and the coordinates.
    pub place: Vec<Source>,
    /// The registers of the results.
    pub results: Vec<Option<Reg>>,
    /// The access of a surface's memory, without its address.
    pub memory: DecodedAccess,
}

/// A matrix instruction in the form in which it is computed.
#[derive(Clone, Debug)]
pub enum MatrixCode {
    Mma(Mma),
    Wmma(Wmma),
    /// `wmma.load` and `wmma.store`.
    Fragment {
        of: WmmaFragment,
        by_rows: bool,
        is_store: bool,
    },
    Ldmatrix(LdMatrix),
    Stmatrix(LdMatrix),
    Movmatrix,
}

/// A matrix instruction: its form, if the machine can compute it, with its results and operands.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub code: Result<MatrixCode, Unsupported>,
    pub space: Space,
    pub results: Vec<Option<Reg>>,
    pub operands: Vec<Given>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// The instruction of the module.
    pub at: InstPlace,
    /// The kind of the instruction, for reports.
    pub kind: SiteKind,
    /// The predicate of the guard, and its required value.
    pub guard: Option<(Reg, bool)>,
    /// The effect.
    pub op: Op,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    pub entry: Pc,
    pub registers: u32,
    /// The size of its local memory, for its variables and the parameters of its calls.
    pub local: u64,
    pub parameters: Vec<Passed>,
    pub results: Vec<Passed>,
}

/// A module in executable form, for one kernel.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
    pub functions: Vec<Function>,
    /// The size of static shared memory, which is the offset of dynamic shared memory.
    pub shared: u64,
    /// Variables in shared memory: their offsets, sizes and names.
    pub shared_names: Vec<(u64, u64, String)>,
    /// Variables in constant memory.
    pub constants: Constants,
    /// The kernel's parameters.
    pub parameters: Vec<Parameter>,
    /// Whether any instruction goes through the async proxy.
    pub is_asynchronous: bool,
    /// Whether the program has a `wgmma`. If so, `touched` gives the registers that each step reads and writes.
    pub multiplies: bool,
    pub touched: Vec<(Vec<Reg>, Vec<Reg>)>,
    /// Whether addresses of mbarriers are masked by an `and` that clears the bit that distinguishes the CTAs of a pair,
    /// as in CUTLASS.
    pub masks_peers: bool,
    /// Whether a barrier waits only for threads that have not exited.
    pub barriers_skip_exited: bool,
    /// The GPU that the module is for, if it names one.
    pub sm: Option<Sm>,
    /// Whether the lanes of a warp execute in lock step.
    pub is_lock_step: bool,
    /// Whether threads arrive at a barrier without waiting: `bar.arrive`.
    pub arrives_early: bool,
    /// By line of PTX, the line of the source.
    pub places: ptx_isa::Places,
    /// The mnemonics of the instructions, for reports.
    pub mnemonics: rustc_hash::FxHashMap<InstPlace, String>,
}

/// Variables in constant memory, whose addresses may have 32 bits: the 32-bit address, the size, and the full address
/// of each variable.
#[derive(Clone, Debug, Default)]
pub struct Constants(Vec<(u64, u64, u64)>);

impl Step {
    /// Whether all threads of a warp must execute the instruction together.
    pub fn is_aligned(&self) -> bool {
        match &self.op {
            Op::Barrier(of, _) => of.aligned,
            Op::Asynchronous(of) => of.form.has("aligned"),
            Op::Matrix(_) | Op::Setmaxnreg(..) => true,
            _ => false,
        }
    }
}

impl Program {
    /// The steps of pairs of instructions. An instruction may have several steps.
    pub fn pairs(&self, pairs: &[[InstPlace; 2]]) -> FxHashSet<(Pc, Pc)> {
        if pairs.is_empty() {
            return FxHashSet::default();
        }
        let mut steps: BTreeMap<InstPlace, Vec<Pc>> = BTreeMap::new();
        for (pc, step) in (0..).zip(&self.steps) {
            steps.entry(step.at).or_default().push(pc);
        }
        let of = |at: &InstPlace| steps.get(at).into_iter().flatten().copied();
        pairs
            .iter()
            .flat_map(|[one, other]| of(one).flat_map(move |one| of(other).map(move |other| (one, other))))
            .collect()
    }

    /// Whether all threads of a warp must execute the instruction of a step together.
    pub fn is_aligned(&self, pc: Pc) -> bool {
        self.steps.get(pc as usize).is_some_and(Step::is_aligned)
    }

    /// Whether the module's GPU has clusters of CTAs: from sm_90 on.
    pub fn has_clusters(&self) -> bool {
        self.sm.is_none_or(|sm| sm.number() >= 90)
    }
}

impl Constants {
    /// The first address. No variable has the address 0.
    const FIRST: u64 = 256;

    /// Assigns a 32-bit address to a variable.
    pub fn add(&mut self, bytes: u64, at: u64) {
        if self.short(at).is_none() {
            let end = self.0.last().map_or(Self::FIRST, |(start, bytes, _)| start.saturating_add(*bytes));
            self.0.push((end.next_multiple_of(Self::FIRST), bytes, at));
        }
    }

    /// The 32-bit address of an address in a variable, or just after its last byte.
    pub fn short(&self, address: u64) -> Option<u64> {
        let (start, _, at) = self.0.iter().find(|(_, bytes, at)| address >= *at && address - at <= *bytes)?;
        Some(start + (address - at))
    }

    /// The full address of an address that may have 32 bits.
    pub fn long(&self, address: u64) -> u64 {
        let found = self.0.iter().rev().find(|(start, ..)| address >> 32 == 0 && address >= *start);
        found.map_or(address, |(start, _, at)| at + (address - start))
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The offset from the beginning of all parameters.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// Whether it is declared as a pointer.
    pub is_pointer: bool,
    /// Whether the type is a floating-point type.
    pub is_float: bool,
}

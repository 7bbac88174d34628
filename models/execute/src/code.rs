//! Programs in the form in which they are executed: the code of all functions in one list.

mod decode;
mod fast;
mod touched;

use ptx_isa::{
    Asynchronous, Fence, InstPlace, Reduction, Role, Scope, Sem, Sm, Space, Special, Type,
    arithmetic::{Computation, Rmw},
    flat::AccessKind,
    operation,
};

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

/// A value that an instruction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Reg(Reg),
    /// The opposite of a predicate.
    Not(Reg),
    /// A number.
    Number(u64),
    /// A special register.
    Special(Special),
    /// The address of a variable in local memory: from the beginning of the function's own.
    Local(i64),
    /// The generic address of the same: of a parameter.
    Param(i64),
    /// `_`
    Nothing,
}

/// An address: a base, and an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where.
    pub base: Source,
    /// In bytes.
    pub offset: i64,
}

/// Something is computed, for each lane by itself.
#[derive(Clone, Debug)]
pub struct Compute {
    /// What.
    pub of: Computation,
    /// The same on whole warps, if it is one of those.
    pub fast: Option<Fast>,
    /// The results.
    pub results: [Option<Reg>; 2],
    /// Where the first result has a sign and its register more bits: its type, and the bits of the register.
    pub fills: Option<(Type, u32)>,
    /// The operands; as many as `count` are there.
    pub sources: [Source; 5],
    /// How many operands there are.
    pub count: usize,
}

/// Memory is accessed.
#[derive(Clone, Debug)]
pub struct Access {
    /// By which instruction.
    pub kind: AccessKind,
    /// Where.
    pub address: Address,
    /// The state space.
    pub space: Space,
    /// The type of an element, and how many there are.
    pub ty: Type,
    /// The bytes of an element.
    pub bytes: u64,
    /// The scope of a strong access.
    pub strong: Option<Scope>,
    /// Its semantics.
    pub sem: Sem,
    /// Whether the program says that the memory is not written while the kernel runs.
    pub is_read_only: bool,
    /// What `atom` and `red` do.
    pub rmw: Option<Rmw>,
    /// What is loaded: of 128 bits, two words.
    pub results: Vec<Option<(Reg, u32)>>,
    /// What is stored: the elements.
    pub data: Vec<Source>,
    /// Of `cas`, the new value.
    pub swap: Option<Source>,
}

/// A call of a function of the module.
#[derive(Clone, Debug)]
pub struct Invoke {
    /// The function, or where its address is.
    pub callee: Callee,
    /// What is passed.
    pub arguments: Vec<Passed>,
    /// Where results go.
    pub results: Vec<Passed>,
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function, by its number.
    Function(usize),
    /// The one of which a register has the address.
    Register(Reg),
    /// One of the runtime's, or of which there is no code: its name.
    Outside(String),
}

/// An argument, a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// A value.
    Value(Source),
    /// Bytes in local memory, from the beginning of the function's own: where, and how many.
    Memory(i64, u64),
}

/// `bar` and `barrier`, of a CTA.
#[derive(Clone, Debug)]
pub struct Barrier {
    pub id: Source,
    pub threads: Option<Source>,
    pub waits: bool,
    pub reduces: Option<(Reduction, Source)>,
    /// Whether all threads of a warp must execute it together.
    pub aligned: bool,
}

/// An operation of the lanes of a mask together, and its operands.
#[derive(Clone, Debug)]
pub enum Collective {
    Of(operation::Collective, [Source; 3]),
    Barrier,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Op {
    Nothing,
    Compute(Box<Compute>),
    /// Values of so many bits each into one register of one or two words.
    Pack(Reg, u32, Vec<Source>, u32),
    Unpack(Vec<Option<Reg>>, Source, u32),
    /// A register of 128 bits.
    Move128(Reg, Source),
    /// Each register becomes a value: a vector as a whole.
    Moves(Vec<(Option<Reg>, Source)>),
    Access(Box<Access>),
    /// Bytes of a parameter of the kernel.
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
    /// To (or from) a generic address.
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
    /// Textures and surfaces hold zeros: registers that become 0, and the instruction.
    Texture(Vec<Option<Reg>>, String),
    /// It waits for the grids in front.
    GridWait,
    Unsupported(String),
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

    /// The register of a role, where it is one.
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

/// A matrix instruction: its form, if it is computed, with its results and operands.
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
    /// A predicate, and what it must be.
    pub guard: Option<(Reg, bool)>,
    /// What it does.
    pub op: Op,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    pub entry: Pc,
    pub registers: u32,
    /// Bytes of local memory, of its variables and parameters of calls.
    pub local: u64,
    pub parameters: Vec<Passed>,
    pub results: Vec<Passed>,
}

/// A module in the form in which it is executed, for one kernel.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
    pub functions: Vec<Function>,
    /// Bytes of static shared memory, and where dynamic shared memory begins.
    pub shared: u64,
    /// Variables in shared memory: where, how many bytes, and their names.
    pub shared_names: Vec<(u64, u64, String)>,
    /// Variables in constant memory.
    pub constants: Constants,
    /// Bytes of the kernel's parameters.
    pub parameters: Vec<Parameter>,
    /// Whether anything goes through the async proxy.
    pub is_asynchronous: bool,
    /// Whether there is a `wgmma`, and then by step the registers that it reads and writes.
    pub multiplies: bool,
    pub touched: Vec<(Vec<Reg>, Vec<Reg>)>,
    /// Whether addresses of mbarriers lose the bit that tells the CTAs of a pair apart, as CUTLASS does it: `and` with this.
    pub masks_peers: bool,
    /// Whether a barrier waits for the threads that have not exited alone.
    pub barriers_skip_exited: bool,
    /// The GPU that the module is for, if it names one.
    pub sm: Option<Sm>,
    /// Whether a barrier has arrivals of threads that go on: `bar.arrive`.
    pub arrives_early: bool,
    /// By line of PTX, the line of the source.
    pub places: ptx_isa::Places,
    /// The mnemonics of the instructions, for reports.
    pub mnemonics: rustc_hash::FxHashMap<InstPlace, String>,
}

/// Constant memory, of which addresses may have 32 bits: where each variable begins in these, its bytes, and where it begins in all memory.
#[derive(Clone, Debug, Default)]
pub struct Constants(Vec<(u64, u64, u64)>);

impl Program {
    /// Whether its GPU has clusters of CTAs: from sm_90 on.
    pub fn has_clusters(&self) -> bool {
        self.sm.is_none_or(|sm| sm.number() >= 90)
    }
}

impl Constants {
    /// No variable begins at the address 0.
    const FIRST: u64 = 256;

    /// Gives a variable an address of 32 bits.
    pub fn add(&mut self, bytes: u64, at: u64) {
        if self.short(at).is_none() {
            let end = self.0.last().map_or(Self::FIRST, |(start, bytes, _)| start.saturating_add(*bytes));
            self.0.push((end.next_multiple_of(Self::FIRST), bytes, at));
        }
    }

    /// The address of 32 bits, if an address is in a variable, or after its last byte.
    pub fn short(&self, address: u64) -> Option<u64> {
        let (start, _, at) = self.0.iter().find(|(_, bytes, at)| address >= *at && address - at <= *bytes)?;
        Some(start + (address - at))
    }

    /// The address in all memory of one that may have 32 bits.
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
    /// Where it is, from the beginning of all parameters.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// Whether it is declared as a pointer.
    pub is_pointer: bool,
    /// Whether it is a number of floating point.
    pub is_float: bool,
}

//! The code of a function in one list: the functions that it calls stand in place of their calls, operations have types, and
//! registers, variables and labels are numbers. What executes a function, models it or follows its values reads this.
//!
//! ```
//! use ptx_isa::{Module, flat::{Action, Flat, Library, Limits}};
//!
//! let module: Module = "
//!     .version 8.6
//!     .target sm_90
//!     .func next(.param .b64 p) {
//!         .reg .b64 %rd<2>;
//!         ld.param.u64 %rd1, [p];
//!         red.global.add.u32 [%rd1], 1;
//!         ret;
//!     }
//!     .visible .entry count(.param .u64 counter) {
//!         .reg .b64 %rd<2>;
//!         ld.param.u64 %rd1, [counter];
//!         { .param .b64 to; st.param.b64 [to], %rd1; call.uni next, (to); }
//!         ret;
//!     }".parse()?;
//! let count = module.functions().find(|function| function.name == "count").ok_or("no function")?;
//! let flat = Flat::of(&Library::of(&module), count, Limits::default());
//! assert!(flat.steps.iter().any(|step| matches!(&step.action, Action::Access(access) if access.writes)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cfg;
mod inline;
mod read;
mod typed;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub use self::cfg::{BasicBlock, Cfg};
use crate::{
    asynchronous::{Asynchronous, Role},
    declaration::{Head, Variable},
    inst::InstPlace,
    instruction::Fence,
    matrix::MatrixForm,
    module::{Code, Function, Item, Module},
    operation::Operation,
    runtime::Runtime,
    special::Special,
    target::Sm,
    word::{AtomOp, Reduction, Scope, Sem, Space, Type},
};

/// The number of a register in [`Flat::registers`].
pub type Register = usize;
/// The number of a variable in [`Flat::symbols`].
pub type Symbol = usize;
/// The number of a label in [`Flat::labels`].
pub type Label = usize;

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// The opposite of a predicate.
    Not(Register),
    /// A constant: its bits.
    Constant(i64),
    /// The address of a variable.
    Symbol(Symbol),
    /// A special register, or an element of one.
    Special(Special),
    /// `[base+offset]`, and without brackets the sum.
    Address(Box<Operand>, i64),
    /// `[map, {x, y}]`: the address of a tensor map, and a place in the tensor.
    Tensor(Box<Operand>, Vec<Operand>),
    /// `{…}`, and the parts of a fabric handle `[endpoint, offset]`.
    Vector(Vec<Operand>),
    /// `_`, or what is not read here.
    Nothing,
}

impl Operand {
    /// Shows the operand, and then each operand in it.
    pub fn visit<'o>(&'o self, see: &mut impl FnMut(&'o Self)) {
        see(self);
        match self {
            Self::Address(base, _) => base.visit(see),
            Self::Tensor(base, place) => {
                base.visit(see);
                place.iter().for_each(|element| element.visit(see));
            }
            Self::Vector(elements) => elements.iter().for_each(|element| element.visit(see)),
            Self::Register(_)
            | Self::Not(_)
            | Self::Constant(_)
            | Self::Symbol(_)
            | Self::Special(_)
            | Self::Nothing => {}
        }
    }

    /// The registers in it.
    pub fn registers(&self) -> Vec<Register> {
        let mut all = Vec::new();
        self.visit(&mut |operand| match operand {
            Self::Register(register) | Self::Not(register) => all.push(*register),
            _ => {}
        });
        all
    }
}

/// Which instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`, `ldu`
    Ld,
    /// `st`
    St,
    /// `atom`
    Atom,
    /// `red`
    Red,
    /// `ldmatrix`, `stmatrix`, and those of `wmma`
    Matrix,
    /// `discard`: memory may have anything then, as after a weak write.
    Discard,
}

/// How many bytes `discard` is for.
const DISCARDED: u64 = 128;

/// An access of memory by an instruction that is not asynchronous. What it reads stands in [`Step::writes`].
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The instruction.
    pub kind: AccessKind,
    /// Where: an [`Operand::Address`].
    pub address: Operand,
    /// The state space, by a modifier or by the variable that the address names; without one it is the generic one.
    pub space: Option<Space>,
    /// The type of one element.
    pub ty: Option<Type>,
    /// How many elements there are.
    pub elements: u32,
    /// Without a modifier, `atom` and `red` are relaxed and others weak.
    pub sem: Sem,
    /// The scope that is written.
    pub scope: Option<Scope>,
    /// `.mmio`
    pub mmio: bool,
    /// `.nc` and `ldu`: the program says that the memory is not written while the kernel runs, so that no order counts.
    pub is_read_only: bool,
    /// Whether it is in parameter space, at an address in a register, which [`Flat::alone`] has.
    pub is_parameter: bool,
    /// Whether the instruction names its state space.
    pub names_space: bool,
    /// What `atom` and `red` do.
    pub op: Option<AtomOp>,
    /// The form of a matrix instruction.
    pub matrix: Option<Box<MatrixForm>>,
    /// `.noftz`: subnormal numbers are kept.
    pub keeps_subnormals: bool,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
    /// What it writes, or computes with; of `cas`, the expected value stands first.
    pub data: Vec<Operand>,
}

impl Access {
    /// The number of bytes from the address on, of one thread.
    pub fn bytes(&self) -> Option<u64> {
        match self.kind {
            // Each thread gives the address of a row.
            AccessKind::Matrix => Some(16).filter(|_| self.ty.is_some()),
            AccessKind::Discard => Some(DISCARDED),
            _ => self.ty.map(|ty| u64::from(ty.bits()).div_ceil(8) * u64::from(self.elements)),
        }
    }

    /// The number of bytes of each access that it counts as: an element of a vector, or of a packed type (sections 8.2.4 and 8.2.5).
    pub fn element_bytes(&self) -> Option<u64> {
        let ty = self.ty.filter(|_| self.kind != AccessKind::Matrix)?;
        Some(u64::from(ty.element().unwrap_or(ty).bits()).div_ceil(8))
    }

    /// Whether no other thread has this memory, or nobody writes it.
    pub fn is_private(&self) -> bool {
        matches!(self.space, Some(Space::Local | Space::Const))
    }

    /// Of an access that is strong (section 8.6), its scope.
    pub fn strong(&self) -> Option<Scope> {
        let default = if self.sem == Sem::Volatile || self.mmio { Scope::Sys } else { Scope::Gpu };
        (self.sem != Sem::Weak).then(|| self.scope.unwrap_or(default))
    }
}

/// `bar`, `barrier` and `bar.warp`; those of a cluster are asynchronous.
#[derive(Clone, Debug, PartialEq)]
pub struct Barrier {
    /// Whether it is a barrier of a warp.
    pub warp: bool,
    /// Which barrier of the CTA it is; of a warp, its mask.
    pub id: Operand,
    /// How many threads take part, where that is said.
    pub threads: Option<Operand>,
    /// Whether the thread waits, too.
    pub waits: bool,
    /// Whether all threads of a warp must come to it together.
    pub aligned: bool,
    /// What is computed of a predicate of all threads.
    pub reduces: Option<(Reduction, Operand)>,
}

/// Why a call stands where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInlined {
    /// The function is one of the runtime's.
    Runtime(Runtime),
    /// It is declared, and its code is not here.
    NoCode,
    /// It is not known which function it is.
    NotNamed,
    /// It calls itself more often than the limit allows.
    Recursive,
    /// The code is longer, or calls are nested more deeply, than the limit allows.
    TooLong,
}

/// A function or a thread, as it ends where control leaves a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The function: `ret`, and the end of its code. A kernel's thread ends with it.
    Function,
    /// The thread: `exit`.
    Thread,
}

/// Memory that is not at an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// A texture is read: `tex` and `tld4`.
    Texture,
    /// A surface is read or written: `suld`, `sust` and `sured`.
    Surface,
    /// The memory of several GPUs: `multimem`.
    Multimem,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Something is computed of the sources.
    Compute(Operation, Vec<Operand>),
    /// As many registers as there are sources become these: a parameter or result of a call. `ty` is that of the instruction.
    Pass {
        /// The type of each, of which a signed one extends what is narrower.
        ty: Type,
        /// The values.
        from: Vec<Operand>,
    },
    /// A parameter of the function itself is read.
    Parameter {
        /// The parameter.
        symbol: Symbol,
        /// Where in it, in bytes.
        offset: i64,
        /// The type of each result.
        ty: Type,
    },
    /// Memory is accessed.
    Access(Access),
    /// An asynchronous operation, or what orders them.
    Asynchronous(Box<Asynchronous>, Vec<(Role, Operand)>),
    /// Threads meet.
    Barrier(Barrier),
    /// `fence`, and `membar`, which is the `fence.sc` of its scope (section 9.7.13).
    Fence(Fence),
    /// Control goes to a label: to one of several by the index.
    Jump(Vec<Label>, Option<Operand>),
    /// The function itself ends, or its thread.
    Leave(Leaving),
    /// The thread traps.
    Trap,
    /// A call that is not inlined: what it calls, as the module spells it.
    Call(String, NotInlined),
    /// A call of [`Flat::alone`].
    Invoke {
        /// The function, as the module spells it, or the register with its address.
        callee: String,
        /// The register, if it is one.
        register: Option<Register>,
        /// What is passed: registers, constants, and variables in parameter space.
        arguments: Vec<Operand>,
        /// Where the results go: registers, and variables in parameter space.
        results: Vec<Operand>,
    },
    /// A parameter of the kernel is read at an address that is in a register.
    ParameterAt {
        /// The address.
        address: Operand,
        /// The type of each value.
        ty: Type,
    },
    /// A variable in parameter space is written: an argument or a result, in [`Flat::alone`].
    Argument {
        /// The variable.
        symbol: Symbol,
        /// Where in it, in bytes.
        offset: i64,
        /// The type of each value.
        ty: Type,
        /// The values.
        from: Vec<Operand>,
    },
    /// Memory is accessed that has its own ways.
    Elsewhere(Elsewhere),
    /// An instruction of which nothing is known.
    Unknown,
    /// Nothing that a program could tell but for its results, which are not known.
    Nothing,
}

impl Action {
    /// The operands that the instruction reads.
    pub fn sources(&self) -> Vec<&Operand> {
        match self {
            Self::Compute(_, sources) | Self::Pass { from: sources, .. } | Self::Argument { from: sources, .. } => {
                sources.iter().collect()
            }
            Self::Access(access) => [&access.address].into_iter().chain(&access.data).collect(),
            Self::Asynchronous(_, arguments) => arguments.iter().map(|(_, operand)| operand).collect(),
            Self::Barrier(barrier) => {
                let predicate = barrier.reduces.as_ref().map(|(_, predicate)| predicate);
                [&barrier.id].into_iter().chain(&barrier.threads).chain(predicate).collect()
            }
            Self::Jump(_, index) => index.iter().collect(),
            Self::Invoke { arguments, .. } => arguments.iter().collect(),
            Self::ParameterAt { address, .. } => vec![address],
            Self::Parameter { .. }
            | Self::Fence(_)
            | Self::Leave(_)
            | Self::Trap
            | Self::Call(..)
            | Self::Elsewhere(_)
            | Self::Unknown
            | Self::Nothing => Vec::new(),
        }
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// The instruction of the module; of a call, parameters and results are passed by steps of their own.
    pub at: InstPlace,
    /// The call that it is in.
    pub call: usize,
    /// A predicate register, and what it must be.
    pub guard: Option<(Register, bool)>,
    /// The results, of which some are discarded.
    pub writes: Vec<Option<Register>>,
    /// What it does.
    pub action: Action,
    /// The instruction without its guard and its operands, as `ld.global.u32`, or as much of it as is read: for display.
    pub mnemonic: Arc<str>,
}

impl Step {
    /// The registers whose values the instruction needs, except its guard.
    pub fn reads(&self) -> Vec<Register> {
        self.action.sources().into_iter().flat_map(Operand::registers).collect()
    }
}

/// A register of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterName {
    /// As the function spells it. Where a call keeps a parameter in it, the parameter.
    pub name: String,
    /// Where in a parameter it is, in bytes.
    pub offset: Option<i64>,
    /// Its call.
    pub call: usize,
    /// How many bits it has; 0 if that is not known.
    pub bits: u32,
}

/// A label of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelName {
    /// As the function spells it; nothing for the end of the call.
    pub name: Option<String>,
    /// Its call.
    pub call: usize,
    /// The step that it stands in front of.
    pub at: usize,
}

/// A variable, or a parameter of the function itself.
#[derive(Clone, Debug)]
pub struct SymbolName {
    /// As it is declared; a parameter has no state space.
    pub variable: Variable,
    /// The call that declares it in local memory, where each call has its own.
    pub call: Option<usize>,
}

/// A call of a function, of which the first is the function itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function, as the module spells it.
    pub function: String,
    /// Where it is called: the instruction, and the call that it is in.
    pub from: Option<(InstPlace, usize)>,
}

/// How far calls are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep calls may be nested.
    pub depth: usize,
    /// How often a function may be within itself.
    pub recursion: usize,
    /// How many lines the functions that are called may have together, each as often as it is called.
    pub lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 16, recursion: 0, lines: 400_000 }
    }
}

/// The code of a function with all that it calls.
#[derive(Debug, Default)]
pub struct Flat {
    /// The instructions. The last one leaves the function.
    pub steps: Vec<Step>,
    /// The labels, of which none stands behind the last step.
    pub labels: Vec<LabelName>,
    /// The registers.
    pub registers: Vec<RegisterName>,
    /// The variables of the module, the parameters of the function, and the variables of the functions that are called.
    pub symbols: Vec<SymbolName>,
    /// The calls.
    pub calls: Vec<CallSite>,
    /// The head of the function.
    pub head: Head,
    /// How many of the symbols are the module's; they stand first.
    pub module_symbols: usize,
    /// The results and the parameters of a function that is alone, in their order.
    pub formals: [Vec<Operand>; 2],
    /// The GPU that the module is for, if it names one.
    pub sm: Option<Sm>,
}

impl Flat {
    /// Whether a barrier of a CTA waits for the threads that have not exited alone: from sm_70 on (section on `exit` of the manual, and
    /// independent thread scheduling in CUDA's guide). Before, a thread that has exited is missed.
    pub fn barriers_skip_exited(&self) -> bool {
        self.sm.is_none_or(|sm| sm.number() >= 70)
    }

    /// Whether an instruction reads a special register.
    pub fn reads_special(&self, special: Special) -> bool {
        let mut is_read = false;
        let sources = self.steps.iter().flat_map(|step| step.action.sources());
        sources.for_each(|source| source.visit(&mut |operand| is_read |= *operand == Operand::Special(special)));
        is_read
    }
}

/// The functions of a module, and its variables.
pub struct Library<'m> {
    /// Each function with its place in the module.
    functions: FxHashMap<&'m str, (u32, &'m Function)>,
    symbols: Vec<SymbolName>,
    by_name: FxHashMap<String, Symbol>,
    /// The number of all dynamic shared memory.
    dynamic: Option<Symbol>,
    /// The GPU that the module is for.
    sm: Option<Sm>,
}

/// How dynamic shared memory is aligned, whatever a module says.
const DYNAMIC_ALIGN: u64 = 16;

impl<'m> Library<'m> {
    /// Those of a module.
    pub fn of(module: &'m Module) -> Self {
        let mut library = Self {
            functions: FxHashMap::default(),
            symbols: Vec::new(),
            by_name: FxHashMap::default(),
            dynamic: None,
            sm: module.target.split(',').next().and_then(|sm| sm.trim().parse().ok()),
        };
        let mut count = 0;
        for item in &module.items {
            match item {
                Item::Function(function) => {
                    let known = library.functions.entry(&function.name).or_insert((count, function));
                    if known.1.body.is_none() {
                        *known = (count, function);
                    }
                    count += 1;
                }
                Item::Directive(text) => {
                    Variable::read(text).into_iter().for_each(|variable| library.declare(variable))
                }
            }
        }
        library
    }

    fn declare(&mut self, mut variable: Variable) {
        // All dynamic shared memory begins at the same place, which is aligned to 16 bytes at least.
        let is_dynamic = variable.is_extern && variable.space.is_some_and(Space::is_shared_cta);
        if is_dynamic {
            variable.align = variable.align.max(DYNAMIC_ALIGN);
        }
        let index = self.dynamic.filter(|_| is_dynamic).unwrap_or(self.symbols.len());
        self.by_name.insert(variable.name.clone(), index);
        match self.symbols.get_mut(index) {
            Some(known) => known.variable.align = known.variable.align.max(variable.align),
            None => self.symbols.push(SymbolName { variable, call: None }),
        }
        if is_dynamic {
            self.dynamic = Some(index);
        }
    }

    /// The functions that other functions call.
    pub fn called(&self) -> FxHashSet<&'m str> {
        let lines = self.functions.values().flat_map(|(_, function)| function.body.iter().flatten());
        let calls = lines.filter_map(|line| match &line.code {
            Code::Other(other) if other.base() == "call" => Some(&other.reads),
            _ => None,
        });
        calls.flatten().filter_map(|name| self.functions.get_key_value(&*name.0)).map(|(name, _)| *name).collect()
    }
}

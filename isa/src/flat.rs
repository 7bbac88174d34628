//! The code of a function as one list of steps. Calls are replaced by the code of the called functions, operations have
//! types, and registers, variables and labels are numbers. The interpreter, the models and the data-flow analyses read
//! this form.
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
//! let flat = Flat::inline_calls(&Library::new(&module), count, Limits::default());
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

/// The index of a register in [`Flat::registers`].
pub type Register = usize;
/// The index of a variable in [`Flat::symbols`].
pub type Symbol = usize;
/// The index of a label in [`Flat::labels`].
pub type Label = usize;

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// The negation of a predicate register.
    Not(Register),
    /// The bits of a constant.
    Constant(i64),
    /// The address of a variable.
    Symbol(Symbol),
    /// A special register, or an element of one.
    Special(Special),
    /// `[base+offset]`, or the sum `base+offset` without brackets.
    Address(Box<Operand>, i64),
    /// `[map, {x, y}]`: the address of a tensor map, and coordinates in the tensor.
    Tensor(Box<Operand>, Vec<Operand>),
    /// `{…}`, and the parts of a fabric handle `[endpoint, offset]`.
    Vector(Vec<Operand>),
    /// `_`, or an operand that the reader does not interpret.
    Nothing,
}

impl Operand {
    /// The elements of a vector; of another operand, the operand itself.
    pub(crate) fn into_elements(self) -> Vec<Self> {
        match self {
            Self::Vector(elements) => elements,
            other => vec![other],
        }
    }

    /// Calls `see` with the operand, and then with each operand in it.
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

    /// The registers in the operand.
    pub fn registers(&self) -> Vec<Register> {
        let mut all = Vec::new();
        self.visit(&mut |operand| match operand {
            Self::Register(register) | Self::Not(register) => all.push(*register),
            _ => {}
        });
        all
    }
}

/// The kind of an instruction that accesses memory.
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
    /// `ldmatrix`, `stmatrix`, `wmma.load` and `wmma.store`
    Matrix,
    /// `discard`: afterwards the memory may hold any value, as after a weak write.
    Discard,
}

/// The number of bytes that `discard` discards.
const DISCARDED: u64 = 128;

/// An access of memory by an instruction that is not asynchronous. [`Step::writes`] has the registers that receive the
/// values it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryAccess {
    /// The kind of the instruction.
    pub kind: AccessKind,
    /// The address: an [`Operand::Address`].
    pub address: Operand,
    /// The state space, from a modifier or from the variable that the address names; otherwise `None`, which is the
    /// generic space.
    pub space: Option<Space>,
    /// The type of one element.
    pub ty: Option<Type>,
    /// The number of elements.
    pub elements: u32,
    /// The ordering. Without a modifier, `atom` and `red` are relaxed, and all other accesses are weak.
    pub sem: Sem,
    /// The scope that the instruction names.
    pub scope: Option<Scope>,
    /// `.mmio`
    pub mmio: bool,
    /// `.nc` and `ldu`: the program asserts that the memory is not written while the kernel runs, so that ordering does
    /// not matter.
    pub is_read_only: bool,
    /// Whether the access is to parameter space at an address in a register, which occurs only in [`Flat::alone`].
    pub is_parameter: bool,
    /// Whether the instruction has a state-space modifier.
    pub names_space: bool,
    /// The operation of `atom` and `red`.
    pub op: Option<AtomOp>,
    /// The form of a matrix instruction.
    pub matrix: Option<Box<MatrixForm>>,
    /// `.noftz`: subnormal numbers are kept.
    pub keeps_subnormals: bool,
    /// Whether the access reads memory.
    pub reads: bool,
    /// Whether the access writes memory.
    pub writes: bool,
    /// The values that the access writes or computes with; for `cas`, the expected value is first.
    pub data: Vec<Operand>,
}

impl MemoryAccess {
    /// The number of bytes that one thread accesses, from the address on.
    pub fn bytes(&self) -> Option<u64> {
        match self.kind {
            // Each thread supplies the address of one row.
            AccessKind::Matrix => Some(16).filter(|_| self.ty.is_some()),
            AccessKind::Discard => Some(DISCARDED),
            _ => self.ty.map(|ty| u64::from(ty.bits()).div_ceil(8) * u64::from(self.elements)),
        }
    }

    /// The size in bytes of each component of the access: an element of a vector, or of a packed type
    /// (sections 8.2.4 and 8.2.5).
    pub fn element_bytes(&self) -> Option<u64> {
        let ty = self.ty.filter(|_| self.kind != AccessKind::Matrix)?;
        Some(u64::from(ty.element().unwrap_or(ty).bits()).div_ceil(8))
    }

    /// Whether the memory is private to the thread, or is never written.
    pub fn is_private(&self) -> bool {
        matches!(self.space, Some(Space::Local | Space::Const))
    }

    /// The scope of a strong access (section 8.6); `None` for a weak one.
    pub fn strong(&self) -> Option<Scope> {
        let default = if self.sem == Sem::Volatile || self.mmio { Scope::Sys } else { Scope::Gpu };
        (self.sem != Sem::Weak).then(|| self.scope.unwrap_or(default))
    }
}

/// `bar`, `barrier` and `bar.warp`. Barriers of a cluster are asynchronous instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Barrier {
    /// Whether it is a warp's barrier.
    pub warp: bool,
    /// The number of the CTA's barrier; for a warp's barrier, its mask.
    pub id: Operand,
    /// The number of participating threads, if the instruction states it.
    pub threads: Option<Operand>,
    /// Whether the thread waits, in addition to arriving.
    pub waits: bool,
    /// Whether all threads of a warp must execute it together.
    pub aligned: bool,
    /// The reduction over all threads, and the predicate that it reduces.
    pub reduces: Option<(Reduction, Operand)>,
}

/// The reason why a call is not inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInlined {
    /// The function belongs to the runtime.
    Runtime(Runtime),
    /// The function is declared, and the module does not have its code.
    NoCode,
    /// The callee is not statically known.
    NotNamed,
    /// The function calls itself more often than the limit allows.
    Recursive,
    /// The code is longer, or calls are nested more deeply, than the limit allows.
    TooLong,
}

/// The extent of a return: the function or the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The function ends: `ret`, and the end of its code. The thread ends too if the function is a kernel.
    Function,
    /// The thread ends: `exit`.
    Thread,
}

/// Memory without an ordinary address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// A texture read: `tex` and `tld4`.
    Texture,
    /// A surface access: `suld`, `sust` and `sured`.
    Surface,
    /// The memory of several GPUs: `multimem`.
    Multimem,
}

/// The effect of an instruction.
#[derive(Clone, Debug)]
pub enum Action {
    /// An operation on the sources.
    Compute(Operation, Vec<Operand>),
    /// A parameter or result of a call: each register in [`Step::writes`] receives the source at the same position.
    Pass {
        /// The type of each value, as the instruction names it. A signed type sign-extends narrower values.
        ty: Type,
        /// The values.
        from: Vec<Operand>,
    },
    /// A read of a parameter of the function itself.
    Parameter {
        /// The parameter.
        symbol: Symbol,
        /// The byte offset in the parameter.
        offset: i64,
        /// The type of each result.
        ty: Type,
    },
    /// A memory access.
    Access(MemoryAccess),
    /// An asynchronous operation, or an instruction that orders asynchronous operations.
    Asynchronous(Box<Asynchronous>, Vec<(Role, Operand)>),
    /// A barrier.
    Barrier(Barrier),
    /// `fence`, and `membar`, which is the `fence.sc` of its scope (section 9.7.13).
    Fence(Fence),
    /// A jump to a label, or to the label of several that the index selects.
    Jump(Vec<Label>, Option<Operand>),
    /// The end of the function itself, or of its thread.
    Leave(Leaving),
    /// A trap of the thread.
    Trap,
    /// A call that is not inlined: the callee as the module spells it, and the reason.
    Call(String, NotInlined),
    /// A call in the result of [`Flat::alone`].
    Invoke {
        /// The function, as the module spells it, or the register that holds its address.
        callee: String,
        /// The register, if the callee is a register.
        register: Option<Register>,
        /// The arguments: registers, constants, and variables in parameter space.
        arguments: Vec<Operand>,
        /// The destinations of the results: registers, and variables in parameter space.
        results: Vec<Operand>,
    },
    /// A read of a kernel parameter at an address in a register.
    ParameterAt {
        /// The address.
        address: Operand,
        /// The type of each value.
        ty: Type,
    },
    /// A write of a variable in parameter space, an argument or a result, in the result of [`Flat::alone`].
    Argument {
        /// The variable.
        symbol: Symbol,
        /// The byte offset in the variable.
        offset: i64,
        /// The type of each value.
        ty: Type,
        /// The values.
        from: Vec<Operand>,
    },
    /// An access of memory without an ordinary address, and the operands after its results.
    Elsewhere(Elsewhere, Vec<Operand>),
    /// An instruction whose effect is unknown.
    Unknown,
    /// An instruction without an observable effect except its results, whose values are unknown.
    Nothing,
}

impl Action {
    /// The operands that the instruction reads.
    pub fn sources(&self) -> Vec<&Operand> {
        match self {
            Self::Compute(_, sources)
            | Self::Pass { from: sources, .. }
            | Self::Argument { from: sources, .. }
            | Self::Elsewhere(_, sources) => sources.iter().collect(),
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
            | Self::Unknown
            | Self::Nothing => Vec::new(),
        }
    }
}

/// An instruction of the flat code.
#[derive(Clone, Debug)]
pub struct Step {
    /// The instruction of the module. A call has additional steps that pass its parameters and results.
    pub at: InstPlace,
    /// The index in [`Flat::calls`] of the call that contains the step.
    pub call: usize,
    /// The guard: a predicate register, and the value for which the step executes.
    pub guard: Option<(Register, bool)>,
    /// The registers that receive the results; `None` for a discarded result.
    pub writes: Vec<Option<Register>>,
    /// The effect of the instruction.
    pub action: Action,
    /// The mnemonic with its modifiers, such as `ld.global.u32`, or the part of it that the reader interprets; for
    /// display.
    pub mnemonic: Arc<str>,
}

impl Step {
    /// The registers whose values the instruction needs, except its guard.
    pub fn reads(&self) -> Vec<Register> {
        self.action.sources().into_iter().flat_map(Operand::registers).collect()
    }
}

/// A register in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterName {
    /// The name as the function spells it. For a register that holds a parameter of a call, the name of the parameter.
    pub name: String,
    /// The byte offset in that parameter.
    pub offset: Option<i64>,
    /// The index of its call.
    pub call: usize,
    /// The number of bits; 0 if unknown.
    pub bits: u32,
}

/// A label in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelName {
    /// The name as the function spells it; `None` for the end of the call.
    pub name: Option<String>,
    /// The index of its call.
    pub call: usize,
    /// The index of the step that the label precedes.
    pub at: usize,
}

/// A variable, or a parameter of the function itself.
#[derive(Clone, Debug)]
pub struct SymbolName {
    /// The declaration; a parameter has no state space.
    pub variable: Variable,
    /// The call that declares it in local memory, where each call has a separate copy.
    pub call: Option<usize>,
}

/// A call of a function. The first call is the function itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function, as the module spells it.
    pub function: String,
    /// The call instruction, and the index of the call that contains it.
    pub from: Option<(InstPlace, usize)>,
}

/// The limits of inlining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting depth of calls.
    pub depth: usize,
    /// The maximum number of activations of a function inside itself.
    pub recursion: usize,
    /// The maximum total number of lines of the inlined functions; a function counts once per call.
    pub lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 16, recursion: 0, lines: 400_000 }
    }
}

/// The code of a function, with the functions that it calls inlined.
#[derive(Debug, Default)]
pub struct Flat {
    /// The steps. The last step leaves the function.
    pub steps: Vec<Step>,
    /// The labels. Each label precedes a step.
    pub labels: Vec<LabelName>,
    /// The registers.
    pub registers: Vec<RegisterName>,
    /// The variables of the module, the parameters of the function, and the variables of the called functions.
    pub symbols: Vec<SymbolName>,
    /// The calls.
    pub calls: Vec<CallSite>,
    /// The head of the function.
    pub head: Head,
    /// The number of symbols that belong to the module; these are the first symbols.
    pub module_symbols: usize,
    /// The results and the parameters of the function in their order, in the result of [`Flat::alone`].
    pub formals: [Vec<Operand>; 2],
    /// The GPU that the module is for, if it names one.
    pub sm: Option<Sm>,
}

impl Flat {
    /// Whether a barrier of a CTA waits only for the threads that have not exited: true from sm_70 on (section on
    /// `exit` of the manual, and independent thread scheduling in CUDA's guide). On earlier GPUs, a barrier waits for
    /// exited threads, too.
    pub fn barriers_skip_exited(&self) -> bool {
        self.sm.is_none_or(|sm| sm.number() >= 70)
    }

    /// Whether the lanes of a warp execute in lock step: below sm_70 (section on independent thread scheduling in CUDA's
    /// guide).
    pub fn is_lock_step(&self) -> bool {
        self.sm.is_some_and(|sm| sm.number() < 70)
    }

    /// Whether an instruction reads a special register.
    pub fn reads_special(&self, special: Special) -> bool {
        let mut is_read = false;
        let sources = self.steps.iter().flat_map(|step| step.action.sources());
        sources.for_each(|source| source.visit(&mut |operand| is_read |= *operand == Operand::Special(special)));
        is_read
    }
}

/// The functions and the variables of a module.
pub struct Library<'m> {
    /// Each function, with its index in the module.
    functions: FxHashMap<&'m str, (u32, &'m Function)>,
    symbols: Vec<SymbolName>,
    by_name: FxHashMap<String, Symbol>,
    /// The symbol of all dynamic shared memory.
    dynamic: Option<Symbol>,
    /// The GPU that the module is for.
    sm: Option<Sm>,
}

/// The minimum alignment of dynamic shared memory, whatever a module declares.
const DYNAMIC_ALIGN: u64 = 16;

impl<'m> Library<'m> {
    /// The functions and the variables of a module.
    pub fn new(module: &'m Module) -> Self {
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
        // All dynamic shared memory begins at one address, which is aligned to at least 16 bytes.
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

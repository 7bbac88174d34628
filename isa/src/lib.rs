//! Types for PTX: words, instructions, the requirements of each form on a GPU, a parser, a printer, and whole modules.
//! No other crate spells PTX.
//!
//! [`Instruction`] models `ld`, `st`, `atom`, `red`, `fence.{sc,acq_rel,acquire,release}` and `membar` as in NVIDIA's
//! manual ('PTX ISA 9.2', sections 8 and 9.7), and the arithmetic that CAS loops need. Every other instruction stays
//! text: [`mnemonic`] has its effect on memory, and [`Other`] the registers that it reads and writes. [`Asynchronous`]
//! has every form of the asynchronous instructions and of the instructions that order them. [`syntax`] reads any
//! statement without its meaning.
//!
//! ```
//! use ptx_isa::{Code, Instruction, Module, Statement, Target};
//!
//! let mut module: Module = "
//!     .version 8.6
//!     .target sm_90
//!     .visible .entry count(.param .u64 counter) {
//!         .reg .b64 %rd<2>;
//!         .reg .b32 %r<2>;
//!         ld.param.u64 %rd1, [counter];
//!         atom.acquire.gpu.global.add.u32 %r1, [%rd1+4], 1;
//!         ret;
//!     }".parse()?;
//!
//! // sm_60 has no semantics on instructions.
//! let old = Target::new("sm_60".parse()?, None)?;
//! for line in module.functions_mut().flat_map(|function| function.body.iter_mut().flatten()) {
//!     if let Code::Instruction { instruction: Instruction::Atom(atom), .. } = &mut line.code {
//!         assert!(!old.lacks(&[Statement::from(Instruction::Atom(atom.clone()))]).is_empty());
//!         atom.sem = None;
//!     }
//! }
//! assert!(module.to_string().contains("\tatom.gpu.global.add.u32 %r1, [%rd1+4], 1;\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

pub mod arithmetic;
#[cfg(feature = "assembler")]
pub mod assembler;
mod asynchronous;
pub mod columns;
mod declaration;
#[cfg(feature = "fatbinary")]
pub mod fatbinary;
pub mod flat;
pub mod flow;
mod form;
pub mod graph;
mod inst;
mod instruction;
pub mod launch;
pub mod legality;
pub mod matrix;
pub mod mnemonic;
mod module;
pub mod operation;
mod parse;
mod places;
mod print;
mod runtime;
pub mod special;
mod stop;
pub mod syntax;
mod target;
mod text;
mod texture;
mod word;

pub use self::{
    asynchronous::{Argument, Assembled, Asynchronous, Family, ModifierKind, Outline, Role, effects},
    declaration::{Head, Initial, Parameter, Variable, short_name},
    form::{Form, takes},
    inst::{InstId, InstPlace},
    instruction::*,
    launch::{Dim3, FullSize, LaunchSize},
    module::{Code, Function, Item, Jump, Line, Module, ModuleError, ModuleErrors, Other},
    parse::{ParseError, ParseErrors, parse_block},
    places::{Places, SourceLine, innermost_in_file},
    print::{Names, PtxNames},
    runtime::Runtime,
    special::{Axis, Special, SpecialScalar, SpecialVector},
    stop::{Instant, Stop},
    target::{Gpus, PtxVersion, Requirement, Sm, Target, UnknownTarget},
    text::Text,
    texture::{Fetch, Geometry, OutsideSurface, SurfaceAccess, TextureForm, TextureProperty},
    word::*,
};

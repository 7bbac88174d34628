//! What the passes need to know besides the module.

use ptx_lowering::{Policy, Target, ptx::Scope};
use ptx_optimize::Rewrites;
use strum::{Display, EnumString, VariantNames};

use crate::{backend::Backend, condition::Condition};

/// What is done about waits and proxy fences that asynchronous operations lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AsyncMode {
    /// Nothing is looked for.
    Off,
    /// What is missing is a warning.
    #[default]
    Check,
    /// What is missing is an error.
    Deny,
    /// What is missing is inserted. What cannot be is a warning.
    Insert,
}

/// What an operation is in the module that is compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Embed {
    /// LLVM's own instruction, where this LLVM prints just what is chosen ([`Backend`](crate::backend::Backend)) and nothing but atomics
    /// touches the memory of the function, or else assembly. For a module whose code is generated next, by the same LLVM: its optimizer
    /// moves memory accesses across atomics, and another version prints something else.
    Native,
    /// Inline assembly.
    #[default]
    Assembly,
}

/// What the pass needs to know besides the module.
#[derive(Clone, Debug)]
pub struct Options {
    /// The GPU and the PTX version.
    pub target: Target,
    /// A function's attribute `"ptx-atomics-strategy"` overrides the strategies.
    pub policy: Policy,
    /// What LLVM's default synchronization scope (system) stands for. Narrower than `Sys` only where no host and no
    /// other device takes part.
    pub default_scope: Scope,
    /// Whether a generic address of unknown origin may be local, so that a test at run time must tell.
    pub generic_may_be_local: bool,
    /// Whether CUDA's own atomics get CUDA's order and scope: whoever has the options then calls `ptx_atomics_llvm::relax_cuda`.
    pub cuda_atomics: bool,
    /// What is made cheaper before it is lowered.
    pub optimize: Rewrites,
    /// What is done about asynchronous operations.
    pub asynchronous: AsyncMode,
    /// What operations become. Assembly, if nobody says otherwise: only who prints PTX at once knows that the same LLVM does it.
    pub embed: Embed,
    /// Whether what stays LLVM's own is kept in mind, to be compared with what LLVM prints.
    pub verify_native: bool,
    /// Whether the pass says what became of each operation.
    pub remarks: bool,
    /// What LLVM prints, in place of the table of its version, to see that a wrong one is found. For a test alone.
    #[doc(hidden)]
    pub backend: Option<&'static Backend>,
    /// A condition of what the optimizer is told that is taken for granted, to see that it matters. For a test alone.
    #[doc(hidden)]
    pub without: Option<Condition>,
}

impl Options {
    /// The recommended sequences, the default scope is the system, and nothing is optimized.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            policy: Policy::default(),
            default_scope: Scope::Sys,
            generic_may_be_local: false,
            cuda_atomics: true,
            optimize: Rewrites::NONE,
            asynchronous: AsyncMode::default(),
            embed: Embed::default(),
            verify_native: cfg!(debug_assertions),
            remarks: false,
            backend: None,
            without: None,
        }
    }

    /// Whether a condition is met, or taken for granted.
    #[doc(hidden)]
    pub fn met(&self, condition: Condition, is_met: bool) -> bool {
        is_met || self.without == Some(condition)
    }
}

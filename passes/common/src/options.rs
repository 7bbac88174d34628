//! The options of the passes.

use ptx_lowering::{Policy, Target, ptx::Scope};
use ptx_optimize::Rewrites;
use strum::{Display, EnumString, VariantNames};

use crate::{backend::Backend, condition::Condition};

/// The handling of waits and proxy fences that asynchronous operations lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum AsyncMode {
    /// Asynchronous operations are not checked.
    Off,
    /// A missing instruction is a warning.
    #[default]
    Check,
    /// A missing instruction is an error.
    Deny,
    /// A missing instruction is inserted. If it cannot be inserted, it is a warning.
    Insert,
}

/// The form of a lowered operation in the compiled module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Embed {
    /// LLVM's own instruction if this LLVM prints exactly the chosen sequence ([`Backend`](crate::backend::Backend))
    /// and only atomics access the memory of the function; inline assembly otherwise. This form is for a module whose
    /// code the same LLVM generates next: an optimizer moves memory accesses across atomics, and another version prints
    /// another sequence.
    Native,
    /// Inline assembly.
    #[default]
    Assembly,
}

/// The options of a pass.
#[derive(Clone, Debug)]
pub struct Options {
    /// The GPU and the PTX version.
    pub target: Target,
    /// The policy. A function's attribute `"ptx-atomics-strategy"` overrides its strategies.
    pub policy: Policy,
    /// The scope of LLVM's default synchronization scope (system). A scope narrower than `Sys` is correct only if
    /// neither the host nor another device takes part.
    pub default_scope: Scope,
    /// Whether a generic address of unknown origin may be local, so that the sequence must test it at run time.
    pub generic_may_be_local: bool,
    /// Whether CUDA's own atomics get CUDA's ordering and scope. The owner of the options then calls
    /// `ptx_atomics_llvm::relax_cuda`.
    pub cuda_atomics: bool,
    /// The rewrites that make operations cheaper before lowering.
    pub optimize: Rewrites,
    /// The handling of asynchronous operations.
    pub asynchronous: AsyncMode,
    /// The form of lowered operations. The default is assembly: only a caller that prints PTX immediately knows that
    /// the same LLVM prints it.
    pub embed: Embed,
    /// Whether the pass records the operations that stay LLVM's own, for a comparison with the PTX that LLVM prints.
    pub verify_native: bool,
    /// Whether the pass returns a remark for each operation.
    pub remarks: bool,
    /// A table that replaces the table of LLVM's version, to check that a wrong table is detected. Only a test sets it.
    #[doc(hidden)]
    pub backend: Option<&'static Backend>,
    /// A condition of the facts for the optimizer that is assumed without a check, to show that the condition matters.
    /// Only a test sets it.
    #[doc(hidden)]
    pub without: Option<Condition>,
}

impl Options {
    /// The default options for a target: the recommended sequences, the system as the default scope, and no
    /// optimization.
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

    /// Whether a condition holds, or is assumed by [`Self::without`].
    #[doc(hidden)]
    pub fn is_met_or_assumed(&self, condition: Condition, is_met: bool) -> bool {
        is_met || self.without == Some(condition)
    }
}

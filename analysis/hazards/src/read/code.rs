//! The properties of instructions that the check uses.

use ptx_isa::{
    Assembled, Fence, FenceSem, InstPlace, Scope, Sem, Sm,
    flat::{Action, MemoryAccess, NotInlined, Operand, Step, SymbolName},
    operation::Operation,
};

use crate::kernel::Semantics;

/// Whether a symbol is a variable in the shared memory of the CTA.
pub fn is_shared(symbol: &SymbolName) -> bool {
    symbol.variable.space.is_some_and(ptx_isa::Space::is_shared_cta)
}

/// The access of an action, unless it is private: of memory that other threads cannot see, or that no thread writes.
pub fn access(action: &Action) -> Option<&MemoryAccess> {
    match action {
        Action::Access(access) if !access.is_private() => Some(access),
        _ => None,
    }
}

/// The ordering semantics and the scope of an access, if it is strong.
pub fn strong(access: &MemoryAccess) -> Option<(Semantics, Scope)> {
    let acquires = matches!(access.sem, Sem::Acquire | Sem::AcqRel);
    let releases = matches!(access.sem, Sem::Release | Sem::AcqRel);
    access.strong().map(|scope| (Semantics { acquires, releases }, scope))
}

/// The ordering semantics of a fence. `.acquire` and `.release` are one half each.
pub fn fence(fence: &Fence) -> Semantics {
    Semantics { acquires: fence.sem != Some(FenceSem::Release), releases: fence.sem != Some(FenceSem::Acquire) }
}

/// Whether an instruction changes the number of registers of a warpgroup.
pub fn changes_registers(action: &Action) -> bool {
    matches!(action, Action::Compute(Operation::Setmaxnreg(_), _))
}

/// Whether an instruction is asynchronous and its ordering is unknown.
pub fn has_unknown_order(action: &Action) -> bool {
    matches!(action, Action::Asynchronous(form, _) if form.has_unknown_order())
}

/// The replacement that the assembler makes of an asynchronous instruction for a `.target`, with its line; `None` if it
/// assembles the instruction as written.
pub fn assembled(step: &Step, target: &str) -> Option<(InstPlace, String)> {
    let Action::Asynchronous(form, _) = &step.action else { return None };
    let sm: Sm = target.split(',').next()?.trim().parse().ok()?;
    let replacement = match form.assembled_for(sm) {
        Assembled::AsWritten => return None,
        Assembled::Trap => "a trap",
        Assembled::Synchronous => "a membar and an operation that is not asynchronous",
    };
    Some((step.at, format!("ptxas 13.5 replaces `{}` by {replacement} for {sm}", form.family())))
}

/// The reason why an instruction is not understood; it completes "not checked:".
pub fn unread(step: &Step) -> Option<String> {
    Some(match &step.action {
        Action::Unknown => format!("the instruction `{}`", step.mnemonic),
        Action::Asynchronous(form, _) if form.has_unknown_order() => format!("the instruction `{}`", form.mnemonic()),
        Action::Call(_, NotInlined::Runtime(_)) => return None,
        Action::Call(_, NotInlined::NotNamed) => "a call through a pointer".into(),
        Action::Call(callee, why) => {
            let why = match why {
                NotInlined::Recursive => "calls itself",
                NotInlined::TooLong => "is too long",
                _ => return Some(format!("the call to `{callee}`, whose code is not here")),
            };
            format!("the call to `{callee}`, which {why}")
        }
        _ => return None,
    })
}

/// The operands whose values decide about events: addresses, masks, counts, and sources of other values.
/// [`Step::reads`] also has the data of accesses. Tracking those registers through all phis would use up the limit on
/// phis, and change no event.
pub fn sources(step: &Step) -> Vec<&Operand> {
    match &step.action {
        Action::Compute(_, sources) | Action::Pass { from: sources, .. } => sources.iter().collect(),
        Action::Access(access) if !access.is_private() => vec![&access.address],
        Action::Asynchronous(_, arguments) => arguments.iter().map(|(_, source)| source).collect(),
        Action::Barrier(barrier) => [&barrier.id].into_iter().chain(&barrier.threads).collect(),
        _ => Vec::new(),
    }
}

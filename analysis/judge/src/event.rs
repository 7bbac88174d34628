//! Memory events: the effects of instructions in the memory model of PTX ('PTX ISA', section 8).

use ptx_lowering::ptx::{
    Atom, AtomSem, Cache, CacheOperator, Fence, FenceSem, Instruction, Ld, LdSem, Red, RedSem, Scope, Space, St, StSem,
    Type, VectorSize,
    flow::NodeCode,
    mnemonic::{Mnemonic, Order, is_private},
};

use crate::flow::Flow;

/// An access to memory that other threads may see.
#[derive(Clone, Copy)]
pub struct MemoryEvent {
    pub reads: bool,
    pub writes: bool,
    pub acquires: bool,
    pub releases: bool,
    /// No acquire pattern begins with the read of a reduction.
    pub is_red: bool,
    /// The scope at which the access is strong; `None` if it is weak.
    pub strong: Option<Scope>,
    pub space: Space,
    pub volatile: bool,
    /// Each element of a vector is an access of its own.
    pub by_element: bool,
    /// The width of the whole access in bits.
    pub bits: u32,
}

impl MemoryEvent {
    /// A weak access without any effect so far.
    fn new(space: Space, ty: Type, vec: Option<VectorSize>) -> Self {
        Self {
            reads: false,
            writes: false,
            acquires: false,
            releases: false,
            is_red: false,
            strong: None,
            space,
            volatile: false,
            by_element: vec.is_some(),
            bits: ty.bits() * vec.map_or(1, |vec| vec.elements() as u32),
        }
    }

    /// The access of a node; `None` if it has none, or only where its address is local.
    pub fn from_node(flow: &Flow<'_>, node: usize) -> Option<Self> {
        if flow.is_private(node) {
            return None;
        }
        Some(match flow.instruction(node)? {
            Instruction::Ld(Ld { sem, scope, space, vec, ty, .. }) => Self {
                reads: true,
                acquires: matches!(sem, LdSem::Acquire | LdSem::MmioAcquire),
                strong: strong(*sem == LdSem::Volatile, *scope, *space),
                volatile: matches!(sem, LdSem::Volatile | LdSem::MmioRelaxed | LdSem::MmioAcquire),
                ..Self::new(*space, *ty, *vec)
            },
            Instruction::St(St { sem, scope, space, vec, ty, .. }) => Self {
                writes: true,
                releases: matches!(sem, StSem::Release | StSem::MmioRelease),
                strong: strong(*sem == StSem::Volatile, *scope, *space),
                volatile: matches!(sem, StSem::Volatile | StSem::MmioRelaxed | StSem::MmioRelease),
                ..Self::new(*space, *ty, *vec)
            },
            Instruction::Atom(Atom { sem, scope, space, vec, ty, .. }) => Self {
                acquires: matches!(sem, Some(AtomSem::Acquire | AtomSem::AcqRel)),
                releases: matches!(sem, Some(AtomSem::Release | AtomSem::AcqRel)),
                ..Self::new(*space, *ty, *vec).read_modify_write(*scope, *ty)
            },
            Instruction::Red(Red { sem, scope, space, vec, ty, .. }) => Self {
                releases: *sem == Some(RedSem::Release),
                is_red: true,
                ..Self::new(*space, *ty, *vec).read_modify_write(*scope, *ty)
            },
            _ => return None,
        })
    }

    /// The properties of every `atom` and `red`: strong, at scope gpu unless it has another, and never removed or
    /// merged.
    fn read_modify_write(self, scope: Option<Scope>, ty: Type) -> Self {
        Self {
            reads: true,
            writes: true,
            strong: strong(false, scope.or(Some(Scope::Gpu)), self.space),
            volatile: true,
            by_element: self.by_element || matches!(ty, Type::F16x2 | Type::Bf16x2),
            ..self
        }
    }

    /// Whether it reads and writes in one step.
    pub fn is_rmw(&self) -> bool {
        self.reads && self.writes
    }
}

/// The scope at which an access is strong. A volatile access counts as relaxed at system scope.
fn strong(volatile: bool, scope: Option<Scope>, space: Space) -> Option<Scope> {
    if volatile { Some(Scope::Sys) } else { scope.map(|scope| promoted(scope, space)) }
}

/// Shared memory is visible on one GPU only, so scope gpu is as strong as sys there.
pub fn promoted(scope: Scope, space: Space) -> Scope {
    if space.is_shared() && scope >= Scope::Gpu { Scope::Sys } else { scope }
}

/// The fence of a node. A guarded fence may not execute, and does not count.
pub fn fence(flow: &Flow<'_>, node: usize) -> Option<(FenceSem, Scope)> {
    if flow.nodes[node].guard.is_some() {
        return None;
    }
    match flow.instruction(node)? {
        Instruction::Fence(Fence { sem, scope }) => Some((sem.unwrap_or(FenceSem::AcqRel), *scope)),
        // 'PTX ISA', section on `membar`: on sm_70 and later, a synonym of fence.sc.
        Instruction::Membar(level) => Some((FenceSem::Sc, level.scope())),
        _ => None,
    }
}

/// Whether a fence of these semantics begins an acquire pattern.
pub fn acquires(sem: FenceSem) -> bool {
    sem != FenceSem::Release
}

/// Whether a fence of these semantics begins a release pattern.
pub fn releases(sem: FenceSem) -> bool {
    sem != FenceSem::Acquire
}

/// Whether a node accesses memory that other threads can read and write, or waits for them. An instruction that PTX
/// does not define may do anything.
pub fn touches_memory(flow: &Flow<'_>, node: usize) -> bool {
    let read_only = |cache: &Option<Cache>| *cache == Some(Cache::Operator(CacheOperator::Nc));
    match (flow.nodes[node].code, MemoryEvent::from_node(flow, node)) {
        (NodeCode::Instruction(Instruction::Ld(Ld { cache, .. })), _) if read_only(cache) => false,
        (_, Some(event)) => !matches!(event.space, Space::Local | Space::Const),
        (NodeCode::Other(other), None) => other_touches_memory(&other.mnemonic),
        _ => false,
    }
}

/// The same for an instruction that is not modelled, by its mnemonic with modifiers.
fn other_touches_memory(mnemonic: &str) -> bool {
    Mnemonic::find_row(mnemonic).is_none_or(|row| {
        let waits = matches!(row.order, Some(Order::Barrier | Order::Group));
        waits || row.accesses() && !is_private(mnemonic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions that separate an access from the fences around it.
    #[test]
    fn instructions_that_are_not_modelled() {
        let check = |mnemonic: &str, expected| assert_eq!(other_touches_memory(mnemonic), expected, "{mnemonic}");
        check("ld.param.b64", false);
        check("st.local.v2.b32", false);
        check("ldu.global.b32", true);
        check("ld.global.nc.L1::no_allocate.b32", false);
        check("call.uni", true);
        check("bar.sync", true);
        check("barrier.cluster.arrive.release", true);
        check("mbarrier.try_wait.shared.b64", true);
        check("cp.async.ca.shared.global", true);
        check("cp.async.wait_group", true);
        check("multimem.red.global.add.u32", true);
        check("prefetch.global.L2", false);
        check("fma.rn.f32", false);
        check("fence.proxy.async", false);
        check("nosuch.global.b32", true);
    }
}

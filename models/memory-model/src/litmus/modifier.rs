//! The modifiers of an instruction.

use ptx_isa::{CacheOperator, Space, Type, VectorSize, syntax::Text};

use super::operand::{Reader, Wrong};
use crate::{place::Scope, program::RmwOp, ptx::Sem};

/// The modifiers of an instruction, each at most once.
#[derive(Clone, Copy, Default)]
pub(super) struct Modifiers {
    pub(super) sem: Option<Sem>,
    pub(super) scope: Option<Scope>,
    pub(super) mmio: bool,
    pub(super) ty: Option<Type>,
    pub(super) op: Option<RmwOp>,
    pub(super) vec: Option<VectorSize>,
    pub(super) cache: Option<CacheOperator>,
    /// Whether there is a state space, and whether it is shared memory.
    pub(super) is_shared: Option<bool>,
}

/// Accesses of devices.
const MMIO: &str = "mmio";
impl<'t> Reader<'_, 't> {
    /// Reads modifiers in any order; `allowed` decides after each modifier whether it is allowed.
    pub(super) fn modifiers(&self, words: &[Text<'t>], allowed: fn(&Modifiers) -> bool) -> Result<Modifiers, Wrong> {
        let mut all = Modifiers::default();
        for &at in words {
            let (word, mut one) = (at.text, Modifiers::default());
            if let Some(space) = word.parse().ok().filter(|space: &Space| *space == Space::Global || space.is_shared())
            {
                one.is_shared = Some(space.is_shared());
            } else if word == MMIO {
                one.mmio = true;
            } else if let Ok(sem) = word.parse() {
                one.sem = Some(sem);
            } else if let Ok(scope) = word.parse() {
                one.scope = Some(scope);
            } else if let Ok(op) = word.parse() {
                one.op = Some(op);
            } else if let Ok(vec) = word.parse() {
                one.vec = Some(vec);
            } else if let Ok(ty) = word.parse() {
                one.ty = Some(ty);
            } else if let Ok(cache) = word.parse() {
                one.cache = Some(cache);
            } else {
                return self.wrong_at(at, format!("`.{word}` is not a modifier of `{}`", self.mnemonic()));
            }
            let twice = one.sem.and(all.sem).is_some()
                || one.scope.and(all.scope).is_some()
                || one.op.and(all.op).is_some()
                || one.ty.and(all.ty).is_some()
                || one.vec.and(all.vec).is_some()
                || one.cache.and(all.cache).is_some()
                || one.is_shared.and(all.is_shared).is_some()
                || (one.mmio && all.mmio);
            if twice || !allowed(&one) {
                return self.wrong_at(at, format!("`{}` takes no `.{word}` here", self.mnemonic()));
            }
            all = Modifiers {
                sem: one.sem.or(all.sem),
                scope: one.scope.or(all.scope),
                mmio: one.mmio || all.mmio,
                ty: one.ty.or(all.ty),
                op: one.op.or(all.op),
                vec: one.vec.or(all.vec),
                cache: one.cache.or(all.cache),
                is_shared: one.is_shared.or(all.is_shared),
            };
        }
        Ok(all)
    }
}

//! The operations that an op represents, and their replacements.

use std::rc::Rc;

use melior::ir::{Type, Value, ValueLike, operation::OperationLike};
use ptx_atomics_common::{
    Outcome, Remark,
    memory::Memory,
    operation::{Opcode, Problem, Replacement, SYNC_SCOPES, as_asked, describe, with_negated_operand},
};
use ptx_lowering::{Ordering, Type as Model};

use crate::{
    diagnostic::{function_of, location_of},
    ir::{self, Op},
    memory::memory_of,
    vocabulary::size_and_model,
};

/// An operation of an op, in terms of LLVM's instructions.
pub struct Asked<'c, 'a> {
    pub opcode: Opcode,
    pub ordering: Ordering,
    /// The failure ordering of a `cmpxchg`.
    pub failure: Ordering,
    /// The index in [`SYNC_SCOPES`].
    pub sync_scope: usize,
    /// The address: a pointer, or a memref whose elements are accessed, and LLVM's address space. `None` for a fence.
    pub address: Option<(Value<'c, 'a>, u32)>,
    /// The type of the value in memory. `None` for a fence.
    pub ty: Option<Type<'c>>,
    pub volatile: bool,
    /// The alignment in bytes; `None` means the alignment of the type.
    pub alignment: Option<u64>,
    /// The input values.
    pub sources: Vec<Value<'c, 'a>>,
}

/// An op, and the operations that it represents.
pub struct Planned<'c, 'a> {
    pub op: Op<'c, 'a>,
    pub asked: Vec<(Asked<'c, 'a>, Rc<Replacement>)>,
}

impl Planned<'_, '_> {
    pub fn remarks(&self) -> impl Iterator<Item = Remark> {
        self.asked.iter().map(|(asked, replacement)| Remark {
            function: function_of(self.op).unwrap_or_default(),
            location: location_of(self.op),
            operation: describe(
                &as_asked(asked.opcode, &replacement.op),
                SYNC_SCOPES[asked.sync_scope].0,
                &asked.type_text(),
            ),
            outcome: Outcome::Lowered {
                sequence: replacement.lowering.sequence.clone(),
                changes: replacement.changes(asked.memory().and_then(Result::ok)),
                native: false,
            },
        })
    }
}

impl<'c: 'a, 'a> Asked<'c, 'a> {
    /// If the operand of an addition or subtraction of float or double is a negation: the negated value, and the
    /// operation on it.
    pub fn negated(&self) -> Option<(Opcode, Value<'c, 'a>)> {
        let source = *self.sources.first()?;
        let scalar = matches!(size_and_model(source.r#type()), (Some(Model::F32 | Model::F64), _));
        let (negation, _) = ir::defining(source).filter(|(op, _)| scalar && ir::name(*op) == "llvm.fneg")?;
        Some((with_negated_operand(self.opcode)?, negation.operands().next()?))
    }

    /// The accessed memory; `None` for a fence.
    pub fn memory(&self) -> Option<Result<Memory, Problem>> {
        self.address.map(|(pointer, space)| memory_of(pointer, space))
    }

    fn type_text(&self) -> String {
        self.ty.map(|ty| ty.to_string()).unwrap_or_default()
    }
}

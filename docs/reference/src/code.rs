//! The PTX of one operation, with its deviations, cost and requirements.

use itertools::Itertools;
use ptx_lowering::{
    AtomicOp, Change, Form, Sequence, Strategy, SyncScope, Target,
    abi::RowName,
    lower,
    ptx::{Instruction, Scope, Space, Statement},
    sass::{Family, Note, Sass},
};

/// The result of lowering an operation for a target with a strategy.
pub struct Lowered {
    /// The PTX, or the reason why there is none.
    pub code: Result<Code, String>,
    /// The names of deviations from the operation, and of effects of ptxas.
    pub notes: Vec<String>,
    /// The number of barriers in its machine code; `None` if it was not measured.
    pub heavy: Option<usize>,
    /// The row of the ABI that the code follows.
    pub row: Option<RowName>,
    /// The forms of its instructions, which have requirements.
    pub forms: Vec<Form>,
}

/// PTX with [`SCOPE`], [`LEVEL`] and [`SPACE`] instead of the scope and space of the operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// The fences before the access, a line each.
    pub before: String,
    /// The access, and the computation of its value.
    pub access: String,
    /// The fences after the access.
    pub after: String,
}

/// The placeholder for the scope of the operation.
pub const SCOPE: &str = "<.scope>";
/// The placeholder for the level of a `membar` with the scope of the operation.
pub const LEVEL: &str = "<.level>";
/// The placeholder for the state space of the operation; empty for generic addresses.
pub const SPACE: &str = "<.space>";

/// The level of `membar` for a scope.
fn level(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => ".cta",
        Scope::Cluster | Scope::Gpu => ".gl",
        Scope::Sys => ".sys",
    }
}

/// Lowers an operation of any scope. A scope that the target lacks is replaced by [`standing_for`]'s scope.
pub fn lowered(op: &AtomicOp, strategy: Strategy, target: &Target) -> Lowered {
    let lowering = match lower(op, &strategy.into(), target) {
        Ok(lowering) => lowering,
        Err(errors) => {
            // The target has a column of its own.
            let target = format!(", and the target is {target}");
            let code = Err(errors.iter().map(|error| error.to_string().replace(&target, "")).join("; "));
            return Lowered { code, notes: Vec::new(), heavy: None, row: None, forms: Vec::new() };
        }
    };
    let sequence = &lowering.sequence;
    let family = Family::from_sm(target.sm);
    let notes = family.into_iter().flat_map(|family| Note::of_sequence(sequence, family));
    let changes = lowering.changes.iter().filter(|change| **change != Change::BeforeMemoryModel);
    let names = changes.map(Into::<&str>::into).chain(notes.map(Into::into));
    let counts = family.and_then(|family| Sass::of_sequence(sequence, family)).map(|sass| sass.counts());
    Lowered {
        code: Ok(Code::new(op, sequence, target)),
        notes: names.map(ToString::to_string).collect(),
        heavy: counts.map(|counts| counts.membar + counts.errbar + counts.cctl),
        row: lowering.row,
        forms: sequence.instructions().flat_map(Instruction::forms).unique().collect(),
    }
}

impl Code {
    fn new(op: &AtomicOp, sequence: &Sequence, target: &Target) -> Self {
        let statements = sequence.statements();
        let is_fence = |statement: &&Statement| {
            matches!(statement.instruction(), Some(Instruction::Fence(_) | Instruction::Membar(_)))
        };
        let before = statements.iter().take_while(is_fence).count();
        let after = statements[before..].iter().rev().take_while(is_fence).count();
        let (before, rest) = statements.split_at(before);
        let (access, after) = rest.split_at(rest.len() - after);
        let text = |statements: &[Statement]| general(statements.iter().join("\n"), op, target);
        Self { before: text(before), access: text(access), after: text(after) }
    }

    /// The code without the state space, for a comparison with the code for generic addresses.
    pub fn without_space(&self) -> Self {
        let text = |text: &str| text.replace(SPACE, "");
        Self { before: text(&self.before), access: text(&self.access), after: text(&self.after) }
    }
}

/// The text with the placeholders instead of the scope and the space of the operation.
fn general(text: String, op: &AtomicOp, target: &Target) -> String {
    let SyncScope::Threads(scope) = op.scope else { return text };
    let text = text.replace(&format!("membar{};", level(scope)), &format!("membar{LEVEL};"));
    let scope = standing_for(scope, target);
    let text =
        [".", ";"].iter().fold(text, |text, end| text.replace(&format!(".{scope}{end}"), &format!("{SCOPE}{end}")));
    match op.operation.access() {
        Some(access) if access.space != Space::Generic => {
            text.replace(&format!(".{}.", access.space), &format!("{SPACE}."))
        }
        _ => text,
    }
}

/// The scope that replaces another one on a target.
pub fn standing_for(scope: Scope, target: &Target) -> Scope {
    match scope {
        Scope::Cluster if !target.meets(Form::ClusterScope.requirement()) => Scope::Gpu,
        scope => scope,
    }
}

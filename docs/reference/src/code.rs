//! The PTX of one operation, with what it differs in, costs and needs.

use itertools::Itertools;
use ptx_lowering::{
    AtomicOp, Change, Form, Sequence, Strategy, SyncScope, Target,
    abi::RowName,
    lower,
    ptx::{Instruction, Scope, Space, Statement},
    sass::{Family, Note, Sass},
};

/// What an operation becomes on a target by a strategy.
pub struct Lowered {
    /// PTX, or why there is none.
    pub code: Result<Code, String>,
    /// The names of what is otherwise than in the words of the operation, and of what ptxas does with it.
    pub notes: Vec<String>,
    /// How many barriers are in its machine code; nothing where that was not measured.
    pub heavy: Option<usize>,
    /// The row of the ABI that it follows.
    pub row: Option<RowName>,
    /// What its instructions need.
    pub forms: Vec<Form>,
}

/// PTX whose scope and space are [`SCOPE`], [`LEVEL`] and [`SPACE`], where they are those of the operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// Fences in front of the access, a line each.
    pub before: String,
    /// The access, and what computes its value.
    pub access: String,
    /// Fences behind it.
    pub behind: String,
}

/// The scope of the operation.
pub const SCOPE: &str = "<.scope>";
/// The level of a `membar` for the scope of the operation.
pub const LEVEL: &str = "<.level>";
/// The state space of the operation; of generic addresses nothing.
pub const SPACE: &str = "<.space>";

/// The level of `membar` for a scope.
fn level(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => ".cta",
        Scope::Cluster | Scope::Gpu => ".gl",
        Scope::Sys => ".sys",
    }
}

/// Lowers an operation of any scope, also of one that the target lacks: that is the one which stands for it.
pub fn lowered(op: &AtomicOp, strategy: Strategy, target: &Target) -> Lowered {
    let lowering = match lower(op, &strategy.into(), target) {
        Ok(lowering) => lowering,
        Err(errors) => {
            // The target stands in a column of its own.
            let target = format!(", and the target is {target}");
            let code = Err(errors.iter().map(|error| error.to_string().replace(&target, "")).join("; "));
            return Lowered { code, notes: Vec::new(), heavy: None, row: None, forms: Vec::new() };
        }
    };
    let sequence = &lowering.sequence;
    let family = Family::of(target.sm);
    let notes = family.into_iter().flat_map(|family| Note::of_sequence(sequence, family));
    let changes = lowering.changes.iter().filter(|change| **change != Change::BeforeMemoryModel);
    let names = changes.map(Into::<&str>::into).chain(notes.map(Into::into));
    let counts = family.and_then(|family| Sass::of_sequence(sequence, family)).map(|sass| sass.counts());
    Lowered {
        code: Ok(Code::of(op, sequence, target)),
        notes: names.map(ToString::to_string).collect(),
        heavy: counts.map(|counts| counts.membar + counts.errbar + counts.cctl),
        row: lowering.row,
        forms: sequence.instructions().flat_map(Instruction::forms).unique().collect(),
    }
}

impl Code {
    fn of(op: &AtomicOp, sequence: &Sequence, target: &Target) -> Self {
        let statements = sequence.statements();
        let is_fence = |statement: &&Statement| {
            matches!(statement.instruction(), Some(Instruction::Fence(_) | Instruction::Membar(_)))
        };
        let before = statements.iter().take_while(is_fence).count();
        let behind = statements[before..].iter().rev().take_while(is_fence).count();
        let (before, rest) = statements.split_at(before);
        let (access, behind) = rest.split_at(rest.len() - behind);
        let text = |statements: &[Statement]| general(statements.iter().join("\n"), op, target);
        Self { before: text(before), access: text(access), behind: text(behind) }
    }

    /// The same code, if it is that of generic addresses when the state space is left out.
    pub fn without_space(&self) -> Self {
        let text = |text: &str| text.replace(SPACE, "");
        Self { before: text(&self.before), access: text(&self.access), behind: text(&self.behind) }
    }
}

/// The text with the scope and the space of the operation as the words for them.
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

/// The scope that stands for another one on a target.
pub fn standing_for(scope: Scope, target: &Target) -> Scope {
    match scope {
        Scope::Cluster if !target.meets(Form::ClusterScope.requirement()) => Scope::Gpu,
        scope => scope,
    }
}

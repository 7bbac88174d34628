//! Hover texts for instructions of PTX: their ordering, the operations that they implement, and their cost. The data
//! are the tables of other crates.

use itertools::Itertools;
use ptx_atomics::hazards::EventKind;
use ptx_atomics::{
    judge::stated_operations,
    lowering::{
        Access, AtomicOp, Operation, RmwOp, Sequence, SyncScope, Type,
        abi::{ABI, RowKind, Step},
        sass::{Family, Note, ResultUse, Sass},
    },
    ptx::{
        Asynchronous, AtomSem, FenceSem, Instruction, LdSem, ModifierKind, Module, Red, RedSem, Scope, Sm, Space,
        StSem,
        mnemonic::{Mnemonic, is_private},
        syntax::{self, Statement, statements},
    },
};
use ptx_atomics_conformance::llvm_ir::{self, Spelling};
use strum::EnumMessage;

use super::document::About;

/// The modifiers that a hover text has, with their titles.
const SAID: [(ModifierKind, &str); 4] = [
    (ModifierKind::Semantics, "semantics"),
    (ModifierKind::Scope, "scope"),
    (ModifierKind::Space, "state space"),
    (ModifierKind::Completion, "completion mechanism"),
];

/// The text about an access that is neither atomic nor volatile.
const WEAK: &str =
    "Weak: it orders nothing, and races with conflicting accesses of other threads unless other operations order them.";

/// The text about the instruction at an offset; `None` for an instruction that neither accesses nor orders memory.
pub fn hover(text: &str, offset: usize) -> Option<About> {
    let (statements, _) = statements(text);
    let sm = statements.iter().find_map(target);
    let is_here = |instruction: &&syntax::Instruction<'_>| {
        let span = instruction.text.span();
        (span.start..=span.end).contains(&offset)
    };
    let mut instructions = statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(instruction) => Some(instruction),
        _ => None,
    });
    let found = instructions.rfind(is_here)?;
    let end = found.text.span().end;
    let own = &text[found.mnemonic.start..end];
    let words = found.modifiers.iter().map(|word| word.text);
    let mnemonic = [found.mnemonic.text].into_iter().chain(words).join(".");
    let row = Mnemonic::find_row(&mnemonic).filter(|row| row.orders_or_touches_memory())?;
    let modelled = format!("{own};").parse::<Sequence>().ok();
    let said = modelled.and_then(|sequence| of_sequence(&sequence, own, sm));
    let said = said.unwrap_or_else(|| of_other(row, &mnemonic, found));
    let proxies = proxies(own);
    let proxy =
        (!proxies.is_empty()).then(|| format!("Memory is accessed through the {} proxy.", proxies.join(" and ")));
    let mut parts = [format!("**{mnemonic}**")].into_iter().chain(said).chain(proxy);
    Some((found.mnemonic.start..end, parts.join("\n\n")))
}

/// The GPU of a module.
fn target(statement: &Statement<'_>) -> Option<Sm> {
    match statement {
        Statement::Directive(directive) if directive.keyword.text == "target" => {
            directive.arguments.text.split(',').next()?.trim().parse().ok()
        }
        _ => None,
    }
}

/// A module with a function that has a single instruction.
fn alone(instruction: &str, head: &str) -> Module {
    let text = format!(".version 9.2\n.target sm_90\n{head} f() {{\n{instruction};\n}}");
    Module::read_partly(&text).0
}

/// The text about an instruction that is modelled; `None` if its ordering is unknown.
fn of_sequence(sequence: &Sequence, text: &str, sm: Option<Sm>) -> Option<Vec<String>> {
    let instruction = sequence.instructions().next()?;
    let step = step(instruction)?;
    let module = alone(text, ".func");
    let stated = module.functions().flat_map(stated_operations).flat_map(|block| block.operations).next();
    let (order, rows) = match (&stated, step) {
        (Some(op), _) => (order(op, instruction.scope()), rows(op, step)),
        (None, Step::Ld(LdSem::Plain | LdSem::Weak) | Step::St(StSem::Plain | StSem::Weak)) => (WEAK.to_owned(), None),
        (None, _) => return None,
    };
    let cost = sm.and_then(|sm| cost(instruction, sequence, sm));
    let requirement = format!("It needs {}.", instruction.requirement());
    Some([Some(order), rows, cost, Some(requirement)].into_iter().flatten().collect())
}

/// The ordering and the scope of an operation.
fn order(op: &AtomicOp, written: Option<Scope>) -> String {
    let what = op.ordering.get_documentation().unwrap_or_default();
    let scope = match (op.scope, written) {
        (SyncScope::Threads(scope), Some(written)) if written != scope => {
            format!(", scope `{written}`, which is equivalent to `{scope}` here")
        }
        (SyncScope::Threads(scope), _) => format!(", scope `{scope}`"),
        (SyncScope::SingleThread, _) => String::new(),
    };
    let space = op.operation.access().map(|access| format!(", {} memory", access.space)).unwrap_or_default();
    format!("`{}`{scope}{space}: {what}", op.ordering)
}

/// The rows of the ABI that contain the instruction. Each row is shown as the operation in LLVM IR.
fn rows(op: &AtomicOp, step: Step) -> Option<String> {
    let sequences = ABI.iter().flat_map(|row| row.sequences.iter().map(move |steps| (row, *steps)));
    let mut lines = sequences.filter(|(_, steps)| steps.contains(&step)).map(|(row, steps)| {
        let asked = AtomicOp { operation: asked(op, row.kind), ordering: row.ordering, ..*op };
        format!("- `{}`, row {}: `{}`", in_llvm_ir(&asked), row.name(), steps.iter().join(" "))
    });
    let lines = lines.join("\n");
    (!lines.is_empty()).then(|| format!("Operations that use it, by NVIDIA's ABI:\n{lines}"))
}

/// An operation of a row's kind: the operation itself, or for a fence an operation whose sequence may contain the
/// fence.
fn asked(op: &AtomicOp, kind: RowKind) -> Operation {
    let access = Access::new(Space::Generic, Type::I32);
    match (op.operation, kind) {
        (Operation::Fence, RowKind::Load) => Operation::Load(access),
        (Operation::Fence, RowKind::Store) => Operation::Store(access),
        (Operation::Fence, RowKind::Rmw) => Operation::Rmw(RmwOp::Add, access),
        (operation, _) => operation,
    }
}

fn in_llvm_ir(op: &AtomicOp) -> String {
    let (ty, align, pointer) = op.operation.access().map_or_else(Default::default, |access| {
        (access.ty.to_string(), access.ty.bits() / 8, format!("{} %p", llvm_ir::pointer(access.space)))
    });
    let spelling = Spelling { ty: &ty, align, aligned_rmw: true, pointer: &pointer, weak: false };
    llvm_ir::instructions(op, &spelling).lines().next().unwrap_or_default().to_owned()
}

/// The step of a row that an instruction implements.
fn step(instruction: &Instruction) -> Option<Step> {
    match instruction {
        Instruction::Fence(fence) => Some(Step::Fence(fence.sem.unwrap_or(FenceSem::AcqRel))),
        Instruction::Membar(_) => Some(Step::Fence(FenceSem::Sc)),
        Instruction::Ld(ld) => Some(Step::Ld(ld.sem)),
        Instruction::St(st) => Some(Step::St(st.sem)),
        Instruction::Atom(atom) => Some(Step::Atom(atom.sem.unwrap_or(AtomSem::Relaxed))),
        Instruction::Red(Red { sem: Some(RedSem::Release), .. }) => Some(Step::Atom(AtomSem::Release)),
        Instruction::Red(_) => Some(Step::Atom(AtomSem::Relaxed)),
        _ => None,
    }
}

/// The measured machine code, if the instruction was measured.
fn cost(instruction: &Instruction, sequence: &Sequence, sm: Sm) -> Option<String> {
    let family = Family::from_sm(sm)?;
    let sass = Sass::from_instruction(instruction, ResultUse::Read, family)?;
    let counts = sass.counts();
    let barriers = counts.membar + counts.errbar + counts.cctl;
    let notes = Note::of_sequence(sequence, family).filter_map(|note| Some(format!("; {}", note.get_message()?)));
    let (all, version, notes) = (sass.opcodes().len(), family.assembler(), notes.collect::<String>());
    Some(format!(
        "On {sm}, ptxas {version} generates `{sass}`; memory instructions: {all}, barriers among them: {barriers}{notes}."
    ))
}

/// The text about an instruction that is not modelled, from the table of mnemonics.
fn of_other(row: &Mnemonic, mnemonic: &str, instruction: &syntax::Instruction<'_>) -> Vec<String> {
    let memory = row.memory.iter().map(|memory| documented(memory.get_documentation())).join("; ");
    let does = match (row.reads, row.writes) {
        (true, true) => "It reads and writes",
        (true, false) => "It reads",
        (false, true) => "It writes",
        (false, false) => "It affects only caches, of",
    };
    let private = if is_private(mnemonic) { " No other thread can write this memory." } else { "" };
    let memory = (!memory.is_empty()).then(|| format!("{does} {memory}.{private}"));
    let order = row.order.map(|order| format!("It orders {}.", documented(order.get_documentation())));
    let later = "It is asynchronous: it may run while later instructions execute, until a thread waits for it.";
    let words = |(kind, name): &(ModifierKind, &str)| {
        let own =
            instruction.modifiers.iter().map(|word| word.text).filter(|word| ModifierKind::from_word(word) == *kind);
        let own = own.map(|word| format!("`{word}`")).join(" and ");
        (!own.is_empty()).then(|| format!("{name} {own}"))
    };
    let modifiers = SAID.iter().filter_map(words).join(", ");
    let modifiers = (!modifiers.is_empty()).then(|| format!("Its modifiers: {modifiers}."));
    let form = Asynchronous::read(instruction).ok();
    let requirement = form.map(|form| format!("It needs {}.", form.requirement()));
    [memory, order, row.is_asynchronous.then(|| later.to_owned()), modifiers, requirement]
        .into_iter()
        .flatten()
        .collect()
}

/// The documentation of a term, as a part of a sentence.
fn documented(text: Option<&'static str>) -> String {
    let text = text.unwrap_or_default().trim_end_matches('.');
    let first = text.chars().next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    first + text.get(1..).unwrap_or_default()
}

/// The proxies through which an instruction accesses memory in the model of the check.
fn proxies(instruction: &str) -> Vec<String> {
    let kernels = ptx_atomics::hazards::read(&alone(instruction, ".visible .entry"));
    let events = kernels.iter().flat_map(|kernel| &kernel.blocks).flat_map(|block| &block.events);
    let accesses = events.flat_map(|event| -> Vec<&ptx_atomics::hazards::EventAccess> {
        match &event.kind {
            EventKind::Access(access) | EventKind::Global(access) | EventKind::Atomic { access, .. } => vec![access],
            EventKind::Start(start) => start.accesses.iter().collect(),
            _ => Vec::new(),
        }
    });
    accesses.map(|access| format!("{:?}", access.proxy).to_lowercase()).unique().collect()
}

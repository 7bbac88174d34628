//! The judgement of PTX by its IR, which LLVM reads in a fork of this process.

use ptx_atomics_common::helper::Pair;
use ptx_atomics_llvm::{Diagnostic, Errors, Input, Location, inkwell::context::Context};
use ptx_check::order::{Fate, Judged, Judgement};
use ptx_judge::{Loss, Note};
use ptx_lowering::ptx::{Module, ModuleError, ModuleErrors};

use super::{
    lower::run,
    process::{Stage, stage},
    work::context,
};
use crate::order::{self, operations, optimized};

/// The message for an access that belongs to no operation.
const EFFECT: &str = "the PTX has an effect on memory that the IR lacks";

/// Judges PTX by its IR in a fork of this process, which must have one thread. LLVM's warnings are passed to `warn`.
///
/// # Errors
/// An input that cannot be read; an end of LLVM or MLIR; and several threads in this process.
pub fn judge(pair: &Pair, warn: impl FnMut(&str)) -> Result<Judged, Errors> {
    run(warn, || whole(pair))
}

/// The whole job, inside the child process.
fn whole(pair: &Pair) -> Result<Judged, Errors> {
    let Pair { ir, language, ptx, .. } = pair;
    let (text, module) = parse(ptx)?;
    let settings = pair.settings()?;
    stage(Stage::Read);
    let context = context();
    let wanted = pair.module.as_deref();
    let operations = operations(&context, ir, *language, &module, &settings, wanted)?;
    // The process ends soon, so freeing LLVM's memory would waste time.
    std::mem::forget(context);

    let mut judged = order::judge(&operations, &module, text)?;
    // The IR as given, and as optimized by LLVM at -O2, as a compiler would see it.
    let levels = if pair.may_be_optimized { &[None, Some(2)][..] } else { &[] };
    for &level in levels {
        if judged.is_kept() {
            break;
        }
        let context = Context::create();
        // If the target has no lowering for the IR, the IR is not optimized and the first judgement is kept.
        if let Ok(found) = optimized(&context, ir, *language, &module, &settings, wanted, level) {
            judged.accept(&found, &module, text)?;
        }
    }
    Ok(data(&judged))
}

/// The text of the PTX, and its parsed module.
fn parse(ptx: &Input) -> Result<(&str, Module), Errors> {
    let no_text = || Diagnostic::new(format!("'{}' is not text", ptx.name()));
    let text = ptx.text().ok_or_else(no_text)?;
    let diagnostic = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: ptx.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(format!("'{}' is not PTX: {reason}", ptx.name()))
    };
    let module = text.parse().map_err(|ModuleErrors(errors)| errors.into_iter().map(diagnostic).collect::<Vec<_>>())?;
    Ok((text, module))
}

/// The judgement in serializable form.
fn data(judged: &order::Judged<'_>) -> Judged {
    let effects = judged.effects.iter().map(|(function, lines)| Judgement {
        function: (*function).to_owned(),
        operation: String::new(),
        place: None,
        fate: Fate::Lost(Loss::Effect),
        reasons: vec![EFFECT.to_owned()],
        notes: Vec::new(),
        is_misplaced: false,
        is_optimized: false,
        lines: lines.clone(),
    });
    let operations = judged.operations.iter().map(|found| {
        let judgement = found.judgement.clone().unwrap_or_default();
        let fate = match (&found.judgement, judgement.loss()) {
            (None, _) => Fate::NotJudged,
            (Some(_), Some(loss)) => Fate::Lost(loss),
            (Some(_), None) => Fate::Kept,
        };
        let notes = &judgement.notes;
        Judgement {
            function: found.function.to_owned(),
            operation: found.named.operation.clone(),
            place: found.named.location.as_ref().map(|at| (at.file.clone(), at.line, at.column)),
            fate,
            reasons: judgement.violations.iter().map(|violation| violation.reason.to_string()).collect(),
            notes: notes.iter().map(|note| <&str>::from(note).to_owned()).collect(),
            is_misplaced: notes.contains(&Note::Misplaced),
            is_optimized: notes.contains(&Note::Optimized),
            lines: judgement.lines,
        }
    });
    let strange = judged.strange.iter().map(|(function, lines)| ((*function).to_owned(), lines.clone()));
    Judged { operations: operations.chain(effects).collect(), strange: strange.collect() }
}

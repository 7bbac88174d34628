//! `ptx_atomics_lower`.

use ptx_atomics_common::helper::{Emit as Made, Job, Language as Written};
use ptx_atomics_common::{Diagnostic, Input};

use crate::{
    answer::{Answer, Message, Misuse, Text},
    constants::{DiagnosticSeverity, Emit, Language},
    session::Session,
};

/// The language of an input; `None` if the input determines it.
pub fn language(language: u32) -> Result<Option<Written>, Misuse> {
    match Language::from_repr(language as usize) {
        Some(Language::Auto) => Ok(None),
        Some(Language::Llvm) => Ok(Some(Written::Llvm)),
        Some(Language::Mlir) => Ok(Some(Written::Mlir)),
        None => Err(Misuse(format!("expected a ptx_atomics_language, found {language}"))),
    }
}

pub fn lower(
    Session(helper): &Session,
    ir: &[u8],
    name: &str,
    options: &str,
    language: u32,
    emit: u32,
) -> Result<Answer, Misuse> {
    let mut job = Job::new(Input::new(name, ir));
    job.options = options.to_owned();
    job.language = self::language(language)?.unwrap_or(job.language);
    job.emit = match Emit::from_repr(emit as usize) {
        Some(Emit::Ptx) => Made::Ptx,
        Some(Emit::LlvmIr) => Made::LlvmIr,
        Some(Emit::LlvmBc) => Made::LlvmBc,
        None => return Err(Misuse(format!("expected a ptx_atomics_emit, found {emit}"))),
    };
    let mut warnings = Vec::new();
    let lowered = helper.lower(&job, |warning| warnings.push(Diagnostic::new(warning)));
    let mut answer = match lowered {
        Ok(modules) => {
            warnings.extend(modules.iter().flat_map(|module| module.warnings.clone()));
            let outputs = modules.into_iter().map(|module| Text::new(module.bytes)).collect();
            Answer { outputs, ..Answer::default() }
        }
        Err(errors) => Answer::errors(errors),
    };
    answer
        .messages
        .extend(warnings.into_iter().map(|warning| Message::new(DiagnosticSeverity::Warning, warning, None)));
    Ok(answer)
}

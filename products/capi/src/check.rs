//! `ptx_atomics_check` and `ptx_atomics_check_with_ir`.

use std::time::Duration;

use ptx_atomics_common::{Diagnostic, Errors, Input, Location, helper::Pair};
use ptx_check::{Budget, Check, Document, Finding, Launch, Lines, Rule, Severity, View, order::Judged};
use ptx_isa::{ModuleError, Places, legality};

use crate::{
    answer::{Answer, Message, Misuse},
    arguments::deep,
    constants::DiagnosticSeverity,
    lower::language,
    options::{CallOptions, KERNELS, READINGS},
    session::Session,
};

impl DiagnosticSeverity {
    fn from_finding(finding: &Finding) -> Self {
        match finding.severity {
            _ if finding.is_not_checked() => Self::NotChecked,
            _ if finding.is_possible() => Self::Possible,
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Note => Self::Note,
        }
    }
}

/// The IR from which a compiler made the PTX, and the session whose helper reads the IR.
pub struct Ir<'i> {
    pub session: &'i Session,
    pub bytes: &'i [u8],
    pub name: &'i str,
    pub language: u32,
}

pub fn check(ptx: &str, name: &str, options: &str, milliseconds: u32, ir: Option<Ir<'_>>) -> Result<Answer, Misuse> {
    let options = match CallOptions::read(options, &[&READINGS, &KERNELS]) {
        Ok(options) => options,
        Err(errors) => return Ok(Answer::errors(errors)),
    };
    let mut warnings = Vec::new();
    let judged = ir.map(|ir| judged(&ir, ptx, name, &mut warnings)).transpose()?;
    let mut answer = deep(|| {
        let ir = judged.as_ref().and_then(|judged| judged.as_ref().ok());
        checked(ptx, name, &options, Duration::from_millis(milliseconds.into()), ir)
    });
    let errors = judged.and_then(Result::err).into_iter().flatten();
    answer.messages.extend(errors.map(|error| Message::new(DiagnosticSeverity::Error, error, None)));
    answer
        .messages
        .extend(warnings.into_iter().map(|warning| Message::new(DiagnosticSeverity::Warning, warning, None)));
    Ok(answer)
}

/// The fate of each operation of the IR.
fn judged(
    ir: &Ir<'_>,
    ptx: &str,
    name: &str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Result<Judged, Errors>, Misuse> {
    let mut pair = Pair::new(Input::new(ir.name, ir.bytes), Input::new(name, ptx));
    pair.language = language(ir.language)?.unwrap_or(pair.language);
    let Session(helper) = ir.session;
    Ok(helper.judge(&pair, |warning| warnings.push(Diagnostic::new(warning))))
}

fn checked(ptx: &str, file: &str, options: &CallOptions, time: Duration, ir: Option<&Judged>) -> Answer {
    let (module, errors) = legality::read(ptx);
    let error = |ModuleError { line, reason, .. }| {
        let location = (line > 0).then(|| Location { file: file.to_owned(), line, column: 0 });
        Message::new(DiagnosticSeverity::Error, Diagnostic { location, ..Diagnostic::new(reason) }, None)
    };
    let mut messages: Vec<_> = errors.into_iter().map(error).collect();
    let given = &options.given;
    let is_quick = time.is_zero();
    let check = Check {
        ir,
        launch: Launch { size: given.size, numbers: given.numbers.clone(), may_alias: false },
        kernel: Some(&options.kernel),
        readings: options.readings,
        budget: if is_quick { Budget::quick() } else { Budget::default() },
        time: if is_quick { Duration::MAX } else { time },
        ..Check::new(&module)
    };
    let mut report = check.run();
    let places = Places::read_text("");
    let document = Document { program: file, text: ptx, lines: Lines::Ptx { places: &places, is_given: true } };
    let faults = document.allow(&mut report).into_iter();
    messages.extend(faults.map(|fault| Message::new(DiagnosticSeverity::Warning, fault, None)));
    messages.extend(
        report
            .kernels
            .iter()
            .flat_map(|kernel| document.views(kernel))
            .filter(|view| view.finding.allowed.is_none())
            .map(message),
    );
    Answer { messages, ..Answer::default() }
}

fn message(view: View<'_>) -> Message {
    let finding = view.finding;
    let first = view.first.iter().map(|first| format!("the first access is on line {}", first.line));
    let diagnostic = Diagnostic {
        function: Some(view.kernel),
        location: view.place,
        help: view.help,
        notes: first.chain(view.notes).collect(),
        ..Diagnostic::new(view.message)
    };
    Message::new(DiagnosticSeverity::from_finding(finding), diagnostic, finding.rule.map(Rule::name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::Part;

    /// The errors of `ptx-atomics check`, in the order of the text.
    #[test]
    fn instructions_that_the_assembler_refuses() {
        let text =
            ".version 8.0\n.target sm_90\n.visible .entry k() {\n bar.sync;\n ret; }\n.visible .entry l() {\n ret }";
        let answer = checked(text, "k.ptx", &CallOptions::default(), Duration::ZERO, None);
        let errors = answer.messages.iter().filter(|message| message.level == DiagnosticSeverity::Error);
        let message = |error: &Message| {
            let text = error.part(Part::Message as u32).map(|text| String::from_utf8_lossy(text.bytes()).into_owned());
            (error.line, text.unwrap_or_default())
        };
        let errors: Vec<_> = errors.map(message).collect();
        let refused = (4, "expected 1 or 2 operands, found 0 of `bar.sync`".to_owned());
        assert_eq!(errors, [refused, (7, "a `;` is missing".to_owned())]);
    }
}

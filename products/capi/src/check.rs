//! `ptx_atomics_check`.

use std::time::Duration;

use ptx_atomics_common::{Diagnostic, Location};
use ptx_check::{Budget, Check, Document, Finding, Launch, Lines, Rule, Severity, View};
use ptx_isa::{ModuleError, Places, legality};

use crate::{
    answer::{Answer, Message, Misuse},
    arguments::deep,
    constants::Standing,
    options::{KERNELS, Options, READINGS},
};

impl Standing {
    fn of(finding: &Finding) -> Self {
        match finding.severity {
            _ if finding.is_not_checked() => Self::NotChecked,
            _ if finding.is_possible() => Self::Possible,
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Note => Self::Note,
        }
    }
}

pub fn check(ptx: &str, name: &str, options: &str, milliseconds: u32) -> Result<Answer, Misuse> {
    Ok(match Options::read(options, &[&READINGS, &KERNELS]) {
        Ok(options) => deep(|| checked(ptx, name, &options, Duration::from_millis(milliseconds.into()))),
        Err(errors) => Answer::errors(errors),
    })
}

fn checked(ptx: &str, file: &str, options: &Options, time: Duration) -> Answer {
    let (module, errors) = legality::read(ptx);
    let error = |ModuleError { line, reason, .. }| {
        let location = (line > 0).then(|| Location { file: file.to_owned(), line, column: 0 });
        Message::new(Standing::Error, Diagnostic { location, ..Diagnostic::new(reason) }, None)
    };
    let mut messages: Vec<_> = errors.into_iter().map(error).collect();
    let given = &options.given;
    let is_quick = time.is_zero();
    let check = Check {
        launch: Launch { size: given.size, numbers: given.numbers.clone(), may_alias: false },
        kernel: Some(&options.kernel),
        readings: options.readings,
        budget: if is_quick { Budget::quick() } else { Budget::default() },
        time: if is_quick { Duration::MAX } else { time },
        ..Check::new(&module)
    };
    let mut report = check.run();
    let places = Places::of("");
    let document = Document { program: file, text: ptx, lines: Lines::Ptx { places: &places, is_given: true } };
    let faults = document.allow(&mut report).into_iter();
    messages.extend(faults.map(|fault| Message::new(Standing::Warning, fault, None)));
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
    Message::new(Standing::of(finding), diagnostic, finding.rule.map(Rule::name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::Part;

    /// As the command has it, in the order of the text.
    #[test]
    fn instructions_that_the_assembler_refuses() {
        let text =
            ".version 8.0\n.target sm_90\n.visible .entry k() {\n bar.sync;\n ret; }\n.visible .entry l() {\n ret }";
        let answer = checked(text, "k.ptx", &Options::default(), Duration::ZERO);
        let errors = answer.messages.iter().filter(|message| message.level == Standing::Error);
        let message = |error: &Message| {
            let text = error.part(Part::Message as u32).map(|text| String::from_utf8_lossy(text.bytes()).into_owned());
            (error.line, text.unwrap_or_default())
        };
        let errors: Vec<_> = errors.map(message).collect();
        let refused = (4, "expected 1 or 2 operands, found 0 of `bar.sync`".to_owned());
        assert_eq!(errors, [refused, (7, "a `;` is missing".to_owned())]);
    }
}

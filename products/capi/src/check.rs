//! `ptx_atomics_check`.

use std::time::Duration;

use ptx_atomics_common::{Diagnostic, Location};
use ptx_hazards::{Budget, Cause, Class, Finding, Kernel, Report, Verdict, Witnesses};
use ptx_isa::{InstPlace, Module, ModuleError, Stop, legality};
use ptx_memory_model::kernel::shown;

use crate::{
    answer::{Answer, Message, Misuse},
    arguments::deep,
    constants::Level,
    options::{KERNELS, Options, READINGS},
};

impl From<ptx_hazards::Level> for Level {
    fn from(level: ptx_hazards::Level) -> Self {
        use ptx_hazards::Level as Of;
        match level {
            Of::Error => Self::Error,
            Of::Possible => Self::Possible,
            Of::Warning => Self::Warning,
            Of::Note => Self::Note,
            Of::NotChecked => Self::NotChecked,
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
    let location = |at: InstPlace| {
        let InstPlace { line, column, .. } = at;
        (line > 0).then(|| Location { file: file.to_owned(), line, column })
    };
    let error = |ModuleError { line, reason, .. }| {
        Message::new(
            Level::Error,
            Diagnostic { location: location(InstPlace::line(line)), ..Diagnostic::new(reason) },
            None,
        )
    };
    let mut messages: Vec<_> = errors.into_iter().map(error).collect();

    let given = &options.given;
    let parameters = given.numbers.iter().map(|(name, number)| (name.clone(), number.cast_signed())).collect();
    let launch = ptx_hazards::Options { size: given.size, parameters };
    let wanted =
        |kernel: &&Kernel| kernel.name.contains(&options.kernel) || shown(&kernel.name).contains(&options.kernel);
    for kernel in ptx_hazards::read_with(&module, &launch).iter().filter(wanted) {
        for (finding, level) in findings(&module, kernel, options, time) {
            let remedy = finding.remedy.map(|remedy| remedy.help);
            let diagnostic = Diagnostic {
                function: Some(finding.kernel),
                location: location(finding.at),
                help: remedy.or_else(|| finding.cause.as_ref().and_then(Cause::help)),
                notes: finding.first.map(|line| format!("the first access is on line {line}")).into_iter().collect(),
                ..Diagnostic::new(finding.message)
            };
            messages.push(Message::new(level.into(), diagnostic, finding.rule.map(Into::into)));
        }
    }
    Answer { messages, ..Answer::default() }
}

/// What is found of a kernel, as the command says it.
fn findings(module: &Module, kernel: &Kernel, options: &Options, time: Duration) -> Vec<(Finding, ptx_hazards::Level)> {
    let Report { mut findings, .. } =
        ptx_hazards::check_within(kernel, options.readings, Budget::default(), &Stop::never());
    // An instruction that comes to several places of memory says the same of each.
    findings.dedup_by(|a, b| {
        (a.at, a.first, a.rule, a.verdict, &a.message) == (b.at, b.first, b.rule, b.verdict, &b.message)
    });
    let is_open = |finding: &Finding| finding.verdict != Verdict::Note && finding.rule.is_some();
    let is_run = !time.is_zero() && (ptx_hazards::is_asynchronous(kernel) || findings.iter().any(is_open));
    let given = ptx_execute::Given { most: kernel.most, ..options.given.clone() };
    // What cannot be launched has no witness.
    let search =
        || ptx_hazards::witnesses(module, &kernel.name, &findings, &given, &Budget::default(), &Stop::after(time)).ok();
    let witnesses = if is_run { search() } else { None }.unwrap_or_default();

    let level = |finding: &Finding, seen: Option<Class>| ptx_hazards::Level::of(finding, seen, kernel.has_block);
    let seen = |number| {
        let showing = witnesses.found.iter().filter(|witness| witness.shows == Some(number));
        showing.map(|witness| witness.class).min()
    };
    let alone = Witnesses::news(&witnesses).into_iter().map(|witness| (witness.finding(), Some(witness.class)));
    let alone: Vec<_> = alone.collect();
    let proposed = findings.into_iter().enumerate().map(|(number, finding)| (finding, seen(number)));
    proposed
        .chain(alone)
        .map(|(finding, seen)| (level(&finding, seen), finding))
        .map(|(level, finding)| (finding, level))
        .collect()
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
        let errors = answer.messages.iter().filter(|message| message.level == Level::Error);
        let message = |error: &Message| {
            let text = error.part(Part::Message as u32).map(|text| String::from_utf8_lossy(text.bytes()).into_owned());
            (error.line, text.unwrap_or_default())
        };
        let errors: Vec<_> = errors.map(message).collect();
        let refused = (4, "expected 1 or 2 operands, found 0 of `bar.sync`".to_owned());
        assert_eq!(errors, [refused, (7, "a `;` is missing".to_owned())]);
    }
}

//! Findings as JUnit's XML: a suite for each file, and a test for each kernel.

use std::fmt::Write;

use itertools::Itertools;
use ptx_atomics::{memory_model::kernel::shown, pass::Diagnostic};
use ptx_atomics_conformance::report::escaped;

use super::placed::{Level, Placed};

/// Those of kernels, each by its file and its name. A kernel fails by its errors, with `is_strict` by what is possible, too; other findings are its output. A file that cannot be read is
/// an error.
pub fn suites(findings: &[Placed], kernels: &[(String, String)], errors: &[Diagnostic], is_strict: bool) -> String {
    let fails = |placed: &&Placed| placed.level == Level::Error || is_strict && placed.level == Level::Possible;
    let kernels = kernels.iter().cloned();
    // Findings stand in sources, too, and functions have atomics that are no kernels.
    let of_findings = findings.iter().map(|placed| (placed.program.clone(), placed.kernel.clone()));
    let kernels: Vec<(String, String)> = kernels.chain(of_findings).unique().collect();
    let of = |(program, kernel): &(String, String)| {
        findings.iter().filter(|placed| placed.program == *program && placed.kernel == *kernel).collect::<Vec<_>>()
    };
    let failures = |kernels: &[(String, String)]| kernels.iter().filter(|kernel| of(kernel).iter().any(fails)).count();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let mut line = |text: String| writeln!(xml, "{text}").expect("a string takes all");
    let (tests, failed) = (kernels.len() + errors.len(), errors.len());
    let counts = |tests, failures, errors| format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
    line(format!("<testsuites name=\"ptx-atomics check\" {}>", counts(tests, failures(&kernels), failed)));
    for (file, kernels) in &kernels.iter().cloned().chunk_by(|(file, _)| file.clone()) {
        let kernels: Vec<_> = kernels.collect();
        let name = escaped(&file);
        line(format!("  <testsuite name=\"{name}\" {}>", counts(kernels.len(), failures(&kernels), 0)));
        for kernel in &kernels {
            line(format!("    <testcase classname=\"{name}\" name=\"{}\">", escaped(&shown(&kernel.1))));
            let (failed, others): (Vec<_>, Vec<_>) = of(kernel).into_iter().partition(fails);
            for placed in failed {
                let (level, message) = (<&str>::from(placed.level), escaped(&placed.message));
                line(format!(
                    "      <failure type=\"{level}\" message=\"{message}\">{}</failure>",
                    escaped(&said(placed))
                ));
            }
            if !others.is_empty() {
                let said = others.into_iter().map(said).join("\n");
                line(format!("      <system-out>{}</system-out>", escaped(&said)));
            }
            line("    </testcase>".to_owned());
        }
        line("  </testsuite>".to_owned());
    }
    if failed > 0 {
        line(format!("  <testsuite name=\"input\" {}>", counts(failed, 0, failed)));
        for error in errors {
            let message = escaped(&error.to_string());
            line(format!("    <testcase name=\"input\"><error message=\"{message}\"/></testcase>"));
        }
        line("  </testsuite>".to_owned());
    }
    line("</testsuites>".to_owned());
    xml
}

/// A finding in a line.
fn said(placed: &Placed) -> String {
    let place = placed.place.as_ref().map(|at| format!("{}:{}: ", at.file, at.line)).unwrap_or_default();
    let rule = placed.rule.map(|rule| format!(" [{rule}]")).unwrap_or_default();
    let help = placed.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{place}{}{rule}: {}{help}", <&str>::from(placed.level), placed.message)
}

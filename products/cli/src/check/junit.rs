//! Findings as JUnit's XML: a suite for each program, and a test for each kernel.

use itertools::Itertools;
use ptx_atomics::{check::View, memory_model::kernel::source_name, pass::Diagnostic};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::module_views::ModuleViews;

/// Writes the kernels, grouped by program. A kernel fails by the findings that fail a check; other findings are the
/// output of its test. An input that cannot be read is an error.
pub fn suites(all: &[ModuleViews<'_>], errors: &[Diagnostic], is_strict: bool) -> String {
    let mut report = Report::new("ptx-atomics check");
    for (program, modules) in &all.iter().chunk_by(|shown| shown.name().to_owned()) {
        let mut suite = TestSuite::new(&*program);
        for (kernel, views) in modules.flat_map(|shown| shown.module.report.kernels.iter().zip(&shown.views)) {
            suite.add_test_case(case(&program, &source_name(&kernel.kernel), views, is_strict));
        }
        report.add_test_suite(suite);
    }
    if !errors.is_empty() {
        let mut suite = TestSuite::new("input");
        for error in errors {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(error.to_string());
            suite.add_test_case(TestCase::new("input", status));
        }
        report.add_test_suite(suite);
    }
    report.to_string().unwrap_or_default()
}

fn case(program: &str, kernel: &str, views: &[View<'_>], is_strict: bool) -> TestCase {
    let (failed, others): (Vec<_>, Vec<_>) = views.iter().partition(|view| view.finding.fails(is_strict));
    let status = match failed.split_first() {
        None => TestCaseStatus::success(),
        Some((first, _)) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(first.finding.severity.to_string());
            status.set_message(&*first.message);
            status.set_description(failed.iter().map(|view| line(view)).join("\n"));
            status
        }
    };
    let mut case = TestCase::new(kernel, status);
    case.set_classname(program);
    if !others.is_empty() {
        case.set_system_out(others.into_iter().map(line).join("\n"));
    }
    case
}

/// A finding in a line.
fn line(view: &View<'_>) -> String {
    let place = view.place.as_ref().map(|at| format!("{}:{}: ", at.file, at.line)).unwrap_or_default();
    let rule = view.finding.rule.map(|rule| format!(" [{}]", rule.name())).unwrap_or_default();
    let help = view.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{place}{}{rule}: {}{help}", view.finding.severity, view.message)
}

//! A report of the trials in JUnit's format, for the viewers of continuous integration.

use std::{
    env, fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use libtest_mimic::{Failed, Trial};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

/// The environment variable that names the file.
pub const VARIABLE: &str = "GOLDEN_JUNIT";

/// The outcomes of the trials that ran.
#[derive(Clone, Debug, Default)]
pub struct Report(Arc<Mutex<Vec<Outcome>>>);

#[derive(Debug)]
struct Outcome {
    name: String,
    time: Duration,
    failure: Option<String>,
}

impl Report {
    /// A trial whose outcome goes into the report.
    pub fn trial(&self, name: impl Into<String>, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
        let (name, report) = (name.into(), self.clone());
        Trial::test(name.clone(), move || {
            let start = Instant::now();
            let result = test();
            let failure = result.as_ref().err().map(|failed| failed.message().unwrap_or("it failed").to_owned());
            let outcome = Outcome { name, time: start.elapsed(), failure };
            report.0.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
            result
        })
    }

    /// Writes the file that [`VARIABLE`] names, if the variable is set.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, suite: &str) -> Result<(), String> {
        let Some(path) = env::var_os(VARIABLE).map(PathBuf::from) else { return Ok(()) };
        fs::write(&path, self.text(suite)).map_err(|error| format!("cannot write '{}': {error}", path.display()))
    }

    fn text(&self, suite: &str) -> String {
        let mut outcomes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_by(|one, other| one.name.cmp(&other.name));
        let mut tests = TestSuite::new(suite);
        for Outcome { name, time, failure } in outcomes.iter() {
            let status = match failure {
                None => TestCaseStatus::success(),
                Some(failure) => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_message(failure.lines().next().unwrap_or_default());
                    status.set_description(&**failure);
                    status
                }
            };
            let mut case = TestCase::new(&**name, status);
            case.set_classname(suite).set_time(*time);
            tests.add_test_case(case);
        }
        tests.set_time(outcomes.iter().map(|outcome| outcome.time).sum());
        let mut report = quick_junit::Report::new(suite);
        report.add_test_suite(tests);
        report.to_string().expect("it has only text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_every_trial() {
        let report = Report::default();
        let add = |name: &str, failure: Option<&str>| {
            let failure = failure.map(str::to_owned);
            report.0.lock().expect("no panic").push(Outcome {
                name: name.into(),
                time: Duration::from_millis(5),
                failure,
            });
        };
        add("b: sm_90, <fence>", Some("WEAKER: \"no\" \u{1b}[31macquire\n  & more"));
        add("a", None);
        let text = report.text("golden");
        for part in [
            "<testsuite name=\"golden\" tests=\"2\"",
            "failures=\"1\"",
            "<testcase name=\"a\" classname=\"golden\" time=\"0.005\"",
            "name=\"b: sm_90, &lt;fence&gt;\"",
            "<failure message=\"WEAKER: &quot;no&quot; ",
            "&amp; more</failure>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // XML has no control characters.
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.find("\"a\"") < text.find("\"b: "), "{text}");
    }
}

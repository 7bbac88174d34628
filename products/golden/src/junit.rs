//! A report of the trials in JUnit's format, which viewers of continuous integration show.

use std::{
    env,
    fmt::Write,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use libtest_mimic::{Failed, Trial};

/// The environment variable that names the file.
pub const VARIABLE: &str = "GOLDEN_JUNIT";

/// What became of the trials that ran.
#[derive(Clone, Debug, Default)]
pub struct Report(Arc<Mutex<Vec<Outcome>>>);

#[derive(Debug)]
struct Outcome {
    name: String,
    time: Duration,
    failure: Option<String>,
}

impl Report {
    /// A trial whose outcome is kept.
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

    /// Writes the file, if one is asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, suite: &str) -> Result<(), String> {
        let Some(path) = env::var_os(VARIABLE).map(PathBuf::from) else { return Ok(()) };
        fs::write(&path, self.text(suite)).map_err(|error| format!("cannot write '{}': {error}", path.display()))
    }

    fn text(&self, suite: &str) -> String {
        let mut outcomes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_by(|one, other| one.name.cmp(&other.name));
        let failures = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
        let time: Duration = outcomes.iter().map(|outcome| outcome.time).sum();
        let suite = escaped(suite);
        let totals = format!("tests=\"{}\" failures=\"{failures}\" time=\"{:.3}\"", outcomes.len(), time.as_secs_f64());
        let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n");
        text += &format!("  <testsuite name=\"{suite}\" {totals}>\n");
        for Outcome { name, time, failure } in outcomes.iter() {
            let name = escaped(name);
            let time = time.as_secs_f64();
            let case = format!("    <testcase classname=\"{suite}\" name=\"{name}\" time=\"{time:.3}\"");
            let end = match failure {
                None => "/>\n".to_owned(),
                Some(failure) => {
                    let first = escaped(failure.lines().next().unwrap_or_default());
                    format!("><failure message=\"{first}\">{}</failure></testcase>\n", escaped(failure))
                }
            };
            write!(text, "{case}{end}").expect("a string takes text");
        }
        text + "  </testsuite>\n</testsuites>\n"
    }
}

/// Text for XML, which has no characters for controls.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
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
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites tests=\"2\" failures=\"1\" time=\"0.010\">
  <testsuite name=\"golden\" tests=\"2\" failures=\"1\" time=\"0.010\">
    <testcase classname=\"golden\" name=\"a\" time=\"0.005\"/>
    <testcase classname=\"golden\" name=\"b: sm_90, &lt;fence&gt;\" time=\"0.005\"><failure \
                        message=\"WEAKER: &quot;no&quot; \u{fffd}[31macquire\">WEAKER: &quot;no&quot; \u{fffd}[31macquire
  &amp; more</failure></testcase>
  </testsuite>
</testsuites>
";
        assert_eq!(report.text("golden"), expected);
    }
}

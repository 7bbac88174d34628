//! The litmus test of a finding in a kernel, and the execution that shows it.

use crate::{
    litmus::{Litmus, Read},
    outcome::Limits,
    ptx::{Conventions, readings::Readings},
};

use crate::report::{
    print::{self, DrawnExecution},
    race::{self, DataRace},
    subject::Subject,
};

/// The execution of a litmus test that has a data race; `None` if it has none.
pub fn draw_race(text: &str, readings: Readings) -> Option<String> {
    let Read { litmus, lines, warnings: _ } = Litmus::read_with_lines(text, Default::default()).ok()?;
    let subject = Subject { file: String::new(), litmus, compiled: None, lines, warnings: Vec::new() };
    let conventions = Conventions { readings, ..Conventions::MANUAL };
    let race = race::find_race(&subject, conventions, Limits::default()).ok()??;
    let known = DataRace::new(&subject, &race, conventions);
    let shown = DrawnExecution::race(&subject, &race, &known, conventions);
    Some(text.to_owned() + &print::execution(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_race() {
        let test = |wait: &str| {
            format!(
                "PTX k, lines 3 and 5\n{{ .tensor t=0; }}\n P0 ;\n tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {{1}} ;\n {wait} ;\n \
                 tcgen05.ld.sync.aligned.32x32b.x1.b32 {{r0}}, [t] ;\nexists (true)\n"
            )
        };
        let racy = test("tcgen05.wait::ld.sync.aligned");
        let found = draw_race(&racy, Readings::DEFAULT).expect("a race");
        assert!(found.starts_with(&racy) && found.contains("The race in it:"), "{found}");
        assert!(found.contains("(P0, line 4)") && found.contains("(P0, line 6)"), "{found}");
        assert_eq!(draw_race(&test("tcgen05.wait::st.sync.aligned"), Readings::DEFAULT), None);
        assert_eq!(draw_race("PTX nothing", Readings::DEFAULT), None);
    }
}

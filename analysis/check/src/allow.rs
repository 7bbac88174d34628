//! Findings that the source allows: a comment `check: allow R7 because REASON` on the line of a finding, or on the line
//! before it.

use std::{collections::HashMap, fs};

use ptx_atomics_common::{Diagnostic, Location};

use crate::{report::Report, rule::Rule, view::Document};

/// The words with which such a comment begins.
const START: &str = "check: allow ";
/// The words before the reason.
const BECAUSE: &str = " because ";

/// A comment that allows findings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Allow {
    rule: Rule,
    reason: String,
}

impl Allow {
    /// The comment of a line, if it has one, or the fault of the comment.
    fn read(line: &str) -> Option<Result<Self, String>> {
        let comment = line.split_once("//").or_else(|| line.split_once('#')).map(|(_, comment)| comment)?;
        let text = comment.trim_start().strip_prefix(START)?;
        let (name, reason) = text.split_once(BECAUSE).map_or((text, ""), |(name, reason)| (name, reason.trim()));
        let name = name.trim();
        Some(match (Rule::by_name(name), reason.is_empty()) {
            (None, _) => Err(format!("expected a rule such as R7 after `check: allow`, found '{name}'")),
            (_, true) => Err(format!("expected `because` and a reason after `check: allow {name}`")),
            (Some(rule), false) => Ok(Self { rule, reason: reason.to_owned() }),
        })
    }
}

impl Document<'_> {
    /// Marks the findings that comments of the program or of its sources allow. Returns the comments of the program
    /// that are wrong or allow no finding.
    pub fn allow(&self, report: &mut Report) -> Vec<Diagnostic> {
        let mut sources: HashMap<String, Option<String>> = HashMap::new();
        let mut used: Vec<u32> = Vec::new();
        for finding in report.kernels.iter_mut().flat_map(|kernel| &mut kernel.findings) {
            let Some(rule) = finding.rule else { continue };
            for place in finding.sites.iter().rev().filter_map(|site| self.place(site.at)) {
                let is_program = place.file == self.program;
                let text = if is_program {
                    Some(self.text)
                } else {
                    let read = || fs::read_to_string(&place.file).ok();
                    sources.entry(place.file.clone()).or_insert_with(read).as_deref()
                };
                let at = |line: u32| {
                    let line = text?.lines().nth((line as usize).checked_sub(1)?)?;
                    Allow::read(line)?.ok().filter(|allow| allow.rule == rule)
                };
                let before = place.line.saturating_sub(1);
                if let Some((line, allow)) = [place.line, before].into_iter().find_map(|line| Some((line, at(line)?))) {
                    finding.allowed = Some(allow.reason);
                    used.extend(is_program.then_some(line));
                    break;
                }
            }
        }
        let fault = |(index, line): (usize, &str)| {
            let number = index as u32 + 1;
            let message = match Allow::read(line)? {
                Err(message) => message,
                Ok(_) if used.contains(&number) => return None,
                Ok(Allow { rule, .. }) => format!("no finding of rule {} is here: remove the comment", rule.name()),
            };
            let location = Location { file: self.program.to_owned(), line: number, column: 0 };
            Some(Diagnostic { location: Some(location), ..Diagnostic::new(message) })
        };
        self.text.lines().enumerate().filter_map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use ptx_isa::{Module, Places};

    use super::*;
    use crate::{Check, Lines};

    const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() .reqntid 64 {\n.reg .b32 %r<2>;\n\
        .shared .b32 word;\nmov.u32 %r1, %tid.x;\nLINE\nst.shared.u32 [word], %r1;\nret;\n}\n";

    /// The reasons of the findings, and the faults of the comments.
    fn check(line: &str, reasons: &[Option<&str>], faults: &[&str]) {
        let text = KERNEL.replace("LINE", line);
        let module: Module = text.parse().expect("PTX");
        let mut report = Check::new(&module).run();
        let lines = Lines::Ptx { places: &Places::read_text(""), is_given: true };
        let found = Document { program: "k.ptx", text: &text, lines }.allow(&mut report);
        let allowed: Vec<_> = report.findings().map(|finding| finding.allowed.as_deref()).collect();
        let found: Vec<_> = found.iter().map(|fault| &*fault.message).collect();
        assert_eq!((&allowed[..], &found[..]), (reasons, faults), "{line}");
    }

    #[test]
    fn comments_allow_findings_of_a_rule() {
        check("", &[None], &[]);
        check("// check: allow R17 because all write a flag", &[Some("all write a flag")], &[]);
        check("// check: allow R7 because x", &[None], &["no finding of rule R7 is here: remove the comment"]);
        check("// check: allow R17", &[None], &["expected `because` and a reason after `check: allow R17`"]);
        check(
            "// check: allow it because x",
            &[None],
            &["expected a rule such as R7 after `check: allow`, found 'it'"],
        );
    }
}

//! Remarks: as lines, and with the feature `yaml` as the YAML of LLVM (LLVM, 'Remarks'), which `llvm-remarkutil` and
//! opt-viewer read.

mod text;
#[cfg(feature = "yaml")]
mod yaml;

pub use self::text::{line, lines};
#[cfg(feature = "yaml")]
pub use self::yaml::{append, yaml};
#[cfg(all(test, feature = "yaml"))]
mod tests {
    use ptx_lowering::Sequence;
    use ptx_optimize::Rewrite;

    use super::*;
    use crate::message::{Outcome, Remark};

    fn check(outcome: Outcome, kind: &str, text: &str) {
        let remark = Remark { function: "f".into(), location: None, operation: "fence acquire".into(), outcome };
        assert_eq!(line(&remark), text);
        let yaml = yaml(&[remark]);
        assert!(yaml.starts_with(kind), "{yaml}");
        // The parts, concatenated, give the text.
        let part =
            |line: &str| serde_json::from_str::<String>(line.trim_start().strip_prefix("- ")?.split_once(": ")?.1).ok();
        assert_eq!(yaml.lines().filter_map(part).collect::<String>(), text);
    }

    #[test]
    fn all_forms_say_the_same() {
        let optimized = |applied| Outcome::Optimized { rewrite: Rewrite::Scope, applied, message: "of \"m\"".into() };
        let lowered = |native| Outcome::Lowered { sequence: Sequence::default(), changes: Vec::new(), native };
        let passed = "--- !Passed\nPass:            ptx-atomics\nName:            Lowered\n";
        check(lowered(false), passed, "fence acquire became nothing");
        check(lowered(true), passed, "fence acquire stays as it is, which LLVM prints as nothing");
        let passed = "--- !Passed\nPass:            ptx-atomics\nName:            scope\n";
        check(optimized(true), passed, "fence acquire optimized by scope: of \"m\"");
        let inserted = Outcome::Inserted {
            instruction: "fence.proxy.async".into(),
            side: "after",
            rule: "R4".into(),
            message: "\"m\" is read".into(),
        };
        let passed = "--- !Passed\nPass:            ptx-atomics\nName:            Inserted\n";
        check(inserted, passed, "fence acquire has fence.proxy.async after it by R4: \"m\" is read");
        let missed = "--- !Missed\nPass:            ptx-atomics\nName:            scope\n";
        check(optimized(false), missed, "fence acquire not optimized by scope: of \"m\"");
    }
}

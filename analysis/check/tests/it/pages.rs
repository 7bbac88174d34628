//! The pages of the rules: the wrong kernel of each page breaks only its rule, and the corrected kernel breaks no rule.

use ptx_check::{Budget, Check, Question, Questions, Rule};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;

/// The PTX blocks of a page.
fn kernels(page: &str) -> Vec<&str> {
    page.split("```ptx\n").skip(1).filter_map(|block| block.split("```").next()).collect()
}

/// The rules that a kernel breaks, or may break.
fn broken(text: &str, readings: Readings) -> Vec<Rule> {
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let questions: Questions = [Question::Async, Question::Races, Question::Barriers].into_iter().collect();
    let report = Check { questions, readings, budget: Budget::default(), ..Check::new(&module) }.run();
    let mut rules: Vec<Rule> = report.findings().filter_map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// R13 is about the source only; the rules of order need IR, which the command's tests have.
#[test]
fn pages_have_a_wrong_kernel_and_the_corrected_kernel() {
    let of_ptx = |rule: &Rule| rule.question() != Question::Order && rule.name() != "R13";
    for rule in Rule::all().filter(of_ptx) {
        let [wrong, right] = kernels(rule.page())[..] else { panic!("{rule:?}: two kernels") };
        // R8 and R11 are faults only under the strict reading of the manual.
        let readings = if ["R8", "R11"].contains(&rule.name()) { Readings::STRICT } else { Readings::DEFAULT };
        assert_eq!(broken(wrong, readings), [rule], "the wrong kernel of {}", rule.name());
        assert_eq!(broken(right, readings), [], "the corrected kernel of {}", rule.name());
    }
}

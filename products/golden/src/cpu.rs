//! Runs of the kernels of an input on the CPU, as the comments of the input describe them.

use std::path::Path;

use ptx_atomics::ptx::{LaunchSize, Module};
use ptx_execute::{
    Fault, RunOptions,
    described::{
        assumed,
        comment::{Comments, Description},
        expect::Expectation,
        plan::{self, Plan, Wish},
        simulate::{Outcome, Simulation},
    },
};

/// The errors in the runs that the comments of an input describe, for the modules of that input. `folder` has the files
/// that the comments name.
pub fn failures(input: &str, folder: &Path, modules: &[Module], seeds: u64) -> Vec<String> {
    let comments = match Comments::read(input, folder) {
        Ok(comments) => comments,
        Err(wrong) => return wrong.into_iter().map(|(line, why)| format!("line {line}: {why}")).collect(),
    };
    let failure = |of: &Vec<Description>| {
        let failed = run(of, comments.launch, folder, modules, seeds).err()?;
        Some(format!("the run of line {}: {failed}", of.first()?.line))
    };
    comments.runs.iter().filter_map(failure).collect()
}

/// Runs the launches of a run with each seed, up to the first seed with a finding.
fn run(of: &[Description], size: LaunchSize, folder: &Path, modules: &[Module], seeds: u64) -> Result<(), String> {
    let has_all = |module: &&Module| of.iter().all(|said| plan::kernel(module, said.kernel.as_deref()).is_ok());
    let module = modules.iter().find(has_all).or(modules.first()).ok_or("the input has no PTX")?;
    let mut plan = Plan { line: of.first().map_or(0, |said| said.line), ..Plan::default() };
    for said in of {
        let Description { kernel, arguments, dependent, .. } = said;
        let size = said.size.or(size);
        let wish = Wish { kernel: kernel.as_deref(), size, arguments, dependent: *dependent };
        plan.launch(module, &wish, folder).map_err(|why| why.join("\n"))?;
        plan.expect.extend(said.expect.iter().cloned());
    }
    let options = RunOptions::default();
    assumed::complete(module, &mut plan);
    let names: Vec<_> = plan.expect.iter().flat_map(Expectation::names).map(str::to_owned).collect();
    let simulation = Simulation { module, plan: &plan, options, schedule: None, watch: &|_| {} };
    for seed in 0..seeds {
        let wrong = wrong(simulation.run(seed, &names));
        if !wrong.is_empty() {
            return Err(format!("{}, seed {seed}\n  {}", plan.title(), wrong.join("\n  ")));
        }
    }
    Ok(())
}

/// The findings of an execution, without the warnings.
fn wrong(outcome: Outcome) -> Vec<String> {
    let findings = outcome.reports.into_iter().flat_map(|report| report.findings);
    let findings = findings.filter(|finding| !finding.kind.is_warning()).map(said_of);
    let errors = outcome.errors.into_iter().map(|error| error.to_string());
    let failed = outcome.failed.into_iter().map(|(text, why)| format!("{text} does not hold: {why}"));
    findings.chain(errors).chain(failed).collect()
}

/// A finding in words, with its instructions, whose line numbers refer to the PTX.
fn said_of(finding: Fault) -> String {
    let Fault { site, other, help, .. } = &finding;
    let other = other.iter().map(|other| format!("\n    with {other}"));
    let help = help.iter().map(|help| format!("\n    help: {help}"));
    let at = (site.at.line > 0).then(|| format!("\n    {site}"));
    format!("{finding}{}", at.into_iter().chain(other).chain(help).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a kernel whose threads each add to a word by the given instructions.
    fn check(add: &str, comments: &str, expected: &[&str]) {
        let module = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry add(.param .u64 .ptr .global .align 4 sum)\n\
             {{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [sum];\n{add}\nret;\n}}\n"
        );
        let module: Module = module.parse().expect("PTX");
        let found = failures(comments, Path::new("."), &[module], 2);
        assert_eq!(found.len(), usize::from(!expected.is_empty()), "{found:?}");
        let all = found.join("\n");
        let missing: Vec<_> = expected.iter().filter(|words| !all.contains(**words)).collect();
        assert!(missing.is_empty(), "{missing:?}: {all}");
    }

    const ATOMIC: &str = "red.relaxed.gpu.global.add.u32 [%rd1], 1;";
    const PLAIN: &str = "ld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;";

    #[test]
    fn the_runs_of_a_kernel() {
        check(ATOMIC, "; run: grid=2 block=32 sum=u32[1] expect sum == 64", &[]);
        check(ATOMIC, "// launch: grid=2 block=32\n// run: kernel=add sum=u32[1]=1 expect sum == 65", &[]);
        // Without a comment, no kernel runs.
        check(PLAIN, "", &[]);
    }

    #[test]
    fn dependent_launches() {
        let lines = "; run: grid=1 block=1 sum=u32[1]\n; run: dependent grid=1 block=1 sum expect sum == 2";
        check(ATOMIC, lines, &[]);
        check(&format!("griddepcontrol.wait;\n{PLAIN}"), lines, &[]);
        check(PLAIN, lines, &["the run of line 1: add, add, seed 0", "a write by the earlier grid of 'add'"]);
    }

    #[test]
    fn wrong_inputs_are_errors() {
        let line = "\n// run: grid=2 block=32 sum=u32[1] expect sum == 64";
        check(PLAIN, line, &["the run of line 2: add: grid 2, block 32, seed 0", "race: ", "`sum`", "st.global.u32"]);
        check(
            ATOMIC,
            "# run: grid=1 block=32 sum=u32[1] expect sum == 64",
            &["sum == 64 does not hold: sum is 32, expected == 64"],
        );
        check(ATOMIC, "// run: grid=x", &["line 1: 'grid=x': expected one to three sizes"]);
        check(ATOMIC, "// run: kernel=x", &["expected the name of one kernel, found 'x'"]);
        check("trap;", "// run: sum=u32[1]", &["trap: "]);
    }
}

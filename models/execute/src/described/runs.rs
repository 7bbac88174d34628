//! The plans for a module: the descriptions in its comments, overridden by the user's options.

use std::path::Path;

use ptx_isa::{LaunchSize, Module};

use super::{
    argument::Given,
    comment::{Comments, Description, Wrong},
    plan::{Plan, Wish},
};

/// Makes a plan for each run in the comments, or one plan if there is none. `folder` contains the files that comments
/// name; files that the user names are relative to the working directory.
///
/// # Errors
/// All errors, each with the line of its comment, or 0 for an error in the user's options.
pub fn plans(module: &Module, comments: Comments, user: &Description, folder: &Path) -> Result<Vec<Plan>, Vec<Wrong>> {
    let is_wanted = |said: &Description| match (&said.kernel, &user.kernel) {
        (Some(kernel), Some(wanted)) => kernel.contains(wanted.as_str()),
        _ => true,
    };
    let mut runs: Vec<Vec<Description>> = comments.runs.into_iter().filter(|run| run.iter().any(is_wanted)).collect();
    if runs.is_empty() {
        runs.push(vec![Description::default()]);
    }
    let (mut plans, mut errors) = (Vec::new(), Vec::new());
    for run in runs {
        let mut plan = Plan { line: run.first().map_or(0, |said| said.line), ..Plan::default() };
        let has = |said: &Description, given: &Given| {
            given.name.is_some() && said.arguments.iter().any(|one| one.name == given.name)
        };
        let is_stray = |given: &&Given| run.len() > 1 && !run.iter().any(|said| has(said, given));
        let stray = |given: &Given| (0, format!("--arg {}: no launch has an argument of this name", given.text));
        errors.extend(user.arguments.iter().filter(is_stray).map(stray));
        for said in &run {
            let own = user.arguments.iter().filter(|given| run.len() == 1 || has(said, given));
            let (arguments, folder) = match merged(&said.arguments, &own.cloned().collect::<Vec<_>>()) {
                Some(arguments) => (arguments, folder),
                None => (user.arguments.clone(), Path::new("")),
            };
            let wish = Wish {
                kernel: said.kernel.as_deref().or(user.kernel.as_deref()),
                size: user.size.or(said.size).or(comments.launch),
                arguments: &arguments,
                dependent: said.dependent,
            };
            // The user's options are not in a line of the file.
            let line = if user.size == LaunchSize::default() && user.arguments.is_empty() { said.line } else { 0 };
            if let Err(all) = plan.launch(module, &wish, folder) {
                errors.extend(all.into_iter().map(|why| (line, why)));
            }
            plan.expect.extend(said.expect.iter().cloned());
        }
        if !user.expect.is_empty() {
            plan.expect.clone_from(&user.expect);
        }
        plans.push(plan);
    }
    if errors.is_empty() { Ok(plans) } else { Err(errors) }
}

/// The arguments of a comment, where arguments of the command line replace arguments with the same name. `None` if an
/// argument of the command line has no such name: then only the command line counts.
fn merged(said: &[Given], flags: &[Given]) -> Option<Vec<Given>> {
    let mut all = said.to_vec();
    for given in flags {
        let same = all.iter_mut().find(|one| one.name.is_some() && one.name == given.name);
        *same? = given.clone();
    }
    Some(all)
}

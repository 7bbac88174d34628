//! Compilation of many functions at once. The failure of one function does not affect the results of other functions.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use ptx_lowering::{
    Target,
    ptx::{Code, Function, Item, Module, ModuleErrors},
};

use crate::{
    cell::Cell,
    command::{Failure, Template},
    language::Language,
    verdict::Grade,
};

/// A compiler and its settings.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The command line of the compiler.
    pub command: Template,
    /// The input language of the compiler.
    pub language: Language,
    /// The time limit of a run.
    pub timeout: Duration,
}

/// The output of a compiler for a function.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// The text of the module without the functions that the suite asked for.
    pub head: String,
    /// The function, without its `.loc` lines.
    pub function: Function,
}

/// For each function in order, its PTX or its failure.
pub(crate) type Results = Vec<Result<Compiled, Failure>>;

/// The number of runs of one batch that may exceed the time limit before the rest of the batch is given up.
const TIMEOUTS: usize = 6;

/// The number of runs that may exceed the time limit before all is given up, if no run has ended.
const FIRST_TIMEOUTS: usize = 3;

/// The state that the runs of one compiler share, in all threads.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    timeouts: AtomicUsize,
    has_ended: AtomicBool,
}

impl Patience {
    fn is_over(&self) -> bool {
        !self.has_ended.load(Ordering::Relaxed) && self.timeouts.load(Ordering::Relaxed) >= FIRST_TIMEOUTS
    }
}

impl Compiler {
    /// Compiles functions. If a run fails, it is repeated with parts of the batch: without the function that the
    /// compiler names, or else in eighths.
    pub(crate) fn compile(&self, target: &Target, cells: &[Cell], folder: &Path, patience: &Patience) -> Results {
        let mut results: Vec<Option<Result<Compiled, Failure>>> = vec![None; cells.len()];
        let mut open: Vec<Vec<usize>> = vec![(0..cells.len()).collect()];
        // Functions before the function that a compiler names have mostly compiled, and are compiled together.
        let mut passed: Vec<usize> = Vec::new();
        let mut timeouts = 0;
        while let Some(batch) = open.pop().or_else(|| Some(std::mem::take(&mut passed)).filter(|all| !all.is_empty())) {
            if batch.is_empty() {
                continue;
            }
            let asked: Vec<_> = batch.iter().map(|index| &cells[*index]).collect();
            let run = match timeouts > TIMEOUTS || patience.is_over() {
                true => Err(Failure::new(Grade::Timeout, "not run, because other runs exceed the time limit")),
                false => self.run(target, &asked, folder),
            };
            let failure = match run {
                Ok(mut found) => {
                    patience.has_ended.store(true, Ordering::Relaxed);
                    let (there, missing): (Vec<usize>, Vec<usize>) =
                        batch.iter().partition(|index| found.contains_key(&cells[**index].symbol()));
                    for index in there {
                        results[index] = found.remove(&cells[index].symbol()).map(Ok);
                    }
                    if missing.is_empty() {
                        continue;
                    }
                    // A compiler may stop in the middle without an error: the missing functions are compiled again.
                    if missing.len() < batch.len() {
                        open.push(missing);
                        continue;
                    }
                    Failure::new(Grade::Missing, "the PTX has no function of this name")
                }
                Err(failure) => failure,
            };
            let is_timeout = failure.verdict == Grade::Timeout;
            timeouts += usize::from(is_timeout);
            if is_timeout {
                patience.timeouts.fetch_add(1, Ordering::Relaxed);
            } else {
                patience.has_ended.store(true, Ordering::Relaxed);
            }
            let given_up = is_timeout && (timeouts > TIMEOUTS || patience.is_over());
            if batch.len() == 1 || given_up {
                batch.iter().for_each(|index| results[*index] = Some(Err(failure.clone())));
                continue;
            }
            match &named(&failure.said, &asked)[..] {
                [] => open.extend(batch.chunks(batch.len().div_ceil(8)).map(<[usize]>::to_vec)),
                [one] => {
                    results[batch[*one]] = Some(Err(failure));
                    passed.extend(&batch[..*one]);
                    open.push(batch[one + 1..].to_vec());
                }
                // Each of these functions is compiled alone, because it may not be the cause of the failure.
                several => {
                    let (named, others): (Vec<_>, Vec<_>) = (0..batch.len()).partition(|at| several.contains(at));
                    open.extend(named.into_iter().map(|at| vec![batch[at]]));
                    open.push(others.into_iter().map(|at| batch[at]).collect());
                }
            }
        }
        let never = || Err(Failure::new(Grade::Missing, "it was not compiled"));
        results.into_iter().map(|result| result.unwrap_or_else(never)).collect()
    }

    /// Runs the compiler in a new folder, and returns the functions of its output by their names.
    fn run(&self, target: &Target, cells: &[&Cell], folder: &Path) -> Result<HashMap<String, Compiled>, Failure> {
        let text = self.alone(target, cells.iter().copied(), folder)?;
        functions(&text, cells)
    }

    /// The output of the compiler for functions. Each run has a separate folder, because some compilers leave files in
    /// their folder and look for files of other runs.
    pub(crate) fn alone<'c>(
        &self,
        target: &Target,
        cells: impl IntoIterator<Item = &'c Cell>,
        folder: &Path,
    ) -> Result<String, Failure> {
        let failed =
            |error| Failure::new(Grade::CompilerError, format!("cannot write '{}': {error}", folder.display()));
        let own = tempfile::tempdir_in(folder).map_err(failed)?;
        let input = own.path().join("input").with_extension(self.language.extension());
        fs::write(&input, self.language.source(cells)).map_err(failed)?;
        self.command.compile(target, &input, &own.path().join("output.ptx"), self.timeout)
    }
}

/// The functions of a module that the suite asked for.
fn functions(text: &str, cells: &[&Cell]) -> Result<HashMap<String, Compiled>, Failure> {
    let module: Module = text.parse().map_err(|errors: ModuleErrors| {
        let within = errors.0.first().and_then(|error| function_above(text, error.span.start));
        let within = within.map_or(String::new(), |name| format!(", in function '{name}'"));
        Failure::new(Grade::NoPtx, format!("its output is not PTX{within}: {}", first_line(&errors.to_string())))
    })?;
    let asked: Vec<_> = cells.iter().map(|cell| cell.symbol()).collect();
    let mut head = format!(".version {}\n.target {}\n", module.version, module.target);
    let mut found = Vec::new();
    for item in module.items {
        match item {
            Item::Function(mut function) if function.body.is_some() && asked.contains(&function.name) => {
                let is_line = |code: &Code| match code {
                    Code::Directive(text) => text.split_whitespace().next() == Some(".loc"),
                    _ => false,
                };
                function.body.iter_mut().for_each(|body| body.retain(|line| !is_line(&line.code)));
                found.push(function);
            }
            Item::Function(function) => head += &format!("{function}\n"),
            // Sections for debuggers name addresses in functions, and are left out.
            Item::Directive(text) if text.starts_with(".section") || text.starts_with(".file") => {}
            Item::Directive(text) => head += &format!("{text}\n"),
        }
    }
    let compiled = |function: Function| (function.name.clone(), Compiled { head: head.clone(), function });
    Ok(found.into_iter().map(compiled).collect())
}

/// The name of the last function that begins before an offset.
fn function_above(text: &str, at: usize) -> Option<&str> {
    let above = text.get(..at)?;
    let head = above.rfind(".func").or_else(|| above.rfind(".entry"))?;
    let after = &text[head..];
    let after = after.split_once(' ').map_or("", |(_, rest)| rest).trim_start();
    let after = if after.starts_with('(') { after.split_once(')').map_or("", |(_, rest)| rest) } else { after };
    after.trim_start().split(|c: char| !is_of_name(c)).next()
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The indices of the functions that the messages of a compiler name.
fn named(said: &str, asked: &[&Cell]) -> Vec<usize> {
    let places: HashMap<_, _> = asked.iter().enumerate().map(|(at, cell)| (cell.symbol(), at)).collect();
    let after =
        said.match_indices("unction").map(|(at, word)| said[at + word.len()..].trim_start_matches(':').trim_start());
    let names = after.map(|rest| rest.trim_start_matches(['\'', '`', '"', '@']).split(|c| !is_of_name(c)).next());
    let mut found: Vec<_> = names.filter_map(|name| places.get(name?.trim_end_matches('.')).copied()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few() -> Vec<Cell> {
        let target = Target::new("sm_90".parse().expect("a GPU"), None).expect("a target");
        Language::Llvm.cells(&target, 22).into_iter().take(3).collect()
    }

    /// Messages of compilers, in which `A` and `B` stand for the first two functions.
    #[test]
    fn functions_that_are_named() {
        let cells = few();
        let asked: Vec<_> = cells.iter().collect();
        let check = |said: &str, expected: &[usize]| {
            let said = said.replace('A', &cells[0].symbol()).replace('B', &cells[1].symbol());
            assert_eq!(named(&said, &asked), expected, "{said}");
        };
        check("Running pass 'NVPTX DAG->DAG Pattern Instruction Selection' on function '@A'", &[0]);
        check("error:  Function `B' Basic Block `': ", &[1]);
        check("LLVM ERROR: Cannot select: x\nIn function: B", &[1]);
        check("in function 'A': no\nin function 'B', and in function A.", &[0, 1]);
        check("in function A_2, in function 'other', A", &[]);
        check("function", &[]);
    }

    #[test]
    fn functions_of_a_module() {
        let cells = few();
        let asked: Vec<_> = cells.iter().collect();
        let (one, other) = (cells[0].symbol(), cells[1].symbol());
        let helper = ".func (.param .b32 r) helper() { .local .b8 x[4]; ret; }";
        let head = ".version 8.6\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n";
        let body = "{ .local .b8 x[4]; .loc 1 2 3; ret; }";
        let text = format!("{head}{helper}\n.visible .func {one}() {body}\n.visible .func {other}() {body}");
        let found = functions(&text, &asked).expect("PTX");
        assert_eq!(found.len(), 2);
        let Compiled { head, function } = &found[&other];
        assert!(head.contains("helper()") && !head.contains(&one) && !head.contains(".file"), "{head}");
        let function = function.to_string();
        assert!(function.contains(".local .b8 x[4];") && !function.contains(".loc "), "{function}");
        // The second function has an error.
        let damaged = text.replace(&format!("{other}() {{"), &format!("{other}() {{ 1 2 3;"));
        let failure = functions(&damaged, &asked).expect_err("an error");
        assert_eq!((failure.verdict, named(&failure.said, &asked)), (Grade::NoPtx, vec![1]), "{failure:?}");
    }
}

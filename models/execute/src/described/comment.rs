//! Descriptions of the runs of a kernel in comments of its file:
//!
//! ```text
//! // run: grid=4 block=128 out=u32[1]=0 n=1024 expect out == 512
//! // run: dependent kernel=sum out
//! // launch: grid=4 block=16,16
//! ```
//!
//! Each line with `run:` is a run, or with `dependent`, one more launch of the preceding run. `launch:` gives the sizes
//! of runs without sizes.

use std::path::Path;

use ptx_isa::LaunchSize;

use super::{argument::Given, expect::Expectation, sizes};

/// The description in a line.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The line number, from 1, or 0 if the description is not in a file.
    pub line: u32,
    /// Whether it is a launch that follows the launch of the preceding line and may start before that launch ends.
    pub dependent: bool,
    pub kernel: Option<String>,
    pub size: LaunchSize,
    pub arguments: Vec<Given>,
    pub expect: Vec<Expectation>,
}

/// The descriptions in the comments of a file.
#[derive(Debug, Default)]
pub struct Comments {
    /// Each run with the launches that depend on it after it.
    pub runs: Vec<Vec<Description>>,
    pub launch: LaunchSize,
}

/// An error in a line: the line number, from 1, and the reason.
pub type Wrong = (u32, String);

impl Comments {
    /// Reads the comments of a file. `folder` contains the files that the comments name.
    pub fn read(text: &str, folder: &Path) -> Result<Self, Vec<Wrong>> {
        let (mut comments, mut errors) = (Self::default(), Vec::new());
        for (line, number) in text.lines().zip(1..) {
            match read_description("run:", line, number, folder) {
                Ok(Some(said)) if !said.dependent => comments.runs.push(vec![said]),
                Ok(Some(said)) => match comments.runs.last_mut() {
                    Some(run) => run.push(said),
                    None => errors.push((number, "the run is dependent, and no run precedes it".into())),
                },
                Ok(None) => {}
                Err(why) => errors.push((number, why)),
            }
            let launch = read_description("launch:", line, number, folder).and_then(|said| match said {
                Some(said)
                    if said.dependent
                        || said.kernel.is_some()
                        || !said.arguments.is_empty()
                        || !said.expect.is_empty() =>
                {
                    Err("a `launch:` line has only sizes; put the rest in a `run:` line".into())
                }
                said => Ok(said),
            });
            match launch {
                Ok(said) => comments.launch = comments.launch.or(said.map(|said| said.size).unwrap_or_default()),
                Err(why) => errors.push((number, why)),
            }
        }
        if errors.is_empty() { Ok(comments) } else { Err(errors) }
    }
}

/// Reads the description after a mark in a comment.
fn read_description(mark: &str, line: &str, number: u32, folder: &Path) -> Result<Option<Description>, String> {
    let Some((before, words)) = line.split_once(mark) else { return Ok(None) };
    // Only the beginning of a comment may precede the mark.
    let before = before.trim();
    if before.is_empty() || !before.chars().all(|c| "/*;#!-".contains(c)) {
        return Ok(None);
    }
    let words = words.trim().trim_end_matches("*/").trim_end();
    Description::read(words, number, folder).map(Some)
}

impl Description {
    fn read(words: &str, line: u32, folder: &Path) -> Result<Self, String> {
        let mut said = Self { line, ..Self::default() };
        let mut rest = words;
        while !rest.is_empty() {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            rest = after.trim_start();
            if word == "expect" {
                said.expect.push(Expectation::read(rest, folder)?);
                break;
            }
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let sizes = || sizes::dim3(value).map(Some).map_err(|why| format!("'{word}': {why}"));
            match key {
                _ if word == "dependent" => said.dependent = true,
                "kernel" => said.kernel = Some(value.to_owned()),
                "grid" => said.size.grid = sizes()?,
                "block" => said.size.block = sizes()?,
                "cluster" => said.size.cluster = sizes()?,
                "shared" => {
                    said.size.shared = Some(sizes::shared(value).map_err(|why| format!("'{word}': {why}"))?);
                }
                _ => said.arguments.push(Given::read(word)?),
            }
        }
        Ok(said)
    }

    /// This description, with missing parts taken from `other`.
    pub fn over(&self, other: &Self) -> Self {
        let size = self.size.or(other.size);
        let arguments = if self.arguments.is_empty() { &other.arguments } else { &self.arguments };
        let expect = if self.expect.is_empty() { &other.expect } else { &self.expect };
        let (arguments, expect) = (arguments.clone(), expect.clone());
        Self { kernel: self.kernel.clone().or(other.kernel.clone()), size, arguments, expect, ..other.clone() }
    }

    /// The description as options of `ptx-atomics run`, each with a leading space.
    pub fn options(&self) -> String {
        let Self { kernel, size, arguments, expect, .. } = self;
        let one = kernel.iter().map(|kernel| ("kernel", kernel.clone())).chain(size.named());
        let arguments = arguments.iter().map(|given| ("arg", given.text.clone()));
        let expect = expect.iter().map(|condition| ("expect", condition.text.clone()));
        let all = one.chain(arguments).chain(expect);
        all.map(|(option, value)| format!(" --{option} {}", quoted(&value))).collect()
    }
}

/// A word, quoted for a shell if necessary.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let shown = |comments: Comments| {
            let one = |said: Description| {
                let Description { line, dependent, kernel, size, arguments, expect } = said;
                let arguments = arguments.iter().map(|given| &*given.text).collect::<Vec<_>>().join(" ");
                let expect = expect.iter().map(|one| &*one.text).collect::<Vec<_>>().join("; ");
                format!(
                    "{line}{} {} {:?} {:?} [{arguments}] {expect}",
                    if dependent { "+" } else { "" },
                    kernel.unwrap_or_default(),
                    size.grid,
                    size.shared
                )
            };
            let runs = comments.runs.into_iter().flatten().map(one).collect::<Vec<_>>().join("\n");
            format!("{runs}|{:?}", comments.launch.block)
        };
        let read = Comments::read(text, Path::new(".")).map(shown).map_err(|errors| {
            errors.into_iter().map(|(line, why)| format!("{line}: {why}")).collect::<Vec<_>>().join("\n")
        });
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn comments() {
        check("ret;", Ok("|None"));
        check("\n// run:", Ok("2  None None [] |None"));
        check(
            "// run: kernel=k grid=4,2 shared=1K out=u32[1]=0 n=7 expect out == 512 && out != 1\n  ; run: 7\n/* launch: block=3 */",
            Ok(
                "1 k Some([4, 2, 1]) Some(1024) [out=u32[1]=0 n=7] out == 512 && out != 1\n2  None None [7] |Some([3, 1, 1])",
            ),
        );
        check(
            "// run: kernel=a out=u32[1]\n// run: dependent kernel=b out\n// run: kernel=a out=u32[1]",
            Ok("1 a None None [out=u32[1]] \n2+ b None None [out] \n3 a None None [out=u32[1]] |None"),
        );
        // This is not a comment.
        check("dry run: x", Ok("|None"));
        check("// a run: x", Ok("|None"));
    }

    #[test]
    fn wrong_inputs_are_errors() {
        check("// run: grid=x", Err("1: 'grid=x': expected one to three sizes, such as 256 or 16,16,4"));
        check(
            "// run: expect x\n//launch: n=7",
            Err("1: the condition 'x': expected a comparison such as 'out[3] == 7', with one of == != <= >= ~= < >\n\
                 2: a `launch:` line has only sizes; put the rest in a `run:` line"),
        );
        check(
            "// launch: dependent\n// run: dependent",
            Err("1: a `launch:` line has only sizes; put the rest in a `run:` line\n\
                 2: the run is dependent, and no run precedes it"),
        );
    }
}

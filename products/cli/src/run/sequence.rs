//! Launches that follow each other and share buffers, described by a file in TOML:
//!
//! ```toml
//! [buffers.data]
//! type = "u32"
//! count = 1024
//! init = "iota"
//! expect = "== 7"
//! out = "data.npy"
//!
//! [[launch]]
//! kernel = "fill"
//! grid = 4
//! block = [16, 16]
//! args = ["data", 1024]
//! ```

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ptx_atomics::{
    pass::{Diagnostic, Errors, Input, Location},
    ptx::{Dim3, LaunchSize, Module},
};
use serde::Deserialize;
use toml::Spanned;

use super::{
    argument::{Fill, Given},
    element,
    expect::Expectation,
    plan::{Plan, Wish},
    sizes,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    buffers: BTreeMap<String, Spanned<BufferTable>>,
    launch: Vec<Spanned<LaunchTable>>,
    /// Conditions that hold at the end.
    #[serde(default)]
    expect: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferTable {
    #[serde(rename = "type")]
    ty: Option<String>,
    count: Option<u64>,
    init: Option<Words>,
    expect: Option<Words>,
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchTable {
    kernel: Option<String>,
    grid: Option<Words>,
    block: Option<Words>,
    cluster: Option<Words>,
    shared: Option<Words>,
    #[serde(default)]
    args: Vec<Word>,
    #[serde(default)]
    dependent: bool,
}

/// A number, or a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Integer(i64),
    Float(f64),
    Text(String),
}

/// One or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(Word),
    Several(Vec<Word>),
}

impl Word {
    fn text(&self) -> String {
        match self {
            Self::Integer(integer) => integer.to_string(),
            Self::Float(float) => float.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Words {
    /// The value in the format of the command's flags.
    fn text(&self) -> String {
        match self {
            Self::One(word) => word.text(),
            Self::Several(words) => words.iter().map(Word::text).collect::<Vec<_>>().join(","),
        }
    }

    fn sizes(words: Option<&Self>) -> Result<Option<Dim3>, String> {
        words.map(|words| sizes::dim3(&words.text())).transpose()
    }
}

/// Reads a description. The files that it names are in its folder.
pub fn read(input: &Input, module: &Module, folder: &Path) -> Result<Plan, Errors> {
    let plan = plan(&parse(input)?, input, module, folder)?;
    if plan.launches.is_empty() {
        return Err(Diagnostic::new(format!("'{}' has no launch", input.name())).help("add a table [[launch]]").into());
    }
    Ok(plan)
}

/// Reads a description of a program, which may have kernels in other modules: without their launches.
pub fn read_own(input: &Input, module: &Module, folder: &Path) -> Result<Plan, Errors> {
    let mut file = parse(input)?;
    let is_own = |name: &String| module.kernels().any(|kernel| kernel.name == *name);
    file.launch.retain(|table| table.get_ref().kernel.as_ref().is_none_or(is_own));
    plan(&file, input, module, folder)
}

/// An error at an offset in the text of a description.
fn at(input: &Input, place: usize, why: String) -> Diagnostic {
    let before = input.text().and_then(|text| text.get(..place)).unwrap_or_default();
    let line = before.matches('\n').count() as u32 + 1;
    let location = Some(Location { file: input.name().to_owned(), line, column: 0 });
    Diagnostic { location, ..Diagnostic::new(why) }
}

fn parse(input: &Input) -> Result<File, Errors> {
    let text = input.text().ok_or_else(|| Diagnostic::new(format!("'{}' is not text", input.name())))?;
    toml::from_str(text)
        .map_err(|error| at(input, error.span().map_or(0, |span| span.start), error.message().to_owned()).into())
}

fn plan(file: &File, input: &Input, module: &Module, folder: &Path) -> Result<Plan, Errors> {
    let (mut plan, mut errors) = (Plan::default(), Errors::new());
    for (name, table) in &file.buffers {
        let place = table.span().start;
        if let Err(why) = buffer(&mut plan, name, table.get_ref(), folder) {
            errors.push(at(input, place, format!("buffer '{name}': {why}")));
        }
    }
    for table in &file.launch {
        if let Err(why) = launch(&mut plan, table.get_ref(), module, folder) {
            errors.extend(why.into_iter().map(|why| at(input, table.span().start, why)).collect::<Vec<_>>());
        }
    }
    for condition in &file.expect {
        match Expectation::read(condition.get_ref(), folder) {
            Ok(expectation) => plan.expect.push(expectation),
            Err(why) => errors.push(at(input, condition.span().start, why)),
        }
    }
    errors.or(plan)
}

fn buffer(plan: &mut Plan, name: &str, table: &BufferTable, folder: &Path) -> Result<(), String> {
    let unknown = |name: &str| format!("unknown type '{name}'; the known types are {}", element::names());
    let ty = table.ty.as_ref().map(|name| element::named(name).ok_or_else(|| unknown(name))).transpose()?;
    let fill = table.init.as_ref().map_or(Ok(Fill::Zero), |init| Fill::read(&init.text()))?;
    let (ty, content) = fill.content(ty, table.count, folder)?;
    plan.allocate(name.to_owned(), ty, content)?;
    plan.out.extend(table.out.iter().map(|file| (name.to_owned(), folder.join(file))));
    if let Some(expect) = &table.expect {
        let expect = expect.text();
        let operator = if expect.starts_with(['=', '!', '<', '>', '~']) { "" } else { "==" };
        plan.expect.push(Expectation::read(&format!("{name} {operator} {expect}"), folder)?);
    }
    Ok(())
}

fn launch(plan: &mut Plan, table: &LaunchTable, module: &Module, folder: &Path) -> Result<(), Vec<String>> {
    let one = |why: String| vec![why];
    let given: Vec<Given> =
        table.args.iter().map(|word| Given::read(&word.text())).collect::<Result<_, _>>().map_err(one)?;
    let size = LaunchSize {
        grid: Words::sizes(table.grid.as_ref()).map_err(one)?,
        block: Words::sizes(table.block.as_ref()).map_err(one)?,
        cluster: Words::sizes(table.cluster.as_ref()).map_err(one)?,
        shared: table.shared.as_ref().map(|words| sizes::shared(&words.text())).transpose().map_err(one)?,
    };
    let wish = Wish { kernel: table.kernel.as_deref(), size, arguments: &given, dependent: table.dependent };
    plan.launch(module, &wish, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = ".version 8.0\n.target sm_90\n.visible .entry k(.param .u64 p, .param .u32 n) { ret; }\n\
        .visible .entry none() { ret; }";

    fn check(text: &str, expected: Result<&str, &str>) {
        let module: Module = MODULE.parse().expect("PTX");
        let plan = read(&Input::new("k.toml", text), &module, Path::new("folder"));
        let shown = |plan: Plan| {
            let buffers = plan.buffers.iter().map(|buffer| format!("{} {}", buffer.name, buffer.ty));
            let launches = plan.launches.iter().map(|launch| format!("{launch} {:?}", launch.arguments));
            let expect = plan.expect.iter().map(|one| one.text.clone());
            let out = plan.out.iter().map(|(name, file)| format!("{name} > {}", file.display()));
            buffers.chain(launches).chain(expect).chain(out).collect::<Vec<_>>().join("\n")
        };
        let plan = plan.map(shown).map_err(|errors| errors.to_string());
        assert_eq!(plan.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn files() {
        check(
            "[buffers.data]\ntype = \"u32\"\ncount = 4\ninit = [1, 2, 3, 4]\nexpect = 7\nout = \"x.npy\"\n\
             [[launch]]\nkernel = \"k\"\ngrid = 4\nblock = [8, 2]\nargs = [\"data\", 7]\n\
             [[launch]]\nkernel = \"none\"\ngrid = \"2,2\"\nblock = 1\n",
            Ok("data u32\nk: grid 4, block 8,2 [Buffer(0, 0), Bytes([7, 0, 0, 0])]\nnone: grid 2,2, block 1 []\n\
                data == 7\ndata > folder/x.npy"),
        );
        check(
            "expect = [\"p == 1\"]\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1",
            Ok("k: grid 1, block 1 [Open, Open]\np == 1"),
        );
    }

    #[test]
    fn wrong_inputs_are_errors() {
        check("", Err("k.toml:1: missing field `launch`"));
        check("launch = []", Err("'k.toml' has no launch; help: add a table [[launch]]"));
        check(
            "[[launch]]\nkernel = \"x\"",
            Err("k.toml:1: expected the name of one kernel, found 'x'; the kernels are k, none"),
        );
        check(
            "\n[[launch]]\nkernel = \"k\"\nargs = [7]",
            Err("k.toml:2: kernel 'k': the kernel has 2 parameters, and 1 is given"),
        );
    }
}

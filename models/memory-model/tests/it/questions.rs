//! The questions of `docs/questions.md`: each test has the answer of the page, also in the other readings.

use std::{collections::BTreeSet, fs, path::PathBuf};

use ptx_memory_model::{
    litmus::Litmus,
    outcome::Limits,
    ptx::{
        Conventions, asynchronous,
        readings::{Ambiguity, Reading, Readings},
        search,
    },
    unfold::Limit,
};

/// The answer to a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Holds,
    Fails,
    Races,
}

use Answer::{Fails, Holds, Races};

/// The readings of the columns of [`QUESTIONS`].
const READINGS: [(&str, Readings); 4] = [
    ("default", Readings::DEFAULT),
    ("A13=strict", Readings::DEFAULT.with(Ambiguity::MultimemAlias, Reading::Strict)),
    ("A14=lenient", Readings::DEFAULT.with(Ambiguity::MultimemAtOnce, Reading::Lenient)),
    ("A15=strict", Readings::DEFAULT.with(Ambiguity::RestrictedPattern, Reading::Strict)),
];

/// A test, and its answer for each of [`READINGS`].
const QUESTIONS: [(&str, [Answer; 4]); 14] = [
    ("quack_63", [Races; 4]),
    ("quack_63_fixed", [Holds, Holds, Holds, Races]),
    ("cutlass_3117", [Holds; 4]),
    ("cutlass_3117_fixed", [Holds, Fails, Holds, Holds]),
    ("pytorch_192861", [Holds, Fails, Holds, Holds]),
    ("nccl_1243", [Holds; 4]),
    ("nccl_1356", [Holds, Fails, Holds, Holds]),
    ("nccl_1356_unicast", [Holds; 4]),
    ("nccl_2210", [Holds; 4]),
    ("nccl_2210_strict", [Holds; 4]),
    ("deepep_587", [Holds; 4]),
    ("deepep_587_fixed", [Holds; 4]),
    ("deepep_703", [Holds; 4]),
    ("deepep_703_fixed", [Holds; 4]),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/litmus/questions")
}

fn answer(litmus: &Litmus, readings: Readings) -> Result<Answer, Limit> {
    let (conventions, limits) = (Conventions { readings, ..Conventions::MANUAL }, Limits::default());
    if asynchronous::is_asynchronous(&litmus.program) && search::race(&litmus.program, conventions, limits)?.is_some() {
        return Ok(Races);
    }
    match search::decide(&litmus.program, &litmus.condition, conventions, limits).verdict {
        Ok(true) => Ok(Holds),
        Ok(false) => Ok(Fails),
        Err(limit) => Err(limit),
    }
}

#[test]
fn answers() {
    let mut wrong = Vec::new();
    for (file, expected) in QUESTIONS {
        let text = fs::read_to_string(folder().join(format!("{file}.litmus"))).expect(file);
        let litmus = Litmus::read(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(Litmus::read(&litmus.to_string()).as_ref(), Ok(&litmus), "{litmus}");
        assert!(litmus.name == file && !litmus.comments.is_empty(), "{file} has its name, and a comment");
        for ((name, readings), expected) in READINGS.into_iter().zip(expected) {
            let found = answer(&litmus, readings);
            if found != Ok(expected) {
                wrong.push(format!("{file}, {name}: {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every file is in the table and on the page.
#[test]
fn every_file_is_on_the_page() {
    let files = fs::read_dir(folder()).expect("the folder").flatten();
    let files: BTreeSet<String> =
        files.map(|file| file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect();
    let tested: BTreeSet<String> = QUESTIONS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(files, tested);
    let page = fs::read_to_string(folder().join("../../../docs/questions.md")).expect("the page");
    let missing: Vec<&String> = files.iter().filter(|file| !page.contains(&format!("`{file}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

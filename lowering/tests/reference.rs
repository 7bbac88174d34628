//! Compares our tables with the documents and measurements that they come from, where those are present: a folder
//! `shared` beside the repository. Elsewhere the trials are listed as ignored.

use std::{collections::BTreeMap, fs, path::PathBuf};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics_lowering::{
    PtxVersion, Requirement,
    abi::{ABI, Row},
    ptx::Statement,
};

fn main() {
    let reference = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/reference");
    let present = reference.is_dir();
    let trial = |name: &str, test: fn(&str) -> Result<(), Failed>, file: &str| {
        let path = reference.join(file);
        let name = if present { name.into() } else { format!("{name} (skipped: no ../shared/reference here)") };
        Trial::test(name, move || test(&fs::read_to_string(path)?)).with_ignored_flag(!present)
    };
    let trials = vec![
        trial("the ABI table is the document", abi_is_the_document, "atomics-abi.txt"),
        trial("requirements of atom, red, ld, st", |text| requirements(text, 8_000), "ptx-legality/legality.csv"),
        trial("requirements of fence, membar", |text| requirements(text, 20), "ptx-legality/fences.csv"),
        trial("hand-written forms parse", hand_written_forms, "ptx-legality/operands.csv"),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Rows of the document: the line that names the operation, then lines of sequences up to the next blank line.
fn abi_is_the_document(text: &str) -> Result<(), Failed> {
    let mut document = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("atomic_") {
            let mapping =
                lines.by_ref().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).join(" ");
            let sequences =
                mapping.replace("(recommended)", "").split(" OR").map(|s| s.trim().to_owned()).collect_vec();
            document.push((line.to_owned(), sequences));
        }
    }
    let printed = |row: &Row| (row.to_string(), row.sequences.iter().map(|steps| steps.iter().join(" ")).collect_vec());
    let table = ABI.iter().map(printed).collect_vec();
    assert_eq!((table.len(), table.iter().map(|row| row.1.len()).sum::<usize>()), (15, 23));
    for (ours, theirs) in table.iter().zip_eq(&document) {
        if ours != theirs {
            return Err(format!("the table has {ours:?}\nthe document {theirs:?}").into());
        }
    }
    Ok(())
}

/// What the model of PTX leaves out of the measured forms.
fn outside_the_model(text: &str, instruction: &str) -> bool {
    let mnemonics = ["atom", "red", "ld", "st", "fence", "membar"];
    !mnemonics.contains(&instruction) || ["proxy", ".param"].iter().any(|word| text.contains(word))
}

/// Vector accesses have gates of their own and are left out: nothing of ours emits them yet.
fn requirements(csv: &str, at_least: usize) -> Result<(), Failed> {
    let mut compared = 0;
    let mut differences = Vec::new();
    for row in rows(csv) {
        let text = &row["text"];
        let vector = !row["vec"].is_empty();
        if vector || outside_the_model(text, &row["instruction"]) || text.contains("mbarrier_init") {
            continue;
        }
        let statement: Statement = text.parse()?;
        let printed = statement.to_string();
        assert_eq!(printed.parse::<Statement>()?, statement, "{printed}");
        let (major, minor) = row["min_ptx"].split_once('.').expect("a version");
        let mut ptx = PtxVersion(major.parse()?, minor.parse()?);
        if ptx == PtxVersion(5, 1) && row["note"].contains("manual says PTX 6.0") {
            ptx = PtxVersion(6, 0);
        }
        let measured = Requirement { sm: row["min_sm"].parse()?, ptx };
        let ours = statement.instruction().expect("an instruction").requirement();
        compared += 1;
        if ours != measured {
            differences.push(format!("{text} measured {measured}, ours {ours}"));
        }
    }
    println!("{compared} measured forms compared");
    if compared < at_least || !differences.is_empty() {
        return Err(format!("{compared} compared\n{}", differences.iter().take(20).join("\n")).into());
    }
    Ok(())
}

/// Every hand-written form that some assembler accepts parses; of those that all reject, the ones with wrong syntax or
/// wrong modifiers do not.
fn hand_written_forms(csv: &str) -> Result<(), Failed> {
    // Rejected for what an operand is declared as, which a parser of single instructions cannot know.
    let declarations = [
        "State space mismatch",
        "rc -11",
        "32-Bit",
        "Unknown symbol",
        "Illegal operand type",
        "Illegal to use symbol",
        "requires .target",
    ];
    // Accepted by every assembler, which ignores the extra operand.
    let stricter = ["atom.global.exch.b32 %r0,[%a],%r1,%r2;"];
    let mut counts = (0, 0);
    let mut wrong = Vec::new();
    for row in rows(csv) {
        let text = &row["probe"];
        let bare = text.trim_start_matches(['{', ' ']).trim_start_matches("/*c*/").trim_start();
        let bare = bare.strip_prefix('@').and_then(|guarded| guarded.split_once(' ')).map_or(bare, |(_, rest)| rest);
        let instruction = bare.split(['.', ' ', ';']).next().unwrap_or("");
        if outside_the_model(text, instruction) || text.contains("mbarrier_init") {
            continue;
        }
        let verdicts =
            row.iter().filter(|(column, _)| column.starts_with("ptxas")).map(|(_, verdict)| verdict.as_str());
        let verdicts = verdicts.collect_vec();
        let accepted = verdicts.contains(&"ok") && !stricter.contains(&text.as_str());
        let semantic = verdicts.iter().any(|v| declarations.iter().any(|declaration| v.contains(declaration)));
        let register_types = row["class"] == "regtype";
        let parsed = text.parse::<ptx_atomics_lowering::Sequence>();
        if accepted {
            counts.0 += 1;
            match &parsed {
                Err(error) => wrong.push(error.to_string()),
                Ok(sequence) => assert_eq!(sequence.to_string().parse().as_ref(), Ok(sequence), "{text}"),
            }
        } else if !semantic && !register_types {
            counts.1 += 1;
            wrong.extend(parsed.is_ok().then(|| format!("parsed, though every assembler rejects it: {text}")));
        }
    }
    println!("{} accepted forms, {} rejected ones", counts.0, counts.1);
    if counts.0 < 380 || counts.1 < 150 || !wrong.is_empty() {
        return Err(format!("{counts:?}\n{}", wrong.join("\n")).into());
    }
    Ok(())
}

/// The rows of a CSV file by column name. Quotes enclose fields with commas.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let fields = |line: &str| {
        let mut fields = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                c => fields.last_mut().expect("one field").push(c),
            }
        }
        fields
    };
    let mut lines = csv.lines();
    let header = fields(lines.next().expect("a header"));
    lines.map(|line| header.iter().cloned().zip_eq(fields(line)).collect()).collect()
}

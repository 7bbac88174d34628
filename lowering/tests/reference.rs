//! Tests of the tables against the documents and measurements from which they derive. These are in a folder `shared`
//! beside the repository; without the folder, the trials are listed as ignored.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed};
use ptx_lowering::{
    PtxVersion, Requirement, Sequence,
    abi::{ABI, Row, Step, barriers},
    ptx::{AtomSem, FenceSem, LdSem, Scope, Statement},
    sass::{ATOMS, Counts, Family, ResultUse, Sass},
};
use strum::IntoEnumIterator;

fn main() {
    let trial = |name: &str, test: fn(&str) -> Result<(), Failed>, file: &str| {
        testing::shared_trial(name, &format!("reference/{file}"), move |path| test(&fs::read_to_string(path)?))
    };
    let trials = vec![
        trial("the ABI table is the document", abi_is_the_document, "atomics-abi.txt"),
        trial("requirements of atom, red, ld, st", |text| requirements(text, 8_000), "ptx-legality/legality.csv"),
        trial("requirements of fence, membar", |text| requirements(text, 20), "ptx-legality/fences.csv"),
        trial("hand-written forms parse", hand_written_forms, "ptx-legality/operands.csv"),
        trial("SASS of every measured kernel", sass, "ptx-legality/sass-cost.csv"),
        trial("barriers of the ABI's sequences add up", barriers_add_up, "ptx-legality/sass-cost.csv"),
        trial("ATOMS is the manual's", atoms_is_the_manuals, "sass-atoms.txt"),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Checks the rows of the document: a line that names the operation, then lines of sequences up to the next blank line.
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

/// Whether a measured form is outside the model of PTX.
fn outside_the_model(text: &str, instruction: &str) -> bool {
    let mnemonics = ["atom", "red", "ld", "st", "fence", "membar"];
    !mnemonics.contains(&instruction) || ["proxy", ".param"].iter().any(|word| text.contains(word))
}

/// Checks the requirements. Vectors of `ld` and `st` have separate requirements and are left out, because no lowering
/// emits them.
fn requirements(csv: &str, at_least: usize) -> Result<(), Failed> {
    let mut compared = 0;
    let mut differences = Vec::new();
    for row in rows(csv) {
        let text = &row["text"];
        let vector = !row["vec"].is_empty() && matches!(row["instruction"].as_str(), "ld" | "st");
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
        let measured = Requirement::since(row["min_sm"].parse()?, ptx.0, ptx.1);
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

/// Checks that every hand-written form that at least one assembler accepts parses, and that forms that all assemblers
/// reject for wrong syntax or wrong modifiers do not parse.
fn hand_written_forms(csv: &str) -> Result<(), Failed> {
    // Rejections because of an operand's declaration, which a parser of single instructions cannot know.
    let declarations = [
        "State space mismatch",
        "rc -11",
        "32-Bit",
        "Unknown symbol",
        "Illegal operand type",
        "Illegal to use symbol",
        "requires .target",
    ];
    // Every assembler accepts this form and ignores the extra operand.
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
        let parsed = text.parse::<ptx_lowering::Sequence>();
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

/// Rebuilds the PTX of every measured kernel in these groups, and compares the opcodes of this crate's tables.
fn sass(csv: &str) -> Result<(), Failed> {
    let groups = ["atom", "atomop", "red", "redop", "seq", "fence", "fence2", "ld", "st"];
    let (mut compared, mut narrower, mut rejected) = (0, 0, 0);
    let mut outside = BTreeSet::new();
    let mut wrong = Vec::new();
    for row in rows(csv) {
        let (probe, family) = (&row["probe"], family(&row));
        if !groups.contains(&row["group"].as_str()) {
            continue;
        }
        let Ok((sequence, result)) = kernel(&row) else {
            if !row["seq"].starts_with("REJECTED") {
                outside.insert(probe.clone());
            }
            continue;
        };
        let parts = sequence.instructions().map(|instruction| Sass::from_instruction(instruction, result, family));
        let ours: Option<Sass> = parts.collect();
        let measured = row["seq"].split(" ; ").filter(|opcode| *opcode != "SYNC").join(" ; ");
        if measured.starts_with("REJECTED") {
            let (major, minor) = row["version"].split_once('.').expect("a version");
            let version = PtxVersion(major.parse()?, minor.parse()?);
            let newer = sequence.instructions().any(|instruction| instruction.requirement().ptx > version);
            rejected += 1;
            wrong.extend((ours.is_some() && !newer).then(|| format!("{family} {probe} is rejected")));
            continue;
        }
        compared += 1;
        let Some(ours) = ours else {
            wrong.push(format!("{family} {probe} was measured, and we have nothing"));
            continue;
        };
        let Counts { membar, errbar, cctl } = ours.counts();
        let counts = [membar, errbar, cctl].map(|count| count.to_string());
        if narrowed(probe) {
            narrower += 1;
            let full = |opcodes: &str| opcodes.replace(" ; LD.E.64", "").replace(" ; LD.E", "").replace(".SYS", "");
            wrong.extend((full(&ours.to_string()) != full(&measured)).then(|| format!("{family} {probe}")));
        } else if ours.to_string() != measured
            || counts != ["membar", "errbar", "cctl"].map(|column| row[column].clone())
        {
            wrong.push(format!("{family} {probe}\n  measured {measured}\n  ours     {ours}"));
        }
    }
    println!(
        "{compared} kernels, {narrower} of them narrowed, {rejected} rejected, {} forms not modelled",
        outside.len()
    );
    // Forms of proxies, thread barriers and tensor cores.
    let known = ["proxy", "bar", "mbarrier_init", "sync_restrict", "tcgen05"];
    wrong.extend(outside.into_iter().filter(|form| !known.iter().any(|word| form.contains(word))));
    if compared < 5_500 || !wrong.is_empty() {
        return Err(format!("{compared} compared, {} wrong\n{}", wrong.len(), wrong.iter().take(30).join("\n")).into());
    }
    Ok(())
}

/// Whether the kernel is an exception, for which the tables have one load too many or of twice the size. In the code of
/// a generic operation for local memory, ptxas loads only the needed part of an unread old value.
fn narrowed(probe: &str) -> bool {
    let unread = probe.ends_with("|unused") || probe.starts_with("red.");
    let addressed = probe.contains(".global.") || probe.contains(".shared.");
    unread && !addressed && (probe.contains(".exch.b64") || probe.contains(".and.b64"))
}

/// The instructions of a measured kernel, and whether the kernel reads the result.
fn kernel(row: &BTreeMap<String, String>) -> Result<(Sequence, ResultUse), Failed> {
    let parts = row["probe"].split('|').collect_vec();
    let form = |form: &str| {
        let operands = match form.split('.').next().unwrap_or_default() {
            "ld" if form.contains(".v2") => " {%d, %d}, [%a]",
            "ld" if form.contains(".v4") => " {%d, %d, %d, %d}, [%a]",
            "ld" => " %d, [%a]",
            "st" if form.contains(".v4") => " [%a], {%b, %b, %b, %b}",
            "st" | "red" => " [%a], %b",
            "atom" if form.contains(".cas.") => " %d, [%a], %b, %c",
            "atom" => " %d, [%a], %b",
            _ => "",
        };
        format!("{form}{operands};")
    };
    // A result is stored to global memory, weakly.
    let store = |form: &str| {
        let ty = form.rsplit('.').next().unwrap_or_default();
        let bits = ty.trim_start_matches(|c: char| c.is_alphabetic()).trim_end_matches("x2");
        let width = if ty.ends_with("x2") { "32" } else { bits };
        match () {
            () if form.contains(".v2.") => "st.global.v2.b32 [%a], {%b, %b};".into(),
            () if form.contains(".v4.") => "st.global.v4.b32 [%a], {%b, %b, %b, %b};".into(),
            () => format!("st.global.b{width} [%a], %b;"),
        }
    };
    use ResultUse::{Read, Unread};
    let (text, read) = match *parts.as_slice() {
        ["alone", fences] => (format!("{fences};"), Unread),
        ["stld", fences] => {
            let fences = fences.replace('+', "; ");
            (format!("st.global.u32 [%a], %b; {fences}; ld.global.u32 %d, [%a]; st.global.u32 [%a], %d;"), Read)
        }
        ["stld_shared", fence] => {
            (format!("st.shared.u32 [%a], %b; {fence}; ld.shared.u32 %d, [%a]; st.global.u32 [%a], %d;"), Read)
        }
        ["seq", steps, scope, space] => {
            let step = |step: &str| match step.split_once('.') {
                None => format!("membar.{scope};"),
                Some(("fence", sem)) => format!("fence.{sem}.{scope};"),
                Some((mnemonic, sem)) => {
                    let sem = if sem == "volatile" { sem.into() } else { format!("{sem}.{scope}") };
                    let op = if ["atom", "red"].contains(&mnemonic) { ".add" } else { "" };
                    form(&format!("{mnemonic}.{sem}.{space}{op}.u32"))
                }
            };
            let steps =
                steps.split(';').map(|s| if s == "atom" { form(&format!("atom.{space}.add.u32")) } else { step(s) });
            let steps = steps.collect_vec();
            let reads = steps.iter().any(|step| step.contains("%d"));
            (steps.join(" ") + if reads { " st.global.u32 [%a], %d;" } else { "" }, Read)
        }
        [instruction, "used"] => (form(instruction) + &store(instruction), Read),
        [instruction, _] | [instruction] => (form(instruction), Unread),
        _ => return Err("a probe of another form".into()),
    };
    Ok((text.parse()?, read))
}

fn family(row: &BTreeMap<String, String>) -> Family {
    let measured =
        |family: &Family| family.to_string() == format!("sm_{}", row["sm"]) && family.assembler() == row["ptxas"];
    Family::iter().find(measured).expect("a family that was measured with this assembler")
}

/// Checks that, in global memory, a sequence's barriers are the measured ones, and that sequences of a row which differ
/// only in their barriers differ by exactly that number of instructions.
fn barriers_add_up(csv: &str) -> Result<(), Failed> {
    let mut compared = 0;
    // The number of instructions that are not barriers must be the same for each kind of access.
    let mut others: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    for row in rows(csv) {
        let ["seq", text, scope, "global"] = *row["probe"].split('|').collect_vec() else { continue };
        let (Ok(scope), Some(steps)) = (scope.parse::<Scope>(), steps(text)) else { continue };
        if row["seq"].starts_with("REJECTED") {
            continue;
        }
        let ours = barriers(&steps, scope, family(&row));
        let Counts { membar, errbar, cctl } = ours.counts();
        assert_eq!([membar, errbar, cctl].map(|n| n.to_string()), ["membar", "errbar", "cctl"].map(|c| row[c].clone()));
        assert_eq!(ours.opcodes().len().to_string(), row["heavy"], "{text}");
        let access = steps.iter().find(|step| !matches!(step, Step::Fence(_))).map(std::mem::discriminant);
        let instructions = row["n_instr"].parse::<usize>()? - ours.opcodes().len();
        others.entry((format!("{access:?}"), scope, row["sm"].clone())).or_default().insert(instructions);
        compared += 1;
    }
    others.retain(|_, instructions| instructions.len() > 1);
    println!("{compared} sequences");
    if compared < 200 || !others.is_empty() {
        return Err(format!("{compared} sequences, {others:?}").into());
    }
    Ok(())
}

/// The steps of a text such as `fence.sc;atom.acquire`, if the ABI has them.
fn steps(text: &str) -> Option<Vec<Step>> {
    let step = |step: &str| match step.split_once('.')? {
        ("fence", sem) => sem.parse::<FenceSem>().ok().map(Step::Fence),
        ("ld", sem) => sem.parse::<LdSem>().ok().filter(|sem| *sem != LdSem::Volatile).map(Step::Ld),
        ("st", sem) => sem.parse().ok().map(Step::St),
        ("atom", sem) => sem.parse::<AtomSem>().ok().map(Step::Atom),
        _ => None,
    };
    text.split(';').map(step).collect()
}

/// Checks the manual's table. For each operation it has the sizes, then the effect.
fn atoms_is_the_manuals(text: &str) -> Result<(), Failed> {
    let (_, table) = text.split_once("Description, M is").ok_or("no table")?;
    let (table, _) = table.split_once("\"Fast fail\"").ok_or("no end of the table")?;
    let mut words = table.split_whitespace().peekable();
    let mut manual = Vec::new();
    while let Some(word) = words.next() {
        if let Some(op) = word.strip_prefix('.').filter(|op| ATOMS.iter().any(|atoms| atoms.op.to_string() == *op)) {
            let sizes = words.peeking_take_while(|word| word.starts_with('.')).map(|size| size[1..].to_owned());
            manual.push((op.to_owned(), sizes.collect_vec()));
        }
    }
    let ours =
        ATOMS.iter().map(|atoms| (atoms.op.to_string(), atoms.sizes.iter().map(ToString::to_string).collect_vec()));
    if ours.clone().ne(manual.iter().cloned()) {
        return Err(format!("ours {:?}\nthe manual {manual:?}", ours.collect_vec()).into());
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

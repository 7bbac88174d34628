//! Tests of the forms of asynchronous instructions: each form parses as it prints, the measured verdicts agree with the
//! table, and the assemblers accept each form exactly on the targets that the table requires. With `--ignored`, the
//! assemblers check all forms.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write,
    fs,
    sync::LazyLock,
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_isa::{Argument, Asynchronous, Family, ModifierKind, PtxVersion, Role, Sm, Statement, Target};
use testing::{ASSEMBLERS, Assembler, root, shared_trial, trial};

pub fn trials() -> Vec<Trial> {
    let newest = ASSEMBLERS[ASSEMBLERS.len() - 1];
    let mut trials = vec![
        Trial::test("every form is read as it prints", round_trip),
        Trial::test("a text without a form gets a reason", reasons),
        Trial::test("the book names the instructions that came after the manual", book),
        shared_trial("the measured verdicts are ours", "reference/async/legality.csv", |path| {
            verdicts(&fs::read_to_string(path)?)
        }),
        trial("near misses are rejected by both".into(), newest.missing(), move || {
            near_misses(&newest, 23 * testing::stride(2))
        }),
    ];
    for assembler in ASSEMBLERS {
        for sm in Sm::all().filter(|sm| assembler.knows(&Target { sm: *sm, ptx: sm.lowest_ptx() })) {
            let name = |which| format!("{} takes {which} where the table says so: {sm}", assembler.name);
            let agree = move |every| agree(&assembler, sm, every);
            trials.push(trial(name("forms"), assembler.missing(), move || agree(41 * testing::stride(2))));
            trials.push(trial(name("all forms"), assembler.missing(), move || agree(1)).with_ignored_flag(true));
        }
    }
    trials
}

fn all() -> &'static [Asynchronous] {
    static ALL: LazyLock<Vec<Asynchronous>> = LazyLock::new(|| Asynchronous::all().collect());
    &ALL
}

/// Tests the round trip of every form, also with its modifiers in the opposite order, except modifiers whose order is
/// fixed.
fn round_trip() -> Result<(), Failed> {
    let mut count = 0;
    for form in all() {
        let text = form.to_string();
        let read: Asynchronous = text.parse()?;
        if read != *form {
            return Err(format!("{text} is read as {read}").into());
        }
        let (ordered, free): (Vec<&str>, Vec<&str>) = form
            .modifiers()
            .iter()
            .copied()
            .partition(|word| matches!(ModifierKind::from_word(word), ModifierKind::Space | ModifierKind::Type));
        let words = free.into_iter().rev().chain(ordered).map(|word| format!(".{word}"));
        let arguments = text.split_once(' ').map_or("", |(_, arguments)| arguments);
        let swapped = format!("{}{} {arguments};", form.family(), words.format(""));
        if swapped.parse::<Asynchronous>()? != *form {
            return Err(format!("{swapped} is another form than {text}").into());
        }
        count += 1;
    }
    assert!(count > 10_000, "{count}");
    Ok(())
}

fn reasons() -> Result<(), Failed> {
    let check = |text: &str, reason: &str| {
        let errors = text.parse::<Asynchronous>().expect_err(text);
        assert_eq!(errors.0.iter().map(|error| &*error.reason).collect::<Vec<_>>(), [reason], "{text}");
    };
    check("add.u32 x, y, z", "no asynchronous instruction has this name");
    check("mbarrier.arrive.shared::cta.foo.b64 _, [x]", "'mbarrier.arrive' has no modifier .foo");
    check("mbarrier.arrive.release.b64 _, [x]", "'mbarrier.arrive' needs .cta or .cluster here");
    check("mbarrier.arrive.release.release.cta.b64 _, [x]", "a second .release");
    check("tcgen05.commit.mbarrier::arrive::one.b64 [x]", "'tcgen05.commit' needs .cta_group::1 or .cta_group::2 here");
    check("mbarrier.inval.b64", "too few operands: an address (barrier) is missing");
    check("mbarrier.inval.b64 [x], 1", "too many operands");
    check("mbarrier.init.b64 x, 1", "expected an address (barrier), found `x`");
    check("cp.async.cg.shared.global [x], [y], 8", "expected 16 (size), found `8`");
    check(
        "tcgen05.ld.sync.aligned.16x256b.x2.b32 {a, b}, [t]",
        "expected a vector of 8 .b32 (destination), found `{a, b}`",
    );
    check(
        "cp.async.bulk.global.shared::cluster.mbarrier::complete_tx::bytes [x], [y], 16, [z]",
        "'cp.async.bulk' has .shared::cluster before .global here: \
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    );
    let vector =
        |elements: &str| format!("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {elements}, q");
    check(&vector("{_, _, _, _}"), "expected a vector of 4 .b32 (destination), found `{_, _, _, _}`");
    // The spelling in CUTLASS.
    let first: Asynchronous = vector("{x, y, z, _}").parse()?;
    assert_eq!(first.to_string(), vector("{x, y, z, _}"));
    Ok(())
}

/// Checks the book's list of families that began with PTX 9.3 or later, with their first versions and GPUs.
fn book() -> Result<(), Failed> {
    let docs = fs::read_to_string(root().join("docs/evidence/ptx-9.3-to-9.5.md"))?;
    let first = |family: Family| {
        let own = all().iter().filter(move |form| form.family() == family).map(Asynchronous::requirement);
        own.min_by_key(|requirement| requirement.ptx)
    };
    let newer = Family::all().filter_map(|family| Some((family, first(family)?)));
    let newer: Vec<_> = newer.filter(|(_, requirement)| requirement.ptx >= PtxVersion(9, 3)).collect();
    assert!(newer.len() > 10, "{newer:?}");
    for (family, requirement) in newer {
        let row = format!("| `{family}` | {} | {} |", requirement.ptx, requirement.gpus);
        assert!(docs.contains(&row), "docs/evidence/ptx-9.3-to-9.5.md lacks the row: {row}");
    }
    Ok(())
}

/// The words of a form in sorted order, as a key.
fn key(words: &str) -> String {
    words.split('.').sorted().join(".")
}

/// Checks the measured verdicts. Each row has the words of a form, perhaps with operands, and whether ptxas 13.5
/// accepts the form with PTX 9.4.
fn verdicts(csv: &str) -> Result<(), Failed> {
    let mut by_words: HashMap<String, Vec<&Asynchronous>> = HashMap::new();
    for form in all() {
        let text = form.to_string();
        by_words.entry(key(text.split(' ').next().unwrap_or(""))).or_default().push(form);
    }
    let mut lines = csv.lines();
    let gpus: Vec<Sm> = lines.next().ok_or("no head")?.split(',').skip(2).map(str::parse).collect::<Result<_, _>>()?;
    let (mut compared, mut differences) = ([0, 0], Vec::new());
    for line in lines {
        let (group, rest) = line.split_once(',').ok_or("no group")?;
        // A form that contains commas is quoted.
        let (form, cells) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once("\",").ok_or("no end of a quotation")?,
            None => rest.split_once(',').ok_or("no cells")?,
        };
        let requirements: Vec<_> = match form.split_once(' ') {
            _ if form.parse::<Statement>().is_ok() => form
                .parse::<Statement>()?
                .instruction()
                .map(|instruction| instruction.requirement())
                .into_iter()
                .collect(),
            // Rows of `tcgen05.mma` have only the matrix operands.
            Some((words, "[d],adesc,bdesc" | "[d],[a],bdesc")) => {
                let in_memory = form.contains("[a]");
                let forms = by_words.get(&key(words)).into_iter().flatten();
                let fitting =
                    forms.filter(|form| matches!(form.argument(Role::A), Some(Argument::Address(_))) == in_memory);
                fitting.map(|form| form.requirement()).collect()
            }
            Some(_) => form.parse::<Asynchronous>().ok().map(|form| form.requirement()).into_iter().collect(),
            None => by_words.get(&key(form)).into_iter().flatten().map(|form| form.requirement()).collect(),
        };
        for (sm, cell) in gpus.iter().zip(cells.split(',')) {
            let target = Target { sm: *sm, ptx: PtxVersion(9, 4) };
            let ours = requirements.iter().any(|requirement| target.meets(*requirement));
            compared[usize::from(ours)] += 1;
            if ours == cell.is_empty() {
                differences.push(format!("{group}: {form} on {sm}: {}", if ours { "only ours" } else { "not ours" }));
            }
        }
    }
    println!("{compared:?} verdicts compared");
    if compared.iter().any(|count| *count < 3_000) || !differences.is_empty() {
        return Err(format!(
            "{compared:?}\n{} differences\n{}",
            differences.len(),
            differences.iter().take(40).join("\n")
        )
        .into());
    }
    Ok(())
}

/// The declared type of a register in an example.
fn declared(ty: &str) -> &str {
    match ty {
        "f16" => "b32",
        other => other,
    }
}

/// The instructions that the assembler rejects, with its messages. Nothing is compiled, because an invalid instruction
/// is appended.
fn rejected(assembler: &Assembler, target: &Target, instructions: &[String]) -> Result<HashMap<usize, String>, Failed> {
    let mut wrong: HashMap<usize, String> = HashMap::new();
    // After a syntax error the assembler does not check further, so each iteration leaves out the rejected
    // instructions.
    loop {
        let mut text = format!(".version {}\n.target {}\n.address_size 64\n", target.ptx, target.sm);
        let (mut line, mut at) = (4, HashMap::new());
        let last = "mbarrier.inval.shared::cluster.b64 [%b64_1];".to_owned();
        for (index, instruction) in instructions.iter().chain([&last]).enumerate() {
            if wrong.contains_key(&index) {
                continue;
            }
            let names = instruction.split('%').skip(1).filter_map(|name| name.split('_').next());
            let registers = names.unique().map(|ty| format!(".reg .{} %{ty}_<130>; ", declared(ty))).join("");
            writeln!(text, ".func f{index}() {{ {registers}\n{instruction}\nret; }}")?;
            at.insert(line + 1, index);
            line += 3;
        }
        let Err(error) = assembler.judge(target, text.as_bytes())? else { return Err("nothing is rejected".into()) };
        let found = error.lines().into_iter().filter_map(|(line, why)| Some((*at.get(&line)?, why)));
        // A deprecated instruction is still accepted.
        let is_advice = |why: &str| why.starts_with("Advisory") || why.contains("deprecated in PTX version");
        let found: Vec<_> = found.filter(|(_, why)| !is_advice(why)).collect();
        if found.is_empty() {
            return Err(error.to_string().into());
        }
        wrong.extend(found.into_iter().map(|(index, why)| (index, why.to_owned())));
        if wrong.remove(&instructions.len()).is_some() {
            return Ok(wrong);
        }
    }
}

/// Whether this assembler accepts the form from an earlier PTX version on than another assembler, whose version the
/// table has: ptxas 12.9 accepts a lone `.block_scale` only for `.block32`, which is of PTX 8.8, and does not support
/// `membar.proxy.async`.
fn is_taken_early(form: &Asynchronous, assembler: &Assembler) -> bool {
    let sized = |word: &&str| word.starts_with("scale_vec::") || word.starts_with("block") && **word != *"block_scale";
    let alone = form.has("block_scale") && !form.modifiers().iter().any(sized);
    assembler.name == "ptxas-13.5" && (alone || form.family() == Family::MembarProxyAsync)
}

/// Compares the table with the assembler's verdicts, for one GPU and all PTX versions. Each version checks another
/// subset, every `every`-th form.
fn agree(assembler: &Assembler, sm: Sm, every: usize) -> Result<(), Failed> {
    let (mut compared, mut differences) = (0, Vec::new());
    let targets = PtxVersion::all().map(|ptx| Target { sm, ptx });
    let known = targets.filter(|target| assembler.knows(target) && target.ptx >= sm.lowest_ptx());
    // The oldest forms need PTX 7.0.
    for (part, target) in known.filter(|target| target.ptx >= PtxVersion(6, 5)).enumerate() {
        let forms = all().iter().filter(|form| form.requirement().ptx <= assembler.newest());
        let forms: Vec<_> = forms.skip(part % every).step_by(every).collect();
        let texts: Vec<_> = forms.iter().map(|form| format!("{form};")).collect();
        let rejected = rejected(assembler, &target, &texts)?;
        compared += forms.len();
        for (index, form) in forms.iter().enumerate() {
            let (ours, theirs) = (target.meets(form.requirement()), rejected.get(&index));
            if ours != theirs.is_none() && !(theirs.is_none() && is_taken_early(form, assembler)) {
                let why = theirs.map_or("takes it", |why| why);
                differences.push(format!("{target}: {form}, which requires {}: {why}", form.requirement()));
            }
        }
    }
    println!("{compared} compared");
    if compared == 0 || !differences.is_empty() {
        let most = differences.iter().take(30).join("\n");
        return Err(format!("{} of {compared} differ\n{most}", differences.len()).into());
    }
    Ok(())
}

/// Tests invalid neighbors of forms: with a word removed, doubled, added or replaced, and with an operand removed or
/// added. The assembler must reject every text that this crate rejects.
fn near_misses(assembler: &Assembler, every: usize) -> Result<(), Failed> {
    // The assembler ignores the words of these families after other instructions.
    let foreign =
        |family| matches!(family, Family::TensormapReplaceTile | Family::Tcgen05Cp | Family::FabricTryPullredAsync);
    let forms = all().iter().filter(|form| !foreign(form.family()));
    let vocabulary: BTreeSet<_> = forms.flat_map(|form| form.modifiers().to_vec()).collect();
    let vocabulary: Vec<_> = vocabulary.into_iter().collect();
    let mut misses = BTreeSet::new();
    // A single size of each matrix is enough.
    let is_sized = |form: &Asynchronous| {
        form.modifier(ModifierKind::Shape).is_some_and(|shape| shape.starts_with("m64n") && !shape.contains("n24k"))
    };
    for (index, form) in all().iter().filter(|form| !is_sized(form)).step_by(every).enumerate() {
        let (words, text) = (form.modifiers(), form.to_string());
        let arguments = text.split_once(' ').map_or("", |(_, arguments)| arguments);
        let mut add = |words: Vec<&str>, arguments: &str| {
            misses.insert(format!(
                "{}{} {arguments};",
                form.family(),
                words.iter().map(|word| format!(".{word}")).format("")
            ));
        };
        for at in 0..words.len() {
            let other = vocabulary[(index * 7 + at * 31) % vocabulary.len()];
            let with = |middle: &[&'static str]| [&words[..at], middle, &words[at + 1..]].concat();
            // The assembler accepts `st.async` and fabric instructions without words that the manual requires.
            let needs_less = form.family() == Family::StAsync || form.family().words().starts_with("fabric.");
            if !needs_less {
                add(with(&[]), arguments);
            }
            // The assembler ignores scopes of copies.
            let begins = |words: &str| form.family().words().starts_with(words);
            let is_scope = ModifierKind::from_word(other) == ModifierKind::Scope;
            let takes_pred = begins("wgmma.") || begins("multimem.cp.reduce");
            let ignored = is_scope && begins("cp.") || other == "pred" && takes_pred;
            if !ignored && !words.contains(&other) {
                add(with(&[other]), arguments);
                add(with(&[words[at], other]), arguments);
            }
            // For `tcgen05` and `wgmma`, the assembler accepts such words twice.
            if !matches!(words[at], "sync" | "aligned" | "satfinite" | "abs" | "NaN") {
                add(with(&[words[at], words[at]]), arguments);
            }
        }
        if let Some((rest, _)) = arguments.rsplit_once(", ").filter(|(_, last)| !last.contains(['}', ']'])) {
            add(words.to_vec(), rest);
        }
        add(words.to_vec(), &format!("{arguments}{}%b64_9", if arguments.is_empty() { "" } else { ", " }));
    }
    let misses: Vec<_> = misses.into_iter().filter(|miss| miss.parse::<Asynchronous>().is_err()).collect();
    let mut taken: BTreeSet<&String> = BTreeSet::new();
    for sm in ["sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_120a"] {
        let target = Target::new(sm.parse()?, Some(PtxVersion(9, 5)))?;
        let rejected = rejected(assembler, &target, &misses)?;
        taken
            .extend(misses.iter().enumerate().filter(|(index, _)| !rejected.contains_key(index)).map(|(_, miss)| miss));
    }
    // For `st.async`, the assembler also accepts a vector for a scalar.
    taken.retain(|miss| !(miss.starts_with("st.async") && miss.contains('{')));
    // The assembler also accepts a multicast arrival without its state space.
    let has_no_space = |miss: &str| miss.contains("multicast::cluster::32b") && !miss.contains("shared::cluster");
    taken.retain(|miss| !(miss.starts_with("mbarrier.") && has_no_space(miss)));
    println!("{} near misses", misses.len());
    if misses.len() < 500 || !taken.is_empty() {
        return Err(
            format!("{} of {} are taken\n{}", taken.len(), misses.len(), taken.iter().take(60).join("\n")).into()
        );
    }
    Ok(())
}

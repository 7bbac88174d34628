//! The faults that an assembler refuses: instructions, modifiers and combinations that PTX does not have, or that the target lacks.
//!
//! Only instructions that this crate knows are judged: the names of all instructions, and of `ld`, `st`, `atom`, `red`, `fence` and `membar` each modifier
//! and how they go together. A module of a newer version of PTX may have more of them, so that nothing is said of it.

use crate::{
    asynchronous::Family,
    form::takes,
    instruction::Statement,
    mnemonic::Mnemonic,
    module::{Code, Line, Module, ModuleError},
    target::{PtxVersion, Sm, Target},
    word::{AtomOp, Scope, Type, VectorSize},
};

/// The newest version that this crate knows.
const NEWEST: PtxVersion = PtxVersion(9, 4);

/// A word is near another one where one letter differs of so many.
const NEAR: usize = 3;

/// Everything in the functions of a module that the assembler refuses, in the order of the text.
pub fn faults(module: &Module) -> Vec<ModuleError> {
    let parts = module.version.split_once('.');
    let version = parts.and_then(|(major, minor)| Some(PtxVersion(major.parse().ok()?, minor.parse().ok()?)));
    let Some(version) = version.filter(|version| *version <= NEWEST) else { return Vec::new() };
    let sm: Option<Sm> = module.target.split(',').next().and_then(|sm| sm.trim().parse().ok());
    let target = sm.and_then(|sm| Target::new(sm, Some(version)).ok());
    let lines = module.functions().flat_map(|function| function.body.iter().flatten());
    let fault = |line: &Line| {
        let reason = reason(line, target.as_ref())?;
        Some(ModuleError { span: line.span.clone(), line: line.number, reason })
    };
    lines.filter_map(fault).collect()
}

fn reason(line: &Line, target: Option<&Target>) -> Option<String> {
    match &line.code {
        Code::Instruction { instruction, .. } => {
            let requirement = instruction.requirement();
            let target = target.filter(|target| !target.meets(requirement))?;
            let lacks = !target.lacks(&[Statement::from(instruction.clone())]).is_empty();
            lacks.then(|| {
                format!("expected an instruction of {target}, found `{}`, which requires {requirement}", line.text)
            })
        }
        Code::Other(other) => of_words(&other.mnemonic),
        _ => None,
    }
}

/// The faults of a mnemonic and its modifiers.
fn of_words(mnemonic: &str) -> Option<String> {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let found = |expected: &str| format!("expected {expected}, found `{mnemonic}`");
    if Mnemonic::of(mnemonic).is_none() {
        let known = Mnemonic::all().map(|row| row.words.split('.').next().unwrap_or(row.words));
        return Some(match nearest(words[0], known) {
            Some(meant) => found(&format!("an instruction of PTX, as `{meant}`")),
            None => found("an instruction of PTX"),
        });
    }
    let (_, known) = KNOWN.iter().find(|(base, _)| *base == words[0])?;
    if words[0] != "fence" && Family::of(&words).is_some() || words.iter().any(|word| SPECIAL.contains(word)) {
        return None;
    }
    let own = || COMMON.iter().chain(known.iter()).flat_map(|list| list.split(' '));
    let is_known = |word: &str| own().any(|known| known == word);
    if let Some(word) = words[1..].iter().find(|word| !is_known(word) && !is_vector(words[0], word)) {
        let synonyms = SYNONYMS.iter().map(|(word, _)| *word);
        let meant = nearest(word, own().chain(synonyms));
        let meant = meant.map(|meant| SYNONYMS.iter().find(|(word, _)| *word == meant).map_or(meant, |(_, own)| own));
        return Some(match meant {
            Some(meant) => found(&format!("a modifier of `{}`, as `.{meant}`", words[0])),
            None => found(&format!("a modifier of `{}` instead of `.{word}`", words[0])),
        });
    }
    let has = |all: &[&str]| words[1..].iter().any(|word| all.contains(word));
    let has_scope = words[1..].iter().any(|word| word.parse::<Scope>().is_ok());
    match words[0] {
        "ld" | "st" => match (has(&["relaxed", "acquire", "release"]), has_scope) {
            (true, false) => Some(found("a scope, as `.gpu`")),
            (false, true) => Some(found("`.relaxed`, `.acquire` or `.release` with a scope")),
            _ => None,
        },
        "fence" if !has_scope => Some(found("a scope, as `.gpu`")),
        "atom" | "red" => {
            let op: Option<AtomOp> = words[1..].iter().find_map(|word| word.parse().ok());
            let ty: Option<Type> = words[1..].iter().find_map(|word| word.parse().ok());
            let vec: Option<VectorSize> = words[1..].iter().find_map(|word| word.parse().ok());
            match (op, ty) {
                (None, _) => Some(found("an operation, as `.add`")),
                (_, None) => Some(found("a type, as `.u32`")),
                (Some(op), Some(ty)) => {
                    let exists = takes(op, has(&["noftz"]), vec, ty).is_some();
                    (!exists).then(|| found(&format!("a type that `.{op}` has")))
                }
            }
        }
        _ => None,
    }
}

/// Modifiers of all accesses and fences, between blanks.
const COMMON: [&str; 1] = ["cta cluster gpu sys"];

/// The modifiers of each of these instructions besides.
#[rustfmt::skip]
const KNOWN: [(&str, &[&str]); 6] = {
    const TYPES: &str = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64";
    const SPACES: &str = "global shared shared::cta shared::cluster";
    const EVICTION: &str = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate \
        L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint";
    [
        ("ld",     &[TYPES, SPACES, EVICTION, "const local param param::entry param::func weak relaxed acquire volatile mmio \
            ca cg cs lu cv nc L2::64B L2::128B L2::256B unified"]),
        ("st",     &[TYPES, SPACES, EVICTION, "local param param::func weak relaxed release volatile mmio wb cg cs wt"]),
        ("atom",   &[TYPES, SPACES, "L2::cache_hint relaxed acquire release acq_rel exch cas add inc dec min max and or xor noftz"]),
        ("red",    &[TYPES, SPACES, "L2::cache_hint relaxed release add inc dec min max and or xor noftz"]),
        ("fence",  &["sc acq_rel acquire release"]),
        ("membar", &["gl"]),
    ]
};

/// Names of scopes in other languages.
const SYNONYMS: [(&str, &str); 5] =
    [("device", "gpu"), ("agent", "gpu"), ("system", "sys"), ("block", "cta"), ("workgroup", "cta")];

/// Modifiers that make another instruction of one of these.
const SPECIAL: [&str; 6] = [
    "proxy",
    "proxy::readonly",
    "alias",
    "mbarrier_init",
    "sync_restrict::shared::cta",
    "sync_restrict::shared::cluster",
];

/// Whether a word is the number of elements of an access.
fn is_vector(base: &str, word: &str) -> bool {
    let counts: &[&str] = match base {
        "ld" | "st" | "atom" | "red" => &["v2", "v4", "v8"],
        _ => &[],
    };
    // The bank of constant memory.
    let is_bank = base == "ld" && word.starts_with("const[");
    counts.contains(&word) || is_bank
}

/// The word that is nearest, if one is near.
fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let near = known.map(|known| (distance(word, known), known));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 * NEAR <= word.len()).then_some(best.1)
}

/// How many letters are to be put in, left out or changed.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, a) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (index, b) in other.bytes().enumerate() {
            let changed = before + usize::from(a != b);
            before = row[index + 1];
            row[index + 1] = changed.min(before + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_ptx_does_not_have() {
        let check = |mnemonic: &str, part: &str| {
            let found = of_words(mnemonic).unwrap_or_else(|| panic!("{mnemonic} passes"));
            assert!(found.contains(part), "{found}");
        };
        check("ld.acquire.device.global.u32", "as `.gpu`");
        check("ld.acquire.nonsense.global.u32", "instead of `.nonsense`");
        check("st.release.sytem.global.u32", "as `.sys`");
        check("atom.acqrel.gpu.global.add.u32", "as `.acq_rel`");
        check("atom.relaxed.gpu.global.or.u32", "a type that `.or` has");
        check("foo.bar.u32", "an instruction of PTX, found");
        check("movv.u32", "as `mov`");
        check("st.release.global.u32", "a scope");
        check("ld.gpu.global.u32", "with a scope");
        check("red.acquire.gpu.global.add.u32", "a modifier of `red`");
        check("fence.acq_rel", "a scope");
        check("atom.global.u32", "an operation");
    }

    #[test]
    fn words_that_ptx_has() {
        for mnemonic in [
            "ld.param.u64",
            "ld.global.nc.L1::evict_last.L2::128B.v4.f32",
            "ld.const[3].u32",
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32",
            "red.async.relaxed.cluster.global.shared::cluster.mbarrier::complete_tx::bytes.inc.u32",
            "atom.global.add.noftz.v4.f16x2",
            "atom.cas.b16",
            "fence.proxy.async",
            "fence.mbarrier_init.release.cluster",
            "fence.acquire.sync_restrict::shared::cluster.cluster",
            "membar.proxy.alias",
            "mov.b32",
            "tcgen05.ld.sync.aligned.32x32b.x1.b32",
        ] {
            assert_eq!(of_words(mnemonic), None, "{mnemonic}");
        }
    }
}

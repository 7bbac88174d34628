//! The names of atomics in languages, and the parser of questions that use these names: `atomicAdd, acquire, sm_90`.

use std::ops::Range;

use itertools::Itertools;
use serde::Serialize;
use serde_json::{Map, Value};

/// A name of a language.
#[derive(Clone)]
pub struct Word {
    /// The name in a program, without arguments.
    pub name: String,
    /// The language that has the name.
    pub language: &'static str,
    /// The operation, by its name in the explorer.
    pub operation: &'static str,
    /// The ordering of the operation if the program names none.
    pub ordering: &'static str,
    /// The scope of the operation if the program names none.
    pub scope: &'static str,
}

/// A family of names: `{}` stands for the name of the operation in the family.
struct Family {
    language: &'static str,
    form: &'static str,
    /// The name of each operation in the family.
    operations: &'static [(&'static str, &'static str)],
    ordering: &'static str,
    scope: &'static str,
}

const CUDA: &[(&str, &str)] = &[
    ("Add", "add"),
    ("Sub", "sub"),
    ("Exch", "xchg"),
    ("Min", "min"),
    ("Max", "max"),
    ("Inc", "uinc_wrap"),
    ("Dec", "udec_wrap"),
    ("CAS", "cmpxchg"),
    ("And", "and"),
    ("Or", "or"),
    ("Xor", "xor"),
];
const FETCH: &[(&str, &str)] = &[
    ("fetch_add", "add"),
    ("fetch_sub", "sub"),
    ("fetch_and", "and"),
    ("fetch_or", "or"),
    ("fetch_xor", "xor"),
    ("fetch_min", "min"),
    ("fetch_max", "max"),
];
const CPP: &[(&str, &str)] = &[
    ("load", "load"),
    ("store", "store"),
    ("exchange", "xchg"),
    ("compare_exchange_strong", "cmpxchg"),
    ("compare_exchange_weak", "cmpxchg"),
];
const RUST: &[(&str, &str)] = &[
    ("load", "load"),
    ("store", "store"),
    ("swap", "xchg"),
    ("compare_exchange", "cmpxchg"),
    ("compare_exchange_weak", "cmpxchg"),
    ("fetch_add", "add"),
    ("fetch_sub", "sub"),
    ("fetch_and", "and"),
    ("fetch_nand", "nand"),
    ("fetch_or", "or"),
    ("fetch_xor", "xor"),
    ("fetch_min", "umin"),
    ("fetch_max", "umax"),
    ("fetch_update", "cmpxchg"),
];
const BUILTIN: &[(&str, &str)] = &[
    ("load_n", "load"),
    ("store_n", "store"),
    ("exchange_n", "xchg"),
    ("compare_exchange_n", "cmpxchg"),
    ("fetch_nand", "nand"),
];
const FENCE: &[(&str, &str)] = &[("", "fence")];
const LLVM: &[(&str, &str)] = &[
    ("atomicrmw add", "add"),
    ("atomicrmw sub", "sub"),
    ("atomicrmw xchg", "xchg"),
    ("atomicrmw and", "and"),
    ("atomicrmw nand", "nand"),
    ("atomicrmw or", "or"),
    ("atomicrmw xor", "xor"),
    ("atomicrmw max", "max"),
    ("atomicrmw min", "min"),
    ("atomicrmw umax", "umax"),
    ("atomicrmw umin", "umin"),
    ("atomicrmw fadd", "fadd"),
    ("atomicrmw fsub", "fsub"),
    ("atomicrmw fmax", "fmax"),
    ("atomicrmw fmin", "fmin"),
    ("atomicrmw uinc_wrap", "uinc_wrap"),
    ("atomicrmw udec_wrap", "udec_wrap"),
    ("load atomic", "load"),
    ("store atomic", "store"),
    ("cmpxchg", "cmpxchg"),
    ("fence", "fence"),
];
const MLIR: &[(&str, &str)] = &[
    ("memref.atomic_rmw addi", "add"),
    ("memref.atomic_rmw addf", "fadd"),
    ("memref.atomic_rmw assign", "xchg"),
    ("memref.atomic_rmw maxs", "max"),
    ("memref.atomic_rmw maxu", "umax"),
    ("memref.atomic_rmw mins", "min"),
    ("memref.atomic_rmw minu", "umin"),
    ("memref.atomic_rmw andi", "and"),
    ("memref.atomic_rmw ori", "or"),
    ("memref.generic_atomic_rmw", "cmpxchg"),
    ("llvm.atomicrmw", "add"),
    ("llvm.cmpxchg", "cmpxchg"),
    ("llvm.fence", "fence"),
];
const TRITON: &[(&str, &str)] = &[
    ("add", "add"),
    ("cas", "cmpxchg"),
    ("xchg", "xchg"),
    ("max", "max"),
    ("min", "min"),
    ("and", "and"),
    ("or", "or"),
    ("xor", "xor"),
];

/// The ordering and the scope of a name without an ordering depend on the language. CUDA's functions are relaxed at
/// scope gpu (CUDA C++ Programming Guide, atomic functions and memory fences), C++'s functions are sequentially
/// consistent at scope sys, and Triton's functions are acquire and release at scope gpu. Rust and LLVM IR always name
/// an ordering.
const FAMILIES: &[Family] = &[
    Family { language: "CUDA", form: "atomic{}", operations: CUDA, ordering: "relaxed", scope: "gpu" },
    Family { language: "CUDA", form: "atomic{}_block", operations: CUDA, ordering: "relaxed", scope: "cta" },
    Family { language: "CUDA", form: "atomic{}_system", operations: CUDA, ordering: "relaxed", scope: "sys" },
    Family { language: "CUDA", form: "__threadfence", operations: FENCE, ordering: "seq_cst", scope: "gpu" },
    Family { language: "CUDA", form: "__threadfence_block", operations: FENCE, ordering: "seq_cst", scope: "cta" },
    Family { language: "CUDA", form: "__threadfence_system", operations: FENCE, ordering: "seq_cst", scope: "sys" },
    Family { language: "libcu++", form: "cuda::atomic_ref::{}", operations: FETCH, ordering: "seq_cst", scope: "sys" },
    Family { language: "libcu++", form: "cuda::atomic_ref::{}", operations: CPP, ordering: "seq_cst", scope: "sys" },
    Family { language: "libcu++", form: "cuda::atomic::{}", operations: FETCH, ordering: "seq_cst", scope: "sys" },
    Family { language: "libcu++", form: "cuda::atomic::{}", operations: CPP, ordering: "seq_cst", scope: "sys" },
    Family {
        language: "libcu++",
        form: "cuda::atomic_thread_fence",
        operations: FENCE,
        ordering: "seq_cst",
        scope: "sys",
    },
    Family { language: "C++", form: "std::atomic::{}", operations: FETCH, ordering: "seq_cst", scope: "sys" },
    Family { language: "C++", form: "std::atomic::{}", operations: CPP, ordering: "seq_cst", scope: "sys" },
    Family { language: "C++", form: "std::atomic_thread_fence", operations: FENCE, ordering: "seq_cst", scope: "sys" },
    Family { language: "Rust", form: "AtomicU32::{}", operations: RUST, ordering: "seq_cst", scope: "sys" },
    Family {
        language: "Rust",
        form: "core::sync::atomic::fence",
        operations: FENCE,
        ordering: "seq_cst",
        scope: "sys",
    },
    Family { language: "clang", form: "__scoped_atomic_{}", operations: FETCH, ordering: "seq_cst", scope: "sys" },
    Family { language: "clang", form: "__scoped_atomic_{}", operations: BUILTIN, ordering: "seq_cst", scope: "sys" },
    Family {
        language: "clang",
        form: "__scoped_atomic_thread_fence",
        operations: FENCE,
        ordering: "seq_cst",
        scope: "sys",
    },
    Family { language: "clang", form: "__atomic_{}", operations: FETCH, ordering: "seq_cst", scope: "sys" },
    Family { language: "clang", form: "__atomic_{}", operations: BUILTIN, ordering: "seq_cst", scope: "sys" },
    Family { language: "clang", form: "__atomic_thread_fence", operations: FENCE, ordering: "seq_cst", scope: "sys" },
    Family { language: "LLVM IR", form: "{}", operations: LLVM, ordering: "seq_cst", scope: "sys" },
    Family { language: "MLIR", form: "{}", operations: MLIR, ordering: "relaxed", scope: "sys" },
    Family { language: "Triton", form: "tl.atomic_{}", operations: TRITON, ordering: "acq_rel", scope: "gpu" },
];

/// Words for orderings, without a prefix such as `memory_order_`.
const ORDERINGS: [(&str, &str); 11] = [
    ("relaxed", "relaxed"),
    ("monotonic", "relaxed"),
    ("unordered", "unordered"),
    ("acquire", "acquire"),
    ("release", "release"),
    ("acq_rel", "acq_rel"),
    ("acqrel", "acq_rel"),
    ("seq_cst", "seq_cst"),
    ("seqcst", "seq_cst"),
    ("sc", "seq_cst"),
    ("consume", "acquire"),
];
/// Words for scopes, without a prefix such as `thread_scope_`.
const SCOPES: [(&str, &str); 16] = [
    ("cta", "cta"),
    ("block", "cta"),
    ("wrkgrp", "cta"),
    ("workgroup", "cta"),
    ("cluster", "cluster"),
    ("clustr", "cluster"),
    ("gpu", "gpu"),
    ("gl", "gpu"),
    ("device", "gpu"),
    ("dvice", "gpu"),
    ("agent", "gpu"),
    ("sys", "sys"),
    ("system", "sys"),
    ("singlethread", "singlethread"),
    ("single", "singlethread"),
    ("thread", "singlethread"),
];
/// Words for types. Signedness matters for maxima alone, so that signed and unsigned types have the same values.
const TYPES: [(&str, &str); 27] = [
    ("i8", "i8"),
    ("u8", "i8"),
    ("char", "i8"),
    ("bool", "i8"),
    ("i16", "i16"),
    ("u16", "i16"),
    ("short", "i16"),
    ("i32", "i32"),
    ("u32", "i32"),
    ("int", "i32"),
    ("unsigned", "i32"),
    ("uint32_t", "i32"),
    ("i64", "i64"),
    ("u64", "i64"),
    ("long", "i64"),
    ("uint64_t", "i64"),
    ("size_t", "i64"),
    ("usize", "i64"),
    ("i128", "i128"),
    ("f16", "f16"),
    ("half", "f16"),
    ("bf16", "bf16"),
    ("bfloat", "bf16"),
    ("f32", "f32"),
    ("float", "f32"),
    ("f64", "f64"),
    ("double", "f64"),
];
const SPACES: [(&str, &str); 4] =
    [("shared", "shared"), ("__shared__", "shared"), ("global", "global"), ("generic", "generic")];
/// The prefixes of words for orderings and scopes.
const PREFIXES: [&str; 5] = ["memory_order_", "thread_scope_", "__memory_scope_", "__atomic_", "memory_scope_"];

/// All names.
pub fn words() -> impl Iterator<Item = Word> {
    FAMILIES.iter().flat_map(|Family { language, form, operations, ordering, scope }| {
        operations.iter().map(|(spelled, operation)| Word {
            name: form.replace("{}", spelled),
            language,
            operation,
            ordering: if *operation == "fence" && *ordering == "relaxed" { "acq_rel" } else { ordering },
            scope,
        })
    })
}

/// The answer to a question in words.
#[derive(Serialize)]
pub struct WordsAnswer {
    /// The fields of the explorer for the operation with the longest name.
    pub fields: Map<String, Value>,
    /// The parts of the text that name further operations, in their order: each part is a separate question.
    pub further: Vec<String>,
}

/// The operations that a text asks for; `None` if the text names no operation.
pub fn answer_words(text: &str) -> Option<WordsAnswer> {
    let named = operations(text);
    let longest = named.iter().enumerate().max_by_key(|(index, (name, _))| (name.len(), std::cmp::Reverse(*index)));
    let (answered, (_, word)) = longest?;
    // The words that belong to an operation end at the next operation.
    let starts: Vec<usize> = named.iter().skip(1).map(|(name, _)| name.start).collect();
    let bounds = [0].into_iter().chain(starts.iter().copied()).zip(starts.iter().copied().chain([text.len()]));
    let mut parts: Vec<&str> = bounds.map(|(start, end)| &text[start..end]).collect();
    let own = parts.remove(answered);
    let gpu = tokens(text).into_iter().find(|token| token.starts_with("sm_"));
    let further = parts.into_iter().map(|part| {
        let part = bare(part);
        gpu.as_ref().filter(|gpu| !part.contains(gpu.as_str())).map_or(part.to_owned(), |gpu| format!("{part} {gpu}"))
    });
    Some(WordsAnswer { fields: fields(word, own, gpu.as_deref()), further: further.collect() })
}

/// A part of a question without the words that connect it with the next part.
fn bare(part: &str) -> &str {
    let part = part.trim().trim_end_matches([',', ';', '.']);
    let ends = ["then", "and"].iter().find_map(|word| part.strip_suffix(word));
    ends.filter(|rest| rest.ends_with([' ', ','])).map_or(part, bare)
}

/// The fields of the explorer for an operation, with the words that belong to it.
fn fields(word: &Word, text: &str, gpu: Option<&str>) -> Map<String, Value> {
    let tokens = tokens(text);
    let find = |of: &[(&'static str, &'static str)]| {
        let known = |token: &String| of.iter().find(|(word, _)| word == token).map(|(_, value)| *value);
        tokens.iter().find_map(known)
    };
    let ty = find(&TYPES);
    let is_unsigned =
        tokens.iter().any(|token| token.starts_with('u') && (TYPES.iter().any(|(word, _)| word == token)))
            || text.contains("AtomicU");
    let operation = match (word.operation, ty) {
        ("add" | "sub" | "max" | "min", Some("f16" | "bf16" | "f32" | "f64")) => format!("f{}", word.operation),
        ("max" | "min", _) if is_unsigned => format!("u{}", word.operation),
        (operation, _) => operation.to_owned(),
    };
    // An `add` whose name is of floats has a floating-point type.
    let ty = ty.unwrap_or(if operation.starts_with('f') && operation != "fence" { "f32" } else { "i32" });
    let mut fields = Map::new();
    let mut set = |name: &str, value: &str| fields.insert(name.to_owned(), value.into());
    set("operation", &operation);
    set("ordering", find(&ORDERINGS).unwrap_or(word.ordering));
    // The suffix `_block` in a name has already determined the scope.
    set("scope", if word.language == "CUDA" { word.scope } else { find(&SCOPES).unwrap_or(word.scope) });
    set("type", ty);
    let numbered = [("addrspace(3)", "shared"), ("addrspace(1)", "global")];
    let numbered = numbered.iter().find(|(words, _)| text.contains(words)).map(|(_, space)| *space);
    set("space", numbered.or(find(&SPACES)).unwrap_or("global"));
    if let Some(gpu) = gpu {
        set("a.mcpu", gpu);
    }
    fields
}

/// The words of a text in lower case, without the prefixes of orderings and scopes.
fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
    let bare = |word: &str| {
        let word = word.to_lowercase();
        let bare = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).map(ToOwned::to_owned);
        bare.unwrap_or(word).trim_start_matches("atomic").to_owned()
    };
    words.map(bare).filter(|word| !word.is_empty()).collect()
}

/// The operations that a text names, in their order, with their ranges. The last part of a name suffices, such as
/// `fetch_add` of `cuda::atomic_ref<…>.fetch_add`. Among overlapping names, the longest is chosen.
fn operations(text: &str) -> Vec<(Range<usize>, Word)> {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let is_whole = |name: &Range<usize>| {
        !is_part(text[..name.start].chars().next_back()) && !is_part(text[name.end..].chars().next())
    };
    let is_of = |word: &Word| match word.language {
        "libcu++" => text.contains("cuda::"),
        "Rust" => ["Ordering::", "AtomicU", "AtomicI", "AcqRel", "SeqCst"].iter().any(|own| text.contains(own)),
        _ => true,
    };
    let mut named: Vec<(Range<usize>, Word)> = Vec::new();
    for word in words() {
        let last = word.name.rsplit("::").next().unwrap_or_default();
        let names = [&*word.name, last].into_iter().unique();
        let places = names.flat_map(|name| text.match_indices(name).map(|(at, name)| at..at + name.len()));
        named.extend(places.filter(is_whole).map(|place| (place, word.clone())));
    }
    // Among names of the same length, a name in the language of the text is first.
    named.sort_by_key(|(place, word)| std::cmp::Reverse((place.len(), is_of(word))));
    let mut chosen: Vec<(Range<usize>, Word)> = Vec::new();
    for (place, word) in named {
        if chosen.iter().all(|(other, _)| place.end <= other.start || other.end <= place.start) {
            chosen.push((place, word));
        }
    }
    chosen.sort_by_key(|(place, _)| place.start);
    chosen
}

/// The chapter with all names, each with a link to the explorer.
pub fn chapter() -> String {
    let mut text = String::from(HEAD);
    for (language, words) in &words().chunk_by(|word| word.language) {
        text += &format!("\n## {language}\n");
        for word in words {
            let Word { name, operation, ordering, scope, .. } = &word;
            let asked: String = name.chars().map(|letter| if letter == ' ' { '+' } else { letter }).collect();
            text += &format!(
                "\n### `{name}`\n\n[The PTX of `{name}`](explorer.md#say={asked}): the operation `{operation}`, {ordering} and of scope {scope} by default.\n"
            );
        }
    }
    text
}

const HEAD: &str = "# Names in languages

The names of atomics and fences in languages, with the PTX of each. The explorer takes the same names, with orderings, scopes, types and a GPU
as further words: `cuda::atomic_ref<int>.fetch_add(1, memory_order_acq_rel) sm_90`.
";

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use serde_json::Value;

    use super::{answer_words, chapter, words};

    /// Checks the question in a text: operation, ordering, scope, type, space, and a GPU if the text names one.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let fields = answer_words(text).map(|said| said.fields).unwrap_or_default();
        let values = ["operation", "ordering", "scope", "type", "space", "a.mcpu"]
            .map(|name| fields.get(name).and_then(Value::as_str));
        assert_eq!(values.into_iter().flatten().collect::<Vec<_>>().join(" "), expected, "{text}");
    }

    #[test]
    fn questions_in_the_words_of_a_language() {
        check("atomicAdd, acquire, sm_90, which barriers?", "add acquire gpu i32 global sm_90");
        check("atomicAdd(float*) on __shared__", "fadd relaxed gpu f32 shared");
        check("atomicMax_block(unsigned)", "umax relaxed cta i32 global");
        check("atomicCAS_system", "cmpxchg relaxed sys i32 global");
        check("cuda::atomic_ref<int, cuda::thread_scope_device>.fetch_add(1)", "add seq_cst gpu i32 global");
        check("cuda::atomic_ref<double>.fetch_add(1, cuda::memory_order_relaxed)", "fadd relaxed sys f64 global");
        check("__threadfence_block()", "fence seq_cst cta i32 global");
        check("__threadfence", "fence seq_cst gpu i32 global");
        check("x.fetch_add(1, Ordering::AcqRel)", "add acq_rel sys i32 global");
        check("AtomicU64::fetch_max(SeqCst)", "umax seq_cst sys i64 global");
        check("compare_exchange_weak(0, 1, Acquire, Relaxed)", "cmpxchg acquire sys i32 global");
        check("atomicrmw add ptr %p, i64 1 syncscope(\"device\") monotonic", "add relaxed gpu i64 global");
        check("load atomic i32, ptr addrspace(3) %p acquire", "load acquire sys i32 shared");
        check("__scoped_atomic_fetch_add(p, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_WRKGRP)", "add release cta i32 global");
        check("memref.atomic_rmw addf", "fadd relaxed sys f32 global");
        check("tl.atomic_add", "add acq_rel gpu i32 global");
        check("tl.atomic_xchg(sem=\"release\", scope=\"sys\")", "xchg release sys i32 global");
        check("how do I cook rice", "");
    }

    #[test]
    fn each_operation_of_a_question_is_answered() {
        let check = |text: &str, fields: &str, further: &[&str]| {
            check(text, fields);
            let found = answer_words(text).map(|said| said.further).unwrap_or_default();
            assert_eq!(found, further, "{text}");
            // Each further question names exactly one operation.
            assert!(
                found.iter().all(|other| answer_words(other).is_some_and(|said| said.further.is_empty())),
                "{text}"
            );
        };
        let further = ["atomicAdd on shared memory"];
        check("__threadfence then atomicAdd on shared memory", "fence seq_cst gpu i32 global", &further);
        check(
            "atomicAdd(float*), then atomicExch(int*) release sm_80",
            "xchg release gpu i32 global sm_80",
            &["atomicAdd(float*) sm_80"],
        );
        check("atomicAdd, acquire", "add acquire gpu i32 global", &[]);
    }

    /// Each name is recognized as written, and names an operation that some GPU has.
    #[test]
    fn every_name_is_understood() {
        assert!(words().count() > 100);
        for word in words() {
            let fields = answer_words(&word.name).map(|said| said.fields).unwrap_or_default();
            let [operation, ordering, scope] =
                ["operation", "ordering", "scope"].map(|name| fields.get(name).and_then(Value::as_str));
            assert_eq!(
                [operation, ordering, scope],
                [word.operation, word.ordering, word.scope].map(Some),
                "{}",
                word.name
            );
        }
    }

    /// With `INSTA_UPDATE=always`, the test writes the chapter, as it writes snapshots.
    #[test]
    fn the_chapter_is_new() {
        let path = format!("{}/../../docs/words.md", env!("CARGO_MANIFEST_DIR"));
        if env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
            fs::write(&path, chapter()).expect("it is written");
        }
        assert_eq!(
            fs::read_to_string(&path).ok(),
            Some(chapter()),
            "INSTA_UPDATE=always cargo test -p ptx-atomics-page writes {path} again"
        );
    }
}

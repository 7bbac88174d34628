//! The litmus tests of cuda-litmus (PLDI 2026), generated from their names, and their published verdicts.
//!
//! A name such as `wrc_TB_0_12_SCOPE_BLOCK_FENCE_SCOPE_DEVICE_BOTH_FENCE` gives the shape (`wrc`), the threads of each
//! CTA (thread 0; threads 1 and 2), the scope of accesses, the scope of fences, and the variant. The set has every
//! combination, so that the tables of this file are the whole set. `verdicts.tsv` has a character for each test.

use std::collections::BTreeSet;

/// A test with its verdicts.
pub struct Test {
    /// The name in the study.
    pub name: String,
    /// The test in the notation of this project.
    pub text: String,
    /// The verdicts of the study.
    pub verdict: Verdict,
}

/// The verdicts of the study about the outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether NVIDIA's Alloy model of PTX allows the outcome.
    pub is_allowed: bool,
    /// Whether the strengthened model of the study allows it.
    pub is_allowed_strengthened: bool,
    /// Whether an A100, an H100 and a GH200 showed it.
    pub seen: [bool; 3],
}

/// A shape: threads with their accesses, the final state, and the variants.
struct Shape {
    name: &'static str,
    /// The accesses of each thread: `x=1` stores 1 to x, and `x` loads x.
    threads: &'static [&'static str],
    /// The condition: a value for each load in its order, and final values such as `x=2` of variables.
    condition: &'static str,
    placements: &'static [&'static str],
    /// The scopes of accesses.
    scopes: &'static [&'static str],
    /// The name of each variant, with the orderings of its threads.
    variants: &'static [(&'static str, &'static str)],
}

/// The scopes, with their names in PTX.
const SCOPES: [(&str, &str); 2] = [("BLOCK", "cta"), ("DEVICE", "gpu")];
const BOTH: &[&str] = &["BLOCK", "DEVICE"];

/// The partitions of two, three and four threads into CTAs.
const TWO: &[&str] = &["01", "0_1"];
const THREE: &[&str] = &["012", "01_2", "0_12", "0_1_2", "1_02"];
#[rustfmt::skip]
const FOUR: &[&str] = &[
    "0123", "012_3", "013_2", "01_23", "01_2_3", "023_1", "02_13", "02_1_3", "03_12", "03_1_2", "0_123", "0_12_3",
    "0_1_23", "0_1_2_3", "0_2_13",
];

/// The orderings of a thread: `.` none, `a` an acquiring first access, `r` a releasing last access, `f` and `s` a
/// fence.acq_rel and a fence.sc after the first access, `l` a fence.sc of the scope of accesses before an acquiring
/// last access, `q` a fence.sc of that scope before the first access. In the examples of the paper every access
/// acquires or releases: `o` without a fence, `b` after a fence.sc.sys, `m` with a fence.sc.sys after the first access.
#[rustfmt::skip]
const SHAPES: [Shape; 11] = [
    Shape {
        name: "iriw", threads: &["x=1", "x y", "y=1", "y x"], condition: "1 0 1 0", placements: FOUR, scopes: BOTH,
        variants: &[
            ("BOTH_FENCE", ".f.f"), ("THREAD_1_FENCE", ".f.a"), ("THREAD_3_FENCE", ".a.f"),
            ("NO_FENCE_ACQUIRE", ".a.a"), ("NO_FENCE_RELAXED", "...."),
        ],
    },
    Shape {
        name: "isa2", threads: &["x=1 y=1", "y z=1", "z x"], condition: "1 1 0", placements: THREE, scopes: BOTH,
        variants: &[
            ("ALL_FENCE", "fff"), ("THREAD_0_1_FENCE", "ffa"), ("THREAD_0_2_FENCE_ACQ", "faf"),
            ("THREAD_0_2_FENCE_REL", "frf"), ("THREAD_0_FENCE_ACQ", "faa"), ("THREAD_0_FENCE_REL", "fra"),
            ("THREAD_1_2_FENCE", "rff"), ("THREAD_1_FENCE", "rfa"), ("THREAD_2_FENCE_ACQ", "raf"),
            ("THREAD_2_FENCE_REL", "rrf"), ("NO_FENCE_ACQUIRE", "raa"), ("NO_FENCE_RELAXED", "..."),
            ("NO_FENCE_RELEASE", "rra"),
        ],
    },
    Shape {
        name: "paper_example1", threads: &["x=1 y=1", "y z=1", "z=2 a=1", "a x"], condition: "1 z=2 1 0",
        placements: &["0_1_2_3"], scopes: &["DEVICE"],
        variants: &[("NO_FENCE_DISALLOWED", "bmbo"), ("NO_FENCE_RELAXED", "....")],
    },
    Shape {
        name: "paper_example2", threads: &["x=1 y=1", "y z", "z=1 a=1", "a x"], condition: "1 0 1 0",
        placements: &["0_1_2_3"], scopes: &["DEVICE"],
        variants: &[("NO_FENCE_DISALLOWED", "bmbo"), ("NO_FENCE_RELAXED", "....")],
    },
    Shape {
        name: "rwc", threads: &["x=1", "x y", "y=1 x"], condition: "1 0 0", placements: THREE, scopes: BOTH,
        variants: &[
            ("BOTH_FENCE", ".fs"), ("THREAD_1_FENCE_LOAD_SC", ".fl"), ("THREAD_1_FENCE_STORE_SC", ".fq"),
            ("THREAD_2_FENCE", ".as"), ("NO_FENCE_LOAD_SC", ".al"), ("NO_FENCE_RELAXED", "..."),
            ("NO_FENCE_STORE_SC", ".aq"),
        ],
    },
    Shape {
        name: "three_2w", threads: &["x=2 y=1", "y=2 z=1", "z=2 x=1"], condition: "x=2 y=2 z=2", placements: THREE,
        scopes: BOTH,
        variants: &[
            ("ALL_FENCE", "fff"), ("FENCE_0", "frr"), ("FENCE_01", "ffr"), ("FENCE_02", "frf"), ("FENCE_1", "rfr"),
            ("FENCE_12", "rff"), ("FENCE_2", "rrf"), ("NO_FENCE_RELAXED", "..."), ("NO_FENCE_RELEASE", "rrr"),
        ],
    },
    Shape {
        name: "two_2w", threads: &["x=1 y=2", "y=1 x=2"], condition: "x=1 y=1", placements: TWO, scopes: BOTH,
        variants: &[
            ("BOTH_FENCE", "ff"), ("FENCE_0", "fr"), ("FENCE_1", "rf"), ("NO_FENCE_RELAXED", ".."),
            ("NO_FENCE_RELEASE", "rr"),
        ],
    },
    Shape {
        name: "wrc", threads: &["x=1", "x y=1", "y x"], condition: "1 1 0", placements: THREE, scopes: BOTH,
        variants: &[
            ("BOTH_FENCE", ".ff"), ("THREAD_1_FENCE", ".fa"), ("THREAD_2_FENCE_ACQ", ".af"),
            ("THREAD_2_FENCE_REL", ".rf"), ("NO_FENCE_ACQUIRE", ".aa"), ("NO_FENCE_RELAXED", "..."),
            ("NO_FENCE_RELEASE", ".ra"),
        ],
    },
    Shape {
        name: "wrw_2w", threads: &["x=2", "x y=1", "y=2 x=1"], condition: "2 x=2 y=2", placements: THREE,
        scopes: BOTH,
        variants: &[
            ("BOTH_FENCE", ".ff"), ("THREAD_1_FENCE", ".fr"), ("THREAD_2_FENCE_ACQ", ".af"),
            ("THREAD_2_FENCE_REL", ".rf"), ("NO_FENCE_ACQUIRE", ".ar"), ("NO_FENCE_RELAXED", "..."),
            ("NO_FENCE_RELEASE", ".rr"),
        ],
    },
    Shape {
        name: "wwc", threads: &["x=2", "x y=1", "y x=1"], condition: "2 1 x=2", placements: THREE, scopes: BOTH,
        variants: &[
            ("BOTH_FENCE", ".ff"), ("THREAD_1_FENCE_ACQ", ".fa"), ("THREAD_1_FENCE_REL", ".fr"),
            ("THREAD_2_FENCE_ACQ", ".af"), ("THREAD_2_FENCE_REL", ".rf"), ("NO_FENCE_ACQ_ACQ", ".aa"),
            ("NO_FENCE_ACQ_REL", ".ar"), ("NO_FENCE_RELAXED", "..."), ("NO_FENCE_REL_ACQ", ".ra"),
            ("NO_FENCE_REL_REL", ".rr"),
        ],
    },
    Shape {
        name: "z6_3", threads: &["x=1 y=1", "y=2 z=1", "z x"], condition: "y=2 1 0", placements: THREE, scopes: BOTH,
        variants: &[
            ("ALL_FENCE", "fff"), ("FENCE_0", "fra"), ("FENCE_01", "ffa"), ("FENCE_02", "frf"), ("FENCE_1", "rfa"),
            ("FENCE_12", "rff"), ("FENCE_2", "rrf"), ("NO_FENCE_ACQ_REL", "rra"), ("NO_FENCE_RELAXED", "..."),
        ],
    },
];

/// Every test of the study.
///
/// # Errors
/// If `verdicts.tsv` does not have a character for each test.
pub fn tests() -> Result<Vec<Test>, String> {
    let mut rows = include_str!("verdicts.tsv").lines();
    let mut tests = Vec::new();
    for shape in &SHAPES {
        for (placement, scope) in
            shape.placements.iter().flat_map(|of| shape.scopes.iter().map(move |scope| (of, scope)))
        {
            let key = format!("{}\t{placement}\t{scope}\t", shape.name);
            let row = rows.next().unwrap_or_default();
            let codes = row.strip_prefix(&key).ok_or_else(|| format!("expected a row of '{key}', found '{row}'"))?;
            let mut codes = codes.chars();
            for (variant, orderings) in shape.variants {
                let fences: &[&str] = if variant.starts_with("NO_FENCE") { &[""] } else { BOTH };
                for fence in fences {
                    let of_fence = if fence.is_empty() { String::new() } else { format!("FENCE_SCOPE_{fence}_") };
                    let name = format!("{}_TB_{placement}_SCOPE_{scope}_{of_fence}{variant}", shape.name);
                    let code = codes.next().ok_or_else(|| format!("expected a verdict of {name} in '{row}'"))?;
                    let verdict =
                        Verdict::from_code(code).ok_or_else(|| format!("expected a verdict, found '{code}'"))?;
                    let text = shape.text(&name, placement, in_ptx(scope), in_ptx(fence), orderings);
                    tests.push(Test { name, text, verdict });
                }
            }
        }
    }
    Ok(tests)
}

impl Test {
    /// The test with its verdicts, as in the table of the study.
    pub fn row(&self) -> String {
        let Verdict { is_allowed, is_allowed_strengthened, seen } = self.verdict;
        let models = [is_allowed, is_allowed_strengthened].map(|allowed| if allowed { "allowed" } else { "forbidden" });
        let seen = seen.map(|seen| if seen { "seen" } else { "not seen" });
        [&self.name[..], models[0], models[1], seen[0], seen[1], seen[2]].join(",")
    }
}

fn in_ptx(scope: &str) -> &'static str {
    SCOPES.iter().find(|(name, _)| *name == scope).map_or("", |(_, scope)| scope)
}

impl Verdict {
    /// The verdicts of each character of `verdicts.tsv`.
    #[rustfmt::skip]
    const CODES: [(char, Self); 7] = [
        ('F', Self { is_allowed: false, is_allowed_strengthened: false, seen: [false, false, false] }),
        ('s', Self { is_allowed: true, is_allowed_strengthened: false, seen: [false, false, false] }),
        ('.', Self { is_allowed: true, is_allowed_strengthened: true, seen: [false, false, false] }),
        ('A', Self { is_allowed: true, is_allowed_strengthened: true, seen: [true, false, false] }),
        ('H', Self { is_allowed: true, is_allowed_strengthened: true, seen: [false, true, false] }),
        ('2', Self { is_allowed: true, is_allowed_strengthened: true, seen: [true, true, false] }),
        ('3', Self { is_allowed: true, is_allowed_strengthened: true, seen: [true, true, true] }),
    ];

    fn from_code(code: char) -> Option<Self> {
        Self::CODES.iter().find(|(of, _)| *of == code).map(|(_, verdict)| *verdict)
    }
}

impl Shape {
    /// The test in the notation of this project.
    fn text(&self, name: &str, placement: &str, scope: &str, fence_scope: &str, orderings: &str) -> String {
        let mut loads = Vec::new();
        let threads = self.threads.iter().zip(orderings.chars()).enumerate();
        let columns = threads.map(|(thread, (accesses, ordering))| {
            let cta = placement.split('_').position(|threads| threads.contains(&thread.to_string()));
            let heading = format!("P{thread}@cta {},gpu 0", cta.unwrap_or_default());
            let code = column(thread, accesses, ordering, scope, fence_scope, &mut loads);
            std::iter::once(heading).chain(code).collect()
        });
        let columns: Vec<Vec<String>> = columns.collect();
        let rows = (0..columns.iter().map(Vec::len).max().unwrap_or_default()).map(|row| {
            let cells: Vec<&str> = columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect();
            format!(" {} ;\n", cells.join(" | "))
        });
        let variables: BTreeSet<&str> =
            self.threads.iter().flat_map(|accesses| accesses.split(' ')).map(|access| &access[..1]).collect();
        let initial: String = variables.iter().map(|variable| format!("{variable}=0; ")).collect();
        let mut loads = loads.iter();
        let values = self.condition.split(' ').map(|value| match value.split_once('=') {
            Some((variable, value)) => format!("{variable} == {value}"),
            None => format!("{} == {value}", loads.next().map_or("", String::as_str)),
        });
        let values: Vec<String> = values.collect();
        format!("PTX {name}\n{{ {initial}}}\n{}exists ({})\n", rows.collect::<String>(), values.join(" /\\ "))
    }
}

/// The instructions of a thread. Adds the registers of its loads, which are numbered across all threads.
fn column(
    thread: usize,
    accesses: &str,
    ordering: char,
    scope: &str,
    fence_scope: &str,
    loads: &mut Vec<String>,
) -> Vec<String> {
    let accesses: Vec<&str> = accesses.split(' ').collect();
    let ordered = match ordering {
        'a' => 0..1,
        'r' | 'l' => accesses.len() - 1..accesses.len(),
        'o' | 'b' | 'm' => 0..accesses.len(),
        _ => 0..0,
    };
    let instruction = |(index, access): (usize, &&str)| match (access.split_once('='), ordered.contains(&index)) {
        (Some((variable, value)), true) => format!("st.release.{scope} {variable}, {value}"),
        (Some((variable, value)), false) => format!("st.relaxed.{scope} {variable}, {value}"),
        (None, is_ordered) => {
            let register = format!("r{}", loads.len());
            loads.push(format!("P{thread}:{register}"));
            format!("ld.{}.{scope} {register}, {access}", if is_ordered { "acquire" } else { "relaxed" })
        }
    };
    let mut column: Vec<String> = accesses.iter().enumerate().map(instruction).collect();
    let fence = match ordering {
        'f' => Some((1, "acq_rel", fence_scope)),
        's' => Some((1, "sc", fence_scope)),
        'l' => Some((1, "sc", scope)),
        'q' => Some((0, "sc", scope)),
        'm' => Some((1, "sc", "sys")),
        'b' => Some((0, "sc", "sys")),
        _ => None,
    };
    if let Some((index, sem, scope)) = fence {
        column.insert(index, format!("fence.{sem}.{scope}"));
    }
    column
}

//! The check for errors that an assembler would report: instructions, modifiers and combinations that PTX does not have
//! or that the target lacks, undeclared names, and operands that an instruction does not accept.
//!
//! The check covers only the instructions that this crate knows: the names of all instructions, and for `ld`, `st`,
//! `atom`, `red`, `fence` and `membar` each modifier and the combinations of modifiers. A module of a newer PTX version
//! may have more instructions and modifiers, so it is not checked.

mod calls;
mod count;
mod declared;
mod forms;
mod names;
mod near;
mod operands;

use self::{forms::is_size, near::nearest};
use crate::{
    asynchronous::Family,
    form::takes,
    instruction::Statement,
    mnemonic::Mnemonic,
    module::{Code, Line, Module, ModuleError},
    target::{PtxVersion, Sm, Target},
    word::{AtomOp, Scope, Type, VectorSize},
};

/// The newest PTX version that this crate supports.
const NEWEST: PtxVersion = PtxVersion(9, 4);

/// The oldest PTX version that this crate supports. Before it, instructions had other forms.
const OLDEST: PtxVersion = PtxVersion(2, 0);

/// Reads PTX as [`Module::read_partly`] does. Returns the errors of its text and the faults of its functions, in the
/// order of the text. Every front end reports these errors.
pub fn read(text: &str) -> (Module, Vec<ModuleError>) {
    let (module, mut errors) = Module::read_partly(text);
    errors.extend(faults(&module));
    errors.sort_by_key(|error| error.span.start);
    (module, errors)
}

/// All errors in the functions of a module that the assembler would reject, in the order of the text.
pub fn faults(module: &Module) -> Vec<ModuleError> {
    let parts = module.version.split_once('.');
    let version = parts.and_then(|(major, minor)| Some(PtxVersion(major.parse().ok()?, minor.parse().ok()?)));
    let Some(version) = version.filter(|version| (OLDEST..=NEWEST).contains(version)) else { return Vec::new() };
    let sm: Option<Sm> = module.target.split(',').next().and_then(|sm| sm.trim().parse().ok());
    let target = sm.and_then(|sm| Target::new(sm, Some(version)).ok());
    let refused = names::refused(module);
    let mut faults = Vec::new();
    for (line, refused) in module.functions().flat_map(|function| function.body.iter().flatten()).zip(refused) {
        if let Some(reason) = reason(line, target.as_ref()).or(refused) {
            faults.push(ModuleError { span: line.span.clone(), line: line.number, reason });
        }
    }
    faults
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
        Code::Other(other) => of_words(&other.mnemonic).or_else(|| without_sync(&other.mnemonic, target?)),
        _ => None,
    }
}

/// The fault of an exchange among the threads of a warp that does not name them, on a target whose threads diverge
/// independently.
fn without_sync(mnemonic: &str, target: &Target) -> Option<String> {
    let mut words = mnemonic.split('.');
    let is_exchange = words.next().is_some_and(|base| matches!(base, "shfl" | "vote"));
    let is_refused = target.sm.number() >= INDEPENDENT.0 && target.ptx >= INDEPENDENT.1;
    (is_exchange && is_refused && words.all(|word| word != "sync"))
        .then(|| format!("expected `.sync` for {target}, found `{mnemonic}`"))
}

/// The first GPU and the first PTX version on which `shfl` and `vote` need `.sync`.
const INDEPENDENT: (u32, PtxVersion) = (70, PtxVersion(6, 4));

/// Instructions that must have one of these modifiers, which blanks separate.
const REQUIRED: [(&str, &str); 5] = [
    ("bar", "sync arrive red"),
    ("barrier", "sync arrive red wait"),
    ("match", "sync"),
    ("redux", "sync"),
    ("elect", "sync"),
];

/// The fault of a mnemonic and its modifiers.
fn of_words(mnemonic: &str) -> Option<String> {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let found = |expected: &str| format!("expected {expected}, found `{mnemonic}`");
    if Mnemonic::find_row(mnemonic).is_none() {
        let known = Mnemonic::all().map(|row| row.words.split('.').next().unwrap_or(row.words));
        return Some(match nearest(words[0], known) {
            Some(meant) => found(&format!("an instruction of PTX, as `{meant}`")),
            None => found("an instruction of PTX"),
        });
    }
    if let Some(expected) = vector(&words) {
        return Some(found(&expected));
    }
    if let Some((base, all)) = REQUIRED.iter().find(|(base, _)| *base == words[0])
        && !words.iter().any(|word| all.split(' ').any(|required| required == *word))
    {
        let all: Vec<String> = all.split(' ').map(|word| format!("`.{word}`")).collect();
        return Some(found(&format!("a modifier of `{base}`, {}", all.join(" or "))));
    }
    let (_, known) = KNOWN.iter().find(|(base, _)| *base == words[0])?;
    if words[0] != "fence" && Family::from_words(&words).is_some() || words.iter().any(|word| SPECIAL.contains(word)) {
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
        "membar" if !has(&["cta", "gl", "sys"]) => Some(found("a level, as `.gl`")),
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

/// Modifiers of all accesses and fences, separated by blanks.
const COMMON: [&str; 1] = ["cta cluster gpu sys"];

/// The additional modifiers of each of these instructions.
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

/// Names of PTX scopes in other languages.
const SYNONYMS: [(&str, &str); 5] =
    [("device", "gpu"), ("agent", "gpu"), ("system", "sys"), ("block", "cta"), ("workgroup", "cta")];

/// Modifiers that turn these instructions into different instructions.
const SPECIAL: [&str; 6] = [
    "proxy",
    "proxy::readonly",
    "alias",
    "mbarrier_init",
    "sync_restrict::shared::cta",
    "sync_restrict::shared::cluster",
];

/// Instructions on vectors, with their vector sizes and the maximum number of bits of a vector. Global memory allows
/// wider vectors than other memory.
#[rustfmt::skip]
const VECTORS: [(&str, &[u32], u32); 8] = [
    ("ld",       &[2, 4, 8], 256),
    ("ldu",      &[2, 4],    128),
    ("st",       &[2, 4, 8], 256),
    ("atom",     &[2, 4, 8], 128),
    ("red",      &[2, 4, 8], 128),
    ("multimem", &[2, 4, 8], 128),
    ("mov",      &[2, 4],    128),
    ("tex",      &[2, 4],    128),
];

/// The maximum number of bits of a vector outside global memory.
const MOST_BITS: u32 = 128;

/// The vector size that is expected instead of a word, if the instruction lacks the word or the type is too wide for
/// it.
fn vector(words: &[&str]) -> Option<String> {
    let word = words[1..].iter().find(|word| is_size(word))?;
    let Some((base, sizes, most)) = VECTORS.iter().find(|(base, ..)| *base == words[0]) else {
        let is_arithmetic =
            Mnemonic::find_row(words[0]).is_some_and(|row| row.memory.is_empty() && row.order.is_none());
        return is_arithmetic.then(|| format!("an instruction without `.{word}`"));
    };
    let size: Option<u32> = word[1..].parse().ok().filter(|size| sizes.contains(size));
    let Some(size) = size else {
        let sizes: Vec<String> = sizes.iter().map(|size| format!("`.v{size}`")).collect();
        return Some(format!("a vector of `{base}`, {}", sizes.join(" or ")));
    };
    let space = words[1..].iter().find_map(|word| word.split("::").next().filter(|word| OTHER_SPACES.contains(word)));
    let most = space.map_or(*most, |_| MOST_BITS.min(*most));
    let ty: Type = words[1..].iter().rev().find_map(|word| word.parse().ok())?;
    (ty.bits() * size > most).then(|| format!("a vector of at most {most} bits"))
}

/// State spaces with narrower vectors than global memory.
const OTHER_SPACES: [&str; 4] = ["shared", "local", "param", "const"];

/// Whether a word is a number of elements of an access.
fn is_vector(base: &str, word: &str) -> bool {
    let counts: &[&str] = match base {
        "ld" | "st" | "atom" | "red" => &["v2", "v4", "v8"],
        _ => &[],
    };
    // A bank of constant memory.
    let is_bank = base == "ld" && word.starts_with("const[");
    counts.contains(&word) || is_bank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Computation;

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
        check("mov.v8.b16", "a vector of `mov`, `.v2` or `.v4`");
        check("mov.v4.b64", "at most 128 bits");
        check("ld.global.v3.f32", "a vector of `ld`, `.v2` or `.v4` or `.v8`");
        check("ld.global.v8.b64", "at most 256 bits");
        check("st.shared.v8.b32", "at most 128 bits");
        check("ld.param.v2.b128", "at most 128 bits");
        check("add.v2.f32", "an instruction without `.v2`");
    }

    /// The faults of a body, separated by blanks.
    fn of_body(body: &str) -> String {
        let text = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.global .u32 table[4];\n\
             .func (.reg .b32 r) f(.param .b32 a);\n.visible .entry k(.param .u64 p)\n{{\n\
             .reg .pred %p<2>;\n.reg .b32 %r<10>, count;\n.reg .b64 %rd<3>;\n.reg .f32 %f<2>;\n.reg .v4 .f32 color;\n{body}\nret;\n}}\n.func late();\n"
        );
        let (module, errors) = Module::read_partly(&text);
        assert_eq!(errors, [], "{body}");
        faults(&module).into_iter().map(|fault| fault.reason).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_that_nothing_declares() {
        let check = |body: &str, expected: &str| assert_eq!(of_body(body), expected, "{body}");
        check("mov.u32 %r1, %r10;", "expected a register of `%r<10>`, found `%r10`");
        check("@%p2 mov.u32 %r1, %r2;", "expected a register of `%p<2>`, found `%p2`");
        check("mov.u32 %r1, cont;", "expected a name that is declared here, as `count`, found `cont`");
        check("ld.global.u32 %rr1, [%rd1];", "expected a name that is declared here, as `%r1`, found `%rr1`");
        check("mov.u32 %r1, %tidd.x;", "expected a name that is declared here, as `%tid`, found `%tidd`");
        check("bra nowhere;", "expected a name that is declared here, found `nowhere`");
        check("call late;", "expected a name that is declared here, found `late`");
        check("st.global.u32 [tble+4], %r1;", "expected a name that is declared here, as `table`, found `tble`");
        let inner = "expected a name that is declared here, found `inner`";
        check("{ .reg .b32 inner; mov.u32 inner, 1; } mov.u32 inner, 2;", inner);
        check("mov.u32 inner, 2; .reg .b32 inner; mov.u32 inner, 2;", inner);
        check("bra inner; { inner: }", inner);
        // Each name and each statement is reported once.
        check("mov.u32 inner, inner; mov.u32 inner, 0;", inner);
    }

    #[test]
    fn operands_that_instructions_do_not_take() {
        let check = |body: &str, expected: &str, found: &str| {
            let message = format!("expected {expected}, found {found}");
            assert_eq!(of_body(body), message, "{body}");
        };
        check("add.u32 %r1, %r2;", "2 sources", "1 of `add.u32`");
        check("lop3.b32 %r1, %r2, %r3, %r4;", "4 sources", "3 of `lop3.b32`");
        check("setp.eq.and.u32 %p0, %r1, %r2;", "3 sources", "2 of `setp.eq.and.u32`");
        check("mov.u32 %r1;", "1 source", "0 of `mov.u32`");
        check("add.u32 5, %r1, %r2;", "a register for the result", "`5` of `add.u32`");
        check("add.u32 %rd1, %r1, %r2;", "a register for `.u32`", "`%rd1`, which is `.b64`, of `add.u32`");
        check(
            "add.u32 %r1, color, %r2; add.u32 %r1, %p1, %r2;",
            "a register for `.u32`",
            "`%p1`, which is `.pred`, of `add.u32`",
        );
        check("@%p1 cvt.u64.u32 %r1, %r2;", "a register for `.u64`", "`%r1`, which is `.b32`, of `cvt.u64.u32`");
        check("mov.u32 %f1, %r1;", "a register for `.u32`", "`%f1`, which is `.f32`, of `mov.u32`");
        check("selp.u32 %r1, %r2, %r3, %r4;", "a register for `.pred`", "`%r4`, which is `.b32`, of `selp.u32`");
        check("add.f32 %f1, %f1, 1;", "a constant of `.f32`, as `1.0`", "`1` of `add.f32`");
        check("add.u32 %r1 %r2, %r3;", "a comma before `%r2`", "`add.u32 %r1 %r2, %r3`");
        check("st.u32 [table] %r2;", "a comma before `%r2`", "`st.u32 [table] %r2`");
        check("ld.global.u32 %r1, table;", "an address in brackets", "`table` of `ld.global.u32`");
        check("ld.global.u32 [table], %r1;", "an address in brackets", "`%r1` of `ld.global.u32`");
        check("ld.global %r1, [table];", "a type, as `.u32`", "none of `ld.global`");
        check("ld.global.u64 %r1, [table];", "a register for `.u64`", "`%r1`, which is `.b32`, of `ld.global.u64`");
        check(
            "ld.global.v2.u64 {%rd1, %r1}, [table];",
            "a register for `.u64`",
            "`%r1`, which is `.b32`, of `ld.global.v2.u64`",
        );
        check("st.global.u32 [table], %f1;", "a register for `.u32`", "`%f1`, which is `.f32`, of `st.global.u32`");
        check("atom.global.add.u32 %r1, [table];", "3 operands", "2 of `atom.global.add.u32`");
        check("atom.global.cas.b32 %r1, [table], %r2;", "4 operands", "3 of `atom.global.cas.b32`");
        check(
            "atom.global.add.u32 %rd1, [table], %r2;",
            "a register for `.u32`",
            "`%rd1`, which is `.b64`, of `atom.global.add.u32`",
        );
        check(
            "ld.shared.u32 %r1, [table];",
            "a variable in `.shared`",
            "`table`, which is in `.global`, of `ld.shared.u32`",
        );
        check("ld.param.u32 %r1, [table];", "a parameter", "`table`, which is in `.global`, of `ld.param.u32`");
        check(
            "{ .const .u32 c; ld.u32 %r1, [c]; }",
            "`.const` in the instruction",
            "`c`, which is in `.const`, of `ld.u32`",
        );
        let special = "a register, into which `mov` reads a special one";
        check("add.u32 %r1, %tid.x, %r2;", special, "`%tid.x` of `add.u32`");
        check("st.global.u32 [table], %laneid;", special, "`%laneid` of `st.global.u32`");
        check("exit 1;", "0 operands", "1 of `exit`");
        check("bra;", "1 operand", "0 of `bra`");
        check("add %r1, %r2, %r3;", "a type, as `.u32`", "`add`");
        check("mul.u32 %r1, %r2, %r3;", "a form of `mul` that PTX has", "`mul.u32`");
        check("div.f32 %f1, %f1, %f1;", "a form of `div` that PTX has", "`div.f32`");
        check("cvt.f32.s32 %f1, %r1;", "a form of `cvt` that PTX has", "`cvt.f32.s32`");
        check("setp.eq %p1, %r1, %r2;", "a type, as `.u32`", "`setp.eq`");
        check("and.u32 %r1, %r2, %r3;", "a type of `and`, as `.b32`", "`and.u32`");
        check("add.b32 %r1, %r2, %r3;", "a type of `add`, as `.s32`", "`add.b32`");
        check("neg.u32 %r1, %r2;", "a type of `neg`, as `.s32`", "`neg.u32`");
        check("membar;", "a level, as `.gl`", "`membar`");
    }

    #[test]
    fn numbers_of_operands() {
        let check = |body: &str, expected: &str, found: &str| {
            assert_eq!(of_body(body), format!("expected {expected}, found {found}"), "{body}");
        };
        check("bar.sync;", "1 or 2 operands", "0 of `bar.sync`");
        check("bar.sync 0, 32, 1;", "1 or 2 operands", "3 of `bar.sync`");
        check("barrier.cta.arrive.aligned 0;", "2 operands", "1 of `barrier.cta.arrive.aligned`");
        check("bar.red.and.pred %p0, 1;", "3 or 4 operands", "2 of `bar.red.and.pred`");
        check("barrier.cluster.wait 0;", "0 operands", "1 of `barrier.cluster.wait`");
        check("bar 0;", "a modifier of `bar`, `.sync` or `.arrive` or `.red`", "`bar`");
        check("membar.gl 0;", "0 operands", "1 of `membar.gl`");
        check("shfl.sync.idx.b32 %r1, %r2, 0, 31;", "5 operands", "4 of `shfl.sync.idx.b32`");
        check("st.global.u32 [table], %r1, %r2;", "2 operands", "3 of `st.global.u32`");
        check("call f, (%r1);", "1 result of `f`", "0 of `call`");
        check("call.uni (%r1), f;", "1 argument of `f`", "0 of `call.uni`");
        check("call (%r1), f, (%r2, %r3);", "1 argument of `f`", "2 of `call`");
        let prototype = "t: .callprototype _ (.param .b32 _, .param .b64 _);";
        check(&format!("{prototype} call %rd1, (%r1), t;"), "2 arguments of `t`", "1 of `call`");
        check("ld.global.v4.f32 {%f0, %f1}, [table];", "4 elements", "2 of `ld.global.v4.f32`");
        check("st.global.f32 [table], {%f0, %f1};", "1 element", "2 of `st.global.f32`");
        check("ld.global.v2.f32 %f0, [table];", "a vector of 2 elements", "`%f0` of `ld.global.v2.f32`");
        check("mov.v2.u32 {%r1, %r2}, {%r1, %r2, %r3};", "2 elements", "3 of `mov.v2.u32`");
        check("mov.b64 %rd1, {%r1};", "elements of 64 bits together", "`{%r1}` of `mov.b64`");
    }

    #[test]
    fn addresses() {
        let check = |body: &str, expected: &str| assert_eq!(of_body(body), expected, "{body}");
        check("ld.global.u32 %r1, [%rd1-8];", "expected `+-` after a name, as `%rd1+-8`, found `%rd1-8`");
        check("st.global.u32 [table - 4], %r1;", "expected `+-` after a name, as `table+- 4`, found `table- 4`");
        check("ld.global.u32 %r1, [%rd1+-8]; mov.u32 %r1, WARP_SZ-1; ld.global.u32 %r1, [table+8-4];", "");
        let found = "found `%f0`, which is `.f32`, of";
        let expected = "expected an integer register in the address";
        check("ld.global.u32 %r1, [%f0];", &format!("{expected}, {found} `ld.global.u32`"));
        check("prefetch.global.L1 [%f0+4];", &format!("{expected}, {found} `prefetch.global.L1`"));
    }

    #[test]
    fn warps_whose_threads_diverge() {
        let check = |target: &str, version: &str, is_refused: bool| {
            let text = format!(
                ".version {version}\n.target {target}\n.func f() {{ .reg .pred %p<2>; .reg .b32 %r<3>; \
                 shfl.idx.b32 %r1, %r2, 0, 31; vote.all.pred %p0, %p1; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; ret; }}"
            );
            let reasons: Vec<_> = faults(&text.parse().expect("PTX")).into_iter().map(|fault| fault.reason).collect();
            let expected = ["shfl.idx.b32", "vote.all.pred"]
                .map(|found| format!("expected `.sync` for {target} with PTX {version}, found `{found}`"));
            assert_eq!(reasons, if is_refused { &expected[..] } else { &[] });
        };
        check("sm_60", "7.8", false);
        check("sm_70", "6.3", false);
        check("sm_70", "6.4", true);
        check("sm_90", "8.6", true);
    }

    #[test]
    fn operands_that_instructions_take() {
        for body in [
            "and.b32 %f1, %f1, %f1; mov.b32 %r1, %f1; mov.f32 %r1, %f1; add.s32 count, %r1, -1; add.f32 %f1, %f1, 1.0;",
            "setp.eq.u32 %p0|%p1, %r1, 0; setp.eq.and.u32 _|%p1, %r1, %r2, !%p0; selp.b32 %r1, 1, 0, %p1;",
            "cvt.u32.u8 %rd1, %rd2; cvt.u8.u32 %r1, %r2; ld.global.s8 %rd1, [table]; st.global.u8 [table], %rd1;",
            "mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd1, {%r1, %f1}; mov.v2.u32 {%r1, _}, {%r2, %r3}; mov.u64 %rd1, table+4;",
            "atom.global.exch.b32 %f1, [table], %r1; atom.global.add.f32 %r1, [table], %f1; atom.global.add.u32 _, [table], 1;",
            "ld.u32 %r1, [table]; ld.global.nc.v2.f32 {%f1, %r1}, [table]; ld.param.u64 %rd1, [p]; ld.global.f32 %r1, [table];",
            "{ .shared .u32 s; st.shared::cta.u32 [s], %r1; ld.shared::cluster.u32 %r1, [s]; ld.u32 %r1, [s]; }",
            "and.pred %p0, %p1, !%p1; mad.wide.u32 %rd1, %r1, %r2, %rd2; shl.b64 %rd1, %rd2, %r1; popc.b64 %r1, %rd1;",
            "mov.u32 %r1, %laneid; cvt.u64.u32 %rd1, %tid.x; add.u32 %r1, %r2, WARP_SZ; { .reg .b32 %tid; add.u32 %r1, %tid, 1; }",
            "mov.u32 %r1, table[2]; mov.pred %p0, 1; @!%p1 exit; membar.gl; ret.uni;",
        ] {
            assert_eq!(of_body(body), "", "{body}");
        }
    }

    /// No form of arithmetic that the reader accepts is rejected, if registers have the types that the form names.
    #[test]
    fn all_forms_of_arithmetic_pass() {
        let register = |ty: Type| match ty {
            Type::Pred => "%p1",
            Type::F32 => "%f1",
            Type::F64 => "%g1",
            ty => [(8, "%b"), (16, "%h"), (32, "%r1"), (64, "%rd1")]
                .iter()
                .find(|(bits, _)| *bits == ty.bits())
                .map_or("", |of| of.1),
        };
        let mut body = ".reg .b8 %b; .reg .b16 %h; .reg .f64 %g<2>;".to_owned();
        let mut count = 0;
        for form in Computation::forms() {
            let words: Vec<&str> = form.split('.').collect();
            let Some(of) = Computation::from_mnemonic(words[0], &words[1..]) else { continue };
            let results: Vec<&str> = of.result_types().map(register).collect();
            let sources: Vec<&str> = (0..of.arity()).map(|index| register(of.source_type(index))).collect();
            body += &format!("{form} {}, {};\n", results.join("|"), sources.join(", "));
            count += 1;
        }
        assert!(count > 1000, "{count}");
        assert_eq!(of_body(&body), "");
    }

    #[test]
    fn names_that_are_declared() {
        for body in [
            "@!%p1 mov.u32 %r9, count; mov.u32 %r07, 0;",
            "mov.u32 %r1, %tid.x; mov.v4.u32 {%r1, %r2, %r3, _}, %ctaid; mov.u64 %rd1, %pm3_64; mov.u32 %r1, %envreg3;",
            "mov.u32 %r1, WARP_SZ; mov.b32 %r1, color.x;",
            "{ .reg .b32 %r<12>; mov.u32 %r11, %r1; { bra out; } out: }",
            "again: ld.param.u64 %rd1, [p]; mov.u64 %rd2, k; @%p0 bra again;",
            "{ .param .b32 a; st.param.b32 [a], %r1; call.uni (count), f, (a); }",
            "to: .branchtargets one, two; brx.idx %r1, to; one: two: mov.b32 %r1, 0f3F800000;",
            "{ type: .callprototype (.param .b32 _) _ (.param .b64 _); .param .b32 a; .param .b64 b; call (a), %rd1, (b), type; }",
            "{ .shared .b32 one, two[4]; st.shared.u32 [two+4], %r1; st.u32 [one], %r1; }",
        ] {
            assert_eq!(of_body(body), "", "{body}");
        }
    }

    #[test]
    fn words_that_ptx_has() {
        for mnemonic in [
            "ld.param.u64",
            "ld.global.nc.L1::evict_last.L2::128B.v4.f32",
            "ld.const[3].u32",
            "mov.v4.f32",
            "mov.v2.b64",
            "ld.v4.b64",
            "st.global.v8.b32",
            "ld.shared.v8.b16",
            "tex.2d.v4.f32.f32",
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

//! The effects of inline assembly, as far as the instructions in its text show them.

//!
//! An instruction that PTX ISA 9.2 does not have is assumed to have every effect.

use ptx_lowering::ptx::{
    mnemonic::{Control, Mnemonic, Order},
    syntax::{Instruction, Statement, statements},
};

/// Whether the assembly accesses no memory, orders no access, and continues with the instruction after it.
pub fn is_quiet(text: &str) -> bool {
    rows(text).is_some_and(|rows| rows.into_iter().all(is_quiet_row))
}

/// Whether the assembly consists of barriers between threads and quiet instructions, with at least one barrier.
pub fn is_barrier(text: &str) -> bool {
    let is_barrier = |row: &Mnemonic| row.memory.is_empty() && row.order == Some(Order::Barrier);
    rows(text).is_some_and(|rows| {
        rows.iter().any(|row| is_barrier(row)) && rows.into_iter().all(|row| is_barrier(row) || is_quiet_row(row))
    })
}

fn is_quiet_row(row: &Mnemonic) -> bool {
    !row.orders_or_touches_memory() && matches!(row.control, Control::Next | Control::Jump)
}

/// Whether the assembly reaches no shared memory outside its own CTA. Such assembly computes no address in another
/// CTA's shared memory, and has no instruction that takes such an address in another form.
pub fn stays_in_cta(text: &str) -> bool {
    // These asynchronous instructions access only the shared memory of their own CTA.
    const OWN: [&str; 3] = ["cp.async", "cp.async.mbarrier", "wgmma.mma_async"];
    let stays = |row: &Mnemonic| {
        row.words != "mapa" && row.control != Control::Call && (!row.is_asynchronous || OWN.contains(&row.words))
    };
    !text.contains("::cluster") && rows(text).is_some_and(|rows| rows.into_iter().all(stays))
}

/// Whether the assembly starts an asynchronous operation.
pub fn is_asynchronous(text: &str) -> bool {
    rows(text).is_none_or(|rows| rows.into_iter().any(|row| row.is_asynchronous))
}

/// The memory effects that inline assembly declares to LLVM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The keyword `volatile` in C, or `sideeffect` in LLVM IR.
    pub has_side_effects: bool,
    /// The clobber of memory, `~{memory}`.
    pub clobbers_memory: bool,
    /// The attribute `memory(none)`, or `memory(read)`.
    pub memory: Effects,
}

/// The memory effects that the attributes of a call allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effects {
    /// The call may read and write all memory.
    #[default]
    All,
    /// The call may read memory, and writes none.
    Reads,
    /// The call does not access memory.
    Nothing,
}

/// An effect that inline assembly has and does not declare, as a sentence without a period. Because of it, LLVM may
/// move other accesses across the assembly, or move, merge or delete the assembly. An instruction whose effect is
/// unknown counts as declared.
pub fn hidden(text: &str, declared: Declared) -> Option<String> {
    let all = words(text)?;
    let of =
        |does: fn(&Mnemonic, &str) -> bool| all.iter().find(|(row, words)| does(row, words)).map(|(_, words)| words);
    let (orders, writes, reads) = (of(orders), of(writes), of(reads));
    let Declared { has_side_effects, clobbers_memory, memory } = declared;
    let (instruction, does, may) = match memory {
        Effects::Nothing => (orders.or(writes).or(reads)?, "declares no memory", "move, merge or delete it"),
        Effects::Reads => (orders.or(writes)?, "declares that memory is only read", "move, merge or delete it"),
        Effects::All if clobbers_memory => return None,
        Effects::All if has_side_effects => (orders?, "declares no clobber of memory", "move other accesses across it"),
        Effects::All => (
            orders.or(writes).or(reads)?,
            "declares neither side effects nor a clobber of memory",
            "move other accesses across it",
        ),
    };
    Some(format!("inline assembly with {instruction} {does}, and a compiler may {may}"))
}

fn orders(row: &Mnemonic, words: &str) -> bool {
    let is_strong = |word: &str| matches!(word, "acquire" | "release" | "acq_rel" | "sc");
    // A call is excluded: the effects of the called function are not known.
    row.control != Control::Call && (row.order.is_some() || row.accesses() && words.split('.').any(is_strong))
}

fn writes(row: &Mnemonic, words: &str) -> bool {
    row.writes && row.control != Control::Call && !is_private(words)
}

fn reads(row: &Mnemonic, words: &str) -> bool {
    row.reads && row.control != Control::Call && !is_private(words)
}

/// Whether the memory is private to the thread, or never changes.
fn is_private(words: &str) -> bool {
    words.split('.').any(|word| matches!(word, "param" | "local" | "const" | "nc"))
}

/// The effects of each instruction of a text; `None` if the effects of an instruction are not known.
fn rows(text: &str) -> Option<Vec<&'static Mnemonic>> {
    Some(words(text)?.into_iter().map(|(row, _)| row).collect())
}

/// As [`rows`], each with the mnemonic and all modifiers of the instruction.
fn words(text: &str) -> Option<Vec<(&'static Mnemonic, String)>> {
    let text = without_templates(text);
    let (mut found, mut errors) = statements(&text);
    // The last statement of inline assembly may lack its `;`.
    let terminated = format!("{text}\n;");
    if !errors.is_empty() {
        (found, errors) = statements(&terminated);
    }
    let row = |Instruction { mnemonic, modifiers, .. }: &Instruction<'_>| {
        let words: Vec<_> = [*mnemonic].iter().chain(modifiers).map(|word| word.text).collect();
        let words = words.join(".");
        Some((Mnemonic::find_row(&words)?, words))
    };
    let instructions = found.iter().filter_map(|statement| match statement {
        Statement::Instruction(instruction) => Some(row(instruction)),
        _ => None,
    });
    instructions.collect::<Option<_>>().filter(|_| errors.is_empty())
}

/// The text of a template whose placeholders are replaced by names: `${0:c}` of LLVM, `{$r0}` of NVVM's inline PTX.
fn without_templates(text: &str) -> String {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric());
    let (mut names, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let hole = after
            .split_once('}')
            .filter(|(hole, _)| before.ends_with('$') || hole.strip_prefix('$').is_some_and(is_name));
        names += before;
        rest = match hole {
            Some((hole, after)) => {
                names.extend(hole.chars().filter(|c| *c == '$' || c.is_ascii_alphanumeric()));
                after
            }
            None => {
                names.push('{');
                after
            }
        };
    }
    names + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the predicates that hold, given by their first letters.
    fn check(text: &str, expected: &str) {
        let all =
            [("q", is_quiet(text)), ("b", is_barrier(text)), ("s", stays_in_cta(text)), ("a", is_asynchronous(text))];
        let holds: String = all.into_iter().filter(|(_, holds)| *holds).map(|(letter, _)| letter).collect();
        assert_eq!(holds, expected, "{text}");
    }

    #[test]
    fn instructions_give_the_effects_of_assembly() {
        check("", "qs");
        check("{ .reg .pred p; setp.ne.b32 p, $1, 0; @p mov.u32 $0, 1; }", "qs");
        check("ld.global.u32 $0, [$1];", "s");
        check("ld.shared::cluster.u32 $0, [$1];", "");
        check("mapa.u64 $0, $1, 1;", "q");
        check("barrier.sync 0;", "bs");
        check("mov.u32 $0, 0; bar.sync $0; st.u32 [$1], 0;", "s");
        check("fence.acq_rel.gpu;", "s");
        check("cp.async.ca.shared.global [$0], [$1], 4;", "sa");
        check("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 16;", "a");
        check("st.async.b32 [$0], $1, [$2];", "a");
        check("call f;", "");
        check("exit;", "s");
        check("ret", "s");
    }

    #[test]
    fn unknown_assembly_may_have_any_effect() {
        check("frobnicate.shared.b32 $0;", "a");
        check("mov.u32 $0, 0; @$1 frobnicate;", "a");
        check("bar.sync 0; frobnicate;", "a");
        check("mov.u32 $0, 0; )", "a");
        check("# no PTX", "a");
        // The meaning of a word depends on its position.
        check("{ .reg .b32 st; mov.b32 st, $1; L: @$2 bra L; add.u32 $0, st, frobnicate; }", "qs");
        check("// st.global.b32 [a], 0;", "qs");
        check("/* ld */ mov.u32 $0, 0 // mapa", "qs");
    }

    #[test]
    fn undeclared_effects() {
        let check = |text: &str, declared: Declared, expected: Option<&str>| {
            let said = hidden(text, declared);
            let said = said.as_deref().map(|said| said.split(" and a compiler").next().unwrap_or_default());
            assert_eq!(
                said,
                expected.map(|said| format!("inline assembly with {said},")).as_deref(),
                "{text} {declared:?}"
            );
        };
        let plain = Declared::default();
        let volatile = Declared { has_side_effects: true, ..plain };
        let clobbers = Declared { clobbers_memory: true, ..volatile };
        let pure = Declared { memory: Effects::Nothing, ..plain };
        let reads = Declared { memory: Effects::Reads, ..plain };
        let neither = "declares neither side effects nor a clobber of memory";
        let load = "ld.global.b32 $0, [$1];";
        check(load, plain, Some(&format!("ld.global.b32 {neither}")));
        check(load, volatile, None);
        check(load, pure, Some("ld.global.b32 declares no memory"));
        check(load, reads, None);
        let acquire = "ld.acquire.gpu.global.b32 $0, [$1];";
        check(acquire, volatile, Some("ld.acquire.gpu.global.b32 declares no clobber of memory"));
        check(acquire, clobbers, None);
        check(acquire, reads, Some("ld.acquire.gpu.global.b32 declares that memory is only read"));
        check("mov.b32 $0, 1; fence.acq_rel.gpu;", volatile, Some("fence.acq_rel.gpu declares no clobber of memory"));
        check(
            "mbarrier.arrive.shared.b64 $0, [$1];",
            volatile,
            Some("mbarrier.arrive.shared.b64 declares no clobber of memory"),
        );
        check("st.shared.b32 [$0], $1;", plain, Some(&format!("st.shared.b32 {neither}")));
        check("red.relaxed.gpu.global.add.u32 [$0], $1;", volatile, None);
        // The memory is private to the thread, or does not change.
        check("ld.param.b32 $0, [p]; ld.global.nc.b32 $0, [$1];", plain, None);
        check("mov.u32 $0, %tid.x;", pure, None);
        check("frobnicate [$0];", pure, None);
        check("call f;", plain, None);
    }

    #[test]
    fn templates_have_names_for_operands() {
        check("LOOP_${:uid}: bra LOOP_${:uid};", "qs");
        check("mov.b32 ${0:c}, {$r0}; @{$r1} ld.global.b32 {$w0}, [{$rw0}];", "s");
        check("mov.b64 {$0, $1}, {$2};", "qs");
        check("@{$r0} cp.async.bulk.commit_group", "s");
    }
}

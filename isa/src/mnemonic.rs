//! The table of every instruction of PTX ISA 9.2 by its first words, with its effect on memory, ordering and control
//! flow.
//!
//! Modifiers determine the rest: a state space may be private to a thread, and `.acquire` orders accesses. The typed
//! [`Instruction`](crate::Instruction) has these details, whereas this table also covers all instructions that are not
//! modelled.

use strum::EnumMessage;

use crate::{
    syntax::{Text, TokenKind, tokens},
    word::{Scope, Sem, Space},
};

/// An instruction, or a family of instructions with the same first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mnemonic {
    /// The first words, such as `cp.async.bulk`.
    pub words: &'static str,
    /// The kinds of memory that it concerns. `reads` and `writes` tell how it accesses them.
    pub memory: &'static [Memory],
    /// Whether it reads memory.
    pub reads: bool,
    /// Whether it writes memory. An instruction that only concerns caches, such as `prefetch`, neither reads nor
    /// writes.
    pub writes: bool,
    /// The number of leading operands that it writes. An operand in brackets is not among them.
    pub results: usize,
    /// Its ordering of other instructions, independent of its modifiers.
    pub order: Option<Order>,
    /// Whether its effects complete asynchronously, until another instruction waits for them.
    pub is_asynchronous: bool,
    /// Its effect on control flow.
    pub control: Control,
}

/// The kind of memory that an instruction concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumMessage)]
#[non_exhaustive]
pub enum Memory {
    /// The state space that a modifier names (section 5.1), or the generic one without such a modifier.
    Named,
    /// Shared memory of the CTA or the cluster.
    Shared,
    /// The memory of the tensor cores.
    Tensor,
    /// Textures and surfaces.
    Texture,
    /// Any memory, which a called function may access.
    Any,
}

/// The instructions that an instruction orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumMessage)]
#[non_exhaustive]
pub enum Order {
    /// Accesses of its own thread, on both sides of it.
    Fence,
    /// The accesses of several threads before and after it: threads wait for each other.
    Barrier,
    /// Asynchronous instructions: it groups them, or waits for them.
    Group,
}

/// The successors of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Control {
    /// The next instruction.
    Next,
    /// A label, or any of several labels.
    Jump,
    /// A function, which returns to the next instruction.
    Call,
    /// None: control leaves the function.
    Leave,
}

const fn row(words: &'static str) -> Mnemonic {
    Mnemonic {
        words,
        memory: &[],
        reads: false,
        writes: false,
        results: 0,
        order: None,
        is_asynchronous: false,
        control: Control::Next,
    }
}

/// A row for an instruction that computes one result from its operands.
const fn plain(words: &'static str) -> Mnemonic {
    row(words).result()
}

impl Mnemonic {
    const fn result(self) -> Self {
        self.results(1)
    }

    const fn results(self, results: usize) -> Self {
        Self { results, ..self }
    }

    const fn reads(self, memory: &'static [Memory]) -> Self {
        Self { memory, reads: true, ..self }
    }

    const fn writes(self, memory: &'static [Memory]) -> Self {
        Self { memory, writes: true, ..self }
    }

    const fn updates(self, memory: &'static [Memory]) -> Self {
        Self { memory, reads: true, writes: true, ..self }
    }

    /// Marks an instruction that only concerns caches.
    const fn hints(self) -> Self {
        Self { memory: NAMED, ..self }
    }

    const fn orders(self, order: Order) -> Self {
        Self { order: Some(order), ..self }
    }

    const fn later(self) -> Self {
        Self { is_asynchronous: true, ..self }
    }

    const fn goes(self, control: Control) -> Self {
        Self { control, ..self }
    }
}

const NAMED: &[Memory] = &[Memory::Named];
const SHARED: &[Memory] = &[Memory::Shared];
const TENSOR: &[Memory] = &[Memory::Tensor];
const TEXTURE: &[Memory] = &[Memory::Texture];

/// All instructions, by the subsections of 9.7. If several rows match an instruction, the longest row applies.
#[rustfmt::skip]
pub const MNEMONICS: &[Mnemonic] = {
    use {Control::{Call, Jump, Leave}, Order::{Barrier, Fence, Group}};
    &[
        // 9.7.1 to 9.7.8: arithmetic, comparison, logic. Their first operand is the result.
        plain("abs"), plain("add"), plain("addc"), plain("bfe"), plain("bfi"), plain("bfind"), plain("bmsk"),
        plain("brev"), plain("clz"), plain("copysign"), plain("cos"), plain("div"), plain("dp2a"), plain("dp4a"),
        plain("ex2"), plain("fma"), plain("fns"), plain("lg2"), plain("mad"), plain("mad24"), plain("madc"),
        plain("max"), plain("min"), plain("mul"), plain("mul24"), plain("neg"), plain("popc"), plain("rcp"),
        plain("rem"), plain("rsqrt"), plain("sad"), plain("sin"), plain("sqrt"), plain("sub"), plain("subc"),
        plain("szext"), plain("tanh"), plain("testp"),
        plain("selp"), plain("set"), plain("setp"), plain("slct"),
        plain("and"), plain("cnot"), plain("lop3"), plain("not"), plain("or"), plain("shf"), plain("shl"), plain("shr"),
        plain("xor"),

        // 9.7.9: data movement and conversion.
        plain("cvt"), plain("cvta"), plain("getctarank"), plain("isspacep"), plain("mapa"), plain("mov"), plain("prmt"),
        plain("shfl"),
        row("ld").reads(NAMED).result(),
        row("ldu").reads(NAMED).result(),
        row("st").writes(NAMED),
        row("st.async").writes(NAMED).later(),
        row("st.bulk").writes(NAMED),
        row("multimem.ld_reduce").reads(NAMED).result(),
        row("multimem.st").writes(NAMED),
        row("multimem.red").updates(NAMED),
        row("multimem.cp.async.bulk").updates(NAMED).later(),
        row("multimem.cp.reduce.async.bulk").updates(NAMED).later(),
        row("multimem.st.async").writes(NAMED).later(),
        row("multimem.red.async").updates(NAMED).later(),
        row("fabric.try_get.async").updates(NAMED).later(),
        row("fabric.try_put.async").updates(NAMED).later(),
        row("fabric.try_red.async").updates(NAMED).later(),
        row("fabric.try_pullred.async").updates(NAMED).later(),
        row("fabric.try_atom.async").updates(NAMED).later(),
        row("fabric.submit").orders(Group),
        row("fabric.wait").orders(Group),
        row("prefetch").hints(),
        row("prefetchu").hints(),
        row("applypriority").hints(),
        row("discard").writes(NAMED),
        plain("createpolicy"),
        row("cp.async").updates(NAMED).later(),
        row("cp.async.commit_group").orders(Group),
        row("cp.async.wait_group").orders(Group),
        row("cp.async.wait_all").orders(Group),
        row("cp.async.bulk").updates(NAMED).later(),
        row("cp.async.bulk.prefetch").hints().later(),
        row("cp.async.bulk.commit_group").orders(Group),
        row("cp.async.bulk.wait_group").orders(Group),
        row("cp.reduce.async.bulk").updates(NAMED).later(),
        row("tensormap.replace").updates(NAMED),
        row("tensormap.cp_fenceproxy").updates(NAMED).orders(Fence),

        // 9.7.10 and 9.7.11: textures and surfaces.
        row("tex").reads(TEXTURE).result(),
        row("tld4").reads(TEXTURE).result(),
        plain("txq"), plain("istypep"), plain("suq"),
        row("suld").reads(TEXTURE).result(),
        row("sust").writes(TEXTURE),
        row("sured").updates(TEXTURE),

        // 9.7.12: control flow. The results of a call are in parentheses.
        row("bra").goes(Jump),
        row("brx").goes(Jump),
        row("call").updates(&[Memory::Any]).orders(Barrier).goes(Call),
        row("ret").goes(Leave),
        row("exit").goes(Leave),

        // 9.7.13: communication between threads.
        row("bar").orders(Barrier),
        row("bar.red").orders(Barrier).result(),
        row("bar.cta.red").orders(Barrier).result(),
        row("barrier").orders(Barrier),
        row("barrier.red").orders(Barrier).result(),
        row("barrier.cta.red").orders(Barrier).result(),
        row("membar").orders(Fence),
        row("fence").orders(Fence),
        row("atom").updates(NAMED).result(),
        row("red").updates(NAMED),
        row("red.async").updates(NAMED).later(),
        plain("vote"), plain("match"), plain("activemask"), plain("redux"), plain("elect"),
        row("griddepcontrol").orders(Barrier),
        row("mbarrier.init").writes(SHARED),
        row("mbarrier.inval").writes(SHARED),
        row("mbarrier.expect_tx").updates(SHARED),
        row("mbarrier.complete_tx").updates(SHARED),
        row("mbarrier.arrive").updates(SHARED).orders(Barrier).result(),
        row("mbarrier.arrive_drop").updates(SHARED).orders(Barrier).result(),
        row("cp.async.mbarrier").updates(SHARED).later(),
        row("mbarrier.test_wait").reads(SHARED).orders(Barrier).result(),
        row("mbarrier.try_wait").reads(SHARED).orders(Barrier).result(),
        row("mbarrier.check_layout").reads(SHARED).result(),
        plain("mbarrier.pending_count"),
        row("clusterlaunchcontrol.try_cancel").writes(SHARED).later(),
        plain("clusterlaunchcontrol.query_cancel"),

        // 9.7.14 to 9.7.16: matrices.
        plain("mma"), plain("wmma.mma"), plain("movmatrix"),
        row("wmma.load").reads(NAMED).result(),
        row("wmma.store").writes(NAMED),
        row("ldmatrix").reads(SHARED).result(),
        row("stmatrix").writes(SHARED),
        row("wgmma.mma_async").reads(SHARED).result().later(),
        row("wgmma.fence").orders(Fence),
        row("wgmma.commit_group").orders(Group),
        row("wgmma.wait_group").orders(Group),
        row("tcgen05.alloc").writes(&[Memory::Tensor, Memory::Shared]),
        row("tcgen05.dealloc").writes(TENSOR),
        row("tcgen05.relinquish_alloc_permit").orders(Barrier),
        row("tcgen05.ld").reads(TENSOR).result().later(),
        row("tcgen05.ld.red").reads(TENSOR).results(2).later(),
        row("tcgen05.st").writes(TENSOR).later(),
        row("tcgen05.wait").orders(Group),
        row("tcgen05.cp").updates(&[Memory::Tensor, Memory::Shared]).later(),
        row("tcgen05.shift").updates(TENSOR).later(),
        row("tcgen05.mma").updates(&[Memory::Tensor, Memory::Shared]).later(),
        row("tcgen05.commit").updates(SHARED).orders(Group).later(),
        row("tcgen05.fence").orders(Fence),

        // 9.7.17 to 9.7.19: the stack, video, and miscellaneous.
        plain("stacksave"), row("stackrestore"), plain("alloca"),
        plain("vadd"), plain("vsub"), plain("vabsdiff"), plain("vmin"), plain("vmax"), plain("vshl"), plain("vshr"),
        plain("vmad"), plain("vset"),
        plain("vadd2"), plain("vsub2"), plain("vavrg2"), plain("vabsdiff2"), plain("vmin2"), plain("vmax2"),
        plain("vset2"),
        plain("vadd4"), plain("vsub4"), plain("vavrg4"), plain("vabsdiff4"), plain("vmin4"), plain("vmax4"),
        plain("vset4"),
        row("brkpt"), row("nanosleep"), row("pmevent"), row("setmaxnreg"),
        row("trap").goes(Leave),
    ]
};

/// The mnemonic of an access with its ordering and scope replaced by these. `.mmio` is removed.
pub fn ordered(mnemonic: &str, sem: Sem, scope: Scope) -> String {
    let (base, words) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
    let is_kept = |word: &&str| word.parse::<Sem>().is_err() && word.parse::<Scope>().is_err() && *word != "mmio";
    let kept: String =
        words.split('.').filter(|word| !word.is_empty()).filter(is_kept).map(|word| format!(".{word}")).collect();
    format!("{base}.{sem}.{scope}{kept}")
}

impl Mnemonic {
    /// The row for an instruction, given its mnemonic with modifiers: `cp.async.bulk.shared::cta…`. Returns `None` if
    /// PTX ISA 9.2 has no such instruction.
    pub fn find_row(text: &str) -> Option<&'static Self> {
        let begins = |row: &&Self| {
            text.strip_prefix(row.words).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
        };
        MNEMONICS.iter().filter(begins).max_by_key(|row| row.words.len())
    }

    /// Every row.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        MNEMONICS.iter()
    }

    /// The rows for the mnemonics in a text, which need not be PTX: a template of inline assembly has placeholders for
    /// operands. A register with the name of an instruction counts as a mnemonic.
    pub fn all_in(text: &str) -> impl Iterator<Item = &'static Self> {
        let mut tokens = tokens(Text::new(text)).peekable();
        std::iter::from_fn(move || {
            let first = tokens.find(|token| token.kind == TokenKind::Name)?;
            let mut mnemonic = first.text.text.to_owned();
            while let Some(word) = tokens.next_if(|token| token.kind == TokenKind::Dotted) {
                mnemonic = mnemonic + "." + word.text.text;
            }
            Some(Self::find_row(&mnemonic))
        })
        .flatten()
    }

    /// Whether it concerns memory or caches, or orders instructions.
    pub fn orders_or_touches_memory(&self) -> bool {
        !self.memory.is_empty() || self.order.is_some()
    }

    /// Whether it accesses memory. An instruction that only concerns caches does not.
    pub fn accesses(&self) -> bool {
        self.reads || self.writes
    }
}

/// Whether the modifiers of an instruction that accesses memory show that no other thread can write that memory: the
/// memory is local, holds parameters, or is read-only.
pub fn is_private(text: &str) -> bool {
    let mut modifiers = text.split('.').skip(1);
    modifiers.any(|word| {
        let name = word.split("::").next().unwrap_or(word);
        matches!(name, "param" | "nc") || matches!(name.parse(), Ok(Space::Local | Space::Const))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_stands_twice() {
        for (index, row) in MNEMONICS.iter().enumerate() {
            assert!(MNEMONICS[..index].iter().all(|other| other.words != row.words), "{}", row.words);
            assert_eq!(Mnemonic::find_row(row.words), Some(row));
        }
    }

    #[test]
    fn an_access_takes_an_ordering_and_a_scope() {
        let check = |from: &str, to: &str| assert_eq!(ordered(from, Sem::Acquire, Scope::Gpu), to);
        check("ld.global.v2.u32", "ld.acquire.gpu.global.v2.u32");
        check("ld.volatile.shared.u32", "ld.acquire.gpu.shared.u32");
        check("ld.mmio.relaxed.sys.u32", "ld.acquire.gpu.u32");
        check("atom.global.relaxed.cta.add.u32", "atom.acquire.gpu.global.add.u32");
        check("ld", "ld.acquire.gpu");
    }

    #[test]
    fn the_longest_row_counts() {
        let check = |text: &str, words: Option<&str>| {
            assert_eq!(Mnemonic::find_row(text).map(|row| row.words), words, "{text}");
        };
        check("ld.global.u32", Some("ld"));
        check("ldmatrix.sync.aligned.m8n8.x4.shared.b16", Some("ldmatrix"));
        check("cp.async.bulk.tensor.2d.shared::cluster.global.tile", Some("cp.async.bulk"));
        check("cp.async.ca.shared.global", Some("cp.async"));
        check("tcgen05.wait::ld.sync.aligned", Some("tcgen05.wait"));
        check("tcgen05.ld.red.sync", Some("tcgen05.ld.red"));
        check("st.async.shared::cluster.b32", Some("st.async"));
        check("barrier.cta.red.popc.aligned.u32", Some("barrier.cta.red"));
        check("cp", None);
        check("frobnicate", None);
    }

    /// Compares a column with the words of each row. The words are PTX's own, and most of them tell the effect of the
    /// instruction. The rows in `otherwise` are the exceptions.
    fn check(column: &str, has: fn(&Mnemonic) -> bool, says: fn(&Mnemonic) -> bool, otherwise: &[&str]) {
        for row in MNEMONICS {
            assert_eq!(has(row), says(row) != otherwise.contains(&row.words), "{column}: {}", row.words);
        }
        assert!(otherwise.iter().all(|words| MNEMONICS.iter().any(|row| row.words == *words)), "{column}");
    }

    fn has_word(row: &Mnemonic, begins: &[&str]) -> bool {
        row.words.split('.').any(|word| begins.iter().any(|begin| word.starts_with(begin)))
    }

    #[test]
    fn the_words_give_the_ordering() {
        check(
            "fence",
            |row| row.order == Some(Order::Fence),
            |row| has_word(row, &["fence", "membar", "cp_fence"]),
            &[],
        );
        check(
            "group",
            |row| row.order == Some(Order::Group),
            |row| has_word(row, &["commit", "wait"]),
            &["fabric.submit"],
        );
        check(
            "barrier",
            |row| row.order == Some(Order::Barrier),
            |row| has_word(row, &["bar", "arrive", "test_wait", "try_wait"]),
            &["call", "griddepcontrol", "tcgen05.relinquish_alloc_permit"],
        );
        check(
            "asynchronous",
            |row| row.is_asynchronous,
            |row| row.words.contains("async") && row.order != Some(Order::Group),
            &[
                "clusterlaunchcontrol.try_cancel",
                "tcgen05.ld",
                "tcgen05.ld.red",
                "tcgen05.st",
                "tcgen05.cp",
                "tcgen05.shift",
                "tcgen05.mma",
                "tcgen05.commit",
            ],
        );
    }

    #[test]
    fn the_words_give_the_accessed_memory() {
        check(
            "caches",
            |row| !row.memory.is_empty() && !row.accesses(),
            |row| has_word(row, &["prefetch", "applyp"]),
            &[],
        );
        check(
            "loads",
            |row| row.reads && !row.writes,
            |row| {
                has_word(
                    row,
                    &["ld", "load", "tex", "tld4", "suld", "test_wait", "try_wait", "check_layout", "mma_async"],
                )
            },
            &[],
        );
        check(
            "stores",
            |row| row.writes && !row.reads,
            |row| has_word(row, &["st", "sust", "discard", "init", "inval", "alloc", "dealloc", "try_cancel"]),
            &["stacksave", "stackrestore", "alloca"],
        );
        check(
            "reads and writes",
            |row| row.reads && row.writes,
            |row| {
                let says = [
                    "atom",
                    "red",
                    "sured",
                    "cp",
                    "arrive",
                    "expect_tx",
                    "complete_tx",
                    "tensormap",
                    "try_get",
                    "try_put",
                ];
                has_word(row, &says) || has_word(row, &["try_red", "try_pullred", "try_atom"])
            },
            // For a barrier and for a load, `red` is a modifier; a copy may be prefetched, grouped and waited for.
            &[
                "redux",
                "bar.red",
                "bar.cta.red",
                "barrier.red",
                "barrier.cta.red",
                "tcgen05.ld.red",
                "cp.async.commit_group",
                "cp.async.wait_group",
                "cp.async.wait_all",
                "cp.async.bulk.prefetch",
                "cp.async.bulk.commit_group",
                "cp.async.bulk.wait_group",
                "call",
                "tcgen05.shift",
                "tcgen05.mma",
                "tcgen05.commit",
            ],
        );
        check(
            "memory",
            |row| !row.memory.is_empty(),
            |row| row.accesses() || has_word(row, &["prefetch", "applyp"]),
            &[],
        );
        check(
            "tensor memory",
            |row| row.memory.contains(&Memory::Tensor),
            |row| row.words.starts_with("tcgen05") && row.accesses(),
            &["tcgen05.commit"],
        );
        check(
            "shared memory",
            |row| row.memory.contains(&Memory::Shared),
            |row| row.accesses() && has_word(row, &["mbarrier", "clusterlaunch", "ldmatrix", "stmatrix", "wgmma"]),
            &["tcgen05.alloc", "tcgen05.cp", "tcgen05.mma", "tcgen05.commit"],
        );
        check(
            "textures",
            |row| row.memory.contains(&Memory::Texture),
            |row| has_word(row, &["tex", "tld4", "suld", "sust", "sured"]),
            &[],
        );
        // Every instruction that computes or loads has a result.
        check(
            "result",
            |row| row.results > 0,
            |row| {
                let computes = row.memory.is_empty() && row.control == Control::Next;
                row.order.is_none() && (computes || row.reads && !row.writes)
            },
            &[
                "atom",
                "bar.red",
                "bar.cta.red",
                "barrier.red",
                "barrier.cta.red",
                "mbarrier.arrive",
                "mbarrier.arrive_drop",
                "mbarrier.test_wait",
                "mbarrier.try_wait",
                "stackrestore",
                "brkpt",
                "nanosleep",
                "pmevent",
                "setmaxnreg",
            ],
        );
    }

    #[test]
    fn mnemonics_in_templates() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(Mnemonic::all_in(text).map(|row| row.words).collect::<Vec<_>>(), expected, "{text}");
        };
        check("@{$r0} cp.async.bulk.commit_group", &["cp.async.bulk.commit_group"]);
        check("{ .reg .pred p; setp.ne.b32 p, {$r0}, 0; /* ld */ @p st.global.b32 [$1], $0; }", &["setp", "st"]);
        check("frobnicate.global $0", &[]);
    }

    #[test]
    fn private_memory() {
        let check = |text: &str, expected: bool| assert_eq!(is_private(text), expected, "{text}");
        check("ld.param.b64", true);
        check("ld.param::entry.b64", true);
        check("st.local.v2.u32", true);
        check("ld.global.nc.L1::no_allocate.v4.f32", true);
        check("ld.const.u32", true);
        check("ld.global.u32", false);
        check("ld.shared::cta.u32", false);
    }
}

//! Kernels with many accesses and many branches: the proof takes little time and memory, or ends with the budget as the
//! reason.

use std::fmt::Write;

use ptx_isa::{
    LaunchSize, Module, Stop,
    flat::{self, Flat, Library},
};
use ptx_races::{
    budget::ProofBudget,
    launch::Sizes,
    prove::{Proof, prove},
};

/// `%r1` is `%tid.x`, `%r2` the index of the thread in the grid, `%rd1` the parameter, `%rd3` the word of the thread,
/// `%r6` its word in shared memory.
fn proof(body: &str, budget: ProofBudget) -> Proof {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n.reqntid 64, 1, 1\n{{\n\
         .shared .align 4 .b8 s[65536];\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [p];\n\
         ld.param.u32 %r0, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r2, %r3, 64, %r1;\n\
         mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nshl.b32 %r5, %r1, 2;\nmov.u32 %r6, s;\nadd.u32 %r6, %r6, %r5;\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("PTX");
    let library = Library::new(&module);
    let kernel = module.kernels().next().expect("a kernel");
    let flat = Flat::inline_calls(&library, kernel, flat::Limits::default());
    prove(&flat, Sizes::new(&flat, LaunchSize::default()), false, budget, &Stop::never())
}

fn repeated(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, at| {
        let _ = writeln!(all, "{}", line(at));
        all
    })
}

/// Each thread writes a row of words, and the next thread the next row.
fn rows(width: usize, count: usize) -> String {
    let start = format!("mul.wide.u32 %rd2, %r2, {};\nadd.s64 %rd3, %rd1, %rd2;\n", width * 4);
    start + &repeated(count, |at| format!("st.global.u32 [%rd3+{}], %r1;", at * 4))
}

#[test]
fn many_stores_need_few_questions() {
    let proof = self::proof(&rows(3000, 3000), ProofBudget::default());
    assert!(proof.holds(), "{:?}", proof.open);
    assert!(proof.questions < 100, "{}", proof.questions);
    // The last word of a row is the first one of the next row.
    let proof = self::proof(&rows(2999, 3000), ProofBudget::default());
    assert!(!proof.unproved.is_empty() && !proof.holds(), "{:?}", proof.open);
    // Columns: each thread writes one word of each column.
    let columns = repeated(1000, |at| format!("st.shared.u32 [%r6+{}], %r1;", at % 200 * 256));
    assert!(self::proof(&columns, ProofBudget::default()).holds());
    assert!(!self::proof(&columns.replace("+2560]", "+2556]"), ProofBudget::default()).holds());
    // Words that alternate with the words of a second list of stores: no interval separates them, but each distance
    // does.
    let start = "shl.b32 %r5, %r1, 3;\nmov.u32 %r7, s;\nadd.u32 %r7, %r7, %r5;\n";
    let between = |first: u32| {
        let pair =
            |at: usize| format!("st.shared.u32 [%r7+{}], %r1;\nld.shared.u32 %r9, [%r7+{}];", at * 512, at * 512 + 4);
        format!("{start}{}@%p1 st.shared.u32 [%r7+{first}], %r1;", repeated(60, pair))
    };
    assert!(self::proof(&between(512), ProofBudget::default()).holds());
    assert!(!self::proof(&between(4 + 8), ProofBudget::default()).holds());
}

#[test]
fn many_branches_are_followed() {
    let branches = repeated(20_000, |at| {
        format!("setp.gt.u32 %p1, %r0, {at};\n@%p1 bra L{at};\nst.global.u32 [%rd3], %r1;\nL{at}:")
    });
    assert!(self::proof(&branches, ProofBudget::default()).holds());
    let exits = repeated(5000, |at| format!("setp.eq.u32 %p1, %r0, {at};\n@%p1 bra END;\nadd.u32 %r9, %r9, 1;"));
    assert!(self::proof(&format!("{exits}END:\nst.global.u32 [%rd3], %r9;"), ProofBudget::default()).holds());
    // A value that each of many paths changes.
    let choices = repeated(5000, |at| format!("setp.gt.u32 %p1, %r0, {at};\n@%p1 add.u32 %r9, %r1, {at};"));
    let store = "mul.wide.u32 %rd2, %r9, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;";
    assert!(!self::proof(&format!("mov.u32 %r9, 0;\n{choices}{store}"), ProofBudget::default()).holds());
}

#[test]
fn a_spent_budget_leaves_a_kernel_open() {
    let stores = repeated(100, |at| format!("st.global.u32 [%rd1+{}], %r1;\nmul.lo.u32 %r2, %r2, %r2;", at * 4));
    let is_open = |budget: ProofBudget| {
        let proof = self::proof(&format!("{stores}{}", rows(50, 60)), budget);
        let is_spent = proof.open.iter().any(|(_, why)| why.contains("budget"));
        assert!(!proof.holds());
        is_spent
    };
    assert!(is_open(ProofBudget { pairs: 10, ..ProofBudget::default() }));
    assert!(is_open(ProofBudget { clauses: 10, ..ProofBudget::default() }));
    assert!(is_open(ProofBudget { terms: 10, ..ProofBudget::default() }));
}

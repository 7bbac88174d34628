//! Tests that the interpreter accepts any sequence: it returns a result or an error, and never panics.

use proptest::{prelude::*, strategy::ValueTree};
use ptx_lowering::{Sequence, interpret::Machine};

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_makes_the_interpreter_panic(statements in prop::collection::vec(statement(), 1..6)) {
        let read: Vec<_> = statements.iter().filter_map(|text| text.parse::<Sequence>().ok()).collect();
        let sequence: Sequence = read.iter().flat_map(Sequence::statements).cloned().collect();
        let mut machine = Machine::new(128, 0, 1 << 100, [u128::MAX, 3], 0xA5);
        let _ = machine.run(&sequence, |_| {});
    }
}

/// Most kinds of statements exist for most types; the parser rejects the remaining combinations.
#[test]
fn most_statements_are_read() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let text = |runner: &mut _| statement().new_tree(runner).expect("a statement").current();
    let read = (0..2_000).filter(|_| text(&mut runner).parse::<Sequence>().is_ok()).count();
    assert!(read > 400, "{read}");
}

fn statement() -> impl Strategy<Value = String> {
    const TEMPLATES: &[&str] = &[
        "ld.{ty} {x}, [{r}];",
        "ld.v2.{ty} {{x}, {x}}, [{r}+8];",
        "st.{ty} [{r}], {x};",
        "st.v4.{ty} [{r}], {{x}, {x}, {x}, {x}};",
        "atom.add.{ty} {x}, [{r}], {x};",
        "atom.min.{ty} {x}, [{r}], {x};",
        "atom.exch.{ty} {x}, [{r}], {x};",
        "atom.cas.{ty} {x}, [{r}], {x}, {x};",
        "atom.add.noftz.{ty} {x}, [{r}], {x};",
        "atom.add.v2.{ty} {x}, [{r}], {x};",
        "red.add.{ty} [{r}], {x};",
        "mov.{ty} {x}, {x};",
        "add.{ty} {x}, {x}, {x};",
        "add.cc.{ty} {x}, {x}, {x};",
        "subc.{ty} {x}, {x}, {x};",
        "sub.{ty} {x}, {x}, {x};",
        "shl.{ty} {x}, {x}, {x};",
        "shr.{ty} {x}, {x}, {x};",
        "mad.lo.{ty} {x}, {x}, {x}, {x};",
        "prmt.b32 {x}, {x}, {x}, {x};",
        "neg.{ty} {x}, {x};",
        "not.{ty} {x}, {x};",
        "max.{ty} {x}, {x}, {x};",
        "add.rn.{ty} {x}, {x}, {x};",
        "setp.lt.{ty} {r}, {x}, {x};",
        "setp.nan.{ty} {r}, {x}, {x};",
        "cvt.{ty}.{ty} {r}, {x};",
        "isspacep.local {r}, {r};",
        "@{r} bra %l;",
        "%l: ",
        "fence.sc.gpu;",
    ];
    const TYPES: &[&str] = &[
        "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2",
        "bf16", "bf16x2", "f32", "f64", "pred",
    ];
    const REGISTERS: &[&str] = &["%a", "%b", "%c", "%d"];
    const OPERANDS: &[&str] =
        &["%a", "%b", "%c", "%d", "_", "0", "-1", "200", "{%b}", "{%b, %c}", "{_, %d}", "{%a, %b, %c, %d}", "{}"];
    let pick = |from: &'static [&'static str]| prop::sample::select(from);
    let fill = prop::collection::vec((pick(TYPES), pick(REGISTERS), pick(OPERANDS)), 6);
    (pick(TEMPLATES), fill).prop_map(|(template, fill)| {
        let mut text = template.to_owned();
        for (ty, register, operand) in fill {
            for (hole, by) in [("{ty}", ty), ("{r}", register), ("{x}", operand)] {
                text = text.replacen(hole, by, 1);
            }
        }
        text
    })
}

/// A load and a conversion sign-extend into a register that is wider than their type.
#[test]
fn signs_fill_registers() {
    let check = |text: &str, expected: u128| {
        let sequence: Sequence = text.parse().expect(text);
        let mut machine = Machine::new(8, 0, 0x80, [0x80, 0], 0);
        assert_eq!(machine.run(&sequence, |_| {}).map(|d| d.map(|d| d & 0xFFFF)), Ok(Some(expected)), "{text}");
    };
    check("{ .reg .b16 %x; ld.s8 %x, [%a]; mov.b16 %d, %x; }", 0xFF80);
    check("{ .reg .b16 %x; ld.u8 %x, [%a]; mov.b16 %d, %x; }", 0x80);
    check("{ .reg .b16 %x; cvt.s8.s32 %x, %b; mov.b16 %d, %x; }", 0xFF80);
    check("{ .reg .b16 %x; cvt.u8.u32 %x, %b; mov.b16 %d, %x; }", 0x80);
}

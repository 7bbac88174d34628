use super::*;

/// Prints statements, one on each line, with bars between operands.
fn print_statement(statement: &Statement<'_>) -> String {
    match statement {
        Statement::Open(_) => "open".into(),
        Statement::Close(_) => "close".into(),
        Statement::Label(name) => format!("label {}", name.text),
        Statement::Directive(Directive { keyword, arguments, is_head, .. }) => {
            format!("directive {} ({}){}", keyword.text, arguments.text, if *is_head { " head" } else { "" })
        }
        Statement::Instruction(Instruction { guard, mnemonic, modifiers, operands, .. }) => {
            let guard = guard.map_or("", |guard| if guard.negated { "unless " } else { "if " }).to_owned()
                + guard.map_or("", |guard| guard.predicate.text);
            let modifiers = modifiers.iter().map(|word| format!(".{}", word.text)).collect::<String>();
            let operands = operands.iter().map(|operand| format!(" | {}", operand_shown(operand)));
            format!("{guard} {}{modifiers}{}", mnemonic.text, operands.collect::<String>()).trim().into()
        }
    }
}

fn operand_shown(Operand { text, shape }: &Operand<'_>) -> String {
    let list = |operands: &[Operand<'_>]| operands.iter().map(operand_shown).collect::<Vec<_>>().join(" ");
    match shape {
        Shape::Name { name, suffix: None } => name.text.into(),
        Shape::Name { name, suffix: Some(suffix) } => format!("{} part {}", name.text, suffix.text),
        Shape::Number(Number::Integer(value)) => format!("#{}", *value as i64),
        Shape::Number(number) => format!("{number:?}"),
        Shape::Sum(Address { base, offset }) => format!("{} plus {offset}", base.text),
        Shape::Memory { parts, suffix } => {
            format!("[{}]{}", list(parts), suffix.map_or("", |suffix| suffix.text))
        }
        Shape::Vector(parts) => format!("{{{}}}", list(parts)),
        Shape::List(parts) => format!("({})", list(parts)),
        Shape::Pair(pair) => format!("pair {}", list(&pair[..])),
        Shape::Not(name) => format!("not {}", name.text),
        Shape::Sink => "sink".into(),
        Shape::String(text) => format!("string {}", text.text),
        Shape::Unknown => {
            format!("unknown {}: {}", text.text, text.names().map(|name| name.text).collect::<Vec<_>>().join(" "))
        }
    }
}

fn check(text: &str, expected: &str) {
    let statement = statement(text).expect(text);
    assert_eq!(print_statement(&statement), expected, "{text}");
    let part = statement.text();
    assert_eq!(&text[part.span()], part.text, "{text}");
}

#[test]
fn statements_of_ptx() {
    check("ret;", "ret");
    check("  /* a */ fence.sc.gpu // b", "fence.sc.gpu");
    check("$L__BB0_1:", "label $L__BB0_1");
    check("@%p1 bra.uni $L__BB0_1;", "if %p1 bra.uni | $L__BB0_1");
    check(
        "@ ! p atom . global .add.u32 _, [%rd1 + 4 + -8+(16)], -1;",
        "unless p atom.global.add.u32 | sink | [%rd1 plus 12] | #-1",
    );
    check(
        "ld.relaxed.cluster.shared::cluster.v2.b32 {%r1, _}, [x].unified, %rd2;",
        "ld.relaxed.cluster.shared::cluster.v2.b32 | {%r1 sink} | [x]unified | %rd2",
    );
    check("mov.u32 %r1, %tid.x;", "mov.u32 | %r1 | %tid part x");
    check("mov.u64 %rd1, g+8;", "mov.u64 | %rd1 | g plus 8");
    check("setp.eq.and.s32 %p1|_, %r1, 0, !%p3;", "setp.eq.and.s32 | pair %p1 sink | %r1 | #0 | not %p3");
    check("tex.2d.v4.f32.f32 {a, b, c, d}, [t, s, {x, y}];", "tex.2d.v4.f32.f32 | {a b c d} | [t s {x y}]");
    check("call.uni (retval0), f, (param0, param1), proto;", "call.uni | (retval0) | f | (param0 param1) | proto");
    check("call f, ();", "call | f | ()");
    check("st.u32 [16], 1;", "st.u32 | [#16] | #1");
    check(".reg .b32 %x, %y<4>;", "directive reg (.b32 %x, %y<4>)");
    check(
        ".loc 1 2 3, function_name $L_s, inlined_at 1 4 5\n",
        "directive loc (1 2 3, function_name $L_s, inlined_at 1 4 5)",
    );
    check(".global .align 4 .u32 t[2] = {1, {2}};", "directive global (.align 4 .u32 t[2] = {1, {2}})");
    check(".pragma \"a;b{\\\";", "directive pragma (\"a;b{\\\")");
    check("mov.u64 %rd1, a[N-1];", "mov.u64 | %rd1 | unknown a[N-1]: a N");
    check(
        "ld.b32 %r, [%rd+4*2], {{{{{%deep, _}}}}};",
        "ld.b32 | %r | [unknown %rd+4*2: %rd] | {{{{unknown {%deep, _}: %deep}}}}",
    );
}

#[test]
fn shorthands_of_litmus_tests() {
    check("ld.weak r0, x", "ld.weak | r0 | x");
    check("atom.relaxed.gpu.cas r0, y, 0, 1", "atom.relaxed.gpu.cas | r0 | y | #0 | #1");
    check("beq r0, 1, LC01", "beq | r0 | #1 | LC01");
    check("st.weak.v2 {x, y}, {1, 2}", "st.weak.v2 | {x y} | {#1 #2}");
    check("bar.cta.sync 0, 2", "bar.cta.sync | #0 | #2");
    check("mapa r0, x, 1", "mapa | r0 | x | #1");
}

#[test]
fn numbers_in_all_spellings() {
    let check = |text: &str, expected: Option<Number>| assert_eq!(Number::parse(text), expected, "{text}");
    let integers =
        [("0", 0), ("010", 8), ("0x1fU", 31), ("0X1F", 31), ("0b101", 5), ("18446744073709551615U", u64::MAX)];
    integers.into_iter().for_each(|(text, value)| check(text, Some(Number::Integer(value))));
    let decimals = [("1.5", 1.5), ("1.", 1.0), ("1e3", 1e3), ("1.5E-3", 1.5e-3), ("0e0", 0.0)];
    decimals.into_iter().for_each(|(text, value)| check(text, Some(Number::Decimal(value))));
    check("0f3F800000", Some(Number::Single(0x3f80_0000)));
    check("0D3ff0000000000000", Some(Number::Double(0x3ff0_0000_0000_0000)));
    let none = [
        "",
        "09",
        "0x",
        "0b2",
        "5u",
        "0f3F8",
        "0d3F800000",
        "18446744073709551616",
        "1.5f",
        "0x+1",
        "nan",
        "1e",
        "inf",
    ];
    none.into_iter().for_each(|text| check(text, None));
    let check = |text: &str, expected: Shape<'_>| {
        let text = format!("mov d, {text}");
        let Ok(Statement::Instruction(mov)) = statement(&text) else { panic!("{text}") };
        assert_eq!(mov.operands[1].shape, expected, "{text}");
    };
    check("- 5", Shape::Number(Number::Integer(-5i64 as u64)));
    check("-0f00000000", Shape::Number(Number::Single(0x8000_0000)));
    check(".5", Shape::Number(Number::Decimal(0.5)));
    check("1.5e-3", Shape::Number(Number::Decimal(1.5e-3)));
    check("12abc", Shape::Unknown);
}

#[test]
fn all_errors_with_their_places() {
    let check = |text: &str, expected: &[(&str, &str)]| {
        let (_, errors) = statements(text);
        let found: Vec<_> = errors.iter().map(|error| (&text[error.span.clone()], &*error.reason)).collect();
        assert_eq!(found, expected, "{text}");
    };
    check(
        "mov a,, b; ret; @!, bra l; ld.b32 a, [b;",
        &[
            (",", "expected an operand, found `,`"),
            (",", "expected a predicate, found `,`"),
            ("[", "its `]` is missing"),
        ],
    );
    check("{ ret }", &[("}", "a `;` is missing")]);
    check("ret; /* a", &[("/* a", "the end of a comment is missing")]);
    check(".pragma \"a; ret;", &[("\"a; ret;", "the end of a string is missing")]);
    check("ld.b32 a, (b];", &[("(", "its `)` is missing")]);
    check("5; ret;", &[("5", "expected an instruction, found `5`")]);
    check(".global .u32 a[] = { 1, 2", &[("", "the end of a list in braces is missing")]);
    check("$", &[("$", "expected an instruction, found `$`")]);
    check("ret; exit", &[("exit", "the text ends within a statement")]);
    assert_eq!(statement("ret; ret").expect_err("two")[0].reason, "expected one statement, found `ret` after it");
    assert_eq!(statement(" ").expect_err("none")[0].reason, "no statement");
}

#[test]
fn a_statement_with_an_error_does_not_hide_the_next() {
    let (found, errors) = statements("a: mov b, ; { add c, d; } } ret;");
    assert_eq!(errors.len(), 1);
    assert_eq!(
        found.iter().map(print_statement).collect::<Vec<_>>(),
        ["label a", "open", "add | c | d", "close", "close", "ret"]
    );
}

/// The parser does not recurse as deeply as the text is nested.
#[test]
fn brackets_may_nest_deeply() {
    for (open, close) in [("{", "}"), ("[", "]"), ("(", ")"), ("({[", "]})")] {
        let text = format!("mov.b32 %x, {}%y{};", open.repeat(100_000), close.repeat(100_000));
        let Ok(Statement::Instruction(mov)) = statement(&text) else { panic!("{open}") };
        assert_eq!(mov.operands[1].names().map(|name| name.text).collect::<Vec<_>>(), ["%y"]);
        let errors = statement(&format!("mov.b32 %x, {};", open.repeat(100_000))).expect_err(open);
        assert_eq!(errors.len(), 1, "{open}");
    }
}

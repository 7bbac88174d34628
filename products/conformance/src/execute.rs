//! A function of any compiler as a [`Sequence`], whose values the interpreter computes.
//!
//! The parameters become the registers of a sequence: the address, and two operands. The returned value becomes the
//! result of the sequence.

use ptx_lowering::{
    A, B, C, D, Sequence, interpret,
    ptx::{
        AluOp, Code, Function, Guard, Head, Instruction, Jump, Ld, Name, Operand, Other, Parameter, Space, St,
        Statement, Type, arithmetic::width, syntax,
    },
};

/// The text of an instruction that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmodelled(pub String);

/// The names of the parameters. The function may use the names of a sequence's registers for other values.
const PARAMETERS: [Name; 3] = [Name::new("$the$address"), Name::new("$the$operand"), Name::new("$the$other")];
const RESULT: Name = Name::new("$the$result");
/// The label at the end of a function.
const END: Name = Name::new("$the$end");
/// A value between two instructions that replace one instruction of PTX.
const VALUE: Name = Name::new("$the$value");
/// A register without a definition, which the instruction for `trap` reads: an execution of that instruction gives no
/// result.
pub const TRAP: Name = Name::new("$the$trap");

/// Translates the function's code to the registers of a sequence: `%a` is the first parameter, `%b` and `%c` are the
/// next parameters, and `%d` is the returned value.
///
/// The address is `offset` bytes below `%a`, and `variable` has the address `%a`.
///
/// # Errors
/// On the first instruction that is not modelled.
pub fn sequence(function: &Function, offset: i64, variable: Option<&str>) -> Result<Sequence, Unmodelled> {
    let (results, parameters) = signature(function);
    let mut translation = Translation { results, parameters, statements: Vec::new() };
    for (to, from) in PARAMETERS.iter().zip([A, B, C]) {
        translation.push(None, alu(AluOp::Mov, Type::B128, to, [Operand::Register(from)]));
    }
    if offset != 0 {
        let sources = [Operand::Register(A), Operand::Immediate(offset as u64)];
        translation.push(None, alu(AluOp::Sub, Type::S64, &PARAMETERS[0], sources));
    }
    if let Some(variable) = variable {
        translation.push(None, alu(AluOp::Mov, Type::B64, &Name(variable.to_owned().into()), [Operand::Register(A)]));
    }
    translation.push(None, alu(AluOp::Mov, Type::B128, &RESULT, [Operand::Immediate(0)]));
    let lines = function.body.as_deref().unwrap_or_default();
    for (index, line) in lines.iter().enumerate() {
        match &line.code {
            Code::Label(name) => translation.statements.push(Statement::Label(name.clone())),
            Code::Instruction { guard, instruction } => {
                translation.push(guard.clone(), instruction.clone());
            }
            Code::Other(other) => {
                let rest = lines[index + 1..].iter().map(|line| &line.code);
                let unmodelled = || Unmodelled(other.mnemonic.clone());
                translation.other(other, rest).ok_or_else(unmodelled)?;
            }
            Code::Directive(_) | Code::Open | Code::Close => {}
        }
    }
    translation.statements.push(Statement::Label(END));
    translation.push(None, alu(AluOp::Mov, Type::B128, &D, [Operand::Register(RESULT)]));
    Ok(translation.statements.into_iter().collect())
}

/// The names of a function's results and parameters.
fn signature(function: &Function) -> (Vec<String>, Vec<String>) {
    let Head { results, parameters, .. } = function.head.clone();
    let names = |list: Vec<Parameter>| list.into_iter().map(|one| one.name).collect();
    (names(results), names(parameters))
}

fn alu<const N: usize>(op: AluOp, ty: Type, d: &Name, sources: [Operand; N]) -> Instruction {
    Instruction::Alu { op, ty, d: Operand::Register(d.clone()), sources: sources.into() }
}

/// The type of plain bits with this width.
fn bits(width: u32) -> Option<Type> {
    [Type::B8, Type::B16, Type::B32, Type::B64, Type::B128].into_iter().find(|ty| ty.bits() == width)
}

struct Translation {
    results: Vec<String>,
    parameters: Vec<String>,
    statements: Vec<Statement>,
}

impl Translation {
    fn push(&mut self, guard: Option<Guard>, instruction: Instruction) {
        self.statements.push(Statement::Instruction { guard, instruction });
    }

    /// Translates an instruction that is not an [`Instruction`]; `None` if the instruction is unknown. `rest` is the
    /// following code.
    fn other<'c>(&mut self, other: &Other, rest: impl Iterator<Item = &'c Code>) -> Option<()> {
        let guard = || other.guard.clone();
        let Ok(syntax::Statement::Instruction(found)) = syntax::statement(&other.text) else { return None };
        let words: Vec<_> = found.modifiers.iter().map(|word| word.text).collect();
        let operands: Vec<_> = found.operands.iter().map(|operand| operand.text.text).collect();
        let is_parameter = words.first().is_some_and(|word| word.split("::").next() == Some("param"));
        match (found.mnemonic.text, &words[..], &operands[..]) {
            ("nanosleep", ..) => {}
            ("ret" | "exit", ..) => self.push(guard(), Instruction::Bra { target: END }),
            ("trap", [], []) => self.push(guard(), alu(AluOp::Mov, Type::B32, &VALUE, [Operand::Register(TRAP)])),
            ("bra", ["uni"], [_]) => {
                let Jump::To(targets) = &other.jump else { return None };
                self.push(guard(), Instruction::Bra { target: targets.first()?.clone() });
            }
            ("ld", _, _) if is_parameter => {
                let Instruction::Ld(ld) = typed("ld", &words[1..], &operands)? else { return None };
                self.parameter(guard(), ld)?;
            }
            ("st", _, _) if is_parameter => {
                let Instruction::St(st) = typed("st", &words[1..], &operands)? else { return None };
                self.result(guard(), st)?;
            }
            ("cvta", ["to", space, "u64"], [d, a]) => {
                self.push(guard(), typed("sub", &["s64"], &[d, a, &window(space)?])?);
            }
            ("cvta", [space, "u64"], [d, a]) => self.push(guard(), typed("add", &["s64"], &[d, a, &window(space)?])?),
            // Two operations at once, each on a half of 64 bits.
            (op @ ("add" | "sub" | "mul" | "fma"), [rounding @ .., "f32x2"], [d, sources @ ..]) => {
                let halves: Vec<[String; 2]> =
                    (0..sources.len()).map(|index| [0, 1].map(|half| format!("$the$half${index}${half}"))).collect();
                let pair = |[low, high]: &[String; 2]| format!("{{{low}, {high}}}");
                for (source, halves) in sources.iter().zip(&halves) {
                    self.push(guard(), typed("mov", &["b64"], &[&pair(halves), source])?);
                }
                let words = [rounding, &["f32"]].concat();
                for half in [0, 1] {
                    let operands: Vec<&str> = halves.iter().map(|halves| &*halves[half]).collect();
                    let result = format!("$the$result${half}");
                    self.push(guard(), typed(op, &words, &[&[&*result], &operands[..]].concat())?);
                }
                let results = [0, 1].map(|half| format!("$the$result${half}"));
                self.push(guard(), typed("mov", &["b64"], &[d, &pair(&results)])?);
            }
            // A comparison whose result is combined with a predicate.
            ("setp", [compared, combined @ ("and" | "or" | "xor"), ty], [p, a, b, q]) => {
                self.push(guard(), typed("setp", &[compared, ty], &[&VALUE.0, a, b])?);
                self.push(guard(), typed(combined, &["pred"], &[p, &VALUE.0, q])?);
            }
            // The translation drops the carry flag, and fails if a later instruction reads it.
            (carried @ ("addc" | "subc"), ["cc", ty], _) => {
                let reads = |code: &Code| match code {
                    Code::Instruction { instruction: Instruction::Alu { op, .. }, .. } => {
                        matches!(op, AluOp::Addc | AluOp::Subc)
                    }
                    Code::Other(other) => matches!(other.base(), "addc" | "subc" | "madc"),
                    _ => false,
                };
                let sets = |code: &&Code| {
                    matches!(code, Code::Instruction { instruction: Instruction::Alu { op, .. }, .. }
                        if matches!(op, AluOp::AddCc | AluOp::SubCc))
                };
                if rest.take_while(|code| !sets(code)).any(reads) {
                    return None;
                }
                self.push(guard(), typed(carried, &[ty], &operands)?);
            }
            _ => return None,
        }
        Some(())
    }

    /// A load of a parameter, or of a part of one.
    fn parameter(&mut self, guard: Option<Guard>, ld: Ld) -> Option<()> {
        let index = self.parameters.iter().position(|name| *name == ld.a.base.0)?;
        let parameter = PARAMETERS.get(index)?.clone();
        let start = Operand::Immediate(u64::try_from(ld.a.offset).ok()? * 8);
        self.push(guard.clone(), alu(AluOp::Shr, Type::B128, &VALUE, [Operand::Register(parameter), start]));
        let value = Operand::Register(VALUE);
        let read = match (&ld.d, ld.vec) {
            // A register may be wider than the type.
            (Operand::Register(d), None) if ld.ty.is_signed() => {
                Instruction::Cvt { rn: false, to: Type::S64, from: ld.ty, d: d.clone(), a: value }
            }
            _ => {
                let ty = bits(width(ld.vec, ld.ty))?;
                Instruction::Alu { op: AluOp::Mov, ty, d: ld.d, sources: vec![value] }
            }
        };
        self.push(guard, read);
        Some(())
    }

    /// A store of the result, or of a part of it.
    fn result(&mut self, guard: Option<Guard>, st: St) -> Option<()> {
        self.results.iter().find(|name| **name == st.a.base.0)?;
        let start = Operand::Immediate(u64::try_from(st.a.offset).ok()? * 8);
        let value = || Operand::Register(VALUE);
        self.push(guard.clone(), alu(AluOp::Mov, bits(width(st.vec, st.ty))?, &VALUE, [st.b]));
        self.push(guard.clone(), alu(AluOp::Shl, Type::B128, &VALUE, [value(), start]));
        self.push(guard, alu(AluOp::Or, Type::B128, &RESULT, [Operand::Register(RESULT), value()]));
        Some(())
    }
}

/// Parses an instruction from its mnemonic, modifiers and operands.
fn typed(mnemonic: &str, modifiers: &[&str], operands: &[&str]) -> Option<Instruction> {
    let text = format!("{} {};", [&[mnemonic], modifiers].concat().join("."), operands.join(", "));
    match text.parse() {
        Ok(Statement::Instruction { instruction, .. }) => Some(instruction),
        _ => None,
    }
}

/// The generic address of the first byte of a state space.
fn window(space: &str) -> Option<String> {
    let space: Space = space.parse().ok()?;
    Some(interpret::window(space).to_string())
}

#[cfg(test)]
mod tests {
    use ptx_lowering::{interpret::Machine, ptx::Module};

    use super::*;

    fn function(head: &str, body: &str) -> Function {
        let text = format!(".version 8.6\n.target sm_90\n.visible .func {head} {{ {body} }}");
        let module: Module = text.parse().expect(&text);
        module.functions().next().expect("a function").clone()
    }

    /// Checks the value that the body returns for `b` and `c`, and the final memory, which is 5 before.
    fn check(head: &str, body: &str, [b, c]: [u128; 2], expected: (u128, u128)) {
        let sequence = sequence(&function(head, body), 0, None).expect(body);
        let mut machine = Machine::new(32, 8, 5, [b, c], 0);
        let d = machine.run(&sequence, |_| {}).expect(body);
        assert_eq!((d.unwrap_or_default(), machine.get(32)), expected, "{body}\n{sequence}");
    }

    const ONE: &str = "(.param .b32 out) f(.param .b64 p, .param .b32 x, .param .b32 y)";
    const WIDE: &str = "(.param .align 16 .b8 out[16]) f(.param .b64 p, .param .align 16 .b8 x[16], .param .b32 y)";

    #[test]
    fn functions() {
        let add = "ld.param::func.b64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [x+0];
            atom.global.add.u32 %r2, [%rd2], %r1; st.param.b32 [out], %r2; ret;";
        check(ONE, add, [3, 0], (5, 8));
        check(ONE, "ld.param.s8 %r1, [x]; st.param.b32 [out], %r1;", [0x80, 0], (0xFFFF_FF80, 5));
        check(ONE, "ld.param.u8 %r1, [x+1]; st.param.b32 [out+0], %r1; ret;", [0x1234, 0], (0x12, 5));
        check(
            ONE,
            "ld.param.b32 %d, [y]; mov.b32 %b, 1; ld.param.b32 %c, [x]; st.param.b32 [out], %c; ret;",
            [2, 3],
            (2, 5),
        );
        check(
            ONE,
            "ld.param.b32 %r1, [y]; bfe.u32 %r2, %r1, 4, 8; st.param.b32 [out], %r2; ret;",
            [0, 0xABCD],
            (0xBC, 5),
        );
        let inserted = "ld.param.b32 %r1, [x]; ld.param.b32 %r2, [y]; bfi.b32 %r1, %r1, %r2, 8, 4; nanosleep.u32 20;
            st.param.b32 [out], %r1; ret;";
        check(ONE, inserted, [0xABC, 0x1234_5678], (0x1234_5C78, 5));
        // 1 + 2 and 3 - 4, in halves.
        let halves = "ld.param.b64 %rd1, [x]; ld.param.b64 %rd2, [x+8]; add.rn.f32x2 %rd3, %rd1, %rd2;
            st.param.b64 [out], %rd3; ret;";
        let floats = |[low, high]: [f32; 2]| u128::from(high.to_bits()) << 32 | u128::from(low.to_bits());
        let operands = floats([1.0, 3.0]) | floats([2.0, -4.0]) << 64;
        check(WIDE, halves, [operands, 0], (floats([3.0, -1.0]), 5));
        let parts = "ld.param.v2.b64 {%rd1, %rd2}, [x]; st.param.v2.b64 [out], {%rd2, %rd1}; ret;";
        check(WIDE, parts, [1 << 64 | 2, 0], (2 << 64 | 1, 5));
        let parts = "ld.param.b32 %r1, [x+4]; st.param.b32 [out+12], %r1; st.param.b32 [out], 7;";
        check(WIDE, parts, [0xAB << 32, 0], (0xAB << 96 | 7, 5));
        let compared = "ld.param.b32 %r1, [x]; ld.param.b32 %r2, [y]; setp.eq.b32 %p1, %r1, 1;
            setp.gt.and.u32 %p2, %r2, %r1, %p1; @%p2 bra.uni $yes; st.param.b32 [out], 0; ret; $yes: st.param.b32 [out], 1; ret;";
        check(ONE, compared, [1, 2], (1, 5));
        check(ONE, compared, [1, 1], (0, 5));
        check(ONE, compared, [0, 1], (0, 5));
        let carried =
            "ld.param.b32 %r1, [x]; add.cc.u32 %r2, %r1, 1; addc.cc.u32 %r3, 0, 0; st.param.b32 [out], %r3; ret;";
        check(ONE, carried, [u32::MAX.into(), 0], (1, 5));
    }

    #[test]
    fn unknown_operations() {
        let check = |body: &str, unknown: &str| {
            assert_eq!(sequence(&function(ONE, body), 0, None), Err(Unmodelled(unknown.into())), "{body}");
        };
        check("call.uni other; ret;", "call.uni");
        check("ld.param.b32 %r1, [elsewhere]; ret;", "ld.param.b32");
        check("addc.cc.u32 %r1, 0, 0; addc.u32 %r2, 0, 0; ret;", "addc.cc.u32");
        check("tanh.approx.f32 %r1, %r2;", "tanh.approx.f32");
    }
}

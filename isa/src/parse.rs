//! The parser of the modelled instructions. It reads the printer's output and hand-written PTX.
//!
//! Like the assembler, it accepts modifiers in any order, spaces around dots and commas, comments, and constant offsets
//! as sums. It is stricter in one case: a second source of an `atom` other than `cas` is an error, although every
//! assembler accepts `atom.exch` with a second source and ignores it.

use std::{ops::Range, str::FromStr};

use crate::{
    form::takes,
    instruction::{Address, Atom, Cache, Fence, Guard, Instruction, Ld, Name, Operand, Red, St, Statement},
    syntax::{self, Number, Shape, SyntaxError, Text},
    word::{AluOp, AtomOp, CacheOperator, LdSem, Scope, Space, StSem, Type, VectorSize},
};

/// An error: the text is not a statement of the modelled PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ptx-atomics does not model this PTX: {reason}: `{text}`")]
pub struct ParseError {
    /// The byte range of the text in the source.
    pub span: Range<usize>,
    /// The text: the statement, or the part of it that has a syntax error.
    pub text: String,
    /// The message.
    pub reason: String,
}

/// All errors of a text, in the order of the text. The list is never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ParseErrors(pub Vec<ParseError>);

impl ParseErrors {
    pub(crate) fn of_syntax(source: &str, errors: Vec<SyntaxError>) -> Vec<ParseError> {
        let error = |SyntaxError { span, reason }| ParseError { text: source[span.clone()].into(), span, reason };
        errors.into_iter().map(error).collect()
    }
}

/// Reads one statement, with or without its `;`.
impl FromStr for Statement {
    type Err = ParseErrors;

    fn from_str(text: &str) -> Result<Self, ParseErrors> {
        let statement = syntax::statement(text).map_err(|errors| ParseErrors(ParseErrors::of_syntax(text, errors)))?;
        typed(&statement).map_err(|error| ParseErrors(vec![error]))
    }
}

/// Reads the statements of a block, with or without its braces.
///
/// # Errors
/// An error for every statement that is not modelled PTX.
pub fn parse_block(text: &str) -> Result<Vec<Statement>, ParseErrors> {
    let (statements, errors) = syntax::statements(text);
    let inner = match &statements[..] {
        [syntax::Statement::Open(_), inner @ .., syntax::Statement::Close(_)] => inner,
        all => all,
    };
    let mut errors = ParseErrors::of_syntax(text, errors);
    let mut block = Vec::new();
    for statement in inner {
        match typed(statement) {
            Ok(statement) => block.push(statement),
            Err(error) => errors.push(error),
        }
    }
    errors.sort_by_key(|error| error.span.start);
    if errors.is_empty() { Ok(block) } else { Err(ParseErrors(errors)) }
}

/// Converts a parsed statement into a typed one.
///
/// # Errors
/// If it is not modelled.
pub fn typed(statement: &syntax::Statement<'_>) -> Result<Statement, ParseError> {
    let typed = match statement {
        syntax::Statement::Label(name) => Ok(Statement::Label(owned(*name))),
        syntax::Statement::Directive(directive) => declaration(directive),
        syntax::Statement::Instruction(instruction) => typed_instruction(instruction),
        syntax::Statement::Open(_) | syntax::Statement::Close(_) => Err("a block within a block".into()),
    };
    let text = statement.text();
    typed.map_err(|reason| ParseError { span: text.span(), text: text.text.into(), reason })
}

type Typed<T> = Result<T, String>;

fn owned(name: Text<'_>) -> Name {
    Name(name.text.to_owned().into())
}

fn declaration(directive: &syntax::Directive<'_>) -> Typed<Statement> {
    let (words, declared) = directive.registers().ok_or("`.reg` is the only modelled directive")?;
    let [word] = words[..] else { return Err("`.reg` needs one type".into()) };
    let ty = word.text.parse().map_err(|_| format!("unknown type .{}", word.text))?;
    if declared.iter().any(|declared| declared.count.is_some()) {
        return Err("a range of registers".into());
    }
    Ok(Statement::Reg { ty, names: declared.into_iter().map(|declared| owned(declared.name)).collect() })
}

fn typed_instruction(instruction: &syntax::Instruction<'_>) -> Typed<Statement> {
    let syntax::Instruction { guard, mnemonic, modifiers, operands, .. } = instruction;
    let mut fields = Fields { modifiers: modifiers.iter().map(|word| word.text).collect(), operands: operands.iter() };
    let guard = guard.map(|guard| Guard { p: owned(guard.predicate), negated: guard.negated });
    let instruction = fields.instruction(mnemonic.text)?;
    if let Some(unknown) = fields.modifiers.first() {
        return Err(format!("'{}' has no modifier .{unknown} here", mnemonic.text));
    }
    if fields.operands.next().is_some() {
        return Err("too many operands".into());
    }
    Ok(Statement::Instruction { guard, instruction })
}

/// The modifiers and operands of an instruction that are not yet consumed.
struct Fields<'s> {
    modifiers: Vec<&'s str>,
    operands: std::slice::Iter<'s, syntax::Operand<'s>>,
}

impl Fields<'_> {
    /// Takes the modifier of this kind, at any position.
    fn take<M: FromStr>(&mut self) -> Typed<Option<M>> {
        let Some(index) = self.modifiers.iter().position(|word| word.parse::<M>().is_ok()) else { return Ok(None) };
        let modifier = self.modifiers.remove(index).parse().ok();
        match self.modifiers.iter().find(|word| word.parse::<M>().is_ok()) {
            Some(second) => Err(format!("a second modifier of one kind, .{second}")),
            None => Ok(modifier),
        }
    }

    fn need<M: FromStr>(&mut self, what: &str) -> Typed<M> {
        self.take()?.ok_or_else(|| format!("no {what}"))
    }

    fn flag(&mut self, word: &str) -> bool {
        let index = self.modifiers.iter().position(|modifier| *modifier == word);
        index.map(|index| self.modifiers.remove(index)).is_some()
    }

    /// Takes the type and the vector size, which must directly precede the type.
    fn vector_type(&mut self) -> Typed<(Option<VectorSize>, Type)> {
        let vec = self.modifiers.iter().position(|word| word.parse::<VectorSize>().is_ok());
        let ty = self.modifiers.iter().position(|word| word.parse::<Type>().is_ok());
        if vec.is_some_and(|vec| ty != Some(vec + 1)) {
            return Err("the vector size must be directly before the type".into());
        }
        Ok((self.take()?, self.need("type")?))
    }

    fn two_types(&mut self) -> Typed<(Type, Type)> {
        match self.modifiers.split_off(0)[..] {
            [first, second] => first.parse().ok().zip(second.parse().ok()).ok_or_else(|| "expected two types".into()),
            _ => Err("expected two types".into()),
        }
    }

    fn space(&mut self) -> Typed<Space> {
        match self.take()? {
            Some(Space::Generic) => Err("the generic space has no modifier".into()),
            space => Ok(space.unwrap_or(Space::Generic)),
        }
    }

    /// Takes the semantics of `ld` or `st`, and the scope that belongs to the semantics.
    fn access<S: FromStr + Copy + PartialEq>(&mut self, plain: S, strong: &[S]) -> Typed<(S, Option<Scope>)> {
        let mmio = self.flag("mmio");
        if mmio {
            self.modifiers = self
                .modifiers
                .iter()
                .map(|word| match *word {
                    "relaxed" => "mmio.relaxed",
                    "acquire" => "mmio.acquire",
                    "release" => "mmio.release",
                    other => other,
                })
                .collect();
        }
        let sem = match self.take()? {
            Some(sem) if sem == plain => return Err("unknown semantics".into()),
            sem => sem.unwrap_or(plain),
        };
        let scope: Option<Scope> = self.take()?;
        match scope {
            None if strong.contains(&sem) => Err("these semantics need a scope".into()),
            Some(_) if !strong.contains(&sem) => Err("a scope needs .relaxed, .acquire or .release".into()),
            _ if mmio && scope != Some(Scope::Sys) => Err(".mmio needs .sys".into()),
            _ => Ok((sem, scope)),
        }
    }

    fn operand(&mut self, ty: Type) -> Typed<Operand> {
        typed_operand(self.operands.next().ok_or("too few operands")?, ty)
    }

    /// Takes an operand of an access: a vector for a vector access, a scalar otherwise.
    fn element(&mut self, ty: Type, vec: Option<VectorSize>) -> Typed<Operand> {
        let operand = self.operand(ty)?;
        match (&operand, vec) {
            (Operand::Vector(elements), Some(vec)) if elements.len() == vec.elements() => {
                let sinks = elements.iter().filter(|element| **element == Operand::Sink).count();
                if sinks == elements.len() { Err("every element is `_`".into()) } else { Ok(operand) }
            }
            (Operand::Vector(_), _) => Err("a vector of the wrong size".into()),
            (Operand::Sink, _) | (_, None) => Ok(operand),
            _ => Err("a vector access needs a vector operand".into()),
        }
    }

    fn source(&mut self, ty: Type, vec: Option<VectorSize>) -> Typed<Operand> {
        match self.element(ty, vec)? {
            Operand::Sink => Err("`_` is not a source".into()),
            Operand::Immediate(_) if is_half(ty) => Err(format!("a constant of type .{ty}")),
            operand => Ok(operand),
        }
    }

    /// Takes an operand of arithmetic. Only `mov` packs and unpacks vectors.
    fn moved(&mut self, op: AluOp, ty: Type) -> Typed<Operand> {
        match self.operand(ty)? {
            Operand::Vector(_) if op != AluOp::Mov => Err("a vector".into()),
            Operand::Immediate(_) if is_half(ty) => Err(format!("a constant of type .{ty}")),
            operand => Ok(operand),
        }
    }

    fn destination(&mut self, ty: Type, vec: Option<VectorSize>) -> Typed<Operand> {
        match self.element(ty, vec)? {
            Operand::Immediate(_) => Err("a constant is not a destination".into()),
            operand => Ok(operand),
        }
    }

    fn register(&mut self) -> Typed<Name> {
        match self.operands.next().map(|operand| &operand.shape) {
            Some(Shape::Name { name, suffix: None }) => Ok(owned(*name)),
            _ => Err("a register is missing".into()),
        }
    }

    fn address(&mut self) -> Typed<Address> {
        match self.unified_address()? {
            (address, false) => Ok(address),
            (_, true) => Err("only `ld` has .unified".into()),
        }
    }

    /// Takes the address of an `ld`, and whether `.unified` follows it.
    fn unified_address(&mut self) -> Typed<(Address, bool)> {
        let operand = self.operands.next().ok_or("an address is missing")?;
        let Shape::Memory { suffix, .. } = operand.shape else { return Err("an address is missing".into()) };
        let unified = match suffix.map(|suffix| suffix.text) {
            None => false,
            Some("unified") => true,
            Some(suffix) => return Err(format!("an address with .{suffix}")),
        };
        let address = operand.address().ok_or_else(|| format!("an address `{}`", operand.text.text))?;
        Ok((Address { base: owned(address.base), offset: address.offset }, unified))
    }

    /// Takes the cache modifier, whose policy is the last operand. `weak` is true if the access is weak, as cache
    /// operators require; `operators` are the instruction's cache operators.
    fn cache(&mut self, weak: bool, space: Space, operators: &[CacheOperator]) -> Typed<Option<Cache>> {
        use CacheOperator::{L1EvictLast, L1NoAllocate, L2Prefetch128B};
        let operator: Option<CacheOperator> = self.take()?;
        let hint = self.flag("L2::cache_hint");
        let global = matches!(space, Space::Generic | Space::Global);
        match operator {
            Some(_) if hint => Err("a cache operator and a cache hint".into()),
            Some(L1EvictLast | L1NoAllocate | L2Prefetch128B) if !global => {
                Err("a priority needs global memory".into())
            }
            Some(CacheOperator::Nc) if space != Space::Global => Err(".nc needs .global".into()),
            Some(operator) if !operators.contains(&operator) => Err(format!("no .{operator} here")),
            Some(L1EvictLast | L1NoAllocate | L2Prefetch128B) => Ok(operator.map(Cache::Operator)),
            Some(operator) if !weak => Err(format!(".{operator} does not go with these semantics")),
            Some(_) => Ok(operator.map(Cache::Operator)),
            None if hint && !global => Err(".L2::cache_hint needs global memory".into()),
            None if hint => {
                let policy = self.operands.next_back().ok_or("the cache policy is missing")?;
                Ok(Some(Cache::Hint(scalar(policy, Type::B64)?)))
            }
            None => Ok(None),
        }
    }

    /// Takes the arithmetic operation that the mnemonic and most of the modifiers name.
    fn operation(&mut self, mnemonic: &str) -> Typed<AluOp> {
        let op = AluOp::from_mnemonic(mnemonic, &self.modifiers).ok_or_else(|| format!("unknown '{mnemonic}'"))?;
        self.modifiers.retain(|word| !op.modifiers().any(|own| own == *word));
        Ok(op)
    }

    fn instruction(&mut self, mnemonic: &str) -> Typed<Instruction> {
        Ok(match mnemonic {
            "fence" => Instruction::Fence(Fence { sem: self.take()?, scope: self.need("scope")? }),
            "membar" => Instruction::Membar(self.need("level")?),
            "ld" => {
                use LdSem::{Acquire, MmioAcquire, MmioRelaxed, Relaxed};
                let (sem, scope) = self.access(LdSem::Plain, &[Relaxed, Acquire, MmioRelaxed, MmioAcquire])?;
                use CacheOperator::{Ca, Cg, Cs, Cv, L1EvictLast, L1NoAllocate, L2Prefetch128B, Lu, Nc};
                let (space, (vec, ty)) = (self.space()?, self.vector_type()?);
                let operators = [Ca, Cg, Cs, Cv, Lu, Nc, L1NoAllocate, L1EvictLast, L2Prefetch128B];
                let cache = self.cache(matches!(sem, LdSem::Plain | LdSem::Weak), space, &operators)?;
                let d = self.destination(ty, vec)?;
                if d == Operand::Sink {
                    return Err("`ld` cannot discard its result".into());
                }
                let (a, unified) = self.unified_address()?;
                Instruction::Ld(Ld { sem, scope, space, cache, vec, ty, d, a, unified })
            }
            "st" => {
                use StSem::{MmioRelaxed, MmioRelease, Relaxed, Release};
                let (sem, scope) = self.access(StSem::Plain, &[Relaxed, Release, MmioRelaxed, MmioRelease])?;
                use CacheOperator::{Cg, Cs, L1EvictLast, L1NoAllocate, Wb, Wt};
                let (space, (vec, ty)) = (self.space()?, self.vector_type()?);
                let weak = matches!(sem, StSem::Plain | StSem::Weak);
                let cache = self.cache(weak, space, &[Cg, Cs, Wb, Wt, L1NoAllocate, L1EvictLast])?;
                let a = self.address()?;
                Instruction::St(St { sem, scope, space, cache, vec, ty, a, b: self.source(ty, vec)? })
            }
            "atom" => {
                let (sem, scope, space) = (self.take()?, self.take()?, self.space()?);
                let (op, noftz, (vec, ty)) = (self.need("operation")?, self.flag("noftz"), self.vector_type()?);
                takes(op, noftz, vec, ty).ok_or_else(|| format!("no form .{op}.{ty}"))?;
                let cache = self.cache(false, space, &[])?;
                if cache.is_some() && op == AtomOp::Cas {
                    return Err("`atom.cas` has no cache hint".into());
                }
                let (d, a, b) = (self.destination(ty, vec)?, self.address()?, self.source(ty, vec)?);
                let c = if op == AtomOp::Cas { Some(self.source(ty, vec)?) } else { None };
                Instruction::Atom(Atom { sem, scope, space, cache, op, noftz, vec, ty, d, a, b, c })
            }
            "red" => {
                let (sem, scope, space) = (self.take()?, self.take()?, self.space()?);
                let (op, noftz, (vec, ty)) = (self.need("operation")?, self.flag("noftz"), self.vector_type()?);
                if matches!(op, AtomOp::Exch | AtomOp::Cas) {
                    return Err(format!("'red' has no operation .{op}"));
                }
                takes(op, noftz, vec, ty).ok_or_else(|| format!("no form .{op}.{ty}"))?;
                let cache = self.cache(false, space, &[])?;
                let a = self.address()?;
                Instruction::Red(Red { sem, scope, space, cache, op, noftz, vec, ty, a, b: self.source(ty, vec)? })
            }
            "setp" => {
                let (cmp, ty) = (self.need("comparison")?, self.need("type")?);
                Instruction::Setp { cmp, ty, p: self.register()?, a: self.source(ty, None)?, b: self.source(ty, None)? }
            }
            "bra" => Instruction::Bra { target: self.register()? },
            "cvt" => {
                let (rn, (to, from)) = (self.flag("rn"), self.two_types()?);
                Instruction::Cvt { rn, to, from, d: self.register()?, a: self.source(from, None)? }
            }
            "isspacep" => {
                let space = self.space()?;
                Instruction::Isspacep { space, p: self.register()?, a: self.source(Type::B64, None)? }
            }
            _ => {
                let op = self.operation(mnemonic)?;
                let ty = self.need("type")?;
                if !op.takes(ty) {
                    return Err(format!("no '{op}' of type .{ty}"));
                }
                let d = self.moved(op, ty)?;
                match d {
                    Operand::Register(_) | Operand::Vector(_) => {}
                    _ => return Err("a register is missing".into()),
                }
                let sources = (0..op.arity()).map(|index| self.moved(op, op.source_type(ty, index)));
                let sources = sources.collect::<Typed<Vec<_>>>()?;
                if sources.contains(&Operand::Sink) {
                    return Err("`_` is not a source".into());
                }
                Instruction::Alu { op, ty, d, sources }
            }
        })
    }
}

fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
}

fn typed_operand(operand: &syntax::Operand<'_>, ty: Type) -> Typed<Operand> {
    match &operand.shape {
        Shape::Vector(elements) if !elements.is_empty() => {
            Ok(Operand::Vector(elements.iter().map(|element| scalar(element, ty)).collect::<Typed<_>>()?))
        }
        _ => scalar(operand, ty),
    }
}

fn scalar(operand: &syntax::Operand<'_>, ty: Type) -> Typed<Operand> {
    let float = matches!(ty, Type::F32 | Type::F64) || is_half(ty);
    let mask = u64::MAX >> 64u32.saturating_sub(ty.bits());
    match operand.shape {
        Shape::Name { name, suffix: None } => Ok(Operand::Register(owned(name))),
        Shape::Sink => Ok(Operand::Sink),
        Shape::Number(Number::Integer(_)) if float => Err(format!("an integer constant of type .{ty}")),
        Shape::Number(Number::Integer(value)) => Ok(Operand::Immediate(value & mask)),
        Shape::Number(Number::Single(bits)) if ty.bits() == 32 => Ok(Operand::Immediate(bits.into())),
        Shape::Number(Number::Double(bits)) if ty.bits() == 64 => Ok(Operand::Immediate(bits)),
        Shape::Number(Number::Decimal(value)) if ty == Type::F64 => Ok(Operand::Immediate(value.to_bits())),
        Shape::Number(Number::Decimal(value)) if ty == Type::F32 => {
            Ok(Operand::Immediate((value as f32).to_bits().into()))
        }
        Shape::Number(_) => Err(format!("no constant of type .{ty}")),
        Shape::Memory { .. } => Err("expected a value, found an address".into()),
        _ => Err(format!("an operand `{}`", operand.text.text)),
    }
}

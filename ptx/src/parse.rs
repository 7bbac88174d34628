//! The parser: what the printer prints, and hand-written PTX of the same instructions.
//!
//! As the assembler does, it takes modifiers in any order, spaces around dots and commas, comments, and constant
//! offsets as sums. It is stricter in one place: a second source of an `atom` other than `cas` is an error, though every
//! assembler takes `atom.exch` with one and ignores it.

use std::str::FromStr;

use winnow::{
    ModalResult, Parser,
    ascii::{digit1, hex_digit1, multispace1, till_line_ending},
    combinator::{alt, delimited, opt, preceded, repeat, separated, terminated},
    token::{one_of, take_until, take_while},
};

use crate::{
    form::takes,
    instruction::{Address, Atom, Cache, Fence, Guard, Instruction, Ld, Name, Operand, Red, St, Statement},
    word::{AluOp, AtomOp, CacheOperator, LdSem, Scope, Space, StSem, Type, VectorSize},
};

/// Text that is no statement of the modelled PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no PTX that ptx-atomics models: {reason}: `{text}`")]
pub struct ParseError {
    pub text: String,
    pub reason: String,
}

impl FromStr for Statement {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = |reason: &str| ParseError { text: text.trim().into(), reason: reason.into() };
        let raw = delimited(space, statement, space).parse(text).map_err(|_| error("syntax error"))?;
        raw.typed().map_err(|reason| error(&reason))
    }
}

/// Parses the statements of a block, with or without its braces.
///
/// # Errors
/// On the first statement that is not modelled PTX.
pub fn parse_block(text: &str) -> Result<Vec<Statement>, ParseError> {
    let error = |reason: &str| ParseError { text: text.trim().into(), reason: reason.into() };
    let braced = delimited(('{', space), statements, '}');
    let raw = delimited(space, alt((braced, statements)), space).parse(text).map_err(|_| error("syntax error"))?;
    raw.into_iter().map(|raw| raw.typed().map_err(|reason| error(&reason))).collect()
}

/// A statement whose modifiers and operands are not interpreted yet.
enum Raw<'s> {
    Instruction { guard: Option<Guard>, mnemonic: &'s str, modifiers: Vec<&'s str>, operands: Vec<RawOperand<'s>> },
    Reg { ty: &'s str, names: Vec<Name> },
    Label(Name),
}

#[derive(Clone)]
enum RawOperand<'s> {
    Name(&'s str),
    Sink,
    Integer(u64),
    /// `0f…` and `0d…`.
    Bits(Type, u64),
    Decimal(f64),
    /// The flag is `.unified`.
    Address(Address, bool),
    Vector(Vec<RawOperand<'s>>),
}

fn statements<'s>(input: &mut &'s str) -> ModalResult<Vec<Raw<'s>>> {
    repeat(0.., terminated(statement, space)).parse_next(input)
}

fn statement<'s>(input: &mut &'s str) -> ModalResult<Raw<'s>> {
    let reg = preceded((".reg", space), (modifier, separated(1.., spaced(name), (',', space)), ';'))
        .map(|(ty, names, _)| Raw::Reg { ty, names });
    let label = terminated(spaced(name), ':').map(Raw::Label);
    let guard = preceded('@', (opt('!'), spaced(name))).map(|(not, p)| Guard { p, negated: not.is_some() });
    let mnemonic = spaced(take_while(1.., |c: char| c.is_ascii_lowercase()));
    let operands = separated(0.., spaced(operand), (',', space));
    let instruction = (opt(guard), mnemonic, repeat(0.., modifier), operands, ';')
        .map(|(guard, mnemonic, modifiers, operands, _)| Raw::Instruction { guard, mnemonic, modifiers, operands });
    alt((reg, label, instruction)).parse_next(input)
}

fn modifier<'s>(input: &mut &'s str) -> ModalResult<&'s str> {
    let word = take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    preceded(('.', space), spaced(word)).parse_next(input)
}

fn operand<'s>(input: &mut &'s str) -> ModalResult<RawOperand<'s>> {
    // A vector holds scalars, not vectors.
    let vector = separated(1.., spaced(scalar), (',', space));
    alt((
        (delimited(('[', space), address, ']'), opt((space, ".unified")))
            .map(|(address, unified)| RawOperand::Address(address, unified.is_some())),
        delimited(('{', space), vector, '}').map(RawOperand::Vector),
        scalar,
    ))
    .parse_next(input)
}

fn scalar<'s>(input: &mut &'s str) -> ModalResult<RawOperand<'s>> {
    let bits = |prefix, ty: Type| {
        let digits = take_while(ty.bits() as usize / 4, |c: char| c.is_ascii_hexdigit());
        preceded(('0', one_of(prefix)), digits)
            .try_map(move |digits| u64::from_str_radix(digits, 16).map(|bits| RawOperand::Bits(ty, bits)))
    };
    let decimal = (opt('-'), digit1, '.', digit1).take().try_map(|text: &str| text.parse().map(RawOperand::Decimal));
    alt((
        bits(['f', 'F'], Type::F32),
        bits(['d', 'D'], Type::F64),
        decimal,
        integer.map(RawOperand::Integer),
        identifier.map(RawOperand::Name),
        '_'.value(RawOperand::Sink),
    ))
    .parse_next(input)
}

fn address(input: &mut &str) -> ModalResult<Address> {
    let parenthesized = delimited(('(', space), spaced(integer), ')');
    let term = preceded(('+', space), spaced(alt((integer, parenthesized))));
    let offset = repeat(0.., term).fold(|| 0i64, |sum, term: u64| sum.wrapping_add(term as i64));
    (spaced(name), offset).map(|(base, offset)| Address { base, offset }).parse_next(input)
}

/// An integer constant (section 4.5.1), wrapped to 64 bits as the assembler does.
fn integer(input: &mut &str) -> ModalResult<u64> {
    let hex = preceded(('0', one_of(['x', 'X'])), hex_digit1).try_map(|digits| u64::from_str_radix(digits, 16));
    let value = terminated(alt((hex, digit1.parse_to())), opt('U'));
    (opt('-'), value)
        .map(|(minus, value): (_, u64)| if minus.is_some() { value.wrapping_neg() } else { value })
        .parse_next(input)
}

fn name(input: &mut &str) -> ModalResult<Name> {
    identifier.map(|name: &str| Name(name.to_owned().into())).parse_next(input)
}

/// Section 4.4: a letter, or one of `_`, `$`, `%` with at least one more character.
fn identifier<'s>(input: &mut &'s str) -> ModalResult<&'s str> {
    let follow = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let letter = (one_of(|c: char| c.is_ascii_alphabetic()), take_while(0.., follow)).take();
    let symbol = (one_of(['_', '$', '%']), take_while(1.., follow)).take();
    alt((letter, symbol)).parse_next(input)
}

fn space(input: &mut &str) -> ModalResult<()> {
    let line_comment = ("//", till_line_ending).void();
    let block_comment = ("/*", take_until(0.., "*/"), "*/").void();
    repeat(0.., alt((multispace1.void(), line_comment, block_comment))).parse_next(input)
}

/// Skips the space behind a token.
fn spaced<'s, O>(
    token: impl Parser<&'s str, O, winnow::error::ErrMode<winnow::error::ContextError>>,
) -> impl Parser<&'s str, O, winnow::error::ErrMode<winnow::error::ContextError>> {
    terminated(token, space)
}

type Typed<T> = Result<T, String>;

impl Raw<'_> {
    fn typed(self) -> Typed<Statement> {
        Ok(match self {
            Self::Label(label) => Statement::Label(label),
            Self::Reg { ty, names } => {
                Statement::Reg { ty: ty.parse().map_err(|_| format!("unknown type .{ty}"))?, names }
            }
            Self::Instruction { guard, mnemonic, modifiers, operands } => {
                let mut fields = Fields { modifiers, operands: operands.into_iter() };
                let instruction = fields.instruction(mnemonic)?;
                if let Some(unknown) = fields.modifiers.first() {
                    return Err(format!("'{mnemonic}' has no modifier .{unknown} here"));
                }
                if fields.operands.next().is_some() {
                    return Err("too many operands".into());
                }
                Statement::Instruction { guard, instruction }
            }
        })
    }
}

/// What an instruction has taken its fields from so far.
struct Fields<'s> {
    modifiers: Vec<&'s str>,
    operands: std::vec::IntoIter<RawOperand<'s>>,
}

impl Fields<'_> {
    /// Takes the one modifier of this kind, wherever it stands.
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

    /// Takes the type and the vector size, which must stand right before it.
    fn vector_type(&mut self) -> Typed<(Option<VectorSize>, Type)> {
        let vec = self.modifiers.iter().position(|word| word.parse::<VectorSize>().is_ok());
        let ty = self.modifiers.iter().position(|word| word.parse::<Type>().is_ok());
        if vec.is_some_and(|vec| ty != Some(vec + 1)) {
            return Err("the vector size must stand right before the type".into());
        }
        Ok((self.take()?, self.need("type")?))
    }

    fn two_types(&mut self) -> Typed<(Type, Type)> {
        match self.modifiers.split_off(0)[..] {
            [first, second] => first.parse().ok().zip(second.parse().ok()).ok_or_else(|| "no two types".into()),
            _ => Err("two types are needed".into()),
        }
    }

    fn space(&mut self) -> Typed<Space> {
        match self.take()? {
            Some(Space::Generic) => Err("the generic space has no modifier".into()),
            space => Ok(space.unwrap_or(Space::Generic)),
        }
    }

    /// Takes the semantics of `ld` or `st`, and the scope that goes with it.
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
            Some(sem) if sem == plain => return Err("no semantics of that name".into()),
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

    /// An operand of an access: a vector for a vector access, a scalar otherwise.
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
            Operand::Sink => Err("`_` is no source".into()),
            Operand::Immediate(_) if is_half(ty) => Err(format!("a constant of type .{ty}")),
            operand => Ok(operand),
        }
    }

    /// An operand of arithmetic. Only `mov` packs and unpacks vectors.
    fn moved(&mut self, op: AluOp, ty: Type) -> Typed<Operand> {
        match self.operand(ty)? {
            Operand::Vector(_) if op != AluOp::Mov => Err("a vector".into()),
            Operand::Immediate(_) if is_half(ty) => Err(format!("a constant of type .{ty}")),
            operand => Ok(operand),
        }
    }

    fn destination(&mut self, ty: Type, vec: Option<VectorSize>) -> Typed<Operand> {
        match self.element(ty, vec)? {
            Operand::Immediate(_) => Err("a constant is no destination".into()),
            operand => Ok(operand),
        }
    }

    fn register(&mut self) -> Typed<Name> {
        match self.operands.next() {
            Some(RawOperand::Name(name)) => Ok(Name(name.to_owned().into())),
            _ => Err("a register is missing".into()),
        }
    }

    fn address(&mut self) -> Typed<Address> {
        match self.operands.next() {
            Some(RawOperand::Address(address, false)) => Ok(address),
            Some(RawOperand::Address(_, true)) => Err("only `ld` has .unified".into()),
            _ => Err("an address is missing".into()),
        }
    }

    /// The address of a `ld`, and whether `.unified` stands behind it.
    fn unified_address(&mut self) -> Typed<(Address, bool)> {
        match self.operands.next() {
            Some(RawOperand::Address(address, unified)) => Ok((address, unified)),
            _ => Err("an address is missing".into()),
        }
    }

    /// Takes what is asked of the caches, whose policy is the last operand. `weak` says that the access has no semantics
    /// beyond weak, which cache operators need; `operators` are those of the instruction.
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
                Ok(Some(Cache::Hint(typed_operand(policy, Type::B64)?)))
            }
            None => Ok(None),
        }
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
                let variant = ["rn", "cc", "lo"].into_iter().find(|variant| self.flag(variant));
                let name = variant.map_or(mnemonic.to_owned(), |variant| format!("{mnemonic}.{variant}"));
                let op: AluOp = name.parse().map_err(|_| format!("unknown '{name}'"))?;
                let ty = self.need("type")?;
                let d = self.moved(op, ty)?;
                match d {
                    Operand::Register(_) | Operand::Vector(_) => {}
                    _ => return Err("a register is missing".into()),
                }
                let sources = (0..op.arity()).map(|_| self.moved(op, ty)).collect::<Typed<Vec<_>>>()?;
                if sources.contains(&Operand::Sink) {
                    return Err("`_` is no source".into());
                }
                Instruction::Alu { op, ty, d, sources }
            }
        })
    }
}

fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
}

fn typed_operand(operand: RawOperand<'_>, ty: Type) -> Typed<Operand> {
    let float = matches!(ty, Type::F32 | Type::F64) || is_half(ty);
    let mask = u64::MAX >> 64u32.saturating_sub(ty.bits());
    Ok(match operand {
        RawOperand::Name(name) => Operand::Register(Name(name.to_owned().into())),
        RawOperand::Sink => Operand::Sink,
        RawOperand::Integer(_) if float => return Err(format!("an integer constant of type .{ty}")),
        RawOperand::Integer(value) => Operand::Immediate(value & mask),
        RawOperand::Bits(width, bits) if width.bits() == ty.bits() => Operand::Immediate(bits),
        RawOperand::Decimal(value) if ty == Type::F64 => Operand::Immediate(value.to_bits()),
        RawOperand::Decimal(value) if ty == Type::F32 => Operand::Immediate((value as f32).to_bits().into()),
        RawOperand::Bits(..) | RawOperand::Decimal(_) => return Err(format!("no constant of type .{ty}")),
        RawOperand::Address(..) => return Err("an address in place of a value".into()),
        RawOperand::Vector(elements) => {
            Operand::Vector(elements.into_iter().map(|element| typed_operand(element, ty)).collect::<Typed<_>>()?)
        }
    })
}

//! Tests of the printer and the parser: every statement round-trips, and no text makes the parser panic.

use itertools::{Itertools, iproduct};
use proptest::prelude::*;
use ptx_isa::{
    self as ptx, Form, Instruction, Statement, Target,
    mnemonic::{Control, Mnemonic, Order},
};
use strum::IntoEnumIterator;

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// The printed text parses to the same statement, also for statements that no lowering emits.
    #[test]
    fn print_and_parse_round_trip(statement in statement()) {
        let text = statement.to_string();
        prop_assert_eq!(text.parse::<Statement>(), Ok(statement), "{}", text);
    }

    /// The table of mnemonics agrees with the typed form of each instruction.
    #[test]
    fn the_table_of_mnemonics_agrees(instruction in instruction()) {
        let text = instruction.to_string();
        let row = Mnemonic::find_row(text.split(' ').next().unwrap_or("")).expect("a row");
        let results = usize::from(instruction.destinations().next().is_some() || text.contains(" _,"));
        prop_assert_eq!(row.results, results, "{}", text);
        prop_assert_eq!(row.accesses(), instruction.address().is_some(), "{}", text);
        let is_fence = matches!(instruction, Instruction::Fence(_) | Instruction::Membar(_));
        prop_assert_eq!(row.order == Some(Order::Fence), is_fence, "{}", text);
        let jumps = matches!(instruction, Instruction::Bra { .. });
        prop_assert_eq!(row.control == Control::Jump, jumps, "{}", text);
    }

    /// No text makes the parser panic.
    #[test]
    fn the_parser_takes_any_text(text in "[ -~\n]{0,40}") {
        let _ = text.parse::<Statement>();
        let _ = ptx::parse_block(&text);
        let _ = format!("atom.{text}").parse::<Statement>();
    }
}

fn pick<T: IntoEnumIterator + Clone + std::fmt::Debug + 'static>() -> impl Strategy<Value = T> {
    proptest::sample::select(T::iter().collect_vec())
}

fn name() -> impl Strategy<Value = ptx::Name> {
    "(%[a-z][a-z0-9]{0,4}|[a-z_$][a-z0-9_$]{1,6})".prop_map(|name| ptx::Name(name.into()))
}

fn source(ty: ptx::Type) -> impl Strategy<Value = ptx::Operand> {
    let mask = u64::MAX >> (64 - ty.bits().min(64));
    let half = matches!(ty, ptx::Type::F16 | ptx::Type::F16x2 | ptx::Type::Bf16 | ptx::Type::Bf16x2);
    let immediate = any::<u64>().prop_map(move |bits| ptx::Operand::Immediate(bits & mask));
    let register = name().prop_map(ptx::Operand::Register);
    if half { register.boxed() } else { prop_oneof![register, immediate].boxed() }
}

fn address() -> impl Strategy<Value = ptx::Address> {
    (name(), prop_oneof![Just(0), any::<i64>()]).prop_map(|(base, offset)| ptx::Address { base, offset })
}

fn memory_type() -> impl Strategy<Value = ptx::Type> {
    pick::<ptx::Type>().prop_filter("a type of memory", |ty| !matches!(ty, ptx::Type::Pred | ptx::Type::B128))
}

fn atom_form() -> impl Strategy<Value = (ptx::AtomOp, bool, ptx::Type)> {
    let forms = iproduct!(ptx::AtomOp::iter(), [false, true], ptx::Type::iter()).collect_vec();
    let target = Target::new("sm_121f".parse().expect("a GPU"), "ptx94".parse().ok()).expect("a target");
    let exists = |(op, noftz, ty): &(_, _, _)| target.meets(Form::Atom(*op, *noftz, None, *ty).requirement());
    let forms = forms.into_iter().filter(exists).filter(|(.., ty)| *ty != ptx::Type::B128).collect_vec();
    proptest::sample::select(forms)
}

fn instruction() -> impl Strategy<Value = Instruction> {
    use ptx::*;
    let fence =
        (proptest::option::of(pick()), pick()).prop_map(|(sem, scope)| Instruction::Fence(Fence { sem, scope }));
    let membar = pick().prop_map(Instruction::Membar);
    let ld = (pick::<LdSem>(), pick::<Scope>(), pick(), memory_type(), name(), address()).prop_map(
        |(sem, scope, space, ty, d, a)| {
            let scope = match sem {
                LdSem::Plain | LdSem::Weak | LdSem::Volatile => None,
                LdSem::MmioRelaxed | LdSem::MmioAcquire => Some(Scope::Sys),
                LdSem::Relaxed | LdSem::Acquire => Some(scope),
            };
            Instruction::Ld(Ld {
                sem,
                scope,
                space,
                cache: None,
                vec: None,
                ty,
                d: Operand::Register(d),
                a,
                unified: false,
            })
        },
    );
    let loading = |operator: &CacheOperator| !matches!(operator, CacheOperator::Wb | CacheOperator::Wt);
    let operators = pick::<CacheOperator>().prop_filter("ld has it", loading).prop_map(Cache::Operator);
    let hint = || name().prop_map(|policy| Cache::Hint(Operand::Register(policy)));
    let caches = proptest::option::of(prop_oneof![operators, hint()]);
    let vectors = (pick::<VectorSize>(), proptest::collection::vec(name(), 8), address(), caches, any::<bool>())
        .prop_map(|(vec, names, a, cache, unified)| {
            let elements = names.into_iter().take(vec.elements()).map(Operand::Register).collect();
            Instruction::Ld(Ld {
                sem: LdSem::Plain,
                scope: None,
                space: Space::Global,
                cache,
                vec: Some(vec),
                ty: Type::U32,
                d: Operand::Vector(elements),
                a,
                unified,
            })
        });
    let st = memory_type()
        .prop_flat_map(|ty| (pick::<StSem>(), pick::<Scope>(), pick(), Just(ty), source(ty), address()))
        .prop_map(|(sem, scope, space, ty, b, a)| {
            let scope = match sem {
                StSem::Plain | StSem::Weak | StSem::Volatile => None,
                StSem::MmioRelaxed | StSem::MmioRelease => Some(Scope::Sys),
                StSem::Relaxed | StSem::Release => Some(scope),
            };
            Instruction::St(St { sem, scope, space, cache: None, vec: None, ty, a, b })
        });
    let qualifiers = || (proptest::option::of(pick::<Scope>()), pick::<Space>(), address());
    let hinted = |cache: Option<Cache>, op, space| cache.filter(|_| op != AtomOp::Cas && space == Space::Global);
    let atom = (atom_form(), qualifiers(), proptest::option::of(pick()))
        .prop_flat_map(move |(form, qualifiers, sem)| {
            let registers = (proptest::option::of(name()), proptest::option::of(hint()));
            (Just((form, qualifiers, sem)), source(form.2), source(form.2), registers)
        })
        .prop_map(move |(((op, noftz, ty), (scope, space, a), sem), b, c, (d, cache))| {
            let cache = hinted(cache, op, space);
            let c = (op == AtomOp::Cas).then_some(c);
            let d = d.map_or(Operand::Sink, Operand::Register);
            Instruction::Atom(Atom { sem, scope, space, cache, op, noftz, vec: None, ty, d, a, b, c })
        });
    let red = (
        atom_form().prop_filter("red has it", |(op, ..)| !matches!(op, AtomOp::Exch | AtomOp::Cas)),
        qualifiers(),
        proptest::option::of(pick()),
    )
        .prop_flat_map(move |(form, qualifiers, sem)| {
            (Just((form, qualifiers, sem)), source(form.2), proptest::option::of(hint()))
        })
        .prop_map(move |(((op, noftz, ty), (scope, space, a), sem), b, cache)| {
            let cache = hinted(cache, op, space);
            Instruction::Red(Red { sem, scope, space, cache, op, noftz, vec: None, ty, a, b })
        });
    let alu = (pick::<AluOp>(), memory_type(), name())
        .prop_filter("there is such an instruction", |(op, ty, _)| op.takes(*ty))
        .prop_flat_map(|(op, ty, d)| {
            let sources: Vec<_> = (0..op.arity()).map(|index| source(op.source_type(ty, index))).collect();
            (Just((op, ty, d)), sources)
        })
        .prop_map(|((op, ty, d), sources)| Instruction::Alu { op, ty, d: Operand::Register(d), sources });
    let packing = (proptest::collection::vec(name(), 2..4), name(), any::<bool>()).prop_map(|(names, one, unpack)| {
        let many = Operand::Vector(names.into_iter().map(Operand::Register).collect());
        let one = Operand::Register(one);
        let (d, source) = if unpack { (many, one) } else { (one, many) };
        Instruction::Alu { op: AluOp::Mov, ty: Type::B64, d, sources: vec![source] }
    });
    let cvt = (any::<bool>(), memory_type(), memory_type(), name(), name())
        .prop_map(|(rn, to, from, d, a)| Instruction::Cvt { rn, to, from, d, a: Operand::Register(a) });
    let isspacep = (pick::<Space>().prop_filter("a space", |space| *space != Space::Generic), name(), name())
        .prop_map(|(space, p, a)| Instruction::Isspacep { space, p, a: Operand::Register(a) });
    let setp = memory_type()
        .prop_flat_map(|ty| (pick(), Just(ty), name(), source(ty), source(ty)))
        .prop_map(|(cmp, ty, p, a, b)| Instruction::Setp { cmp, ty, p, a, b });
    let bra = name().prop_map(|target| Instruction::Bra { target });
    prop_oneof![fence, membar, ld, vectors, st, atom, red, alu, packing, cvt, isspacep, setp, bra]
}

fn statement() -> impl Strategy<Value = Statement> {
    let guard = proptest::option::of((name(), any::<bool>()).prop_map(|(p, negated)| ptx::Guard { p, negated }));
    let guarded = (guard, instruction()).prop_map(|(guard, instruction)| Statement::Instruction { guard, instruction });
    let reg = (pick(), proptest::collection::vec(name(), 1..4)).prop_map(|(ty, names)| Statement::Reg { ty, names });
    prop_oneof![8 => guarded, 1 => reg, 1 => name().prop_map(Statement::Label)]
}

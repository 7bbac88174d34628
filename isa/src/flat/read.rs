//! The translation of an instruction into its [`Action`].

use super::{
    AccessKind, Action, Barrier, Elsewhere, Leaving, MemoryAccess, Operand, Register,
    inline::{Builder, Frame, registers},
};
use crate::{
    asynchronous::{Argument, Asynchronous, Family, Role},
    instruction::{self, Fence},
    matrix::MatrixForm,
    mnemonic::{Control, Memory, Mnemonic},
    module::Jump,
    operation::Operation,
    special::{self, Special, SpecialVector},
    syntax::{self, Number, Operand as Syntax, Shape},
    word::{FenceSem, MembarLevel, Scope, Sem, Space, Type},
};

/// An instruction, with its words and its row in the table of mnemonics.
struct Reading<'i> {
    of: &'i syntax::Instruction<'i>,
    words: &'i [&'i str],
    row: &'static Mnemonic,
    /// The number of operands that are results.
    results: usize,
}

impl Reading<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn find<W: std::str::FromStr>(&self) -> Option<W> {
        self.words.iter().find_map(|word| word.parse().ok())
    }

    /// Whether the instruction accesses parameter space, of a function or of a kernel.
    fn is_of_parameters(&self) -> bool {
        self.words.iter().any(|word| word.split("::").next() == Some("param"))
    }

    /// The operand in brackets.
    fn memory(&self) -> Option<&Syntax<'_>> {
        self.of.operands.iter().find(|operand| is_memory(operand))
    }
}

fn is_memory(operand: &Syntax<'_>) -> bool {
    matches!(operand.shape, Shape::Memory { .. })
}

impl<'m> Builder<'_, 'm> {
    pub fn instruction(&mut self, frame: &mut Frame<'m>, of: &syntax::Instruction<'_>, jump: &Jump) {
        let guard = of.guard.map(|guard| (self.register(frame, guard.predicate.text), !guard.negated));
        let modifiers = of.modifiers.iter().map(|word| word.text);
        let words: Vec<&str> = std::iter::once(of.mnemonic.text).chain(modifiers).collect();
        let Some(row) = Mnemonic::find_row(&words.join(".")) else {
            let writes = of.operands.first().map_or(Vec::new(), |operand| self.written(frame, operand));
            return self.push(frame, guard, writes, Action::Unknown);
        };
        let action = match row.control {
            Control::Jump => {
                let targets = match jump {
                    Jump::To(labels) => labels.iter().map(|label| self.label(frame, &label.0)).collect(),
                    _ => vec![self.label(frame, of.operands.first().map_or("", |operand| operand.text.text))],
                };
                let index = (words[0] == "brx").then(|| of.operands.first()).flatten();
                Action::Jump(targets, index.map(|index| self.operand(frame, index)))
            }
            Control::Leave => match (words[0], frame.end) {
                ("trap", _) => Action::Trap,
                ("ret", Some(end)) => Action::Jump(vec![end], None),
                ("exit", _) => Action::Leave(Leaving::Thread),
                _ => Action::Leave(Leaving::Function),
            },
            Control::Call => return self.call(frame, guard, of, *jump == Jump::Out),
            Control::Next => {
                let results = match of.operands.first() {
                    Some(first) if is_memory(first) => 0,
                    _ => row.results.min(of.operands.len()),
                };
                let reading = Reading { of, words: &words, row, results };
                let writes = of.operands[..results].iter().flat_map(|operand| self.written(frame, operand)).collect();
                let (action, writes) = self.action(frame, &reading, writes);
                return self.push(frame, guard, writes, action);
            }
        };
        self.push(frame, guard, Vec::new(), action);
    }

    fn action(
        &mut self,
        frame: &mut Frame<'m>,
        of: &Reading<'_>,
        writes: Vec<Option<Register>>,
    ) -> (Action, Vec<Option<Register>>) {
        let (first, row) = (of.words[0], of.row);
        let is_fence = matches!(first, "fence" | "membar");
        let is_asynchronous = Family::from_words(of.words).is_some() && !is_fence
            || of.has("proxy")
            || of.has("mbarrier_init")
            || of.has("alias");
        let action = match first {
            _ if is_asynchronous => match Asynchronous::read(of.of) {
                Ok(form) => {
                    let arguments = self.arguments(frame, &form);
                    let report = form.arguments().iter().position(|(role, _)| *role == Role::Report);
                    let written = report.map_or(Vec::new(), |index| self.written(frame, &of.of.operands[index]));
                    return (Action::Asynchronous(Box::new(form), arguments), [writes, written].concat());
                }
                Err(_) if of.has("prefetch") => Action::Nothing,
                Err(_) => Action::Unknown,
            },
            _ if is_fence => fence(of),
            "bar" | "barrier" => self.barrier(frame, of),
            "ld" | "st" if of.is_of_parameters() => {
                return self.passed(frame, of, writes);
            }
            // It is unknown which instructions order accesses through the read-only proxy.
            "ld" if of.has("proxy::readonly") => Action::Unknown,
            "ld" | "ldu" | "st" | "atom" | "red" | "ldmatrix" | "stmatrix" => self.access(frame, of),
            "wmma" if row.accesses() => self.access(frame, of),
            "discard" => self.access(frame, of),
            "tex" | "tld4" => Action::Elsewhere(Elsewhere::Texture, self.sources(frame, of)),
            _ if row.memory.contains(&Memory::Texture) => {
                Action::Elsewhere(Elsewhere::Surface, self.sources(frame, of))
            }
            "multimem" if !row.is_asynchronous => Action::Elsewhere(Elsewhere::Multimem, self.sources(frame, of)),
            _ if row.accesses() || row.order.is_some() && first != "griddepcontrol" => Action::Unknown,
            _ if row.memory.is_empty() => {
                let sources = self.sources(frame, of);
                match (first, &sources[..], of.find()) {
                    // A `mov` of a whole vector.
                    ("mov", [Operand::Vector(from)], Some(ty)) if from.len() == writes.len() && from.len() > 1 => {
                        Action::Pass { ty, from: from.clone() }
                    }
                    _ => Action::Compute(Operation::from_words(of.words, &frame.mnemonic), sources),
                }
            }
            _ => Action::Nothing,
        };
        (action, writes)
    }

    /// The operands after the results.
    fn sources(&mut self, frame: &mut Frame<'m>, of: &Reading<'_>) -> Vec<Operand> {
        of.of.operands[of.results..].iter().map(|operand| self.operand(frame, operand)).collect()
    }

    fn access(&mut self, frame: &mut Frame<'m>, of: &Reading<'_>) -> Action {
        let kind = match of.words[0] {
            "ld" | "ldu" => AccessKind::Ld,
            "st" => AccessKind::St,
            "atom" => AccessKind::Atom,
            "red" => AccessKind::Red,
            "discard" => AccessKind::Discard,
            _ => AccessKind::Matrix,
        };
        let is_update = matches!(kind, AccessKind::Atom | AccessKind::Red);
        let sem = match () {
            () if of.has("acq_rel") => Sem::AcqRel,
            () if of.has("acquire") => Sem::Acquire,
            () if of.has("release") => Sem::Release,
            () if of.has("volatile") => Sem::Volatile,
            () if of.has("relaxed") || is_update => Sem::Relaxed,
            () => Sem::Weak,
        };
        let length = |word: &&str| Some(*word).filter(|word| matches!(*word, "v2" | "v4" | "v8"))?[1..].parse().ok();
        let operands = &of.of.operands;
        let at = operands.iter().position(is_memory).unwrap_or(operands.len());
        let policy = usize::from(of.has("L2::cache_hint"));
        // In `wmma.load`, the stride follows the address, too.
        let has_data = of.row.writes || of.words[0] == "wmma";
        let has_data = has_data && kind != AccessKind::Discard;
        let address = of.memory().map_or(Operand::Nothing, |operand| self.operand(frame, operand));
        let named: Option<Space> = of.words[1..].iter().find_map(|word| word.parse().ok());
        let space = named.or_else(|| self.named_space(&address));
        let data = operands.iter().skip(at + 1).rev().skip(policy).rev().filter(|_| has_data);
        Action::Access(MemoryAccess {
            kind,
            address,
            space,
            ty: of.words.iter().rev().find_map(|word| word.parse().ok()).filter(|_| of.words[0] != "wmma"),
            elements: of.words.iter().find_map(length).unwrap_or(1),
            sem,
            scope: of.find(),
            mmio: of.has("mmio"),
            is_read_only: of.has("nc") || of.words[0] == "ldu",
            is_parameter: of.is_of_parameters(),
            names_space: named.is_some(),
            op: is_update.then(|| of.find()).flatten(),
            matrix: MatrixForm::from_words(of.words).map(Box::new),
            keeps_subnormals: of.has("noftz"),
            reads: of.row.reads,
            writes: of.row.writes,
            data: data.map(|operand| self.operand(frame, operand)).collect(),
        })
    }

    /// The state space of the variable that an address names. As in ptxas, an access without a state space is in the
    /// state space of the variable: the value of the variable's name is an address in that state space, which as a
    /// generic address would refer to other memory.
    fn named_space(&self, address: &Operand) -> Option<Space> {
        let Operand::Address(base, _) = address else { return None };
        let Operand::Symbol(symbol) = **base else { return None };
        self.flat.symbols[symbol].variable.space
    }

    /// The action of `ld.param` and `st.param`: an access of a parameter of the function itself, or of the registers
    /// that hold a call's parameter.
    fn passed(
        &mut self,
        frame: &mut Frame<'m>,
        of: &Reading<'_>,
        writes: Vec<Option<Register>>,
    ) -> (Action, Vec<Option<Register>>) {
        let Some(address) = of.memory().and_then(Syntax::address) else {
            return (Action::Unknown, writes);
        };
        let (name, is_load) = (address.base.text, of.words[0] == "ld");
        let ty = of.words.iter().rev().find_map(|word| word.parse::<Type>().ok()).unwrap_or(Type::B32);
        let offset = address.offset;
        let symbol = frame.symbols.get(name).copied();
        if let Some(symbol) = symbol.filter(|_| frame.number == 0 && is_load) {
            return (Action::Parameter { symbol, offset, ty }, writes);
        }
        let stores = |this: &mut Self, frame: &mut Frame<'m>| match of.of.operands.get(1) {
            Some(operand) => this.operand(frame, operand).into_elements(),
            None => Vec::new(),
        };
        match symbol {
            Some(symbol) if self.is_alone => {
                return (Action::Argument { symbol, offset, ty, from: stores(self, frame) }, Vec::new());
            }
            // The base is a register that holds the address of a parameter.
            None if self.is_alone => return (self.access(frame, of), writes),
            None if is_load && frame.registers.contains_key(name) => {
                let address = of.memory().map_or(Operand::Nothing, |operand| self.operand(frame, operand));
                return (Action::ParameterAt { address, ty }, writes);
            }
            _ => {}
        }
        let parameter = self.parameter(frame, name);
        let bytes = i64::from(ty.bits().div_ceil(8));
        let stored =
            |this: &mut Self, index: usize| this.stored(&parameter, address.offset.wrapping_add(index as i64 * bytes));
        if is_load {
            let from = (0..writes.len()).map(|index| Operand::Register(stored(self, index))).collect();
            return (Action::Pass { ty, from }, writes);
        }
        let from = stores(self, frame);
        let writes = (0..from.len()).map(|index| Some(stored(self, index))).collect();
        (Action::Pass { ty, from }, writes)
    }

    fn barrier(&mut self, frame: &mut Frame<'m>, of: &Reading<'_>) -> Action {
        let mut sources = self.sources(frame, of);
        let warp = of.has("warp");
        // The last operand of a reduction is the predicate.
        let reduces = if of.has("red") { of.find().zip(sources.pop()) } else { None };
        let mut sources = sources.into_iter();
        let id = sources.next().unwrap_or(Operand::Nothing);
        let (threads, waits) = (sources.next(), !of.has("arrive"));
        let aligned = !warp && (of.words[0] == "bar" || of.has("aligned"));
        Action::Barrier(Barrier { warp, id, threads, waits, aligned, reduces })
    }

    fn arguments(&mut self, frame: &mut Frame<'m>, form: &Asynchronous) -> Vec<(Role, Operand)> {
        let operand = |(role, argument): &(Role, Argument)| {
            if let Argument::Pair(p, q) = argument {
                return [(*role, p), (Role::Report, q)].map(|(role, p)| (role, self.name(frame, &p.0, None))).to_vec();
            }
            // The address that overrides the address in a tensor map.
            let instead = match argument {
                Argument::Tensor { overrides, .. } => overrides.first(),
                _ => None,
            };
            let instead =
                instead.map(|address| (Role::Override, Operand::Address(Box::new(self.value(frame, address)), 0)));
            let operand = match argument {
                Argument::Value(operand) => self.value(frame, operand),
                Argument::Predicate { p, negated } => match self.name(frame, &p.0, None) {
                    Operand::Register(register) if *negated => Operand::Not(register),
                    other => other,
                },
                Argument::Address(address) => {
                    let base = match address.base.0.parse::<i64>() {
                        Ok(number) => Operand::Constant(number),
                        Err(_) => self.name(frame, &address.base.0, None),
                    };
                    Operand::Address(Box::new(base), address.offset)
                }
                Argument::Tensor { map, coordinates, .. } => {
                    let map = Box::new(self.name(frame, &map.0, None));
                    Operand::Tensor(map, coordinates.iter().map(|one| self.value(frame, one)).collect())
                }
                Argument::Handle(parts) => Operand::Vector(parts.iter().map(|one| self.value(frame, one)).collect()),
                Argument::Pair(..) => Operand::Nothing,
            };
            std::iter::once((*role, operand)).chain(instead).collect()
        };
        form.arguments().iter().flat_map(operand).collect()
    }

    fn value(&mut self, frame: &mut Frame<'m>, operand: &instruction::Operand) -> Operand {
        match operand {
            instruction::Operand::Register(name) => self.name(frame, &name.0, None),
            instruction::Operand::Immediate(bits) => Operand::Constant(bits.cast_signed()),
            instruction::Operand::Sink => Operand::Nothing,
            instruction::Operand::Vector(elements) => {
                Operand::Vector(elements.iter().map(|element| self.value(frame, element)).collect())
            }
        }
    }

    fn name(&mut self, frame: &mut Frame<'m>, name: &str, suffix: Option<&str>) -> Operand {
        if let Some(symbol) = frame.symbols.get(name).or_else(|| self.library.by_name.get(name)) {
            return Operand::Symbol(*symbol);
        }
        let vector = frame.vector(name);
        // A declared register may have the name of a special register.
        let special = special::vector(name).filter(|_| vector.is_none() && (suffix.is_some() || !frame.declares(name)));
        match (suffix, special) {
            (Some(suffix), Some(special)) => special_element(special, suffix),
            (None, Some(special)) => Operand::Vector(ELEMENTS.map(|element| special_element(special, element)).into()),
            (Some(suffix), None) => Operand::Register(self.register(frame, &format!("{name}.{}", element(suffix)))),
            (None, None) => match vector {
                Some(count) => Operand::Vector(self.vector(frame, name, count)),
                None => match special::scalar(name) {
                    Some(special) => Operand::Special(special),
                    None => Operand::Register(self.register(frame, name)),
                },
            },
        }
    }

    /// The elements of a vector register.
    pub fn vector(&mut self, frame: &mut Frame<'m>, name: &str, count: usize) -> Vec<Operand> {
        let register = |element| Operand::Register(self.register(frame, &format!("{name}.{element}")));
        ELEMENTS.into_iter().take(count).map(register).collect()
    }

    pub fn operand(&mut self, frame: &mut Frame<'m>, operand: &Syntax<'_>) -> Operand {
        match &operand.shape {
            Shape::Name { name, suffix } => self.name(frame, name.text, suffix.map(|suffix| suffix.text)),
            Shape::Number(Number::Integer(bits) | Number::Double(bits)) => Operand::Constant(bits.cast_signed()),
            Shape::Number(Number::Single(bits)) => Operand::Constant(i64::from(*bits)),
            Shape::Sum(address) => {
                let base = self.name(frame, address.base.text, None);
                Operand::Address(Box::new(base), address.offset)
            }
            Shape::Memory { parts, .. } => match &parts[..] {
                [address @ Syntax { shape: Shape::Sum(_) | Shape::Name { .. } | Shape::Number(_), .. }] => {
                    match self.operand(frame, address) {
                        address @ Operand::Address(..) => address,
                        base => Operand::Address(Box::new(base), 0),
                    }
                }
                [map, place] => {
                    let map = Box::new(self.operand(frame, map));
                    Operand::Tensor(map, vec![self.operand(frame, place)])
                }
                _ => Operand::Nothing,
            },
            Shape::Vector(elements) => {
                Operand::Vector(elements.iter().map(|element| self.operand(frame, element)).collect())
            }
            Shape::Not(name) => match self.name(frame, name.text, None) {
                Operand::Register(register) => Operand::Not(register),
                _ => Operand::Nothing,
            },
            _ => Operand::Nothing,
        }
    }

    /// The registers that an operand writes.
    fn written(&mut self, frame: &mut Frame<'m>, operand: &Syntax<'_>) -> Vec<Option<Register>> {
        if let Shape::Pair(pair) = &operand.shape {
            return pair.iter().flat_map(|one| self.written(frame, one)).collect();
        }
        registers(&self.operand(frame, operand).into_elements())
    }
}

fn fence(of: &Reading<'_>) -> Action {
    Action::Fence(match of.find::<MembarLevel>().filter(|_| of.words[0] == "membar") {
        Some(level) => Fence { sem: Some(FenceSem::Sc), scope: level.scope() },
        None => Fence { sem: of.find(), scope: of.find().unwrap_or(Scope::Sys) },
    })
}

/// The suffixes of the elements of a vector register (section 6.4.3).
const ELEMENTS: [&str; 4] = ["x", "y", "z", "w"];

/// The suffix among [`ELEMENTS`] of an element: the color suffixes are synonyms.
fn element(suffix: &str) -> &str {
    let colors = ["r", "g", "b", "a"];
    colors.iter().position(|color| *color == suffix).map_or(suffix, |index| ELEMENTS[index])
}

/// An element of a special register. The fourth element is zero.
fn special_element(vector: SpecialVector, suffix: &str) -> Operand {
    element(suffix).parse().map_or(Operand::Constant(0), |axis| Operand::Special(Special::Vector(vector, axis)))
}

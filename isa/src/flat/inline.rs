//! Inlining of called functions.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{
    Action, CallSite, Flat, Label, LabelName, Leaving, Library, Limits, NotInlined, Operand, Register, RegisterName,
    Step, Symbol, SymbolName, typed::shaped,
};
use crate::{
    declaration::{Parameter, Variable},
    inst::InstPlace,
    module::{Code, Function, Jump},
    runtime::Runtime,
    syntax::{self, Shape},
    word::{Type, VectorSize},
};

/// A function in one call.
pub(super) struct Frame<'m> {
    /// The index of the call.
    pub number: usize,
    /// The index of the function in the module.
    index: u32,
    function: &'m Function,
    /// The instruction that is being read.
    at: InstPlace,
    /// The mnemonic of that instruction, with all modifiers.
    pub mnemonic: Arc<str>,
    pub registers: FxHashMap<String, Register>,
    /// The number of bits of registers, by name or by the prefix of a declared range; for a vector register, the bits
    /// of each element.
    widths: FxHashMap<String, u32>,
    /// The number of elements of vector registers, by name or by the prefix of a declared range.
    vectors: FxHashMap<String, usize>,
    pub symbols: FxHashMap<String, Symbol>,
    labels: FxHashMap<String, Label>,
    /// The call and the name under which the caller stores each parameter.
    pub parameters: FxHashMap<String, (usize, String)>,
    /// The target of `ret`; `None` if it leaves the outermost function.
    pub end: Option<Label>,
}

pub(super) struct Builder<'l, 'm> {
    pub library: &'l Library<'m>,
    limits: Limits,
    pub flat: Flat,
    /// The registers that hold parameters of calls, by call, name and byte offset.
    stored: FxHashMap<(usize, String, i64), Register>,
    /// Variables of functions that are shared by all calls, by function and name.
    variables: FxHashMap<(String, String), Symbol>,
    /// The total number of lines of the calls inlined so far.
    lines: usize,
    stack: Vec<&'m str>,
    /// Whether calls are kept, with their parameters as variables.
    pub is_alone: bool,
}

impl Flat {
    /// The code of a function with all its calls inlined, as far as the limits allow. A guarded call becomes a jump
    /// over its code.
    pub fn inline_calls<'m>(library: &Library<'m>, function: &'m Function, limits: Limits) -> Self {
        Self::build(library, function, limits, false)
    }

    /// The code of a function without inlining: calls become [`Action::Invoke`], and their parameters are variables. An
    /// interpreter of recursive functions needs this form.
    pub fn alone<'m>(library: &Library<'m>, function: &'m Function) -> Self {
        Self::build(library, function, Limits::default(), true)
    }

    fn build<'m>(library: &Library<'m>, function: &'m Function, limits: Limits, is_alone: bool) -> Self {
        let head = function.head.clone();
        let symbols = library.symbols.clone();
        let flat =
            Self { module_symbols: symbols.len(), symbols, head: head.clone(), sm: library.sm, ..Self::default() };
        let mut builder = Builder {
            library,
            limits,
            flat,
            stored: FxHashMap::default(),
            variables: FxHashMap::default(),
            lines: 0,
            stack: Vec::new(),
            is_alone,
        };
        let number = library.functions.get(&*function.name).map_or(0, |(number, _)| *number);
        let mut frame = builder.frame((number, function), None);
        let parameters = head.parameters.into_iter();
        let parameters = parameters.flat_map(|parameter| builder.formal(&mut frame, parameter)).collect();
        let results = if is_alone { head.results } else { Vec::new() };
        let results = results.into_iter().flat_map(|result| builder.formal(&mut frame, result)).collect();
        builder.flat.formals = [results, parameters];
        builder.body(&mut frame);
        // A label that no instruction follows refers to the end.
        frame.at = function.place(number, function.body.as_ref().map_or(0, Vec::len));
        builder.push(&frame, None, Vec::new(), Action::Leave(Leaving::Function));
        let end = builder.flat.steps.len() - 1;
        builder.flat.labels.iter_mut().for_each(|label| label.at = label.at.min(end));
        builder.flat
    }
}

impl<'m> Builder<'_, 'm> {
    /// The operands for a parameter or a result of the function itself: a vector register has an operand for each
    /// element.
    fn formal(&mut self, frame: &mut Frame<'m>, formal: Parameter) -> Vec<Operand> {
        if self.is_alone && formal.is_register {
            frame.widths.insert(formal.name.clone(), formal.ty.map_or(0, Type::bits));
            return self.formal_registers(frame, &formal);
        }
        let Parameter { name, align, ty, elements, .. } = formal;
        let (elements, initial) = (elements.unwrap_or(1), Vec::new());
        let variable = Variable { name: name.clone(), space: None, ty, elements, align, is_extern: false, initial };
        self.flat.symbols.push(SymbolName { variable, call: None });
        let symbol = self.flat.symbols.len() - 1;
        frame.symbols.insert(name, symbol);
        vec![Operand::Symbol(symbol)]
    }

    /// The register of a parameter or a result that is a register, or the registers of its elements.
    fn formal_registers(&mut self, frame: &mut Frame<'m>, Parameter { name, vector, .. }: &Parameter) -> Vec<Operand> {
        let Some(vector) = vector else { return vec![Operand::Register(self.register(frame, name))] };
        frame.vectors.insert(name.clone(), vector.elements());
        self.vector(frame, name, vector.elements())
    }

    /// The frame of a function that the frame `from` calls.
    fn frame(&mut self, (index, function): (u32, &'m Function), from: Option<&Frame<'m>>) -> Frame<'m> {
        let call = from.map(|from| (from.at, from.number));
        self.flat.calls.push(CallSite { function: function.name.clone(), from: call });
        Frame {
            number: self.flat.calls.len() - 1,
            index,
            function,
            at: from.map_or(InstPlace::default(), |from| from.at),
            mnemonic: Arc::default(),
            registers: FxHashMap::default(),
            widths: FxHashMap::default(),
            vectors: FxHashMap::default(),
            symbols: FxHashMap::default(),
            labels: FxHashMap::default(),
            parameters: FxHashMap::default(),
            end: None,
        }
    }

    fn body(&mut self, frame: &mut Frame<'m>) {
        self.stack.push(&frame.function.name);
        for (index, line) in frame.function.body.iter().flatten().enumerate() {
            frame.at = frame.function.place(frame.index, index);
            match &line.code {
                Code::Label(name) => {
                    let label = self.label(frame, &name.0);
                    self.flat.labels[label].at = self.flat.steps.len();
                }
                Code::Directive(text) => self.directive(frame, text),
                Code::Open | Code::Close => {}
                Code::Instruction { guard, instruction } => {
                    frame.mnemonic = line.mnemonic().unwrap_or_default().into();
                    self.instruction(frame, &shaped(guard, instruction), &Jump::Next);
                }
                Code::Other(other) => match syntax::statement(&other.text) {
                    Ok(syntax::Statement::Instruction(instruction)) => {
                        frame.mnemonic = other.mnemonic.as_str().into();
                        self.instruction(frame, &instruction, &other.jump);
                    }
                    _ => {
                        frame.mnemonic = other.text.as_str().into();
                        self.push(frame, None, Vec::new(), Action::Unknown);
                    }
                },
            }
        }
        self.stack.pop();
    }

    fn directive(&mut self, frame: &mut Frame<'m>, text: &str) {
        if let Ok(syntax::Statement::Directive(directive)) = syntax::statement(text)
            && let Some((words, declared)) = directive.registers()
        {
            let width = words.iter().find_map(|word| word.text.parse::<Type>().ok()).map_or(0, Type::bits);
            let names = || declared.iter().map(|declared| declared.name.text.to_owned());
            frame.widths.extend(names().map(|name| (name, width)));
            if let Some(vec) = words.iter().find_map(|word| word.text.parse::<VectorSize>().ok()) {
                frame.vectors.extend(names().map(|name| (name, vec.elements())));
            }
            return;
        }
        // Variables in parameter space are arguments and results of calls. They have no address if calls are inlined.
        let is_alone = self.is_alone;
        for variable in Variable::read(text).into_iter().filter(|variable| variable.space.is_some() || is_alone) {
            let name = variable.name.clone();
            let key = (frame.function.name.clone(), name.clone());
            let is_of_call = matches!(variable.space, Some(crate::word::Space::Local) | None);
            let known = self.variables.get(&key).copied().filter(|_| !is_of_call);
            let symbol = known.unwrap_or(self.flat.symbols.len());
            if known.is_none() {
                self.variables.insert(key, symbol);
                let variable = Variable { name: frame.function.source_name(&name).to_owned(), ..variable };
                self.flat.symbols.push(SymbolName { variable, call: is_of_call.then_some(frame.number) });
            }
            frame.symbols.insert(name, symbol);
        }
    }

    pub fn push(
        &mut self,
        frame: &Frame<'m>,
        guard: Option<(Register, bool)>,
        writes: Vec<Option<Register>>,
        action: Action,
    ) {
        let (at, mnemonic) = (frame.at, frame.mnemonic.clone());
        self.flat.steps.push(Step { at, call: frame.number, guard, writes, action, mnemonic });
    }

    pub fn label(&mut self, frame: &mut Frame<'m>, name: &str) -> Label {
        if let Some(label) = frame.labels.get(name) {
            return *label;
        }
        let label = self.new_label(frame.number, Some(name.to_owned()));
        frame.labels.insert(name.into(), label);
        label
    }

    /// A new label. Until its position is set, it refers to the end.
    fn new_label(&mut self, call: usize, name: Option<String>) -> Label {
        self.flat.labels.push(LabelName { name, call, at: usize::MAX });
        self.flat.labels.len() - 1
    }

    pub fn register(&mut self, frame: &mut Frame<'m>, name: &str) -> Register {
        if let Some(register) = frame.registers.get(name) {
            return *register;
        }
        // An element of a vector register has the declared width of the vector.
        let declared = name.split_once('.').map_or(name, |(vector, _)| vector);
        let bits = by_name(&frame.widths, declared).unwrap_or(0);
        let register = self.new_register(RegisterName { name: name.into(), offset: None, call: frame.number, bits });
        frame.registers.insert(name.into(), register);
        register
    }

    fn new_register(&mut self, name: RegisterName) -> Register {
        self.flat.registers.push(name);
        self.flat.registers.len() - 1
    }

    /// The register that holds a parameter or result of a call, or a result of the function itself.
    pub fn stored(&mut self, (call, name): &(usize, String), offset: i64) -> Register {
        let key = (*call, name.clone(), offset);
        if let Some(register) = self.stored.get(&key) {
            return *register;
        }
        let register = RegisterName { name: name.clone(), offset: Some(offset), call: *call, bits: 0 };
        let register = self.new_register(register);
        self.stored.insert(key, register);
        register
    }

    pub fn call(
        &mut self,
        frame: &mut Frame<'m>,
        guard: Option<(Register, bool)>,
        instruction: &syntax::Instruction<'_>,
        leaves: bool,
    ) {
        let mut operands = instruction.operands.iter().peekable();
        let results = operands.next_if(|operand| matches!(operand.shape, Shape::List(_)));
        let results = results.map(elements).unwrap_or_default();
        let callee = operands.next().map_or("", |operand| operand.text.text);
        let arguments = operands.next().map(elements).unwrap_or_default();
        if self.is_alone {
            let register = match self.library.functions.contains_key(callee) || Runtime::from_symbol(callee).is_some() {
                true => None,
                false => Some(self.register(frame, callee)),
            };
            let mut read = |list: &[syntax::Operand<'_>]| {
                list.iter().flat_map(|one| self.operand(frame, one).into_elements()).collect()
            };
            let (arguments, results) = (read(arguments), read(results));
            let action = Action::Invoke { callee: callee.to_owned(), register, arguments, results };
            return self.push(frame, guard, Vec::new(), action);
        }
        let function = self.library.functions.get(callee).copied();
        let (number, function) = match self.inlined(callee, function, leaves) {
            Ok(found) => found,
            Err(None) => return self.push(frame, guard, Vec::new(), Action::Trap),
            Err(Some(why)) => {
                let writes = results.iter().map(|result| self.result(frame, result)).collect();
                return self.push(frame, guard, writes, Action::Call(callee.to_owned(), why));
            }
        };
        self.lines += function.body.as_ref().map_or(0, Vec::len);
        let mut inner = self.frame((number, function), Some(frame));
        let end = self.new_label(inner.number, None);
        inner.end = Some(end);
        if let Some((register, holds)) = guard {
            self.push(frame, Some((register, !holds)), Vec::new(), Action::Jump(vec![end], None));
        }
        let head = function.head.clone();
        let mut back = Vec::new();
        let pairs = head.parameters.iter().zip(arguments).map(|pair| (pair, true));
        for ((formal, actual), is_in) in pairs.chain(head.results.iter().zip(results).map(|pair| (pair, false))) {
            let named = match &actual.shape {
                Shape::Name { name, suffix: None } => Some(name.text),
                _ => None,
            };
            // A parameter in parameter space is shared by caller and callee; a register is copied.
            let is_register = |name: &&str| frame.registers.contains_key(*name) || frame.vector(name).is_some();
            if let Some(name) = named.filter(|name| !is_register(name)) {
                inner.parameters.insert(formal.name.clone(), self.parameter(frame, name));
                continue;
            }
            let (ty, formal) = (formal.ty.unwrap_or(Type::B64), self.formal_registers(&mut inner, formal));
            let actual = self.operand(frame, actual).into_elements();
            if is_in {
                self.push(&inner, None, registers(&formal), Action::Pass { ty, from: actual });
            } else {
                back.push((registers(&actual), formal, ty));
            }
        }
        self.body(&mut inner);
        self.flat.labels[end].at = self.flat.steps.len();
        for (to, from, ty) in back {
            self.push(frame, None, to, Action::Pass { ty, from });
        }
        // A label needs an instruction.
        self.push(frame, None, Vec::new(), Action::Nothing);
    }

    /// The function to inline for a call: `Err(None)` if the call traps, and the reason if the call is kept.
    fn inlined(
        &self,
        callee: &str,
        function: Option<(u32, &'m Function)>,
        leaves: bool,
    ) -> Result<(u32, &'m Function), Option<NotInlined>> {
        let runtime = Runtime::from_symbol(callee);
        let Some((found, body)) = function.and_then(|found| Some((found, found.1.body.as_ref()?))) else {
            return Err(match runtime {
                _ if leaves => None,
                Some(Runtime::Ends | Runtime::Fails) => None,
                Some(runtime) => Some(NotInlined::Runtime(runtime)),
                None if function.is_some() => Some(NotInlined::NoCode),
                None => Some(NotInlined::NotNamed),
            });
        };
        let within = self.stack.iter().filter(|name| **name == callee).count();
        if within > self.limits.recursion {
            return Err(Some(NotInlined::Recursive));
        }
        if self.stack.len() >= self.limits.depth || self.lines + body.len() > self.limits.lines {
            return Err(Some(NotInlined::TooLong));
        }
        Ok(found)
    }

    /// The owner of a parameter or result of a call: the outermost call that has it, and its name there.
    pub fn parameter(&self, frame: &Frame<'m>, name: &str) -> (usize, String) {
        frame.parameters.get(name).cloned().unwrap_or((frame.number, name.into()))
    }

    /// The register that receives the result of a call that is not inlined.
    fn result(&mut self, frame: &mut Frame<'m>, operand: &syntax::Operand<'_>) -> Option<Register> {
        match &operand.shape {
            Shape::Name { name, suffix: None } if frame.registers.contains_key(name.text) => {
                Some(self.register(frame, name.text))
            }
            Shape::Name { name, suffix: None } => {
                let parameter = self.parameter(frame, name.text);
                Some(self.stored(&parameter, 0))
            }
            _ => None,
        }
    }
}

impl Frame<'_> {
    /// Whether a register of this name is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.widths.contains_key(name)
    }

    /// The number of elements of a register that is declared as a vector.
    pub fn vector(&self, name: &str) -> Option<usize> {
        by_name(&self.vectors, name)
    }
}

/// The declaration of a name, or of the range to which the name belongs.
fn by_name<T: Copy>(declared: &FxHashMap<String, T>, name: &str) -> Option<T> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    declared.get(name).or_else(|| declared.get(stem)).copied()
}

/// The operands in parentheses.
fn elements<'s, 't>(operand: &'s syntax::Operand<'t>) -> &'s [syntax::Operand<'t>] {
    match &operand.shape {
        Shape::List(elements) => elements,
        _ => &[],
    }
}

/// The registers that operands write.
pub(super) fn registers(operands: &[Operand]) -> Vec<Option<Register>> {
    let register = |operand: &Operand| match operand {
        Operand::Register(register) => Some(*register),
        _ => None,
    };
    operands.iter().map(register).collect()
}

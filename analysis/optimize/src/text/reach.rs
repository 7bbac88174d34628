//! The scope of threads that can access a location.

use ptx_isa::{
    AluOp, Code, Form, Function, Head, Line, ModifierKind, Module, Runtime, Scope, Space, Type,
    arithmetic::Computation,
    flat::{Action, Flat, Library, Operand, Register},
    operation::Operation,
};
use ptx_lowering::Target;
use rustc_hash::FxHashSet;

use crate::text::launch::Launch;

/// The number of steps back that the analysis follows an address.
const DEEPEST: usize = 32;

/// The facts about the addresses of a module.
#[derive(Clone)]
pub struct Reach {
    /// The scope of threads that access global memory.
    global: Scope,
    /// The scope of threads that access the shared memory of a CTA.
    shared: Scope,
    /// The reason why other threads of the cluster can access shared memory, in words that follow "because".
    pub obstacle: Option<String>,
    /// The narrowest scope that includes all threads that take part.
    pub within: Scope,
    /// The facts for functions that kernels of other files may call, if there are any.
    elsewhere: Option<Box<Self>>,
}

impl Reach {
    pub fn new(module: &Module, target: &Target, launch: Launch) -> Self {
        let obstacle = obstacle(module).filter(|_| target.meets(Form::ClusterScope.requirement()));
        let global = match launch.size.grid {
            _ if !launch.alone => Scope::Sys,
            Some([1, 1, 1]) => Scope::Cta,
            _ => Scope::Gpu,
        };
        let shared = if obstacle.is_some() { Scope::Cluster.min(global) } else { Scope::Cta };
        let reach = Self { global, shared, obstacle, within: global, elsewhere: None };
        let is_called = |function: &Function| !function.head.is_entry && function.head.is_visible;
        let elsewhere = module.functions().find(|function| function.body.is_some() && is_called(function));
        let elsewhere = elsewhere.map(|function| {
            let why = format!("`{}` may be called by kernels of other files", function.name);
            let obstacle = Some(why).filter(|_| target.meets(Form::ClusterScope.requirement()));
            let shared = if obstacle.is_some() { Scope::Cluster.min(global) } else { Scope::Cta };
            Box::new(Self { global, shared, obstacle, within: global, elsewhere: None })
        });
        Self { elsewhere, ..reach }
    }

    /// The facts that hold within a function.
    pub fn within(&self, function: &Function) -> &Self {
        match &self.elsewhere {
            Some(elsewhere) if !function.head.is_entry => elsewhere,
            _ => self,
        }
    }

    /// The narrowest scope that includes every thread that can access the location at an address.
    pub fn at(&self, address: &Operand, space: Option<Space>, flat: &Flat, writers: &Writers) -> Scope {
        match space {
            Some(space) if space.is_shared_cta() => self.shared,
            Some(Space::SharedCluster) => Scope::Cluster.min(self.global),
            Some(Space::Global) => self.global,
            _ if is_shared(address, flat, writers, DEEPEST) => self.shared,
            _ => self.global,
        }
    }
}

/// For each register, the only step that writes it, if there is exactly one.
pub struct Writers(Vec<Writer>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    None,
    One(usize),
    Several,
}

impl Writers {
    pub fn new(flat: &Flat) -> Self {
        let mut all = vec![Writer::None; flat.registers.len()];
        let mut write = |register: Register, step| {
            all[register] = if all[register] == Writer::None { step } else { Writer::Several };
        };
        for (index, step) in flat.steps.iter().enumerate() {
            step.writes.iter().flatten().for_each(|register| write(*register, Writer::One(index)));
            if let Action::Invoke { results, .. } = &step.action {
                registers(results).for_each(|register| write(register, Writer::One(index)));
            }
        }
        // The caller writes the parameters.
        registers(&flat.formals[1]).for_each(|register| {
            all[register] = if all[register] == Writer::None { Writer::None } else { Writer::Several };
        });
        Self(all)
    }

    /// The only step that writes a register; `Ok(None)` if no step does, so that the register keeps its value from the
    /// entry.
    pub fn single_writer(&self, register: Register) -> Result<Option<usize>, ()> {
        match self.0[register] {
            Writer::None => Ok(None),
            Writer::One(step) => Ok(Some(step)),
            Writer::Several => Err(()),
        }
    }
}

fn registers(operands: &[Operand]) -> impl Iterator<Item = Register> {
    operands.iter().filter_map(|operand| match operand {
        Operand::Register(register) => Some(*register),
        _ => None,
    })
}

/// Whether a generic address points to the shared memory of the thread's own CTA, whatever is added to it.
fn is_shared(operand: &Operand, flat: &Flat, writers: &Writers, depth: usize) -> bool {
    let follow = |operand: &Operand| is_shared(operand, flat, writers, depth - 1);
    match operand {
        _ if depth == 0 => false,
        Operand::Address(base, _) => follow(base),
        Operand::Register(register) => {
            let Ok(Some(step)) = writers.single_writer(*register) else { return false };
            let Action::Compute(operation, sources) = &flat.steps[step].action else { return false };
            match operation {
                // The converted address points to shared memory of the CTA; otherwise the program is undefined.
                Operation::Cvta { to: false, space: Some(Space::Shared | Space::SharedCta) } => true,
                Operation::Arithmetic(Computation::Alu(AluOp::Add, _)) => match &sources[..] {
                    [one, other] => {
                        follow(one) && is_offset(other, flat, writers) || follow(other) && is_offset(one, flat, writers)
                    }
                    _ => false,
                },
                Operation::Mov(_) => sources.first().is_some_and(follow),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a number is computed like an index, and cannot be a difference of addresses.
fn is_offset(operand: &Operand, flat: &Flat, writers: &Writers) -> bool {
    match operand {
        Operand::Constant(_) => true,
        Operand::Register(register) => {
            let Ok(Some(step)) = writers.single_writer(*register) else { return false };
            let Action::Compute(Operation::Arithmetic(computation), _) = &flat.steps[step].action else { return false };
            match computation {
                Computation::Alu(op, _) => matches!(op, AluOp::MulWide | AluOp::Shl),
                Computation::Cvt { to: Type::S64 | Type::U64, from: Type::S32 | Type::U32 } => true,
                _ => false,
            }
        }
        _ => false,
    }
}

/// The reason why threads of other CTAs can access shared memory, if there is one.
fn obstacle(module: &Module) -> Option<String> {
    let known: FxHashSet<&str> =
        module.functions().filter(|function| function.body.is_some()).map(|function| function.name.as_str()).collect();
    let of_one = |head: &Head| head.required_ctas == Some([1; 3]) || head.most_ctas == Some(1);
    let kernels = || module.functions().filter(|function| function.head.is_entry);
    if kernels().next().is_some() && kernels().all(|kernel| of_one(&kernel.head)) {
        return None;
    }
    let library = Library::new(module);
    let mut functions = module.functions().filter(|function| function.body.is_some());
    functions.find_map(|function| {
        let flat = Flat::alone(&library, function);
        let writers = Writers::new(&flat);
        let is_instruction = |line: &&Line| matches!(line.code, Code::Instruction { .. } | Code::Other(_));
        let lines = function.body.iter().flatten().filter(is_instruction);
        lines.zip(&flat.steps).find_map(|(line, step)| {
            let why = match &step.action {
                Action::Compute(Operation::Mapa(_), _) => "maps shared memory of other CTAs".to_owned(),
                Action::Asynchronous(form, _) if form.modifier(ModifierKind::Multicast).is_some() => {
                    "writes to shared memory of other CTAs".to_owned()
                }
                // A CTA may compute the address of another CTA's memory from an address of its own.
                Action::Access(access) if access.space == Some(Space::SharedCluster) => {
                    names_others([&access.address], &flat, &writers)?
                }
                Action::Asynchronous(form, operands) if form.has("shared::cluster") => {
                    names_others(operands.iter().map(|(_, operand)| operand), &flat, &writers)?
                }
                Action::Invoke { callee, .. }
                    if !known.contains(&**callee) && Runtime::from_symbol(callee).is_none() =>
                {
                    "calls a function that may map shared memory of other CTAs".to_owned()
                }
                _ => return None,
            };
            Some(format!("line {} {why}", line.number))
        })
    })
}

/// The reason, if an address of the cluster's shared memory may belong to another CTA.
fn names_others<'o>(operands: impl IntoIterator<Item = &'o Operand>, flat: &Flat, writers: &Writers) -> Option<String> {
    let is_other = |operand: &Operand| match operand {
        Operand::Address(base, _) => !is_own(base, flat, writers, DEEPEST),
        _ => false,
    };
    let has_other = operands.into_iter().any(is_other);
    has_other.then(|| "addresses shared memory of the cluster".to_owned())
}

/// Whether an address in shared memory is the address of a variable, whatever index is added to it.
fn is_own(operand: &Operand, flat: &Flat, writers: &Writers, depth: usize) -> bool {
    let follow = |operand: &Operand| is_own(operand, flat, writers, depth - 1);
    match operand {
        _ if depth == 0 => false,
        Operand::Symbol(_) => true,
        Operand::Address(base, _) => follow(base),
        Operand::Register(register) => {
            let Ok(Some(step)) = writers.single_writer(*register) else { return false };
            let Action::Compute(operation, sources) = &flat.steps[step].action else { return false };
            match (operation, &sources[..]) {
                (Operation::Mov(_) | Operation::Cvta { .. }, [source]) => follow(source),
                (Operation::Arithmetic(Computation::Alu(AluOp::Add, _)), [one, other]) => {
                    follow(one) && is_offset(other, flat, writers) || follow(other) && is_offset(one, flat, writers)
                }
                _ => false,
            }
        }
        _ => false,
    }
}

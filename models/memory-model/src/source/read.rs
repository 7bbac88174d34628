//! Source programs as text.
//!
//! ```text
//! name: MP
//! P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1
//! P1@1.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x
//! ```
//!
//! A thread runs at `cta.gpu`, or at `cta.cluster.gpu`. Instructions are `rN=ld.order[.scope] x`, `st.order[.scope] x
//! value`, `[rN=]rmw.op.order.scope x value`, `rN=cas.success/failure.scope x expected new`, `fence.order.scope` and
//! `rN=value`; values are numbers or registers. `if rN == value { … }` and `if rN != value { … }` guard the
//! instructions between the braces; `do { … } while rN == value` and `do { … } while rN != value` repeat them, up to
//! `break if rN == value` or `break if rN != value`. Variables begin as 0. A line that begins with `#` is a comment.

use super::{Fence, Instruction, Order, Program, Semantics, Thread};
use crate::{
    litmus::Error,
    place::{Place, Scope},
    program::{
        Address, AtomOp, Cmp, Computation, Label, Location, Operand, Register, RegisterDeclaration, RmwOp, Type,
        Variable,
    },
};

/// A named source program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The text after `name:`.
    pub name: String,
    /// The program.
    pub program: Program,
}

/// Reads the programs of a text.
///
/// # Errors
/// The first part of the text that is not as expected, with its position.
pub fn sources(text: &str) -> Result<Vec<Source>, Error> {
    let mut sources: Vec<Source> = Vec::new();
    let empty = |last: Option<&Source>, line: usize| match last {
        Some(Source { name, program }) if program.threads.is_empty() => {
            Err(Error { line, column: 1, message: format!("`{name}` has no threads") })
        }
        _ => Ok(()),
    };
    let mut named = 0;
    for (number, line) in text.lines().enumerate() {
        let at = |part: &str, message: String| {
            let column = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize) + 1;
            Error { line: number + 1, column, message }
        };
        let content = line.split('#').next().unwrap_or_default();
        if content.trim().is_empty() {
            continue;
        }
        if let Some(name) = content.trim_start().strip_prefix("name:") {
            empty(sources.last(), named)?;
            named = number + 1;
            let program = Program { locations: Vec::new(), threads: Vec::new() };
            sources.push(Source { name: name.trim().into(), program });
            continue;
        }
        let Some(source) = sources.last_mut() else {
            return Err(at(content.trim(), "a program begins with `name:`".into()));
        };
        thread(&mut source.program, content.trim()).map_err(|(part, message)| at(part, message))?;
    }
    empty(sources.last(), named)?;
    Ok(sources)
}

/// An open brace.
enum Open {
    /// Of a guard, with the label after the guarded instructions.
    Guard(Label),
    /// Of a loop, with the label before it, and the label after it if the loop contains a `break`.
    Loop(Label, Option<Label>),
}

/// The error has the part of the line that it concerns.
type Parsed<'t, T> = Result<T, (&'t str, String)>;

fn thread<'t>(program: &mut Program, line: &'t str) -> Parsed<'t, ()> {
    let expected = || (line, format!("expected `P{}@cta.gpu:`", program.threads.len()));
    let (head, code) = line.split_once(':').ok_or_else(expected)?;
    let (name, place) = head.split_once('@').ok_or_else(expected)?;
    let parts: Vec<&str> = place.trim().split('.').collect();
    if name.trim() != format!("P{}", program.threads.len()) {
        return Err(expected());
    }
    let number = |digits: &str| match digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => digits.parse().map_err(|_| expected()),
        false => Err(expected()),
    };
    let place = match parts[..] {
        [cta, gpu] => Place { cta: number(cta)?, gpu: number(gpu)?, ..Place::default() },
        [cta, cluster, gpu] => {
            Place { cta: number(cta)?, gpu: number(gpu)?, cluster: Some(number(cluster)?), ..Place::default() }
        }
        _ => return Err(expected()),
    };
    let mut thread = Thread { place, registers: Vec::new(), labels: Vec::new(), code: Vec::new() };
    let (mut rest, mut open, mut ended) = (code, Vec::new(), None::<(Label, Option<Label>)>);
    while !rest.is_empty() {
        let (text, after) = rest.split_at(rest.find([';', '{', '}']).unwrap_or(rest.len()));
        let (end, after) = after.split_at(after.len().min(1));
        let statement = text.trim();
        rest = after;
        if let Some((target, left)) = ended.take() {
            let (cmp, a, b) = comparison(&thread, statement, "while")?;
            thread.code.push(Instruction::Branch { when: Some((cmp, a, b)), target }.into());
            thread.code.extend(left.map(|label| Instruction::Label(label).into()));
        } else if end == "{" && statement == "do" {
            let label = label(&mut thread, "loop", statement)?;
            thread.code.push(Instruction::Label(label).into());
            open.push((Open::Loop(label, None), statement));
            continue;
        } else if end == "{" {
            let (cmp, a, b) = comparison(&thread, statement, "if")?;
            let skips = if cmp == Cmp::Eq { Cmp::Ne } else { Cmp::Eq };
            let target = label(&mut thread, "end", statement)?;
            thread.code.push(Instruction::Branch { when: Some((skips, a, b)), target }.into());
            open.push((Open::Guard(target), statement));
            continue;
        } else if statement.starts_with("break ") {
            let (cmp, a, b) = comparison(&thread, statement, "break if")?;
            let inner = open.iter_mut().rev().find_map(|(open, _)| match open {
                Open::Loop(_, left) => Some(left),
                Open::Guard(_) => None,
            });
            let left = inner.ok_or_else(|| (statement, "`break` without a loop".to_owned()))?;
            let target = match *left {
                Some(label) => label,
                None => *left.insert(label(&mut thread, "left", statement)?),
            };
            thread.code.push(Instruction::Branch { when: Some((cmp, a, b)), target }.into());
        } else if !statement.is_empty() {
            let instruction = instruction(program, &mut thread, statement)?;
            thread.code.push(instruction.into());
        }
        match end {
            "{" => return Err((statement, "`{` after a loop".into())),
            "}" => match open.pop().ok_or_else(|| (end, "`}` without `{`".to_owned()))? {
                (Open::Guard(label), _) => thread.code.push(Instruction::Label(label).into()),
                (Open::Loop(label, left), _) => ended = Some((label, left)),
            },
            _ => {}
        }
    }
    if let Some((_, before)) = open.pop() {
        return Err((before, "`{` without `}`".into()));
    }
    if ended.is_some() {
        return Err((code, "a loop ends with `} while register == value`, or `!=`".into()));
    }
    program.threads.push(thread);
    Ok(())
}

fn label<'t>(thread: &mut Thread, name: &str, at: &'t str) -> Parsed<'t, Label> {
    let number = u16::try_from(thread.labels.len()).map_err(|_| (at, "too many braces".to_owned()))?;
    thread.labels.push(format!("{name}{number}"));
    Ok(Label(number))
}

/// The comparison after `if`, `while` or `break if`.
fn comparison<'t>(thread: &Thread, text: &'t str, word: &str) -> Parsed<'t, (Cmp, Operand, Operand)> {
    let words: Vec<&str> =
        text.strip_prefix(word).filter(|rest| rest.starts_with(' ')).unwrap_or_default().split_whitespace().collect();
    let (left, cmp, right) = match words[..] {
        [left, "==", right] => (left, Cmp::Eq, right),
        [left, "!=", right] => (left, Cmp::Ne, right),
        _ => {
            let brace = if word == "if" { " {" } else { "" };
            return Err((text, format!("expected `{word} register == value{brace}`, or `!=`")));
        }
    };
    Ok((cmp, value(thread, left)?, value(thread, right)?))
}

fn instruction<'t>(program: &mut Program, thread: &mut Thread, text: &'t str) -> Parsed<'t, Instruction> {
    let (d, operation) = match text.split_once('=') {
        Some((d, operation)) => (Some(named(d.trim())?), operation.trim()),
        None => (None, text),
    };
    let mut words = operation.split_whitespace();
    let mnemonic = words.next().unwrap_or(text);
    let operands: Vec<&str> = words.collect();
    let count = |expected: usize| match operands.len() == expected {
        true => Ok(()),
        false => Err((text, format!("`{mnemonic}` takes {expected} operands, not {}", operands.len()))),
    };
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let order = |word: &'t str| word.parse::<Order>().map_err(|_| (word, format!("`{word}` is not an ordering")));
    let scope = |word: &'t str| word.parse::<Scope>().map_err(|_| (word, format!("`{word}` is not a scope")));
    let ty = Type::U64;
    // The default scope is the system.
    let optional = |rest: &[&'t str]| match rest {
        [] => Ok(Scope::Sys),
        [level] => scope(level),
        [_, more, ..] => Err((*more, format!("unexpected `{more}`"))),
    };
    // The result register is written last; the operands are read before.
    let instruction: Parsed<'t, Instruction> = match (parts[..].split_first(), d) {
        (Some((&"ld", [word, rest @ ..])), Some(d)) => {
            count(1)?;
            let access = Semantics::new(order(word)?, optional(rest)?);
            if matches!(access.order, Order::Release | Order::AcqRel) {
                return Err((word, format!("a load cannot be `{word}`")));
            }
            Ok(Instruction::Load { d: register(thread, d), a: address(program, operands[0])?, ty, access })
        }
        (Some((&"st", [word, rest @ ..])), None) => {
            count(2)?;
            let access = Semantics::new(order(word)?, optional(rest)?);
            if matches!(access.order, Order::Acquire | Order::AcqRel) {
                return Err((word, format!("a store cannot be `{word}`")));
            }
            Ok(Instruction::Store { a: address(program, operands[0])?, b: value(thread, operands[1])?, ty, access })
        }
        (Some((&"rmw", [op, word, level])), d) => {
            count(2)?;
            let op: RmwOp = op.parse().map_err(|_| (*op, format!("`{op}` is not an operation")))?;
            let access = Semantics::new(atomic(order(word)?, word)?, scope(level)?);
            let (a, b) = (address(program, operands[0])?, value(thread, operands[1])?);
            if op == AtomOp::Cas.into() {
                return Err((text, "a compare and exchange is written `cas`".into()));
            }
            let d = d.map(|d| register(thread, d));
            Ok(Instruction::Rmw { op, d, a, b, c: Operand::Immediate(0), ty, access })
        }
        (Some((&"cas", [orders, level])), Some(d)) => {
            count(3)?;
            let both = || (*orders, "expected the orderings of success and failure".to_string());
            let (success, failure) = orders.split_once('/').ok_or_else(both)?;
            let access = Semantics {
                order: atomic(order(success)?, success)?,
                failure: atomic(order(failure)?, failure)?,
                scope: scope(level)?,
            };
            if matches!(access.failure, Order::Release | Order::AcqRel) {
                return Err((failure, "a failed exchange does not release".into()));
            }
            let a = address(program, operands[0])?;
            let (b, c) = (value(thread, operands[1])?, value(thread, operands[2])?);
            Ok(Instruction::Rmw { op: AtomOp::Cas.into(), d: Some(register(thread, d)), a, b, c, ty, access })
        }
        (Some((&"fence", [word, level])), None) => {
            count(0)?;
            match order(word)? {
                Order::NonAtomic | Order::Relaxed => Err((word, format!("a fence cannot be `{word}`"))),
                order => Ok(Instruction::Fence(Fence { order, scope: scope(level)? })),
            }
        }
        (Some((word, [])), Some(d)) if operands.is_empty() && value(thread, word).is_ok() => {
            let sources = [value(thread, word)?, Operand::Immediate(0), Operand::Immediate(0)];
            Ok(Instruction::Alu { computation: Computation::MOV, ty, d: register(thread, d), sources })
        }
        _ => Err((text, format!("`{text}` is not an instruction of a source program"))),
    };
    let instruction = instruction?;
    let mut variables = program.locations.iter().map(|variable| &variable.name);
    let both = variables.find(|name| thread.registers.iter().any(|register| register.name == **name));
    match both {
        Some(name) => Err((text, format!("`{name}` is a variable and a register"))),
        None => Ok(instruction),
    }
}

/// A name of a register or a variable.
fn named(text: &str) -> Parsed<'_, &str> {
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Ok(text) } else { Err((text, format!("`{text}` is not a name"))) }
}

fn atomic<'t>(order: Order, word: &'t str) -> Parsed<'t, Order> {
    match order {
        Order::NonAtomic => Err((word, "a read-modify-write is atomic".into())),
        order => Ok(order),
    }
}

fn register(thread: &mut Thread, name: &str) -> Register {
    let index = thread.registers.iter().position(|register| register.name == name).unwrap_or_else(|| {
        thread.registers.push(RegisterDeclaration { name: name.into(), initial: 0, observed: true });
        thread.registers.len() - 1
    });
    Register(index as u16)
}

fn address<'t>(program: &mut Program, name: &'t str) -> Parsed<'t, Address> {
    let name = named(name)?;
    let index = program.locations.iter().position(|variable| variable.name == name).unwrap_or_else(|| {
        program.locations.push(Variable::new(name, 0));
        program.locations.len() - 1
    });
    Ok(Address { base: Operand::Address(Location(index as u16)), offset: 0 })
}

fn value<'t>(thread: &Thread, text: &'t str) -> Parsed<'t, Operand> {
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        let number = text.parse::<i128>().ok().filter(|number| (i64::MIN.into()..=u64::MAX.into()).contains(number));
        return number
            .map(|number| Operand::Immediate(number as u64))
            .ok_or_else(|| (text, format!("`{text}` is not a number of 64 bits")));
    }
    let known = thread.registers.iter().position(|register| register.name == named(text).unwrap_or_default());
    let unknown = || (text, format!("`{text}` is neither a number nor a register that was set"));
    known.map(|index| Operand::Register(Register(index as u16))).ok_or_else(unknown)
}

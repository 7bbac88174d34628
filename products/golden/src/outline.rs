//! The lines of a function that concern atomics. The remaining code of a kernel is left out.

use std::collections::{BTreeSet, HashMap, HashSet};

use ptx_atomics::ptx::{
    Code, Function, Instruction, Jump, LdSem, Line, Name, Other, StSem,
    flow::{Direction, Flow, NodeCode},
    mnemonic::Mnemonic,
};

/// The lines of a function's body that are atomics, fences, barriers and asynchronous instructions, that compute a
/// compare-and-swap loop, and the control flow between them; in the order of the text.
pub fn outline(function: &Function) -> Vec<&Line> {
    let Some(body) = &function.body else { return Vec::new() };
    let of_loops = loops(function);
    let is_kept = |line: &&Line| match &line.code {
        Code::Label(_) => true,
        Code::Instruction { instruction: Instruction::Bra { .. }, .. } => true,
        Code::Instruction { instruction, .. } => {
            is_strong(instruction) || of_loops.contains(&NodeCode::Instruction(instruction).place())
        }
        Code::Other(other) => {
            other.jump != Jump::Next || orders(other) || of_loops.contains(&NodeCode::Other(other).place())
        }
        Code::Directive(_) | Code::Open | Code::Close => false,
    };
    let mut lines: Vec<_> = body.iter().filter(is_kept).collect();
    loop {
        let kept = without_idle(&lines);
        if kept.len() == lines.len() {
            return lines;
        }
        lines = kept;
    }
}

fn is_strong(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Fence(_) | Instruction::Membar(_) | Instruction::Atom(_) | Instruction::Red(_) => true,
        Instruction::Ld(ld) => !matches!(ld.sem, LdSem::Plain | LdSem::Weak),
        Instruction::St(st) => !matches!(st.sem, StSem::Plain | StSem::Weak),
        _ => false,
    }
}

/// Whether an instruction that is not modelled orders other instructions, or is asynchronous.
pub fn orders(other: &Other) -> bool {
    let known = Mnemonic::find_row(&other.mnemonic);
    known.is_some_and(|known| known.order.is_some() || known.is_asynchronous) || matches!(other.base(), "atom" | "red")
}

/// The position of an instruction in memory. It distinguishes the instruction from other instructions with the same
/// text.
trait InstructionIdentity {
    fn place(self) -> usize;
}

impl InstructionIdentity for NodeCode<'_> {
    fn place(self) -> usize {
        match self {
            Self::Instruction(instruction) => std::ptr::from_ref(instruction) as usize,
            Self::Other(other) => std::ptr::from_ref(other) as usize,
            Self::Entry | Self::Exit => 0,
        }
    }
}

/// The instructions that compute the operands of a `cas` in a loop, and that decide by its result whether the loop
/// continues.
fn loops(function: &Function) -> BTreeSet<usize> {
    let flow = Flow::of_function(function);
    let mut found = BTreeSet::new();
    for node in flow.in_order() {
        let Some(cas) = flow.cas(node) else { continue };
        let after = flow.reached(node, Direction::Forward, |_| false);
        if !after[node] {
            continue;
        }
        let before = flow.reached(node, Direction::Backward, |_| false);
        let deciding = users(&flow, node, |user| after[user] && before[user]);
        let branches = deciding.into_iter().filter_map(|user| Some((user, &flow.nodes[user].guard?.p)));
        let operands = [Some(&cas.b), cas.c.as_ref()].into_iter().flatten().flat_map(|operand| operand.registers());
        let mut open: Vec<(usize, &Name)> = operands.map(|name| (node, name)).chain(branches).collect();
        let mut seen = HashSet::new();
        while let Some((at, name)) = open.pop() {
            for definition in flow.definitions(at, name) {
                if !seen.insert(definition) || is_parameter(flow.nodes[definition].code) {
                    continue;
                }
                found.insert(flow.nodes[definition].code.place());
                // The search does not continue from a load to the write of the loaded value.
                let loads = flow.instruction(definition).is_some_and(|found| found.address().is_some());
                if !loads {
                    open.extend(flow.nodes[definition].code.reads().map(|name| (definition, name)));
                }
            }
        }
    }
    found
}

/// The nodes that use a value of `node`, directly or through other nodes, among the nodes that `of_interest` selects.
fn users(flow: &Flow<'_>, node: usize, of_interest: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![node];
    while let Some(definition) = open.pop() {
        for name in flow.nodes[definition].code.writes() {
            for (user, node) in flow.nodes.iter().enumerate() {
                let guard = node.guard.map(|guard| &guard.p);
                let uses = node.code.reads().chain(guard).any(|read| read == name);
                if uses && of_interest(user) && flow.definitions(user, name).contains(&definition) && found.insert(user)
                {
                    open.push(user);
                }
            }
        }
    }
    found
}

fn is_parameter(code: NodeCode<'_>) -> bool {
    matches!(code, NodeCode::Other(other) if other.loads_parameter())
}

/// The lines without jumps and labels that do not change the control flow. The removal of a line may make further lines
/// superfluous.
fn without_idle<'l>(lines: &[&'l Line]) -> Vec<&'l Line> {
    let named: HashSet<_> = lines.iter().flat_map(|line| targets(line)).collect();
    let is_label = |line: &&Line| matches!(line.code, Code::Label(_));
    let has = |line: &&Line, name: &Name| matches!(&line.code, Code::Label(label) if label == name);
    let mut kept: Vec<&Line> = Vec::new();
    let mut labels_kept: HashMap<&Name, usize> = HashMap::new();
    // The index after the last line that is neither a label nor a branch.
    let mut since = 0;
    for (index, line) in lines.iter().enumerate() {
        let after = &lines[index + 1..];
        let labels = after.iter().take_while(|line| is_label(line));
        let is_idle = match (&line.code, branch(line)) {
            (_, Some((is_guarded, target))) => {
                let is_later_label = |name: &Name| labels.clone().any(|line| has(line, name));
                let here = kept.iter().rev().take_while(|line| is_label(line)).any(|line| has(line, target));
                // A loop without other lines, from which control continues after the branch.
                let start = labels_kept.get(target).copied().filter(|start| !is_guarded && *start >= since);
                let round = start.map_or(&[][..], |start| &kept[start..]);
                let is_left = round.iter().any(|line| branch(line).is_some_and(|(_, out)| is_later_label(out)));
                is_dead(&kept) || here || is_left || is_later_label(target)
            }
            (Code::Label(label), _) => !named.contains(label),
            (Code::Other(Other { jump: Jump::Out, .. }), _) => {
                let next = after.iter().find(|line| !is_label(line));
                is_dead(&kept) || next.is_none_or(|line| leaves(line))
            }
            _ => is_dead(&kept),
        };
        if is_idle {
            continue;
        }
        if let Code::Label(label) = &line.code {
            labels_kept.insert(label, kept.len());
        }
        kept.push(line);
        if !is_label(line) && branch(line).is_none() {
            since = kept.len();
        }
    }
    kept
}

/// Whether control reaches the end of these lines only at a label.
fn is_dead(above: &[&Line]) -> bool {
    above.last().is_some_and(|line| leaves(line) || branch(line).is_some_and(|(is_guarded, _)| !is_guarded))
}

/// The target of a branch, and whether the branch has a guard.
fn branch(line: &Line) -> Option<(bool, &Name)> {
    match &line.code {
        Code::Instruction { guard, instruction: Instruction::Bra { target } } => Some((guard.is_some(), target)),
        Code::Other(other) if other.base() == "bra" => match &other.jump {
            Jump::To(targets) => Some((other.guard.is_some(), targets.first()?)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the line always leaves the function.
fn leaves(line: &Line) -> bool {
    matches!(&line.code, Code::Other(Other { jump: Jump::Out, guard: None, .. }))
}

/// The labels to which a line may jump.
pub fn targets(line: &Line) -> &[Name] {
    match &line.code {
        Code::Instruction { instruction: Instruction::Bra { target }, .. } => std::slice::from_ref(target),
        Code::Other(Other { jump: Jump::To(targets), .. }) => targets,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;
    use ptx_atomics::ptx::Module;

    use super::*;

    fn check(body: &str, expected: &str) {
        let text = format!(".version 8.6\n.target sm_90\n.func f() {{\n{body}\n}}");
        let module: Module = text.parse().expect(body);
        let found = outline(module.functions().next().expect("a function")).iter().map(|line| &line.text).join("; ");
        let expected = expected.replace(':', "");
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn text_without_atomics_is_left_out() {
        check("add.u32 %r1, %r2, 1; st.global.b32 [%rd1], %r1; ret;", "");
        check(
            "ld.global.b32 %r1, [%rd1]; red.global.add.u32 [%rd1], %r1; bar.sync 0; ld.volatile.global.b32 %r1, [%rd1]; ret;",
            "red.global.add.u32 [%rd1], %r1; bar.sync 0; ld.volatile.global.b32 %r1, [%rd1]",
        );
        check(
            "cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.wait_all; fence.proxy.async;",
            "cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.wait_all; fence.proxy.async",
        );
    }

    #[test]
    fn control_flow_between_them_stays() {
        let atom = "atom.global.add.u32 %r1, [%rd1], 1";
        check(&format!("@%p1 bra $A; {atom}; $A: ret;"), &format!("@%p1 bra $A; {atom}; $A:"));
        check(&format!("@%p1 bra $A; bra $B; $A: add.u32 %r1, %r1, 1; $B: {atom}; ret;"), atom);
        check(&format!("$A: add.u32 %r1, %r1, 1; @%p1 bra $A; {atom}; ret;"), atom);
        check(&format!("$A: {atom}; @%p1 bra $A; ret;"), &format!("$A:; {atom}; @%p1 bra $A"));
        check(&format!("$A: @%p1 bra $B; add.u32 %r1, %r1, 1; bra.uni $A; $B: {atom}; ret;"), atom);
        check(&format!("$A: @%p1 bra $B; bra $A; $B: @%p2 bra $A; {atom}; ret;"), atom);
        check(&format!("$A: @%p1 bra $B; {atom}; bra $A; $B: ret;"), &format!("$A:; @%p1 bra $B; {atom}; bra $A; $B:"));
        check(&format!("@%p1 ret; {atom}; ret;"), &format!("@%p1 ret; {atom}"));
        check(&format!("{atom}; bra $A; {atom}; $A: ret;"), atom);
        check(&format!("@%p1 ret; {atom}; trap;"), &format!("@%p1 ret; {atom}; trap").replace("; trap", ""));
    }

    /// Kernels have thousands of branches.
    #[test]
    fn a_function_may_be_long() {
        let step =
            |number: usize| format!("@%p{number} bra $A{number}; add.u32 %r1, %r1, 1; $A{number}: mov.b32 %r2, %r1;");
        let body = (1..5_000).map(step).collect::<String>() + "atom.global.add.u32 %r1, [%rd1], 1; ret;";
        check(&body, "atom.global.add.u32 %r1, [%rd1], 1");
        let nested = (1..100).map(|number| format!("$A{number}: @%p{number} bra $B{number};")).collect::<String>();
        let ends = (1..100).rev().map(|number| format!("bra $A{number}; $B{number}:")).collect::<String>();
        check(&format!("{nested} {ends} membar.gl; ret;"), "membar.gl");
    }

    #[test]
    fn loops_of_compare_and_swap_are_whole() {
        let body = "ld.param.b64 %rd1, [p]; mul.lo.u32 %r9, %r8, 3; ld.relaxed.gpu.global.b32 %r5, [%rd1]; $L: and.b32 %r3, %r5, %r9;
            st.global.b32 [%rd2], %r7; add.u32 %r7, %r7, 1; atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r5, %r3;
            setp.ne.b32 %p1, %r1, %r5; mov.b32 %r5, %r1; @%p1 bra $L; ret;";
        check(
            body,
            "mul.lo.u32 %r9, %r8, 3; ld.relaxed.gpu.global.b32 %r5, [%rd1]; $L:; and.b32 %r3, %r5, %r9; \
             atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r5, %r3; setp.ne.b32 %p1, %r1, %r5; mov.b32 %r5, %r1; @%p1 bra $L",
        );
        let weak = body.replace("relaxed.gpu.global.b32", "global.b32");
        check(
            &weak,
            "mul.lo.u32 %r9, %r8, 3; ld.global.b32 %r5, [%rd1]; $L:; and.b32 %r3, %r5, %r9; \
             atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r5, %r3; setp.ne.b32 %p1, %r1, %r5; mov.b32 %r5, %r1; @%p1 bra $L",
        );
        // A compare-and-swap without a loop needs no lines around it.
        let once = "add.u32 %r3, %r5, 1; atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r5, %r3";
        check(&format!("{once}; ret;"), "atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r5, %r3");
    }
}

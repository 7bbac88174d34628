//! Tests of the insertion. A stand-in for the check supplies the findings, so that only the insertion is tested.

use inkwell::{OptimizationLevel, context::Context};
use ptx_atomics_common::{Diagnostic, remarks};
use ptx_hazards::{Claim, Edit, Hazard, Remedy, Rule};
use ptx_isa::InstPlace;
use ptx_lowering::Target;

use super::*;
use crate::emit;

/// An instruction that is missing between two instructions: the words of both, and the side on which it must be
/// inserted.
struct Missing {
    first: &'static str,
    second: &'static str,
    instruction: &'static str,
    position: Position,
}

const WAIT: Missing = Missing {
    first: "tcgen05.ld",
    second: "mbarrier.arrive",
    instruction: "tcgen05.wait::ld.sync.aligned",
    position: Position::Before,
};
const FENCE: Missing = Missing {
    first: "st.shared",
    second: "tcgen05.mma",
    instruction: "fence.proxy.async.shared::cta",
    position: Position::After,
};
/// An instruction without an equivalent intrinsic.
const ASSEMBLY: Missing = Missing { instruction: "fence.proxy.async.shared::cta.new", ..FENCE };

impl Missing {
    /// A finding at each second instruction that follows a first instruction without the missing instruction between
    /// them.
    fn find(&self, ptx: &str) -> Vec<Hazard> {
        let (mut first, mut found) = (None, Vec::new());
        let place = |line| InstPlace::line(line);
        for (line, text) in (1..).zip(ptx.lines()) {
            if text.contains(self.instruction) {
                first = None;
            } else if text.contains(self.first) {
                first = Some(line);
            } else if let Some(at) = first.filter(|_| text.contains(self.second)) {
                let beside = if self.position == Position::Before { line } else { at };
                let edit = Edit { at: place(beside), position: self.position, instruction: self.instruction.into() };
                found.push(Hazard {
                    first: first.map(place),
                    rule: Some(Rule::R1),
                    remedy: Some(Remedy { edits: vec![edit], ..Remedy::words(String::new()) }),
                    ..Hazard::new("k", place(line), Claim::Wrong, format!("{} is not seen", self.first))
                });
            }
        }
        found
    }
}

const HEAD: &str = "target triple = \"nvptx64-nvidia-cuda\"
@tile = internal addrspace(3) global [256 x i32] undef
@bar = internal addrspace(3) global i64 undef
declare i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6), i1)
declare void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6), i64, i64, i32, i1, i32, i32, i32)
declare void @llvm.nvvm.tcgen05.wait.ld()
";
const LOAD: &str = "  %v = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %t, i1 false)\n";
const ARRIVE: &str =
    "  %s = call i64 asm sideeffect \"mbarrier.arrive.shared::cta.b64 $0, [$1];\", \"=l,r\"(ptr addrspace(3) @bar)\n";
const WAITS: &str = "  call void @llvm.nvvm.tcgen05.wait.ld()\n";

/// The module with a body after the pass, and the messages of the pass.
fn pass(body: &str, asynchronous: AsyncMode, missing: &[Missing]) -> (String, Vec<String>) {
    let text = format!("{HEAD}define ptx_kernel void @k(ptr addrspace(6) %t, i64 %d) {{\n{body}  ret void\n}}\n");
    let input = Input::new("k.ll", text);
    let target = Target::new("sm_100a".parse().unwrap(), Some("ptx88".parse().unwrap())).unwrap();
    let options = Options { asynchronous, remarks: true, ..Options::new(target) };
    let context = Context::create();
    let module = crate::read(&context, &input).unwrap();
    crate::machine(&module, &options.target, OptimizationLevel::Default).unwrap();
    let find = |ptx: &str, _| Ok(missing.iter().flat_map(|missing| missing.find(ptx)).collect());
    let said = match with(&module, &input, &options, &find) {
        Ok(Checked { warnings, remarks }) => {
            let remarks = remarks.iter().map(remarks::line);
            warnings.iter().map(|warning| format!("warning: {warning}")).chain(remarks).collect()
        }
        Err(errors) => errors.iter().map(|error| format!("error: {error}")).collect(),
    };
    (String::from_utf8(emit::ir(&module)).unwrap(), said)
}

/// Checks that the pass turns the body of the kernel into the expected body.
fn check(body: &str, asynchronous: AsyncMode, missing: &[Missing], expected: &str, said: &[&str]) {
    let (ir, found) = pass(body, asynchronous, missing);
    let (plain, _) = pass(expected, AsyncMode::Off, &[]);
    let body = |ir: &str| {
        let (_, rest) = ir.split_once("define ").expect("it has a function");
        let lines = rest.split_once("\n}").expect("it ends").0.lines().skip(1);
        lines.map(|line| line.split_once(" #").map_or(line, |(line, _)| line).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(body(&ir), body(&plain));
    assert_eq!(found, said);
}

const STORE: &str = "  store i32 1, ptr addrspace(3) @tile\n";
const MMA: &str = "  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %t, i64 %d, i64 %d, i32 0, i1 true, i32 0, i32 1, i32 0)\n";
const FENCES: &str = "  call void @llvm.nvvm.fence.proxy.async.shared_cta()\n";
const ASM_FENCES: &str = "  call void asm sideeffect \"fence.proxy.async.shared::cta.new;\", \"~{memory}\"()\n";
const LOOP: &str = "  br label %loop\nloop:\n";
const BACK: &str = "  %c = icmp eq i64 %s, %d\n  br i1 %c, label %loop, label %end\nend:\n";

#[test]
fn missing_waits_are_inserted() {
    let check = |body: &[&str], missing: &[Missing], expected: &[&str], rules: &[&str]| {
        let (_, said) = pass(&body.concat(), AsyncMode::Insert, missing);
        let said: Vec<_> = said.iter().map(String::as_str).collect();
        check(&body.concat(), AsyncMode::Insert, missing, &expected.concat(), &said);
        // One remark for each instruction, and no warning.
        let found: Vec<_> = said.iter().map(|said| said.split_once(" has ").map_or(*said, |(_, what)| what)).collect();
        assert_eq!(found, rules);
    };
    let waits = "tcgen05.wait::ld.sync.aligned before it by R1: tcgen05.ld is not seen";
    let fences = "fence.proxy.async.shared::cta after it by R1: st.shared is not seen";
    let others = "fence.proxy.async.shared::cta.new after it by R1: st.shared is not seen";
    check(&[LOAD, ARRIVE], &[WAIT], &[LOAD, WAITS, ARRIVE], &[waits]);
    check(&[STORE, MMA], &[FENCE], &[STORE, FENCES, MMA], &[fences]);
    check(&[STORE, MMA], &[ASSEMBLY], &[STORE, ASM_FENCES, MMA], &[others]);
    check(&[STORE, MMA, STORE, MMA], &[FENCE], &[STORE, FENCES, MMA, STORE, FENCES, MMA], &[fences, fences]);
    check(&[STORE, MMA, LOAD, ARRIVE], &[FENCE, WAIT], &[STORE, FENCES, MMA, LOAD, WAITS, ARRIVE], &[fences, waits]);
    check(&[LOOP, LOAD, ARRIVE, BACK], &[WAIT], &[LOOP, LOAD, WAITS, ARRIVE, BACK], &[waits]);
    // An instruction that is present is not inserted again.
    check(&[LOAD, WAITS, ARRIVE], &[WAIT], &[LOAD, WAITS, ARRIVE], &[]);
}

/// Both fences are requested at once, and each makes the other unnecessary.
#[test]
fn unneeded_waits_are_left_out() {
    let early = Missing { position: Position::After, ..WAIT };
    let body = [LOAD, ARRIVE].concat();
    let says = "%s = call i64 asm sideeffect \"mbarrier.arrive.shared::cta.b64 $0, [$1];\", \"=l,r\"(ptr addrspace(3) \
                @bar) has tcgen05.wait::ld.sync.aligned before it by R1: tcgen05.ld is not seen";
    check(&body, AsyncMode::Insert, &[early, WAIT], &[LOAD, WAITS, ARRIVE].concat(), &[says]);
}

#[test]
fn a_remedy_without_insertion_is_a_warning() {
    const OPERAND: Missing = Missing { instruction: "mbarrier.inval.shared::cta.b64 [%r1]", ..WAIT };
    let body = [LOAD, ARRIVE].concat();
    let said =
        "warning: k.ll:9: in function k: tcgen05.ld is not seen; help: insert mbarrier.inval.shared::cta.b64 [%r1]";
    check(&body, AsyncMode::Insert, &[OPERAND], &body, &[said]);
}

#[test]
fn a_check_changes_nothing() {
    let body = [LOAD, ARRIVE].concat();
    let says = "k.ll:9: in function k: tcgen05.ld is not seen; help: insert tcgen05.wait::ld.sync.aligned; async=insert does it";
    let (warning, error) = (format!("warning: {says}"), format!("error: {says}"));
    check(&body, AsyncMode::Off, &[WAIT], &body, &[]);
    check(&body, AsyncMode::Check, &[WAIT], &body, &[&warning]);
    check(&body, AsyncMode::Deny, &[WAIT], &body, &[&error]);
    // The body has no asynchronous operation.
    check(STORE, AsyncMode::Deny, &[Missing { first: "st.shared", second: "ret", ..WAIT }], STORE, &[]);
}

#[test]
fn unchecked_parts_are_reported() {
    let text = format!("{HEAD}define ptx_kernel void @k(ptr addrspace(6) %t) {{\n{LOAD}  ret void\n}}\n");
    let input = Input::new("k.ll", text);
    let options = Options::new(Target::new("sm_100a".parse().unwrap(), None).unwrap());
    let context = Context::create();
    let module = crate::read(&context, &input).unwrap();
    crate::machine(&module, &options.target, OptimizationLevel::Default).unwrap();
    let find = |_: &str, _| Err(Diagnostic::new("it is not read").into());
    let checked = with(&module, &input, &options, &find).expect("it is not an error");
    assert_eq!(Errors::from(checked.warnings).to_string(), "asynchronous operations are not checked: it is not read");
}

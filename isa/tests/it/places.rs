//! Tests of the identity and the place of instructions, in a module and in a kernel's flat code.

use ptx_isa::{
    InstId, Module,
    flat::{Action, Flat, Library, Limits, Step},
};

const TEXT: &str = ".version 8.0
.target sm_80
.address_size 64
.global .u32 g;
.func f() { @%p1 bra L; st.global.u32 [g], 1; L: ret; }
.visible .entry k() {
call f; st.global.u32 [g], 2;
@%p1 st.global.u32 [g], 3;
  call f; @!%p1 st.global.u32 [g], 4; ret;
}
";

fn module() -> Module {
    TEXT.parse().expect("PTX")
}

/// Each store has its function, index, line, column and call.
#[test]
fn steps_name_instructions_of_their_functions() {
    let module = module();
    let kernel = module.kernels().next().expect("a kernel");
    let flat = Flat::inline_calls(&Library::new(&module), kernel, Limits::default());
    let stores = flat.steps.iter().filter(|step| matches!(step.action, Action::Access(_)));
    let shown = |step: &Step| {
        let InstId { function, index } = step.at.id.expect("an instruction");
        (function, index, step.at.to_string(), flat.calls[step.call].from.map(|(at, _)| at.to_string()))
    };
    let expected = [
        (0, 1, "5:25", Some("7:1")),
        (1, 1, "7:9", None),
        (1, 2, "8", None),
        (0, 1, "5:25", Some("9:3")),
        (1, 4, "9:17", None),
    ];
    let expected =
        expected.map(|(function, index, at, from)| (function, index, at.to_owned(), from.map(str::to_owned)));
    assert_eq!(stores.map(shown).collect::<Vec<_>>(), expected);
    assert_eq!(flat.steps.last().and_then(|step| step.at.id), Some(InstId { function: 1, index: 6 }), "the end");
}

#[test]
fn identities_find_instructions() {
    let module = module();
    let text = |line| module.first_on(line).and_then(|at| Some(module.line(at.id?)?.text.clone()));
    assert_eq!(text(7).as_deref(), Some("call f"));
    assert_eq!(text(8).as_deref(), Some("@%p1 st.global.u32 [g], 3"));
    assert_eq!((text(1), text(10), text(99)), (None, None, None));
    assert_eq!(module.line(InstId { function: 1, index: 6 }), None);
}

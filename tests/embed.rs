//! The inline assembly of each operation as text, for compilers that hold no LLVM: every operation of the conformance
//! suite is written as a function around [`InlineAsm::call`], a compiler of LLVM IR compiles it, and the check of the
//! PTX against the operations finds that all are kept.

use std::{fmt::Write, fs, path::Path, process::Command};

use libtest_mimic::{Failed, Trial};
use ptx_atomics::lowering::{A, AddressOperand, Argument, B, InlineAsm, Policy, Target, lower, ptx::Space};
use ptx_atomics_conformance::{
    Language,
    cell::{Cell, Form},
    llvm_ir,
};
use testing::{exists, llvm_version, one_of, ptx_atomics, root, stride, success, tool, trial};

/// A compiler of LLVM IR, as the words of a command; `{sm}` is the number of the GPU.
#[derive(Clone, Copy)]
enum Compiler {
    Llc,
    /// libNVVM, by the dialect with opaque pointers.
    LibNvvm,
    /// libNVVM, by the dialect of LLVM 7, whose pointers have types. It lacks `bfloat`, and takes the address in a register.
    LibNvvm7,
}

pub fn trials() -> Vec<Trial> {
    let llc = (!exists(tool("llc"))).then_some(tool("llc"));
    let library = root().join(".tools/cuda-13.5/nvidia/cu13/lib/libnvvm.so.4");
    let libnvvm = (!library.exists()).then_some("libNVVM (scripts/install peers)");
    let forms = [AddressOperand::Memory, AddressOperand::Register];
    let of_llc = [("sm_60", "ptx63"), ("sm_70", "ptx78"), ("sm_90", "ptx90"), ("sm_100", "ptx90")]
        .into_iter()
        .flat_map(|target| forms.map(|form| (Compiler::Llc, target, form, llc)));
    let of_libnvvm = [
        (Compiler::LibNvvm, ("sm_100", "ptx90"), AddressOperand::Memory, libnvvm),
        (Compiler::LibNvvm, ("sm_90", "ptx90"), AddressOperand::Register, libnvvm),
        (Compiler::LibNvvm7, ("sm_80", "ptx90"), AddressOperand::Register, libnvvm),
    ];
    let trials = of_llc.chain(of_libnvvm).map(|(compiler, (sm, ptx), form, missing)| {
        let name = match compiler {
            Compiler::Llc => "llc",
            Compiler::LibNvvm => "libNVVM",
            Compiler::LibNvvm7 => "libNVVM's old dialect",
        };
        let name = format!("{name} compiles the calls of {sm}, address in a {}", form_name(form));
        trial(name, missing, move || check(compiler, (sm, ptx), form))
    });
    one_of(3, trials)
}

fn form_name(form: AddressOperand) -> &'static str {
    match form {
        AddressOperand::Memory => "memory operand",
        AddressOperand::Register => "register",
    }
}

fn check(compiler: Compiler, (sm, ptx): (&str, &str), form: AddressOperand) -> Result<(), Failed> {
    let target = Target::new(sm.parse()?, Some(ptx.parse()?))?;
    let language = if matches!(compiler, Compiler::LibNvvm7) { Language::Llvm7 } else { Language::Llvm };
    let has_type = |cell: &Cell| language != Language::Llvm7 || !cell.ty.llvm.contains("bfloat");
    let mut cells = language.cells(&target, llvm_version());
    cells.retain(|cell| cell.form == Form::Plain && has_type(cell));
    let cells: Vec<_> = cells.iter().step_by(stride(5)).collect();
    assert!(cells.len() > 100, "{}", cells.len());
    let mut text = "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned();
    for cell in &cells {
        let lowering =
            lower(&cell.op, &Policy::default(), &target).map_err(|error| format!("{}: {error:?}", cell.name))?;
        text += &function(cell, &InlineAsm::new(&lowering.sequence, cell.ty.ty, form), language);
    }
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    fs::write(file("calls.ll"), text)?;
    fs::write(file("operations.ll"), Language::Llvm.source(cells.iter().copied()))?;
    success(&mut command(compiler, &target, &file("calls.ll"), &file("calls.ptx")))?;
    let mut check = ptx_atomics();
    check.arg("check").arg("--ir").arg(file("operations.ll")).arg("--ptx").arg(file("calls.ptx"));
    let output = check.output()?;
    let stderr = String::from_utf8(output.stderr)?;
    let count = cells.len();
    let expected = format!("{count} atomics and fences: {count} kept, 0 not, 0 not checked\n");
    if stderr.ends_with(&expected) { Ok(()) } else { Err(format!("expected {expected}, found:\n{stderr}").into()) }
}

fn command(compiler: Compiler, target: &Target, input: &Path, output: &Path) -> Command {
    let mut command = match compiler {
        Compiler::Llc => Command::new(tool("llc")),
        _ => Command::new(root().join("scripts/libnvvm.py")),
    };
    let number = target.sm.number();
    match compiler {
        Compiler::Llc => {
            command.arg(format!("-mcpu={}", target.sm.name())).arg(format!("-mattr=+{}", target.ptx.feature()))
        }
        Compiler::LibNvvm => command.args(["--latest", "--arch"]).arg(format!("compute_{number}")),
        Compiler::LibNvvm7 => command.arg("--arch").arg(format!("compute_{number}")),
    };
    command.arg(input).arg("-o").arg(output);
    command
}

/// A function with the parameters of the suite's function: an address and two values. In the form with a register, the
/// address is an integer, which all dialects have.
fn function(cell: &Cell, asm: &InlineAsm, language: Language) -> String {
    let mut body = String::new();
    let is_pointer = cell.ty.llvm == "ptr";
    let ty = if is_pointer && language == Language::Llvm7 { "i8*" } else { cell.ty.llvm };
    let (space, returns) = (cell.space().unwrap_or(Space::Generic), asm.has_result());
    let bits = cell.ty.ty.bits();
    let mut line = |text: String| writeln!(body, "  {text}").expect("writing to a string does not fail");
    let pointer = if asm.has_memory_operand() { llvm_ir::pointer(space) } else { "i64".to_owned() };
    // The value as an integer of its width, or as the float that the assembly takes.
    let is_float = ["float", "double"].contains(&ty);
    let (integer, passed) = (format!("i{bits}"), asm.value_type());
    let mut values = Vec::new();
    for argument in asm.arguments() {
        let slot = match argument {
            Argument::Whole(slot) | Argument::Low(slot) | Argument::High(slot) => slot,
        };
        if *slot == A {
            values.push("%p".to_owned());
            continue;
        }
        let source = if *slot == B { "%b" } else { "%c" };
        let whole = format!("{source}.bits");
        if !values.contains(&format!("{source}.low")) {
            let cast = if is_pointer { "ptrtoint" } else { "bitcast" };
            let to = if is_float { ty } else { &integer };
            line(format!("{whole} = {cast} {ty} {source} to {to}"));
        }
        values.push(match argument {
            Argument::Low(_) => {
                line(format!("{source}.low = trunc {integer} {whole} to i64"));
                format!("{source}.low")
            }
            Argument::High(_) => {
                line(format!("{source}.upper = lshr {integer} {whole}, 64"));
                line(format!("{source}.high = trunc {integer} {source}.upper to i64"));
                format!("{source}.high")
            }
            Argument::Whole(_) if bits == 8 => {
                line(format!("{source}.wide = zext i8 {whole} to i16"));
                format!("{source}.wide")
            }
            Argument::Whole(_) => whole,
        });
    }
    let values: Vec<_> = values.iter().map(String::as_str).collect();
    let call = asm.call(llvm_ir::address_space(space), &values);
    if returns {
        line(format!("%r = {call}"));
        let mut result = "%r";
        if bits == 8 {
            line(format!("%narrow = trunc {passed} %r to i8"));
            result = "%narrow";
        }
        let cast = if is_pointer { "inttoptr" } else { "bitcast" };
        line(format!("%result = {cast} {} {result} to {ty}", if is_float { ty } else { &integer }));
        line(format!("ret {ty} %result"));
    } else {
        line(call);
        line("ret void".to_owned());
    }
    let result = if returns { ty } else { "void" };
    format!("define {result} @{}({pointer} %p, {ty} %b, {ty} %c) {{\n{body}}}\n", cell.symbol())
}

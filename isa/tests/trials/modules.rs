//! Tests of whole modules: a parsed module prints again, no damage makes the reader panic, and an assembler generates
//! the same code for a compiler's PTX and for its printed form.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use libtest_mimic::{Failed, Trial};
use object::{Object, ObjectSection};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use ptx_isa::{Code, Module, syntax};
use testing::{ASSEMBLERS, Assembler, damaged, exists, root, trial};

pub fn trials() -> Vec<Trial> {
    let newest = ASSEMBLERS[ASSEMBLERS.len() - 1];
    let missing = newest.missing().or((!exists("llc-22")).then_some("llc-22"));
    let mut files: Vec<_> = fs::read_dir(root().join("tests/benches/sass"))
        .expect("a folder of kernels")
        .map(|entry| entry.expect("a kernel").path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "ll"))
        .collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let mut trials = vec![
        Trial::test("a parsed module prints again", || prints_again().map_err(Failed::from)),
        Trial::test("no damage makes the reader panic", no_panic),
    ];
    trials.extend(files.into_iter().map(|file| {
        let name = format!("assembled alike: {}", file.file_name().unwrap_or_default().display());
        trial(name, missing, move || assembled_alike(&file, &newest))
    }));
    trials
}

/// The module without the source text of its instructions, so that they print from their typed forms.
fn by_types(mut module: Module) -> Module {
    for line in module.functions_mut().flat_map(|function| function.body.iter_mut().flatten()) {
        line.text.clear();
    }
    module
}

/// Printing a module keeps its lines, and parsing the printed text gives the same module.
fn prints_again() -> Result<(), String> {
    let config = Config { cases: 1024, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&module(), |text| {
            let module: Module = text.parse().map_err(|errors| TestCaseError::fail(format!("{errors}\n{text}")))?;
            let statements = |text: &str| syntax::statements(text).0.len();
            let codes = |module: &Module| {
                let lines = module.functions().flat_map(|function| function.body.clone().unwrap_or_default());
                lines.map(|line| line.code).collect::<Vec<Code>>()
            };
            for printed in [module.to_string(), by_types(module.clone()).to_string()] {
                let again: Module =
                    printed.parse().map_err(|errors| TestCaseError::fail(format!("{errors}\n{printed}")))?;
                prop_assert_eq!(again.to_string(), &*printed);
                prop_assert_eq!(statements(&text), statements(&printed), "{}\n{}", text, printed);
                prop_assert_eq!(codes(&again), codes(&module));
            }
            Ok(())
        })
        .map_err(|error| error.to_string())
}

fn module() -> impl Strategy<Value = String> {
    let outside = proptest::sample::select(vec![
        "// a comment; {\n",
        ".file 1 \"a;b{.cu\"\n",
        ".global .align 4 .u32 table[2] = {1, 2};\n",
        ".extern .func (.param .b32 r) outside (.param .b64 a) .noreturn;\n",
        ".section .debug_str {\n$L_info: .b8 1,2\n.b64 $L_a-$L_b\n}\n",
        ".extern .shared .align 16 .b8 dynamic[];\n",
        ".alias a, b;\n",
    ]);
    let inside = proptest::sample::select(vec![
        ".reg .b32 %r<9>;\n",
        ".reg .pred %p, %q;\n",
        ".reg .b32 %x; ",
        "{ ",
        "} ",
        "add.u32 %r1, %x, 0x10; ",
        "@!%p atom.global.cas.b32 %x, [%rd1+4], %r1, 010; ",
        "fma.rn.f32 %f1, 0f3F800000, %x, 1.5; ",
        "call.uni (retval0),\n outside,\n (param0); ",
        "/* a comment } */ mov.u32 %r1, %tid.x; ",
        "ts: .branchtargets $A, $B;\nbrx.idx %r1, ts;\n",
        "$A: ",
        "$B:\n",
        ".loc 1 2 3, function_name $L, inlined_at 1 2 4\n",
        ".pragma \"nounroll\";",
        ".param .b64 param0;",
        "tex.2d.v4.f32.f32 {%f1, %f2, _, %f3}, [%rd1, {%x, %r2}];",
        "setp.lt.and.s32 %p|%q, %x, %r2, !%p;",
        "mov.u64 %rd1, table[1];",
    ]);
    let body = proptest::collection::vec(inside, 0..24).prop_map(balanced);
    let function = body.prop_map(|body| format!(".visible .entry k(.param .u64 p)\n.maxntid 128, 1, 1\n{{{body}}}\n"));
    proptest::collection::vec(prop_oneof![outside.prop_map(str::to_owned), function], 0..6)
        .prop_map(|parts| format!(".version 8.6\n.target sm_90\n.address_size 64\n{}", parts.concat()))
}

/// The pieces with unmatched closing braces removed and missing closing braces added.
fn balanced(pieces: Vec<&str>) -> String {
    let (mut body, mut depth) = (String::new(), 0);
    for piece in pieces {
        match piece {
            "{ " => depth += 1,
            "} " if depth == 0 => continue,
            "} " => depth -= 1,
            _ => {}
        }
        body += piece;
    }
    body + &"}".repeat(depth)
}

/// Every error has a position, and a text without errors prints.
fn no_panic() -> Result<(), Failed> {
    let text = ".version 8.6\n.target sm_90\n.global .u32 a[2] = {1, 2};\n.func (.param .b32 r) f(.param .b64 p) {\n\
        \t.reg .b32 %r<3>; { .reg .b32 %x; /* c */ ld.u32 %x, [%rd1+4]; } $L: @%p bra $L; // d\n\
        \ttex.2d.v4.f32.f32 {%f1, %f2, _, %f3}, [%rd1, {%x, %r2}];\n\tcall (r), g, (p);\n.loc 1 2 3\n\tret;\n}\n";
    let (mut read, mut rejected) = (0, 0);
    for bytes in damaged(text.as_bytes(), 0).chain((0..text.len()).map(|end| text.as_bytes()[..end].to_vec())) {
        let text = String::from_utf8_lossy(&bytes);
        match text.parse::<Module>() {
            Ok(module) => {
                read += 1;
                module.to_string().parse::<Module>().map_err(|errors| format!("{errors}\n{text}\n{module}"))?;
            }
            Err(errors) => {
                rejected += 1;
                assert!(!errors.0.is_empty());
                for error in errors.0 {
                    assert!(text.get(error.span.clone()).is_some(), "{error:?}\n{text}");
                }
            }
        }
    }
    assert!(read > 10 && rejected > 100, "{read} {rejected}");
    Ok(())
}

fn assembled_alike(file: &Path, assembler: &Assembler) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let ptx = folder.path().join("a.ptx");
    let mut llc = Command::new("llc-22");
    llc.args(["-mtriple=nvptx64-nvidia-cuda", "-mcpu=sm_90", "-mattr=+ptx86", "-o"]).arg(&ptx).arg(file);
    testing::success(&mut llc)?;
    let text = fs::read_to_string(&ptx)?;
    let printed = by_types(text.parse()?).to_string();
    if printed == text {
        return Err("the printed text is the compiler's own, down to its comments".into());
    }
    let (theirs, ours) = (sections(assembler, &ptx, &text)?, sections(assembler, &ptx, &printed)?);
    assert!(theirs.keys().any(|name| name.starts_with(".text.")), "{:?}", theirs.keys());
    let different: Vec<_> =
        theirs.keys().chain(ours.keys()).filter(|name| theirs.get(*name) != ours.get(*name)).collect();
    if different.is_empty() { Ok(()) } else { Err(format!("{different:?} differ\n{printed}").into()) }
}

/// The sections of the assembler's output for a text, except tables of names, which contain line numbers.
fn sections(assembler: &Assembler, path: &Path, text: &str) -> Result<BTreeMap<String, Vec<u8>>, Failed> {
    fs::write(path, text)?;
    let cubin = path.with_extension("cubin");
    testing::success(Command::new(assembler.program()).args(["-arch", "sm_90", "-c", "-o"]).arg(&cubin).arg(path))?;
    let bytes = fs::read(&cubin)?;
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes)?;
    let sections = file.sections().filter(|section| !matches!(section.name(), Ok(".strtab" | ".shstrtab" | ".symtab")));
    sections.map(|section| Ok((section.name()?.to_owned(), section.data()?.to_vec()))).collect()
}

//! Random functions of intrinsics, instructions and types for random targets. The lowering reports an error, or LLVM's
//! backend writes PTX; it never ends the process. LLVM compiles no function for which the lowering reports an error.

use std::{
    collections::HashSet,
    fs,
    process::{Command, Stdio},
};

use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    llvm::{
        self, Errors, Input, Options,
        inkwell::{OptimizationLevel, context::Context},
    },
    lowering::{PtxVersion, Sm, Target},
};
use testing::{exists, ptx_atomics, random::Random, success, tool, trial};

use crate::selection::{ASSEMBLER_ONLY, Intrinsic, declared_intrinsics};

/// The number of modules for `scripts/test`, and for `scripts/test --all`.
const MODULES: [u64; 2] = [12, 400];
/// The number of functions of a module.
const FUNCTIONS: usize = 24;

/// Parts of functions for which LLVM writes PTX that is wrong: a direct access to a thread-local variable gives all
/// threads one variable, and no ptxas accepts the instructions before sm_90.
const MISCOMPILED: [&str; 2] = ["@local", ASSEMBLER_ONLY];

const INTEGERS: [&str; 9] = ["i1", "i8", "i16", "i17", "i32", "i64", "i65", "i128", "i256"];
const FLOATS: [&str; 5] = ["half", "bfloat", "float", "double", "fp128"];

pub fn trials() -> Vec<Trial> {
    let llc = (!exists(tool("llc"))).then_some(tool("llc"));
    vec![
        trial("random functions never end the process".into(), llc, random),
        Trial::test("the library reports stmatrix, a conversion to tf32, and arithmetic of 128 bits", by_library),
    ]
}

/// The errors of the lowering by the library.
fn errors(text: &str, target: Target) -> Result<(), Errors> {
    let context = Context::create();
    let (input, options) = (Input::new("random.ll", text), Options::new(target));
    let module = llvm::read(&context, &input)?;
    let machine = llvm::machine(&module, &options.target, OptimizationLevel::Default)?;
    llvm::prepare(&module, &machine, None)?;
    llvm::lower(&module, &input, &options).map(drop)
}

fn by_library() -> Result<(), Failed> {
    let check = |signature: &str, body: &str, sm: &str, expected: Option<&str>| {
        let declared = signature.split(';').map(|function| format!("declare {function}\n")).collect::<String>();
        let text = format!(
            "{declared}define void @f(ptr addrspace(3) %p, float %x, fp128 %y, i128 %i) {{\n{body}\n  ret void\n}}\n"
        );
        let target = testing::target(sm, Some("ptx90"));
        let found = errors(&text, target).map_err(|errors| errors.to_string());
        match (&found, expected) {
            (Ok(()), None) => {}
            (Err(message), Some(expected)) if message.contains(expected) => {}
            _ => panic!("{sm}: {body}: expected {expected:?}, found {found:?}"),
        }
    };
    let matrix = "  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %p, i32 7)";
    let declared = "void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3), i32)";
    check(
        declared,
        matrix,
        "sm_60",
        Some("`stmatrix.sync.aligned.m8n8` requires sm_90 and PTX 7.8, and the target is sm_60"),
    );
    check(declared, matrix, "sm_90", None);
    let convert = "  %r = call i32 @llvm.nvvm.f2tf32.rna(float %x)\n  store i32 %r, ptr addrspace(3) %p";
    check("i32 @llvm.nvvm.f2tf32.rna(float)", convert, "sm_60", Some("`f2tf32.rna` requires sm_80 and PTX 7.0"));
    check("i32 @llvm.nvvm.f2tf32.rna(float)", convert, "sm_80", None);
    let add = "  %r = fadd fp128 %y, %y\n  store fp128 %r, ptr addrspace(3) %p";
    check(
        "void @g()",
        add,
        "sm_90",
        Some("`fadd of more than 64 bits` requires an instruction that LLVM's NVPTX backend lacks"),
    );
    // The value is not used in the end.
    check("void @g()", "  %r = fadd fp128 %y, %y\n  %s = fneg fp128 %r", "sm_90", None);
    let sine =
        |flag: &str| format!("  %r = call {flag} float @llvm.sin.f32(float %x)\n  store float %r, ptr addrspace(3) %p");
    check("float @llvm.sin.f32(float)", &sine(""), "sm_90", Some("`llvm.sin` requires"));
    check("float @llvm.sin.f32(float)", &sine("afn"), "sm_90", None);
    Ok(())
}

fn random() -> Result<(), Failed> {
    let intrinsics = declared_intrinsics();
    let usable: Vec<_> = intrinsics.iter().filter(|intrinsic| !intrinsic.name.contains("setmaxnreg")).collect();
    let newest = llvm::NEWEST_PTX;
    let targets: Vec<_> = Sm::all()
        .flat_map(|sm| PtxVersion::all().filter_map(move |ptx| Target::new(sm, Some(ptx)).ok()))
        .filter(|target| target.ptx <= newest)
        .collect();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("random.ll");
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..MODULES[usize::from(testing::runs_all())] {
        let mut random = Random(seed);
        let target = random.pick(&targets);
        let functions: Vec<_> = (0..FUNCTIONS).map(|index| Function::random(&mut random, &usable, index)).collect();
        let errors = errors(&text(&functions), target).err().unwrap_or_default();
        let place = format!("module {seed} for {target}");
        if let Some(error) = errors.iter().find(|error| !error.message.contains("` requires ")) {
            return Err(format!("{place}: {error} {:?}", error.notes).into());
        }
        let named: HashSet<_> = errors.iter().filter_map(|error| error.function.clone()).collect();
        let (lacking, rest): (Vec<_>, Vec<_>) =
            functions.into_iter().partition(|function| named.contains(&function.name));
        (accepted, rejected) = (accepted + rest.len(), rejected + lacking.len());
        fs::write(&path, text(&rest))?;
        let (sm, ptx) = (target.sm.name(), format!("+{}", target.ptx.feature()));
        let lowered = success(ptx_atomics().args(["lower", "--mcpu", sm, "--mattr", &ptx, "-o", "-"]).arg(&path));
        lowered.map_err(|error| format!("{place}: {}\n{}", error.message().unwrap_or_default(), text(&rest)))?;
        let is_wrong = |function: &&Function| MISCOMPILED.iter().any(|part| function.body.contains(part));
        let checked = lacking.iter().filter(|function| !is_wrong(function));
        for function in checked.take(4) {
            fs::write(&path, text(std::slice::from_ref(function)))?;
            let mut llc = Command::new(tool("llc"));
            llc.arg(format!("-mcpu={sm}")).arg(format!("-mattr={ptx}")).arg("-mtriple=nvptx64-nvidia-cuda").arg(&path);
            llc.args(["-o", "/dev/null"]).env("LLVM_DISABLE_SYMBOLIZATION", "1").stderr(Stdio::null());
            if llc.status()?.success() {
                let messages = errors.iter().filter(|error| error.function.as_ref() == Some(&function.name));
                let messages: Vec<_> = messages.map(|error| &*error.message).collect();
                return Err(format!("{place}: llc compiles {}, but: {messages:?}", function.body).into());
            }
        }
    }
    if accepted < rejected / 9 || rejected < accepted / 9 {
        return Err(format!("{accepted} functions are accepted, {rejected} rejected").into());
    }
    Ok(())
}

struct Function {
    name: String,
    declarations: Vec<String>,
    body: String,
}

fn text(functions: &[Function]) -> String {
    let mut declarations: Vec<_> = functions.iter().flat_map(|function| &function.declarations).collect();
    declarations.sort();
    declarations.dedup();
    let declarations = declarations.into_iter().map(|declaration| format!("{declaration}\n"));
    let bodies = functions.iter().map(|Function { name, body, .. }| {
        format!("define void @{name}(ptr %p, ptr %q, ptr %s, ptr addrspace(1) %o, i64 %n) {{\n{body}  ret void\n}}\n")
    });
    declarations.chain(bodies).collect()
}

impl Function {
    fn random(random: &mut Random, intrinsics: &[&Intrinsic], index: usize) -> Self {
        let mut function = Self { name: format!("f{index}"), declarations: Vec::new(), body: String::new() };
        for number in 0..1 + random.below(3) {
            match random.below(8) {
                0..3 => {
                    let intrinsic = random.pick(intrinsics);
                    function.call(random, intrinsic, number);
                }
                3 => function.integers(random, number),
                4 | 5 => function.floats(random, number),
                6 => function.convert(random, number),
                _ => function.other(random, number),
            }
        }
        function
    }

    /// Loads a value of a type. Two volatile loads have different values for LLVM.
    fn load(&mut self, random: &mut Random, ty: &str, name: &str) -> String {
        let pointer = random.pick(&["p", "q", "s"]);
        self.body += &format!("  %{name} = load volatile {ty}, ptr %{pointer}, align 1\n");
        format!("{ty} %{name}")
    }

    /// An instruction with a result, which is rarely unused. The store is volatile: LLVM deletes a store before another to
    /// the same address, and the instruction with it.
    fn compute(&mut self, random: &mut Random, number: usize, ty: &str, instruction: &str) {
        self.body += &format!("  %r{number} = {instruction}\n");
        if !random.chance(12) {
            self.body += &format!("  store volatile {ty} %r{number}, ptr addrspace(1) %o, align 1\n");
        }
    }

    /// A call with arguments of these types, and more arguments.
    fn intrinsic(&mut self, random: &mut Random, number: usize, [name, returned, more]: [&str; 3], types: &[String]) {
        let arguments = types.iter().enumerate();
        let mut arguments: Vec<_> =
            arguments.map(|(index, ty)| self.load(random, ty, &format!("a{number}_{index}"))).collect();
        let mut types = types.to_vec();
        for argument in more.split(", ").filter(|argument| !argument.is_empty()) {
            arguments.push(argument.into());
            types.push(argument.split(' ').next().unwrap_or_default().into());
        }
        self.declarations.push(format!("declare {returned} @{name}({})", types.join(", ")));
        let is_float = ["half", "bfloat", "float", "double", "fp128"].iter().any(|float| returned.contains(float));
        let flag = if is_float && !returned.starts_with('{') { random.pick(&["", "afn ", "fast "]) } else { "" };
        let call = format!("call {flag}{returned} @{name}({})", arguments.join(", "));
        self.compute(random, number, returned, &call);
    }

    fn call(&mut self, random: &mut Random, intrinsic: &Intrinsic, number: usize) {
        self.declarations.push(intrinsic.declaration().trim_end().to_owned());
        let mut arguments = Vec::new();
        for (index, parameter) in intrinsic.parameters.iter().enumerate() {
            let ty = &*parameter.ty;
            arguments.push(match &parameter.immediate {
                Some(range) => {
                    let value = range.start + random.below((range.end - range.start).clamp(1, 16) as usize) as i64;
                    if ty == "i1" { format!("i1 {}", value != 0) } else { format!("{ty} {value}") }
                }
                None => self.load(random, ty, &format!("a{number}_{index}")),
            });
        }
        let (returned, name) = (&*intrinsic.returned, &intrinsic.declared_name);
        let call = format!("call {returned} @{name}({})", arguments.join(", "));
        match returned {
            "void" => self.body += &format!("  {call}\n"),
            // LLVM deletes a call that only reads memory if its result is not used, so each result is.
            _ => {
                self.body += &format!("  %r{number} = {call}\n");
                self.body += &format!("  store volatile {returned} %r{number}, ptr addrspace(1) %o, align 1\n");
            }
        }
    }

    fn integers(&mut self, random: &mut Random, number: usize) {
        let ty = shaped(random, &INTEGERS);
        let (bool_ty, suffix) = (ty.with("i1"), ty.suffix());
        let ty = ty.text();
        if random.chance(3) {
            let op = random.pick(&[
                "add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "and", "or", "xor",
                "icmp slt",
            ]);
            let left = self.load(random, &ty, &format!("a{number}"));
            self.load(random, &ty, &format!("b{number}"));
            let result = if op.starts_with("icmp") { bool_ty } else { ty };
            return self.compute(random, number, &result, &format!("{op} {left}, %b{number}"));
        }
        let overflow = format!("{{ {ty}, {bool_ty} }}");
        let (op, returned, more, count) = match random.below(6) {
            0 => (random.pick(&["bitreverse", "ctpop"]), &ty, "", 1),
            1 => (random.pick(&["ctlz", "cttz", "abs"]), &ty, "i1 false", 1),
            2 => (random.pick(&["smax", "smin", "umax", "umin"]), &ty, "", 2),
            3 => (random.pick(&["sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "sshl.sat", "ushl.sat"]), &ty, "", 2),
            4 => (random.pick(&["sadd", "uadd", "ssub", "usub", "smul", "umul"]), &overflow, "", 2),
            _ => (random.pick(&["fshl", "fshr"]), &ty, "", 3),
        };
        let with = if returned == &overflow { ".with.overflow" } else { "" };
        let name = format!("llvm.{op}{with}.{suffix}");
        let types = vec![ty.clone(); count];
        self.intrinsic(random, number, [&name, returned, more], &types);
    }

    fn floats(&mut self, random: &mut Random, number: usize) {
        const UNARY: [&str; 25] = [
            "sqrt",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "exp",
            "exp2",
            "exp10",
            "log",
            "log2",
            "log10",
            "fabs",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "nearbyint",
            "round",
            "roundeven",
            "canonicalize",
        ];
        const BINARY: [&str; 9] =
            ["pow", "atan2", "minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum", "copysign"];
        let ty = shaped(random, &FLOATS);
        let (bool_ty, integer, suffix) = (ty.with("i1"), ty.with("i32"), ty.suffix());
        let integer_suffix = Shaped { element: "i32", ..ty }.suffix();
        let ty = ty.text();
        if random.chance(2) {
            let op = random.pick(&["fadd", "fsub", "fmul", "fdiv", "frem", "fcmp olt", "fcmp une", "fneg"]);
            let left = self.load(random, &ty, &format!("a{number}"));
            let result = if op.starts_with("fcmp") { bool_ty } else { ty.clone() };
            if op == "fneg" {
                return self.compute(random, number, &result, &format!("fneg {left}"));
            }
            self.load(random, &ty, &format!("b{number}"));
            return self.compute(random, number, &result, &format!("{op} {left}, %b{number}"));
        }
        let pair = format!("{{ {ty}, {ty} }}");
        let parts = format!("{{ {ty}, {integer} }}");
        let own = ty.clone();
        let (name, returned, types) = match random.below(8) {
            0..3 => (format!("{}.{suffix}", random.pick(&UNARY)), &ty, vec![own]),
            3 | 4 => (format!("{}.{suffix}", random.pick(&BINARY)), &ty, vec![own.clone(), own]),
            5 => (format!("{}.{suffix}", random.pick(&["fma", "fmuladd"])), &ty, vec![own.clone(), own.clone(), own]),
            6 => match random.below(4) {
                0 => (format!("frexp.{suffix}.{integer_suffix}"), &parts, vec![own]),
                1 => (format!("ldexp.{suffix}.{integer_suffix}"), &ty, vec![own, integer.clone()]),
                2 => (format!("powi.{suffix}.i32"), &ty, vec![own, "i32".into()]),
                _ => (format!("{}.{suffix}", random.pick(&["modf", "sincos", "sincospi"])), &pair, vec![own]),
            },
            _ => {
                let op = random.pick(&["lrint", "llrint", "lround", "llround"]);
                (format!("{op}.{integer_suffix}.{suffix}"), &integer, vec![own])
            }
        };
        self.intrinsic(random, number, [&format!("llvm.{name}"), returned, ""], &types);
    }

    fn convert(&mut self, random: &mut Random, number: usize) {
        let float = shaped(random, &FLOATS);
        let integer = Shaped { element: random.pick(&INTEGERS), ..float };
        let other = Shaped { element: random.pick(&FLOATS), ..float };
        let width =
            |ty: &Shaped| [16, 16, 32, 64, 128][FLOATS.iter().position(|known| *known == ty.element).unwrap_or(0)];
        let (from, op, to) = match random.below(5) {
            0 => (float, random.pick(&["fptosi", "fptoui"]), integer),
            1 => (integer, random.pick(&["sitofp", "uitofp"]), float),
            2 => {
                let op = random.pick(&["fptosi", "fptoui"]);
                let name = format!("llvm.{op}.sat.{}.{}", integer.suffix(), float.suffix());
                return self.intrinsic(random, number, [&name, &integer.text(), ""], &[float.text()]);
            }
            _ if width(&float) < width(&other) => (float, "fpext", other),
            _ if width(&float) > width(&other) => (float, "fptrunc", other),
            _ => return,
        };
        let value = self.load(random, &from.text(), &format!("a{number}"));
        self.compute(random, number, &to.text(), &format!("{op} {value} to {}", to.text()));
    }

    /// An instruction or an intrinsic without a choice of types.
    fn other(&mut self, random: &mut Random, number: usize) {
        // The declaration, the type of the result, and the instruction.
        const VARIANTS: [[&str; 3]; 22] = [
            ["", "ptr", "alloca i32, i64 %n"],
            ["", "ptr", "alloca [4 x i32]"],
            ["declare ptr @llvm.stacksave.p0()", "ptr", "call ptr @llvm.stacksave.p0()"],
            ["declare i32 @variadic(ptr, ...)", "i32", "call i32 (ptr, ...) @variadic(ptr %p, i32 1)"],
            ["declare i64 @llvm.readcyclecounter()", "i64", "call i64 @llvm.readcyclecounter()"],
            ["declare i64 @llvm.vscale.i64()", "i64", "call i64 @llvm.vscale.i64()"],
            ["declare ptr @llvm.returnaddress(i32)", "ptr", "call ptr @llvm.returnaddress(i32 0)"],
            ["declare ptr @llvm.frameaddress.p0(i32)", "ptr", "call ptr @llvm.frameaddress.p0(i32 0)"],
            ["declare ptr @llvm.thread.pointer.p0()", "ptr", "call ptr @llvm.thread.pointer.p0()"],
            ["declare i32 @llvm.amdgcn.workitem.id.x()", "i32", "call i32 @llvm.amdgcn.workitem.id.x()"],
            ["declare i32 @llvm.get.rounding()", "i32", "call i32 @llvm.get.rounding()"],
            ["declare i64 @llvm.get.fpenv.i64()", "i64", "call i64 @llvm.get.fpenv.i64()"],
            ["", "ptr addrspace(3)", "addrspacecast ptr %p to ptr addrspace(3)"],
            ["", "ptr addrspace(6)", "addrspacecast ptr %p to ptr addrspace(6)"],
            ["", "i128", "call i128 asm \"// $0\", \"=q\"()"],
            ["", "i32", "va_arg ptr %p, i32"],
            ["@local = thread_local addrspace(1) global i32 0", "i32", "load i32, ptr addrspace(1) @local"],
            [
                "declare <2 x i32> @llvm.bswap.v2i32(<2 x i32>)",
                "<2 x i32>",
                "call <2 x i32> @llvm.bswap.v2i32(<2 x i32> bitcast (i64 ptrtoint (ptr @anchor to i64) to <2 x i32>))",
            ],
            [
                "declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)",
                "i32",
                "call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> splat (i32 3))",
            ],
            ["", "<vscale x 4 x i32>", "load <vscale x 4 x i32>, ptr %p"],
            ["", "i1", "icmp eq ptr %p, %q"],
            ["", "<4 x i8>", "load <4 x i8>, ptr %p"],
        ];
        let [declaration, ty, instruction] = random.pick(&VARIANTS);
        self.declarations.push(declaration.to_owned());
        self.declarations.push("declare void @anchor()".to_owned());
        self.compute(random, number, ty, instruction);
    }
}

/// A type, or a vector of it.
#[derive(Clone, Copy)]
struct Shaped {
    element: &'static str,
    lanes: Option<u32>,
}

fn shaped(random: &mut Random, elements: &[&'static str]) -> Shaped {
    let lanes = random.chance(3).then(|| random.pick(&[2, 3, 4, 8]));
    Shaped { element: random.pick(elements), lanes }
}

impl Shaped {
    fn text(&self) -> String {
        self.with(self.element)
    }

    /// The same shape with another element.
    fn with(&self, element: &str) -> String {
        self.lanes.map_or(element.to_owned(), |lanes| format!("<{lanes} x {element}>"))
    }

    /// The suffix of an intrinsic's name.
    fn suffix(&self) -> String {
        let element = match self.element {
            "half" => "f16",
            "bfloat" => "bf16",
            "float" => "f32",
            "double" => "f64",
            "fp128" => "f128",
            integer => integer,
        };
        self.lanes.map_or(element.to_owned(), |lanes| format!("v{lanes}{element}"))
    }
}

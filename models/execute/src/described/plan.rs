//! The plan of a run: buffers, and launches with their arguments.

use std::path::{Path, PathBuf};

use ptx_isa::{
    Code, FullSize, Function, Item, LaunchSize, Module, Parameter, Space, Type, Variable, launch::format_size,
    short_name,
};

use super::{
    argument::{ArgumentTarget, Content, Given, Value},
    element::{self, Number},
    expect::Expectation,
    sizes,
    tensor_map::Tensor,
};
use crate::TensorMap;

/// Buffers, and launches that use them.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The line of its description, from 1, or 0 if the description is not in a file.
    pub line: u32,
    pub buffers: Vec<Allocation>,
    pub maps: Vec<MapIn>,
    pub launches: Vec<Planned>,
    pub expect: Vec<Expectation>,
    /// The arguments that the search chose.
    pub chosen: Vec<String>,
    /// The buffers that are written to files.
    pub out: Vec<(String, PathBuf)>,
}

/// A buffer.
#[derive(Clone, Debug)]
pub struct Allocation {
    pub name: String,
    pub ty: Type,
    pub content: Content,
}

/// A tensor map in a buffer.
#[derive(Clone, Debug)]
pub struct MapIn {
    /// The number of the buffer.
    pub buffer: usize,
    /// The offset in the buffer, in bytes.
    pub at: usize,
    pub map: Box<TensorMap>,
    /// The number of the buffer with the tensor.
    pub data: usize,
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Planned {
    pub kernel: String,
    /// The sizes that the user or the kernel gives.
    pub said: LaunchSize,
    pub size: FullSize,
    pub arguments: Vec<Passed>,
    pub dependent: bool,
}

/// The value of a parameter.
#[derive(Clone, Debug)]
pub enum Passed {
    Bytes(Vec<u8>),
    /// The address of a buffer, plus an offset in bytes.
    Buffer(usize, u64),
    /// The address of a variable of the module, plus an offset in bytes.
    Variable(String, u64),
    /// A tensor map of the buffer with this number.
    TensorMap(Box<TensorMap>, usize),
    /// Parts at these offsets in bytes, of a parameter of the given size. Other parts are zero.
    Parts(u64, Vec<(u64, Passed)>),
    /// No value is given.
    Open,
}

/// The size of a tensor map, which is aligned to at least half of it.
const TENSOR_MAP: u64 = 128;

/// The kernel with a name, or with a unique part of a name, or the only kernel.
pub fn kernel<'m>(module: &'m Module, wanted: Option<&str>) -> Result<&'m Function, String> {
    let all: Vec<_> = module.kernels().collect();
    let names = all.iter().map(|function| &*function.name).collect::<Vec<_>>().join(", ");
    let fits = |function: &&&Function| match wanted {
        Some(name) => function.name.contains(name),
        None => true,
    };
    let exact = all.iter().find(|function| Some(&*function.name) == wanted);
    let mut others = all.iter().filter(fits);
    match (exact, others.next(), others.next(), wanted) {
        (Some(found), ..) | (None, Some(found), None, _) => Ok(*found),
        _ if all.is_empty() => Err("the module has no kernel: no `.entry` has a body".into()),
        (.., Some(name)) => Err(format!("expected the name of one kernel, found '{name}'; the kernels are {names}")),
        (.., None) => Err(format!("the module has several kernels; choose one by --kernel: {names}")),
    }
}

/// The variables in global and constant memory.
pub fn variables(module: &Module) -> impl Iterator<Item = Variable> {
    let directives = module.items.iter().filter_map(|item| match item {
        Item::Directive(text) => Some(text),
        Item::Function(_) => None,
    });
    let all = directives.flat_map(|text| Variable::read(text));
    all.filter(|variable| matches!(variable.space, Some(Space::Global | Space::Const)))
}

/// The shared memory that a kernel declares in its body.
fn declared_shared(function: &Function) -> u64 {
    let lines = function.body.iter().flatten().filter_map(|line| match &line.code {
        Code::Directive(text) => Some(Variable::read(text)),
        _ => None,
    });
    let shared = |variable: &Variable| variable.space.is_some_and(Space::is_shared);
    lines.flatten().filter(shared).fold(0, |all: u64, variable| all.saturating_add(variable.bytes()))
}

/// The requested properties of a launch.
pub struct Wish<'a> {
    pub kernel: Option<&'a str>,
    pub size: LaunchSize,
    pub arguments: &'a [Given],
    pub dependent: bool,
}

impl Plan {
    /// Adds a launch. `folder` contains the files of its buffers.
    pub fn launch(&mut self, module: &Module, wish: &Wish<'_>, folder: &Path) -> Result<(), Vec<String>> {
        let function = kernel(module, wish.kernel).map_err(|why| vec![why])?;
        let head = &function.head;
        let said = wish.size.or(LaunchSize::from_head(head));
        let size = sizes::complete(said, head);
        let mut wrong = size.wrong(head, declared_shared(function));
        let kernel = function.name.clone();
        match self.arguments(module, &kernel, &head.parameters, wish.arguments, folder) {
            Ok(arguments) if wrong.is_empty() => {
                self.launches.push(Planned { kernel, said, size, arguments, dependent: wish.dependent });
                return Ok(());
            }
            Ok(_) => {}
            Err(why) => wrong.extend(why),
        }
        Err(wrong.into_iter().map(|why| format!("kernel '{kernel}': {why}")).collect())
    }

    /// The value of each parameter: the argument with its name, or with its name without the prefix of the kernel's
    /// name, or else the next argument without a name.
    fn arguments(
        &mut self,
        module: &Module,
        kernel: &str,
        parameters: &[Parameter],
        given: &[Given],
        folder: &Path,
    ) -> Result<Vec<Passed>, Vec<String>> {
        let of_parameter = |given: &&Given, parameter: &Parameter| {
            let short = short_name(kernel, &parameter.name);
            given.place().is_some_and(|place| place.parameter == parameter.name || place.parameter == short)
        };
        let mut others = given.iter().filter(|given| !parameters.iter().any(|one| of_parameter(given, one)));
        let all_named = others.clone().next().is_none();
        let mut wrong = Vec::new();
        let mut passed = Vec::new();
        for parameter in parameters {
            let named: Vec<&Given> = given.iter().filter(|given| of_parameter(given, parameter)).collect();
            let one = match if named.is_empty() { others.next() } else { None } {
                Some(given) => self.given(module, parameter, given, folder),
                None if !named.is_empty() => self.parts(module, parameter, &named, folder),
                None if all_named => Ok(Passed::Open),
                None => {
                    let (count, known) = (parameters.len(), given.len());
                    let are = if known == 1 { "is" } else { "are" };
                    wrong.push(format!("the kernel has {count} parameter{}, and {known} {are} given", s(count)));
                    return Err(wrong);
                }
            };
            match one {
                Ok(one) => passed.push(one),
                Err(why) => wrong.push(format!("parameter '{}': {why}", parameter.name)),
            }
        }
        if let Some(more) = others.next() {
            let count = parameters.len();
            wrong.push(format!(
                "the kernel has {count} parameter{}, and '{}' is an extra argument",
                s(count),
                more.text
            ));
        }
        if wrong.is_empty() { Ok(passed) } else { Err(wrong) }
    }

    /// The value of a parameter from arguments for the whole parameter or for parts of it.
    fn parts(
        &mut self,
        module: &Module,
        parameter: &Parameter,
        named: &[&Given],
        folder: &Path,
    ) -> Result<Passed, String> {
        let mut parts: Vec<(u64, Passed)> = Vec::new();
        for given in named {
            let Some(ArgumentTarget { offset, inside, .. }) = given.place() else { continue };
            let text = &given.text;
            let at = offset.unwrap_or(0);
            let own = parts.iter().rev().find(|(own, _)| *own == at).map(|(_, passed)| passed);
            match (inside, own, &given.value) {
                (Some(inside), Some(Passed::Buffer(buffer, 0)), Value::TensorMap(tensor)) => {
                    let buffer = *buffer;
                    let (map, data) = self.tensor(given.name.as_deref().unwrap_or_default(), tensor, folder)?;
                    self.maps.push(MapIn { buffer, at: inside as usize, map, data });
                }
                (Some(_), _, Value::TensorMap(_)) => {
                    return Err(format!("'{text}' is in a buffer, and no earlier argument makes one there"));
                }
                (Some(_), ..) => return Err(format!("'{text}': a buffer takes only a tensor map")),
                (None, Some(_), _) => return Err(format!("'{text}' is a second argument for the same bytes")),
                (None, None, _) if offset.is_none() => parts.push((0, self.given(module, parameter, given, folder)?)),
                (None, None, _) => {
                    let all = bytes(parameter);
                    let rest = all.checked_sub(at).filter(|rest| *rest > 0);
                    let rest = rest.ok_or_else(|| format!("'{text}' is after the last of its {all} bytes"))?;
                    let part = Parameter { ty: Some(Type::B8), elements: Some(rest), align: 1, ..parameter.clone() };
                    parts.push((at, self.given(module, &part, given, folder)?));
                }
            }
        }
        let is_whole = named.iter().any(|given| given.place().is_some_and(|place| place.offset.is_none()));
        match parts.pop() {
            Some((_, one)) if is_whole && parts.is_empty() => Ok(one),
            last => Ok(Passed::Parts(bytes(parameter), parts.into_iter().chain(last).collect())),
        }
    }

    fn given(
        &mut self,
        module: &Module,
        parameter: &Parameter,
        given: &Given,
        folder: &Path,
    ) -> Result<Passed, String> {
        let name = given.name.clone().unwrap_or_else(|| parameter.name.clone());
        let bytes = bytes(parameter);
        match &given.value {
            Value::Buffer { ty, count, fill } => {
                pointer(parameter, &given.text)?;
                let (ty, content) =
                    fill.content(*ty, *count, folder).map_err(|why| format!("'{}': {why}", given.text))?;
                Ok(Passed::Buffer(self.allocate(name, ty, content)?, 0))
            }
            Value::Address(of, offset) => {
                pointer(parameter, &given.text)?;
                if let Some(buffer) = self.buffers.iter().position(|buffer| buffer.name == *of) {
                    return Ok(Passed::Buffer(buffer, *offset));
                }
                let is_variable = variables(module).any(|variable| variable.name == *of);
                let none = || format!("expected a number, an earlier buffer or a variable of the module, found '{of}'");
                is_variable.then(|| Passed::Variable(of.clone(), *offset)).ok_or_else(none)
            }
            Value::TensorMap(tensor) => self.tensor_map(parameter, name, tensor, folder),
            Value::Number(Some(ty), number) => {
                let encoded = element::encode(*ty, *number)?;
                let fits =
                    if is_struct(parameter) { encoded.len() as u64 <= bytes } else { encoded.len() as u64 == bytes };
                if !fits {
                    return Err(format!(
                        "'{}' has {} bits, and the parameter has {}",
                        given.text,
                        ty.bits(),
                        bytes * 8
                    ));
                }
                Ok(Passed::Bytes(encoded))
            }
            Value::Number(None, Number::Integer(number @ 0..)) if is_struct(parameter) => {
                let mut encoded = number.to_le_bytes().to_vec();
                encoded.truncate(16 - number.leading_zeros() as usize / 8);
                match encoded.len() as u64 <= bytes {
                    true => Ok(Passed::Bytes(encoded)),
                    false => Err(format!("{number} does not fit in its {bytes} bytes")),
                }
            }
            Value::Number(None, number) => {
                Ok(Passed::Bytes(element::encode(number_type(parameter, *number)?, *number)?))
            }
        }
    }

    /// A tensor map as a parameter, or in a buffer whose address is the parameter.
    fn tensor_map(
        &mut self,
        parameter: &Parameter,
        name: String,
        tensor: &Tensor,
        folder: &Path,
    ) -> Result<Passed, String> {
        let (map, data) = self.tensor(&name, tensor, folder)?;
        if bytes(parameter) >= TENSOR_MAP {
            return Ok(Passed::TensorMap(map, data));
        }
        pointer(parameter, "tensormap()")?;
        let buffer = self.allocate(name, Type::B64, Content::Uninitialized(TENSOR_MAP))?;
        self.maps.push(MapIn { buffer, at: 0, map, data });
        Ok(Passed::Buffer(buffer, 0))
    }

    /// A tensor map with a name, and the number of the buffer with the tensor.
    fn tensor(&mut self, name: &str, tensor: &Tensor, folder: &Path) -> Result<(Box<TensorMap>, usize), String> {
        let of = Given::read(&tensor.of)?;
        let text = &of.text;
        let data = match &of.value {
            Value::Buffer { ty, count, fill } => {
                let count = if fill.has_count() { *count } else { count.or(Some(tensor.count())) };
                let (ty, content) = fill.content(*ty, count, folder).map_err(|why| format!("'{text}': {why}"))?;
                self.allocate(of.name.clone().unwrap_or_else(|| format!("{name}.data")), ty, content)?
            }
            Value::Address(of, 0) => {
                let found = self.buffers.iter().position(|buffer| buffer.name == *of);
                found.ok_or_else(|| format!("expected an earlier buffer, found '{of}'"))?
            }
            _ => return Err(format!("expected a buffer, found '{text}'")),
        };
        let Allocation { ty, content, .. } = &self.buffers[data];
        Ok((Box::new(tensor.map(*ty, content.bytes(*ty))?), data))
    }

    /// Adds a buffer. Returns its number.
    pub fn allocate(&mut self, name: String, ty: Type, content: Content) -> Result<usize, String> {
        if self.buffers.iter().any(|buffer| buffer.name == name) {
            return Err(format!("two buffers have the name '{name}'"));
        }
        self.buffers.push(Allocation { name, ty, content });
        Ok(self.buffers.len() - 1)
    }

    /// The sizes and arguments that the user did not give, as options and arguments.
    pub fn chosen(&self) -> Vec<String> {
        let sizes = self.launches.iter().flat_map(|launch| sizes::chosen(launch.said, launch.size));
        sizes.chain(self.chosen.iter().cloned()).collect()
    }

    /// The type of the buffer or variable with a name.
    pub fn named(&self, module: &Module, name: &str) -> Option<Type> {
        let buffer = self.buffers.iter().find(|buffer| buffer.name == name).map(|buffer| buffer.ty);
        buffer.or_else(|| variables(module).find(|variable| variable.name == name)?.ty)
    }

    /// The total size of the buffers that do not grow.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().filter_map(|buffer| buffer.content.bytes(buffer.ty)).sum()
    }

    /// The kernels in their order. For a single launch also its sizes.
    pub fn title(&self) -> String {
        match &self.launches[..] {
            [one] => one.to_string(),
            all => all.iter().map(|launch| &*launch.kernel).collect::<Vec<_>>().join(", "),
        }
    }
}

impl std::fmt::Display for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FullSize { grid, block, cluster, .. } = self.size;
        write!(f, "{}: grid {}, block {}", self.kernel, format_size(grid), format_size(block))?;
        if cluster == [1; 3] { Ok(()) } else { write!(f, ", cluster {}", format_size(cluster)) }
    }
}

fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The size of a parameter.
fn bytes(parameter: &Parameter) -> u64 {
    let element = parameter.ty.map_or(1, |ty| u64::from(ty.bits()) / 8);
    element * parameter.elements.unwrap_or(1)
}

/// Whether a parameter may have parts.
fn is_struct(parameter: &Parameter) -> bool {
    parameter.elements.is_some() || bytes(parameter) > 8
}

fn is_tensor_map(parameter: &Parameter) -> bool {
    bytes(parameter) == TENSOR_MAP && parameter.align >= TENSOR_MAP / 2
}

/// Checks that a parameter can hold an address.
fn pointer(parameter: &Parameter, text: &str) -> Result<(), String> {
    if is_tensor_map(parameter) {
        return Err(format!("expected a tensor map, found the address '{text}'"));
    }
    let fits = parameter.ty.is_some_and(|ty| !element::is_float(ty)) && bytes(parameter) >= 8;
    let ty = parameter.ty.map(|ty| ty.to_string()).unwrap_or_default();
    if fits { Ok(()) } else { Err(format!("expected {ty}, found the address '{text}'")) }
}

/// The type of a number for a parameter, whose type may give only a width.
fn number_type(parameter: &Parameter, number: Number) -> Result<Type, String> {
    let ty = parameter.ty.ok_or("the parameter has no type")?;
    match (number, parameter.elements) {
        (_, Some(_)) => Err("the parameter is a struct: give its first bytes a type, as in 'u32:7'".into()),
        (Number::Float(_), None) => match ty {
            Type::B16 => Ok(Type::F16),
            Type::B32 => Ok(Type::F32),
            Type::B64 => Ok(Type::F64),
            ty => Ok(ty),
        },
        (Number::Integer(_), None) => Ok(ty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = ".version 8.0\n.target sm_90\n.visible .global .align 4 .u32 word;\n\
        .visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u32 n, .param .f32 x) { ret; }\n\
        .visible .entry plain(.param .u64 a, .param .b64 b, .param .align 8 .b8 s[16]) { ret; }\n";

    fn check(kernel: &str, arguments: &str, expected: Result<&str, &str>) {
        let module: Module = MODULE.parse().expect("PTX");
        let given: Vec<_> = arguments.split_whitespace().map(|word| Given::read(word).expect("an argument")).collect();
        let wish = Wish { kernel: Some(kernel), size: LaunchSize::default(), arguments: &given, dependent: false };
        let mut plan = Plan::default();
        let done = plan.launch(&module, &wish, Path::new(".")).map(|()| {
            let buffers = plan.buffers.iter().map(|buffer| format!("{} ", buffer.name)).collect::<String>();
            format!("{buffers}{:?}", plan.launches[0].arguments)
        });
        let done = done.map_err(|errors| errors.join("; "));
        assert_eq!(done.as_deref().map_err(String::as_str), expected, "{kernel} {arguments}");
    }

    #[test]
    fn arguments() {
        check("k", "", Ok("[Open, Open, Open]"));
        check("k", "n=7", Ok("[Open, Bytes([7, 0, 0, 0]), Open]"));
        check("k", "out:u8[1] 7 1", Ok("out [Buffer(0, 0), Bytes([7, 0, 0, 0]), Bytes([0, 0, 128, 63])]"));
        check("k", "x=2 word+4 7", Ok(r#"[Variable("word", 4), Bytes([7, 0, 0, 0]), Bytes([0, 0, 0, 64])]"#));
        check("plain", "", Ok("[Open, Open, Open]"));
        check("plain", "x:u8[1] x+1 u32:7", Ok("x [Buffer(0, 0), Buffer(0, 1), Bytes([7, 0, 0, 0])]"));
        check("plain", "x:u8[1] x+1 300", Ok("x [Buffer(0, 0), Buffer(0, 1), Bytes([44, 1])]"));
        check(
            "plain",
            "a=0 b+4=u16:7 s:u8[1] s+8:u8[]=small",
            Ok("s s+8 [Bytes([0, 0, 0, 0, 0, 0, 0, 0]), Parts(8, [(4, Bytes([7, 0]))]), \
                Parts(16, [(0, Buffer(0, 0)), (8, Buffer(1, 0))])]"),
        );
    }

    #[test]
    fn wrong_inputs_are_errors() {
        let check_k = |arguments, why: &str| check("k", arguments, Err(&format!("kernel 'k': {why}")));
        check_k("out:u8[1]", "the kernel has 3 parameters, and 1 is given");
        check_k("out:u8[1] 7 1 1", "the kernel has 3 parameters, and '1' is an extra argument");
        check_k("7 out:u8[1] 1", "parameter 'n': expected u32, found the address 'out:u8[1]'");
        check_k(
            "out 7 1",
            "parameter 'p': expected a number, an earlier buffer or a variable of the module, found 'out'",
        );
        check_k("n=u64:7", "parameter 'n': 'n=u64:7' has 64 bits, and the parameter has 32");
        check_k("n=1.5", "parameter 'n': expected u32, found 1.5");
        check_k("n+4=1", "parameter 'n': 'n+4=1' is after the last of its 4 bytes");
        check_k("n+2=70000", "parameter 'n': 70000 does not fit in its 2 bytes");
        check_k("n=1 n=2", "parameter 'n': 'n=2' is a second argument for the same bytes");
        check_k("p:u8[1] p[0]=7", "parameter 'p': 'p[0]=7': a buffer takes only a tensor map");
        check_k(
            "p[0]=tensormap(u8[],16,box=16)",
            "parameter 'p': 'p[0]=tensormap(u8[],16,box=16)' is in a buffer, and no earlier argument makes one there",
        );
        check("none", "", Err("expected the name of one kernel, found 'none'; the kernels are k, plain"));
        check("plain", "x:u8[1] x:u8[1] u8:1", Err("kernel 'plain': parameter 'b': two buffers have the name 'x'"));
    }
}

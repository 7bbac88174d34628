//! The search for missing arguments of launches, which adds the values that it finds to the plan.

use std::{
    panic::{self, AssertUnwindSafe},
    time::Duration,
};

use ptx_isa::{Function, LaunchSize, Module, Stop, Type, short_name};

use super::{
    argument::Content,
    plan::{self, MapIn, Passed, Plan, Planned},
    tensor_map::type_of,
};
use crate::{Assumed, End, Given as Known, SearchBudget, TensorMap, Tried, Value, search};

/// The emergency time limit of a search for the arguments of a launch.
const LIMIT: Duration = Duration::from_secs(60);
/// The usual value of a number, if the kernel accepts it.
const NUMBER: u64 = 64;

impl Plan {
    /// A parameter with the values that the search found. Names of its buffers begin with `front`.
    fn passed(&mut self, found: &Assumed, parameter: usize, front: &str) -> Result<Passed, String> {
        let all = found.parameters[parameter].bytes;
        let mut parts = Vec::new();
        for field in found.fields_of(parameter) {
            let name = format!("{front}{}", found.name_of(field));
            let passed = match &field.value {
                Value::Number(_) | Value::Division(..) => {
                    let bits = found.number(&field.value).unwrap_or_default();
                    Passed::Bytes(bits.to_le_bytes()[..field.bytes.min(8) as usize].to_vec())
                }
                Value::Buffer(maps) => {
                    let content = if found.begins_with_zeros(field) { Content::GrowsZero } else { Content::Grows };
                    let buffer = self.allocate(name.clone(), Type::U32, content)?;
                    for (at, map) in maps {
                        let (map, data) = self.mapped(&format!("{name}[{at}]"), map)?;
                        self.maps.push(MapIn { buffer, at: *at as usize, map, data });
                    }
                    Passed::Buffer(buffer, 0)
                }
                Value::Map(map) => {
                    let (map, data) = self.mapped(&name, map)?;
                    Passed::TensorMap(map, data)
                }
            };
            if (field.offset, field.bytes) == (0, all) {
                return Ok(passed);
            }
            parts.push((field.offset, passed));
        }
        Ok(Passed::Parts(all, parts))
    }

    /// A tensor map, and the number of a new buffer with its tensor. `name` is the base of the buffer's name.
    fn mapped(&mut self, name: &str, map: &TensorMap) -> Result<(Box<TensorMap>, usize), String> {
        let ty = type_of(map.element).unwrap_or(Type::U32);
        let data = self.allocate(format!("{name}.data"), ty, Content::Grows)?;
        let refused = map.refused();
        if refused.is_empty() { Ok((Box::new(*map), data)) } else { Err(refused.join("; ")) }
    }
}

/// Finds arguments for the open parameters of all launches. Errors of a launch are reported when it is launched.
pub fn complete(module: &Module, plan: &mut Plan) {
    for index in 0..plan.launches.len() {
        let planned = &plan.launches[index];
        let is_open = planned.arguments.iter().any(|argument| matches!(argument, Passed::Open));
        let found = || panic::catch_unwind(AssertUnwindSafe(|| find_launch(module, planned))).ok().flatten();
        if let Some(found) = if is_open { found() } else { None } {
            put(module, plan, index, &found);
        }
    }
}

/// The best launch with the given values. The first attempt uses usual values for the rest. If the kernel rejects them or
/// skips much of its code, the second attempt lets the search choose the numbers, and the third also the number of
/// threads.
fn find_launch(module: &Module, planned: &Planned) -> Option<Assumed> {
    let Planned { kernel, said, size, .. } = planned;
    let numbers = numbers(module, planned);
    let usual: Vec<_> = numbers.iter().cloned().chain(usual(module, planned)).collect();
    let sizes = LaunchSize { grid: Some(size.grid), block: Some(size.block), ..*said };
    let with_sizes = |numbers| Known { size: sizes, most: None, numbers };
    let tries = [
        Some(with_sizes(usual)),
        Some(with_sizes(numbers.clone())),
        said.block.is_none().then_some(Known { size: *said, most: None, numbers }),
    ];
    let mut best: Option<Tried> = None;
    for known in tries.into_iter().flatten() {
        let tried =
            search(module, kernel, &known, &SearchBudget::default(), &Stop::after(LIMIT)).ok()?.into_iter().next()?;
        let (executed, all) = tried.covered;
        let is_usual = !matches!(tried.end, End::Stopped(_)) && executed * 2 >= all;
        if best.as_ref().is_none_or(|best| is_better(&tried, best)) {
            best = Some(tried);
        }
        if is_usual {
            break;
        }
    }
    Some(best?.launch)
}

/// Whether a launch is clearly better than a launch with more usual values: it ends, or executes more of the code.
fn is_better(tried: &Tried, usual: &Tried) -> bool {
    let is_stopped = |tried: &Tried| matches!(tried.end, End::Stopped(_));
    match (is_stopped(tried), is_stopped(usual)) {
        (true, false) => false,
        (false, true) => true,
        _ => tried.covered.0 * 4 > usual.covered.0 * 5,
    }
}

/// A usual number, as bits, for each open parameter that is a number.
fn usual(module: &Module, planned: &Planned) -> Vec<(String, u64)> {
    let Ok(Function { head, .. }) = plan::kernel(module, Some(&planned.kernel)) else { return Vec::new() };
    let has_pointers = head.parameters.iter().any(|parameter| parameter.is_pointer);
    let open = head.parameters.iter().zip(&planned.arguments).filter(|(_, passed)| matches!(passed, Passed::Open));
    let numbers = open.filter_map(|(parameter, _)| {
        let ty = parameter.ty.filter(|_| parameter.elements.is_none() && !parameter.is_pointer)?;
        let number = match ty {
            Type::F32 => 1f32.to_bits().into(),
            Type::F64 => 1f64.to_bits(),
            // The parameter may be an address.
            ty if ty.bits() == 64 && !has_pointers => return None,
            _ => NUMBER,
        };
        Some((parameter.name.clone(), number))
    });
    numbers.collect()
}

/// The sizes and the numbers of a launch that a description gives, with the names that the search uses for their places.
pub fn known(module: &Module, planned: &Planned) -> (LaunchSize, Vec<(String, u64)>) {
    (planned.said, numbers(module, planned))
}

/// The given numbers, with the names that the search uses for their places.
fn numbers(module: &Module, planned: &Planned) -> Vec<(String, u64)> {
    let Ok(Function { head, .. }) = plan::kernel(module, Some(&planned.kernel)) else { return Vec::new() };
    let number = |bytes: &[u8]| bytes.iter().take(8).rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let mut numbers = Vec::new();
    for (parameter, passed) in head.parameters.iter().zip(&planned.arguments) {
        match passed {
            Passed::Bytes(bytes) => numbers.push((parameter.name.clone(), number(bytes))),
            Passed::Parts(_, parts) => numbers.extend(
                parts
                    .iter()
                    .filter_map(|(at, part)| match part {
                        Passed::Bytes(bytes) => Some((at, bytes)),
                        _ => None,
                    })
                    .flat_map(|(at, bytes)| {
                        // The kernel may read a part of 8 bytes as two numbers.
                        let halves = (0..bytes.len()).step_by(4);
                        halves.map(move |half| {
                            (format!("{}+{}", parameter.name, at + half as u64), number(&bytes[half..]))
                        })
                    }),
            ),
            _ => {}
        }
    }
    numbers
}

/// Puts a launch that the search found into the plan.
fn put(module: &Module, plan: &mut Plan, index: usize, found: &Assumed) {
    let kernel = &found.kernel;
    let Ok(Function { head, .. }) = plan::kernel(module, Some(kernel)) else { return };
    for (number, parameter) in head.parameters.iter().enumerate() {
        if !matches!(plan.launches[index].arguments.get(number), Some(Passed::Open)) {
            continue;
        }
        // Another launch may have a buffer with this name.
        let short = short_name(kernel, &parameter.name);
        let front = &parameter.name[..parameter.name.len() - short.len()];
        let is_taken = plan.buffers.iter().any(|buffer| buffer.name.starts_with(short));
        let front = if is_taken { front } else { "" };
        if let Ok(passed) = plan.passed(found, number, front) {
            plan.launches[index].arguments[number] = passed;
            plan.chosen.extend(found.chosen(number).into_iter().map(|word| format!("{front}{word}")));
        }
    }
    plan.launches[index].size = found.size;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ptx_isa::FullSize;
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        Argument, Assumption, Device, Launch, Parameter, Part, RunOptions,
        described::{argument::Given, plan::Wish, simulate::Simulation},
        matrix::map::{Fill, Interleave, TensorElement},
        random::Random,
    };

    const MODULE: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .global .align 4 .u32 word;\n\
        .visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u32 n, .param .f32 x, .param .f64 y, .param .u16 h,\n\
        .param .b64 q, .param .align 64 .b8 map[128], .param .align 8 .b8 args[512], .param .align 4 .b8 one[8],\n\
        .param .align 8 .b8 whole[128], .param .s32 i) { ret; }\n";

    /// A random map that the driver accepts, with a few exceptions.
    fn map(random: &mut Random) -> TensorMap {
        let elements: Vec<_> = TensorElement::iter().collect();
        loop {
            let rank = 1 + random.below(5) as usize;
            let sizes: Vec<u32> = (0..rank).map(|_| 16 * (1 + random.below(64) as u32)).collect();
            let boxes: Vec<u32> = (0..rank).map(|_| 1 << random.below(8)).collect();
            let element = elements[random.below(elements.len() as u64) as usize];
            let mut map = TensorMap::tiled(element, &sizes, &boxes);
            let swizzles = TensorMap::SWIZZLES;
            (map.swizzle_mode, map.swizzle_atomicity) = swizzles[random.below(swizzles.len() as u64) as usize].1;
            if random.below(2) == 0 {
                map.fill = Fill::Nan;
                map.strides[..rank - 1].iter_mut().for_each(|stride| *stride += 16 * random.below(9));
                map.element_strides[..rank].iter_mut().for_each(|stride| *stride += random.below(4) as u32);
            }
            map.interleave =
                [Interleave::None, Interleave::B16, Interleave::B32][random.below(9).saturating_sub(6) as usize];
            if map.refused().is_empty() {
                return map;
            }
        }
    }

    /// A random launch of the kernel. Each parameter has one field, or fields with gaps between them.
    fn assumed(module: &Module, random: &mut Random) -> Assumed {
        let Function { head, .. } = plan::kernel(module, None).expect("a kernel");
        let (mut parameters, mut fields, mut end) = (Vec::new(), Vec::new(), 0u64);
        for (parameter, own) in head.parameters.iter().enumerate() {
            let element = own.ty.map_or(1, |ty| u64::from(ty.bits() / 8));
            let all = element * own.elements.unwrap_or(1);
            let offset = end.next_multiple_of(own.align.max(element));
            end = offset + all;
            let is_float = own.ty.is_some_and(Type::is_float);
            parameters.push(Parameter { name: own.name.clone(), offset, bytes: all, is_pointer: false, is_float });
            let mut offset = 0;
            while offset < all {
                let rest = all - offset;
                let bytes = [all, 1, 2, 4, 8, 128][random.below(6) as usize].min(rest);
                let value = match (bytes, random.below(4)) {
                    (_, 0) => None,
                    (8, 1) if !is_float => {
                        let maps = 0..random.below(3);
                        Some(Value::Buffer(maps.map(|index| (index * 192, map(random))).collect()))
                    }
                    (128, _) => Some(Value::Map(Box::new(map(random)))),
                    (1 | 2 | 4 | 8, 2) => Some(Value::Number(random.below(300))),
                    (4, 1) => {
                        let part = [Part::Multiplier, Part::Shift][random.below(2) as usize];
                        (end - all + offset).checked_sub(4).map(|divisor| Value::Division(part, divisor))
                    }
                    (1 | 2 | 4 | 8, _) => Some(Value::Number(random.next())),
                    _ => None,
                };
                fields.extend(value.map(|value| Assumption {
                    parameter,
                    offset,
                    bytes,
                    value,
                    is_given: false,
                    is_zero: random.below(2) == 0,
                }));
                offset += bytes + random.below(2) * bytes;
            }
        }
        let cluster = [1 + random.below(2) as u32, 1, 1];
        let grid = [cluster[0] * (1 + random.below(3) as u32), 1 + random.below(2) as u32, 1];
        let block = [32, 1 + random.below(2) as u32, 1 + random.below(2) as u32];
        let size = FullSize { grid, block, cluster, shared: random.below(2) as u32 * 1024 };
        Assumed { kernel: "k".into(), size, parameters, fields, zeros: false }
    }

    /// A launch and its buffers as text.
    fn print_launch(launch: &Launch, device: &Device<'_>, buffers: &[crate::Buffer]) -> String {
        // Missing bytes of a number are zero.
        let argument = |argument: &Argument| match argument {
            Argument::Bytes(bytes) => {
                format!("{:?}", bytes.iter().rev().skip_while(|byte| **byte == 0).collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        };
        let arguments: Vec<_> = launch.arguments.iter().map(argument).collect();
        let held: Vec<_> = buffers.iter().map(|buffer| device.contents(*buffer)).collect();
        format!("{:?} {arguments:#?} {held:?}", Launch { arguments: Vec::new(), ..launch.clone() })
    }

    /// A plan of one launch with arguments, completed by the values that the search found.
    fn planned(module: &Module, arguments: &[Given], found: &Assumed) -> Plan {
        let wish = Wish { kernel: Some(&found.kernel), size: found.size.into(), arguments, dependent: false };
        let mut plan = Plan::default();
        plan.launch(module, &wish, Path::new("")).unwrap_or_else(|why| panic!("{why:?}: {found}"));
        put(module, &mut plan, 0, found);
        plan
    }

    /// Checks that the plan made from the argument text and the plan made from the values both give the launch that the
    /// search found.
    fn check(module: &Module, assumed: &Assumed, seed: u64) {
        let words = assumed.arguments().iter().map(|word| Given::read(word).expect("an argument")).collect::<Vec<_>>();
        check_plan(module, assumed, seed, &planned(module, &words, assumed));
        check_plan(module, assumed, seed, &planned(module, &[], assumed));
    }

    fn check_plan(module: &Module, assumed: &Assumed, seed: u64, plan: &Plan) {
        let device = || Device::new(module, RunOptions::default().of_seed(seed)).expect("a device");
        let (mut one, mut other) = (device(), device());
        let simulation = Simulation { module, plan, options: RunOptions::default(), schedule: None, watch: &|_| {} };
        let buffers = simulation.allocate(&mut other, seed);
        let expected = print_launch(&assumed.launch(&mut one), &one, &buffers);
        let launch = simulation.launch(&plan.launches[0], &other, &buffers).expect("a launch");
        assert_eq!(print_launch(&launch, &other, &buffers), expected, "{assumed}");
        let names: Vec<String> = assumed
            .fields
            .iter()
            .flat_map(|field| {
                let name = assumed.name_of(field);
                match &field.value {
                    Value::Number(_) | Value::Division(..) => Vec::new(),
                    Value::Map(_) => vec![format!("{name}.data")],
                    Value::Buffer(maps) => {
                        let of = maps.iter().map(|(at, _)| format!("{name}[{at}].data"));
                        std::iter::once(name.clone()).chain(of).collect()
                    }
                }
            })
            .collect();
        assert_eq!(plan.buffers.iter().map(|buffer| buffer.name.clone()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn words_and_values_make_the_same_launch() {
        let module: Module = MODULE.parse().expect("PTX");
        let mut random = Random::new(1);
        for seed in 0..2_000 {
            check(&module, &assumed(&module, &mut random), seed % 3);
        }
    }

    /// The same check for launches that the search finds for kernels.
    #[test]
    fn of_kernels() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/async");
        let mut count = 0;
        for file in std::fs::read_dir(folder).expect("kernels").map(|entry| entry.expect("a file").path()) {
            if file.extension().is_none_or(|ending| ending != "ptx") {
                continue;
            }
            let module: Module = std::fs::read_to_string(&file).expect("a text").parse().expect("PTX");
            for function in module.kernels() {
                let launches =
                    search(&module, &function.name, &Known::default(), &SearchBudget::default(), &Stop::never())
                        .expect("launches");
                launches.iter().for_each(|tried| check(&module, &tried.launch, 1));
                count += launches.len();
            }
        }
        assert!(count > 25, "{count} launches");
    }
}

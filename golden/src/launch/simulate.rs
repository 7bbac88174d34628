//! One execution of a plan: from fresh memory, by a seed.

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
};

use ptx_atomics::ptx::{Module, Type};
use ptx_execute::{Argument, Buffer, Contents, Device, Launch, LaunchError, Options, Report, Schedule, TensorMap};

use super::{
    argument::Content,
    element::{self, Number},
    expect::{Expectation, Memory},
    plan::{Allocation, GROWS, Passed, Plan, Planned, variables},
    sizes::Sizes,
};

/// A plan for a module, and how it is run.
pub struct Simulation<'a> {
    pub module: &'a Module,
    pub plan: &'a Plan,
    pub options: Options,
    /// In place of the one that a seed gives.
    pub schedule: Option<Schedule>,
}

/// What came of an execution.
#[derive(Debug, Default)]
pub struct Outcome {
    pub seed: u64,
    /// Of each launch, up to one that ended the run.
    pub reports: Vec<Report>,
    /// Why a launch did not begin.
    pub errors: Vec<LaunchError>,
    /// The conditions that do not hold, each with why.
    pub failed: Vec<(String, String)>,
    /// What the memory of the plan holds at the end.
    pub memory: Held,
}

/// Memory by its names.
#[derive(Debug, Default)]
pub struct Held(Vec<(String, Type, Vec<u8>)>);

impl Memory for Held {
    fn get(&self, name: &str) -> Option<(Type, &[u8])> {
        self.0.iter().find(|(of, ..)| of == name).map(|(_, ty, bytes)| (*ty, &**bytes))
    }
}

/// What a number is of which nothing is said, if the code admits it.
const NUMBER: i128 = 64;
/// The same of floating point.
const FLOAT: i128 = 1;

impl Simulation<'_> {
    /// Runs it with a seed. `names` are what is kept of memory.
    pub fn run(&self, seed: u64, names: &[String]) -> Outcome {
        let mut options = self.options.clone().of_seed(seed);
        options.schedule = self.schedule.unwrap_or(options.schedule);
        let done = panic::catch_unwind(AssertUnwindSafe(|| self.run_with(options, seed, names)));
        let done = done.unwrap_or_else(|why| Err(vec![LaunchError { line: None, reason: of_panic(&*why) }]));
        done.unwrap_or_else(|errors| Outcome { seed, errors, ..Outcome::default() })
    }

    fn run_with(&self, options: Options, seed: u64, names: &[String]) -> Result<Outcome, Vec<LaunchError>> {
        let mut device = Device::new(self.module, options)?;
        let buffers: Vec<Buffer> = self
            .plan
            .buffers
            .iter()
            .enumerate()
            .map(|(index, buffer)| {
                device.allocate(&buffer.name, contents(buffer, seed.wrapping_mul(0x1_0001).wrapping_add(index as u64)))
            })
            .collect();
        self.write_tensor_maps(&mut device, &buffers);
        let mut outcome = Outcome { seed, ..Outcome::default() };
        let mut ended = false;
        for planned in &self.plan.launches {
            let launch = self.launch(planned, &device, &buffers)?;
            match device.launch(&launch) {
                Ok(report) => {
                    ended = report.findings.iter().any(|finding| finding.kind.ends());
                    outcome.reports.push(report);
                }
                Err(errors) => outcome.errors = errors,
            }
            if ended || !outcome.errors.is_empty() {
                return Ok(outcome);
            }
        }
        outcome.memory = self.held(&device, &buffers, names);
        let wrong = |expectation: &Expectation| Some((expectation.text.clone(), expectation.wrong(&outcome.memory)?));
        outcome.failed = self.plan.expect.iter().filter_map(wrong).collect();
        Ok(outcome)
    }

    fn launch(&self, planned: &Planned, device: &Device<'_>, buffers: &[Buffer]) -> Result<Launch, Vec<LaunchError>> {
        let argument = |passed: &Passed| match passed {
            Passed::Bytes(bytes) => Ok(Argument::Bytes(bytes.clone())),
            Passed::Buffer(index, offset) => Ok(Argument::Buffer(buffers[*index], *offset)),
            Passed::Variable(name, offset) => {
                let buffer = device.variable(name).map(|buffer| Argument::Buffer(buffer, *offset));
                buffer.ok_or_else(|| LaunchError { line: None, reason: format!("the variable '{name}' has no memory") })
            }
            Passed::TensorMap(map, buffer) => Ok(Argument::TensorMap(map.clone(), buffers[*buffer])),
            Passed::Some(_, ty) => {
                let number = if element::is_float(*ty) { FLOAT } else { NUMBER };
                Ok(Argument::Bytes(element::encode(*ty, Number::Integer(number)).unwrap_or_default()))
            }
        };
        let arguments =
            planned.arguments.iter().map(argument).collect::<Result<_, _>>().map_err(|error| vec![error])?;
        let Planned { kernel, sizes: Sizes { grid, block, cluster, shared }, dependent, .. } = planned.clone();
        Ok(Launch { kernel, grid, block, cluster, shared, arguments, dependent })
    }

    /// Writes the maps that are in buffers: where their data lies is known when all buffers are there.
    fn write_tensor_maps(&self, device: &mut Device<'_>, buffers: &[Buffer]) {
        for (buffer, of) in buffers.iter().zip(&self.plan.buffers) {
            if let Content::TensorMap(map, data) = &of.content {
                let map = TensorMap { address: device.address(buffers[*data]), ..**map };
                device.write(*buffer, 0, &map.encode());
            }
        }
    }

    fn held(&self, device: &Device<'_>, buffers: &[Buffer], names: &[String]) -> Held {
        let wanted = |name: &str| names.iter().any(|of| of == name);
        let mut held: Vec<_> = self
            .plan
            .buffers
            .iter()
            .zip(buffers)
            .filter(|(of, _)| wanted(&of.name))
            .map(|(of, buffer)| (of.name.clone(), of.ty, device.contents(*buffer).to_vec()))
            .collect();
        let is_new = |name: &str| !self.plan.buffers.iter().any(|buffer| buffer.name == name);
        held.extend(
            variables(self.module)
                .filter(|of| wanted(&of.name) && is_new(&of.name))
                .filter_map(|of| Some((of.name.clone(), of.ty?, device.contents(device.variable(&of.name)?).to_vec()))),
        );
        Held(held)
    }

    /// A launch with numbers that the code admits: for each parameter of which nothing is said, its place and its bytes.
    fn fitting(&self, planned: &Planned) -> Result<Vec<(usize, Vec<u8>)>, Vec<LaunchError>> {
        let mut device = Device::new(self.module, self.options.clone())?;
        let buffers: Vec<Buffer> =
            self.plan.buffers.iter().map(|buffer| device.allocate(&buffer.name, Contents::Grows(GROWS))).collect();
        self.write_tensor_maps(&mut device, &buffers);
        let launch = self.launch(planned, &device, &buffers)?;
        let said_nothing = |(index, passed): (usize, &Passed)| match passed {
            Passed::Some(_, ty) => Some((index, *ty)),
            _ => None,
        };
        let all: Vec<_> = planned.arguments.iter().enumerate().filter_map(said_nothing).collect();
        let open: Vec<usize> = all.iter().filter(|(_, ty)| !element::is_float(*ty)).map(|(index, _)| *index).collect();
        let found = launch.fitting(self.module, &open)?.into_iter().next().unwrap_or(launch);
        let bytes = |(index, _): (usize, Type)| match &found.arguments[index] {
            Argument::Bytes(bytes) => Some((index, bytes.clone())),
            _ => None,
        };
        Ok(all.into_iter().filter_map(bytes).collect())
    }
}

fn of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("ptx-atomics has a bug: {}", text.unwrap_or("it panicked"))
}

/// Gives numbers that the code admits to the parameters of which nothing is said.
pub fn fit(module: &Module, plan: &mut Plan, options: &Options) {
    if !plan.has_guesses() {
        return;
    }
    let simulation = Simulation { module, plan, options: options.clone(), schedule: None };
    // What cannot be launched says so when it is.
    let fitting = |planned| panic::catch_unwind(AssertUnwindSafe(|| simulation.fitting(planned).unwrap_or_default()));
    let found: Vec<_> = plan.launches.iter().map(|planned| fitting(planned).unwrap_or_default()).collect();
    for (planned, found) in plan.launches.iter_mut().zip(found) {
        for (index, bytes) in found {
            if let Passed::Some(name, ty) = &planned.arguments[index] {
                plan.chosen.push(format!("{name} is {}", element::shown(*ty, &bytes)));
                planned.arguments[index] = Passed::Bytes(bytes);
            }
        }
    }
}

fn contents(buffer: &Allocation, seed: u64) -> Contents {
    match &buffer.content {
        Content::Bytes(bytes) => Contents::Bytes(bytes.clone()),
        Content::Uninitialized(bytes) => Contents::Uninitialized(*bytes),
        Content::TensorMap(..) => Contents::Uninitialized(128),
        Content::Grows => Contents::Grows(GROWS),
        Content::GrowsZero => Contents::GrowsZero(GROWS),
        Content::Random(count, first, last) => {
            let mut random = Random(seed);
            let bytes =
                (0..*count).flat_map(|_| element::encode(buffer.ty, random.between(*first, *last)).unwrap_or_default());
            Contents::Bytes(bytes.collect())
        }
    }
}

/// SplitMix64 ('Fast Splittable Pseudorandom Number Generators', Steele et al., 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from the first to the last of these.
    fn between(&mut self, first: Number, last: Number) -> Number {
        match (first, last) {
            (Number::Integer(first), Number::Integer(last)) => {
                let count = (last - first + 1).max(1);
                Number::Integer(first + i128::from(self.next()) % count)
            }
            _ => {
                let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
                Number::Float(first.float() + part * (last.float() - first.float()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ty: Type, first: Number, last: Number) {
        let of = |seed| {
            let buffer = Allocation { name: "x".into(), ty, content: Content::Random(1000, first, last) };
            match contents(&buffer, seed) {
                Contents::Bytes(bytes) => bytes,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let all = of(1);
        let all: Vec<_> = all.chunks_exact(element::size(ty)).map(|bytes| element::decode(ty, bytes).float()).collect();
        assert!(
            all.len() == 1000 && all.iter().all(|number| (first.float()..=last.float()).contains(number)),
            "{all:?}"
        );
        let (least, most) =
            all.iter().fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(*one), most.max(*one)));
        assert!(most - least > 0.9 * (last.float() - first.float()), "{least} to {most}");
    }

    #[test]
    fn random_contents() {
        check(Type::U8, Number::Integer(0), Number::Integer(255));
        check(Type::S32, Number::Integer(-5), Number::Integer(5));
        check(Type::U64, Number::Integer(0), Number::Integer(u64::MAX.into()));
        check(Type::F32, Number::Float(-1.0), Number::Float(1.0));
        check(Type::F16, Number::Integer(0), Number::Float(0.5));
    }
}

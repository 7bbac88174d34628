//! One execution of a plan with a seed, on fresh memory.

use std::{
    any::Any,
    ops::ControlFlow,
    panic::{self, AssertUnwindSafe},
};

use ptx_isa::{Module, Type};

use super::{
    argument::Content,
    element::{self, Number},
    expect::{Expectation, Memory},
    plan::{Allocation, MapIn, Passed, Plan, Planned, variables},
};
use crate::{
    Argument, Buffer, Contents, Device, GROWS, Launch, LaunchError, Progress, Report, RunOptions, Schedule, Schedules,
    TensorMap, random::Random,
};

/// A plan for a module, and the options of its execution.
pub struct Simulation<'a> {
    pub module: &'a Module,
    pub plan: &'a Plan,
    pub options: RunOptions,
    /// Overrides the schedule that the seed gives.
    pub schedule: Option<Schedule>,
    /// Receives the progress of each launch.
    pub watch: &'a (dyn Fn(Progress) + Sync),
}

/// The outcome of an execution.
#[derive(Debug, Default)]
pub struct Outcome {
    pub seed: u64,
    /// The reports of the launches, up to the first launch that ended the run.
    pub reports: Vec<Report>,
    /// The reasons why a launch was rejected.
    pub errors: Vec<LaunchError>,
    /// The conditions that do not hold, each with the reason.
    pub failed: Vec<(String, String)>,
    /// The final contents of the memory named by the caller.
    pub memory: Held,
}

impl Outcome {
    /// Whether the execution speaks for every schedule of its launches: all of them do. A lag of any launch counts.
    pub fn schedules(&self) -> Schedules {
        let all = || self.reports.iter().map(|report| &report.schedules);
        let lag = |schedules: &&Schedules| matches!(schedules, Schedules::Determinate { lag: Some(_) });
        let first = all().find(|schedules| !schedules.is_determinate()).or_else(|| all().find(lag)).or(all().next());
        first.cloned().unwrap_or_default()
    }
}

/// Contents of memory by name.
#[derive(Debug, Default)]
pub struct Held(Vec<(String, Type, Vec<u8>)>);

impl Memory for Held {
    fn get(&self, name: &str) -> Option<(Type, &[u8])> {
        self.0.iter().find(|(of, ..)| of == name).map(|(_, ty, bytes)| (*ty, &**bytes))
    }
}

impl Simulation<'_> {
    /// Runs the plan with a seed. `names` selects the memory whose contents are kept.
    pub fn run(&self, seed: u64, names: &[String]) -> Outcome {
        let mut options = self.options.clone().of_seed(seed);
        options.schedule = self.schedule.unwrap_or(options.schedule);
        let done = panic::catch_unwind(AssertUnwindSafe(|| self.run_with(options, seed, names)));
        let done = done.unwrap_or_else(|why| Err(vec![LaunchError { line: None, reason: of_panic(&*why) }]));
        done.unwrap_or_else(|errors| Outcome { seed, errors, ..Outcome::default() })
    }

    fn run_with(&self, options: RunOptions, seed: u64, names: &[String]) -> Result<Outcome, Vec<LaunchError>> {
        let mut device = Device::new(self.module, options)?;
        let buffers = self.allocate(&mut device, seed);
        let mut outcome = Outcome { seed, ..Outcome::default() };
        let mut ended = false;
        for planned in &self.plan.launches {
            let launch = self.launch(planned, &device, &buffers)?;
            let mut watch = |progress| {
                (self.watch)(progress);
                ControlFlow::Continue(())
            };
            match device.launch_with(&launch, &mut watch) {
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

    /// A launch on a device that has the buffers of the plan.
    pub fn launch(
        &self,
        planned: &Planned,
        device: &Device<'_>,
        buffers: &[Buffer],
    ) -> Result<Launch, Vec<LaunchError>> {
        let arguments = planned.arguments.iter().map(|passed| argument(passed, device, buffers));
        let arguments = arguments.collect::<Result<_, _>>().map_err(|error| vec![error])?;
        let Planned { kernel, size, dependent, .. } = planned.clone();
        Ok(Launch { dependent, ..Launch::new(kernel, size, arguments) })
    }

    /// The buffers of the plan on a device.
    pub fn allocate(&self, device: &mut Device<'_>, seed: u64) -> Vec<Buffer> {
        let all = self.plan.buffers.iter().zip(0..);
        let buffers: Vec<Buffer> = all
            .map(|(buffer, index)| {
                device.allocate(&buffer.name, contents(buffer, seed.wrapping_mul(0x1_0001).wrapping_add(index)))
            })
            .collect();
        // The address of a tensor map's data is known when all buffers are allocated.
        for MapIn { buffer, at, map, data } in &self.plan.maps {
            let map = TensorMap { address: device.address(buffers[*data]), ..**map };
            device.write(buffers[*buffer], *at, &map.encode());
        }
        buffers
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
}

fn argument(passed: &Passed, device: &Device<'_>, buffers: &[Buffer]) -> Result<Argument, LaunchError> {
    Ok(match passed {
        Passed::Bytes(bytes) => Argument::Bytes(bytes.clone()),
        Passed::Buffer(index, offset) => Argument::Buffer(buffers[*index], *offset),
        Passed::Variable(name, offset) => match device.variable(name) {
            Some(buffer) => Argument::Buffer(buffer, *offset),
            None => {
                return Err(LaunchError { line: None, reason: format!("the variable '{name}' has no memory") });
            }
        },
        Passed::TensorMap(map, buffer) => Argument::TensorMap(map.clone(), buffers[*buffer]),
        Passed::Parts(bytes, parts) => {
            let mut all = vec![0; *bytes as usize];
            for (at, part) in parts {
                let own = argument(part, device, buffers)?.bytes();
                all.iter_mut().skip(*at as usize).zip(own).for_each(|(to, from)| *to = from);
            }
            Argument::Bytes(all)
        }
        Passed::Open => Argument::Bytes(Vec::new()),
    })
}

fn of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("ptx-atomics has a bug: {}", text.unwrap_or("it panicked"))
}

fn contents(buffer: &Allocation, seed: u64) -> Contents {
    match &buffer.content {
        Content::Bytes(bytes) => Contents::Bytes(bytes.clone()),
        Content::Uninitialized(bytes) => Contents::Uninitialized(*bytes),
        Content::Grows => Contents::Grows(GROWS),
        Content::GrowsZero => Contents::GrowsZero(GROWS),
        Content::Random(count, first, last) => {
            let mut random = Random::new(seed);
            let bytes = (0..*count)
                .flat_map(|_| element::encode(buffer.ty, between(&mut random, *first, *last)).unwrap_or_default());
            Contents::Bytes(bytes.collect())
        }
    }
}

/// A random number in a range, inclusive.
fn between(random: &mut Random, first: Number, last: Number) -> Number {
    match (first, last) {
        (Number::Integer(first), Number::Integer(last)) => {
            let count = (last - first + 1).max(1);
            Number::Integer(first + i128::from(random.next()) % count)
        }
        _ => {
            let part = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
            Number::Float(first.float() + part * (last.float() - first.float()))
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

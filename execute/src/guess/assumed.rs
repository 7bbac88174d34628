//! A launch that is assumed: what is written of it needs no device.

use std::fmt::{self, Display, Formatter, Write};

use crate::{Argument, Buffer, Contents, Device, Dim3, Launch, TensorMap, code::Parameter, device::State};

/// How many bytes a buffer has at most.
const GROWS: u64 = 1 << 28;

/// A launch of a kernel, with values for all that it loads of its parameters. The same one makes the same launch on every new device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The kernel, as the module spells it.
    pub kernel: String,
    /// How many CTAs the grid has in each direction.
    pub grid: Dim3,
    /// How many threads a CTA has in each direction.
    pub block: Dim3,
    /// How many CTAs a cluster has in each direction.
    pub cluster: Dim3,
    /// The bytes of dynamic shared memory of each CTA.
    pub shared: u32,
    /// The names of the parameters, and their bytes.
    pub parameters: Vec<(String, u64)>,
    /// What the parameters have in them, in their order.
    pub fields: Vec<Assumption>,
}

/// By parameter and the offset in it, the buffers that were made for fields.
pub(super) type Buffers = Vec<OfField>;
pub(super) type OfField = ((usize, u64), Buffer);

/// What is assumed of a parameter, or of a part of it. Other parts are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// The number of the parameter.
    pub parameter: usize,
    /// Where in it, in bytes.
    pub offset: u64,
    /// How many bytes there are.
    pub bytes: u64,
    /// What they are.
    pub value: Value,
    /// Whether a user said so.
    pub is_given: bool,
}

/// What a field of a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, or the bits of one.
    Number(u64),
    /// The address of a buffer of its own, which has as many bytes as are touched, made of the seed; and the tensor maps in it.
    Buffer(Vec<(u64, TensorMap)>),
    /// A tensor map of 128 bytes, of a tensor in a buffer of its own.
    Map(Box<TensorMap>),
}

impl Assumed {
    /// The launch on a device, whose buffers it makes.
    pub fn launch(&self, device: &mut Device<'_>) -> Launch {
        self.on(&mut device.state).0
    }

    /// The same, and the buffer of each field that has one.
    pub(super) fn on(&self, state: &mut State<'_>) -> (Launch, Buffers) {
        let mut buffers = Vec::new();
        for field in &self.fields {
            let buffer = match &field.value {
                Value::Number(_) => None,
                Value::Buffer(maps) => {
                    let buffer = state.allocate(&self.name_of(field), Contents::Grows(GROWS));
                    for (index, (at, map)) in maps.iter().enumerate() {
                        let tensor = format!("{} tensor {index}", self.name_of(field));
                        let tensor = state.allocate(&tensor, Contents::Grows(GROWS));
                        let map = TensorMap { address: state.address(tensor), ..*map };
                        state.write(buffer, *at as usize, &map.encode());
                    }
                    Some(buffer)
                }
                Value::Map(_) => Some(state.allocate(&self.name_of(field), Contents::Grows(GROWS))),
            };
            buffers.extend(buffer.map(|buffer| ((field.parameter, field.offset), buffer)));
        }
        let arguments = (0..self.parameters.len()).map(|index| self.argument(index, &buffers, state)).collect();
        let Self { kernel, grid, block, cluster, shared, .. } = self.clone();
        let launch = Launch { kernel, grid, block, cluster, shared, arguments, dependent: false };
        (launch, buffers)
    }

    fn argument(&self, parameter: usize, buffers: &[OfField], state: &State<'_>) -> Argument {
        let bytes = self.parameters[parameter].1;
        let mut all = vec![0; bytes as usize];
        for field in self.fields.iter().filter(|field| field.parameter == parameter) {
            let own = buffers.iter().find(|(at, _)| *at == (parameter, field.offset));
            let buffer = own.map(|(_, buffer)| buffer);
            let is_whole = field.offset == 0 && field.bytes == bytes;
            let value = match (&field.value, buffer) {
                (Value::Buffer(_), Some(buffer)) if is_whole => return Argument::Buffer(*buffer, 0),
                (Value::Map(map), Some(buffer)) if is_whole => return Argument::TensorMap(map.clone(), *buffer),
                (Value::Buffer(_), Some(buffer)) => state.address(*buffer).to_le_bytes().to_vec(),
                (Value::Map(map), Some(buffer)) => {
                    TensorMap { address: state.address(*buffer), ..**map }.encode().to_vec()
                }
                (Value::Number(number), _) => number.to_le_bytes().to_vec(),
                _ => continue,
            };
            let count = (field.bytes as usize).min(value.len());
            let at = field.offset as usize;
            if let Some(own) = all.get_mut(at..at + count) {
                own.copy_from_slice(&value[..count]);
            }
        }
        Argument::Bytes(all)
    }

    /// The parameter, and what is added if the field is a part of it: `args+16`.
    pub fn name_of(&self, field: &Assumption) -> String {
        let (name, bytes) = &self.parameters[field.parameter];
        match (field.offset, field.bytes) {
            (0, own) if own == *bytes => name.clone(),
            (offset, _) => format!("{name}+{offset}"),
        }
    }

    /// Each field in words, as `n=256`, `out:buffer`, `map:tensor 2D box 64x128 of u16`.
    pub fn arguments(&self) -> Vec<String> {
        self.fields.iter().map(|field| format!("{}{}", self.name_of(field), said(&field.value))).collect()
    }

    /// The parameter and the offset in it of a place in the parameters, of which the beginnings are given.
    pub(super) fn place(parameters: &[Parameter], offset: u64) -> Option<(usize, u64)> {
        let index = parameters.iter().rposition(|own| own.offset <= offset)?;
        let within = offset - parameters[index].offset;
        (within < parameters[index].bytes).then_some((index, within))
    }
}

fn said(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("={number}"),
        Value::Buffer(maps) => {
            maps.iter().fold(":buffer".to_owned(), |text, (at, map)| format!("{text} with at {at} a {}", map_said(map)))
        }
        Value::Map(map) => format!(":{}", map_said(map)),
    }
}

fn map_said(map: &TensorMap) -> String {
    let mut text = format!("tensor {}D of {:?} box ", map.rank, map.element).to_lowercase();
    for (index, size) in map.box_sizes[..map.rank.min(5) as usize].iter().enumerate() {
        let _ = write!(text, "{}{size}", if index == 0 { "" } else { "x" });
    }
    text
}

impl Display for Assumed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let size = |size: &Dim3| match size {
            [x, 1, 1] => x.to_string(),
            [x, y, 1] => format!("{x},{y}"),
            [x, y, z] => format!("{x},{y},{z}"),
        };
        write!(f, "--grid {} --block {}", size(&self.grid), size(&self.block))?;
        if self.cluster != [1; 3] {
            write!(f, " --cluster {}", size(&self.cluster))?;
        }
        if self.shared > 0 {
            write!(f, " --shared {}", self.shared)?;
        }
        self.arguments().iter().try_for_each(|argument| write!(f, " '{argument}'"))
    }
}

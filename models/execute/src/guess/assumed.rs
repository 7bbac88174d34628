//! A guessed launch, in a form that can be stored without a device.

use ptx_isa::FullSize;

use super::division::Part;
use crate::{Argument, Buffer, Contents, Device, GROWS, Launch, TensorMap, code::Parameter, device::State};

/// A launch of a kernel with a value for each field that the kernel loads from its parameters. The same value makes the
/// same launch on every new device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Assumed {
    /// The kernel, as the module spells it.
    pub kernel: String,
    /// The sizes of the grid, its CTAs and its clusters, and of dynamic shared memory.
    pub size: FullSize,
    /// The parameters of the kernel.
    pub parameters: Vec<Parameter>,
    /// The fields of the parameters, in the order of the parameters.
    pub fields: Vec<Assumption>,
    /// Whether all buffers begin with zeros, as flags and locks do, instead of small numbers.
    pub zeros: bool,
}

/// The buffers that were made for fields, by parameter and offset in the parameter.
pub(super) type Buffers = Vec<OfField>;
pub(super) type OfField = ((usize, u64), Buffer);

/// The assumed value of a parameter, or of a part of it. Parts without an assumption are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Assumption {
    /// The index of the parameter.
    pub parameter: usize,
    /// The offset in the parameter, in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The assumed value.
    pub value: Value,
    /// Whether the value is given by the user.
    pub is_given: bool,
    /// Whether the buffer begins with zeros, because threads synchronize through it.
    pub is_zero: bool,
}

/// The value of a field of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Value {
    /// A number, or its bits.
    Number(u64),
    /// The address of a separate buffer that grows with the accesses and whose contents depend on the seed; and the
    /// tensor maps in the buffer.
    Buffer(Vec<(u64, TensorMap)>),
    /// A tensor map of 128 bytes, of a tensor in a separate buffer.
    Map(Box<TensorMap>),
    /// A number that follows from the divisor at an offset from the beginning of all parameters.
    Division(Part, u64),
}

impl Assumed {
    /// Makes the buffers of the launch on a device, and returns the launch.
    pub fn launch(&self, device: &mut Device<'_>) -> Launch {
        self.on(&mut device.state).0
    }

    /// Like `launch`; also returns the buffer of each field that has one.
    pub(super) fn on(&self, state: &mut State<'_>) -> (Launch, Buffers) {
        let mut buffers = Vec::new();
        for field in &self.fields {
            let name = self.name_of(field);
            let buffer = match &field.value {
                Value::Number(_) | Value::Division(..) => None,
                Value::Buffer(maps) => {
                    let contents =
                        if self.begins_with_zeros(field) { Contents::GrowsZero(GROWS) } else { Contents::Grows(GROWS) };
                    let buffer = state.allocate(&name, contents);
                    for (at, map) in maps {
                        let tensor = state.allocate(&format!("{name}[{at}].data"), Contents::Grows(GROWS));
                        let map = TensorMap { address: state.address(tensor), ..*map };
                        state.write(buffer, *at as usize, &map.encode());
                    }
                    Some(buffer)
                }
                Value::Map(_) => Some(state.allocate(&format!("{name}.data"), Contents::Grows(GROWS))),
            };
            buffers.extend(buffer.map(|buffer| ((field.parameter, field.offset), buffer)));
        }
        let arguments = (0..self.parameters.len()).map(|index| self.argument(index, &buffers)).collect();
        (Launch::new(&*self.kernel, self.size, arguments), buffers)
    }

    /// The fields of a parameter.
    pub(crate) fn fields_of(&self, parameter: usize) -> impl Iterator<Item = &Assumption> {
        self.fields.iter().filter(move |field| field.parameter == parameter)
    }

    fn argument(&self, parameter: usize, buffers: &[OfField]) -> Argument {
        let bytes = self.parameters[parameter].bytes;
        let mut all = vec![0; bytes as usize];
        for field in self.fields_of(parameter) {
            let own = buffers.iter().find(|(at, _)| *at == (parameter, field.offset));
            let value = match (&field.value, own) {
                (Value::Number(_) | Value::Division(..), _) => {
                    Argument::u64(self.number(&field.value).unwrap_or_default())
                }
                (Value::Buffer(_), Some((_, buffer))) => Argument::Buffer(*buffer, 0),
                (Value::Map(map), Some((_, buffer))) => Argument::TensorMap(map.clone(), *buffer),
                (_, None) => continue,
            };
            let is_whole = field.offset == 0 && field.bytes == bytes;
            if is_whole && !matches!(value, Argument::Bytes(_)) {
                return value;
            }
            let (value, at) = (value.bytes(), field.offset as usize);
            let count = (field.bytes as usize).min(value.len());
            if let Some(own) = all.get_mut(at..at + count) {
                own.copy_from_slice(&value[..count]);
            }
        }
        Argument::Bytes(all)
    }

    /// The number that a value is: its own, or the number that follows from a divisor.
    pub(crate) fn number(&self, value: &Value) -> Option<u64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Division(part, divisor) => {
                let is_at = |own: &&Assumption| self.parameters[own.parameter].offset + own.offset == *divisor;
                match self.fields.iter().find(is_at)?.value {
                    Value::Number(number) => Some(part.of(number)),
                    _ => None,
                }
            }
            Value::Buffer(_) | Value::Map(_) => None,
        }
    }

    /// Whether the buffer of a field begins with zeros.
    pub(crate) fn begins_with_zeros(&self, field: &Assumption) -> bool {
        self.zeros || field.is_zero
    }

    /// Whether the launch has a tensor map. The PTX does not give the sizes of its boxes.
    pub fn has_maps(&self) -> bool {
        self.fields.iter().any(|field| match &field.value {
            Value::Map(_) => true,
            Value::Buffer(maps) => !maps.is_empty(),
            Value::Number(_) | Value::Division(..) => false,
        })
    }

    /// The name of a field: the parameter, with an offset if the field is a part of it, such as `args+16`.
    pub fn name_of(&self, field: &Assumption) -> String {
        let Parameter { name, bytes, .. } = &self.parameters[field.parameter];
        match field.offset {
            0 if field.bytes == *bytes => name.clone(),
            offset => format!("{name}+{offset}"),
        }
    }

    /// The parameter at an offset from the beginning of all parameters, and the offset in that parameter.
    pub(super) fn place(parameters: &[Parameter], offset: u64) -> Option<(usize, u64)> {
        let index = parameters.iter().rposition(|own| own.offset <= offset)?;
        let within = offset - parameters[index].offset;
        (within < parameters[index].bytes).then_some((index, within))
    }
}

//! Arguments of kernels, as users write them: `out:f32[1024]`, `in:i32[4]=1,2,3,4`, `x:f16[]=x.npy`, `n=1024`, `u64:7`,
//! `out+16`, `d=tensormap(x,128x64,box=64x16)`, and `args+16=1024` for a part of a struct.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ptx_isa::Type;

use super::{
    element::{self, Number},
    npy,
    tensor_map::Tensor,
};

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub name: Option<String>,
    pub value: Value,
    /// The text of the argument.
    pub text: String,
}

/// The target of an argument: a parameter, a part of it at an offset in bytes, or the contents of the buffer whose
/// address is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentTarget<'a> {
    pub parameter: &'a str,
    /// `args+16`
    pub offset: Option<u64>,
    /// `out[128]`, `args+16[128]`
    pub inside: Option<u64>,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A new buffer. If the type or the count is missing, a file gives it.
    Buffer {
        ty: Option<Type>,
        count: Option<u64>,
        fill: Fill,
    },
    /// A number. If its type is missing, the parameter gives it.
    Number(Option<Type>, Number),
    /// The address of another argument's buffer or of a variable of the module, plus an offset in bytes.
    Address(String, u64),
    TensorMap(Tensor),
}

/// The initial contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    Zero,
    /// Random numbers in this range, inclusive.
    Random(Option<(Number, Number)>),
    /// 0, 1, 2, …
    Iota,
    /// Uninitialized memory.
    Uninitialized,
    /// Small random numbers of 32 bits. The buffer grows with the accesses.
    Small,
    /// A single number for every element, or a number for each element.
    Numbers(Vec<Number>),
    File(PathBuf),
}

/// The contents of a buffer, with all defaults resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Bytes(Vec<u8>),
    /// This number of random elements in this range, inclusive.
    Random(u64, Number, Number),
    /// This number of uninitialized bytes.
    Uninitialized(u64),
    /// A buffer that grows with the accesses, with small random numbers, or with zeros.
    Grows,
    GrowsZero,
}

impl Content {
    /// The size in bytes. `None` if the buffer grows.
    pub fn bytes(&self, ty: Type) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Random(count, ..) => Some(count * element::size(ty) as u64),
            Self::Uninitialized(bytes) => Some(*bytes),
            Self::Grows | Self::GrowsZero => None,
        }
    }
}

/// The maximum size of a buffer in bytes.
pub const LARGEST: u64 = 1 << 32;

/// The default ranges of random numbers: of integers, and of floats.
const RANDOM: [(Number, Number); 2] =
    [(Number::Integer(0), Number::Integer(99)), (Number::Float(-1.0), Number::Float(1.0))];

impl Given {
    pub fn read(text: &str) -> Result<Self, String> {
        let (name, rest) = match text.find([':', '=']) {
            Some(at)
                if ArgumentTarget::read(&text[..at]).is_some_and(|place| element::named(place.parameter).is_none()) =>
            {
                (Some(text[..at].to_owned()), &text[at + 1..])
            }
            _ => (None, text),
        };
        let value = Value::read(rest).map_err(|why| format!("'{text}': {why}"))?;
        Ok(Self { name, value, text: text.to_owned() })
    }

    /// The target, if the argument names it.
    pub fn place(&self) -> Option<ArgumentTarget<'_>> {
        ArgumentTarget::read(self.name.as_ref()?)
    }
}

impl<'a> ArgumentTarget<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (text, inside) = match text.strip_suffix(']') {
            Some(text) => text.split_once('[').map(|(text, inside)| (text, Some(inside)))?,
            None => (text, None),
        };
        let (parameter, offset) = text.split_once('+').map_or((text, None), |(name, offset)| (name, Some(offset)));
        let number = |text: Option<&str>| text.map(str::parse).transpose().ok();
        is_name(parameter).then_some(Self { parameter, offset: number(offset)?, inside: number(inside)? })
    }
}

/// Whether a text is the name of a buffer, a parameter or a variable.
pub fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_$%".contains(c))
}

impl Value {
    fn read(text: &str) -> Result<Self, String> {
        if let Some(tensor) = Tensor::read(text) {
            let tensor = tensor?;
            Given::read(&tensor.of)?;
            return Ok(Self::TensorMap(tensor));
        }
        if let Some(file) = Fill::file(text) {
            return Ok(Self::Buffer { ty: None, count: None, fill: Fill::File(file) });
        }
        let (words, fill) = text.split_once('=').map_or((text, None), |(words, fill)| (words, Some(fill)));
        if let Some((ty, count)) = words.split_once('[') {
            let ty = Some(named(ty)?);
            let count = count.strip_suffix(']').ok_or("a `]` is missing")?;
            let number = || match Number::read(count) {
                Some(Number::Integer(count)) => u64::try_from(count).ok(),
                _ => None,
            };
            let count = match count {
                "" => None,
                _ => Some(number().ok_or_else(|| format!("expected a number of elements, found '{count}'"))?),
            };
            let fill = fill.map_or(Ok(Fill::Zero), Fill::read)?;
            return Ok(Self::Buffer { ty, count, fill });
        }
        if let Some((ty, number)) = text.split_once(':') {
            let number = Number::read(number).ok_or_else(|| format!("expected a number, found '{number}'"))?;
            let ty = named(ty)?;
            element::encode(ty, number)?;
            return Ok(Self::Number(Some(ty), number));
        }
        if let Some(number) = Number::read(text) {
            return Ok(Self::Number(None, number));
        }
        let (name, offset) = text.split_once('+').unwrap_or((text, "0"));
        match Number::read(offset) {
            Some(Number::Integer(offset)) if is_name(name) => {
                let offset = u64::try_from(offset).map_err(|_| "the offset is too large")?;
                Ok(Self::Address(name.to_owned(), offset))
            }
            _ => Err("expected a buffer such as 'out:f32[1024]', a number or a name".into()),
        }
    }
}

fn named(name: &str) -> Result<Type, String> {
    element::named(name).ok_or_else(|| format!("unknown type '{name}'; the known types are {}", element::names()))
}

impl Fill {
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(file) = Self::file(text) {
            return Ok(Self::File(file));
        }
        let inside = text.strip_prefix("random(").and_then(|rest| rest.strip_suffix(')'));
        Ok(match (text, inside) {
            ("zero", _) => Self::Zero,
            ("random", _) => Self::Random(None),
            ("iota", _) => Self::Iota,
            ("uninitialized", _) => Self::Uninitialized,
            ("small", _) => Self::Small,
            (_, Some(range)) => match &numbers(range)?[..] {
                [first, last] if first.float() <= last.float() => Self::Random(Some((*first, *last))),
                _ => return Err("random(FIRST,LAST) takes two numbers, the lower number first".into()),
            },
            (list, None) => Self::Numbers(numbers(list)?),
        })
    }

    /// The file that a text names: after `@`, or with a known file extension.
    pub fn file(text: &str) -> Option<PathBuf> {
        let named = text.strip_prefix('@').filter(|name| !name.is_empty());
        let ends = |ending: &str| text.len() > ending.len() && text.ends_with(ending);
        let plain = (ends(".npy") || ends(".bin")).then_some(text).filter(|text| !text.contains(['[', ':', '=']));
        named.or(plain).map(PathBuf::from)
    }

    /// Whether the contents determine the number of elements.
    pub fn has_count(&self) -> bool {
        matches!(self, Self::File(_) | Self::Small) || matches!(self, Self::Numbers(list) if list.len() > 1)
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Zero) || matches!(self, Self::Numbers(list) if list[..] == [Number::Integer(0)])
    }

    /// The type and contents of a buffer. `folder` contains its files.
    pub fn content(&self, ty: Option<Type>, count: Option<u64>, folder: &Path) -> Result<(Type, Content), String> {
        let (ty, known) = match self {
            Self::File(file) => {
                let (ty, bytes) = file_content(&folder.join(file), ty)?;
                let elements = (bytes.len() / element::size(ty)) as u64;
                if count.is_some_and(|count| count != elements) {
                    return Err(format!("'{}' has {elements} elements", file.display()));
                }
                return Ok((ty, Content::Bytes(bytes)));
            }
            Self::Numbers(list) if list.len() > 1 => (ty, Some(list.len() as u64)),
            _ => (ty, None),
        };
        let ty = ty.ok_or("the buffer has no type")?;
        match count {
            None if self.is_zero() => return Ok((ty, Content::GrowsZero)),
            None if *self == Self::Small => return Ok((ty, Content::Grows)),
            Some(_) if *self == Self::Small => {
                return Err("a buffer of small numbers grows with the accesses: leave its count out".into());
            }
            _ => {}
        }
        let count = match (count, known) {
            (Some(count), Some(known)) if count != known => {
                return Err(format!("expected {count} values, found {known}"));
            }
            (count, known) => count.or(known).ok_or("the number of elements is missing")?,
        };
        let size = element::size(ty) as u64;
        let bytes = count.checked_mul(size).filter(|bytes| *bytes <= LARGEST);
        let bytes = bytes.ok_or_else(|| format!("{count} elements are more than 4 GiB, the largest buffer"))?;
        let each = |of: &dyn Fn(u64) -> Number| -> Result<Content, String> {
            let mut all = Vec::with_capacity(bytes as usize);
            (0..count).try_for_each(|index| element::encode(ty, of(index)).map(|bytes| all.extend(bytes)))?;
            Ok(Content::Bytes(all))
        };
        let content = match self {
            Self::Zero => Content::Bytes(vec![0; bytes as usize]),
            Self::Uninitialized => Content::Uninitialized(bytes),
            Self::Random(range) => {
                let (first, last) = range.unwrap_or(RANDOM[usize::from(element::is_float(ty))]);
                [first, last].iter().try_for_each(|number| element::encode(ty, *number).map(drop))?;
                Content::Random(count, first, last)
            }
            Self::Iota => each(&|index| element::iota(ty, index))?,
            Self::Numbers(list) => {
                each(&|index| list.get(index as usize).or(list.first()).copied().unwrap_or(Number::Integer(0)))?
            }
            Self::File(_) | Self::Small => return Err("the buffer has no count".into()),
        };
        Ok((ty, content))
    }
}

fn numbers(list: &str) -> Result<Vec<Number>, String> {
    let number = |text: &str| Number::read(text.trim()).ok_or_else(|| format!("expected a number, found '{text}'"));
    list.split(',').map(number).collect()
}

/// The elements in a file.
fn file_content(path: &Path, ty: Option<Type>) -> Result<(Type, Vec<u8>), String> {
    let name = path.display();
    let bytes = fs::read(path).map_err(|error| format!("cannot read '{name}': {error}"))?;
    if path.extension().is_none_or(|ending| ending != "npy") {
        let ty = ty.ok_or_else(|| format!("'{name}' needs a type, as in 'x:f32[]={name}'"))?;
        return match bytes.len() % element::size(ty) {
            0 => Ok((ty, bytes)),
            _ => Err(format!("'{name}' has {} bytes, which is not a multiple of {ty}", bytes.len())),
        };
    }
    let array = npy::read(&bytes).map_err(|why| format!("cannot read '{name}': {why}"))?;
    let kind = |ty: Type| (ty.bits(), element::is_float(ty));
    match ty {
        Some(ty) if kind(ty) != kind(array.ty) => {
            Err(format!("expected elements of {ty} in '{name}', found {}", array.ty))
        }
        ty => Ok((ty.unwrap_or(array.ty), array.bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let read = Given::read(text).and_then(|Given { name, value, .. }| {
            let value = match value {
                Value::Buffer { ty, count, fill } => {
                    let (ty, content) = fill.content(ty, count, Path::new("."))?;
                    format!("{ty} {content:?}")
                }
                Value::Number(ty, number) => format!("{} {number}", ty.map_or("-".into(), |ty| ty.to_string())),
                Value::Address(name, offset) => format!("&{name}+{offset}"),
                Value::TensorMap(tensor) => format!("{tensor:?}"),
            };
            Ok(format!("{}: {value}", name.unwrap_or_default()))
        });
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn arguments() {
        check("out:u16[2]", Ok("out: u16 Bytes([0, 0, 0, 0])"));
        check("out=u16[2]=7", Ok("out: u16 Bytes([7, 0, 7, 0])"));
        check("i8[3]=1,-1,0x7f", Ok(": s8 Bytes([1, 255, 127])"));
        check("i8[]=1,2", Ok(": s8 Bytes([1, 2])"));
        check("x:u8[3]=iota", Ok("x: u8 Bytes([0, 1, 2])"));
        check("x:f32[1]=1.5", Ok("x: f32 Bytes([0, 0, 192, 63])"));
        check("x:f32[4]=uninitialized", Ok("x: f32 Uninitialized(16)"));
        check("x:u8[4]=random", Ok("x: u8 Random(4, Integer(0), Integer(99))"));
        check("x:f16[4]=random(0,0.5)", Ok("x: f16 Random(4, Integer(0), Float(0.5))"));
        check("x:u8[]", Ok("x: u8 GrowsZero"));
        check("x:f32[]=zero", Ok("x: f32 GrowsZero"));
        check("x:f32[]=0", Ok("x: f32 GrowsZero"));
        check("x:u8[2]=0", Ok("x: u8 Bytes([0, 0])"));
        check("n=1024", Ok("n: - 1024"));
        check("-1", Ok(": - -1"));
        check("u64:0x7", Ok(": u64 7"));
        check("n:f32:2.5", Ok("n: f32 2.5"));
        check("out", Ok(": &out+0"));
        check("p=out+16", Ok("p: &out+16"));
        check("p:u32[]=small", Ok("p: u32 Grows"));
        check("args+16=7", Ok("args+16: - 7"));
        check("args+16:u32[2]", Ok("args+16: u32 Bytes([0, 0, 0, 0, 0, 0, 0, 0])"));
        check("args+16[128]=u8:7", Ok("args+16[128]: u8 7"));
    }

    #[test]
    fn invalid_texts_are_errors() {
        check("u33[1]", Err(&format!("'u33[1]': unknown type 'u33'; the known types are {}", element::names())));
        check("u32[1", Err("'u32[1': a `]` is missing"));
        check("u32[x]", Err("'u32[x]': expected a number of elements, found 'x'"));
        check("u32[2]=1,x", Err("'u32[2]=1,x': expected a number, found 'x'"));
        check("u8[2]=1,2,3", Err("expected 2 values, found 3"));
        check("u8[1]=256", Err("256 does not fit in u8"));
        check("u8[]=1", Err("the number of elements is missing"));
        check("u8[2]=small", Err("a buffer of small numbers grows with the accesses: leave its count out"));
        check("args+x=7", Err("'args+x=7': expected a buffer such as 'out:f32[1024]', a number or a name"));
        check("u8[]=iota", Err("the number of elements is missing"));
        check("u64[0xffffffffffffffff]", Err("18446744073709551615 elements are more than 4 GiB, the largest buffer"));
        check("u8:300", Err("'u8:300': 300 does not fit in u8"));
        check("", Err("'': expected a buffer such as 'out:f32[1024]', a number or a name"));
        check("a b", Err("'a b': expected a buffer such as 'out:f32[1024]', a number or a name"));
        check("x=@none.bin", Err("cannot read './none.bin': No such file or directory (os error 2)"));
        check(
            "f32[2]=random(1,0)",
            Err("'f32[2]=random(1,0)': random(FIRST,LAST) takes two numbers, the lower number first"),
        );
    }
}

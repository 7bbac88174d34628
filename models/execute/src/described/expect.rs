//! Conditions on the final contents of memory: `out == 512 && x[3] ~= 0.5 +- 1e-3`.

use std::path::Path;

use ptx_isa::Type;

use super::{
    argument::{Content, Fill, is_name},
    element::{self, Number},
};

/// A conjunction of comparisons.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The text of the condition.
    pub text: String,
    comparisons: Vec<Comparison>,
}

#[derive(Clone, Debug)]
struct Comparison {
    left: ElementReference,
    operator: &'static str,
    right: Right,
    /// For `~=`: the allowed difference, if it is given.
    tolerance: Option<f64>,
}

/// A buffer or a variable, or an element of it.
#[derive(Clone, Debug)]
struct ElementReference {
    name: String,
    index: Option<usize>,
}

#[derive(Clone, Debug)]
enum Right {
    Place(ElementReference),
    Fill(Fill),
    /// The elements in a file.
    Elements(Type, Vec<u8>),
}

/// Access to memory by name.
pub trait Memory {
    fn get(&self, name: &str) -> Option<(Type, &[u8])>;
}

/// Longer operators come before their prefixes.
const OPERATORS: [&str; 7] = ["==", "!=", "<=", ">=", "~=", "<", ">"];
/// The allowed relative difference of `~=`, as a fraction of the larger number, or of 1.
const TOLERANCE: f64 = 1e-5;

impl Expectation {
    /// Reads a condition. `folder` contains its files.
    pub fn read(text: &str, folder: &Path) -> Result<Self, String> {
        let comparison = |part: &str| Comparison::read(part.trim(), folder);
        let comparisons = text.split("&&").map(comparison).collect::<Result<_, _>>();
        let comparisons = comparisons.map_err(|why: String| format!("the condition '{}': {why}", text.trim()))?;
        Ok(Self { text: text.trim().to_owned(), comparisons })
    }

    /// The names in the condition.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.comparisons.iter().flat_map(|comparison| {
            let right = match &comparison.right {
                Right::Place(place) => Some(&*place.name),
                _ => None,
            };
            [Some(&*comparison.left.name), right].into_iter().flatten()
        })
    }

    /// The reason why the condition does not hold, if it does not.
    pub fn wrong(&self, memory: &impl Memory) -> Option<String> {
        self.comparisons.iter().find_map(|comparison| comparison.wrong(memory))
    }
}

impl ElementReference {
    fn read(text: &str) -> Option<Self> {
        let (name, index) = match text.split_once('[') {
            None => (text, None),
            Some((name, index)) => match Number::read(index.strip_suffix(']')?)? {
                Number::Integer(index) => (name, Some(usize::try_from(index).ok()?)),
                Number::Float(_) => return None,
            },
        };
        is_name(name).then(|| Self { name: name.to_owned(), index })
    }

    /// The type and the bytes at the place.
    fn read_bytes<'m>(&self, memory: &'m impl Memory) -> Result<(Type, &'m [u8]), String> {
        let (ty, bytes) = memory.get(&self.name).ok_or_else(|| format!("unknown name '{}'", self.name))?;
        let size = element::size(ty);
        match self.index {
            None => Ok((ty, bytes)),
            Some(index) => {
                let element = bytes.chunks_exact(size).nth(index);
                let count = bytes.len() / size;
                let why = || format!("'{}' has {count} element{}", self.name, if count == 1 { "" } else { "s" });
                Ok((ty, element.ok_or_else(why)?))
            }
        }
    }
}

impl Comparison {
    fn read(text: &str, folder: &Path) -> Result<Self, String> {
        let found = text.char_indices().find_map(|(at, _)| {
            let operator = OPERATORS.iter().find(|operator| text[at..].starts_with(**operator))?;
            Some((&text[..at], *operator, &text[at + operator.len()..]))
        });
        let help = || format!("expected a comparison such as 'out[3] == 7', with one of {}", OPERATORS.join(" "));
        let (left, operator, right) = found.ok_or_else(help)?;
        let left = ElementReference::read(left.trim()).ok_or_else(help)?;
        let (right, tolerance) = match right.split_once("+-") {
            None => (right.trim(), None),
            Some((right, tolerance)) => {
                let tolerance = Number::read(tolerance.trim()).filter(|number| number.float() >= 0.0);
                let tolerance = tolerance.filter(|_| operator == "~=").ok_or("'+-' and a number need '~='")?;
                (right.trim(), Some(tolerance.float()))
            }
        };
        let place = ElementReference::read(right).filter(|place| !matches!(&*place.name, "iota" | "inf" | "nan"));
        let right = match (place, Fill::file(right)) {
            (_, Some(file)) => match Fill::File(file).content(None, None, folder)? {
                (ty, Content::Bytes(bytes)) => Right::Elements(ty, bytes),
                _ => return Err(help()),
            },
            (Some(place), None) => Right::Place(place),
            (None, None) => match Fill::read(right) {
                Ok(fill @ (Fill::Iota | Fill::Numbers(_))) => Right::Fill(fill),
                _ => return Err(help()),
            },
        };
        Ok(Self { left, operator, right, tolerance })
    }

    /// The reason why the comparison does not hold, if it does not.
    fn wrong(&self, memory: &impl Memory) -> Option<String> {
        let (ty, left) = match self.left.read_bytes(memory) {
            Ok(found) => found,
            Err(why) => return Some(why),
        };
        let mut all = left.chunks_exact(element::size(ty));
        let count = all.len();
        let right: Box<dyn Fn(usize) -> Number> = match &self.right {
            Right::Fill(Fill::Numbers(list)) => match &list[..] {
                [one] => Box::new(|_| *one),
                list if list.len() == count => Box::new(|index| list[index]),
                list => return Some(format!("expected {count} values, found {}", list.len())),
            },
            Right::Fill(_) => Box::new(|index| element::iota(ty, index as u64)),
            Right::Elements(ty, bytes) => match elements(*ty, bytes, count) {
                Ok(of) => of,
                Err(why) => return Some(why),
            },
            Right::Place(place) => match place.read_bytes(memory).and_then(|(ty, bytes)| elements(ty, bytes, count)) {
                Ok(of) => of,
                Err(why) => return Some(why),
            },
        };
        let holds = |index: usize, bytes: &[u8]| self.holds(ty, element::decode(ty, bytes), right(index));
        let (first, bytes) = all.by_ref().enumerate().find(|(index, bytes)| !holds(*index, bytes))?;
        let others = all.enumerate().filter(|(after, bytes)| !holds(first + 1 + after, bytes)).count();
        let name = match self.left.index {
            Some(index) => format!("{}[{index}]", self.left.name),
            None if count == 1 => self.left.name.clone(),
            None => format!("{}[{first}]", self.left.name),
        };
        let more = if others > 0 { format!("; {} of {count} elements are wrong", others + 1) } else { String::new() };
        Some(format!(
            "{name} is {}, expected {} {}{more}",
            element::format_element(ty, bytes),
            self.operator,
            right(first)
        ))
    }

    fn holds(&self, ty: Type, left: Number, right: Number) -> bool {
        // The number is converted to the type first: 0.1 to f32, -1 to u32.
        let right = match self.operator {
            "==" | "!=" => element::encode(ty, right).map_or(right, |bytes| element::decode(ty, &bytes)),
            _ => right,
        };
        let order = match (left, right) {
            (Number::Integer(left), Number::Integer(right)) => Some(left.cmp(&right)),
            _ => left.float().partial_cmp(&right.float()),
        };
        let both_nan = left.float().is_nan() && right.float().is_nan();
        match self.operator {
            "==" => both_nan || order.is_some_and(|order| order.is_eq()),
            "!=" => !both_nan && order.is_none_or(|order| order.is_ne()),
            "<" => order.is_some_and(|order| order.is_lt()),
            "<=" => order.is_some_and(|order| order.is_le()),
            ">" => order.is_some_and(|order| order.is_gt()),
            ">=" => order.is_some_and(|order| order.is_ge()),
            _ => {
                let (left, right) = (left.float(), right.float());
                let tolerance = self.tolerance.unwrap_or_else(|| TOLERANCE * right.abs().max(1.0));
                both_nan || left == right || (left - right).abs() <= tolerance
            }
        }
    }
}

/// A function that gives the elements of memory by index. A single element is used for every index.
fn elements<'m>(ty: Type, bytes: &'m [u8], wanted: usize) -> Result<Box<dyn Fn(usize) -> Number + 'm>, String> {
    let size = element::size(ty);
    match bytes.len() / size {
        1 => Ok(Box::new(move |_| element::decode(ty, bytes))),
        count if count == wanted => Ok(Box::new(move |index| element::decode(ty, &bytes[index * size..]))),
        count => Err(format!("expected {wanted} values, found {count}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Example(Vec<(&'static str, Type, Vec<u8>)>);

    impl Memory for Example {
        fn get(&self, name: &str) -> Option<(Type, &[u8])> {
            self.0.iter().find(|(of, ..)| *of == name).map(|(_, ty, bytes)| (*ty, &**bytes))
        }
    }

    fn check(text: &str, expected: Result<Option<&str>, &str>) {
        let words = |list: &[u32]| list.iter().flat_map(|word| word.to_le_bytes()).collect();
        let half = 0.1f32.to_le_bytes().to_vec();
        let memory = Example(vec![
            ("one", Type::U32, words(&[512])),
            ("out", Type::U32, words(&[0, 1, 2])),
            ("minus", Type::S32, words(&[u32::MAX])),
            ("x", Type::F32, half),
        ]);
        let wrong = Expectation::read(text, Path::new(".")).map(|expectation| expectation.wrong(&memory));
        let wrong = wrong.as_ref().map(|wrong| wrong.as_deref()).map_err(String::as_str);
        assert_eq!(wrong, expected, "{text}");
    }

    #[test]
    fn conditions() {
        for text in [
            "one == 512",
            "one[0] == 0x200",
            "out == iota",
            "out==0,1,2",
            "out[1] < 2 && out <= 2",
            "out != 7",
            "out > -1",
            "minus == -1",
            "minus < 0",
            "x == 0.1",
            "x ~= 0.1",
            "x ~= 0.2 +- 0.2",
            "out == out",
            "out >= out[0]",
            "x != nan",
        ] {
            check(text, Ok(None));
        }
        check("one == 511", Ok(Some("one is 512, expected == 511")));
        check("out == 1", Ok(Some("out[0] is 0, expected == 1; 2 of 3 elements are wrong")));
        check("out[3] == 1", Ok(Some("'out' has 3 elements")));
        check("out == 1,2", Ok(Some("expected 3 values, found 2")));
        check("one == out", Ok(Some("expected 1 values, found 3")));
        check("x ~= 0.2", Ok(Some("x is 0.1, expected ~= 0.2")));
        check("none == 1", Ok(Some("unknown name 'none'")));
    }

    #[test]
    fn invalid_texts_are_errors() {
        let help = "expected a comparison such as 'out[3] == 7', with one of == != <= >= ~= < >";
        for text in ["out", "out == ", "out = 1", "1 == out", "out == 1 &&", "out[x] == 1", "out == random"] {
            if text == "out == random" {
                // `random` is a name.
                check(text, Ok(Some("unknown name 'random'")));
                continue;
            }
            check(text, Err(&format!("the condition '{text}': {help}").replace("== '", "=='")));
        }
        check("one == 1 +- 2", Err("the condition 'one == 1 +- 2': '+-' and a number need '~='"));
    }
}

//! Files of NumPy ('NumPy Enhancement Proposal 1', versions 1.0 and 2.0): little-endian, in C order.

use ptx_isa::Type;

use super::element;

/// The bytes at the beginning of every file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The types of NumPy with their PTX types. Files are written with the first entry of a type; the other entries are
/// only read.
const TYPES: [(&str, Type); 14] = [
    ("|u1", Type::U8),
    ("|b1", Type::U8),
    ("<u2", Type::U16),
    ("<u4", Type::U32),
    ("<u8", Type::U64),
    ("|i1", Type::S8),
    ("<i2", Type::S16),
    ("<i4", Type::S32),
    ("<i8", Type::S64),
    ("<f2", Type::F16),
    ("<f4", Type::F32),
    ("<f8", Type::F64),
    // The package ml_dtypes writes bfloat16 in this form.
    ("<V2", Type::Bf16),
    ("|V2", Type::Bf16),
];

/// An array.
#[derive(Debug, PartialEq, Eq)]
pub struct Array {
    pub ty: Type,
    pub bytes: Vec<u8>,
}

/// Reads a file and discards its dimensions.
pub fn read(file: &[u8]) -> Result<Array, String> {
    let rest = file.strip_prefix(MAGIC).ok_or("the file is not a NumPy file")?;
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [version, ..] => return Err(format!("expected version 1 or 2, found {version}")),
        [] => return Err("the file ends in its header".into()),
    };
    let (head, bytes) = rest.split_at_checked(length).ok_or("the file ends in its header")?;
    let head = String::from_utf8_lossy(head);
    let value = |key: &str| {
        let (_, after) = head.split_once(&format!("'{key}':"))?;
        Some(after.trim_start())
    };
    let descr =
        value("descr").and_then(|text| text.strip_prefix('\'')?.split('\'').next()).ok_or("the file has no type")?;
    let ty = TYPES.iter().find(|(name, _)| *name == descr).map(|(_, ty)| *ty);
    let ty = ty.ok_or_else(|| format!("no buffer has the type '{descr}'"))?;
    let shape =
        value("shape").and_then(|text| text.strip_prefix('(')?.split(')').next()).ok_or("the file has no shape")?;
    let sizes: Option<Vec<usize>> =
        shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect();
    let sizes = sizes.ok_or("its shape is not a list of sizes")?;
    if value("fortran_order").is_some_and(|text| text.starts_with("True")) && sizes.len() > 1 {
        return Err("the array is in Fortran order; numpy.ascontiguousarray gives C order".into());
    }
    let count = sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
    let length = count.and_then(|count| count.checked_mul(element::size(ty)));
    let bytes = length.and_then(|length| bytes.get(..length)).ok_or("the file is shorter than its shape")?;
    Ok(Array { ty, bytes: bytes.to_vec() })
}

/// Writes a file with one dimension. Types that NumPy lacks are written as unsigned numbers.
pub fn write(ty: Type, bytes: &[u8]) -> Vec<u8> {
    let ty = match ty {
        Type::B8 => Type::U8,
        Type::B16 => Type::U16,
        Type::B32 => Type::U32,
        Type::B64 => Type::U64,
        ty => ty,
    };
    let descr = TYPES.iter().find(|(_, of)| *of == ty).map_or("|u1", |(name, _)| name);
    let count = bytes.len() / element::size(ty);
    let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    // The data begin at a multiple of 64.
    let before = MAGIC.len() + 4;
    let length = (before + head.len() + 1).next_multiple_of(64) - before;
    let mut file = MAGIC.to_vec();
    file.extend([1, 0]);
    file.extend((length as u16).to_le_bytes());
    file.extend(format!("{head:width$}\n", width = length - 1).into_bytes());
    file.extend(&bytes[..count * element::size(ty)]);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, head: &str, bytes: &[u8]) -> Vec<u8> {
        let length = head.len() as u32;
        let length = if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
        [MAGIC, &[version, 0], &length, head.as_bytes(), bytes].concat()
    }

    fn check(file: &[u8], expected: Result<(Type, &[u8]), &str>) {
        let read = read(file);
        let read = read.as_ref().map(|array| (array.ty, &*array.bytes)).map_err(|error| &**error);
        assert_eq!(read, expected);
    }

    #[test]
    fn files() {
        let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }";
        for version in [1, 2] {
            check(&file(version, head, &[1; 9]), Ok((Type::F32, &[1; 8])));
            check(&file(version, head, &[1; 7]), Err("the file is shorter than its shape"));
        }
        check(&file(3, head, &[1; 8]), Err("expected version 1 or 2, found 3"));
        check(b"text", Err("the file is not a NumPy file"));
        check(MAGIC, Err("the file ends in its header"));
        check(&file(1, head, &[])[..20], Err("the file ends in its header"));
        check(&file(1, &head.replace("<f4", ">f4"), &[1; 8]), Err("no buffer has the type '>f4'"));
        check(&file(1, &head.replace("1, 2", "x"), &[1; 8]), Err("its shape is not a list of sizes"));
        let huge = head.replace("1, 2", "99999999999, 99999999999");
        check(&file(1, &huge, &[1; 8]), Err("the file is shorter than its shape"));
        let fortran = read(&file(1, &head.replace("False", "True"), &[1; 8]));
        assert!(fortran.is_err_and(|error| error.contains("Fortran")));
        check(&file(1, &head.replace("1, 2", ""), &[1; 8]), Ok((Type::F32, &[1; 4])));
    }

    #[test]
    fn written_arrays_are_read() {
        for (_, ty) in TYPES {
            let file = write(ty, &[7; 16]);
            assert_eq!(file.len() % 64, 16, "{ty}");
            check(&file, Ok((ty, &[7; 16])));
        }
        check(&write(Type::B32, &[1; 7]), Ok((Type::U32, &[1; 4])));
    }
}

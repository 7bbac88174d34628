//! The names of registers of the host.

use crate::{litmus::names::is_observed, place::Processor, program::Type};

/// The registers of x86-64, by the names of their 64 and of their 32 bits.
#[rustfmt::skip]
const REGISTERS: [(&str, &str); 15] = [
    ("RAX", "EAX"), ("RBX", "EBX"), ("RCX", "ECX"), ("RDX", "EDX"), ("RSI", "ESI"), ("RDI", "EDI"), ("RBP", "EBP"),
    ("R8", "R8D"), ("R9", "R9D"), ("R10", "R10D"), ("R11", "R11D"), ("R12", "R12D"), ("R13", "R13D"), ("R14", "R14D"),
    ("R15", "R15D"),
];

/// The canonical name of a register on a processor; the unchanged name if it is not a register.
pub(in crate::litmus) fn canonical(processor: Processor, name: &str) -> String {
    resolve_register(processor, name).map_or_else(|| name.to_owned(), |(name, _)| name)
}

/// The name of a register, and the type of its value.
pub(super) fn resolve_register(processor: Processor, name: &str) -> Option<(String, Type)> {
    match processor {
        Processor::Gpu => None,
        _ if !is_observed(name) => Some((name.to_owned(), Type::U64)),
        Processor::X86 => x86(name),
        Processor::AArch64 => aarch64(name),
        Processor::Nic => nic(name),
    }
}

/// `EAX` is the low half of `RAX`.
fn x86(name: &str) -> Option<(String, Type)> {
    let name = name.to_uppercase();
    REGISTERS.iter().find_map(|(long, short)| match () {
        () if *long == name => Some((name.clone(), Type::U64)),
        () if *short == name => Some(((*long).to_owned(), Type::U32)),
        () => None,
    })
}

/// The name of the low 32 bits of a register.
pub(super) fn half(name: &str) -> Option<&'static str> {
    REGISTERS.iter().find(|(long, _)| *long == name).map(|(_, short)| *short)
}

/// `W0` is the low half of `X0`.
fn aarch64(name: &str) -> Option<(String, Type)> {
    let name = name.to_uppercase();
    let (ty, number) = match name.split_at_checked(1)? {
        ("W", number) => (Type::U32, number),
        ("X", number) => (Type::U64, number),
        _ => return None,
    };
    let number = number_of(number)?;
    Some((format!("X{number}"), ty))
}

/// The registers of a NIC are `R0` to `R30`, of 32 bits.
fn nic(name: &str) -> Option<(String, Type)> {
    let name = name.to_uppercase();
    let number = number_of(name.strip_prefix('R')?)?;
    Some((format!("R{number}"), Type::U32))
}

/// The number of a register, without superfluous zeros.
fn number_of(text: &str) -> Option<u8> {
    let plain = text.len() == text.trim_start_matches('0').len() || text == "0";
    text.parse::<u8>().ok().filter(|number| *number < 31 && plain)
}

//! The effects of functions that modules call without defining them.

use ptx_isa::Runtime;

use crate::{
    code::{Invoke, Passed, Source},
    launch::Contents,
    machine::{Cta, Machine},
    memory::{Global, Region, number, region},
    report::{Detail, FaultKind},
    warp::{Warp, each},
};

impl Machine<'_> {
    /// Executes a call of a function that is not in the module.
    pub fn outside_call(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, name: &str, of: &Invoke) {
        let group = warp.groups[index];
        let first = warp.first + group.lanes.trailing_zeros();
        match Runtime::from_symbol(name) {
            Some(Runtime::Fails) => {
                let lane = group.lanes.trailing_zeros() as usize;
                let arguments = [0, 1, 2, 3].map(|at| self.argument(cta, warp, group.base, lane, of, at));
                let [condition, file, function] = [0, 1, 3].map(|at| self.string(cta, warp, lane, arguments[at]));
                let line = arguments[2] as u32;
                let message = format!("assertion `{condition}` failed in `{function}` at {file}:{line}");
                let detail = Detail::Assertion;
                self.find_detailed(cta, FaultKind::Trap, first, group.pc, None, None, message, None, detail);
            }
            Some(Runtime::Ends) => {
                let message = format!("the call of `{name}` ends the kernel");
                self.find(cta, FaultKind::Trap, first, group.pc, None, None, message, None);
            }
            Some(Runtime::Prints) => {
                for lane in each(group.lanes) {
                    let arguments = [0, 1].map(|at| self.argument(cta, warp, group.base, lane, of, at));
                    let text = self.formatted(cta, warp, lane, arguments);
                    self.printed.push_str(&text);
                    self.result(warp, group.base, lane, of, 1);
                }
                warp.groups[index].pc += 1;
            }
            Some(Runtime::Allocates) => {
                for lane in each(group.lanes) {
                    let bytes = self.argument(cta, warp, group.base, lane, of, 0);
                    let address = if bytes <= 1 << 28 {
                        self.allocation_count += 1;
                        let name = format!("allocation {}", self.allocation_count);
                        let bound = Self::bound(self.launch.threads());
                        let piece = self.global.allocate(&name, Contents::Uninitialized(bytes), 0, bound);
                        Global::address(piece)
                    } else {
                        0
                    };
                    self.result(warp, group.base, lane, of, address);
                }
                warp.groups[index].pc += 1;
            }
            Some(Runtime::Frees) => {
                for lane in each(group.lanes) {
                    let address = self.argument(cta, warp, group.base, lane, of, 0);
                    if let Region::Global(piece, 0) = region(ptx_isa::Space::Generic, address) {
                        self.global.free(piece);
                    }
                }
                warp.groups[index].pc += 1;
            }
            _ => {
                let message = crate::lacks::undefined(name);
                self.find(cta, FaultKind::Unsupported, first, group.pc, None, None, message, None);
            }
        }
    }

    fn argument(&self, cta: &Cta, warp: &Warp, base: u32, lane: usize, of: &Invoke, at: usize) -> u64 {
        match of.arguments.get(at) {
            Some(Passed::Value(source)) => self.value(cta, warp, base, lane, *source),
            Some(Passed::Memory(at, bytes)) => {
                let local = &warp.local[lane];
                let at = local.base.wrapping_add_signed(*at) as usize;
                local.bytes.get(at..at + (*bytes).min(8) as usize).map_or(0, number) as u64
            }
            None => 0,
        }
    }

    fn result(&self, warp: &mut Warp, base: u32, lane: usize, of: &Invoke, value: u64) {
        match of.results.first() {
            Some(Passed::Value(Source::Reg(register))) => warp.set(base, *register, lane, value),
            Some(Passed::Memory(at, bytes)) => {
                let at = warp.local[lane].base.wrapping_add_signed(*at);
                if let Some((own, written)) = warp.local[lane].slice(at, (*bytes).min(8)) {
                    own.copy_from_slice(&value.to_le_bytes()[..own.len()]);
                    written.fill(true);
                }
            }
            _ => {}
        }
    }

    /// Bytes at a generic address, if they exist.
    fn peek(&mut self, cta: &mut Cta, warp: &mut Warp, lane: usize, address: u64, bytes: u64) -> Option<Vec<u8>> {
        match region(ptx_isa::Space::Generic, address) {
            Region::Local(at) => warp.local[lane].slice(at, bytes).map(|(bytes, _)| bytes.to_vec()),
            place => self.bytes(cta, place, bytes).map(<[u8]>::to_vec),
        }
    }

    fn string(&mut self, cta: &mut Cta, warp: &mut Warp, lane: usize, mut address: u64) -> String {
        let mut bytes = Vec::new();
        while let Some(byte) =
            self.peek(cta, warp, lane, address, 1).filter(|byte| byte[0] != 0 && bytes.len() < 1 << 16)
        {
            bytes.push(byte[0]);
            address += 1;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The output of `vprintf`. Its arguments are the format, and a block with the values, each at a multiple of its
    /// size.
    fn formatted(&mut self, cta: &mut Cta, warp: &mut Warp, lane: usize, [format, block]: [u64; 2]) -> String {
        let format = self.string(cta, warp, lane, format);
        let (mut text, mut at) = (String::new(), block);
        let mut rest = format.chars().peekable();
        while let Some(letter) = rest.next() {
            if letter != '%' {
                text.push(letter);
                continue;
            }
            let mut spec = String::new();
            let conversion = loop {
                match rest.next() {
                    Some(letter) if letter.is_ascii_digit() || "-+ #.hlLzjt*".contains(letter) => spec.push(letter),
                    other => break other,
                }
            };
            let Some(conversion) = conversion else { break };
            if conversion == '%' {
                text.push('%');
                continue;
            }
            let is_long = spec.contains(['l', 'z', 'j', 't']) || "feEgGaAspFsp".contains(conversion);
            let size: u64 = if is_long { 8 } else { 4 };
            at = at.next_multiple_of(size);
            let value = self.peek(cta, warp, lane, at, size).map_or(0, |bytes| number(&bytes) as u64);
            at += size;
            let string = if conversion == 's' { self.string(cta, warp, lane, value) } else { String::new() };
            text.push_str(&format_c_value(&spec, conversion, value, is_long, &string));
        }
        text
    }
}

/// A value as C prints it, by its flags, width, precision and conversion.
fn format_c_value(spec: &str, conversion: char, value: u64, is_long: bool, string: &str) -> String {
    let flags: String = spec.chars().take_while(|letter| "-+ #0".contains(*letter)).collect();
    let mut numbers = spec[flags.len()..].trim_end_matches(['h', 'l', 'L', 'z', 'j', 't']).split('.');
    let width: usize = numbers.next().and_then(|width| width.parse().ok()).unwrap_or(0).min(4096);
    let precision: Option<usize> = numbers.next().map(|precision| precision.parse().unwrap_or(0).min(4096));
    let signed = if is_long { value as i64 } else { i64::from(value as i32) };
    let float = f64::from_bits(value);
    let mut body = match conversion {
        'd' | 'i' => signed.to_string(),
        'u' => value.to_string(),
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        'o' => format!("{value:o}"),
        'p' => format!("{value:#x}"),
        'c' => char::from(value as u8).to_string(),
        's' => string.chars().take(precision.unwrap_or(usize::MAX)).collect(),
        'e' | 'E' => exponent(float, precision.unwrap_or(6)),
        'g' | 'G' => general(float, precision.unwrap_or(6).max(1)),
        _ => format!("{float:.*}", precision.unwrap_or(6)),
    };
    if flags.contains('+') && "dieEfFgG".contains(conversion) && !body.starts_with('-') {
        body.insert(0, '+');
    }
    let missing = width.saturating_sub(body.chars().count());
    match () {
        () if flags.contains('-') => body + &" ".repeat(missing),
        () if flags.contains('0') && conversion != 's' => {
            let sign = usize::from(body.starts_with(['-', '+']));
            format!("{}{}{}", &body[..sign], "0".repeat(missing), &body[sign..])
        }
        () => " ".repeat(missing) + &body,
    }
}

fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e').and_then(|(digits, power)| Some((digits, power.parse::<i32>().ok()?))) {
        Some((digits, power)) => format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs()),
        None => text,
    }
}

fn general(value: f64, precision: usize) -> String {
    let power = if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 };
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if power < -4 || power >= precision as i32 {
        let text = exponent(value, precision - 1);
        match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", trimmed(digits.to_owned())),
            None => text,
        }
    } else {
        trimmed(format!("{value:.*}", (precision as i32 - 1 - power).max(0) as usize))
    }
}

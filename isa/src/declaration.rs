//! Readers of declarations in a module: heads of functions, and variables.
//!
//! A [`Function`](crate::Function) has its [`Head`], and an [`Item`](crate::Item) keeps the text. The readers accept
//! the text of any compiler, and skip unknown words.

use std::iter::Peekable;

use crate::{
    syntax::{Number, Text, Token, TokenKind, tokens},
    word::{Space, Type, VectorSize},
};

/// The declaration that precedes the body of a function ('PTX ISA', sections 10.1 and 11.1 to 11.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The text of the head in the module.
    pub text: String,
    /// Whether other files may refer to the function: `.visible` and `.weak`.
    pub is_visible: bool,
    /// Whether the host launches the function: it is an `.entry` and not a `.func`.
    pub is_entry: bool,
    /// The results.
    pub results: Vec<Parameter>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The exact number of threads of a CTA in each direction: `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// The maximum total number of threads of a CTA: the least of `.maxntid` and `.reqntid`.
    pub most_threads: Option<u32>,
    /// The minimum number of CTAs on a multiprocessor: `.minnctapersm`.
    pub least_ctas: Option<u32>,
    /// The exact number of CTAs of a cluster in each direction: `.reqnctapercluster`.
    pub required_ctas: Option<[u32; 3]>,
    /// The maximum total number of CTAs of a cluster: `.maxclusterrank`.
    pub most_ctas: Option<u32>,
}

/// A parameter or result of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type; for an array, the type of an element.
    pub ty: Option<Type>,
    /// The number of elements of an array; 0 where the text omits it. `None` for a scalar.
    pub elements: Option<u64>,
    /// Whether the parameter is a register: `.reg` and not `.param`.
    pub is_register: bool,
    /// The number of elements of a register that is a vector.
    pub vector: Option<VectorSize>,
    /// Whether the parameter is a pointer: `.ptr`.
    pub is_pointer: bool,
    /// The alignment in bytes of the parameter, or of the memory that it points to; 1 if none is declared.
    pub align: u64,
}

/// The name of a parameter without the function's name, which compilers prepend: in `_Z1kPi`, the short name of
/// `_Z1kPi_param_0` is `param_0`.
pub fn short_name<'a>(function: &str, parameter: &'a str) -> &'a str {
    let rest = parameter.strip_prefix(function).and_then(|rest| rest.strip_prefix('_'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(parameter)
}

/// A variable of a module or of a function's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The state space; `None` for an argument or a result of a call, which is in `.param`.
    pub space: Option<Space>,
    /// The type of an element; `None` for a texture, a sampler or a surface.
    pub ty: Option<Type>,
    /// The number of elements in all dimensions and vectors; 0 if the launch determines it.
    pub elements: u64,
    /// The alignment in bytes; 1 if none is declared.
    pub align: u64,
    /// Whether the variable is defined by another module or by the launch: `.extern`.
    pub is_extern: bool,
    /// The initial values of the first elements.
    pub initial: Vec<Initial>,
}

/// An element of an initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initial {
    /// The bits of a number.
    Number(u64),
    /// The address of a variable, and the offset added to it, in bytes.
    Address(String, u64),
}

/// A directive of a head that takes numbers.
#[derive(Clone, Copy)]
enum Limit {
    RequiredThreads,
    MostThreads,
    LeastCtas,
    RequiredCtas,
    MostCtas,
}

const LIMITS: [(&str, Limit); 5] = [
    ("reqntid", Limit::RequiredThreads),
    ("maxntid", Limit::MostThreads),
    ("minnctapersm", Limit::LeastCtas),
    ("reqnctapercluster", Limit::RequiredCtas),
    ("maxclusterrank", Limit::MostCtas),
];

impl Head {
    /// Reads the text of a head: `.visible .entry f(.param .u64 x) .reqntid 128, 1, 1`.
    pub fn read(text: &str) -> Self {
        let mut head = Self { text: text.to_owned(), ..Self::default() };
        let mut tokens = tokens(Text::new(text)).peekable();
        let mut is_named = false;
        while let Some(token) = tokens.next() {
            match (token.kind, token.text.text) {
                (TokenKind::Dotted, "entry") => head.is_entry = true,
                (TokenKind::Dotted, "visible" | "weak") => head.is_visible = true,
                (TokenKind::Dotted, word) => {
                    if let Some((_, limit)) = LIMITS.iter().find(|(name, _)| *name == word) {
                        head.limit(*limit, &numbers(&mut tokens));
                    }
                }
                (TokenKind::Sign('('), _) => {
                    let list = if is_named { &mut head.parameters } else { &mut head.results };
                    list.extend(parameters(&mut tokens));
                }
                (TokenKind::Name, _) => is_named = true,
                _ => {}
            }
        }
        head
    }

    fn limit(&mut self, limit: Limit, numbers: &[u32]) {
        if numbers.is_empty() {
            return;
        }
        let dimensions = [0, 1, 2].map(|index| numbers.get(index).copied().unwrap_or(1));
        let all = numbers.iter().fold(1, |all: u32, one| all.saturating_mul(*one));
        let least = |known: Option<u32>| Some(known.map_or(all, |known| known.min(all)));
        match limit {
            Limit::RequiredThreads => {
                (self.required_threads, self.most_threads) = (Some(dimensions), least(self.most_threads));
            }
            Limit::MostThreads => self.most_threads = least(self.most_threads),
            Limit::LeastCtas => self.least_ctas = Some(all),
            Limit::RequiredCtas => self.required_ctas = Some(dimensions),
            Limit::MostCtas => self.most_ctas = Some(all),
        }
    }
}

fn integer(token: &Token<'_>) -> Option<u64> {
    match Number::parse(token.text.text)? {
        Number::Integer(number) => Some(number),
        _ => None,
    }
}

/// Reads numbers separated by commas.
fn numbers<'t>(tokens: &mut Peekable<impl Iterator<Item = Token<'t>>>) -> Vec<u32> {
    let is_one = |token: &Token<'_>| matches!(token.kind, TokenKind::Number | TokenKind::Sign(','));
    let list = std::iter::from_fn(|| tokens.next_if(is_one)).filter(|token| token.kind == TokenKind::Number);
    list.filter_map(|token| integer(&token)).map(|number| u32::try_from(number).unwrap_or(u32::MAX)).collect()
}

/// Reads the parameters after `(`, up to its `)`.
fn parameters<'t>(tokens: &mut Peekable<impl Iterator<Item = Token<'t>>>) -> Vec<Parameter> {
    let new = || Parameter { align: 1, ..Parameter::default() };
    let (mut found, mut own) = (Vec::new(), new());
    while let Some(token) = tokens.next() {
        match (token.kind, token.text.text) {
            (TokenKind::Dotted, "align") => own.align = align(tokens),
            (TokenKind::Dotted, "ptr") => own.is_pointer = true,
            (TokenKind::Dotted, "reg") => own.is_register = true,
            (TokenKind::Dotted, word) => {
                own.vector = own.vector.or(word.parse().ok());
                own.ty = own.ty.or(word.parse().ok());
            }
            (TokenKind::Name, name) if own.name.is_empty() => name.clone_into(&mut own.name),
            (TokenKind::Sign('['), _) => {
                let length = tokens.next_if(|token| token.kind == TokenKind::Number);
                own.elements = Some(length.and_then(|token| integer(&token)).unwrap_or(0));
            }
            (TokenKind::Sign(',' | ')'), sign) => {
                let own = std::mem::replace(&mut own, new());
                found.extend((!own.name.is_empty()).then_some(own));
                if sign == ")" {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// Reads the number after `.align`.
fn align<'t>(tokens: &mut Peekable<impl Iterator<Item = Token<'t>>>) -> u64 {
    let number = tokens.next_if(|token| token.kind == TokenKind::Number);
    number.and_then(|token| integer(&token)).unwrap_or(1).max(1)
}

impl Variable {
    /// Reads the variables that a directive declares: `.visible .global .align 4 .u32 x[2] = {1, 2}, y;`. Returns an
    /// empty list for any other directive.
    pub fn read(text: &str) -> Vec<Self> {
        let mut tokens = tokens(Text::new(text)).peekable();
        let (mut space, mut is_param, mut ty, mut vector, mut own_align, mut is_extern) =
            (None, false, None, 1, 1, false);
        while let Some(token) = tokens.next_if(|token| token.kind == TokenKind::Dotted) {
            match token.text.text {
                "align" => own_align = align(&mut tokens),
                "attribute" => drop(tokens.by_ref().find(|token| token.kind == TokenKind::Sign(')'))),
                "extern" => is_extern = true,
                "param" => is_param = true,
                "v2" => vector = 2,
                "v4" => vector = 4,
                word => {
                    space = space.or(word.parse::<Space>().ok());
                    ty = ty.or(word.parse::<Type>().ok());
                }
            }
        }
        if space.is_none() && !is_param {
            return Vec::new();
        }
        let mut found = Vec::new();
        while let Some(name) = tokens.next_if(|token| token.kind == TokenKind::Name) {
            let elements = vector * dimensions(&mut tokens);
            let has_value = tokens.next_if(|token| token.kind == TokenKind::Sign('=')).is_some();
            let initial = if has_value { initial(text, &mut tokens) } else { Vec::new() };
            let name = name.text.text.to_owned();
            found.push(Self { name, space, ty, elements, align: own_align, is_extern, initial });
            if tokens.next_if(|token| token.kind == TokenKind::Sign(',')).is_none() {
                break;
            }
        }
        found
    }

    /// The size of all elements in bytes; an element without a type counts as one byte.
    pub fn bytes(&self) -> u64 {
        self.elements.saturating_mul(self.ty.map_or(1, |ty| u64::from(ty.bits() / 8).max(1)))
    }
}

/// Reads the product of `[2][3]`; it is 0 if a dimension is missing.
fn dimensions<'t>(tokens: &mut Peekable<impl Iterator<Item = Token<'t>>>) -> u64 {
    let mut elements = 1u64;
    while tokens.next_if(|token| token.kind == TokenKind::Sign('[')).is_some() {
        let length = tokens.next_if(|token| token.kind == TokenKind::Number);
        elements = elements.saturating_mul(length.and_then(|token| integer(&token)).unwrap_or(0));
        tokens.next_if(|token| token.kind == TokenKind::Sign(']'));
    }
    elements
}

/// Reads the values after `=`, up to a comma outside of braces: numbers, addresses, and their sums. Any other token
/// ends the list.
fn initial<'t>(text: &str, tokens: &mut Peekable<impl Iterator<Item = Token<'t>>>) -> Vec<Initial> {
    let (mut initial, mut depth, mut is_negative) = (Vec::new(), 0, false);
    while let Some(token) = tokens.next_if(|token| depth > 0 || !matches!(token.kind, TokenKind::Sign(',' | ';'))) {
        match (token.kind, token.text.text) {
            (TokenKind::Sign('{' | '('), _) => depth += 1,
            (TokenKind::Sign('}' | ')'), _) => depth -= 1,
            (TokenKind::Sign('-'), _) => is_negative = true,
            (TokenKind::Name, "generic") => {}
            (TokenKind::Name, name) => initial.push(Initial::Address(name.to_owned(), 0)),
            (TokenKind::Number, number) => {
                let value = match Number::parse(number) {
                    Some(Number::Integer(value)) => value,
                    Some(Number::Single(bits)) => bits.into(),
                    Some(Number::Double(bits)) => bits,
                    _ => break,
                };
                let value = if std::mem::take(&mut is_negative) { value.wrapping_neg() } else { value };
                let is_added = text[..token.text.start].trim_end().ends_with('+');
                match initial.last_mut() {
                    Some(Initial::Address(_, offset)) if is_added => *offset = value,
                    _ => initial.push(Initial::Number(value)),
                }
            }
            _ => {}
        }
    }
    initial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let head = Head::read(
            ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 4 .b8 s[12], .param .u32 n)\n\
             .maxntid 256, 2\n.reqntid 64, 2, 1 .minnctapersm 3 .reqnctapercluster 2 .maxclusterrank 8",
        );
        assert!(head.is_entry && head.results.is_empty());
        let shown = |parameter: &Parameter| {
            let Parameter { name, ty, elements, is_pointer, align, .. } = parameter;
            format!("{name} {} {elements:?} {is_pointer} {align}", ty.expect("a type"))
        };
        let parameters: Vec<_> = head.parameters.iter().map(shown).collect();
        assert_eq!(parameters, ["p u64 None true 16", "s b8 Some(12) false 4", "n u32 None false 1"]);
        assert_eq!((head.required_threads, head.most_threads), (Some([64, 2, 1]), Some(128)));
        assert_eq!((head.least_ctas, head.required_ctas, head.most_ctas), (Some(3), Some([2, 1, 1]), Some(8)));
        let function = Head::read(".func (.param .b32 r, .reg .pred p) f(.param .b64 a) .noreturn");
        let names = |list: &[Parameter]| list.iter().map(|one| one.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!((names(&function.results), names(&function.parameters)), ("r p".to_owned(), "a".to_owned()));
        assert_eq!(names(&Head::read(".func f").parameters), "");
        assert_eq!(Head::read(".entry f() .maxntid").most_threads, None);
    }

    #[test]
    fn variables() {
        let check = |text: &str, expected: &str| {
            let shown = |variable: &Variable| {
                let initial =
                    if variable.initial.is_empty() { String::new() } else { format!(" {:?}", variable.initial) };
                let external = if variable.is_extern { " extern" } else { "" };
                let space = variable.space.map_or("param".to_owned(), |space| space.to_string());
                format!("{} {space} {} {}{external}{initial}", variable.name, variable.bytes(), variable.align)
            };
            assert_eq!(Variable::read(text).iter().map(shown).collect::<Vec<_>>().join("; "), expected, "{text}");
        };
        check(".visible .global .align 4 .u32 x;", "x global 4 4");
        check(".global .align 4 .u32 x[2] = {1, -2};", "x global 8 4 [Number(1), Number(18446744073709551614)]");
        check(".global .attribute(.managed) .align 8 .u64 p = generic(x)+8;", r#"p global 8 8 [Address("x", 8)]"#);
        check(".shared .align 16 .v4 .b32 s[2][3];", "s shared 96 16");
        check(".extern .shared .align 16 .b8 dynamic[];", "dynamic shared 0 16 extern");
        check(
            ".local .b8 a[8], b, c[2] = {1, 2}, d;",
            "a local 8 1; b local 1 1; c local 2 1 [Number(1), Number(2)]; d local 1 1",
        );
        check(".const .f32 f = 0f3F800000;", "f const 4 1 [Number(1065353216)]");
        check(".param .align 8 .b8 param0[16];", "param0 param 16 8");
        check(".global .texref t;", "t global 1 1");
        for none in
            [".reg .b32 %r<5>;", ".file 1 \"x.cu\"", ".loc 1 2 3", ".pragma \"nounroll\";", ".section .debug_str"]
        {
            check(none, "");
        }
    }
}

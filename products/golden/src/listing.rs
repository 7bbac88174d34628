//! Listings of PTX modules for human readers: function by function, with equal variants in one group.
//!
//! A listing leaves out the text that the backend writes around the code: heads, declarations, loads of parameters, the
//! last `ret`, labels without a jump to them, and in [`Show::Atomics`] all code that does not concern atomics. A
//! register that holds a parameter has the name of the parameter. Other registers and the labels of a backend are
//! numbered in the order of their appearance, so that a function does not differ by its allocation of registers.

use std::collections::{HashMap, HashSet};

use itertools::Itertools;
use ptx_atomics::ptx::{Code, Function, Line, Module, ModuleErrors};
use strum::{Display, EnumString};

use crate::outline::{outline, targets};

/// The part of a function that a listing has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Show {
    /// Atomics, fences, barriers, asynchronous instructions, compare-and-swap loops, and the control flow between them.
    #[default]
    Atomics,
    /// All code of the function.
    Code,
    /// The text of the whole module, without comments and places in the source. It is one section.
    Ptx,
}

/// The result of compiling a module, with the GPU and the compiler or strategy.
#[derive(Clone, Copy, Debug)]
pub struct Variant<'t> {
    /// The GPU.
    pub gpu: &'t str,
    /// The label that distinguishes this variant from other variants for the GPU: a strategy, a compiler.
    pub by: &'t str,
    /// PTX, or another text.
    pub text: &'t str,
}

/// Lists every function of some variants of one module, which are PTX.
///
/// The name of a function precedes its groups of equal variants. A group has a head such as `sm_70, sm_80: fence,
/// proven`, and the code of these variants. If a group has all variants for a GPU, its head names the GPU alone.
///
/// # Errors
/// If a text is not a PTX module.
pub fn listing(variants: &[Variant<'_>], show: Show) -> Result<String, ModuleErrors> {
    let modules: Vec<Module> = variants.iter().map(|variant| variant.text.parse()).try_collect()?;
    if show == Show::Ptx {
        let whole = |variant: &Variant<'_>| Some(indented(&without_places(variant.text)));
        return Ok(section("module", variants, variants.iter().map(whole)));
    }
    let functions = modules.iter().flat_map(Module::functions).filter(|function| function.body.is_some());
    let section = |name: &String| {
        let function = |module: &Module| {
            let function = module.functions().find(|function| function.name == *name)?;
            code(function, show)
        };
        section(name, variants, modules.iter().map(function))
    };
    Ok(functions.map(|function| &function.name).unique().map(section).collect())
}

/// Lists whole texts in the same format, below a name.
pub fn texts(name: &str, variants: &[Variant<'_>]) -> String {
    section(name, variants, variants.iter().map(|variant| Some(indented(variant.text))))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// The text without comments, `.file`, `.loc` and empty lines.
fn without_places(ptx: &str) -> String {
    let lines = ptx.lines().map(|line| line.split_once("//").map_or(line, |(line, _)| line).trim_end());
    let is_place = |line: &str| [".file", ".loc"].iter().any(|word| line.trim_start().starts_with(word));
    lines.filter(|line| !line.is_empty() && !is_place(line)).map(|line| format!("{line}\n")).collect()
}

/// A name, and the groups of the variants that have content for this name.
fn section(name: &str, variants: &[Variant<'_>], contents: impl Iterator<Item = Option<String>>) -> String {
    let mut groups: Vec<(String, Vec<&Variant<'_>>)> = Vec::new();
    for (variant, content) in variants.iter().zip(contents) {
        let Some(content) = content else { continue };
        match groups.iter_mut().find(|(known, _)| *known == content) {
            Some((_, group)) => group.push(variant),
            None => groups.push((content, vec![variant])),
        }
    }
    let group = |(content, group): (String, Vec<_>)| format!("  {}\n{content}\n", header(&group, variants));
    format!("{name}\n{}", groups.into_iter().map(group).collect::<String>())
}

/// The variants of a group, GPU by GPU. GPUs with the same variants are listed together.
fn header(group: &[&Variant<'_>], all: &[Variant<'_>]) -> String {
    let gpus = group.iter().chunk_by(|variant| variant.gpu);
    let mut parts: Vec<(String, Vec<&str>)> = Vec::new();
    for (gpu, variants) in &gpus {
        let by = variants.map(|variant| variant.by).collect_vec();
        let every = all.iter().filter(|variant| variant.gpu == gpu).count() == by.len();
        let by = if every { String::new() } else { format!(": {}", by.join(", ")) };
        match parts.iter_mut().find(|(known, _)| *known == by) {
            Some((_, gpus)) => gpus.push(gpu),
            None => parts.push((by, vec![gpu])),
        }
    }
    parts.iter().map(|(by, gpus)| format!("{}{by}", gpus.join(", "))).join("; ")
}

/// The code of a function, a line for each instruction and label; `None` for a declaration.
fn code(function: &Function, show: Show) -> Option<String> {
    let body = function.body.as_ref()?;
    let shown = if show == Show::Atomics { outline(function) } else { body.iter().collect() };
    let mut names = Names::new(&function.name, body);
    let targets: HashSet<_> = body.iter().flat_map(targets).collect();
    let is_idle_label = |line: &Line| matches!(&line.code, Code::Label(label) if !targets.contains(label));
    let is_frame = |line: &Line| matches!(line.code, Code::Directive(_) | Code::Open | Code::Close);
    let is_left_out = |line: &Line| is_frame(line) || is_idle_label(line) || names.has_parameter_of(line);
    let mut lines = shown.into_iter().filter(|line| !is_left_out(line)).collect_vec();
    lines.pop_if(|line| line.text == "ret");
    let line = |line: &Line| match line.code {
        Code::Label(_) => format!("    {}:\n", names.rename(&line.text)),
        _ => format!("      {}\n", names.rename(&line.text)),
    };
    Some(lines.into_iter().map(line).collect())
}

/// A section of a listing, as parsed by [`read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'t> {
    /// The name of the function.
    pub name: &'t str,
    /// The heads of the groups of variants. Each head has the code that its variants have in common, a line for each
    /// instruction and label.
    pub groups: Vec<(&'t str, Vec<&'t str>)>,
}

/// Parses a listing. Text above its first function is ignored.
pub fn read(listing: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in listing.lines().filter(|line| !line.is_empty()) {
        let indentation = line.len() - line.trim_start().len();
        match (indentation, sections.last_mut()) {
            (0, _) => sections.push(Section { name: line, groups: Vec::new() }),
            (2, Some(section)) => section.groups.push((line.trim(), Vec::new())),
            (_, Some(section)) => {
                if let Some((_, code)) = section.groups.last_mut() {
                    code.push(line.trim());
                }
            }
            (_, None) => {}
        }
    }
    sections
}

impl<'t> Section<'t> {
    /// The code of a variant, if the section has it.
    pub fn code_of(&self, gpu: &str, by: &str) -> Option<&[&'t str]> {
        let has = |head: &str| {
            head.split("; ").any(|part| {
                let (gpus, bys) = part.split_once(": ").map_or((part, None), |(gpus, bys)| (gpus, Some(bys)));
                bys.is_none_or(|bys| bys.split(", ").contains(&by)) && gpus.split(", ").contains(&gpu)
            })
        };
        self.groups.iter().find(|(head, _)| has(head)).map(|(_, code)| &code[..])
    }
}

/// The new names of the registers and labels of a function.
struct Names {
    /// The new names of registers and labels that a backend named; `None` without a new name yet.
    renamed: HashMap<String, Option<String>>,
    /// The number of numbered names of each kind.
    numbers: HashMap<String, usize>,
}

impl Names {
    fn new(function: &str, body: &[Line]) -> Self {
        let written = body.iter().flat_map(|line| match &line.code {
            Code::Label(label) => vec![label],
            Code::Instruction { instruction, .. } => instruction.destinations().collect(),
            Code::Other(other) => other.writes.iter().collect(),
            Code::Directive(_) | Code::Open | Code::Close => Vec::new(),
        });
        let counts = written.map(|name| name.0.to_string()).filter(|name| is_numbered(name)).counts();
        let mut renamed: HashMap<_, _> = counts.keys().map(|name| (name.clone(), None)).collect();
        for line in body {
            if let Some((register, parameter)) = parameter(line)
                && let Some(short) = parameter.strip_prefix(function).and_then(|rest| rest.strip_prefix('_'))
                && counts.get(register) == Some(&1)
            {
                renamed.insert(register.to_owned(), Some(format!("%{short}")));
            }
        }
        Self { renamed, numbers: HashMap::new() }
    }

    /// Whether the register that the line loads has the name of a parameter.
    fn has_parameter_of(&self, line: &Line) -> bool {
        let named = |register| self.renamed.get(register).is_some_and(Option::is_some);
        parameter(line).is_some_and(|(register, _)| named(register))
    }

    fn rename(&mut self, text: &str) -> String {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
        let words = text.char_indices().chunk_by(|(_, c)| is_name(*c));
        words.into_iter().map(|(_, word)| self.new_name(&word.map(|(_, c)| c).collect::<String>())).collect()
    }

    fn new_name(&mut self, name: &str) -> String {
        match self.renamed.get_mut(name) {
            None => name.to_owned(),
            Some(Some(new)) => new.clone(),
            Some(new) => {
                let kind =
                    if name.starts_with('$') { "$L" } else { name.trim_end_matches(|c: char| c.is_ascii_digit()) };
                let number = self.numbers.entry(kind.to_owned()).or_default();
                *number += 1;
                new.insert(format!("{kind}{number}")).clone()
            }
        }
    }
}

/// Whether a backend chose the name. Names that a lowering chose have no digit at their end.
fn is_numbered(name: &str) -> bool {
    name.starts_with(['%', '$']) && name.ends_with(|c: char| c.is_ascii_digit())
}

/// The register and the parameter, if the line loads a whole parameter.
fn parameter(line: &Line) -> Option<(&str, &str)> {
    match &line.code {
        Code::Other(other) if other.loads_parameter() && other.guard.is_none() => {
            let [register] = &other.writes[..] else { return None };
            let [parameter] = &other.reads[..] else { return None };
            (!line.text.contains('+')).then_some((&register.0, &parameter.0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with a function `f`, as LLVM writes it.
    fn module(body: &str) -> String {
        format!(".version 8.6\n.target sm_90\n.visible .func f(.param .b64 f_param_0)\n{{\n{body}\n}}\n")
    }

    fn check(variants: &[(&str, &str, &str)], expected: &str) {
        let texts = variants.iter().map(|(.., body)| module(body)).collect_vec();
        let variants = variants.iter().zip(&texts).map(|((gpu, by, _), text)| Variant { gpu, by, text }).collect_vec();
        let found = listing(&variants, Show::Code).expect("a module");
        assert_eq!(found, expected);
        // The parsed listing has each variant.
        let sections = read(&found);
        for variant in &variants {
            let alone = listing(&[Variant { by: "", ..*variant }], Show::Code).expect("a module");
            let again = sections[0].code_of(variant.gpu, variant.by);
            assert_eq!(again, read(&alone)[0].code_of(variant.gpu, ""), "{found}");
        }
    }

    #[test]
    fn frames_and_the_names_of_registers_are_no_difference() {
        let one = ".reg .b32 %r<9>; ld.param.b64 %rd1, [f_param_0]; atom.add.u32 %r2, [%rd1], %laneid; ret;";
        let other = ".reg .b32 %r<4>; ld.param.b64 %rd7, [f_param_0];\natom.add.u32 %r1, [%rd7], %laneid; // c\nret;";
        check(
            &[("sm_70", "a", one), ("sm_80", "a", other)],
            "f\n  sm_70, sm_80\n      atom.add.u32 %r1, [%param_0], %laneid\n\n",
        );
    }

    #[test]
    fn a_use_of_another_value_is_a_difference() {
        let swap = |text: &str| {
            let body =
                format!("ld.param.b64 %rd1, [f_param_0]; add.u32 %r1, %r3, 1; sub.u32 %r2, %r3, 1; {text}; ret;");
            listing(&[Variant { gpu: "sm_70", by: "a", text: &module(&body) }], Show::Code).expect("a module")
        };
        assert_ne!(swap("atom.cas.b32 %r3, [%rd1], %r1, %r2"), swap("atom.cas.b32 %r3, [%rd1], %r2, %r1"));
        assert_ne!(swap("atom.cas.b64 %rd2, [%rd1], %rd1, 0"), swap("atom.cas.b64 %rd2, [%rd1], %rd3, 0"));
    }

    #[test]
    fn labels_and_registers_that_are_written_again() {
        let body = "ld.param.b32 %r4, [f_param_0];\n$L__BB3_9: @%p2 ret; add.u32 %r4, %r4, 1; { .reg .b32 %old; %again:\n\
                    mov.b32 %old, %r4; @%p2 bra %again; } bra.uni $L__BB3_9;";
        let expected = "f\n  sm_70\n      ld.param.b32 %r1, [f_param_0]\n    $L1:\n      @%p2 ret\n      add.u32 %r1, %r1, 1\n    \
                        %again:\n      mov.b32 %old, %r1\n      @%p2 bra %again\n      bra.uni $L1\n\n";
        check(&[("sm_70", "a", body)], expected);
    }

    #[test]
    fn groups_name_their_variants() {
        let (a, b) = ("$L__tmp0: membar.cta; ret; $L__func_end0:", "fence.sc.cta; ret;");
        let variants = [("sm_35", "x", a), ("sm_70", "x", b), ("sm_70", "y", a), ("sm_80", "x", b), ("sm_80", "y", a)];
        check(&variants, "f\n  sm_35; sm_70, sm_80: y\n      membar.cta\n\n  sm_70, sm_80: x\n      fence.sc.cta\n\n");
    }

    #[test]
    fn a_function_of_some_variants_stands_with_them_alone() {
        let without = module("ret;");
        let with = without.clone() + ".func g() { membar.gl; ret; }";
        let variant = |gpu, text| Variant { gpu, by: "", text };
        let found = listing(&[variant("sm_70", &without), variant("sm_80", &with)], Show::Code).expect("modules");
        assert_eq!(found, "f\n  sm_70, sm_80\n\ng\n  sm_80\n      membar.gl\n\n");
        assert!(listing(&[variant("sm_70", "no PTX")], Show::Code).is_err());
    }
}

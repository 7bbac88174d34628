//! The objects in memory: variables of the module, variables that a test declares, and the objects of each CTA and each
//! thread.

use std::collections::HashMap;

use ptx_isa::{self as asm, Initial, Item, Module, Space, Type, flat::SymbolName};

use super::{
    names::is_called,
    words::{Declared, Offset},
};
use crate::{
    place::Place,
    program::{Value, Variable, truncate},
    ptx::{Program, Ptx},
    unfold::ARRAY,
};

/// A variable as the module declares it.
#[derive(Clone, Debug)]
struct Declaration {
    space: Space,
    /// The type of one element.
    ty: Type,
    /// The number of elements; 0 if the launch decides it.
    elements: u64,
    initial: Vec<Initial>,
}

/// The owner of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    All,
    Cta(Place),
    /// A call of a function of a thread.
    Thread(usize, usize),
}

/// An object in memory.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// The name in conditions and pictures.
    pub name: String,
    symbol: String,
    owner: Owner,
    pub base: Value,
    pub bytes: u64,
    /// The size of one element, in bytes.
    element: u64,
    /// The known initial contents.
    initial: Vec<(Value, Value)>,
}

/// The objects of a test, created when they are first named.
pub(super) struct Objects<'m> {
    module: HashMap<String, Declaration>,
    declared: &'m [Declared],
    pub all: Vec<Object>,
    /// The CTAs with threads, in order.
    ctas: Vec<Place>,
}

/// The maximum number of bytes of all objects together.
const MAX_BYTES: u64 = 8 * 60_000;

impl<'m> Objects<'m> {
    pub fn new(module: &'m Module, declared: &'m [Declared], ctas: Vec<Place>) -> Self {
        let items = module.items.iter().filter_map(|item| match item {
            Item::Directive(text) => Some(declarations(text)),
            Item::Function(_) => None,
        });
        Self { module: items.flatten().collect(), declared, all: Vec::new(), ctas }
    }

    /// The CTAs with threads in a CTA's cluster, with their ranks. A CTA without a cluster is a cluster by itself.
    fn cluster(&self, of: Place) -> Vec<(u32, Place)> {
        if of.cluster.is_none() {
            return vec![(0, of)];
        }
        let is_peer = |place: &&Place| (place.cluster, place.gpu) == (of.cluster, of.gpu);
        self.ctas.iter().filter(is_peer).map(|place| (place.cta, *place)).collect()
    }

    /// Creates the object of a per-CTA variable in each CTA of the thread's cluster.
    pub fn map(&mut self, symbol: &SymbolName, thread: usize, place: Place) {
        if symbol.variable.space.is_some_and(Space::is_shared_cta) {
            for (_, peer) in self.cluster(place) {
                self.symbol(symbol, thread, peer);
            }
        }
    }

    /// The results of `mapa` in a CTA: the address of a variable in its own shared memory, the rank of a CTA of the
    /// cluster, and the address of the variable in that CTA.
    pub fn mapped(&self, place: Place) -> Vec<(Value, u32, Value)> {
        let own = self.all.iter().filter(|object| object.owner == Owner::Cta(place));
        let peers = self.cluster(place);
        let of_peers = own.flat_map(|own| {
            peers.iter().filter_map(move |(rank, peer)| {
                let is_twin = |object: &&Object| object.symbol == own.symbol && object.owner == Owner::Cta(*peer);
                Some((own.base, *rank, self.all.iter().find(is_twin)?.base))
            })
        });
        of_peers.collect()
    }

    /// The object that a symbol of a thread's code names; `None` if the model does not have its memory.
    pub fn symbol(&mut self, of: &SymbolName, thread: usize, place: Place) -> Option<Result<usize, String>> {
        let (symbol, declaration) = (&*of.variable.name, Declaration::from_variable(&of.variable)?);
        let owner = match declaration.space {
            Space::Shared => Owner::Cta(place),
            Space::Local => Owner::Thread(thread, of.call.unwrap_or_default()),
            _ => Owner::All,
        };
        if let Some(known) = self.all.iter().position(|object| object.symbol == symbol && object.owner == owner) {
            return Some(Ok(known));
        }
        Some(self.declare(symbol, &declaration, owner))
    }

    fn declare(&mut self, symbol: &str, declaration: &Declaration, owner: Owner) -> Result<usize, String> {
        let words = self.declared.iter().find(|declared| is_called(symbol, &declared.name));
        let path = super::names::source_name(symbol);
        let last = path.rsplit("::").next().unwrap_or(&path).to_owned();
        let taken = self.all.iter().any(|object| object.name == last && object.symbol != symbol);
        let shown = words.map_or(if taken { path } else { last }, |words| words.name.clone());
        let name = match owner {
            Owner::Cta(place) if self.ctas.len() > 1 => {
                let number = self.ctas.iter().position(|cta| *cta == place).unwrap_or_default();
                format!("{shown}$cta{number}")
            }
            Owner::Thread(thread, 0) => format!("{shown}$P{thread}"),
            Owner::Thread(thread, call) => format!("{shown}$P{thread}_{call}"),
            _ => shown,
        };
        let (mut element, mut bytes) =
            (size(declaration.ty), size(declaration.ty).saturating_mul(declaration.elements));
        if let Some(words) = words {
            element = size(words.ty);
            // The launch decides the size of dynamic shared memory.
            if declaration.elements == 0 {
                bytes = element * words.elements;
            }
        }
        if bytes == 0 {
            return Err(format!("the size of `{name}` is not known: declare it, as in `litmus: u32 {name}[4]`"));
        }
        let number = self.add(name, symbol.to_owned(), owner, declaration.space, bytes, element)?;
        let step = size(declaration.ty);
        for (index, initial) in declaration.initial.iter().enumerate() {
            let value = match initial {
                Initial::Number(value) => truncate(declaration.ty, *value),
                Initial::Address(other, offset) => {
                    let of = self.module.get(other).cloned();
                    let known = self.all.iter().position(|object| object.symbol == *other);
                    let target = match (known, of) {
                        (Some(known), _) => known,
                        (None, Some(of)) => self.declare(other, &of, Owner::All)?,
                        (None, None) => return Err(format!("`{symbol}` begins with the address of `{other}`")),
                    };
                    self.all[target].base.wrapping_add(*offset)
                }
            };
            self.all[number].initial.push((index as u64 * step, value));
        }
        if let Some(words) = words.filter(|words| !words.initial.is_empty()) {
            self.all[number].initial = words_initial(words);
        }
        Ok(number)
    }

    /// The object of this name, which the test declares or the module has.
    pub fn named(&mut self, name: &str) -> Result<usize, String> {
        if let Some(known) = self.all.iter().position(|object| object.name == name) {
            return Ok(known);
        }
        let symbols: Vec<&str> =
            self.module.keys().map(String::as_str).filter(|symbol| is_called(symbol, name)).collect();
        if let [symbol] = symbols[..] {
            let symbol = symbol.to_owned();
            let declaration = self.module[symbol.as_str()].clone();
            if let Some(known) = self.all.iter().position(|object| object.symbol == symbol) {
                return match declaration.space {
                    Space::Shared if self.ctas.len() > 1 => {
                        Err(format!("each CTA has its own `{name}`: {}", self.object_names(name)))
                    }
                    _ => Ok(known),
                };
            }
            if declaration.space == Space::Shared {
                return Err(format!("no thread uses `{name}`"));
            }
            return self.declare(&symbol, &declaration, Owner::All);
        }
        if symbols.len() > 1 {
            return Err(format!("several variables are called `{name}`: {}", symbols.join(", ")));
        }
        let own = self.object_names(name);
        if !own.is_empty() {
            return Err(format!("the test has several `{name}`: {own}"));
        }
        let Some(declared) = self.declared.iter().find(|declared| declared.name == name) else {
            return Err(format!(
                "the test has no `{name}`: declare it, as in `litmus: u32 {name}`, or `u32 {name}[4]`"
            ));
        };
        let element = size(declared.ty);
        let bytes = element * declared.elements;
        let number = self.add(name.to_owned(), String::new(), Owner::All, Space::Global, bytes, element)?;
        self.all[number].initial = words_initial(declared);
        Ok(number)
    }

    /// The names of the objects that CTAs or threads have for this variable.
    fn object_names(&self, name: &str) -> String {
        let own = self.all.iter().map(|object| &object.name).filter(|own| own.starts_with(&format!("{name}$")));
        own.map(|own| format!("`{own}`")).collect::<Vec<_>>().join(", ")
    }

    fn add(
        &mut self,
        name: String,
        symbol: String,
        owner: Owner,
        space: Space,
        bytes: u64,
        element: u64,
    ) -> Result<usize, String> {
        let known: u64 = self.all.iter().map(|object| object.bytes).sum();
        if known.saturating_add(bytes) > MAX_BYTES {
            return Err(format!("`{name}` has {bytes} bytes: the objects of a test have at most {MAX_BYTES}"));
        }
        let region = region(space).unwrap_or_default();
        let before = self.all.iter().filter(|object| object.base / (ARRAY * REGION) == region).count() as Value + 1;
        if before >= REGION {
            return Err(format!("a test has fewer than {REGION} objects"));
        }
        let base = (region * REGION + before) * ARRAY;
        self.all.push(Object { name, symbol, owner, base, bytes, element, initial: Vec::new() });
        Ok(self.all.len() - 1)
    }

    /// The name of an object in the thread's code.
    pub fn spelled(object: usize) -> String {
        format!("$object{object}")
    }

    /// Every object, in variables of 8 bytes.
    pub fn declare_all(&self, program: &mut Program) {
        for (index, object) in self.all.iter().enumerate() {
            for offset in (0..object.bytes).step_by(8) {
                let name = Self::spelled(index) + &if offset == 0 { String::new() } else { format!("+{offset}") };
                program.locations.push(Variable {
                    address: Some(object.base + offset),
                    private: true,
                    ..Variable::<Ptx>::new(name, object.holds(offset))
                });
            }
        }
    }

    /// The object that contains an address.
    pub fn at(&self, address: Value) -> Option<&Object> {
        self.all.iter().find(|object| (object.base..object.base + object.bytes).contains(&address))
    }
}

impl Object {
    /// The initial value of 8 bytes.
    fn holds(&self, offset: u64) -> Value {
        let within = |(at, _): &&(Value, Value)| (offset..offset + 8).contains(at);
        let initial = self.initial.iter().filter(within);
        initial.fold(0, |all, (at, value)| all | value << (8 * (at - offset)))
    }

    /// The initial value of some bytes.
    pub fn initial(&self, offset: u64, bytes: u64) -> Value {
        let whole = self.holds(offset & !7) >> (8 * (offset & 7));
        if bytes >= 8 { whole } else { whole & ((1 << (8 * bytes)) - 1) }
    }

    /// The start and the size of the bytes that an offset names: the element, or all of an object of at most 8 bytes.
    pub fn part(&self, offset: Offset) -> (u64, u64) {
        match offset {
            Offset::Element(index) => (index.saturating_mul(self.element), self.element),
            Offset::Bytes(0) if self.bytes <= 8 && self.bytes.is_power_of_two() => (0, self.bytes),
            Offset::Bytes(offset) => (offset, self.element),
        }
    }

    /// Whether the object contains all of these bytes.
    pub fn has(&self, start: u64, bytes: u64) -> bool {
        start.saturating_add(bytes) <= self.bytes
    }

    /// The name of some bytes.
    pub fn name_of(&self, offset: u64, bytes: u64) -> String {
        match offset {
            0 if bytes == self.bytes => self.name.clone(),
            _ if bytes == self.element && offset.is_multiple_of(self.element) => {
                format!("{}[{}]", self.name, offset / self.element)
            }
            0 => self.name.clone(),
            _ => format!("{}+{offset}", self.name),
        }
    }
}

/// The maximum number of objects in each state space, so that all addresses have 32 bits.
pub(super) const REGION: Value = 1 << 10;

/// The region of the address space for a state space.
pub(super) fn region(space: Space) -> Option<Value> {
    Some(match space {
        Space::Global => 0,
        Space::Const => 1,
        Space::Shared | Space::SharedCta | Space::SharedCluster => 2,
        Space::Local => 3,
        _ => return None,
    })
}

fn size(ty: Type) -> u64 {
    u64::from(ty.bits() / 8).max(1)
}

fn words_initial(declared: &Declared) -> Vec<(Value, Value)> {
    let step = size(declared.ty);
    let element = |(index, value): (usize, &Value)| (index as u64 * step, truncate(declared.ty, *value));
    declared.initial.iter().enumerate().map(element).collect()
}

/// The variables that a directive declares in memory that the model has.
fn declarations(text: &str) -> impl Iterator<Item = (String, Declaration)> {
    let declared = |variable: asm::Variable| Some((variable.name.clone(), Declaration::from_variable(&variable)?));
    asm::Variable::read(text).into_iter().filter_map(declared)
}

impl Declaration {
    fn from_variable(asm::Variable { space, ty, elements, initial, .. }: &asm::Variable) -> Option<Self> {
        let space =
            space.filter(|space| matches!(space, Space::Global | Space::Shared | Space::Local | Space::Const))?;
        Some(Self { space, ty: (*ty)?, elements: *elements, initial: initial.clone() })
    }
}

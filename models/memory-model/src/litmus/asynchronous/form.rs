//! The operands of an asynchronous instruction by their roles, each read once.

use std::str::FromStr;

use ptx_isa::{
    Family, ModifierKind, Outline, Role, Space,
    syntax::{Number, Operand as Written, Shape},
};

use crate::{
    asynchronous::{CtaGroup, Memory},
    litmus::operand::{Reader, Wrong},
    place::Scope,
    program::{Address, Operand, Register, Type, Value},
};

/// Operands without a meaning for the model: time limits, cache policies, the number of allocated columns.
const IGNORED: [Role; 3] = [Role::TimeLimit, Role::Policy, Role::Columns];

/// Modifiers that have no meaning for the model, or that it reads, besides the modifiers of known kinds.
#[rustfmt::skip]
const KNOWN: [&str; 25] = [
    "sync", "aligned", "noinc", "down", "ca", "cg", "read", "tile", "popc", "satfinite", "ashift", "block_scale", "block16", "block32",
    "scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "pack::16b", "unpack::16b", "b8x16", "b6x16_p32", "b4x16_p64", "warpx4",
    "warpx2::02_13", "warpx2::01_23",
];

/// An instruction while its operands are read.
pub(super) struct Form<'f, 'r, 't> {
    pub(super) reader: &'f mut Reader<'r, 't>,
    pub(super) outline: Outline,
    /// The operands that are not read yet.
    pub(super) unread: Vec<Role>,
}

impl<'f, 'r, 't> Form<'f, 'r, 't> {
    pub(super) fn read(reader: &'f mut Reader<'r, 't>) -> Result<Self, Wrong> {
        let outline = Outline::read(reader.of).map_err(|error| (reader.start + error.span.start, error.reason))?;
        let is_known = |word: &str| match ModifierKind::from_word(word) {
            ModifierKind::Other | ModifierKind::Mode | ModifierKind::Multicast => KNOWN.contains(&word),
            _ => true,
        };
        if let Some(word) = outline.modifiers.iter().find(|word| !is_known(word)) {
            return reader.wrong(format!("`{}` takes no `.{word}` here", outline.family));
        }
        let unread = outline.roles.clone();
        Ok(Self { reader, outline, unread })
    }

    /// An error at the first operand that has not been read.
    pub(super) fn done(&self) -> Result<(), Wrong> {
        match self.unread.iter().find(|role| !IGNORED.contains(role)) {
            Some(role) => {
                let role = role.to_string().replace('_', " ");
                self.wrong(format!("`{}` has no {role} here", self.outline.family))
            }
            None => Ok(()),
        }
    }

    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Wrong> {
        self.reader.wrong(message)
    }

    /// The modifier of a kind, as a value of the model.
    pub(super) fn modifier<T: FromStr>(&self, kind: ModifierKind) -> Option<T> {
        self.outline.modifier(kind)?.parse().ok()
    }

    /// The scope; by default the CTA.
    pub(super) fn scope(&self) -> Scope {
        self.modifier(ModifierKind::Scope).unwrap_or(Scope::Cta)
    }

    pub(super) fn cta_group(&mut self) -> Result<CtaGroup, Wrong> {
        let Some(cta_group) = self.modifier(ModifierKind::CtaGroup) else {
            return self.wrong(format!("`{}` needs `.cta_group::1` or `.cta_group::2`", self.reader.spelled()));
        };
        self.reader.cell.of_pair = cta_group == CtaGroup::Two;
        Ok(cta_group)
    }

    /// The state spaces; the space of the destination is first.
    pub(super) fn spaces(&self) -> Vec<Memory> {
        let spaces = self.outline.modifiers.iter().filter(|word| ModifierKind::from_word(word) == ModifierKind::Space);
        let is_shared = |word: &&str| word.parse().is_ok_and(|space: Space| space.is_shared());
        spaces.map(|word| if is_shared(word) { Memory::Shared } else { Memory::Global }).collect()
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.outline.roles.contains(&role)
    }

    /// The index of the operand, which is marked as read.
    pub(super) fn index(&mut self, role: Role) -> Result<usize, Wrong> {
        let Outline { family, roles, missing, .. } = &self.outline;
        let is_needed = |role: &Role| !IGNORED.contains(role) && *family != Family::WgmmaMmaAsync;
        match roles.iter().position(|other| *other == role) {
            Some(index) if !missing.iter().any(is_needed) => {
                self.unread.retain(|other| *other != role);
                Ok(index)
            }
            _ => self.wrong(format!("too few operands: {}", self.outline.operands())),
        }
    }

    pub(super) fn written(&mut self, role: Role) -> Result<(usize, &'r Written<'t>), Wrong> {
        let index = self.index(role)?;
        Ok((index, &self.reader.of.operands[index]))
    }

    /// The address of an operand in this memory.
    pub(super) fn in_memory(&mut self, role: Role, memory: Memory) -> Result<Address, Wrong> {
        let index = self.index(role)?;
        let a = self.reader.address(index)?;
        self.put(a, memory);
        Ok(a)
    }

    pub(super) fn shared(&mut self, role: Role) -> Result<Address, Wrong> {
        self.in_memory(role, Memory::Shared)
    }

    /// A matrix in tensor memory.
    pub(super) fn tensor(&mut self, role: Role) -> Result<Address, Wrong> {
        let a = self.in_memory(role, Memory::Tensor)?;
        if a.offset != 0 {
            return self.wrong("tensor memory has no offsets here: write another variable for other columns");
        }
        Ok(a)
    }

    /// Records the kind of memory of an address's variable.
    pub(super) fn put(&mut self, a: Address, memory: Memory) {
        if let Operand::Address(variable) = a.base {
            self.reader.cell.placed.push((variable, memory));
        }
    }

    pub(super) fn value(&mut self, role: Role, ty: Type) -> Result<Operand, Wrong> {
        let index = self.index(role)?;
        self.reader.value(index, ty)
    }

    pub(super) fn register(&mut self, role: Role) -> Result<Register, Wrong> {
        let index = self.index(role)?;
        self.reader.register(index)
    }

    /// The operand, or the only element of a list.
    pub(super) fn single(&mut self, role: Role) -> Result<(&'r Written<'t>, usize), Wrong> {
        let (index, written) = self.written(role)?;
        match &written.shape {
            Shape::Vector(elements) => match &elements[..] {
                [one] => Ok((one, index + 1)),
                _ => self.wrong("a matrix is one element here: write one register"),
            },
            _ => Ok((written, index + 1)),
        }
    }

    /// A number, or a register that keeps its initial value.
    pub(super) fn constant(&mut self, role: Role, what: &str) -> Result<Value, Wrong> {
        let (index, written) = self.written(role)?;
        match written.shape {
            Shape::Number(Number::Integer(value)) => Ok(value),
            Shape::Name { name, suffix: None }
                if self.reader.thread().registers.iter().any(|known| known.name == name.text) =>
            {
                let register = self.reader.register(index)?;
                self.reader.cell.constant.push(register);
                Ok(self.reader.thread().registers[usize::from(register.0)].initial)
            }
            _ => self.wrong(format!(
                "operand {} of `{}` is {what}: write a number, or a register that has it from the start, as in \
                 `{{ P0:r0=1; }}`",
                index + 1,
                self.outline.family
            )),
        }
    }

    /// The same, of 32 bits.
    pub(super) fn small(&mut self, role: Role, what: &str) -> Result<u32, Wrong> {
        let value = self.constant(role, what)?;
        u32::try_from(value).or_else(|_| self.wrong(format!("{what} has at most 32 bits, found `{value}`")))
    }
}

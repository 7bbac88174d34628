//! The forms of the instructions on textures and surfaces (sections 9.7.10 and 9.7.11).

use strum::EnumString;

use crate::word::Type;

/// The geometry of a texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
pub enum Geometry {
    /// `.1d`
    #[strum(serialize = "1d")]
    Line,
    /// `.2d`
    #[strum(serialize = "2d")]
    Plane,
    /// `.3d`
    #[strum(serialize = "3d")]
    Volume,
    /// `.a1d`: an array of lines.
    #[strum(serialize = "a1d")]
    Lines,
    /// `.a2d`: an array of planes.
    #[strum(serialize = "a2d")]
    Planes,
    /// `.cube`: six faces.
    #[strum(serialize = "cube")]
    Cube,
    /// `.acube`: an array of cubes.
    #[strum(serialize = "acube")]
    Cubes,
}

impl Geometry {
    /// The number of coordinates, without the index of a layer.
    pub fn axes(self) -> usize {
        match self {
            Self::Line | Self::Lines => 1,
            Self::Plane | Self::Planes => 2,
            Self::Volume | Self::Cube | Self::Cubes => 3,
        }
    }

    /// Whether the index of a layer precedes the coordinates.
    pub fn has_layers(self) -> bool {
        matches!(self, Self::Lines | Self::Planes | Self::Cubes)
    }

    /// The number of coordinates, with the index of a layer.
    pub fn indices(self) -> usize {
        self.axes() + usize::from(self.has_layers())
    }

    /// Whether the coordinates are a direction from the center of a cube.
    pub fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::Cubes)
    }
}

/// The effect of a surface access whose coordinates are outside of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum OutsideSurface {
    /// An error.
    Trap,
    /// An access of the nearest place.
    Clamp,
    /// A load of zeros, or a store without an effect.
    Zero,
}

/// A property that `txq` or `suq` queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum TextureProperty {
    /// The number of elements of a row.
    Width,
    /// The number of rows.
    Height,
    /// The number of planes.
    Depth,
    /// The number of layers.
    ArraySize,
    /// The number of mipmap levels.
    NumMipmapLevels,
    /// Whether coordinates are normalized.
    NormalizedCoords,
}

/// `tex` and `tld4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// The geometry of the texture.
    pub geometry: Geometry,
    /// The type of each of the four results.
    pub ty: Type,
    /// The type of the coordinates.
    pub coordinates: Type,
    /// The channel that `tld4` reads of four elements; `None` for `tex`.
    pub gathered: Option<usize>,
    /// The number of operands after the address that choose a mipmap level.
    pub level_operands: usize,
}

/// `suld.b` and `sust.b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceAccess {
    /// The geometry of the surface.
    pub geometry: Geometry,
    /// The type of an element.
    pub ty: Type,
    /// The number of elements.
    pub elements: usize,
    /// Whether the instruction is a store.
    pub is_store: bool,
    /// The effect of coordinates outside of the surface.
    pub outside: OutsideSurface,
}

/// The form of an instruction on a texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureForm {
    /// A read of a texture.
    Fetch(Fetch),
    /// An access of a surface.
    Surface(SurfaceAccess),
    /// A query.
    Query(TextureProperty),
}

impl TextureForm {
    /// Reads a mnemonic with its modifiers. `None` for forms that are not modelled: formatted accesses and reductions
    /// of surfaces, results of 16 bits, multisampled textures, and queries of a level.
    pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
        let words: Vec<&str> = mnemonic.split('.').collect();
        let (first, modifiers) = words.split_first()?;
        match *first {
            "tex" | "tld4" => Fetch::read(*first == "tld4", modifiers).map(Self::Fetch),
            "suld" | "sust" => SurfaceAccess::read(*first == "sust", modifiers).map(Self::Surface),
            "txq" | "suq" => match modifiers {
                [property, "b32"] => property.parse().ok().map(Self::Query),
                _ => None,
            },
            _ => None,
        }
    }
}

fn find<W: std::str::FromStr>(words: &[&str]) -> Option<W> {
    words.iter().find_map(|word| word.parse().ok())
}

/// The channels that `tld4` names.
const CHANNELS: [&str; 4] = ["r", "g", "b", "a"];

impl Fetch {
    fn read(is_gather: bool, modifiers: &[&str]) -> Option<Self> {
        let [.., "v4", result, coordinates] = modifiers else { return None };
        let (ty, coordinates) = (result.parse().ok()?, coordinates.parse().ok()?);
        let gathered = match is_gather {
            true => Some(CHANNELS.iter().position(|channel| modifiers.contains(channel))?),
            false => None,
        };
        let level_operands = match () {
            () if modifiers.contains(&"level") => 1,
            () if modifiers.contains(&"grad") => 2,
            () => 0,
        };
        let is_known = matches!(ty, Type::F32 | Type::S32 | Type::U32) && matches!(coordinates, Type::F32 | Type::S32);
        let geometry = find(modifiers).filter(|_| is_known)?;
        Some(Self { geometry, ty, coordinates, gathered, level_operands })
    }
}

impl SurfaceAccess {
    fn read(is_store: bool, modifiers: &[&str]) -> Option<Self> {
        let (["b", ..], [.., ty, outside]) = (modifiers, modifiers) else { return None };
        let ty = ty.parse().ok().filter(|ty| matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64))?;
        let elements = match () {
            () if modifiers.contains(&"v2") => 2,
            () if modifiers.contains(&"v4") => 4,
            () => 1,
        };
        let geometry = find(modifiers).filter(|geometry: &Geometry| !geometry.is_cube())?;
        Some(Self { geometry, ty, elements, is_store, outside: outside.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mnemonic: &str, expected: &str) {
        let shown = match TextureForm::from_mnemonic(mnemonic) {
            Some(TextureForm::Fetch(Fetch { geometry, ty, coordinates, gathered, level_operands })) => {
                format!("{geometry:?} {ty} {coordinates} {gathered:?} {level_operands}")
            }
            Some(TextureForm::Surface(SurfaceAccess { geometry, ty, elements, is_store, outside })) => {
                format!("{geometry:?} {ty} {elements} {is_store} {outside:?}")
            }
            Some(TextureForm::Query(property)) => format!("{property:?}"),
            None => "none".to_owned(),
        };
        assert_eq!(shown, expected, "{mnemonic}");
    }

    #[test]
    fn forms_have_their_parts() {
        check("tex.1d.v4.f32.s32", "Line f32 s32 None 0");
        check("tex.level.a2d.v4.u32.f32", "Planes u32 f32 None 1");
        check("tex.grad.3d.v4.s32.f32", "Volume s32 f32 None 2");
        check("tex.base.cube.v4.f32.f32", "Cube f32 f32 None 0");
        check("tld4.b.2d.v4.f32.f32", "Plane f32 f32 Some(2) 0");
        check("tex.2d.v4.f16.f32", "none");
        check("tex.2dms.v4.f32.s32", "none");
        check("tex.1d.v2.f16x2.s32", "none");
        check("suld.b.1d.b32.trap", "Line b32 1 false Trap");
        check("suld.b.a1d.cg.v2.b16.clamp", "Lines b16 2 false Clamp");
        check("sust.b.3d.v4.b8.zero", "Volume b8 4 true Zero");
        check("sust.p.2d.b32.trap", "none");
        check("sured.b.add.2d.u32.trap", "none");
        check("txq.width.b32", "Width");
        check("txq.level.width.b32", "none");
        check("suq.array_size.b32", "ArraySize");
        check("txq.channel_order.b32", "none");
    }
}

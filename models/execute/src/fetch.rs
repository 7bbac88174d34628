//! The execution of the instructions on textures and surfaces.

use ptx_isa::{Fetch, OutsideSurface, Space, SurfaceAccess, TextureForm, TextureProperty, Type};

use crate::{
    access::{Lane, offset_region},
    code::{Pc, Source, TextureAccess},
    machine::{Cta, Machine},
    memory::{Region, number, region},
    report::FaultKind,
    shadow::{Info, Record},
    texture::{Index, Texture, combined, face},
    warp::{Lanes, Warp, each},
};

/// The number of faces of a cube.
const FACES: u32 = 6;

impl Machine<'_> {
    /// Executes an instruction on a texture or a surface for lanes.
    pub fn texture(&mut self, cta: &mut Cta, warp: &mut Warp, pc: Pc, base: u32, lanes: Lanes, access: &TextureAccess) {
        if self.global.textures.is_unused() {
            // The device has no textures: they hold zeros.
            for d in access.results.iter().flatten() {
                each(lanes).for_each(|lane| warp.set(base, *d, lane, 0));
            }
            return self.findings.note(self.line(pc), &access.zeros());
        }
        for lane in each(lanes) {
            let at = Lane { lane, thread: warp.first + lane as u32, pc, base };
            let Some(form) = access.form else {
                let message = format!("`{}` is not an instruction that can be run here", access.mnemonic);
                return self.find(cta, FaultKind::Unsupported, at.thread, pc, None, None, message, None);
            };
            let handle = self.value(cta, warp, base, lane, access.object);
            let Some(texture) = self.global.textures.get(handle).copied() else {
                let message = format!("no texture and no surface has the handle {handle:#x}");
                return self.find(cta, FaultKind::OutOfBounds, at.thread, pc, None, None, message, None);
            };
            let words: Vec<u32> =
                access.place.iter().map(|source| self.value(cta, warp, base, lane, *source) as u32).collect();
            match form {
                TextureForm::Fetch(fetch) => {
                    let results = self.fetch(cta, at, &fetch, &texture, &words);
                    // The fifth result says that the memory exists.
                    for (d, value) in access.results.iter().zip(results.into_iter().chain([1])) {
                        d.iter().for_each(|d| warp.set(base, *d, lane, value.into()));
                    }
                }
                TextureForm::Surface(surface) => self.surface(cta, warp, at, (access, &surface), &texture, &words),
                TextureForm::Query(property) => {
                    let value = property_of(property, &texture);
                    access.results.iter().flatten().for_each(|d| warp.set(base, *d, lane, value.into()));
                }
            }
        }
    }

    /// The four results of a texture read.
    fn fetch(&mut self, cta: &mut Cta, at: Lane, fetch: &Fetch, texture: &Texture, words: &[u32]) -> [u32; 4] {
        let Some(sampler) = texture.sampler else {
            let message = "expected a texture, found a surface".to_owned();
            self.find(cta, FaultKind::Misuse, at.thread, at.pc, None, None, message, None);
            return [0; 4];
        };
        let geometry = fetch.geometry;
        let skipped = usize::from(geometry.has_layers());
        let layers = texture.image.sizes[2];
        let mut layer = words.first().copied().filter(|_| geometry.has_layers());
        let words = words.get(skipped..).unwrap_or_default();
        let words = &words[..words.len().min(geometry.axes())];
        let mut coordinates: Vec<f32> = words.iter().map(|word| f32::from_bits(*word)).collect();
        if let (true, [x, y, z]) = (geometry.is_cube(), &coordinates[..]) {
            let (face, within) = face(*x, *y, *z);
            layer = Some(layer.unwrap_or(0).min(layers / FACES - u32::from(layers >= FACES)) * FACES + face);
            coordinates = within.to_vec();
        }
        // The index of a layer is clamped.
        let layer = layer.map(|layer| layer.min(layers.saturating_sub(1)));
        if let Some(channel) = fetch.gathered {
            let elements = texture.gathered(&sampler, &coordinates, layer);
            return elements.map(|index| self.results_at(cta, at, texture, index)[channel]);
        }
        if fetch.coordinates == Type::S32 {
            let coordinates: Vec<i32> = words.iter().map(|word| word.cast_signed()).collect();
            let index = texture.element(&sampler, &coordinates, layer);
            return self.results_at(cta, at, texture, index);
        }
        let elements = texture.elements(&sampler, &coordinates, layer);
        let results: Vec<_> =
            elements.into_iter().map(|(index, weight)| (self.results_at(cta, at, texture, index), weight)).collect();
        combined(&results)
    }

    /// The results for an element of a texture, which the thread reads.
    fn results_at(&mut self, cta: &mut Cta, at: Lane, texture: &Texture, index: Index) -> [u32; 4] {
        let (image, Some(sampler)) = (texture.image, texture.sampler) else { return [0; 4] };
        let Some(index) = index else { return image.border_of(&sampler) };
        let place = region(Space::Global, image.address.wrapping_add(image.offset(index)));
        let bytes = image.element_bytes();
        let Some(element) = self.bytes(cta, place, bytes).map(number) else {
            let name = self.place_name(place);
            self.outside(cta, at.thread, at.pc, name);
            return [0; 4];
        };
        self.add_to_footprint(place, bytes, None, false);
        if self.options.races {
            let clock = &cta.order[at.thread as usize].clock;
            let record = Record { agent: clock.agent, epoch: clock.own, info: Info::new(at.pc, bytes, None, false) };
            self.touch(cta, at.thread, place, bytes, record, None, None, false);
        }
        self.check_written(cta, at, place, bytes);
        image.channels_of(&sampler, element)
    }

    /// Performs an access of a surface.
    fn surface(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        at: Lane,
        (access, form): (&TextureAccess, &SurfaceAccess),
        texture: &Texture,
        words: &[u32],
    ) {
        let image = texture.image;
        let bytes = u64::from(form.ty.bits() / 8);
        let total = bytes * form.elements as u64;
        let [width, height, planes] = image.sizes.map(i64::from);
        // The first coordinate is in bytes.
        let last = [width * image.element_bytes() as i64 - total as i64, height - 1, planes - 1];
        let skipped = usize::from(form.geometry.has_layers());
        let mut place = [0; 3];
        for (axis, word) in words.iter().skip(skipped).take(form.geometry.axes()).enumerate() {
            place[axis] = i64::from(word.cast_signed());
        }
        if let (true, Some(layer)) = (form.geometry.has_layers(), words.first()) {
            place[2] = i64::from(*layer);
        }
        let is_inside = place.iter().zip(last).all(|(at, last)| (0..=last).contains(at));
        match form.outside {
            _ if is_inside => {}
            OutsideSurface::Clamp => {
                place.iter_mut().zip(last).for_each(|(at, last)| *at = (*at).clamp(0, last.max(0)));
            }
            OutsideSurface::Trap => {
                let [x, y, z] = place;
                return self.outside(cta, at.thread, at.pc, format!("byte {x} of row {y} of plane {z} of the surface"));
            }
            OutsideSurface::Zero => {
                for (d, _) in access.memory.results.iter().flatten() {
                    warp.set(at.base, *d, at.lane, 0);
                }
                return;
            }
        }
        let [x, y, z] = place.map(i64::cast_unsigned);
        let address = image.address.wrapping_add(x + y * image.pitches[0] + z * image.pitches[1]);
        if x % total != 0 {
            let message = format!("byte {x} of a row of the surface is not a multiple of {total} bytes");
            self.find(cta, FaultKind::Misaligned, at.thread, at.pc, None, None, message, None);
        }
        let place = region(Space::Global, address);
        for element in 0..form.elements {
            let place = offset_region(place, element as u64 * bytes);
            match place {
                Region::Global(..) => self.memory(cta, warp, at, &access.memory, element, place, None),
                _ => self.outside(cta, at.thread, at.pc, format!("address {address:#x}")),
            }
        }
    }
}

/// The value of a property. An axis that the texture does not have is 0.
fn property_of(property: TextureProperty, texture: &Texture) -> u32 {
    let [width, height, last] = texture.image.sizes;
    let has_layers = texture.image.has_layers;
    match property {
        TextureProperty::Width => width,
        TextureProperty::Height => height,
        TextureProperty::Depth => {
            if has_layers {
                1
            } else {
                last
            }
        }
        TextureProperty::ArraySize => {
            if has_layers {
                last
            } else {
                1
            }
        }
        TextureProperty::NumMipmapLevels => 1,
        TextureProperty::NormalizedCoords => u32::from(texture.sampler.is_some_and(|sampler| sampler.is_normalized)),
    }
}

impl TextureAccess {
    /// The operands that it reads, apart from a stored value.
    pub fn address(&self) -> impl Iterator<Item = Source> {
        std::iter::once(self.object).chain(self.place.iter().copied())
    }

    /// The reason why its values are wrong on a device without textures.
    pub fn zeros(&self) -> String {
        format!("`{}`: textures and surfaces hold zeros, and are not written", self.mnemonic)
    }
}

#![doc = include_str!("../README.md")]
#![no_std]

use core::{
    fmt,
    marker::PhantomData,
    mem::{ManuallyDrop, transmute_copy},
    sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
        AtomicU64, AtomicUsize, Ordering,
    },
};

use bits::{Address, Bits, IntegerBits};
pub use scope::{Block, Cluster, Device, Scope, System};

mod bits;
#[cfg(not(target_arch = "nvptx64"))]
#[path = "host.rs"]
mod implementation;
#[cfg(target_arch = "nvptx64")]
#[path = "markers.rs"]
mod implementation;
mod scope;

/// Makes a crate that links or assembles only if the pass ran. Without the pass, the atomics of `core` lose their order
/// silently.
///
/// Use the macro once in a crate that becomes PTX, outside of functions. If the pass did not run, an assembler prints
/// `Cannot take address of function 'ptx_atomics$pass'`. On a host, the macro has no effect.
///
/// ```
/// ptx_atomics_scope::require_pass!();
/// ```
#[macro_export]
macro_rules! require_pass {
    () => {
        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            unsafe extern "C" {
                #[link_name = "ptx_atomics$pass"]
                fn pass();
            }
            #[used]
            static REQUIRED: unsafe extern "C" fn() = pass;
        };
    };
}

/// A test that the conditions in the comments of kernels hold, in the memory model of PTX: `ptx-atomics litmus`
/// compiles the file.
///
/// The name of the test is followed by the file, relative to the folder of the crate, and by options of the command.
/// The command is the `ptx-atomics` in the `PATH`, or the program that the environment variable `PTX_ATOMICS_COMMAND`
/// names.
///
/// ```
/// ptx_atomics_scope::litmus!(lock: "src/lock.rs", "--rounds", "2");
/// ```
#[macro_export]
macro_rules! litmus {
    ($test:ident: $file:literal $(, $option:literal)* $(,)?) => {
        #[test]
        fn $test() {
            let command = ::std::env::var_os("PTX_ATOMICS_COMMAND").unwrap_or_else(|| "ptx-atomics".into());
            let output = ::std::process::Command::new(&command)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .args(["litmus", "--must-hold", $file $(, $option)*])
                .output();
            let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", command.display()));
            let text = |bytes: &[u8]| ::std::string::String::from_utf8_lossy(bytes).into_owned();
            assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
        }
    };
}

/// An atomic type of `core`.
pub trait Atomic: sealed::Sealed {
    /// The value in memory.
    type Value: Copy;
    #[doc(hidden)]
    type Bits: Bits;
    #[doc(hidden)]
    fn to_bits(value: Self::Value) -> Self::Bits;
    #[doc(hidden)]
    fn from_bits(bits: Self::Bits) -> Self::Value;
}

/// An atomic integer of `core`.
pub trait Integer: Atomic<Bits: IntegerBits> {
    #[doc(hidden)]
    const SIGNED: bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($atomic:ident $value:ident $bits:ident)*) => {$(
        impl sealed::Sealed for $atomic {}

        impl Atomic for $atomic {
            type Value = $value;
            type Bits = $bits;

            #[inline(always)]
            fn to_bits(value: $value) -> $bits {
                value as $bits
            }

            #[inline(always)]
            fn from_bits(bits: $bits) -> $value {
                bits as $value
            }
        }

        impl Integer for $atomic {
            const SIGNED: bool = $value::MIN != 0;
        }
    )*};
}

integers! {
    AtomicI8 i8 u8
    AtomicU8 u8 u8
    AtomicI16 i16 u16
    AtomicU16 u16 u16
    AtomicI32 i32 u32
    AtomicU32 u32 u32
    AtomicI64 i64 u64
    AtomicU64 u64 u64
    AtomicIsize isize Address
    AtomicUsize usize Address
}

impl sealed::Sealed for AtomicBool {}

impl Atomic for AtomicBool {
    type Value = bool;
    type Bits = u8;

    #[inline(always)]
    fn to_bits(value: bool) -> u8 {
        value as u8
    }

    #[inline(always)]
    fn from_bits(bits: u8) -> bool {
        bits != 0
    }
}

impl<T> sealed::Sealed for AtomicPtr<T> {}

impl<T> Atomic for AtomicPtr<T> {
    type Value = *mut T;
    type Bits = *mut ();

    #[inline(always)]
    fn to_bits(value: *mut T) -> *mut () {
        value.cast()
    }

    #[inline(always)]
    fn from_bits(bits: *mut ()) -> *mut T {
        bits.cast()
    }
}

/// An atomic of `core` whose operations have a scope: `Scoped<AtomicU32, Device>`.
///
/// `Scoped` has the layout of `A`. Each method has the effect of the method of the same name in `core`, and panics
/// under the same conditions.
#[repr(transparent)]
pub struct Scoped<A, S> {
    atomic: A,
    /// The type of a function, so that the traits and the lifetime of `S` do not matter.
    scope: PhantomData<fn() -> S>,
}

impl<A, S> Scoped<A, S> {
    /// Returns the same object, for operations of this scope. Operations of two scopes synchronize if each scope
    /// contains the thread of the other operation.
    #[inline(always)]
    pub const fn from_ref(atomic: &A) -> &Self {
        // SAFETY: the struct is transparent.
        unsafe { &*(&raw const *atomic).cast() }
    }
}

impl<A: Atomic, S: Scope> Scoped<A, S> {
    /// As [`AtomicU32::new`].
    #[inline(always)]
    pub const fn new(value: A::Value) -> Self {
        // SAFETY: an atomic of `core` has the size and the valid values of its content.
        Self { atomic: unsafe { transmute_copy(&value) }, scope: PhantomData }
    }

    /// As [`AtomicU32::from_ptr`].
    ///
    /// # Safety
    /// The conditions of `core`'s function, such as [`AtomicU32::from_ptr`]; and no thread outside of the scope
    /// accesses the memory without other synchronization.
    #[inline(always)]
    pub const unsafe fn from_ptr<'a>(ptr: *mut A::Value) -> &'a Self {
        unsafe { &*ptr.cast() }
    }

    /// As [`AtomicU32::as_ptr`].
    #[inline(always)]
    pub const fn as_ptr(&self) -> *mut A::Value {
        (&raw const self.atomic).cast_mut().cast()
    }

    /// As [`AtomicU32::get_mut`].
    #[inline(always)]
    pub const fn get_mut(&mut self) -> &mut A::Value {
        // SAFETY: no other reference has access, and an atomic is at least as aligned as its content.
        unsafe { &mut *self.as_ptr() }
    }

    /// As [`AtomicU32::into_inner`].
    #[inline(always)]
    pub const fn into_inner(self) -> A::Value {
        // SAFETY: the same reason as in `new`.
        unsafe { transmute_copy(&ManuallyDrop::new(self)) }
    }

    /// The address of the bits. It is valid as long as `self`.
    #[inline(always)]
    fn bits(&self) -> *mut A::Bits {
        self.as_ptr().cast()
    }

    /// As [`AtomicU32::load`].
    ///
    /// # Panics
    /// If the order is release or acquire-release.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> A::Value {
        A::from_bits(unsafe { A::Bits::load::<S>(self.bits(), order) })
    }

    /// As [`AtomicU32::store`].
    ///
    /// # Panics
    /// If the order is acquire or acquire-release.
    #[inline(always)]
    pub fn store(&self, value: A::Value, order: Ordering) {
        unsafe { A::Bits::store::<S>(self.bits(), A::to_bits(value), order) }
    }

    /// As [`AtomicU32::swap`].
    #[inline(always)]
    pub fn swap(&self, value: A::Value, order: Ordering) -> A::Value {
        A::from_bits(unsafe { A::Bits::xchg::<S>(self.bits(), A::to_bits(value), order) })
    }

    /// As [`AtomicU32::compare_exchange`].
    ///
    /// # Errors
    /// The value, if it is not `current`.
    ///
    /// # Panics
    /// If the order of failure is release or acquire-release.
    #[inline(always)]
    pub fn compare_exchange(
        &self,
        current: A::Value,
        new: A::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<A::Value, A::Value> {
        let current = A::to_bits(current);
        let old = unsafe { A::Bits::cmpxchg::<S>(self.bits(), current, A::to_bits(new), success, failure) };
        if old == current { Ok(A::from_bits(old)) } else { Err(A::from_bits(old)) }
    }

    /// The same as [`Self::compare_exchange`]: PTX has no weak form.
    ///
    /// # Errors
    /// The value, if it is not `current`.
    ///
    /// # Panics
    /// The same as [`Self::compare_exchange`].
    #[inline(always)]
    pub fn compare_exchange_weak(
        &self,
        current: A::Value,
        new: A::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<A::Value, A::Value> {
        self.compare_exchange(current, new, success, failure)
    }

    /// As `AtomicU32::try_update`, which `core` has since Rust 1.95.
    ///
    /// # Errors
    /// The value for which `f` returned `None`.
    ///
    /// # Panics
    /// If `fetch_order` is release or acquire-release.
    #[inline(always)]
    pub fn try_update(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut f: impl FnMut(A::Value) -> Option<A::Value>,
    ) -> Result<A::Value, A::Value> {
        let mut old = self.load(fetch_order);
        while let Some(new) = f(old) {
            match self.compare_exchange_weak(old, new, set_order, fetch_order) {
                Ok(old) => return Ok(old),
                Err(found) => old = found,
            }
        }
        Err(old)
    }

    /// As `AtomicU32::update`, which `core` has since Rust 1.95.
    ///
    /// # Panics
    /// If `fetch_order` is release or acquire-release.
    #[inline(always)]
    pub fn update(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut f: impl FnMut(A::Value) -> A::Value,
    ) -> A::Value {
        let (Ok(old) | Err(old)) = self.try_update(set_order, fetch_order, |old| Some(f(old)));
        old
    }

    /// The name of [`Self::try_update`] before Rust 1.95.
    ///
    /// # Errors
    /// The value for which `f` returned `None`.
    ///
    /// # Panics
    /// The same as [`Self::try_update`].
    #[inline(always)]
    pub fn fetch_update(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        f: impl FnMut(A::Value) -> Option<A::Value>,
    ) -> Result<A::Value, A::Value> {
        self.try_update(set_order, fetch_order, f)
    }
}

macro_rules! fetch {
    ($($method:ident $rmw:ident)*) => {$(
        #[doc = concat!("As [`AtomicU32::", stringify!($method), "`].")]
        #[inline(always)]
        pub fn $method(&self, value: A::Value, order: Ordering) -> A::Value {
            A::from_bits(unsafe { A::Bits::$rmw::<S>(self.bits(), A::to_bits(value), order) })
        }
    )*};
}

/// Methods of integers.
impl<A: Integer, S: Scope> Scoped<A, S> {
    fetch! { fetch_add add fetch_sub sub fetch_and and fetch_nand nand fetch_or or fetch_xor xor }

    /// As [`AtomicU32::fetch_max`], with the signedness of the type.
    #[inline(always)]
    pub fn fetch_max(&self, value: A::Value, order: Ordering) -> A::Value {
        let (bits, value) = (self.bits(), A::to_bits(value));
        A::from_bits(unsafe {
            if A::SIGNED { A::Bits::max::<S>(bits, value, order) } else { A::Bits::umax::<S>(bits, value, order) }
        })
    }

    /// As [`AtomicU32::fetch_min`], with the signedness of the type.
    #[inline(always)]
    pub fn fetch_min(&self, value: A::Value, order: Ordering) -> A::Value {
        let (bits, value) = (self.bits(), A::to_bits(value));
        A::from_bits(unsafe {
            if A::SIGNED { A::Bits::min::<S>(bits, value, order) } else { A::Bits::umin::<S>(bits, value, order) }
        })
    }
}

macro_rules! fetch_bool {
    ($($method:ident $rmw:ident)*) => {$(
        #[doc = concat!("As [`AtomicBool::", stringify!($method), "`].")]
        #[inline(always)]
        pub fn $method(&self, value: bool, order: Ordering) -> bool {
            unsafe { u8::$rmw::<S>(self.bits(), value as u8, order) != 0 }
        }
    )*};
}

/// Methods of booleans.
impl<S: Scope> Scoped<AtomicBool, S> {
    fetch_bool! { fetch_and and fetch_or or fetch_xor xor }

    /// As [`AtomicBool::fetch_nand`].
    #[inline(always)]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        // The complement of a byte is not a boolean.
        if value { self.fetch_not(order) } else { self.swap(true, order) }
    }

    /// As [`AtomicBool::fetch_not`].
    #[inline(always)]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

macro_rules! fetch_address {
    ($($method:ident $rmw:ident $value:ident: $ty:ty => $by:expr, $of_address:expr;)*) => {$(
        #[doc = concat!("As [`AtomicPtr::", stringify!($method), "`].")]
        #[inline(always)]
        pub fn $method(&self, $value: $ty, order: Ordering) -> *mut T {
            let by: usize = $by;
            // `core` has this method only since Rust 1.91. A loop keeps the provenance of the pointer.
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let of_address: fn(usize, usize) -> usize = $of_address;
                self.update(order, Ordering::Relaxed, |old| old.map_addr(|address| of_address(address, by)))
            }
            #[cfg(target_arch = "nvptx64")]
            {
                let old = unsafe { Address::$rmw::<S>(self.bits().cast(), by as Address, order) };
                core::ptr::with_exposed_provenance_mut(old as usize)
            }
        }
    )*};
}

/// Methods of pointers, on their addresses.
impl<T, S: Scope> Scoped<AtomicPtr<T>, S> {
    fetch_address! {
        fetch_ptr_add add count: usize => count.wrapping_mul(size_of::<T>()), usize::wrapping_add;
        fetch_ptr_sub sub count: usize => count.wrapping_mul(size_of::<T>()), usize::wrapping_sub;
        fetch_byte_add add bytes: usize => bytes, usize::wrapping_add;
        fetch_byte_sub sub bytes: usize => bytes, usize::wrapping_sub;
        fetch_or or value: usize => value, |a, b| a | b;
        fetch_and and value: usize => value, |a, b| a & b;
        fetch_xor xor value: usize => value, |a, b| a ^ b;
    }
}

impl<A: Atomic<Value: Default>, S: Scope> Default for Scoped<A, S> {
    fn default() -> Self {
        Self::new(A::Value::default())
    }
}

impl<A: Atomic<Value: fmt::Debug>, S: Scope> fmt::Debug for Scoped<A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load(Ordering::Relaxed).fmt(f)
    }
}

/// [`core::sync::atomic::fence`] in a scope.
///
/// # Panics
/// If the order is relaxed.
#[inline(always)]
pub fn fence<S: Scope>(order: Ordering) {
    implementation::fence::<S>(order);
}

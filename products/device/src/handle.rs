//! Handles of objects, which a program gets as opaque pointers.

use std::{
    collections::BTreeMap,
    fmt::{self, Debug, Formatter},
    marker::PhantomData,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::error::{Done, Error};

/// The handle of an object of type `T`. A program passes it as a pointer.
#[repr(transparent)]
pub struct Handle<T>(pub usize, PhantomData<fn() -> T>);

impl<T> Handle<T> {
    pub const NULL: Self = Self::new(0);

    pub const fn new(number: usize) -> Self {
        Self(number, PhantomData)
    }

    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Handle<T> {}

impl<T> Debug for Handle<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The next handle of the process. No two objects ever have the same handle, so that a handle of a destroyed object is
/// recognized.
static NEXT: AtomicUsize = AtomicUsize::new(0x1_0000);

/// Objects by their handles.
pub struct Table<T>(BTreeMap<usize, T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Table<T> {
    pub fn insert(&mut self, object: T) -> Handle<T> {
        let number = NEXT.fetch_add(16, Relaxed);
        self.0.insert(number, object);
        Handle::new(number)
    }

    /// Inserts an object that has a fixed handle.
    pub fn insert_at(&mut self, handle: Handle<T>, object: T) {
        self.0.insert(handle.0, object);
    }

    pub fn get(&self, handle: Handle<T>) -> Done<&T> {
        self.0.get(&handle.0).ok_or(Error::InvalidHandle)
    }

    pub fn get_mut(&mut self, handle: Handle<T>) -> Done<&mut T> {
        self.0.get_mut(&handle.0).ok_or(Error::InvalidHandle)
    }

    pub fn remove(&mut self, handle: Handle<T>) -> Done<T> {
        self.0.remove(&handle.0).ok_or(Error::InvalidHandle)
    }

    pub fn handles(&self) -> impl Iterator<Item = Handle<T>> {
        self.0.keys().map(|number| Handle::new(*number))
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.values_mut()
    }

    pub fn find(&self, is_wanted: impl Fn(&T) -> bool) -> Option<Handle<T>> {
        self.0.iter().find(|(_, object)| is_wanted(object)).map(|(number, _)| Handle::new(*number))
    }

    pub fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.0.retain(|_, object| is_kept(object));
    }
}

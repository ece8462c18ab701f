//! Arenas and typed indices, after naga's: a graph owns its parts in vectors, and parts name each other by index.
//!
//! An [`Id`] of one type cannot index an [`Arena`] of another, and analyses live in side tables ([`IdMap`]) instead of widening the parts.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Index of a `T` in its arena.
pub struct Id<T> {
    index: u32,
    marker: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// The id with this index.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits: every arena is smaller, importers refuse larger files.
    pub fn from_index(index: usize) -> Self {
        Self {
            index: u32::try_from(index).expect("arenas hold fewer than 2^32 elements"),
            marker: PhantomData,
        }
    }

    /// The index.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Id<T> {}
impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}
impl<T> Eq for Id<T> {}
impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.index.cmp(&other.index)
    }
}
impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}
impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.index)
    }
}
impl<T> fmt::Display for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.index)
    }
}

/// Owner of `T`s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena<T> {
    items: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Arena<T> {
    /// An empty arena.
    pub const fn new() -> Self {
        Self { items: Vec::new() }
    }

    /// Adds an element and returns its id.
    pub fn push(&mut self, item: T) -> Id<T> {
        self.items.push(item);
        Id::from_index(self.items.len() - 1)
    }

    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator + use<T> {
        (0..self.items.len()).map(Id::from_index)
    }

    /// All elements with their ids, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Id<T>, &T)> + ExactSizeIterator {
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (Id::from_index(index), item))
    }

    /// The element, or `None` for an id of another arena.
    pub fn try_get(&self, id: Id<T>) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The elements in the order of their ids.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
}

impl<T> FromIterator<T> for Arena<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self {
            items: items.into_iter().collect(),
        }
    }
}

impl<T> Index<Id<T>> for Arena<T> {
    type Output = T;
    fn index(&self, id: Id<T>) -> &T {
        &self.items[id.index()]
    }
}

impl<T> IndexMut<Id<T>> for Arena<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.items[id.index()]
    }
}

/// One `V` for each `K` of an arena.
pub struct IdMap<K, V> {
    values: Vec<V>,
    marker: PhantomData<fn(K)>,
}

impl<K, V> IdMap<K, V> {
    /// A value for each element of `arena`, computed from its id.
    pub fn from_fn(arena: &Arena<K>, value: impl FnMut(Id<K>) -> V) -> Self {
        Self {
            values: arena.ids().map(value).collect(),
            marker: PhantomData,
        }
    }

    /// The same value for each element of `arena`.
    pub fn filled(arena: &Arena<K>, value: V) -> Self
    where
        V: Clone,
    {
        Self {
            values: vec![value; arena.len()],
            marker: PhantomData,
        }
    }

    /// All values with their ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Id<K>, &V)> {
        self.values
            .iter()
            .enumerate()
            .map(|(index, value)| (Id::from_index(index), value))
    }
}

impl<K, V: Clone> Clone for IdMap<K, V> {
    fn clone(&self) -> Self {
        Self {
            values: self.values.clone(),
            marker: PhantomData,
        }
    }
}

impl<K, V: fmt::Debug> fmt::Debug for IdMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K, V> Index<Id<K>> for IdMap<K, V> {
    type Output = V;
    fn index(&self, id: Id<K>) -> &V {
        &self.values[id.index()]
    }
}

impl<K, V> IndexMut<Id<K>> for IdMap<K, V> {
    fn index_mut(&mut self, id: Id<K>) -> &mut V {
        &mut self.values[id.index()]
    }
}

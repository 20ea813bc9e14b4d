//! A FIFO for what is nearly always short.

/// A FIFO with a place in it for an element that comes while it is empty: while it holds no more it touches no other memory.
#[derive(Clone, Debug)]
pub struct ShortQueue<T> {
    front: Option<T>,
    /// How many elements there are.
    len: u32,
    /// What stands behind the first, or all there is. Kept when it runs empty, for the next time.
    rest: Option<Box<Ring<T>>>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ShortQueue<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { front: None, len: 0, rest: None }
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What stands behind the place for the first, if anything does.
    #[inline]
    fn behind(&self) -> Option<&Ring<T>> {
        let any = self.len() > usize::from(self.front.is_some());
        self.rest.as_deref().filter(|_| any)
    }

    #[inline]
    fn behind_mut(&mut self) -> Option<&mut Ring<T>> {
        let any = self.len() > usize::from(self.front.is_some());
        self.rest.as_deref_mut().filter(|_| any)
    }

    /// The first element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.front.as_ref().or_else(|| self.behind()?.get(0))
    }

    /// The first element.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        if self.front.is_some() { self.front.as_mut() } else { self.behind_mut()?.get_mut(0) }
    }

    /// The last element.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        let behind = self.len() - usize::from(self.front.is_some());
        match behind.checked_sub(1) {
            None => self.front.as_mut(),
            Some(last) => self.rest.as_mut()?.get_mut(last),
        }
    }

    /// The element with that number, from 0.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(usize::from(self.front.is_some())) {
            None => self.front.as_ref(),
            Some(behind) => self.behind().filter(|_| index < self.len())?.get(behind),
        }
    }

    /// Appends an element; no more than 2^32 - 1 fit.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the element is made where it is to stand, not copied there")]
    pub fn push_back(&mut self, element: T) {
        if self.len == 0 {
            self.front = Some(element);
        } else {
            self.rest.get_or_insert_default().push_back(element);
        }
        self.len += 1;
    }

    /// Removes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let element = match self.front.take() {
            Some(front) => front,
            None => self.behind_mut()?.pop_front()?,
        };
        self.len -= 1;
        Some(element)
    }

    /// All elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.front.iter().chain(self.behind().into_iter().flat_map(Ring::iter))
    }

    /// All elements in order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.front.iter_mut().chain(self.rest.iter_mut().flat_map(|rest| rest.iter_mut()))
    }
}

/// A ring whose number of places is a power of two, so that a place is found by a mask.
#[derive(Clone, Debug)]
struct Ring<T> {
    /// Those from `head` on hold the elements, around the end; the others hold none.
    places: Box<[Option<T>]>,
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { places: Self::empty(4), head: 0, len: 0 }
    }
}

impl<T> Ring<T> {
    fn empty(places: usize) -> Box<[Option<T>]> {
        std::iter::repeat_with(|| None).take(places).collect()
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        self.head.wrapping_add(index) & self.places.len().wrapping_sub(1)
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        self.places.get(self.place(index))?.as_ref()
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index);
        self.places.get_mut(place)?.as_mut()
    }

    #[inline]
    fn push_back(&mut self, element: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        if let Some(place) = self.places.get_mut(place) {
            *place = Some(element);
            self.len += 1;
        }
    }

    #[inline]
    fn pop_front(&mut self) -> Option<T> {
        let element = self.places.get_mut(self.head)?.take()?;
        self.head = self.place(1);
        self.len -= 1;
        Some(element)
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = Self::empty(self.places.len() * 2);
        for place in &mut places {
            *place = self.pop_front();
        }
        let len = self.places.len();
        *self = Self { places, head: 0, len };
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (end, start) = self.places.split_at(self.head);
        start.iter().chain(end).flatten()
    }

    fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        let (end, start) = self.places.split_at_mut(self.head);
        start.iter_mut().chain(end).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_does_what_a_deque_does(pushes in prop::collection::vec(prop::bool::weighted(0.6), 0..200)) {
            let (mut queue, mut model) = (ShortQueue::new(), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    queue.push_back(number);
                    model.push_back(number);
                } else {
                    prop_assert_eq!(queue.pop_front(), model.pop_front());
                }
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(queue.front(), model.front());
                prop_assert_eq!(queue.front_mut(), model.front_mut());
                prop_assert_eq!(queue.back_mut(), model.back_mut());
                prop_assert!((0..=model.len()).all(|i| queue.get(i) == model.get(i)));
                prop_assert!(queue.iter().eq(&model) && queue.iter().rev().eq(model.iter().rev()));
                prop_assert!(queue.iter_mut().eq(&mut model));
            }
        }
    }
}

//! A FIFO for what is nearly always short.

/// A FIFO that keeps its first element in place: to look at that, or at all there is while it holds one, touches no other
/// memory.
#[derive(Clone, Debug)]
pub struct ShortQueue<T> {
    front: Option<T>,
    /// How many elements there are.
    len: u32,
    /// Where in `places` the second stands.
    head: u32,
    /// The places of those behind the first, around the end; the others hold none. A power of two of them, so that a place is
    /// found by a mask, or none yet. Kept when it runs empty, for the next time.
    places: Box<[Option<T>]>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ShortQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { front: None, len: 0, head: 0, places: Box::default() }
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

    /// The first element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.front.as_ref()
    }

    /// The first element.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.front.as_mut()
    }

    /// The last element.
    #[inline]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        match self.len {
            0 | 1 => self.front.as_mut(),
            len => {
                let place = self.place(len - 2);
                self.places.get_mut(place)?.as_mut()
            }
        }
    }

    /// The element with that number, from 0.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match u32::try_from(index).ok()?.checked_sub(1) {
            None => self.front.as_ref(),
            Some(behind) if behind + 1 < self.len => self.places.get(self.place(behind))?.as_ref(),
            Some(_) => None,
        }
    }

    /// Appends an element; no more than 2^32 - 1 fit.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the element is made where it is to stand, not copied there")]
    pub fn push_back(&mut self, element: T) {
        if self.len == 0 {
            self.front = Some(element);
        } else {
            if self.len as usize > self.places.len() {
                self.grow();
            }
            let place = self.place(self.len - 1);
            if let Some(place) = self.places.get_mut(place) {
                *place = Some(element);
            }
        }
        self.len += 1;
    }

    /// Removes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let element = self.front.take()?;
        self.len -= 1;
        if self.len > 0 {
            self.front = self.pop_behind();
        }
        Some(element)
    }

    /// All elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let (end, start) = self.places.split_at(self.head as usize);
        self.front.iter().chain(start.iter().chain(end).flatten())
    }

    /// All elements in order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        let (end, start) = self.places.split_at_mut(self.head as usize);
        self.front.iter_mut().chain(start.iter_mut().chain(end).flatten())
    }

    /// Where the element stands that has that number among those behind the first.
    #[inline]
    fn place(&self, behind: u32) -> usize {
        self.head.wrapping_add(behind) as usize & self.places.len().wrapping_sub(1)
    }

    /// Removes the first of those behind the first.
    #[inline]
    fn pop_behind(&mut self) -> Option<T> {
        let element = self.places.get_mut(self.head as usize)?.take();
        self.head = self.place(1) as u32;
        element
    }

    /// All places behind the first are taken.
    #[cold]
    fn grow(&mut self) {
        let before = self.places.len();
        let mut places: Box<[_]> = std::iter::repeat_with(|| None).take((2 * before).max(4)).collect();
        for place in places.iter_mut().take(before) {
            *place = self.pop_behind();
        }
        (self.places, self.head) = (places, 0);
    }

    /// Adds an element; beyond `most` the first is dropped.
    pub fn push_within(&mut self, most: usize, element: T) {
        if self.len() >= most {
            self.pop_front();
        }
        self.push_back(element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn a_bounded_one_keeps_the_last() {
        let mut queue = ShortQueue::new();
        (0..5).for_each(|number| queue.push_within(3, number));
        assert!(queue.iter().eq(&[2, 3, 4]));
    }

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

//! A FIFO for what is nearly always short.

use std::collections::VecDeque;

/// A FIFO whose first element stands in place: one that holds no more than that touches no other memory, and takes none.
#[derive(Clone, Debug)]
pub struct ShortQueue<T> {
    front: Option<T>,
    /// What stands behind it. Empty where there is no first element; kept when it runs empty, for the next time.
    #[expect(
        clippy::box_collection,
        reason = "a pointer in place of the four words that short queues do not use"
    )]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for ShortQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ShortQueue<T> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { front: None, rest: None }
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.front.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.front.is_none()
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
        match self.rest.as_mut().and_then(|rest| rest.back_mut()) {
            Some(last) => Some(last),
            None => self.front.as_mut(),
        }
    }

    /// The element with that number, from 0.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(1) {
            None => self.front.as_ref(),
            Some(index) => self.rest.as_ref()?.get(index),
        }
    }

    /// Appends an element.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.front.is_none() {
            self.front = Some(element);
        } else {
            self.rest.get_or_insert_default().push_back(element);
        }
    }

    /// Removes the first element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let next = self.rest.as_mut().and_then(|rest| rest.pop_front());
        std::mem::replace(&mut self.front, next)
    }

    /// All elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.front.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }

    /// All elements in order.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.front.iter_mut().chain(self.rest.iter_mut().flat_map(|rest| rest.iter_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

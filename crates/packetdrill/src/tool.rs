//! The tool's threads, and how virtual time passes between them.
//!
//! The tool runs a script in one thread and the calls that the script says block in another. The first lets time pass: it sleeps, or
//! waits for a packet. Whenever something has happened, it waits until the other thread has seen it: until that sleeps again, or has
//! returned and asked for the time, which it does at once. So no call returns later than it would.
#![forbid(unsafe_code)]

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::ThreadId;

use handfast_core::{Duration, Instant};

use crate::stack::{Errno, Fd, Stack, Step};

/// How far time jumps while the tool waits for a packet, or a call for something to happen: beyond it nothing comes.
const HORIZON: Duration = Duration::from_secs(200);

/// How often the tool may ask for the time, and for nothing else, before time passes by that: it spins for the last microseconds.
const PATIENCE: u32 = 4;
const SPIN: Duration = Duration::from_micros(1);

/// Real time that the other thread has to see what happened: far more than it takes, in case it is gone.
const SETTLING: std::time::Duration = std::time::Duration::from_secs(5);

/// What the thread of blocking calls does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    /// Nothing here.
    Idle,
    /// It sleeps, and has seen all up to this epoch.
    Asleep(u64),
    /// Its call has returned; it is about to ask for the time.
    Returning,
}

struct World {
    stack: Stack,
    other: Other,
    /// Grows whenever something has happened.
    epoch: u64,
    /// How often the time was asked for in a row.
    asked: u32,
}

/// The stack, shared between the threads of the tool.
pub(crate) struct Tool {
    world: Mutex<World>,
    changed: Condvar,
    main: ThreadId,
}

impl Tool {
    /// To be made in the thread that runs the script.
    pub(crate) fn new(stack: Stack) -> Self {
        Self {
            world: Mutex::new(World { stack, other: Other::Idle, epoch: 0, asked: 0 }),
            changed: Condvar::new(),
            main: std::thread::current().id(),
        }
    }

    fn is_main(&self) -> bool {
        std::thread::current().id() == self.main
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        world.asked = 0;
        world
    }

    /// A call that never blocks.
    pub(crate) fn call<T>(&self, call: impl FnOnce(&mut Stack) -> T) -> T {
        let mut world = self.lock();
        let answer = call(&mut world.stack);
        self.leave(world);
        answer
    }

    /// A call that may block. In the script's own thread time passes until it returns.
    pub(crate) fn wait<T>(&self, mut call: impl FnMut(&mut Stack) -> Step<T>) -> Result<T, Errno> {
        let mut world = self.lock();
        let limit = world.stack.now() + HORIZON;
        loop {
            if let Poll::Ready(answer) = call(&mut world.stack) {
                self.leave(world);
                return answer;
            }
            if !self.is_main() {
                world.other = Other::Asleep(world.epoch);
                self.changed.notify_all();
                world = self.changed.wait(world).unwrap_or_else(PoisonError::into_inner);
            } else if let Some(passed) = self.step(world, limit) {
                world = passed;
            } else {
                // A kernel would block for ever.
                return Err(Errno(libc::EDEADLK));
            }
        }
    }

    /// A call of this thread ends.
    fn leave(&self, mut world: MutexGuard<'_, World>) {
        if self.is_main() {
            drop(self.settle(world));
        } else {
            world.other = Other::Returning;
            self.changed.notify_all();
        }
    }

    /// Waits until the other thread has seen what happened.
    fn settle<'a>(&self, mut world: MutexGuard<'a, World>) -> MutexGuard<'a, World> {
        world.epoch += 1;
        let epoch = world.epoch;
        self.changed.notify_all();
        let waits =
            |world: &mut World| !matches!(world.other, Other::Idle) && world.other != Other::Asleep(epoch);
        let settled = self.changed.wait_timeout_while(world, SETTLING, waits);
        settled.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Time passes to the next deadline; [`None`]: there is none up to `limit`.
    fn step<'a>(&self, mut world: MutexGuard<'a, World>, limit: Instant) -> Option<MutexGuard<'a, World>> {
        let at = world.stack.deadline().filter(|&at| at <= limit)?;
        world.stack.advance(at);
        Some(self.settle(world))
    }

    fn pass<'a>(&'a self, mut world: MutexGuard<'a, World>, to: Instant) -> MutexGuard<'a, World> {
        while world.stack.deadline().is_some_and(|at| at <= to) {
            match self.step(world, to) {
                Some(passed) => world = passed,
                None => return self.lock(),
            }
        }
        world.stack.advance(to);
        world
    }

    /// The script sleeps.
    pub(crate) fn sleep(&self, time: Duration) {
        let world = self.lock();
        let to = world.stack.now() + time;
        drop(self.pass(world, to));
    }

    /// The time. Who asks for nothing else waits for it to pass: the script's thread, or the other one before the call that it makes.
    pub(crate) fn time(&self) -> Instant {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_main() && world.other == Other::Returning {
            world.other = Other::Idle;
            self.changed.notify_all();
            return world.stack.now();
        }
        world.asked += 1;
        if world.asked > PATIENCE {
            let (asked, to) = (world.asked, world.stack.now() + SPIN);
            world = self.pass(world, to);
            world.asked = asked;
        }
        world.stack.now()
    }

    /// The next packet that leaves, and when; time passes until one does. [`None`]: none will.
    pub(crate) fn receive(&self) -> Option<(Instant, Vec<u8>)> {
        let mut world = self.lock();
        let limit = world.stack.now() + HORIZON;
        loop {
            if let Some(departure) = world.stack.departure() {
                return Some(departure);
            }
            world = self.step(world, limit)?;
        }
    }

    /// Whether a descriptor is one of the stack's.
    pub(crate) fn knows(&self, fd: Fd) -> bool {
        self.world.lock().unwrap_or_else(PoisonError::into_inner).stack.knows(fd)
    }
}

//! A log that never stops the daemon: a thread of its own writes, lines that find no room are dropped and counted.
//!
//! `tracing-appender` has the same shape. It prints to standard output, and so panics where that is full, when its queue is
//! full at the end.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that wait for whoever reads.
const MOST_LINES: usize = 4096;
/// How long the end waits for whoever reads.
const FAREWELL: Duration = Duration::from_millis(500);

enum Message {
    Line(Vec<u8>),
    /// Answered when all before it is written.
    Flush(SyncSender<()>),
}

/// Takes lines, each in one write.
#[derive(Clone)]
pub(super) struct Writer {
    to: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    /// Writes to `target` from here on. `left_out`: the line that says how many were dropped.
    pub(super) fn new(target: impl Write + Send + 'static, left_out: fn(u64) -> String) -> Self {
        let (to, from) = sync_channel(MOST_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&dropped);
        // Without a thread nothing is logged, and every line is counted as dropped.
        let _ = thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write(&from, target, &count, left_out));
        Self { to, dropped }
    }

    /// Lines that were dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all is written, but not for long.
    pub(super) fn flush_for_a_while(&self) {
        let (done, wait) = sync_channel(1);
        if self.to.try_send(Message::Flush(done)).is_ok() {
            // After that the rest is lost: nobody reads.
            let _ = wait.recv_timeout(FAREWELL);
        }
    }
}

impl Write for Writer {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.to.try_send(Message::Line(line.to_vec()))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(from: &Receiver<Message>, mut target: impl Write, dropped: &AtomicU64, left_out: fn(u64) -> String) {
    let mut told = 0;
    while let Ok(message) = from.recv() {
        match message {
            // A full disk, a reader that is gone: there is nobody to tell.
            Message::Line(line) => drop(target.write_all(&line)),
            Message::Flush(done) => drop(done.try_send(())),
        }
        let now = dropped.load(Ordering::Relaxed);
        if now > told {
            let _ = target.write_all(left_out(now - told).as_bytes());
            told = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};

    /// Whether somebody reads, and what was read.
    type State = Mutex<(bool, Vec<u8>)>;

    #[derive(Clone, Default)]
    struct Reader(Arc<(State, Condvar)>);

    impl Reader {
        fn read(&self) {
            self.0.0.lock().unwrap().0 = true;
            self.0.1.notify_all();
        }
        fn text(&self) -> String {
            String::from_utf8(self.0.0.lock().unwrap().1.clone()).unwrap()
        }
    }

    /// Takes nothing until somebody reads.
    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut state = self.0.1.wait_while(self.0.0.lock().unwrap(), |(reads, _)| !*reads).unwrap();
            state.1.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stops_blocks_nothing_and_is_told_how_much_it_missed() {
        let reader = Reader::default();
        let mut writer = Writer::new(reader.clone(), |count| format!("{count} left out\n"));
        for line in 0..MOST_LINES + 100 {
            writer.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        let dropped = writer.dropped();
        // One or two are with the thread that writes.
        assert!((97..=100).contains(&dropped), "{dropped}");
        writer.flush_for_a_while();
        reader.read();
        while !reader.text().contains(" left out\n") {
            thread::yield_now();
        }
        assert!(reader.text().starts_with(&format!("0\n{dropped} left out\n1\n2\n")));
    }

    #[test]
    fn a_target_that_fails_ends_nothing() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = Writer::new(Full, |_| String::new());
        for _ in 0..10 {
            writer.write_all(b"line\n").unwrap();
        }
        writer.flush_for_a_while();
        assert_eq!(writer.dropped(), 0);
    }
}

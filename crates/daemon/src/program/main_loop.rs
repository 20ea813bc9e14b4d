//! The main loop: one service on one thread.

use handfast_core::Duration;
use handfast_io::{Clock, EventLoop, ReadOutcome};
use tracing::info;

use super::signals::{Request, Signals};
use crate::process::{Context, Failure};
use crate::services::Running;

/// What a service has for its end.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// Runs a service until SIGTERM or SIGINT, or until it is over.
pub(super) fn run(
    service: &mut dyn Running,
    io: &mut EventLoop,
    signals: &mut Signals,
) -> Result<(), Failure> {
    loop {
        service.on_timer(io, Clock::SYSTEM.now());
        service.flush(io);
        if service.is_over() {
            info!("stopped: it is over");
            return Ok(());
        }
        io.wait(service.deadline()).context(|| "epoll".to_owned())?;
        // Once from each: none can keep the others waiting.
        for id in io.take_readable() {
            if id != signals.id() {
                if service.on_readable(io, id) == ReadOutcome::Some {
                    io.read_again(id);
                }
                continue;
            }
            match signals.request() {
                Request::Stop(signal) if !service.ends_at(signal) => {}
                Request::Stop(signal) => {
                    info!(signal, "told to stop");
                    let done = service.stop(io, Clock::SYSTEM.now() + STOP_WITHIN);
                    info!("stopped");
                    return done;
                }
                Request::Reload => service.reload(),
                Request::Nothing => {}
            }
        }
    }
}

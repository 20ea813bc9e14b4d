//! What only a kernel can show. Needs root and network namespaces; says so and passes where it has neither.
#![cfg(target_os = "linux")]

mod bench;
mod capacity;
mod forwarding;
mod frame_io;
mod packet_loop;
mod packet_socket;
mod relay;
mod spaces;
mod traces;
mod wire_endpoint;

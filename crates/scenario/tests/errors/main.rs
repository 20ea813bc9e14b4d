//! What users see when a file is wrong: a page of messages for each table of the file, in `snapshots/`.

mod agents;
mod events;
mod file;
mod flows;
mod generate;
mod links;
mod nodes;
mod overrides;
mod radio;
mod schemes;
mod support;

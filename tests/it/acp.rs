//! `countersign acp` as a client sees it: the real program over real pipes, with the rehearsal server as the model.

mod account;
mod buffers;
mod client;
mod hostile;
mod permission;
mod sessions;
mod turn;

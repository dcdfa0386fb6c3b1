//! The agent over its real parts: the real program, real commands in their sandbox, the rehearsal model over HTTP, and a
//! client that holds the server to its word.

mod always;
mod approval;
mod context;
mod diff;
mod grants;
mod injected;
mod instructions;
mod interrupt;
mod mcp;
mod mentions;
mod notifier;
mod patch;
mod permissions;
mod person;
mod play;
mod plays;
mod profiles;
mod prompts;
mod proposals;
mod queue;
mod retry;
mod review;
mod reviewer;
mod stage;
mod steer;
mod stored;
mod terminals;
mod thread;
mod tools;
mod turn;
mod typed;
mod undo;
mod weaker;

//! Where there are no terminals: none can be started, so none is ever there.

use super::{Exit, Size, Taken, TerminalError};
use crate::exec::{CommandRequest, ExecError};

#[derive(Clone)]
pub enum Terminal {}

pub enum Watcher {}

impl Terminal {
    pub async fn start(_request: CommandRequest, _size: Option<Size>) -> Result<Self, ExecError> {
        Err(ExecError::NoTerminal {
            reason: "commands that outlive their call are not to be had on this system, so far".to_owned(),
        })
    }

    pub fn has_tty(&self) -> bool {
        match *self {}
    }

    pub async fn write(&self, _bytes: &[u8]) -> Result<(), TerminalError> {
        match *self {}
    }

    pub fn resize(&self, _size: Size) -> Result<(), TerminalError> {
        match *self {}
    }

    pub fn take(&self) -> Taken {
        match *self {}
    }

    pub fn take_live(&self) -> String {
        match *self {}
    }

    pub fn whole(&self) -> Taken {
        match *self {}
    }

    pub fn exit(&self) -> Option<Exit> {
        match *self {}
    }

    pub fn watcher(&self) -> Watcher {
        match *self {}
    }

    pub async fn exited(&self) {
        match *self {}
    }

    pub fn ask_to_end(&self) {
        match *self {}
    }

    pub async fn end(&self) {
        match *self {}
    }
}

impl Watcher {
    pub async fn changed(&self) {
        match *self {}
    }

    pub fn has_exited(&self) -> bool {
        match *self {}
    }
}

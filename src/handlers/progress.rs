//! `window/workDoneProgress/cancel`: the person pressed Cancel.

use crate::handlers::{command, one_off};
use crate::server::session::Session;
use lsp_types::{NumberOrString, WorkDoneProgressCancelParams};

pub fn cancelled(session: &Session, params: &WorkDoneProgressCancelParams) {
    one_off::progress_cancelled(session, &params.token);
    if let NumberOrString::String(token) = &params.token {
        command::account::progress_cancelled(session, token);
        session.presenter().cancel_progress(token);
    }
}

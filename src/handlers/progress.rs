//! `window/workDoneProgress/cancel`: the person pressed Cancel.

use crate::server::session::Session;
use lsp_types::{NumberOrString, WorkDoneProgressCancelParams};

pub fn cancelled(session: &Session, params: &WorkDoneProgressCancelParams) {
    if let NumberOrString::String(token) = &params.token {
        session.presenter().cancel_progress(token);
    }
}

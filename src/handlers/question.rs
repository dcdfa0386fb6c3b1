//! `countersign/userInput/respond`.

use crate::protocol::question::{UserInputRespondParams, UserInputRespondResult};
use crate::server::session::Session;

pub fn respond(session: &Session, params: UserInputRespondParams) -> UserInputRespondResult {
    let questions = &session.agent().services().questions;
    UserInputRespondResult {
        taken: questions.answer(&params.id, params.response),
    }
}

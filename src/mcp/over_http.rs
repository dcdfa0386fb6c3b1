//! The way to a server by HTTP, with what the library leaves open: an error that names no request is the answer to the one that was sent,
//! and a server that has forgotten the session gets a new one, however it says so.
//!
//! A server that was started again should answer 404 (MCP, "Session Management"); many answer 400 with words, some of them as an error of
//! JSON-RPC without an id, which nobody waits for.

use axum::http::{HeaderName, HeaderValue};
use futures::stream::BoxStream;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;

type Answer<E> = Result<StreamableHttpPostResponse, StreamableHttpError<E>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The client of one connection, over the library's own.
#[derive(Clone)]
pub(super) struct HttpClient<C>(pub(super) C);

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for HttpClient<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Answer<C::Error> {
        let (request, has_session) = (request_of(&message), session_id.is_some());
        let client = &self.0;
        let answer = client.post_message(uri, message, session_id, auth_header, custom_headers);
        read(answer.await, request, has_session)
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        most: usize,
    ) -> Answer<C::Error> {
        let (request, has_session) = (request_of(&message), session_id.is_some());
        let client = &self.0;
        let answer =
            client.post_message_with_max_sse_event_size(uri, message, session_id, auth_header, custom_headers, most);
        read(answer.await, request, has_session)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), StreamableHttpError<C::Error>> {
        self.0
            .delete_session(uri, session_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<C::Error>> {
        let client = &self.0;
        client
            .get_stream(uri, session_id, last_event_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        most: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<C::Error>> {
        let client = &self.0;
        client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, auth_header, custom_headers, most)
            .await
    }
}

fn request_of(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// What the answer to a message comes to. `request`: its id, if it wants one.
fn read<E: std::error::Error + Send + Sync + 'static>(
    answer: Answer<E>,
    request: Option<RequestId>,
    has_session: bool,
) -> Answer<E> {
    match answer {
        Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut error), session)) if error.id.is_none() => {
            if has_session && is_of_session(&error.error.message) {
                return Err(StreamableHttpError::SessionExpired);
            }
            error.id = request;
            Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session))
        }
        // Of refusals of the client (4xx) the library keeps the words.
        Err(StreamableHttpError::UnexpectedServerResponse(words))
            if has_session && words.starts_with("HTTP 4") && is_of_session(&words) =>
        {
            Err(StreamableHttpError::SessionExpired)
        }
        other => other,
    }
}

/// Whether words say that there is no such session.
fn is_of_session(words: &str) -> bool {
    let words = words.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    words.contains("session")
        && says(&[
            "no valid",
            "invalid",
            "not found",
            "unknown",
            "expired",
            "missing",
            "not initialized",
            "no such",
            "does not exist",
            "terminated",
            "required",
        ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{ErrorCode, ErrorData, JsonRpcError};

    fn error(id: Option<i64>, message: &str) -> Answer<std::io::Error> {
        let data = ErrorData::new(ErrorCode(-32000), message.to_owned(), None);
        let error = JsonRpcError::new(id.map(RequestId::Number), data);
        Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), None))
    }

    fn plain(words: &str) -> Answer<std::io::Error> {
        Err(StreamableHttpError::UnexpectedServerResponse(words.to_owned().into()))
    }

    #[test]
    fn a_lost_session_is_known_by_its_words_and_other_errors_belong_to_the_request() {
        let request = || Some(RequestId::Number(7));
        for lost in [
            error(None, "Bad Request: No valid session ID provided"),
            error(None, "Session not found"),
            plain("HTTP 400 Bad Request: Invalid session ID"),
            plain("HTTP 410 Gone: the session has expired"),
        ] {
            assert!(matches!(
                read(lost, request(), true),
                Err(StreamableHttpError::SessionExpired)
            ));
        }
        // Without a session there is none to be lost.
        let greeting = read(error(None, "No valid session ID provided"), request(), false);
        let id_of = |answer: Answer<std::io::Error>| match answer {
            Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), _)) => error.id,
            other => panic!("{other:?}"),
        };
        assert_eq!(id_of(greeting), request());
        assert_eq!(id_of(read(error(None, "No such tool"), request(), true)), request());
        // One that names a request is that request's, whatever it says.
        assert_eq!(
            id_of(read(error(Some(3), "unknown session"), request(), true)),
            Some(RequestId::Number(3))
        );
        assert!(matches!(
            read(plain("HTTP 400 Bad Request: no session type given"), request(), true),
            Err(StreamableHttpError::UnexpectedServerResponse(_))
        ));
    }
}

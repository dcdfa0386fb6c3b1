//! A transport that hears of progress in the order in which it comes: what a server says before its answer is known before
//! the answer is.

use super::caller::{Callers, Progress};
use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;

pub(super) struct Listening<T> {
    transport: T,
    callers: Arc<Callers>,
}

impl<T> Listening<T> {
    pub(super) fn new(transport: T, callers: Arc<Callers>) -> Self {
        Self { transport, callers }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Listening<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        if let JsonRpcMessage::Notification(notification) = &message
            && let ServerNotification::ProgressNotification(heard) = &notification.notification
        {
            let params = &heard.params;
            let progress = Progress {
                progress: params.progress,
                total: params.total,
                message: params.message.clone(),
            };
            self.callers.progress(params.progress_token.clone(), progress);
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

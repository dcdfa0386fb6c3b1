//! The language server: what it can do and what it answers, side by side. The rest of this room is the wiring:
//! transport, life cycle, everything that is sent.

pub(crate) mod call;
pub mod chats;
pub(crate) mod dispatch;
mod door;
pub mod editor;
pub mod editor_settings;
pub(crate) mod frame;
pub mod idle;
pub mod line;
pub mod log;
mod log_trace;
pub(crate) mod message;
pub mod notices;
pub mod one_offs;
pub mod outbound;
pub(crate) mod parent;
pub mod presenter;
pub mod run;
pub mod session;
pub mod stop;
pub mod subscriptions;
pub mod trace;
pub mod transport;
pub mod wire;

pub use call::after_reply;

use crate::handlers::{
    Context, account, approval, chat, code_action, code_lens, command, config, document, feedback, file, git, guardian,
    history, lifecycle, mcp, model, one_off, permission, progress, prompt, proposal, question, queue, realtime, review,
    sandbox, settings_file, terminal, thread, turn, undo,
};
use crate::lsp::client::Registers;
use crate::lsp::error::RequestError;
use crate::protocol::account::{
    AccountLoginCancelParams, AccountLoginCancelResult, AccountLoginStartParams, AccountLoginStartResult,
    AccountLogoutParams, AccountLogoutResult, AccountRateLimitsReadParams, AccountRateLimitsReadResult,
    AccountReadParams, AccountReadResult, AccountSetupParams, AccountSetupResult, AccountStatusParams,
    AccountStatusResult,
};
use crate::protocol::agent::{ThreadSendParams, ThreadSendResult};
use crate::protocol::approval::{ApprovalRespondParams, ApprovalRespondResult};
use crate::protocol::command::{
    CommandExecParams, CommandExecResult, CommandTerminateParams, CommandTerminateResult, ThreadShellCommandParams,
    ThreadShellCommandResult,
};
use crate::protocol::config::{
    ConfigReadParams, ConfigReadResult, ConfigReloadParams, ConfigReloadResult, ConfigWriteParams, ConfigWriteResult,
};
use crate::protocol::context::{ThreadContextParams, ThreadContextResult};
use crate::protocol::feedback::{
    FeedbackPreviewParams, FeedbackPreviewResult, FeedbackSaveParams, FeedbackSaveResult, FeedbackUploadParams,
    FeedbackUploadResult,
};
use crate::protocol::file::{FileReadableParams, FileReadableResult, FileSearchParams, FileSearchResult};
use crate::protocol::git::{GitDiffToRemoteParams, GitDiffToRemoteResult};
use crate::protocol::guardian::{GuardianApproveDeniedParams, GuardianApproveDeniedResult};
use crate::protocol::history::{
    HistoryAppendParams, HistoryAppendResult, HistoryListParams, HistoryListResult, HistoryReadParams,
    HistoryReadResult,
};
use crate::protocol::mcp::{
    McpElicitationRespondParams, McpElicitationRespondResult, McpListParams, McpListResult, McpLoginParams,
    McpLoginResult, McpLogoutParams, McpLogoutResult, McpRefreshParams, McpRefreshResult, McpResourceListParams,
    McpResourceListResult, McpResourceReadParams, McpResourceReadResult,
};
use crate::protocol::method;
use crate::protocol::model::{ModelListParams, ModelListResult, ModelSetDefaultParams, ModelSetDefaultResult};
use crate::protocol::permission::{PermissionProfilesParams, PermissionProfilesResult};
use crate::protocol::prompt::{PromptListParams, PromptListResult};
use crate::protocol::proposal::{
    ProposalDecideParams, ProposalDecideResult, ProposalEditParams, ProposalEditResult, ProposalListParams,
    ProposalListResult, ProposalReadParams, ProposalReadResult,
};
use crate::protocol::question::{UserInputRespondParams, UserInputRespondResult};
use crate::protocol::queue::{
    TurnQueueAddParams, TurnQueueAddResult, TurnQueueEditParams, TurnQueueListParams, TurnQueueRemoveParams,
    TurnQueueReorderParams, TurnQueueResult, TurnQueueResumeParams,
};
use crate::protocol::realtime::{
    RealtimeAudioParams, RealtimeAudioResult, RealtimeCloseParams, RealtimeCloseResult, RealtimeStartParams,
    RealtimeStartResult, RealtimeTextParams, RealtimeTextResult, RealtimeVoicesParams, RealtimeVoicesResult,
};
use crate::protocol::review::{
    ReviewDismissParams, ReviewDismissResult, ReviewFindingsParams, ReviewFindingsResult, ReviewStartParams,
    ReviewStartResult,
};
use crate::protocol::sandbox::{SandboxStatusParams, SandboxStatusResult};
use crate::protocol::terminal::{
    TerminalKillParams, TerminalKillResult, TerminalListParams, TerminalListResult, TerminalReadParams,
    TerminalReadResult, TerminalResizeParams, TerminalResizeResult, TerminalWriteParams, TerminalWriteResult,
};
use crate::protocol::thread::*;
use crate::protocol::turn::{
    TurnInterruptParams, TurnInterruptResult, TurnRetryNowParams, TurnRetryNowResult, TurnStartParams, TurnStartResult,
    TurnSteerParams, TurnSteerResult,
};
use crate::protocol::undo::{TurnDiffParams, TurnDiffResult, TurnUndoParams, TurnUndoResult};
use crate::tools::mcp_resources::Kind;
use lsp_types::*;
use serde_json::{Value, json};
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::{ClientSocket, LanguageServer, LspService};

pub const NAME: &str = "countersign";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Rises when the custom protocol changes in a way that older plugins cannot follow.
pub const PROTOCOL_VERSION: u32 = 1;

/// What `initialize` announces. What is for chat documents and files of configuration only is announced only to clients
/// that cannot be told so: it is registered with the others.
pub(crate) fn capabilities(position_encoding: PositionEncodingKind, registers: &Registers) -> ServerCapabilities {
    let everywhere = |method: &str| !registers.has(method);
    ServerCapabilities {
        completion_provider: everywhere("textDocument/completion").then(chat_completion),
        hover_provider: everywhere("textDocument/hover").then_some(HoverProviderCapability::Simple(true)),
        folding_range_provider: everywhere("textDocument/foldingRange")
            .then_some(FoldingRangeProviderCapability::Simple(true)),
        document_symbol_provider: everywhere("textDocument/documentSymbol").then_some(OneOf::Left(true)),
        document_link_provider: everywhere("textDocument/documentLink").then(|| DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        position_encoding: Some(position_encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                include_text: Some(false),
            })),
            ..Default::default()
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            // No kinds: none of ours is for whoever asks for kinds.
            code_action_kinds: None,
            // Actions are commands: nothing is left to resolve, so no editor waits for a model.
            resolve_provider: Some(false),
            ..Default::default()
        })),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: command::names(),
            ..Default::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            // Proposals follow their files.
            file_operations: Some(WorkspaceFileOperationsServerCapabilities {
                did_rename: Some(FileOperationRegistrationOptions {
                    filters: vec![FileOperationFilter {
                        scheme: Some("file".to_owned()),
                        pattern: FileOperationPattern {
                            glob: "**/*".to_owned(),
                            matches: None,
                            options: None,
                        },
                    }],
                }),
                ..Default::default()
            }),
        }),
        experimental: Some(json!({ "countersign": { "version": PROTOCOL_VERSION } })),
        ..Default::default()
    }
}

/// Completion in chat documents.
pub(crate) fn chat_completion() -> CompletionOptions {
    CompletionOptions {
        trigger_characters: Some(chat::complete::TRIGGERS.map(str::to_owned).to_vec()),
        resolve_provider: Some(false),
        ..CompletionOptions::default()
    }
}

/// The method table. `initialize`, `exit` and `$/cancelRequest` have their rules in the transport.
#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        Ok(lifecycle::initialize(&self.0, params)?)
    }

    async fn initialized(&self, _: InitializedParams) {
        self.note(lifecycle::initialized);
    }

    async fn shutdown(&self) -> Result<()> {
        lifecycle::shutdown(&self.0).await;
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.note(|context| document::opened(context, params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.note(|context| document::changed(context, params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.note(|context| document::saved(context, params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.note(|context| document::closed(context, params));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.note(|context| lifecycle::folders_changed(context, params));
    }

    async fn did_rename_files(&self, params: RenameFilesParams) {
        self.note(|context| {
            if let Ok(session) = context.session() {
                proposal::renamed(session, &params);
                review::renamed(session, &params);
            }
        });
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let session = self.0.session()?;
        session.idle().typed();
        Ok(Some(code_action::actions(session, params).await))
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        Ok(Some(code_lens::lenses(self.0.session()?, params).await))
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let session = self.0.session()?;
        let at = params.text_document_position;
        let uri = at.text_document.uri.as_str();
        let list = match chat::offers::chat(session, uri) {
            Some(document) => chat::complete::complete(session, &document, at.position).await,
            None => match settings_file::settings(session, uri) {
                Some((document, role)) => settings_file::complete(session, document, role, at.position).await,
                None => return Ok(None),
            },
        };
        Ok(Some(CompletionResponse::List(list)))
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let session = self.0.session()?.clone();
        let at = params.text_document_position_params;
        let uri = at.text_document.uri.as_str();
        if let Some(document) = chat::offers::chat(&session, uri) {
            // Looks at the disk.
            let look = move || chat::hover::hover(&session, &document, at.position);
            return Ok(tokio::task::spawn_blocking(look).await.ok().flatten());
        }
        match settings_file::settings(&session, uri) {
            Some((document, role)) => Ok(settings_file::hover(&session, document, role, at.position).await),
            None => Ok(None),
        }
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        let Some(document) = chat::offers::chat(self.0.session()?, params.text_document.uri.as_str()) else {
            return Ok(None);
        };
        // A document may be long.
        let folds = tokio::task::spawn_blocking(move || chat::shape::folds(&document)).await;
        Ok(folds.ok())
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        let session = self.0.session()?;
        let Some(document) = chat::offers::chat(session, params.text_document.uri.as_str()) else {
            return Ok(None);
        };
        // A document may be long.
        let encoding = session.workspace().encoding();
        let symbols = tokio::task::spawn_blocking(move || chat::shape::symbols(&document, encoding)).await;
        Ok(symbols.ok().map(DocumentSymbolResponse::Nested))
    }

    async fn document_link(&self, params: DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
        let session = self.0.session()?.clone();
        let Some(document) = chat::offers::chat(&session, params.text_document.uri.as_str()) else {
            return Ok(None);
        };
        // Looks at the disk.
        let links = tokio::task::spawn_blocking(move || chat::shape::links(&session, &document)).await;
        Ok(links.ok())
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let session = self.0.session()?;
        if params.command == command::EXEC {
            return Ok(one_off::execute(session, params).await?);
        }
        Ok(command::carry_out(session, params).await?)
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.note(|context| lifecycle::watched_files_changed(context, &params));
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.note(|context| lifecycle::configuration_changed(context, params));
    }
}

impl Server {
    async fn work_done_progress_cancel(&self, params: WorkDoneProgressCancelParams) {
        self.note(|context| {
            if let Ok(session) = context.session() {
                progress::cancelled(session, &params);
            }
        });
    }

    async fn thread_start(&self, params: ThreadStartParams) -> Result<ThreadStartResult> {
        Ok(thread::start(self.0.session()?, params).await?)
    }

    async fn thread_resume(&self, params: ThreadResumeParams) -> Result<ThreadStartResult> {
        Ok(thread::resume(self.0.session()?, params).await?)
    }

    async fn thread_list(&self, params: ThreadListParams) -> Result<ThreadListResult> {
        Ok(thread::list(self.0.session()?, params).await?)
    }

    async fn thread_read(&self, params: ThreadReadParams) -> Result<ThreadReadResult> {
        Ok(thread::read(self.0.session()?, params).await?)
    }

    async fn thread_context(&self, params: ThreadContextParams) -> Result<ThreadContextResult> {
        Ok(thread::context(self.0.session()?, params).await?)
    }

    async fn thread_compact(&self, params: ThreadCompactParams) -> Result<ThreadCompactResult> {
        Ok(thread::compact(self.0.session()?, params).await?)
    }

    async fn thread_fork(&self, params: ThreadForkParams) -> Result<ThreadStartResult> {
        Ok(thread::fork(self.0.session()?, params).await?)
    }

    async fn thread_rollback(&self, params: ThreadRollbackParams) -> Result<ThreadRollbackResult> {
        Ok(thread::rollback(self.0.session()?, params).await?)
    }

    async fn thread_archive(&self, params: ThreadArchiveParams) -> Result<ThreadArchiveResult> {
        Ok(thread::archive(self.0.session()?, params).await?)
    }

    async fn thread_unarchive(&self, params: ThreadUnarchiveParams) -> Result<ThreadUnarchiveResult> {
        Ok(thread::unarchive(self.0.session()?, params).await?)
    }

    async fn thread_delete(&self, params: ThreadDeleteParams) -> Result<ThreadDeleteResult> {
        Ok(thread::delete(self.0.session()?, params).await?)
    }

    async fn thread_name_set(&self, params: ThreadNameSetParams) -> Result<ThreadNameSetResult> {
        Ok(thread::name_set(self.0.session()?, params).await?)
    }

    async fn thread_memory_mode_set(&self, params: ThreadMemoryModeSetParams) -> Result<ThreadMemoryModeSetResult> {
        Ok(thread::memory_mode_set(self.0.session()?, params).await?)
    }

    async fn thread_subscribe(&self, params: ThreadSubscribeParams) -> Result<ThreadSubscribeResult> {
        Ok(thread::subscribe(self.0.session()?, params).await?)
    }

    async fn thread_unsubscribe(&self, params: ThreadUnsubscribeParams) -> Result<ThreadUnsubscribeResult> {
        Ok(thread::unsubscribe(self.0.session()?, params).await?)
    }

    async fn thread_search(&self, params: ThreadSearchParams) -> Result<ThreadSearchResult> {
        Ok(thread::search(self.0.session()?, params).await?)
    }

    async fn thread_shell_command(&self, params: ThreadShellCommandParams) -> Result<ThreadShellCommandResult> {
        Ok(thread::shell_command(self.0.session()?, params).await?)
    }

    async fn thread_send(&self, params: ThreadSendParams) -> Result<ThreadSendResult> {
        Ok(thread::send(self.0.session()?, params).await?)
    }

    async fn command_exec(&self, params: CommandExecParams) -> Result<CommandExecResult> {
        Ok(one_off::exec(self.0.session()?, params).await?)
    }

    async fn command_terminate(&self, params: CommandTerminateParams) -> Result<CommandTerminateResult> {
        Ok(one_off::terminate(self.0.session()?, &params))
    }

    async fn file_search(&self, params: FileSearchParams) -> Result<FileSearchResult> {
        Ok(file::search(self.0.session()?, params).await?)
    }

    async fn file_readable(&self, params: FileReadableParams) -> Result<FileReadableResult> {
        Ok(file::readable(self.0.session()?, params).await?)
    }

    async fn feedback_preview(&self, params: FeedbackPreviewParams) -> Result<FeedbackPreviewResult> {
        Ok(feedback::preview(self.0.session()?, params).await?)
    }

    async fn feedback_save(&self, params: FeedbackSaveParams) -> Result<FeedbackSaveResult> {
        Ok(feedback::save(self.0.session()?, params).await?)
    }

    async fn feedback_upload(&self, params: FeedbackUploadParams) -> Result<FeedbackUploadResult> {
        Ok(feedback::upload(self.0.session()?, params).await?)
    }

    async fn git_diff_to_remote(&self, params: GitDiffToRemoteParams) -> Result<GitDiffToRemoteResult> {
        Ok(git::diff_to_remote(self.0.session()?, params).await?)
    }

    async fn guardian_approve_denied(
        &self,
        params: GuardianApproveDeniedParams,
    ) -> Result<GuardianApproveDeniedResult> {
        Ok(guardian::approve_denied(self.0.session()?, params).await?)
    }

    async fn turn_start(&self, params: TurnStartParams) -> Result<TurnStartResult> {
        Ok(turn::start(self.0.session()?, params).await?)
    }

    async fn turn_steer(&self, params: TurnSteerParams) -> Result<TurnSteerResult> {
        Ok(turn::steer(self.0.session()?, params).await?)
    }

    async fn turn_interrupt(&self, params: TurnInterruptParams) -> Result<TurnInterruptResult> {
        Ok(turn::interrupt(self.0.session()?, params).await?)
    }

    async fn turn_retry_now(&self, params: TurnRetryNowParams) -> Result<TurnRetryNowResult> {
        Ok(turn::retry_now(self.0.session()?, &params)?)
    }

    async fn realtime_start(&self, params: RealtimeStartParams) -> Result<RealtimeStartResult> {
        Ok(realtime::start(self.0.session()?, params).await?)
    }

    async fn realtime_audio(&self, params: RealtimeAudioParams) -> Result<RealtimeAudioResult> {
        Ok(realtime::audio(self.0.session()?, params).await?)
    }

    async fn realtime_text(&self, params: RealtimeTextParams) -> Result<RealtimeTextResult> {
        Ok(realtime::text(self.0.session()?, params).await?)
    }

    async fn realtime_close(&self, params: RealtimeCloseParams) -> Result<RealtimeCloseResult> {
        Ok(realtime::close(self.0.session()?, params).await?)
    }

    async fn realtime_voices(&self, _: RealtimeVoicesParams) -> Result<RealtimeVoicesResult> {
        Ok(realtime::voices())
    }

    async fn turn_queue_add(&self, params: TurnQueueAddParams) -> Result<TurnQueueAddResult> {
        Ok(queue::add(self.0.session()?, params).await?)
    }

    async fn turn_queue_list(&self, params: TurnQueueListParams) -> Result<TurnQueueResult> {
        Ok(queue::list(self.0.session()?, params).await?)
    }

    async fn turn_queue_edit(&self, params: TurnQueueEditParams) -> Result<TurnQueueResult> {
        Ok(queue::edit(self.0.session()?, params).await?)
    }

    async fn turn_queue_remove(&self, params: TurnQueueRemoveParams) -> Result<TurnQueueResult> {
        Ok(queue::remove(self.0.session()?, params).await?)
    }

    async fn turn_queue_reorder(&self, params: TurnQueueReorderParams) -> Result<TurnQueueResult> {
        Ok(queue::reorder(self.0.session()?, params).await?)
    }

    async fn turn_queue_resume(&self, params: TurnQueueResumeParams) -> Result<TurnQueueResult> {
        Ok(queue::resume(self.0.session()?, params).await?)
    }

    async fn turn_undo(&self, params: TurnUndoParams) -> Result<TurnUndoResult> {
        Ok(undo::undo(self.0.session()?, params).await?)
    }

    async fn turn_diff(&self, params: TurnDiffParams) -> Result<TurnDiffResult> {
        Ok(undo::diff(self.0.session()?, params).await?)
    }

    async fn proposal_list(&self, params: ProposalListParams) -> Result<ProposalListResult> {
        Ok(proposal::list(self.0.session()?, params).await?)
    }

    async fn proposal_read(&self, params: ProposalReadParams) -> Result<ProposalReadResult> {
        Ok(proposal::read(self.0.session()?, params).await?)
    }

    async fn proposal_decide(&self, params: ProposalDecideParams) -> Result<ProposalDecideResult> {
        Ok(proposal::decide_and_keep(self.0.session()?, params).await?)
    }

    async fn proposal_edit(&self, params: ProposalEditParams) -> Result<ProposalEditResult> {
        Ok(proposal::edit(self.0.session()?, params).await?)
    }

    async fn review_start(&self, params: ReviewStartParams) -> Result<ReviewStartResult> {
        Ok(review::start(self.0.session()?, params).await?)
    }

    async fn review_findings(&self, params: ReviewFindingsParams) -> Result<ReviewFindingsResult> {
        Ok(review::findings(self.0.session()?, params).await?)
    }

    async fn review_dismiss(&self, params: ReviewDismissParams) -> Result<ReviewDismissResult> {
        Ok(review::dismiss(self.0.session()?, &params))
    }

    async fn approval_respond(&self, params: ApprovalRespondParams) -> Result<ApprovalRespondResult> {
        Ok(approval::respond(self.0.session()?, params)?)
    }

    async fn user_input_respond(&self, params: UserInputRespondParams) -> Result<UserInputRespondResult> {
        Ok(question::respond(self.0.session()?, params))
    }

    async fn terminal_list(&self, params: TerminalListParams) -> Result<TerminalListResult> {
        Ok(terminal::list(self.0.session()?, &params))
    }

    async fn terminal_read(&self, params: TerminalReadParams) -> Result<TerminalReadResult> {
        Ok(terminal::read(self.0.session()?, &params)?)
    }

    async fn terminal_write(&self, params: TerminalWriteParams) -> Result<TerminalWriteResult> {
        Ok(terminal::write(self.0.session()?, params)?)
    }

    async fn terminal_resize(&self, params: TerminalResizeParams) -> Result<TerminalResizeResult> {
        Ok(terminal::resize(self.0.session()?, &params)?)
    }

    async fn terminal_kill(&self, params: TerminalKillParams) -> Result<TerminalKillResult> {
        Ok(terminal::kill(self.0.session()?, &params)?)
    }

    async fn mcp_list(&self, params: McpListParams) -> Result<McpListResult> {
        Ok(mcp::list(self.0.session()?, params).await?)
    }

    async fn mcp_refresh(&self, params: McpRefreshParams) -> Result<McpRefreshResult> {
        Ok(mcp::refresh(self.0.session()?, params).await?)
    }

    async fn mcp_login(&self, params: McpLoginParams) -> Result<McpLoginResult> {
        Ok(mcp::login(self.0.session()?, params).await?)
    }

    async fn mcp_logout(&self, params: McpLogoutParams) -> Result<McpLogoutResult> {
        Ok(mcp::logout(self.0.session()?, params).await?)
    }

    async fn mcp_resource_list(&self, params: McpResourceListParams) -> Result<McpResourceListResult> {
        Ok(mcp::resources(self.0.session()?, params, Kind::Resources).await?)
    }

    async fn mcp_resource_templates(&self, params: McpResourceListParams) -> Result<McpResourceListResult> {
        Ok(mcp::resources(self.0.session()?, params, Kind::Templates).await?)
    }

    async fn mcp_resource_read(&self, params: McpResourceReadParams) -> Result<McpResourceReadResult> {
        Ok(mcp::read(self.0.session()?, params).await?)
    }

    async fn mcp_elicitation_respond(
        &self,
        params: McpElicitationRespondParams,
    ) -> Result<McpElicitationRespondResult> {
        Ok(mcp::respond(self.0.session()?, params))
    }

    async fn account_read(&self, params: AccountReadParams) -> Result<AccountReadResult> {
        Ok(account::read(self.0.session()?, params).await?)
    }

    async fn account_login_start(&self, params: AccountLoginStartParams) -> Result<AccountLoginStartResult> {
        Ok(account::login_start(self.0.session()?, params).await?)
    }

    async fn account_login_cancel(&self, params: AccountLoginCancelParams) -> Result<AccountLoginCancelResult> {
        Ok(account::login_cancel(self.0.session()?, &params)?)
    }

    async fn account_logout(&self, params: AccountLogoutParams) -> Result<AccountLogoutResult> {
        Ok(account::logout(self.0.session()?, params).await?)
    }

    async fn account_setup(&self, params: AccountSetupParams) -> Result<AccountSetupResult> {
        Ok(account::setup(self.0.session()?, params).await?)
    }

    async fn account_status(&self, params: AccountStatusParams) -> Result<AccountStatusResult> {
        Ok(account::status(self.0.session()?, params).await?)
    }

    async fn account_rate_limits_read(
        &self,
        params: AccountRateLimitsReadParams,
    ) -> Result<AccountRateLimitsReadResult> {
        Ok(account::rate_limits_read(self.0.session()?, params).await?)
    }

    async fn model_list(&self, params: ModelListParams) -> Result<ModelListResult> {
        Ok(model::list(self.0.session()?, &params).await?)
    }

    async fn model_set_default(&self, params: ModelSetDefaultParams) -> Result<ModelSetDefaultResult> {
        Ok(model::set_default(self.0.session()?, params).await?)
    }

    async fn prompt_list(&self, params: PromptListParams) -> Result<PromptListResult> {
        Ok(prompt::list(self.0.session()?, params).await?)
    }

    async fn history_read(&self, params: HistoryReadParams) -> Result<HistoryReadResult> {
        Ok(history::read(self.0.session()?, params).await?)
    }

    async fn history_list(&self, params: HistoryListParams) -> Result<HistoryListResult> {
        Ok(history::list(self.0.session()?, params).await?)
    }

    async fn history_append(&self, params: HistoryAppendParams) -> Result<HistoryAppendResult> {
        Ok(history::append(self.0.session()?, params).await?)
    }

    async fn config_read(&self, params: ConfigReadParams) -> Result<ConfigReadResult> {
        Ok(config::read(self.0.session()?, params).await?)
    }

    async fn config_write(&self, params: ConfigWriteParams) -> Result<ConfigWriteResult> {
        Ok(config::write(self.0.session()?, params).await?)
    }

    async fn config_reload(&self, params: ConfigReloadParams) -> Result<ConfigReloadResult> {
        Ok(config::reload(self.0.session()?, params).await?)
    }

    async fn sandbox_status(&self, params: SandboxStatusParams) -> Result<SandboxStatusResult> {
        Ok(sandbox::status(params).await?)
    }

    async fn permissions_profiles(&self, params: PermissionProfilesParams) -> Result<PermissionProfilesResult> {
        Ok(permission::profiles(self.0.session()?, params).await?)
    }
}

/// Notifications with a handler: should one not reach it, the person may have to know.
const NOTIFICATIONS: &[&str] = &[
    "initialized",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didRenameFiles",
    "window/workDoneProgress/cancel",
];

/// The custom methods, and the one of LSP that tower-lsp does not know.
pub(crate) fn service(context: Arc<Context>) -> (LspService<Server>, ClientSocket) {
    LspService::build(|_| Server(context))
        .custom_method("window/workDoneProgress/cancel", Server::work_done_progress_cancel)
        .custom_method(method::THREAD_START, Server::thread_start)
        .custom_method(method::THREAD_RESUME, Server::thread_resume)
        .custom_method(method::THREAD_LIST, Server::thread_list)
        .custom_method(method::THREAD_READ, Server::thread_read)
        .custom_method(method::THREAD_CONTEXT, Server::thread_context)
        .custom_method(method::THREAD_COMPACT, Server::thread_compact)
        .custom_method(method::THREAD_FORK, Server::thread_fork)
        .custom_method(method::THREAD_ROLLBACK, Server::thread_rollback)
        .custom_method(method::THREAD_ARCHIVE, Server::thread_archive)
        .custom_method(method::THREAD_UNARCHIVE, Server::thread_unarchive)
        .custom_method(method::THREAD_DELETE, Server::thread_delete)
        .custom_method(method::THREAD_NAME_SET, Server::thread_name_set)
        .custom_method(method::THREAD_MEMORY_MODE_SET, Server::thread_memory_mode_set)
        .custom_method(method::THREAD_SEARCH, Server::thread_search)
        .custom_method(method::THREAD_SUBSCRIBE, Server::thread_subscribe)
        .custom_method(method::THREAD_UNSUBSCRIBE, Server::thread_unsubscribe)
        .custom_method(method::THREAD_SHELL_COMMAND, Server::thread_shell_command)
        .custom_method(method::THREAD_SEND, Server::thread_send)
        .custom_method(method::COMMAND_EXEC, Server::command_exec)
        .custom_method(method::COMMAND_TERMINATE, Server::command_terminate)
        .custom_method(method::FILE_SEARCH, Server::file_search)
        .custom_method(method::FILE_READABLE, Server::file_readable)
        .custom_method(method::GIT_DIFF_TO_REMOTE, Server::git_diff_to_remote)
        .custom_method(method::GUARDIAN_APPROVE_DENIED, Server::guardian_approve_denied)
        .custom_method(method::TURN_START, Server::turn_start)
        .custom_method(method::TURN_STEER, Server::turn_steer)
        .custom_method(method::TURN_INTERRUPT, Server::turn_interrupt)
        .custom_method(method::TURN_RETRY_NOW, Server::turn_retry_now)
        .custom_method(method::TURN_QUEUE_ADD, Server::turn_queue_add)
        .custom_method(method::TURN_QUEUE_LIST, Server::turn_queue_list)
        .custom_method(method::TURN_QUEUE_EDIT, Server::turn_queue_edit)
        .custom_method(method::TURN_QUEUE_REMOVE, Server::turn_queue_remove)
        .custom_method(method::TURN_QUEUE_REORDER, Server::turn_queue_reorder)
        .custom_method(method::TURN_QUEUE_RESUME, Server::turn_queue_resume)
        .custom_method(method::TURN_UNDO, Server::turn_undo)
        .custom_method(method::TURN_DIFF, Server::turn_diff)
        .custom_method(method::PROPOSAL_LIST, Server::proposal_list)
        .custom_method(method::PROPOSAL_READ, Server::proposal_read)
        .custom_method(method::PROPOSAL_DECIDE, Server::proposal_decide)
        .custom_method(method::PROPOSAL_EDIT, Server::proposal_edit)
        .custom_method(method::REVIEW_START, Server::review_start)
        .custom_method(method::REVIEW_FINDINGS, Server::review_findings)
        .custom_method(method::REVIEW_DISMISS, Server::review_dismiss)
        .custom_method(method::APPROVAL_RESPOND, Server::approval_respond)
        .custom_method(method::USER_INPUT_RESPOND, Server::user_input_respond)
        .custom_method(method::TERMINAL_LIST, Server::terminal_list)
        .custom_method(method::TERMINAL_READ, Server::terminal_read)
        .custom_method(method::TERMINAL_WRITE, Server::terminal_write)
        .custom_method(method::TERMINAL_RESIZE, Server::terminal_resize)
        .custom_method(method::TERMINAL_KILL, Server::terminal_kill)
        .custom_method(method::MCP_LIST, Server::mcp_list)
        .custom_method(method::MCP_REFRESH, Server::mcp_refresh)
        .custom_method(method::MCP_LOGIN, Server::mcp_login)
        .custom_method(method::MCP_LOGOUT, Server::mcp_logout)
        .custom_method(method::MCP_RESOURCE_LIST, Server::mcp_resource_list)
        .custom_method(method::MCP_RESOURCE_TEMPLATES, Server::mcp_resource_templates)
        .custom_method(method::MCP_RESOURCE_READ, Server::mcp_resource_read)
        .custom_method(method::MCP_ELICITATION_RESPOND, Server::mcp_elicitation_respond)
        .custom_method(method::ACCOUNT_READ, Server::account_read)
        .custom_method(method::ACCOUNT_LOGIN_START, Server::account_login_start)
        .custom_method(method::ACCOUNT_LOGIN_CANCEL, Server::account_login_cancel)
        .custom_method(method::ACCOUNT_LOGOUT, Server::account_logout)
        .custom_method(method::ACCOUNT_STATUS, Server::account_status)
        .custom_method(method::ACCOUNT_SETUP, Server::account_setup)
        .custom_method(method::ACCOUNT_RATE_LIMITS_READ, Server::account_rate_limits_read)
        .custom_method(method::REALTIME_START, Server::realtime_start)
        .custom_method(method::REALTIME_AUDIO, Server::realtime_audio)
        .custom_method(method::REALTIME_TEXT, Server::realtime_text)
        .custom_method(method::REALTIME_CLOSE, Server::realtime_close)
        .custom_method(method::REALTIME_VOICES, Server::realtime_voices)
        .custom_method(method::MODEL_LIST, Server::model_list)
        .custom_method(method::MODEL_SET_DEFAULT, Server::model_set_default)
        .custom_method(method::PROMPT_LIST, Server::prompt_list)
        .custom_method(method::HISTORY_READ, Server::history_read)
        .custom_method(method::HISTORY_LIST, Server::history_list)
        .custom_method(method::HISTORY_APPEND, Server::history_append)
        .custom_method(method::CONFIG_READ, Server::config_read)
        .custom_method(method::CONFIG_WRITE, Server::config_write)
        .custom_method(method::CONFIG_RELOAD, Server::config_reload)
        .custom_method(method::FEEDBACK_PREVIEW, Server::feedback_preview)
        .custom_method(method::FEEDBACK_SAVE, Server::feedback_save)
        .custom_method(method::FEEDBACK_UPLOAD, Server::feedback_upload)
        .custom_method(method::PERMISSIONS_PROFILES, Server::permissions_profiles)
        .custom_method(method::SANDBOX_STATUS, Server::sandbox_status)
        .finish()
}

/// Answers what the client sends.
pub struct Server(Arc<Context>);

impl Server {
    /// Runs the handler of a notification, at once and to its end.
    fn note(&self, handler: impl FnOnce(&Context)) {
        call::reached();
        handler(&self.0);
    }
}

/// A notification could not be handed over: its parameters are wrong, or its handler failed.
pub(crate) fn lost(context: &Context, method: &str, document: Option<&str>) {
    if !NOTIFICATIONS.contains(&method) {
        return tracing::debug!(method, "a notification without a handler was ignored");
    }
    let about = document.unwrap_or("the session");
    tracing::warn!(method, about, "the parameters of a notification were not understood");
    let message = format!(
        "Countersign did not understand {method} from the editor for {about}, so its text may differ from yours. \
         Close the document and open it again."
    );
    context.show_once(&format!("{method} {about}"), MessageType::WARNING, message);
}

/// So that handlers can use `?` on what returns our own errors.
const _: fn(RequestError) -> tower_lsp::jsonrpc::Error = tower_lsp::jsonrpc::Error::from;

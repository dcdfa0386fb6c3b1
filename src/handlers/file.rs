//! `countersign/file/…`. Each search goes on by itself, so nothing waits for it; what cancels the request stops it.

use crate::lsp::error::RequestError;
use crate::protocol::file::{
    FileMatch, FileMatchType, FileReadableParams, FileReadableResult, FileRefused, FileSearchParams, FileSearchResult,
    FileSearchUpdated,
};
use crate::protocol::method;
use crate::server::session::Session;
use crate::workspace::search::{Found, KEPT, Match, Search, USUAL_LIMIT};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Between two tellings of what was found so far.
const PAUSE: Duration = Duration::from_millis(40);
/// Paths that one request may ask about.
const MOST_PATHS: usize = 10_000;

pub async fn readable(session: &Session, params: FileReadableParams) -> Result<FileReadableResult, RequestError> {
    if params.paths.is_empty() {
        return Err(RequestError::invalid_params(
            "paths is empty: name the files that are asked about.",
        ));
    }
    if params.paths.len() > MOST_PATHS {
        return Err(RequestError::invalid_params(format!(
            "{} paths are too many for one request: ask about {MOST_PATHS} at most.",
            params.paths.len()
        )));
    }
    if let Some(path) = params.paths.iter().find(|path| !path.is_absolute()) {
        return Err(RequestError::invalid_params(format!(
            "{} is not an absolute path.",
            path.display()
        )));
    }
    let refused = session.agent().kept_from_model(&params.thread_id, params.paths).await?;
    let refused = refused.into_iter().map(|one| FileRefused {
        path: one.path().to_owned(),
        reason: one.to_string(),
    });
    Ok(FileReadableResult {
        refused: refused.collect(),
    })
}

pub async fn search(session: &Session, params: FileSearchParams) -> Result<FileSearchResult, RequestError> {
    if params.stream && params.cancellation_token.is_none() {
        return Err(RequestError::invalid_params(
            "stream needs a cancellationToken, under which the files are told.",
        ));
    }
    // First, since it stops the one before.
    let claim = session.searches().tokens.begin(params.cancellation_token.clone());
    if params.query.trim().is_empty() {
        return Ok(FileSearchResult {
            files: Vec::new(),
            total: 0,
            complete: true,
        });
    }
    let roots = match params.roots {
        Some(roots) => roots,
        None => session.workspace().roots(),
    };
    let limit = params.limit.map_or(USUAL_LIMIT, |limit| limit as usize);
    let (searcher, query, stop) = (
        session.searches().searcher.clone(),
        params.query.clone(),
        claim.stop().clone(),
    );
    let prepared = tokio::task::spawn_blocking(move || {
        check(&roots)?;
        Ok::<_, RequestError>(Arc::new(searcher.search(&query, &roots, limit, stop)))
    });
    let search = prepared.await.map_err(broke)??;
    let running = tokio::task::spawn_blocking({
        let search = search.clone();
        move || search.run()
    });
    let found = match params.cancellation_token.filter(|_| params.stream) {
        None => running.await,
        Some(token) => {
            tokio::pin!(running);
            let mut told = 0;
            loop {
                tokio::select! {
                    biased;
                    found = &mut running => break found,
                    () = tokio::time::sleep(PAUSE) => tell(session, &search, &token, &params.query, &mut told).await,
                }
            }
        }
    };
    forget_later(session);
    Ok(result(found.map_err(broke)?))
}

/// Folders that can be searched.
fn check(roots: &[PathBuf]) -> Result<(), RequestError> {
    if roots.is_empty() {
        return Err(RequestError::invalid_params(
            "There is no folder to search: open one in the editor, or name it in roots.",
        ));
    }
    for root in roots {
        let trouble = match std::fs::metadata(root) {
            _ if !root.is_absolute() => "is not an absolute path".to_owned(),
            Ok(meta) if meta.is_dir() => continue,
            Ok(_) => "is not a folder".to_owned(),
            Err(error) => format!("cannot be looked into: {error}"),
        };
        return Err(RequestError::invalid_params(format!(
            "The root {} {trouble}. Name absolute folders that are there.",
            root.display()
        )));
    }
    Ok(())
}

/// Tells what was found since the last time.
async fn tell(session: &Session, search: &Search, token: &str, query: &str, told: &mut usize) {
    let changes = search.changes();
    if std::mem::replace(told, changes) == changes {
        return;
    }
    let found = result(search.so_far());
    let params = FileSearchUpdated {
        cancellation_token: token.to_owned(),
        query: query.to_owned(),
        files: found.files,
        total: found.total,
    };
    session
        .outbound()
        .notify_paced(method::FILE_SEARCH_UPDATED, params)
        .await;
}

/// The names are kept for the next letter, not for ever.
fn forget_later(session: &Session) {
    let searcher = session.searches().searcher.clone();
    tokio::spawn(async move {
        tokio::time::sleep(KEPT).await;
        searcher.forget(KEPT);
    });
}

fn broke(error: tokio::task::JoinError) -> RequestError {
    RequestError::internal(format!("the search for files broke off: {error}"))
}

fn result(found: Found) -> FileSearchResult {
    FileSearchResult {
        files: found.files.into_iter().map(shown).collect(),
        total: u32::try_from(found.total).unwrap_or(u32::MAX),
        complete: found.complete,
    }
}

fn shown(found: Match) -> FileMatch {
    FileMatch {
        file_name: found.path.rsplit('/').next().unwrap_or_default().to_owned(),
        match_type: if found.is_dir {
            FileMatchType::Directory
        } else {
            FileMatchType::File
        },
        root: found.root,
        path: found.path,
        score: found.score,
        indices: found.indices,
    }
}

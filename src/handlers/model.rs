//! `countersign/model/…`.

use crate::agent::{AgentError, provider};
use crate::config::edit::Edit;
use crate::lsp::error::RequestError;
use crate::protocol::error::INVALID_CURSOR;
use crate::protocol::model::{Model, ModelListParams, ModelListResult, ModelSetDefaultParams, ModelSetDefaultResult};
use crate::server::session::Session;
use std::sync::Arc;

pub async fn list(session: &Session, params: &ModelListParams) -> Result<ModelListResult, RequestError> {
    let agent = session.agent().clone();
    let loaded = tokio::task::spawn_blocking(move || agent.load_config(None, None)).await;
    let config = loaded
        .map_err(|error| RequestError::internal(error.to_string()))?
        .map_err(AgentError::from)?
        .config;
    let (id, current) = (config.model_provider.clone(), config.model.clone().unwrap_or_default());
    let services = session.agent().services().clone();
    page(provider::offered(Arc::new(config), id, current, services).await, params)
}

/// What is known of the provider's models without asking it: for what is offered while somebody types.
pub(super) async fn known(session: &Session) -> Vec<Model> {
    let agent = session.agent().clone();
    let known = tokio::task::spawn_blocking(move || {
        let loaded = agent.load_config(None, None).ok()?;
        Some(provider::known(
            &loaded.config,
            &loaded.config.model_provider,
            agent.services(),
        ))
    });
    known.await.ok().flatten().unwrap_or_default()
}

pub async fn set_default(
    session: &Session,
    params: ModelSetDefaultParams,
) -> Result<ModelSetDefaultResult, RequestError> {
    let agent = session.agent().clone();
    let loaded = tokio::task::spawn_blocking(move || agent.load_config(None, None)).await;
    let config = loaded
        .map_err(|error| RequestError::internal(error.to_string()))?
        .map_err(AgentError::from)?
        .config;
    let home = &config.home;
    // A profile is a table of the file, or a file of its own.
    let (file, table) = match &config.profile {
        Some(name) if config.profiles.contains(name) => (
            home.join("config.toml"),
            format!("profiles.{}.", serde_json::json!(name)),
        ),
        Some(name) => (home.join(format!("{name}.config.toml")), String::new()),
        None => (home.join("config.toml"), String::new()),
    };
    let values = [("model", params.model), ("model_reasoning_effort", params.effort)];
    let edits: Vec<Edit> = values
        .into_iter()
        .filter_map(|(key, value)| {
            Some(Edit {
                key_path: format!("{table}{key}"),
                value: Some(value?.into()),
            })
        })
        .collect();
    if edits.is_empty() {
        return Err(RequestError::invalid_params("Name a model, an effort, or both."));
    }
    let written = super::config::written(file, edits, None).await?;
    Ok(ModelSetDefaultResult {
        path: written.path,
        profile: config.profile,
    })
}

/// One page of the list. The cursor is the index of its first model.
fn page(models: Vec<Model>, params: &ModelListParams) -> Result<ModelListResult, RequestError> {
    let total = models.len();
    let wrong = |what: String| {
        RequestError::failed(
            INVALID_CURSOR,
            format!("{what}; use the nextCursor of the page before, or start again without a cursor."),
        )
    };
    let start = match params.cursor.as_deref() {
        None => 0,
        Some(cursor) => {
            let is_number = !cursor.is_empty() && cursor.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number {
                return Err(wrong(format!("The cursor {cursor:?} is no number")));
            }
            // One that does not even fit is larger than any list.
            let start = cursor.parse::<usize>().ok().filter(|start| *start <= total);
            start.ok_or_else(|| {
                wrong(format!(
                    "The cursor {cursor} is beyond the end: the list has {total} models"
                ))
            })?
        }
    };
    let limit = params.limit.map_or(total, |limit| limit.max(1) as usize);
    let page: Vec<Model> = models.into_iter().skip(start).take(limit).collect();
    let end = start + page.len();
    Ok(ModelListResult {
        data: page,
        next_cursor: (end < total).then(|| end.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::provider::Provider;
    use crate::model::catalogue;

    fn models(number: usize) -> Vec<Model> {
        let describe = |index: usize| catalogue::describe(&format!("m{index}"), "acme", &Provider::default(), "m0");
        (0..number).map(describe).collect()
    }

    fn ids(number: usize, cursor: Option<&str>, limit: Option<u32>) -> Result<(Vec<String>, Option<String>), String> {
        let params = ModelListParams {
            cursor: cursor.map(str::to_owned),
            limit,
        };
        match page(models(number), &params) {
            Ok(page) => Ok((page.data.into_iter().map(|model| model.id).collect(), page.next_cursor)),
            Err(error) => {
                assert_eq!(error.kind, INVALID_CURSOR);
                Err(error.message)
            }
        }
    }

    /// Shows S-363, S-365.
    #[test]
    fn a_page_holds_as_many_as_asked_for_and_at_least_one() {
        /// How many there are, cursor and limit; what the page holds, and where the next begins.
        type Row = (
            usize,
            Option<&'static str>,
            Option<u32>,
            &'static [&'static str],
            Option<&'static str>,
        );
        let table: [Row; 10] = [
            (5, None, None, &["m0", "m1", "m2", "m3", "m4"], None),
            (5, None, Some(0), &["m0"], Some("1")),
            (5, None, Some(1), &["m0"], Some("1")),
            (5, None, Some(1000), &["m0", "m1", "m2", "m3", "m4"], None),
            (5, None, Some(u32::MAX), &["m0", "m1", "m2", "m3", "m4"], None),
            (5, Some("1"), Some(2), &["m1", "m2"], Some("3")),
            (5, Some("003"), Some(2), &["m3", "m4"], None),
            (5, Some("4"), None, &["m4"], None),
            (0, None, None, &[], None),
            (0, Some("0"), Some(3), &[], None),
        ];
        for (number, cursor, limit, expect, next) in table {
            let expect = (
                expect.iter().map(|id| (*id).to_owned()).collect(),
                next.map(str::to_owned),
            );
            assert_eq!(ids(number, cursor, limit), Ok(expect), "{cursor:?} {limit:?}");
        }
    }

    /// Shows S-364.
    #[test]
    fn a_cursor_that_no_page_gave_out_is_refused() {
        assert_eq!(ids(5, Some("5"), None), Ok((Vec::new(), None)));
        for cursor in ["abc", "", " 1", "+1", "-1", "1.0", "0x1"] {
            let error = ids(5, Some(cursor), None).expect_err("no number");
            assert!(error.contains(&format!("{cursor:?} is no number")), "{error}");
        }
        for cursor in ["6", "99", "99999999999999999999999999"] {
            let error = ids(5, Some(cursor), None).expect_err("too large");
            assert!(error.contains(cursor) && error.contains("has 5 models"), "{error}");
        }
    }
}

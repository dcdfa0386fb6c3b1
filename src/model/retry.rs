//! Whether, and after how long, a failed sampling step is tried again.

use crate::config::provider::Provider;
use crate::model::error::{ModelError, Transience};
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Waits between attempts to connect; the last one repeats.
const CONNECT_DELAYS: [u64; 6] = [1, 2, 5, 10, 20, 30];
const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// A provider that asks for more than this is not waited for: the person should hear of it now.
const LONGEST_SERVER_DELAY: Duration = Duration::from_secs(600);
const MOST_RETRIES: u32 = 100;

/// What to do before the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub delay: Duration,
    /// Counted from 1.
    pub attempt: u32,
    /// Absent: without end.
    pub limit: Option<u32>,
}

/// The retries of one sampling step. Start a new one for each step.
#[derive(Clone, Debug)]
pub struct Retry {
    request_limit: u32,
    stream_limit: u32,
    connects: u32,
    requests: u32,
    streams: u32,
}

impl Retry {
    pub fn new(provider: &Provider) -> Self {
        Self {
            request_limit: provider.request_max_retries.min(MOST_RETRIES),
            stream_limit: provider.stream_max_retries.min(MOST_RETRIES),
            connects: 0,
            requests: 0,
            streams: 0,
        }
    }

    /// What to do after this failure; `None` means that it is final.
    pub fn next(&mut self, error: &ModelError) -> Option<Wait> {
        let transience = error.kind.transience();
        if transience != Transience::Connect {
            // The provider can be reached again; if it goes away once more, the first waits are short again.
            self.connects = 0;
        }
        let (attempt, limit) = match transience {
            Transience::Final => return None,
            Transience::Connect => {
                self.connects = self.connects.saturating_add(1);
                let at = (self.connects as usize - 1).min(CONNECT_DELAYS.len() - 1);
                let delay = Duration::from_secs(CONNECT_DELAYS[at]);
                return Some(Wait {
                    delay,
                    attempt: self.connects,
                    limit: None,
                });
            }
            Transience::Request => (&mut self.requests, self.request_limit),
            Transience::Stream => (&mut self.streams, self.stream_limit),
        };
        let told = error.kind.retry_after();
        if *attempt >= limit || told.is_some_and(|delay| delay > LONGEST_SERVER_DELAY) {
            return None;
        }
        *attempt += 1;
        let delay = told.unwrap_or_else(|| back_off(*attempt).mul_f64(jitter()));
        Some(Wait {
            delay,
            attempt: *attempt,
            limit: Some(limit),
        })
    }
}

fn back_off(attempt: u32) -> Duration {
    FIRST_DELAY
        .saturating_mul(1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX))
        .min(LONGEST_DELAY)
}

/// 0.9 to 1.1, so that many clients of a provider that stumbled do not come back in step.
fn jitter() -> f64 {
    // A test that fails must fail again.
    let random = match cfg!(test) {
        true => u64::MAX / 2,
        false => std::hash::RandomState::new().build_hasher().finish(),
    };
    0.9 + 0.2 * (random as f64 / u64::MAX as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::{Endpoint, ErrorKind, KeyFrom};
    use std::sync::Arc;

    fn error(kind: ErrorKind) -> ModelError {
        ModelError::new(
            kind,
            &Arc::new(Endpoint {
                name: String::new(),
                url: String::new(),
            }),
        )
    }

    fn retry(request_max_retries: u32, stream_max_retries: u32) -> Retry {
        Retry::new(&Provider {
            request_max_retries,
            stream_max_retries,
            ..Default::default()
        })
    }

    fn http(status: u16) -> ErrorKind {
        ErrorKind::Http {
            status,
            message: String::new(),
            request_id: None,
            retry_after: None,
        }
    }

    fn ended() -> ErrorKind {
        ErrorKind::StreamEnded { reason: None }
    }

    #[test]
    fn connecting_is_tried_without_end() {
        let mut retry = retry(0, 0);
        let refused = error(ErrorKind::Unreachable {
            reason: String::new(),
            advice: String::new(),
        });
        let waits: Vec<_> = (0..8).map(|_| retry.next(&refused).expect("endless")).collect();
        let seconds: Vec<_> = waits.iter().map(|wait| wait.delay.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 5, 10, 20, 30, 30, 30]);
        assert_eq!((waits[7].attempt, waits[7].limit), (8, None));
        assert_eq!(retry.next(&error(ended())), None);
        assert_eq!(retry.next(&refused).expect("endless").delay.as_secs(), 1);
    }

    /// Shows S-061.
    #[test]
    fn streams_and_requests_have_budgets_of_their_own_and_back_off() {
        let mut retry = retry(1, 3);
        for attempt in 1..=3u32 {
            let wait = retry.next(&error(ended())).expect("within the budget");
            assert_eq!((wait.attempt, wait.limit), (attempt, Some(3)));
            let base = 200.0 * f64::from(1 << (attempt - 1));
            let delay = wait.delay.as_secs_f64() * 1000.0;
            assert!((base * 0.9 - 0.01..=base * 1.1 + 0.01).contains(&delay), "{delay}");
        }
        assert_eq!(retry.next(&error(ended())), None);
        assert_eq!(
            retry.next(&error(http(503))).map(|wait| (wait.attempt, wait.limit)),
            Some((1, Some(1)))
        );
        assert_eq!(retry.next(&error(http(429))), None);
    }

    /// Shows S-217.
    #[test]
    fn the_providers_own_delay_wins_unless_it_is_absurd() {
        let limited = |seconds| ErrorKind::RateLimited {
            status: Some(429),
            message: String::new(),
            retry_after: Some(Duration::from_secs_f64(seconds)),
        };
        assert_eq!(
            retry(4, 4).next(&error(limited(1.5))).expect("a wait").delay,
            Duration::from_millis(1500)
        );
        assert_eq!(
            retry(4, 4).next(&error(limited(0.0))).expect("a wait").delay,
            Duration::ZERO
        );
        assert_eq!(retry(4, 4).next(&error(limited(86400.0))), None);
    }

    /// Shows S-063.
    #[test]
    fn what_another_try_cannot_mend_is_final() {
        let message = String::new();
        let finals = [
            http(400),
            http(404),
            http(413),
            http(302),
            ErrorKind::MissingKey {
                var: "KEY".into(),
                instructions: None,
                or_login: false,
            },
            ErrorKind::Setup {
                reason: message.clone(),
            },
            ErrorKind::Unauthorized {
                status: Some(401),
                message: message.clone(),
                from: KeyFrom::Nowhere,
            },
            ErrorKind::ModelNotFound {
                status: Some(404),
                model: message.clone(),
                message: message.clone(),
            },
            ErrorKind::ContextWindowExceeded {
                status: None,
                message: message.clone(),
            },
            ErrorKind::UsageLimit {
                status: Some(429),
                message: message.clone(),
                resets_at: None,
                rate_limits: None,
            },
            ErrorKind::UsageNotIncluded {
                status: Some(429),
                message: message.clone(),
            },
            ErrorKind::BadRequest {
                status: Some(400),
                message: message.clone(),
                request_id: None,
            },
            ErrorKind::Incomplete {
                reason: message.clone(),
            },
            ErrorKind::Offline,
            ErrorKind::Insecure {
                reason: message.clone(),
                advice: message.clone(),
            },
            ErrorKind::Proxy {
                reason: message.clone(),
                advice: message.clone(),
            },
            ErrorKind::Protocol { reason: message },
        ];
        for kind in finals {
            assert_eq!(retry(4, 4).next(&error(kind.clone())), None, "{kind:?}");
        }
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            assert!(retry(4, 4).next(&error(http(status))).is_some(), "{status}");
        }
    }

    #[test]
    fn the_budget_is_capped_and_the_back_off_too() {
        let mut retry = retry(0, u32::MAX);
        let waits: Vec<_> = std::iter::from_fn(|| retry.next(&error(ended()))).collect();
        assert_eq!(waits.len(), 100);
        assert!(waits.iter().all(|wait| wait.delay <= LONGEST_DELAY.mul_f64(1.1)));
    }
}

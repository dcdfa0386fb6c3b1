//! What surrounds one message while its handler runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

tokio::task_local! {
    static CALL: Arc<Call>;
}

type Hook = Box<dyn FnOnce() + Send>;

/// Made by the transport for each message, seen by the handler.
#[derive(Default)]
pub(crate) struct Call {
    hooks: Mutex<Hooks>,
    reached: AtomicBool,
}

#[derive(Default)]
struct Hooks {
    waiting: Vec<Hook>,
    answered: bool,
}

impl Call {
    /// Runs the handler with this around it.
    pub(crate) fn around<F: Future>(self: Arc<Self>, handler: F) -> impl Future<Output = F::Output> {
        CALL.scope(self, handler)
    }

    /// To be called when the answer is in the queue: runs what waits for it, in order.
    pub(crate) fn answered(&self) {
        let hooks = {
            let mut hooks = self.hooks();
            hooks.answered = true;
            std::mem::take(&mut hooks.waiting)
        };
        for hook in hooks {
            hook();
        }
    }

    /// Whether the handler was called at all, or its parameters were not understood before that.
    pub(crate) fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    fn hooks(&self) -> std::sync::MutexGuard<'_, Hooks> {
        self.hooks.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Runs `hook` right after the answer to the current request was queued, so that what it sends follows the answer.
/// Runs it at once where no request is being handled. It also runs if the handler fails, is cancelled or
/// panics: what was begun is begun.
pub fn after_reply(hook: impl FnOnce() + Send + 'static) {
    let mut hook: Option<Hook> = Some(Box::new(hook));
    let _ = CALL.try_with(|call| {
        let mut hooks = call.hooks();
        if !hooks.answered {
            hooks.waiting.extend(hook.take());
        }
    });
    if let Some(hook) = hook {
        hook();
    }
}

/// Says that the handler of a notification was reached.
pub(crate) fn reached() {
    let _ = CALL.try_with(|call| call.reached.store(true, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hooks_wait_for_the_answer() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let seen = seen.clone();
            move || seen.lock().unwrap().push(name)
        };
        after_reply(note("outside"));
        let call = Arc::new(Call::default());
        call.clone().around(async { after_reply(note("first")) }).await;
        call.clone().around(async { after_reply(note("second")) }).await;
        seen.lock().unwrap().push("answer");
        call.answered();
        call.clone().around(async { after_reply(note("late")) }).await;
        assert_eq!(*seen.lock().unwrap(), ["outside", "answer", "first", "second", "late"]);
        assert!(!call.was_reached());
        call.clone().around(async { reached() }).await;
        assert!(call.was_reached());
    }
}

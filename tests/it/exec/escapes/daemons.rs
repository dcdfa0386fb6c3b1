//! Processes that want to outlive the command.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("a session of its own", "daemon('import time; time.sleep(60)')"),
    attempt("a double fork", "
def again():
    if os.fork():
        os._exit(0)
    os.setsid()
daemon('import time; time.sleep(60)', again)"),
    attempt("without any descriptor", "
daemon('import os, time; os.closerange(0, 256); time.sleep(60)')"),
    attempt("without a signal at its parent's death", "daemon('import ctypes, time; ctypes.CDLL(None).prctl(1, 0); time.sleep(60)')"),
    attempt("deaf to signals", "
daemon('import signal, time\\nfor n in range(1, 65):\\n  try: signal.signal(n, signal.SIG_IGN)\\n  except (OSError, ValueError): pass\\ntime.sleep(60)')"),
    attempt("stopped", "daemon('import os, signal; os.kill(os.getpid(), signal.SIGSTOP)')"),
    attempt("always another process", "
daemon('import os, time\\nend = time.time() + 20\\nwhile time.time() < end:\\n  if os.fork(): os._exit(0)')"),
    attempt("its own adopter", "
def adopt():
    libc.prctl(36, 1)
    os.fork()
daemon('import time; time.sleep(60)', adopt)"),
    attempt("under another name", "daemon('import ctypes, time; ctypes.CDLL(None).prctl(15, b\") 1 1 (x\"); time.sleep(60)')"),
    attempt("a family of many", "daemon('import os, time\\nfor _ in range(5): os.fork()\\ntime.sleep(60)')"),
    attempt("a user's service", "sh(f'systemd-run --user --collect sleep 60 {MARK}')").inside_only(),
    attempt("a system's service", "sh(f'systemd-run --collect sh -c \"sleep 60\" {MARK}')").inside_only(),
    attempt("a job for later", "sh(f'echo \"sleep 60 {MARK}\" | at now')").inside_only(),
];

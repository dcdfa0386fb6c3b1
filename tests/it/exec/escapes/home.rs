//! What would run later, with the person's rights: start-up files, keys, jobs, services.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "the shell's start-up file",
        "write(OUT + '/home/.bashrc', 'evil', os.O_WRONLY | os.O_APPEND)",
    ),
    attempt(
        "keys that open the door",
        "write(OUT + '/home/.ssh/authorized_keys', 'evil', os.O_WRONLY | os.O_APPEND)",
    ),
    attempt(
        "a program before the others",
        "os.makedirs(OUT + '/home/.local/bin'); write(OUT + '/home/.local/bin/git')",
    ),
    attempt(
        "a service at login",
        "os.makedirs(OUT + '/home/.config/systemd/user'); write(OUT + '/home/.config/systemd/user/x.service')",
    ),
    attempt(
        "a start at login",
        "os.makedirs(OUT + '/home/.config/autostart'); write(OUT + '/home/.config/autostart/x.desktop')",
    ),
    attempt(
        "git's own configuration",
        "
os.environ['HOME'] = OUT + '/home'
sh('git config --global core.fsmonitor evil')",
    ),
    attempt(
        "configuration of the agent",
        "os.makedirs(OUT + '/home/.countersign'); write(OUT + '/home/.countersign/config.toml')",
    ),
    attempt(
        "a library before the others",
        "write('/etc/ld.so.preload', '', os.O_WRONLY | os.O_APPEND | os.O_CREAT); through()",
    )
    .inside_only(),
    attempt("a job of the machine", "write('/etc/cron.d/' + MARK, '# a test\\n')").inside_only(),
    attempt(
        "a job of the person",
        "sh(f'echo \"* * * * * true {MARK}\" | crontab -'); write('/var/spool/cron/' + MARK)",
    )
    .inside_only(),
    attempt("the shells' common start-up files", "write('/etc/profile.d/' + MARK)").by_root(),
    attempt("a program for all", "write('/usr/local/bin/' + MARK)").by_root(),
    attempt("the machine's settings", "write('/etc/' + MARK)").by_root(),
    attempt("the machine's state", "write('/run/' + MARK)").by_root(),
    attempt("root's folder", "write('/root' + '/' + MARK)").by_root(),
    attempt("temporary files that last", "write('/var/tmp/' + MARK)"),
];

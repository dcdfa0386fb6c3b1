//! All attempts, room by room, made under every policy, as every user, with and without namespaces.

use super::super::place::{User, has, has_root, users};
use super::attempt::{Around, Attempt, Policy};
use super::round::Round;
use super::{
    daemons, descriptors, files, home, kernel, links, memory, network, processes, protected, secrets, sockets,
    terminals,
};

const ROOMS: &[(&str, &[Attempt])] = &[
    ("files", files::ATTEMPTS),
    ("links", links::ATTEMPTS),
    ("protected", protected::ATTEMPTS),
    ("descriptors", descriptors::ATTEMPTS),
    ("processes", processes::ATTEMPTS),
    ("daemons", daemons::ATTEMPTS),
    ("kernel", kernel::ATTEMPTS),
    ("network", network::ATTEMPTS),
    ("sockets", sockets::ATTEMPTS),
    ("terminals", terminals::ATTEMPTS),
    ("secrets", secrets::ATTEMPTS),
    ("memory", memory::ATTEMPTS),
    ("home", home::ATTEMPTS),
];

/// Makes all attempts that must fail here; those that do not are told.
fn all_fail(user: User, around: Around, policy: Policy) {
    let needs_tools = around == Around::NoNamespaces && !(has("unshare") && has("setpriv"));
    if needs_tools || user == User::Nobody && !has_root() {
        return;
    }
    let mut trouble = Vec::new();
    let mut round = Round::new(user, around, policy);
    for (room, attempts) in ROOMS {
        for attempt in *attempts {
            let stated = around == Around::NoNamespaces && attempt.weaker.is_some();
            if !attempt.counts_under(policy) || stated {
                continue;
            }
            let outcome = round.make(attempt);
            if !outcome.evidence.is_empty() {
                trouble.push(format!(
                    "{room}: {}: {}\n    {}",
                    attempt.name,
                    outcome.evidence.join("; "),
                    outcome.said.trim().replace('\n', "\n    ")
                ));
            }
        }
    }
    let (_, left) = round.finish();
    trouble.extend(left);
    assert!(
        trouble.is_empty(),
        "{user:?} {around:?} {policy:?} got out:\n{}",
        trouble.join("\n")
    );
}

// One for each policy, so that they run side by side.

/// Shows S-164, S-165.
#[test]
fn nothing_gets_out_of_read_only() {
    all_fail(User::Own, Around::Everything, Policy::ReadOnly);
}

/// Shows S-164, S-165.
#[test]
fn nothing_gets_out_of_the_workspace() {
    all_fail(User::Own, Around::Everything, Policy::Workspace);
}

/// Shows S-164, S-165.
#[test]
fn nothing_gets_out_by_the_network() {
    all_fail(User::Own, Around::Everything, Policy::Network);
}

#[test]
fn nothing_gets_out_of_read_only_for_an_ordinary_user() {
    all_fail(User::Nobody, Around::Everything, Policy::ReadOnly);
}

#[test]
fn nothing_gets_out_of_the_workspace_for_an_ordinary_user() {
    all_fail(User::Nobody, Around::Everything, Policy::Workspace);
}

#[test]
fn nothing_gets_out_by_the_network_for_an_ordinary_user() {
    all_fail(User::Nobody, Around::Everything, Policy::Network);
}

#[test]
fn nothing_gets_out_of_read_only_without_namespaces() {
    all_fail(User::Own, Around::NoNamespaces, Policy::ReadOnly);
}

#[test]
fn nothing_gets_out_of_the_workspace_without_namespaces() {
    all_fail(User::Own, Around::NoNamespaces, Policy::Workspace);
}

#[test]
fn nothing_gets_out_by_the_network_without_namespaces() {
    all_fail(User::Own, Around::NoNamespaces, Policy::Network);
}

#[test]
fn nothing_gets_out_of_read_only_without_namespaces_for_an_ordinary_user() {
    all_fail(User::Nobody, Around::NoNamespaces, Policy::ReadOnly);
}

#[test]
fn nothing_gets_out_of_the_workspace_without_namespaces_for_an_ordinary_user() {
    all_fail(User::Nobody, Around::NoNamespaces, Policy::Workspace);
}

#[test]
fn nothing_gets_out_by_the_network_without_namespaces_for_an_ordinary_user() {
    all_fail(User::Nobody, Around::NoNamespaces, Policy::Network);
}

/// The contrast: where there is no sandbox, the same attempts get through, and it shows.
fn are_real(wanted: &str) {
    let (_, attempts) = ROOMS.iter().find(|(room, _)| *room == wanted).expect("a room");
    let mut trouble = Vec::new();
    for user in users() {
        let mut round = Round::new(user, Around::Nothing, Policy::ReadOnly);
        for attempt in attempts.iter().filter(|attempt| attempt.is_real_for(user)) {
            // A race is not won each time.
            let mut outcome = round.make(attempt);
            for _ in 0..8 {
                if outcome.evidence.is_empty() {
                    outcome = round.make(attempt);
                }
            }
            if outcome.evidence.is_empty() {
                trouble.push(format!("{user:?}: {}: {}", attempt.name, outcome.said.trim()));
            }
        }
    }
    assert!(trouble.is_empty(), "no real attempts:\n{}", trouble.join("\n"));
}

/// One test for each room, so that they run side by side.
macro_rules! the_attempts_are_real {
    ($($room:ident)*) => {
        mod the_attempts_are_real {
            use super::are_real;

            const NAMED: &[&str] = &[$(stringify!($room)),*];

            $(#[test]
            fn $room() {
                are_real(stringify!($room));
            })*

            #[test]
            fn of_every_room() {
                let rooms: Vec<_> = super::ROOMS.iter().map(|(room, _)| *room).collect();
                assert_eq!(rooms, NAMED);
            }
        }
    };
}

the_attempts_are_real! {
    files links protected descriptors processes daemons kernel network sockets terminals secrets memory home
}

#[test]
fn there_are_enough_of_them() {
    let all = || {
        ROOMS
            .iter()
            .flat_map(|(room, attempts)| attempts.iter().map(move |attempt| (room, attempt.name)))
    };
    let names: std::collections::BTreeSet<_> = all().collect();
    assert_eq!(names.len(), all().count(), "two attempts of one name");
    assert!(names.len() >= 200, "{}", names.len());
}

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
fn all_fail(user: User, around: Around) {
    let mut trouble = Vec::new();
    for policy in Policy::ALL {
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
                        "{policy:?} {room}: {}: {}\n    {}",
                        attempt.name,
                        outcome.evidence.join("; "),
                        outcome.said.trim().replace('\n', "\n    ")
                    ));
                }
            }
        }
        let (_, left) = round.finish();
        trouble.extend(left);
    }
    assert!(
        trouble.is_empty(),
        "{user:?} {around:?} got out:\n{}",
        trouble.join("\n")
    );
}

/// Shows S-164, S-165.
#[test]
fn nothing_gets_out() {
    all_fail(User::Own, Around::Everything);
}

#[test]
fn nothing_gets_out_for_an_ordinary_user() {
    if has_root() {
        all_fail(User::Nobody, Around::Everything);
    }
}

#[test]
fn nothing_gets_out_without_namespaces() {
    if has("unshare") && has("setpriv") {
        all_fail(User::Own, Around::NoNamespaces);
    }
}

#[test]
fn nothing_gets_out_without_namespaces_for_an_ordinary_user() {
    if has("unshare") && has("setpriv") && has_root() {
        all_fail(User::Nobody, Around::NoNamespaces);
    }
}

/// The contrast: where there is no sandbox, the same attempts get through, and it shows.
#[test]
fn the_attempts_are_real() {
    let mut trouble = Vec::new();
    for user in users() {
        let mut round = Round::new(user, Around::Nothing, Policy::ReadOnly);
        for (room, attempts) in ROOMS {
            for attempt in attempts.iter().filter(|attempt| attempt.is_real_for(user)) {
                // A race is not won each time.
                let mut outcome = round.make(attempt);
                for _ in 0..8 {
                    if outcome.evidence.is_empty() {
                        outcome = round.make(attempt);
                    }
                }
                if outcome.evidence.is_empty() {
                    trouble.push(format!("{user:?} {room}: {}: {}", attempt.name, outcome.said.trim()));
                }
            }
        }
    }
    assert!(trouble.is_empty(), "no real attempts:\n{}", trouble.join("\n"));
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

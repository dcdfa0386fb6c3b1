//! The voices there are, by version. The list is built in, so that it can be shown before anybody is asked.

use crate::protocol::realtime::{RealtimeVersion, RealtimeVoices, RealtimeVoicesResult};

const V1: &[&str] = &[
    "arbor", "breeze", "cove", "ember", "juniper", "maple", "sol", "spruce", "vale",
];
const V2: &[&str] = &[
    "alloy", "ash", "ballad", "cedar", "coral", "echo", "marin", "sage", "shimmer", "verse",
];

pub fn voices(version: RealtimeVersion) -> &'static [&'static str] {
    match version {
        RealtimeVersion::V1 => V1,
        RealtimeVersion::V2 => V2,
    }
}

/// The voice that speaks where none is named.
pub fn usual(version: RealtimeVersion) -> &'static str {
    match version {
        RealtimeVersion::V1 => "cove",
        RealtimeVersion::V2 => "marin",
    }
}

pub fn is_known(version: RealtimeVersion, voice: &str) -> bool {
    voices(version).contains(&voice)
}

/// All of them.
pub fn catalogue() -> RealtimeVoicesResult {
    let of = |version| RealtimeVoices {
        voices: voices(version).iter().map(|voice| (*voice).to_owned()).collect(),
        usual: usual(version).to_owned(),
    };
    RealtimeVoicesResult {
        v1: of(RealtimeVersion::V1),
        v2: of(RealtimeVersion::V2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_usual_voice_and_none_twice() {
        for version in [RealtimeVersion::V1, RealtimeVersion::V2] {
            assert!(is_known(version, usual(version)));
            assert!(!is_known(version, "") && !is_known(version, "MARIN"));
            let mut all = voices(version).to_vec();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all, voices(version));
        }
    }
}

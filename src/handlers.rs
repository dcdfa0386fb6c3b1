//! One request in, one answer out.

//! The conversation: threads as actors, turns, history, questions to the person, proposals.

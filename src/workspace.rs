//! What the person sees: open text over the disk, versions, positions, paths.

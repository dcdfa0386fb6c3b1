//! Each wall of a confinement beyond writable folders and the network.

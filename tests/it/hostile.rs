//! Bad input by table: editors that refuse, lie or vanish, requests that mean nothing, disks that are full, links that
//! lead out, providers that fail. Each time: nothing lost, the truth told to the model and the person, the server alive.

mod clients;
mod disk;
mod edits;
mod killed;
mod params;
mod provider;

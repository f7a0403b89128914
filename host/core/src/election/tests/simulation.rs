//! Simulated elections, from a seed: each process has a clock, and the network loses requests.

mod shared;
mod single;
mod world;

//! Simulated elections: processes with their own clocks, and a network that loses, delays and cuts
//! off requests. Everything follows from a seed.

mod shared;
mod single;
mod world;

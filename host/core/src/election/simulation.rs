//! Elections under simulation: processes with clocks of their own, and between them and the API server a network that loses, delays and
//! cuts off. All of it follows from a seed.

mod shared;
mod single;
mod world;

//! The output on a real API server, applied by the real agents.

mod agents;
mod evidence;
mod hosts;
mod life_cycle;
mod observed;
mod outputs;
mod site;
mod table;
mod takeover;

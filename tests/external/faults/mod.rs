//! What becomes of runs that are killed or disturbed, at every system call that changes files.
//!
//! strace counts the calls of an undisturbed run, and then kills or stops one run at each of them. By default a part of
//! the points is tried, spread over all cases; with `SIPGEN_ALL_FAULTS=1` all are.

mod cases;
mod healing;
mod kill_points;
mod races;

mod state;
mod traced;

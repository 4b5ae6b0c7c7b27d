//! Where events go in this build: with the feature `usage` they are recorded, without it they are dropped.
//!
//! Both builds have the same names here, so that no other module asks which build it is, but for the table of tools and the
//! commands. Not here: what an event is, how events are kept and counted (`skills_usage`).

#[cfg(not(feature = "usage"))]
mod off;
#[cfg(feature = "usage")]
mod on;
mod served;

#[cfg(not(feature = "usage"))]
pub use off::{History, Recording, history, learn_now, learns, outlook};
#[cfg(feature = "usage")]
pub use on::{History, Recording, history, learn_now, learns, outlook};
pub use served::served;

//! The checker against plans written by hand, their mutants, and an oracle for waits.

mod facts;
mod hand;
mod mutants;
mod reduction;
mod schemas;

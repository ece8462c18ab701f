//! Models and systems-on-chip as paracompile reads them.

pub mod arena;

pub mod ir;

pub mod fusion;

pub mod import;

pub mod components;

pub mod soc;

pub mod cost;

pub mod calibrate;

pub mod facts;

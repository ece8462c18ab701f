//! Integration tests, one binary so that the solver is linked once.

mod architecture;
mod cli;
mod command;
mod compare;
mod compile;
mod documents;
mod optimality;
mod oracle;
mod report;
mod source;

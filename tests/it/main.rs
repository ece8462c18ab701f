//! Integration tests, one binary so that the solver is linked once.

mod architecture;
mod documents;
mod oracle;
mod source;

//! Integration tests, one binary so that the solver is linked once.

mod architecture;
mod cli;
mod command;
mod compare;
mod compile;
mod constraints;
mod documents;
mod export;
mod guide;
mod kernel_cluster;
mod kernel_graphs;
mod kernel_guide;
mod kernel_prediction;
mod operating_points;
mod optimality;
mod oracle;
mod partitioned;
mod points_cli;
mod queues;
mod raw_exports;
mod report;
mod solve;
mod source;

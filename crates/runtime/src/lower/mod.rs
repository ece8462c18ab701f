//! From operators to kernel launches: what runs, over how many work items, with which arguments.
//!
//! Lowering is a pure function of a [`Site`] (an operator, its shapes and its constants) and the [`Target`] that it will run on: it opens
//! no device, so that what is not supported is known before anything starts.
//! One file a family of operators; the kernels lie in `src/kernels`, one file of OpenCL C a family too.

mod axis;

mod element;

mod expression;

mod epilogue;

mod tuning;

mod product;

mod panels;

mod tiled;

mod convolution;

mod convolve;

mod anchor;

mod map;

mod pointwise;

mod movement;

mod generate;

mod gather;

mod reduction;

mod softmax;

mod normalization;

mod pooling;

mod resize;

mod registry;

mod site;

mod steps;

mod task;

pub use expression::{binary, unary};
pub use movement::joins_blocks;
pub use registry::lower;
pub use site::{Operand, Site, Spec, Target, TargetKind, Unsupported};
pub use steps::{Argument, Lowered, Phase, Scratch, Source, Step};
pub use task::{Task, Wire, lower_task};
pub use tuning::{GroupTile, RegisterTile, Tuning};

pub(crate) use panels::approximate;
pub(crate) use tiled::STARTING_DEPTH;

//! What each operator type means: its result's type and shape, and its work. One file a family.

mod registry;
mod window;

mod activation;
mod convolution;
mod einsum;
mod elementwise;
mod generator;
mod join;
mod normalization;
mod pooling;
mod product;
mod quantization;
mod rearrange;
mod recurrent;
mod reduction;
mod resize;
mod select;
mod shape;

pub(super) use registry::rule;

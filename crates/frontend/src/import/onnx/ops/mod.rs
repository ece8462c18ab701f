//! What each operator type means: its result's type and shape, and its work. One file a family.

mod registry;

mod window;

mod convolution;

mod pooling;

mod product;

mod einsum;

mod attention;

mod normalization;

mod activation;

mod elementwise;

mod reduction;

mod shape;

mod generator;

mod join;

mod select;

mod scatter;

mod survivors;

mod rearrange;

mod resize;

mod quantization;

mod recurrent;

mod signal;

mod text;

mod loss;

mod classic;

mod optional;

mod contrib;

pub(super) use registry::rule;

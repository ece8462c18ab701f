//! Result shapes, classes and work of single operators, against values worked out by hand from the operators' definitions.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops at what it does not expect, and printed figures need no 64 bits"
)]

mod case;

mod convolutions;

mod products;

mod elementwise;

mod movement;

mod kinds;

mod attention;

mod bounds;

mod signals;

mod training;

mod learning;

mod folded_values;

mod versions;

mod opset_28;

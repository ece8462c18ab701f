//! Where the weights of a model come from: its file, or a seed.
//!
//! A seed serves where a model keeps its weights out of its file, and where only the time matters: an element is a pure function of the
//! seed, the name of its tensor and its index, so that no order of filling shows and no tensor has to be made whole.
//! `scripts/random_weights.py` writes the same numbers into a model for other runtimes.

mod stream;

mod role;

mod random;

mod source;

pub use random::{Fill, RandomWeights, WeightError};
pub use role::{KEPT_ELEMENTS, Role};
pub use source::WeightSource;
pub use stream::Stream;

//! What a model reads and what it answers, as files: `.npy` and ONNX's `.pb`, or numbers from a seed.

mod tensor;

mod npy;

mod file;

mod random;

mod gather;

mod output;

pub use file::{TensorFileError, read_tensor};
pub use gather::{InputError, InputProblem, gather};
pub use output::{OutputError, write_outputs};
pub use random::random_input;
pub use tensor::HostTensor;

pub(crate) use gather::{Extents, Wanted, gather_for, read};
pub(crate) use random::random_tensor;

//! What the time of each class is made of, and which measured class stands for one that was not measured.
//!
//! Features are in order of importance: where there are too few operators for all of them, the last ones go first.
//! The choice follows what leaving one network out told on four networks; close variants could not be told apart, so these are the simplest.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;

use super::regression::real;
use crate::cost::evaluate;
use crate::ir::Work;
use crate::soc::{Feature, Winograd};

/// The time model of a class on a processor: seconds a unit of each feature, summed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassFit {
    /// Features with their coefficients, rounded as the profile states them.
    pub(super) terms: Vec<(Feature, f64)>,
    pub(super) winograd: Winograd,
    /// Least and largest value of each term's feature; empty for a class that was not measured.
    pub(super) seen: Vec<[f64; 2]>,
    pub(super) source: Source,
    pub(super) note: String,
    /// Distinct operators that it was found on.
    pub(super) operators: usize,
    /// Measured rows that these are averages of.
    pub(super) rows: usize,
    /// Lines of operators that counted less than half.
    pub(super) outliers: Vec<u64>,
    /// Root mean square of relative errors on these operators.
    pub(super) error: Option<f64>,
    /// The measured class whose rates are in it.
    pub(super) follows: Option<OpClass>,
}

impl ClassFit {
    /// A model of these terms that was not fitted itself.
    pub(super) fn derived(terms: Vec<(Feature, f64)>, winograd: Winograd, note: String) -> Self {
        Self {
            terms: rounded(terms),
            winograd,
            seen: Vec::new(),
            source: Source::Estimated,
            note,
            operators: 0,
            rows: 0,
            outliers: Vec::new(),
            error: None,
            follows: None,
        }
    }

    /// Predicted seconds.
    pub(super) fn seconds(&self, work: &Work) -> f64 {
        self.terms
            .iter()
            .map(|&(feature, coefficient)| coefficient * evaluate(feature, work, self.winograd))
            .sum()
    }

    /// The coefficient of the first of these features that there is.
    pub(super) fn rate(&self, features: &[Feature]) -> f64 {
        features
            .iter()
            .find_map(|wanted| {
                let term = self.terms.iter().find(|(feature, _)| feature == wanted);
                term.map(|&(_, coefficient)| coefficient)
            })
            .unwrap_or(0.0)
    }
}

/// Three significant digits: more would claim what no fit knows.
pub(super) fn round(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Terms with something to say, rounded; one is kept in any case, so that a model has a term.
pub(super) fn rounded(terms: Vec<(Feature, f64)>) -> Vec<(Feature, f64)> {
    let first = terms.first().copied();
    let mut kept: Vec<(Feature, f64)> = terms
        .into_iter()
        .map(|(feature, coefficient)| (feature, round(coefficient)))
        .filter(|(_, coefficient)| *coefficient > 0.0)
        .collect();
    if kept.is_empty() {
        kept.extend(first.map(|(feature, _)| (feature, 0.0)));
    }
    kept
}

/// What the time of a class is made of, where single operators of it were timed.
pub(super) fn features(class: OpClass) -> &'static [Feature] {
    use Feature::{
        ColdBytes, GemmMacs, GemmMatrixBytes, GemmOutputBytes, GemmWeightBytes, InputBytes, Launch,
        Macs, OutputBytes, WeightBytes, Window, WinogradMacs, WinogradTransformBytes,
        WinogradWeightBytes,
    };
    match class {
        OpClass::Conv => &[
            GemmMacs,
            WinogradMacs,
            GemmWeightBytes,
            WinogradWeightBytes,
            GemmMatrixBytes,
            WinogradTransformBytes,
            GemmOutputBytes,
            Launch,
        ],
        OpClass::DepthwiseConv => &[Macs, InputBytes, Launch],
        OpClass::ConvTranspose | OpClass::Recurrent => &[Macs, WeightBytes, OutputBytes, Launch],
        OpClass::Gemm => &[WeightBytes, Launch],
        OpClass::Matmul => &[Macs, OutputBytes, InputBytes, Launch],
        OpClass::MaxPool => &[Window, InputBytes, Launch],
        OpClass::AveragePool => &[Window, Launch],
        OpClass::GlobalPool | OpClass::Reduce => &[InputBytes, Launch],
        OpClass::Elementwise => &[OutputBytes, InputBytes, ColdBytes, Launch],
        OpClass::LayerNorm
        | OpClass::LocalResponseNorm
        | OpClass::Softmax
        | OpClass::Resize
        | OpClass::Other
        | OpClass::Opaque => &[OutputBytes, Launch],
        OpClass::Activation
        | OpClass::BatchNorm
        | OpClass::Concat
        | OpClass::Split
        | OpClass::Transpose
        | OpClass::Pad
        | OpClass::Slice
        | OpClass::Gather
        | OpClass::Cast => &[OutputBytes, ColdBytes, Launch],
    }
}

/// The features of convolutions where too few were timed to keep two algorithms apart.
pub(super) const PLAIN_CONVOLUTION: &[Feature] = &[
    Feature::Macs,
    Feature::WeightBytes,
    Feature::OutputBytes,
    Feature::Launch,
];

/// Terms of a fully connected layer that vectors do not show: they are those of convolutions, which are products of matrices.
pub(super) fn anchored(
    class: OpClass,
    models: &BTreeMap<OpClass, ClassFit>,
) -> Vec<(Feature, f64)> {
    match (class, models.get(&OpClass::Conv)) {
        (OpClass::Gemm, Some(conv)) => vec![
            (
                Feature::Macs,
                conv.rate(&[Feature::GemmMacs, Feature::Macs]),
            ),
            (Feature::MatrixBytes, conv.rate(&[Feature::GemmMatrixBytes])),
        ],
        _ => Vec::new(),
    }
}

/// How a class that was not measured follows from one that was.
enum Donation {
    /// A product with the rates of matrix products in convolutions; which feature stands for the input matrix, and whether there are weights.
    Product { input: Feature, has_weights: bool },
    /// The same model.
    Copy,
    /// So many times the donor's rate for each output byte.
    Passes(f64),
    /// The donor's rate for each input byte.
    ByInput,
    /// Half of the donor's rate for each byte read and each written.
    Moved { with_weights: bool },
}

/// The classes that may stand for one that was not measured, best first.
fn donations(class: OpClass) -> Vec<(OpClass, Donation, &'static str)> {
    use Donation::{ByInput, Copy, Moved, Passes};
    let product = |input, has_weights| {
        vec![(
            OpClass::Conv,
            Donation::Product { input, has_weights },
            "rates of matrix products in convolutions",
        )]
    };
    let streams = |factor, why| {
        vec![
            (OpClass::Concat, Passes(factor), why),
            (OpClass::Activation, Passes(factor), why),
        ]
    };
    let moved = |with_weights| {
        vec![
            (
                OpClass::Concat,
                Moved { with_weights },
                "bytes moved at the rate of concat",
            ),
            (
                OpClass::Activation,
                Moved { with_weights },
                "bytes moved at the rate of activation",
            ),
        ]
    };
    match class {
        OpClass::Conv => Vec::new(),
        OpClass::DepthwiseConv | OpClass::Gemm => product(Feature::MatrixBytes, true),
        OpClass::ConvTranspose | OpClass::Recurrent => product(Feature::InputBytes, true),
        OpClass::Matmul => product(Feature::InputBytes, false),
        OpClass::MaxPool => vec![
            (OpClass::AveragePool, Copy, "as average_pool"),
            (OpClass::Activation, Passes(1.0), "a byte as activation"),
        ],
        OpClass::AveragePool => vec![
            (OpClass::MaxPool, Copy, "as max_pool"),
            (OpClass::Activation, Passes(1.0), "a byte as activation"),
        ],
        OpClass::GlobalPool => vec![
            (OpClass::Reduce, Copy, "as reduce"),
            (
                OpClass::AveragePool,
                Copy,
                "as average_pool over the whole input",
            ),
            (
                OpClass::Activation,
                ByInput,
                "a byte of input as activation",
            ),
        ],
        OpClass::Reduce => vec![
            (OpClass::GlobalPool, Copy, "as global_pool"),
            (
                OpClass::Activation,
                ByInput,
                "a byte of input as activation",
            ),
        ],
        OpClass::Activation => vec![
            (OpClass::BatchNorm, Passes(1.0), "as batch_norm"),
            (OpClass::Elementwise, Passes(1.0), "as elementwise"),
            (OpClass::Concat, Passes(1.0), "as concat"),
        ],
        OpClass::BatchNorm | OpClass::Cast => vec![
            (OpClass::Activation, Passes(1.0), "as activation"),
            (OpClass::Concat, Passes(1.0), "as concat"),
        ],
        OpClass::LayerNorm => vec![(
            OpClass::Activation,
            Passes(2.0),
            "twice activation, for two passes",
        )],
        OpClass::LocalResponseNorm => vec![(
            OpClass::Activation,
            Passes(5.0),
            "five times activation, for five channels an element",
        )],
        OpClass::Softmax => vec![(
            OpClass::Activation,
            Passes(3.0),
            "three times activation, for three passes",
        )],
        OpClass::Elementwise | OpClass::Other => moved(false),
        OpClass::Concat => vec![(OpClass::Activation, Passes(1.0), "as activation")],
        OpClass::Split | OpClass::Pad | OpClass::Slice | OpClass::Gather => {
            streams(1.0, "a byte of output as the class named")
        }
        OpClass::Transpose => streams(2.0, "twice the class named, for strided reads"),
        OpClass::Resize => streams(2.0, "twice the class named, for interpolation"),
        OpClass::Opaque => moved(true),
    }
}

/// A model of a class from what was measured of others, if anything like it was.
pub(super) fn borrow(class: OpClass, models: &BTreeMap<OpClass, ClassFit>) -> Option<ClassFit> {
    donations(class)
        .into_iter()
        .find_map(|(donor, donation, why)| {
            let model = models.get(&donor).filter(|model| model.operators > 0)?;
            let terms = donate(&donation, model);
            let note = format!("class not measured; from {donor}: {why}");
            Some(ClassFit {
                follows: Some(donor),
                ..ClassFit::derived(terms, model.winograd, note)
            })
        })
}

fn donate(donation: &Donation, donor: &ClassFit) -> Vec<(Feature, f64)> {
    let launch = donor.rate(&[Feature::Launch]);
    let cold = donor.rate(&[Feature::ColdBytes]);
    // As much goes in as comes out of most streaming operators, so both rates count for a byte of output.
    let byte = donor.rate(&[Feature::OutputBytes]) + donor.rate(&[Feature::InputBytes]);
    match *donation {
        Donation::Copy => donor.terms.clone(),
        Donation::Passes(passes) => vec![
            (Feature::Launch, launch),
            (Feature::OutputBytes, passes * byte),
            (Feature::ColdBytes, passes * cold),
        ],
        Donation::ByInput => vec![(Feature::Launch, launch), (Feature::InputBytes, byte)],
        Donation::Moved { with_weights } => {
            let mut terms = vec![
                (Feature::Launch, launch),
                (Feature::InputBytes, byte / 2.0),
                (Feature::OutputBytes, byte / 2.0),
                (Feature::ColdBytes, cold),
            ];
            if with_weights {
                terms.push((Feature::WeightBytes, byte / 2.0));
            }
            terms
        }
        Donation::Product { input, has_weights } => {
            let mut terms = vec![
                (Feature::Launch, launch),
                (
                    Feature::Macs,
                    donor.rate(&[Feature::GemmMacs, Feature::Macs]),
                ),
                (input, donor.rate(&[Feature::GemmMatrixBytes])),
                (
                    Feature::OutputBytes,
                    donor.rate(&[Feature::GemmOutputBytes, Feature::OutputBytes]),
                ),
            ];
            if has_weights {
                let weights = donor.rate(&[Feature::GemmWeightBytes, Feature::WeightBytes]);
                terms.push((Feature::WeightBytes, weights));
            }
            terms
        }
    }
}

/// Root mean square of relative errors of a model.
pub(super) fn error_of<'a>(
    model: impl Fn(&Work) -> f64,
    measured: impl Iterator<Item = (&'a Work, f64)>,
) -> f64 {
    let (count, squares) = measured.fold((0, 0.0), |(count, squares), (work, seconds)| {
        (count + 1, squares + (model(work) / seconds - 1.0).powi(2))
    });
    if count == 0 {
        0.0
    } else {
        (squares / real(count)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_keep_three_digits() {
        assert!((round(1.234_567e-11) - 1.23e-11).abs() < 1e-25);
        assert!(round(0.0).abs() < 1e-300);
    }

    #[test]
    fn every_class_follows_from_convolutions_and_activations() {
        let fitted = |terms| ClassFit {
            operators: 9,
            ..ClassFit::derived(terms, Winograd::Square, String::new())
        };
        let models = BTreeMap::from([
            (
                OpClass::Conv,
                fitted(vec![(Feature::Launch, 1e-5), (Feature::GemmMacs, 4e-11)]),
            ),
            (
                OpClass::Activation,
                fitted(vec![(Feature::Launch, 1e-6), (Feature::OutputBytes, 2e-10)]),
            ),
        ]);
        for class in OpClass::ALL {
            if models.contains_key(&class) {
                continue;
            }
            let chained = [OpClass::MaxPool, OpClass::AveragePool].contains(&class);
            let borrowed = borrow(class, &models).unwrap_or_else(|| panic!("{class}"));
            assert_eq!(borrowed.source, Source::Estimated);
            assert!(
                borrowed.note.starts_with("class not measured; from "),
                "{class}"
            );
            assert!(
                chained || borrowed.terms.len() > 1,
                "{class}: {:?}",
                borrowed.terms
            );
        }
        let softmax = borrow(OpClass::Softmax, &models).unwrap();
        assert_eq!(softmax.terms[1], (Feature::OutputBytes, 6e-10));
        assert_eq!(borrow(OpClass::Softmax, &BTreeMap::new()), None);
    }
}

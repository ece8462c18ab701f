//! The other way to predict an operator that was not measured: from the nearest measured ones.
//!
//! It is the simplest predictor that needs no model of the hardware, which is why fitted rates are judged against it.
//! An operator takes, for each unit of its work, as long as its nearest neighbours do, where near is what differs by small factors.
//! Where no operator of a class was measured, the nearest one of any class stands in; that is there to judge the choice of similar classes in `recipe`.
//! Profiles use neither: they would have to hold every measurement, and groups of operators have no neighbours that were timed alone.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use paracompile_plan::OpClass;

use super::measurement::Operator;
use super::regression::real;
use crate::cost::evaluate;
use crate::ir::Work;
use crate::soc::{Feature, Winograd};

/// How many different operators have a say.
const NEIGHBOURS: usize = 3;
/// How far apart two algorithms are: as far as a factor e in one size.
const OTHER_ALGORITHM: f64 = 1.0;
/// Distances that differ by less are the same but for rounding.
const ROUNDING: f64 = 1e-9;

/// Timed operators of a processor by where they lie.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    winograd: Winograd,
    of_class: BTreeMap<OpClass, Vec<Place>>,
    /// All of them, for classes of which none was timed.
    of_unit: BTreeMap<Unit, Vec<Place>>,
}

impl Neighbours {
    /// Those of `operators` that were timed alone; the processor runs `winograd`.
    pub(super) fn new<'a>(
        operators: impl Iterator<Item = &'a Operator>,
        winograd: Winograd,
    ) -> Self {
        let mut of_class: BTreeMap<OpClass, Vec<Place>> = BTreeMap::new();
        let mut of_unit: BTreeMap<Unit, Vec<Place>> = BTreeMap::new();
        for operator in operators {
            let Some(seconds) = operator.seconds else {
                continue;
            };
            let (class, work) = (operator.class, &operator.work);
            of_class.entry(class).or_default().push(Place {
                at: in_class(class, work, winograd),
                rate: (seconds / amount(unit(class, work), work)).ln(),
            });
            let unit = coarse_unit(work);
            of_unit.entry(unit).or_default().push(Place {
                at: anywhere(work),
                rate: (seconds / amount(unit, work)).ln(),
            });
        }
        let merged = |places: &mut Vec<Place>| *places = merged(std::mem::take(places));
        of_class.values_mut().for_each(merged);
        of_unit.values_mut().for_each(merged);
        Self {
            winograd,
            of_class,
            of_unit,
        }
    }

    /// Seconds of an operator from the nearest ones of its class, or where there are none of any class; `None` where nothing has work of its kind.
    pub(super) fn seconds(&self, class: OpClass, work: &Work) -> Option<f64> {
        if let Some(places) = self.of_class.get(&class) {
            let rate = nearby(places, &in_class(class, work, self.winograd))?;
            return Some(rate * amount(unit(class, work), work));
        }
        let unit = coarse_unit(work);
        let rate = nearby(self.of_unit.get(&unit)?, &anywhere(work))?;
        Some(rate * amount(unit, work))
    }
}

/// An operator among others.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    /// Logarithms of sizes, so that distances are factors.
    at: Vec<f64>,
    /// Logarithm of seconds for each unit of work.
    rate: f64,
}

/// What an operator's time is divided by before it is carried over to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Mac,
    Window,
    InputByte,
    OutputByte,
}

const fn unit(class: OpClass, work: &Work) -> Unit {
    match class {
        OpClass::Conv
        | OpClass::DepthwiseConv
        | OpClass::ConvTranspose
        | OpClass::Gemm
        | OpClass::Matmul
        | OpClass::Recurrent => Unit::Mac,
        OpClass::MaxPool | OpClass::AveragePool | OpClass::GlobalPool if work.window > 0 => {
            Unit::Window
        }
        OpClass::Reduce => Unit::InputByte,
        OpClass::MaxPool
        | OpClass::AveragePool
        | OpClass::GlobalPool
        | OpClass::Activation
        | OpClass::BatchNorm
        | OpClass::LayerNorm
        | OpClass::LocalResponseNorm
        | OpClass::Softmax
        | OpClass::Elementwise
        | OpClass::Concat
        | OpClass::Split
        | OpClass::Transpose
        | OpClass::Pad
        | OpClass::Slice
        | OpClass::Gather
        | OpClass::Resize
        | OpClass::Cast
        | OpClass::Other
        | OpClass::Opaque => Unit::OutputByte,
    }
}

/// The unit among operators of all classes: what multiplies, and what does not.
const fn coarse_unit(work: &Work) -> Unit {
    if work.macs > 0 {
        Unit::Mac
    } else {
        Unit::OutputByte
    }
}

/// How much work there is; one where there is none, so that it divides.
fn amount(unit: Unit, work: &Work) -> f64 {
    let feature = match unit {
        Unit::Mac => Feature::Macs,
        Unit::Window => Feature::Window,
        Unit::InputByte => Feature::InputBytes,
        Unit::OutputByte => Feature::OutputBytes,
    };
    evaluate(feature, work, Winograd::None).max(1.0)
}

/// The logarithm of a count, zero for none.
fn log(count: u64) -> f64 {
    real(usize::try_from(count).unwrap_or(usize::MAX))
        .max(1.0)
        .ln()
}

/// Where an operator lies among those of its class.
fn in_class(class: OpClass, work: &Work, winograd: Winograd) -> Vec<f64> {
    let area = work.kernel[0].saturating_mul(work.kernel[1]).max(1);
    match class {
        OpClass::Conv | OpClass::DepthwiseConv | OpClass::ConvTranspose | OpClass::Gemm => {
            let is_tiled = evaluate(Feature::WinogradMacs, work, winograd) > 0.0;
            vec![
                log(work.rows),
                log(work.columns),
                log(work.depth / area),
                log(area),
                log(work.groups),
                if is_tiled { OTHER_ALGORITHM } else { 0.0 },
            ]
        }
        OpClass::Matmul | OpClass::Recurrent => anywhere(work),
        OpClass::MaxPool | OpClass::AveragePool | OpClass::GlobalPool => {
            vec![log(work.output_bytes.count()), log(area)]
        }
        OpClass::Reduce | OpClass::Elementwise => {
            vec![
                log(work.output_bytes.count()),
                log(work.input_bytes.count()),
            ]
        }
        OpClass::Activation
        | OpClass::BatchNorm
        | OpClass::LayerNorm
        | OpClass::LocalResponseNorm
        | OpClass::Softmax
        | OpClass::Concat
        | OpClass::Split
        | OpClass::Transpose
        | OpClass::Pad
        | OpClass::Slice
        | OpClass::Gather
        | OpClass::Resize
        | OpClass::Cast
        | OpClass::Other
        | OpClass::Opaque => vec![log(work.output_bytes.count())],
    }
}

/// Where an operator lies among those of all classes.
fn anywhere(work: &Work) -> Vec<f64> {
    vec![
        log(work.macs),
        log(work.input_bytes.count()),
        log(work.weight_bytes.count()),
        log(work.output_bytes.count()),
    ]
}

/// One place for all operators that nothing tells apart, in an order that does not depend on theirs.
fn merged(mut places: Vec<Place>) -> Vec<Place> {
    let by_place = |a: &Place, b: &Place| -> Ordering {
        a.at.iter()
            .zip(&b.at)
            .map(|(a, b)| a.total_cmp(b))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    places.sort_by(|a, b| by_place(a, b).then(a.rate.total_cmp(&b.rate)));
    places
        .chunk_by(|a, b| by_place(a, b).is_eq())
        .map(|same| Place {
            at: same[0].at.clone(),
            rate: same.iter().map(|place| place.rate).sum::<f64>() / real(same.len()),
        })
        .collect()
}

/// Seconds a unit of work at a place: the geometric mean over the nearest ones by the reciprocals of their squared distances.
///
/// All that are as far as the last one count, so that no order decides between them.
fn nearby(places: &[Place], at: &[f64]) -> Option<f64> {
    let mut near: Vec<(f64, f64)> = places
        .iter()
        .map(|place| {
            let squares = place.at.iter().zip(at).map(|(a, b)| (a - b).powi(2));
            (squares.sum(), place.rate)
        })
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let &(nearest, rate) = near.first()?;
    if nearest <= 0.0 {
        return Some(rate.exp());
    }
    let (last, _) = near[NEIGHBOURS.min(near.len()) - 1];
    let (sum, weights) = near
        .iter()
        .take_while(|(square, _)| *square <= last * (1.0 + ROUNDING))
        // Relative to the nearest, so that weights stay moderate.
        .map(|(square, rate)| (rate, nearest / square))
        .fold((0.0, 0.0), |(sum, weights), (rate, weight)| {
            (sum + weight * rate, weights + weight)
        });
    Some((sum / weights).exp())
}

#[cfg(test)]
mod tests {
    use paracompile_plan::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn timed(class: OpClass, work: Work, seconds: f64) -> Operator {
        Operator {
            network: "A".to_owned(),
            processor: "big".to_owned(),
            group: None,
            name: String::new(),
            class,
            work,
            seconds: Some(seconds),
            repetitions: 1,
            line: 2,
        }
    }

    fn streamed(bytes: u64) -> Work {
        Work {
            input_bytes: Bytes::new(bytes),
            output_bytes: Bytes::new(bytes),
            ..Work::default()
        }
    }

    fn convolved(rows: u64, columns: u64, channels: u64, side: u64) -> Work {
        let depth = channels * side * side;
        Work {
            macs: rows * columns * depth,
            rows,
            columns,
            depth,
            groups: 1,
            kernel: [side, side],
            stride: [1, 1],
            dilation: [1, 1],
            input_bytes: Bytes::new(4 * rows * channels),
            weight_bytes: Bytes::new(4 * columns * depth),
            output_bytes: Bytes::new(4 * rows * columns),
            ..Work::default()
        }
    }

    fn near(operators: &[Operator]) -> Neighbours {
        Neighbours::new(operators.iter(), Winograd::Square)
    }

    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{found:e} is not {expected:e}"
        );
    }

    #[test]
    fn nearer_operators_count_more_and_equally_far_ones_the_same() {
        // Twice and half as large, then four times and a quarter; one far away has no say.
        let places = [
            (2048, 1.0),
            (8192, 2.0),
            (1024, 3.0),
            (16384, 5.0),
            (1 << 30, 1e9),
        ];
        let operators = places.map(|(bytes, rate)| {
            timed(
                OpClass::Activation,
                streamed(bytes),
                rate * real(usize::try_from(bytes).unwrap()),
            )
        });
        let found = near(&operators).seconds(OpClass::Activation, &streamed(4096));
        // Squared distances are one and four: weights 1, 1, 1/4, 1/4, the last two tied for the third place.
        let expected = (1.0_f64 * 2.0 * (3.0_f64 * 5.0).powf(0.25)).powf(1.0 / 2.5) * 4096.0;
        assert_near(found.unwrap(), expected);
    }

    #[test]
    fn repeated_operators_are_one_neighbour() {
        let small = timed(OpClass::Activation, streamed(4096), 1e-6);
        let far =
            [1_u64 << 20, 1 << 21].map(|bytes| timed(OpClass::Activation, streamed(bytes), 1e-3));
        let once = near(&[std::slice::from_ref(&small), &far[..]].concat());
        let often = near(&[&vec![small; 9], &far[..]].concat());
        let wanted = streamed(1 << 16);
        assert_eq!(
            once.seconds(OpClass::Activation, &wanted),
            often.seconds(OpClass::Activation, &wanted)
        );
    }

    #[test]
    fn convolutions_by_another_algorithm_are_further() {
        let pointwise = timed(OpClass::Conv, convolved(784, 64, 64, 1), 1.0);
        let tiled = timed(OpClass::Conv, convolved(784, 64, 64, 3), 1.0);
        let distance = |winograd: Winograd| -> f64 {
            let at = |operator: &Operator| in_class(OpClass::Conv, &operator.work, winograd);
            let pairs = at(&pointwise).into_iter().zip(at(&tiled));
            pairs.map(|(a, b)| (a - b).powi(2)).sum()
        };
        assert_near(
            distance(Winograd::Square) - distance(Winograd::None),
            OTHER_ALGORITHM.powi(2),
        );
    }

    #[test]
    fn a_class_that_was_not_timed_follows_from_the_nearest_of_any() {
        let operators = [
            timed(OpClass::Activation, streamed(4096), 4096e-9),
            timed(OpClass::Conv, convolved(784, 64, 64, 1), 1e-3),
        ];
        let near = near(&operators);
        assert_near(
            near.seconds(OpClass::Softmax, &streamed(100)).unwrap(),
            1e-7,
        );
        let single = convolved(1, 10, 64, 1);
        let expected = 1e-3 * 640.0 / (784.0 * 64.0 * 64.0);
        assert_near(near.seconds(OpClass::Gemm, &single).unwrap(), expected);
        let without_products = Neighbours::new(operators[..1].iter(), Winograd::Square);
        assert_eq!(without_products.seconds(OpClass::Gemm, &single), None);
    }

    #[test]
    fn operators_without_a_time_are_no_neighbours() {
        let mut operator = timed(OpClass::Activation, streamed(4096), 1.0);
        operator.seconds = None;
        let near = near(&[operator]);
        assert_eq!(near.seconds(OpClass::Activation, &streamed(4096)), None);
    }

    prop_compose! {
        fn operator()(
            rows in 1_u64..20_000,
            columns in 1_u64..2_000,
            channels in 1_u64..2_000,
            side in 1_u64..8,
            is_conv: bool,
            seconds in 1e-6..1.0,
        ) -> Operator {
            if is_conv {
                timed(OpClass::Conv, convolved(rows, columns, channels, side), seconds)
            } else {
                timed(OpClass::Activation, streamed(4 * rows * columns), seconds)
            }
        }
    }

    fn different(operators: Vec<Operator>) -> Vec<Operator> {
        let mut kept: Vec<Operator> = Vec::new();
        for one in operators {
            if kept.iter().all(|other| other.work != one.work) {
                kept.push(one);
            }
        }
        kept
    }

    proptest! {
        #[test]
        fn a_measured_operator_is_predicted_as_measured(operators in prop::collection::vec(operator(), 1..30)) {
            let operators = different(operators);
            let near = near(&operators);
            for one in &operators {
                let found = near.seconds(one.class, &one.work).unwrap();
                assert_near(found, one.seconds.unwrap());
            }
        }

        #[test]
        fn predictions_do_not_depend_on_order_or_units(
            operators in prop::collection::vec(operator(), 1..30),
            wanted in operator(),
            unit in 1e-3..1e3,
        ) {
            let of = |operators: &[Operator]| near(operators).seconds(wanted.class, &wanted.work);
            let found = of(&operators);
            let reversed: Vec<Operator> = operators.iter().rev().cloned().collect();
            prop_assert_eq!(of(&reversed), found);
            let scaled: Vec<Operator> = operators
                .iter()
                .map(|one| Operator { seconds: one.seconds.map(|seconds| seconds * unit), ..one.clone() })
                .collect();
            match (of(&scaled), found) {
                (Some(scaled), Some(found)) => assert_near(scaled, found * unit),
                (scaled, found) => prop_assert_eq!(scaled, found),
            }
        }

        #[test]
        fn as_much_larger_operators_take_as_much_longer(
            sizes in prop::collection::vec((1_u64..1_000_000, 1e-6..1.0), 1..20),
            wanted in 1_u64..1_000_000,
            factor in 2_u64..1000,
        ) {
            let times = real(usize::try_from(factor).unwrap());
            let of = |factor: u64, times: f64| {
                let operators: Vec<Operator> = sizes
                    .iter()
                    .map(|&(size, seconds)| timed(OpClass::Activation, streamed(size * factor), seconds * times))
                    .collect();
                near(&operators).seconds(OpClass::Activation, &streamed(wanted * factor)).unwrap()
            };
            assert_near(of(factor, times), of(1, 1.0) * times);
        }

        #[test]
        fn rates_stay_between_those_of_the_class(
            operators in prop::collection::vec(operator(), 1..30),
            wanted in operator(),
        ) {
            let rates: Vec<f64> = operators
                .iter()
                .filter(|one| one.class == wanted.class)
                .map(|one| one.seconds.unwrap() / amount(unit(one.class, &one.work), &one.work))
                .collect();
            prop_assume!(!rates.is_empty());
            let found = near(&operators).seconds(wanted.class, &wanted.work).unwrap();
            let rate = found / amount(unit(wanted.class, &wanted.work), &wanted.work);
            let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rates.iter().copied().fold(0.0, f64::max);
            prop_assert!(rate >= least * (1.0 - 1e-9) && rate <= most * (1.0 + 1e-9));
        }
    }
}

//! Calibration as a whole, on measurements made up from known coefficients: what went in has to come out.

use std::fmt::Write;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Source;

use super::fit::ProcessorFit;
use super::geometry::{Description, geometry};
use super::measurement::Measurements;
use super::power::RISE;
use super::sheet::Sheet;
use super::*;
use crate::cost::evaluate;
use crate::soc::{Feature, Soc, Winograd, profile_text};

/// Seconds a unit of each feature on the made-up CPU, which runs strips by Winograd's algorithm.
const CONV: [(Feature, f64); 8] = [
    (Feature::Launch, 6e-5),
    (Feature::GemmMacs, 4e-11),
    (Feature::GemmMatrixBytes, 3e-10),
    (Feature::GemmWeightBytes, 2e-10),
    (Feature::GemmOutputBytes, 5e-10),
    (Feature::WinogradMacs, 5e-11),
    (Feature::WinogradTransformBytes, 8e-10),
    (Feature::WinogradWeightBytes, 3e-10),
];
const RELU: [(Feature, f64); 3] = [
    (Feature::Launch, 1e-5),
    (Feature::OutputBytes, 2e-10),
    (Feature::ColdBytes, 1e-10),
];
/// On the made-up GPU: a kernel, arithmetic of both algorithms, weights of both, a byte.
const GPU: [f64; 6] = [1e-4, 6e-11, 8e-11, 2e-10, 1.5e-10, 2e-10];
const IDLE: f64 = 2.25;
/// Watts whenever the CPU is busy, and for each 10⁹ operations a second.
const POWER: (f64, f64) = (2.0, 0.05);

/// What is done to true times.
#[derive(Clone, Copy)]
enum Disturbance {
    None,
    /// So much noise, and every so many rows ten times the time.
    Noisy {
        amplitude: f64,
        outlier_every: usize,
    },
}

/// A generator of the same numbers every time.
struct Dice(u64);

impl Dice {
    /// From −1 to 1.
    fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1u32 << 30) - 1.0
    }

    fn pick<const N: usize>(&mut self, from: [u64; N]) -> u64 {
        let unit = f64::midpoint(self.roll(), 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "from zero to N"
        )]
        let index = (unit * N as f64) as usize;
        from[index.min(N - 1)]
    }
}

fn sum(terms: &[(Feature, f64)], work: &crate::ir::Work) -> f64 {
    terms
        .iter()
        .map(|&(feature, rate)| rate * evaluate(feature, work, Winograd::Strips))
        .sum()
}

/// The tables `op_times.csv` and `group_times_power.csv` of four networks on `big`, operator by operator, and on `gpu`, group by group.
fn tables(disturbance: Disturbance) -> (String, String) {
    let mut dice = Dice(7);
    let mut operators = String::from(
        "graph,processor,group,op_index,op_type,kh,kw,in_shape_CHW,out_shape_CHW,time_ms\n",
    );
    let mut groups = String::from("graph,processor,group,metric,time_ms,board_power_mW\n");
    let mut disturbed = {
        let mut dice = Dice(11);
        let mut count = 0;
        move |seconds: f64| match disturbance {
            Disturbance::None => seconds,
            Disturbance::Noisy {
                amplitude,
                outlier_every,
            } => {
                count += 1;
                let outlier = if count % outlier_every == 0 {
                    10.0
                } else {
                    1.0
                };
                seconds * outlier * (1.0 + amplitude * dice.roll())
            }
        }
    };
    for network in ["A", "B", "C", "D"] {
        for group in 0..14 {
            let (mut cpu, mut gpu, mut operations) = (0.0, 0.0, 0.0);
            for index in 0..6 {
                let side = dice.pick([7, 14, 28, 56, 112]);
                let channels = [dice.pick([16, 32, 64, 192]), dice.pick([16, 48, 96, 256])];
                let kernel = ["1,1", "3,3", "1,7", "5,5", "7,1", "3,3"]
                    [usize::try_from(dice.pick([0, 1, 2, 3, 4, 5])).unwrap()];
                let shapes = |inputs: u64, outputs: u64| {
                    (
                        format!("{inputs}x{side}x{side}"),
                        format!("{outputs}x{side}x{side}"),
                    )
                };
                let is_conv = index % 2 == 0;
                let (input, output) = if is_conv {
                    shapes(channels[0], channels[1])
                } else {
                    shapes(channels[1], channels[1])
                };
                let sides = kernel.split_once(',').unwrap();
                let described = Description {
                    op_type: if is_conv { "conv" } else { "relu" },
                    input: &input,
                    output: &output,
                    kernel: if is_conv {
                        [Some(sides.0), Some(sides.1)]
                    } else {
                        [None; 2]
                    },
                    ..Description::default()
                };
                let work = geometry(&described).unwrap().work;
                let seconds = sum(if is_conv { &CONV } else { &RELU }, &work);
                let of = |feature| evaluate(feature, &work, Winograd::Strips);
                let [kernel_s, gemm, tiled, weights, tiled_weights, byte] = GPU;
                gpu += kernel_s;
                gpu += if is_conv {
                    gemm * of(Feature::GemmMacs)
                        + tiled * of(Feature::WinogradMacs)
                        + weights * of(Feature::GemmWeightBytes)
                        + tiled_weights * of(Feature::WinogradWeightBytes)
                } else {
                    byte * (of(Feature::InputBytes) + of(Feature::OutputBytes))
                };
                cpu += seconds;
                operations += 2e-9 * of(Feature::Macs);
                let kernel = if is_conv { kernel } else { "," };
                let (op_type, number) = (described.op_type, group * 6 + index);
                let time = disturbed(seconds) * 1e3;
                let _ = writeln!(
                    operators,
                    "{network},big,{group},{number},{op_type},{kernel},{input},{output},{time:?}"
                );
                let _ = writeln!(
                    operators,
                    "{network},gpu,{group},{number},{op_type},{kernel},{input},{output},"
                );
            }
            for (processor, seconds) in [("big", cpu), ("gpu", gpu)] {
                // The meter lags by an exponential; its mean over the group is what is written.
                let lags = seconds / RISE;
                let part = 1.0 - (1.0 - (-lags).exp()) / lags;
                let watts = IDLE + part * (POWER.0 + POWER.1 * operations / seconds);
                let time = disturbed(seconds) * 1e3;
                let _ = writeln!(
                    groups,
                    "{network},{processor},{group},task,{time:?},{:?}",
                    watts * 1e3
                );
            }
        }
    }
    (operators, groups)
}

fn read(operators: &str, groups: Option<&str>) -> Result<Measurements, CalibrateError> {
    let mut notices = Vec::new();
    let operators = Sheet::parse(operators, "op_times.csv", "operator", &mut notices)?;
    let groups = groups
        .map(|text| Sheet::parse(text, "group_times_power.csv", "group", &mut notices))
        .transpose()?;
    Measurements::from_sheets(&operators, groups.as_ref(), None, notices)
}

fn base() -> BaseProfile {
    BaseProfile::find("vim3").unwrap()
}

fn fitted(measured: &Measurements, processor: &str) -> ProcessorFit {
    let base = base();
    fit::fit_processor(measured, processor, &base, &base.classes(processor)).unwrap()
}

fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{what}: {found:e} is not {expected:e}"
    );
}

#[test]
fn known_coefficients_come_back_from_operators() {
    let (operators, groups) = tables(Disturbance::None);
    let measured = read(&operators, Some(&groups)).unwrap();
    let fit = fitted(&measured, "big");
    let conv = &fit.models[&OpClass::Conv];
    assert_eq!(conv.winograd, Winograd::Strips);
    for (feature, expected) in CONV {
        // Three digits are kept.
        assert_near(conv.rate(&[feature]), expected, 6e-3, feature.name());
    }
    let relu = &fit.models[&OpClass::Activation];
    for (feature, expected) in RELU {
        assert_near(relu.rate(&[feature]), expected, 6e-3, feature.name());
    }
    assert_eq!(conv.source, Source::Fitted);
    assert!(conv.error.unwrap() < 5e-3 && conv.outliers.is_empty());
}

#[test]
fn operators_that_a_program_timed_are_fitted_as_those_of_files_are() {
    let (operators, _) = tables(Disturbance::None);
    let measured = read(&operators, None).unwrap();
    let timed = measured.operators_of("big").map(|operator| TimedOperator {
        network: operator.network.clone(),
        processor: operator.processor.clone(),
        name: operator.name.clone(),
        class: operator.class,
        work: operator.work,
        seconds: operator.seconds.unwrap(),
        repetitions: operator.repetitions,
    });
    let mut rows: Vec<TimedOperator> = timed.collect();
    let nothing = TimedOperator {
        seconds: 0.0,
        ..rows[0].clone()
    };
    rows.push(nothing);
    let again = fitted(&Measurements::of_operators(rows), "big");
    let expected = fitted(&measured, "big");
    for (class, model) in &expected.models {
        assert_eq!(again.models[class].terms, model.terms, "{class}");
        assert_eq!(again.models[class].operators, model.operators, "{class}");
    }
}

#[test]
fn known_coefficients_come_back_from_groups_alone() {
    let (operators, groups) = tables(Disturbance::None);
    let measured = read(&operators, Some(&groups)).unwrap();
    let fit = fitted(&measured, "gpu");
    let conv = &fit.models[&OpClass::Conv];
    let features = [
        Feature::Launch,
        Feature::GemmMacs,
        Feature::WinogradMacs,
        Feature::GemmWeightBytes,
        Feature::WinogradWeightBytes,
    ];
    for (feature, expected) in features.into_iter().zip(GPU) {
        assert_near(conv.rate(&[feature]), expected, 6e-3, feature.name());
    }
    let relu = &fit.models[&OpClass::Activation];
    assert_near(relu.rate(&[Feature::InputBytes]), GPU[5], 6e-3, "a byte");
    assert!(fit.groups.unwrap().error < 5e-3);
}

#[test]
fn known_powers_come_back_from_groups() {
    let (operators, groups) = tables(Disturbance::None);
    let measured = read(&operators, Some(&groups)).unwrap();
    for processor in ["big", "gpu"] {
        let power = fitted(&measured, processor).power.unwrap();
        assert_near(power.constant, POWER.0, 6e-3, "constant");
        assert_near(power.per_gigaflops, POWER.1, 6e-3, "rate");
        let idle = power.by_class[&OpClass::Activation];
        assert_near(idle, POWER.0, 6e-3, "a class without multiplications");
        assert!(power.by_class[&OpClass::Conv] > idle);
    }
}

#[test]
fn noise_and_outliers_move_predictions_little() {
    let (operators, groups) = tables(Disturbance::Noisy {
        amplitude: 0.05,
        outlier_every: 17,
    });
    let measured = read(&operators, Some(&groups)).unwrap();
    let exact = {
        let (operators, groups) = tables(Disturbance::None);
        read(&operators, Some(&groups)).unwrap()
    };
    let fit = fitted(&measured, "big");
    let conv = &fit.models[&OpClass::Conv];
    assert!(!conv.outliers.is_empty());
    for operator in exact.operators_of("big") {
        let predicted = fit.models[&operator.class].seconds(&operator.work);
        assert_near(predicted, operator.seconds.unwrap(), 0.08, &operator.name);
    }
    let gpu = fitted(&measured, "gpu");
    for operator in exact.operators_of("gpu") {
        let predicted = gpu.models[&operator.class].seconds(&operator.work);
        assert!(predicted.is_finite() && predicted > 0.0);
    }
}

#[test]
fn networks_of_known_coefficients_are_predicted_unseen() {
    let (operators, groups) = tables(Disturbance::None);
    let measured = read(&operators, Some(&groups)).unwrap();
    let report = judge(&measured, &base()).unwrap();
    assert_eq!(report.processors.len(), 2);
    for processor in &report.processors {
        for level in &processor.levels {
            // A class has one power, whatever the speed of its single operators.
            let most = if level.quantity == Quantity::Energy {
                0.15
            } else {
                0.02
            };
            assert!(level.all < most, "{} {level:?}", processor.processor);
            assert!(level.uncovered < 1e-9);
        }
        assert_eq!(processor.networks.len(), 4);
    }
    let text = serde_json::to_value(&report).unwrap();
    assert_eq!(text["kind"], "fidelity");
    let keys: Vec<&String> = text["points"][0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "processor",
            "network",
            "level",
            "quantity",
            "name",
            "class",
            "covered",
            "measured",
            "predicted",
            "neighbours"
        ]
    );
}

#[test]
fn neighbours_are_judged_where_operators_were_timed_and_named_where_not() {
    let (operators, groups) = tables(Disturbance::None);
    let measured = read(&operators, Some(&groups)).unwrap();
    let report = judge(&measured, &base()).unwrap();
    let [big, gpu] = &report.processors[..] else {
        panic!("{:?}", report.processors);
    };
    assert_eq!(big.neighbours, Applicability::Applicable);
    assert_eq!(gpu.neighbours, Applicability::NotApplicable);
    for level in &big.levels {
        // Sizes repeat, so most operators were measured in another network.
        let errors = level.neighbours.unwrap();
        assert!(errors.covered.unwrap() < 0.3, "{level:?}");
        assert_eq!(errors.all, errors.covered);
    }
    assert!(gpu.levels.iter().all(|level| level.neighbours.is_none()));
    assert!(gpu.networks.iter().all(|one| one.neighbours.is_none()));
    for point in &report.points {
        assert_eq!(point.neighbours.is_some(), point.processor == "big");
    }
    // Both predictors are held against the same measurements: a network is the sum of its operators.
    for network in &big.networks {
        let of = |level| {
            let points = report.points.iter().filter(move |point| {
                point.processor == "big"
                    && point.network == network.name
                    && point.level == level
                    && point.quantity == Quantity::Time
            });
            points.map(|point| point.neighbours.unwrap()).sum::<f64>()
        };
        assert_near(of(Level::Operator), of(Level::Network), 1e-9, &network.name);
    }
}

#[test]
fn an_operator_like_nothing_has_no_neighbours_and_neither_has_its_network() {
    let text = format!(
        "{HEADER}\nA,big,0,relu,8x8x8,8x8x8,1.0\nA,big,1,fc,512,10,1.0\nB,big,0,relu,8x8x8,8x8x8,1.0\n"
    );
    let report = judge(&read(&text, None).unwrap(), &base()).unwrap();
    let networks = &report.processors[0].networks;
    let of = |index: usize| networks[index].neighbours.unwrap();
    assert_eq!((networks[0].name.as_str(), of(0).all), ("A", None));
    assert_near(1.0 + of(0).covered.unwrap(), 1.0, 1e-9, "covered");
    assert_near(1.0 + of(1).all.unwrap(), 1.0, 1e-9, "all");
    assert_eq!(report.processors[0].levels[0].neighbours.unwrap().all, None);
}

#[test]
fn models_of_other_types_outlive_a_calibration() {
    let base = base();
    let mut profile: serde_json::Value = serde_json::to_value(base.file()).unwrap();
    let models = &mut profile["processors"][0]["operating_points"][0]["models"];
    let first = models
        .as_array()
        .unwrap()
        .iter()
        .find(|model| model["class"] == "conv");
    let mut quantised = first.unwrap().clone();
    quantised["dtype"] = serde_json::json!("int8");
    models.as_array_mut().unwrap().push(quantised.clone());
    let base = BaseProfile::from_json(&profile.to_string(), "with int8").unwrap();
    let (operators, groups) = tables(Disturbance::None);
    let measured = read(&operators, Some(&groups)).unwrap();
    let text = profile_text(&calibrate(&measured, &base, None).unwrap().profile);
    let soc = Soc::from_json(&text, "calibrated").unwrap();
    let point = &soc.processors.as_slice()[0].operating_points[0];
    let found = point.models[&OpClass::Conv].iter();
    let dtypes: Vec<&str> = found.map(|model| model.dtype.as_str()).collect();
    assert_eq!(dtypes, ["float", "int8"]);
    let rates: Vec<f64> = serde_json::from_value(quantised["coefficients"].clone()).unwrap();
    assert_eq!(point.models[&OpClass::Conv][1].coefficients, rates);
}

#[test]
fn the_profile_loads_says_its_sources_and_is_the_same_every_time() {
    let (operators, groups) = tables(Disturbance::None);
    let write = || {
        let measured = read(&operators, Some(&groups)).unwrap();
        let fitted = calibrate(&measured, &base(), Some("made up")).unwrap();
        (profile_text(&fitted.profile), fitted.notices)
    };
    let (text, notices) = write();
    assert_eq!(text, write().0);
    let soc = Soc::from_json(&text, "calibrated").unwrap();
    let point = &soc.processors[soc.processor("big").unwrap()].operating_points[0];
    assert_eq!(point.models[&OpClass::Conv][0].source, Source::Fitted);
    assert_eq!(point.models[&OpClass::Conv][0].winograd, Winograd::Strips);
    assert_eq!(point.models[&OpClass::Softmax][0].source, Source::Estimated);
    // Classes of the base stay, so that what ran before runs still.
    let base = Soc::builtin("vim3").unwrap();
    let before = &base.processors[base.processor("big").unwrap()].operating_points[0];
    assert!(
        before
            .models
            .keys()
            .all(|class| point.models.contains_key(class))
    );
    assert!(
        text.contains("made up")
            && text.contains("class not measured; from concat") == text.contains("from concat")
    );
    let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(
            |notice| notice == "little: nothing was measured; everything is the base profile's"
        ),
        "{said:#?}"
    );
    assert!(
        said.iter()
            .any(|notice| notice.contains("softmax") && notice.contains("three times activation")),
        "{said:#?}"
    );
}

#[test]
fn few_operators_of_a_class_give_fewer_coefficients_and_a_mark() {
    let text = "graph,processor,op_index,op_type,in_shape_CHW,out_shape_CHW,time_us\n\
        A,big,0,relu,64x56x56,64x56x56,200\n\
        A,big,1,relu,64x28x28,64x28x28,50\n\
        A,big,2,softmax,1000,1000,40\n";
    let measured = read(text, None).unwrap();
    let fit = fitted(&measured, "big");
    let relu = &fit.models[&OpClass::Activation];
    assert_eq!(relu.terms.len(), 1);
    assert_eq!(relu.source, Source::Estimated);
    // 40 µs less three times the rate of activations over 4000 bytes.
    let softmax = &fit.models[&OpClass::Softmax];
    assert_near(
        softmax.seconds(&measured.operators[2].work),
        40e-6,
        0.01,
        "softmax",
    );
    assert_near(
        softmax.rate(&[Feature::OutputBytes]),
        3.0 * relu.rate(&[Feature::OutputBytes]),
        0.01,
        "rate of softmax",
    );
    let base = base();
    let notices = calibrate(&measured, &base, None).unwrap().notices;
    let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|notice| notice.starts_with(
            "big, activation: 2 different operators, fewer than 3; fitted with fewer"
        )),
        "{said:#?}"
    );
    // Nothing tells how convolutions take.
    assert!(
        said.iter()
            .any(|notice| notice.starts_with("big, conv: neither measured")),
        "{said:#?}"
    );
    assert!(matches!(
        judge(&measured, &base),
        Err(CalibrateError::TooFewNetworks { networks: 1, .. })
    ));
}

#[test]
fn operators_of_one_size_anchor_their_class_even_below_the_growth_that_is_borrowed() {
    for (first, second) in [(40.0, 44.0), (3.0, 3.0), (1.0, 1.1)] {
        let text = format!(
            "{HEADER}\n\
            A,big,0,relu,64x56x56,64x56x56,0.2\n\
            A,big,1,relu,64x28x28,64x28x28,0.05\n\
            A,big,2,softmax,1000,1000,{:?}\n\
            A,big,3,softmax,1001,1001,{:?}\n",
            first * 1e-3,
            second * 1e-3
        );
        let measured = read(&text, None).unwrap();
        let fit = fitted(&measured, "big");
        let softmax = &fit.models[&OpClass::Softmax];
        // Three times the rate of activations makes 3 µs of 4000 bytes.
        for operator in &measured.operators[2..] {
            let predicted = softmax.seconds(&operator.work);
            assert_near(
                predicted,
                f64::midpoint(first, second) * 1e-6,
                0.06,
                &softmax.note,
            );
        }
        assert_eq!(softmax.source, Source::Estimated);
        assert!(softmax.rate(&[Feature::OutputBytes]) > 0.0);
    }
}

const HEADER: &str = "graph,processor,op_index,op_type,in_shape_CHW,out_shape_CHW,time_ms";

#[test]
fn rows_that_cannot_be_used_are_named_and_left_out() {
    let text = format!(
        "{HEADER}\n\
        A,big,0,relu,8x8x8,8x8x8,1.0\n\
        A,big,1,relu,8x8x8,8x8x8,-1.0\n\
        A,big,2,relu,8x8x8,8x8x8,0\n\
        A,big,3,relu,8x8x8,8x8x8,NaN\n\
        A,big,4,relu,8x8xx,8x8x8,1.0\n\
        A,big,5,teleport,8x8x8,8x8x8,1.0\n\
        A,big,0,relu,8x8x8,8x8x8,1.0\n\
        A,big,6,pool,8x8x8,8x4x4,1.0\n"
    );
    let measured = read(&text, None).unwrap();
    assert_eq!(measured.operators.len(), 2);
    let said: Vec<String> = measured.notices.iter().map(ToString::to_string).collect();
    for (start, end) in [
        (
            "op_times.csv: time_ms is -1.0, which is no positive time or power (line 3)",
            "left out",
        ),
        (
            "op_times.csv: time_ms is 0, which is no positive",
            "left out",
        ),
        (
            "op_times.csv: time_ms is NaN, which is no positive",
            "left out",
        ),
        (
            "op_times.csv: in_shape_CHW is `8x8xx`; write channels",
            "left out",
        ),
        (
            "op_times.csv: op_type `teleport` is not known; known are pool",
            "left out",
        ),
        (
            "op_times.csv: the row repeats another one of the same run, time included (line 8)",
            "counted once",
        ),
        (
            "op_times.csv: kh and kw of a pool are empty, and its name says no window (line 9)",
            "3x3 taken",
        ),
        (
            "op_times.csv: op_type `pool` says no kind (line 9)",
            "taken as max_pool",
        ),
    ] {
        assert!(
            said.iter()
                .any(|notice| notice.starts_with(start) && notice.contains(end)),
            "{start} … {end} not in {said:#?}"
        );
    }
}

#[test]
fn files_that_say_nothing_are_errors_with_their_place() {
    let error = |text: &str| read(text, None).unwrap_err().to_string();
    assert_eq!(
        error("graph,op_type,time_ms\nA,relu,1\n"),
        "op_times.csv: the columns `processor`, `in_shape_CHW`, `out_shape_CHW` are missing; the header has `graph`, `op_type`, `time_ms`"
    );
    let without_time = HEADER.replace(",time_ms", ",ms");
    assert!(
        error(&format!("{without_time}\nA,big,0,relu,8,8,1\n"))
            .contains("the column `time_ms` or `time_us` or `time_s` is missing")
    );
    assert!(error(&format!("{HEADER},time_s\nA,big,0,relu,8,8,1,1\n")).contains("say the same"));
    assert!(error(HEADER).contains("there is no row below the header"));
    assert!(error(&format!("{HEADER}\nA,big,0,magic,8,8,1\n")).contains("no row can be used"));
}

#[test]
fn mixed_units_are_refused_with_their_lines() {
    let text =
        format!("run,{HEADER}\n1,A,big,0,relu,8x8x8,8x8x8,1.0\n2,A,big,0,relu,8x8x8,8x8x8,1003\n");
    let error = read(&text, None).unwrap_err().to_string();
    assert!(
        error.contains("line 2: 1.000e-3 s, line 3: 1.003e0 s"),
        "{error}"
    );
    // Two files that disagree about one group are found too.
    let operators = "graph,processor,group,op_index,op_type,in_shape_CHW,out_shape_CHW,time_ms\n\
        A,big,0,0,relu,8x8x8,8x8x8,1.0\n";
    let groups = "graph,processor,group,time_s\nA,big,0,1.0\n";
    let error = read(operators, Some(groups)).unwrap_err();
    assert!(matches!(error, CalibrateError::MixedUnits(_)), "{error}");
}

#[test]
fn values_that_no_board_shows_are_refused_with_their_line_and_remedy() {
    let operators = "graph,processor,group,op_index,op_type,in_shape_CHW,out_shape_CHW,time_ms\n\
        A,big,1.0,0,relu,8x8x8,8x8x8,1.0\n";
    for (time, said) in [
        (
            "1e-320",
            "op_times.csv: 1 value that no board shows\n  line 2: time_ms is 1e-320, less than 1e-9 s; is time_ms in milliseconds?",
        ),
        ("1e-7", "less than 1e-9 s"),
        ("5e6", "more than 1000.0 s"),
    ] {
        let text = operators.replace(",1.0\n", &format!(",{time}\n"));
        let error = read(&text, None).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let groups = |column: &str, powers: [&str; 2]| {
        let [first, second] = powers;
        let text = format!(
            "graph,processor,group,run,time_ms,{column}\nA,big,1,1,1.0,{first}\nA,big,1.0,2,1.1,{second}\n"
        );
        read(operators, Some(&text))
    };
    assert_eq!(
        groups("board_power_W", ["3.0", "3.1"])
            .unwrap()
            .groups
            .len(),
        1
    );
    let error = groups("board_power_W", ["3000", "3100"])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("2 values that no board shows\n  line 2: board_power_W is 3000, more than 1000.0 W; is board_power_W in watts?"),
        "{error}"
    );
    let error = groups("board_power_mW", ["3000", "3.1"])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 3: 3.100e-3 W, line 2: 3.000e0 W"),
        "{error}"
    );
}

#[test]
fn a_network_in_another_unit_is_found_by_what_others_share_with_it() {
    let mut text = format!("{HEADER}\n");
    for (network, scale) in [("A", 1.0), ("B", 1.1), ("C", 1e3)] {
        for index in 0..4 {
            let size = 8 << index;
            writeln!(
                text,
                "{network},big,{index},relu,{size}x8x8,{size}x8x8,{}",
                scale * f64::from(size)
            )
            .unwrap();
        }
    }
    let error = read(&text, None).unwrap_err().to_string();
    assert!(
        error.contains("network C on big takes") && !error.contains("network B"),
        "{error}"
    );
    // One shared operator may be odd itself.
    let text = format!("{HEADER}\nA,big,0,relu,8x8x8,8x8x8,1\nB,big,0,relu,8x8x8,8x8x8,100\n");
    let said = read(&text, None).unwrap().notices;
    assert!(
        said.iter()
            .any(|notice| notice.what.starts_with("network B on big takes")),
        "{said:?}"
    );
}

#[test]
fn many_repetitions_of_one_operator_take_linear_time() {
    let mut text = format!("run,{HEADER}\n");
    for run in 0..100_000 {
        writeln!(
            text,
            "1,A,big,0,relu,8x8x8,8x8x8,{}",
            1.0 + f64::from(run) * 1e-6
        )
        .unwrap();
    }
    text.push_str("1,A,big,0,relu,8x8x8,8x8x8,1\n");
    let start = std::time::Instant::now();
    let measured = read(&text, None).unwrap();
    assert_eq!(measured.operators[0].repetitions, 100_000);
    assert!(
        measured
            .notices
            .iter()
            .any(|notice| notice.what.contains("repeats another one"))
    );
    // Comparing each with each takes minutes in this build.
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn groups_without_operators_are_named() {
    let operators = "graph,processor,group,op_index,op_type,in_shape_CHW,out_shape_CHW,time_ms\n\
        A,big,0,0,relu,8x8x8,8x8x8,1.0\n";
    let groups = "graph,processor,group,time_ms\nA,big,0,1.0\nAX,big,0,1.0\n,big,0,1\n";
    let measured = read(operators, Some(groups)).unwrap();
    let said: Vec<String> = measured.notices.iter().map(ToString::to_string).collect();
    assert!(
        said.iter()
            .any(|one| one.contains("belongs to group 0 of AX on big;")),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|one| one.contains("graph or processor is empty (line 4)")),
        "{said:?}"
    );
    assert_eq!(measured.processors().len(), 1);
}

#[test]
fn what_only_the_left_out_network_has_is_predicted_by_the_base() {
    let text = format!(
        "{HEADER}\nA,big,0,relu,8x8x8,8x8x8,1.0\nB,big,0,relu,8x8x8,8x8x8,1.0\nB,big,1,softmax,1000,1000,1.0\n"
    );
    let measured = read(&text, None).unwrap();
    let report = judge(&measured, &base()).unwrap();
    assert!(
        report
            .points
            .iter()
            .all(|point| point.predicted > 0.0 && point.predicted.is_finite())
    );
    let softmax = report
        .points
        .iter()
        .any(|point| point.class == Some(OpClass::Softmax));
    assert!(softmax || !report.notices.is_empty());
}

#[test]
fn leaving_out_is_bounded() {
    let mut text = format!("{HEADER}\n");
    for network in 0..101 {
        writeln!(text, "n{network},big,0,relu,8x8x8,8x8x8,1.0").unwrap();
    }
    let error = judge(&read(&text, None).unwrap(), &base()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`big`: 101 networks measured; leaving each one out is limited to 100"
    );
    let text = format!("{HEADER}\nA,big,0,relu,8x8x8,8x8x8,1.0\n");
    let error = judge(&read(&text, None).unwrap(), &base())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`big`: 1 network measured, but without `A`"),
        "{error}"
    );
}

#[test]
fn repetitions_are_averaged_and_their_spread_is_the_noise() {
    let text =
        format!("run,{HEADER}\n1,A,big,0,relu,8x8x8,8x8x8,1.0\n2,A,big,0,relu,8x8x8,8x8x8,1.2\n");
    let measured = read(&text, None).unwrap();
    assert_eq!(measured.operators.len(), 1);
    assert_near(
        measured.operators[0].seconds.unwrap(),
        1.1e-3,
        1e-12,
        "mean",
    );
    assert_eq!(measured.operators[0].repetitions, 2);
    // Deviations of 1/11 either side, with one degree of freedom.
    let noise = measured.noise["big"].operator.unwrap();
    assert_near(noise, 2f64.sqrt() / 11.0, 1e-9, "noise");
}

#[test]
fn a_group_with_an_unknown_operator_is_not_fitted() {
    let (operators, groups) = tables(Disturbance::None);
    let operators = operators.replacen("A,gpu,3,18,conv", "A,gpu,3,18,magic", 1);
    let measured = read(&operators, Some(&groups)).unwrap();
    let fit = fitted(&measured, "gpu");
    assert_eq!(fit.groups.unwrap().groups, 4 * 14 - 1);
}

#[test]
fn processors_are_matched_by_name() {
    let text = format!("{HEADER}\nA,B,0,relu,8x8x8,8x8x8,1.0\nA,bigg,0,relu,8x8x8,8x8x8,1.0\n");
    let measured = read(&text, None).unwrap();
    let error = calibrate(&measured, &base(), None).unwrap_err().to_string();
    assert!(
        error.starts_with("measured processors `B`, `bigg`, did you mean `big`?")
            || error.contains("did you mean `big`?"),
        "{error}"
    );
    assert!(
        error.ends_with("say which is which, as in --rename B=big"),
        "{error}"
    );
    let names = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    };
    let renamed = measured
        .clone()
        .renamed(&names(&[("B", "little"), ("bigg", "big")]))
        .unwrap();
    assert!(calibrate(&renamed, &base(), None).is_ok());
    assert!(matches!(
        measured.clone().renamed(&names(&[("X", "big")])),
        Err(CalibrateError::RenamedNothing { .. })
    ));
    assert!(matches!(
        measured.renamed(&names(&[("B", "big"), ("bigg", "big")])),
        Err(CalibrateError::RenamedTogether { .. })
    ));
}

#[test]
fn files_are_read_from_a_directory_and_bad_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (operators, groups) = tables(Disturbance::None);
    let error = Measurements::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("op_times.csv: cannot read the file"),
        "{error}"
    );
    std::fs::write(folder.path().join("op_times.csv"), &operators).unwrap();
    let measured = Measurements::read(folder.path()).unwrap();
    let said: Vec<String> = measured.notices.iter().map(ToString::to_string).collect();
    assert!(
        said.iter()
            .any(|notice| notice.contains("group_times_power.csv: there is no such file; powers")),
        "{said:#?}"
    );
    std::fs::write(folder.path().join("group_times_power.csv"), groups).unwrap();
    std::fs::write(
        folder.path().join("power_states.csv"),
        "idle_W\n2.0\n2.2\n2.5\n",
    )
    .unwrap();
    let measured = Measurements::read(folder.path()).unwrap();
    assert_near(measured.idle.unwrap(), 2.2, 1e-12, "median");
    std::fs::write(folder.path().join("power_states.csv"), b"idle_W\n\xff\n").unwrap();
    let error = Measurements::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("power_states.csv: the file is not UTF-8 text"),
        "{error}"
    );
}

mod launch_bound;

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_table_is_read_or_refused(text in "(graph|processor|op_type|in_shape_CHW|out_shape_CHW|time_ms|[a-z0-9x.,\"\n-]){0,80}") {
            let _ = read(&text, None);
        }

        #[test]
        fn any_cell_is_read_or_named(cell in "[ -~]{0,12}", column in 0usize..7) {
            let mut cells = ["A", "big", "0", "conv", "8x8x8", "8x8x8", "1.0"].map(str::to_owned);
            cells[column] = cell.replace(['"', ','], "");
            let text = format!("{HEADER}\n{}\nA,big,9,relu,8x8x8,8x8x8,1.0\n", cells.join(","));
            if let Ok(measured) = read(&text, None) {
                for operator in &measured.operators {
                    prop_assert!(operator.seconds.is_none_or(|seconds| seconds > 0.0));
                }
                if measured.processors().len() == 1 && measured.processors().contains("big") {
                    let fitted = calibrate(&measured, &base(), None).unwrap();
                    let text = profile_text(&fitted.profile);
                    prop_assert!(Soc::from_json(&text, "fitted").is_ok());
                }
            }
        }
    }
}

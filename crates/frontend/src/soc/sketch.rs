//! A first profile from what a data sheet says: cores and clocks, peak rates, one memory bandwidth.
//!
//! Every number is a rule of thumb and stays marked as assumed, so the profile is announced as synthetic until somebody replaces one by a
//! better one.
//! The rules are those of roofline models (Williams et al. 2009) with a share of the peak that libraries reach; `docs/describe-your-chip.md` names them.
//! What it does not do: guess what a particular chip lacks; NPUs alone are given no more than the operators that nearly all of them have.

use std::fmt::Write;
use std::str::FromStr;

use paracompile_plan::OpClass;
use serde_json::{Value, json};

use super::error::{Defect, Problem};
use super::reading::is_safe;
use super::{Soc, SocError};

/// Bytes a second between processors and their shared memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth(f64);

/// A processor as a data sheet describes it: `NAME=KIND:SPEED[:POWER]`, as in `big=cpu:4x2.3GHz:4W` or `npu:6TOPS`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessorSketch {
    name: String,
    kind: SketchKind,
    /// Multiply-accumulates a second, at best.
    peak: f64,
    /// Where the peak comes from, for people.
    origin: String,
    /// Clock, where the speed has one.
    hertz: Option<f64>,
    watts: f64,
}

/// Why a description is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SketchError {
    /// The parts are not there.
    #[error(
        "`{0}` is not NAME=KIND:SPEED or NAME=KIND:SPEED:POWER, for example big=cpu:4x2.3GHz or npu:6TOPS:2W"
    )]
    Shape(String),
    /// No such kind.
    #[error("`{0}` is not a kind of processor: cpu, gpu, npu or dsp")]
    Kind(String),
    /// No speed.
    #[error(
        "`{0}` is not a speed: write CORESxCLOCK as in 4x2.3GHz, or a peak as in 470GFLOPS, 6TOPS or 2TMACS"
    )]
    Speed(String),
    /// No power.
    #[error("`{0}` is not a power: write watts as in 4W or 0.5W")]
    Power(String),
    /// No bandwidth.
    #[error("`{0}` is not a bandwidth: write for example 10GB/s")]
    Bandwidth(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SketchKind {
    Cpu,
    Gpu,
    Npu,
    Dsp,
}

/// Multiply-accumulates of a core in single precision a cycle: two vector units of 128 bits.
const MACS_A_CYCLE: f64 = 8.0;
/// Megabytes to bytes and the like.
const UNITS: [(&str, f64); 6] = [
    ("TFLOPS", 0.5e12),
    ("GFLOPS", 0.5e9),
    ("TOPS", 0.5e12),
    ("GOPS", 0.5e9),
    ("TMACS", 1e12),
    ("GMACS", 1e9),
];

impl FromStr for Bandwidth {
    type Err = SketchError;

    fn from_str(text: &str) -> Result<Self, SketchError> {
        [("GB/s", 1e9), ("MB/s", 1e6)]
            .iter()
            .find_map(|&(unit, scale)| positive(text.strip_suffix(unit)?, scale))
            .map(Self)
            .ok_or_else(|| SketchError::Bandwidth(text.to_owned()))
    }
}

impl FromStr for ProcessorSketch {
    type Err = SketchError;

    fn from_str(text: &str) -> Result<Self, SketchError> {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) => (Some(name), rest),
            None => (None, text),
        };
        let parts: Vec<&str> = rest.split(':').collect();
        let (kind, speed, power) = match *parts.as_slice() {
            [kind, speed] => (kind, speed, None),
            [kind, speed, power] => (kind, speed, Some(power)),
            _ => return Err(SketchError::Shape(text.to_owned())),
        };
        let name = name.unwrap_or(kind).to_owned();
        let kind = SketchKind::from_word(kind).ok_or_else(|| SketchError::Kind(kind.to_owned()))?;
        let (peak, origin, hertz) =
            peak(speed).ok_or_else(|| SketchError::Speed(speed.to_owned()))?;
        let watts = match power {
            None => kind.usual_watts(),
            Some(power) => power
                .strip_suffix('W')
                .and_then(|watts| positive(watts, 1.0))
                .ok_or_else(|| SketchError::Power(power.to_owned()))?,
        };
        Ok(Self {
            name,
            kind,
            peak,
            origin,
            hertz,
            watts,
        })
    }
}

/// The text of a profile, correct and with all numbers assumed; what cannot be, such as two processors of one name, is refused as in a file.
pub fn sketch(
    name: &str,
    processors: &[ProcessorSketch],
    bandwidth: Bandwidth,
) -> Result<String, SocError> {
    let problems = names(name, processors);
    if !problems.is_empty() {
        return Err(SocError::Names { problems });
    }
    let text = text(name, processors, bandwidth.0);
    Soc::from_json(&text, name)?;
    Ok(text)
}

/// What is wrong with names, once for each: a profile repeats them in many places, and no file has those yet.
fn names(name: &str, processors: &[ProcessorSketch]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |at: &str, defect| {
        problems.push(Problem {
            at: at.to_owned(),
            defect,
        });
    };
    if !is_safe(name) {
        report("the profile's name", Defect::UnsafeName(name.to_owned()));
    }
    for (index, processor) in processors.iter().enumerate() {
        let name = &processor.name;
        let first = processors.iter().position(|other| other.name == *name);
        if first != Some(index) {
            report(
                &format!("processor {}", index + 1),
                Defect::Duplicate {
                    what: "processor",
                    name: name.clone(),
                    first: format!("processor {}", first.unwrap_or(0) + 1),
                },
            );
        } else if name == "io" {
            report(&format!("processor {}", index + 1), Defect::ReservedName);
        } else if !is_safe(name) {
            report(
                &format!("processor {}", index + 1),
                Defect::UnsafeName(name.clone()),
            );
        }
    }
    problems
}

impl SketchKind {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "cpu" => Some(Self::Cpu),
            "gpu" => Some(Self::Gpu),
            "npu" => Some(Self::Npu),
            "dsp" => Some(Self::Dsp),
            _ => None,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Npu => "npu",
            Self::Dsp => "dsp",
        }
    }

    /// The share of the peak that libraries reach over whole networks.
    const fn reached(self) -> (f64, &'static str) {
        match self {
            Self::Cpu | Self::Dsp => (0.5, "half"),
            Self::Gpu => (0.25, "a quarter"),
            Self::Npu => (0.2, "a fifth"),
        }
    }

    /// Seconds before an operator does anything.
    const fn launch(self) -> f64 {
        match self {
            Self::Cpu => 1e-5,
            Self::Gpu => 1e-4,
            Self::Npu | Self::Dsp => 2e-5,
        }
    }

    const fn usual_watts(self) -> f64 {
        match self {
            Self::Cpu | Self::Gpu | Self::Npu => 2.0,
            Self::Dsp => 0.5,
        }
    }

    /// Whether it has a memory of its own, so that moves to it cost.
    const fn stands_apart(self) -> bool {
        match self {
            Self::Cpu => false,
            Self::Gpu | Self::Npu | Self::Dsp => true,
        }
    }

    const fn runs(self, class: OpClass) -> bool {
        match class {
            OpClass::Conv
            | OpClass::DepthwiseConv
            | OpClass::ConvTranspose
            | OpClass::Gemm
            | OpClass::Matmul
            | OpClass::MaxPool
            | OpClass::AveragePool
            | OpClass::GlobalPool
            | OpClass::Activation
            | OpClass::BatchNorm
            | OpClass::Elementwise
            | OpClass::Concat => true,
            OpClass::LayerNorm
            | OpClass::LocalResponseNorm
            | OpClass::Softmax
            | OpClass::Reduce
            | OpClass::Split
            | OpClass::Transpose
            | OpClass::Pad
            | OpClass::Slice
            | OpClass::Gather
            | OpClass::Resize
            | OpClass::Cast => !matches!(self, Self::Npu),
            OpClass::Recurrent | OpClass::Other | OpClass::Opaque => matches!(self, Self::Cpu),
        }
    }
}

impl ProcessorSketch {
    fn memory(&self) -> &str {
        if self.kind.stands_apart() {
            &self.name
        } else {
            SHARED
        }
    }

    fn classes(&self) -> impl Iterator<Item = OpClass> {
        let kind = self.kind;
        OpClass::ALL
            .into_iter()
            .filter(move |&class| kind.runs(class))
    }

    fn model(&self, class: OpClass, bandwidth: f64) -> Value {
        let (share, in_words) = self.kind.reached();
        let mac = rounded(1.0 / (self.peak * share));
        // Half of the bandwidth, since others want some and accesses are not all in a row.
        let byte = rounded(2.0 / bandwidth);
        let launch = self.kind.launch();
        let rate = format!(
            "{in_words} of the peak of {}, half of the bandwidth",
            self.origin
        );
        let (features, coefficients, note) = match class {
            OpClass::Conv
            | OpClass::DepthwiseConv
            | OpClass::ConvTranspose
            | OpClass::Gemm
            | OpClass::Matmul
            | OpClass::Recurrent => (
                vec![
                    "launch",
                    "macs",
                    "input_bytes",
                    "weight_bytes",
                    "output_bytes",
                ],
                // Depthwise convolutions keep few multipliers busy.
                vec![
                    launch,
                    if class == OpClass::DepthwiseConv {
                        rounded(4.0 * mac)
                    } else {
                        mac
                    },
                    byte,
                    byte,
                    byte,
                ],
                rate,
            ),
            OpClass::MaxPool | OpClass::AveragePool => (
                vec!["launch", "window", "input_bytes", "output_bytes"],
                vec![launch, rounded(2.0 * mac), byte, byte],
                rate,
            ),
            OpClass::Softmax | OpClass::LayerNorm | OpClass::LocalResponseNorm => (
                vec!["launch", "input_bytes", "output_bytes"],
                vec![launch, rounded(3.0 * byte), byte],
                "three passes at half of the bandwidth".to_owned(),
            ),
            OpClass::Other | OpClass::Opaque => (
                vec!["launch", "input_bytes", "weight_bytes", "output_bytes"],
                vec![
                    rounded(5.0 * launch),
                    rounded(4.0 * byte),
                    rounded(4.0 * byte),
                    rounded(4.0 * byte),
                ],
                "not understood, so four times the bytes".to_owned(),
            ),
            OpClass::GlobalPool
            | OpClass::Activation
            | OpClass::BatchNorm
            | OpClass::Elementwise
            | OpClass::Reduce
            | OpClass::Concat
            | OpClass::Split
            | OpClass::Transpose
            | OpClass::Pad
            | OpClass::Slice
            | OpClass::Gather
            | OpClass::Resize
            | OpClass::Cast => (
                vec!["launch", "input_bytes", "output_bytes"],
                vec![launch, byte, byte],
                "half of the bandwidth".to_owned(),
            ),
        };
        json!({
            "class": class.name(), "dtype": "any", "features": features, "coefficients": coefficients,
            "combine": "sum", "source": "assumed", "note": note,
        })
    }

    fn entry(&self, bandwidth: f64) -> String {
        let mut text = String::new();
        let power: serde_json::Map<_, _> = self
            .classes()
            .map(|class| (class.name().to_owned(), json!(self.watts)))
            .collect();
        let models: Vec<String> = self
            .classes()
            .map(|class| format!("            {}", self.model(class, bandwidth)))
            .collect();
        let fields = json!({
            "name": self.name, "kind": self.kind.word(), "memory": self.memory(), "layout": "any",
            "compute_queues_max": 1, "sharing": [1], "fuses": ["activation", "batch_norm"],
        });
        for (key, value) in fields.as_object().into_iter().flatten() {
            let _ = writeln!(text, "      \"{key}\": {value},");
        }
        // A profile has a clock for people to read; a peak rate has none, and 1 GHz is as good a guess as any.
        let (point, hertz) = match self.hertz {
            Some(hertz) => (format!("{:.0}MHz", hertz / 1e6), hertz),
            None => ("usual".to_owned(), 1e9),
        };
        format!(
            "    {{\n{text}      \"operating_points\": [\n        {{\n          \"name\": \"{point}\",\n          \"hertz\": {},\n          \"static_w\": {},\n          \"dynamic_w\": {},\n          \"models\": [\n{}\n          ]\n        }}\n      ]\n    }}",
            json!(hertz),
            json!(rounded(self.watts / 20.0)),
            Value::Object(power),
            models.join(",\n"),
        )
    }
}

/// The memory of all CPUs, where frames arrive.
const SHARED: &str = "dram";

fn text(name: &str, processors: &[ProcessorSketch], bandwidth: f64) -> String {
    let mut memories: Vec<&str> = vec![SHARED];
    for processor in processors {
        if !memories.contains(&processor.memory()) {
            memories.push(processor.memory());
        }
    }
    let mut links = Vec::new();
    for &from in &memories {
        for &to in memories.iter().filter(|&&to| to != from) {
            links.push(json!({
                "from": from, "to": to, "latency_s": 2e-4, "bytes_per_s": rounded(bandwidth / 4.0),
                "convert_s_per_byte": 0.0, "power_w": 0.5, "source": "assumed",
                "note": "a quarter of the bandwidth: read, write, and a change of format",
            }));
        }
    }
    let factors: serde_json::Map<_, _> = processors
        .iter()
        .map(|processor| (processor.name.clone(), json!(1.15)))
        .collect();
    let names: Vec<&String> = factors.keys().collect();
    let contention = if processors.len() > 1 {
        vec![
            json!({ "set": names, "factor": factors, "source": "assumed", "note": "all share the memory" }),
        ]
    } else {
        Vec::new()
    };
    let memories = memories
        .iter()
        .map(|memory| json!({ "name": memory, "bytes": null }));
    let processors: Vec<String> = processors
        .iter()
        .map(|processor| processor.entry(bandwidth))
        .collect();
    format!(
        "{{\n  \"schema\": 1,\n  \"name\": {},\n  \"description\": {},\n  \"io\": \"{SHARED}\",\n  \"memories\": [\n{}\n  ],\n  \"processors\": [\n{}\n  ],\n  \"links\": [\n{}\n  ],\n  \"contention\": [\n{}\n  ],\n  \"host\": {{ \"enqueue_s\": 2e-5 }},\n  \"board\": {{ \"base_w\": 2 }}\n}}\n",
        json!(name),
        json!("sketched from peak rates; every number is assumed"),
        lines(memories),
        processors.join(",\n"),
        lines(links.into_iter()),
        lines(contention.into_iter()),
    )
}

fn lines(entries: impl Iterator<Item = Value>) -> String {
    let entries: Vec<String> = entries.map(|entry| format!("    {entry}")).collect();
    entries.join(",\n")
}

/// Multiply-accumulates a second, the words for it, and the clock where there is one.
fn peak(speed: &str) -> Option<(f64, String, Option<f64>)> {
    if let Some((cores, clock)) = speed.split_once('x') {
        let hertz = [("GHz", 1e9), ("MHz", 1e6)]
            .iter()
            .find_map(|&(unit, scale)| positive(clock.strip_suffix(unit)?, scale))?;
        let cores: u32 = cores.parse().ok().filter(|&cores| cores > 0)?;
        let words =
            format!("{cores} cores at {clock} with {MACS_A_CYCLE} multiply-accumulates a cycle");
        return Some((f64::from(cores) * hertz * MACS_A_CYCLE, words, Some(hertz)));
    }
    UNITS.iter().find_map(|&(unit, scale)| {
        let macs = positive(speed.strip_suffix(unit)?, scale)?;
        Some((macs, speed.to_owned(), None))
    })
}

/// A positive number times a scale; numbers whose products would leave the range of profiles are none.
fn positive(text: &str, scale: f64) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    let scaled = number * scale;
    ((1e-3..=1e6).contains(&number) && scaled.is_finite()).then_some(scaled)
}

/// Two digits: more would claim something.
fn rounded(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Overview;

    fn processors(texts: &[&str]) -> Vec<ProcessorSketch> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn bandwidth() -> Bandwidth {
        "10GB/s".parse().unwrap()
    }

    #[test]
    fn a_sketch_is_a_correct_profile_whose_numbers_are_all_assumed() {
        let processors = processors(&[
            "big=cpu:4x2.3GHz:4W",
            "gpu:470GFLOPS",
            "npu:6TOPS",
            "dsp:100GMACS",
        ]);
        let text = sketch("board", &processors, bandwidth()).unwrap();
        let overview = Overview::from_json(&text, "sketch").unwrap();
        assert!(overview.soc.synthetic);
        assert!(overview.description.is_some());
        let names: Vec<_> = overview
            .soc
            .processors
            .as_slice()
            .iter()
            .map(|p| p.name.as_str())
            .collect();
        assert_eq!(names, ["big", "gpu", "npu", "dsp"]);
        let cpu = &overview.soc.processors.as_slice()[0].operating_points[0];
        assert_eq!(
            cpu.models.len(),
            OpClass::ALL.len(),
            "whatever a network needs, the CPU runs"
        );
    }

    #[test]
    fn a_coefficient_is_the_share_of_the_peak() {
        let processors = processors(&["cpu:4x2.5GHz"]);
        let text = sketch("board", &processors, bandwidth()).unwrap();
        let soc = Soc::from_json(&text, "sketch").unwrap();
        let point = &soc.processors.as_slice()[0].operating_points[0];
        // 4 · 2.5 GHz · 8 multiply-accumulates, half of it; 5 GB/s.
        let [_, mac, byte, ..] = point.models[&OpClass::Conv][0].coefficients.as_slice() else {
            panic!("a convolution has five terms");
        };
        assert!((mac * 40e9 - 1.0).abs() < 0.05, "{mac}");
        assert!((byte * 5e9 - 1.0).abs() < 0.05, "{byte}");
    }

    #[test]
    fn what_is_no_description_says_what_would_be_one() {
        let wrong = |text: &str| text.parse::<ProcessorSketch>().unwrap_err().to_string();
        assert!(wrong("cpu").contains("NAME=KIND:SPEED"));
        assert!(wrong("tpu:4TOPS").contains("cpu, gpu, npu or dsp"));
        for speed in [
            "cpu:fast",
            "cpu:0x2GHz",
            "cpu:4x2",
            "gpu:-1GFLOPS",
            "gpu:NaNTOPS",
            "npu:1e300TOPS",
        ] {
            assert!(wrong(speed).contains("4x2.3GHz"), "{speed}");
        }
        assert!(wrong("cpu:4x2GHz:warm").contains("watts"));
        assert!(
            "10".parse::<Bandwidth>()
                .unwrap_err()
                .to_string()
                .contains("10GB/s")
        );
        let twice = processors(&["cpu:4x2GHz", "cpu:4x1GHz"]);
        let error = sketch("board", &twice, bandwidth())
            .unwrap_err()
            .to_string();
        assert!(error.contains("appears twice"), "{error}");
        assert!(sketch("bo/ard", &twice[..1], bandwidth()).is_err());
    }

    #[test]
    fn a_bad_name_is_one_problem_however_often_the_profile_would_repeat_it() {
        let processors = processors(&["io=cpu:4x2GHz", "big core=gpu:1TOPS", "npu:6TOPS"]);
        let error = sketch("bo/ard", &processors, bandwidth()).unwrap_err();
        let SocError::Names { problems } = error else {
            panic!("{error}");
        };
        let places: Vec<&str> = problems.iter().map(|it| it.at.as_str()).collect();
        assert_eq!(places, ["the profile's name", "processor 1", "processor 2"]);
    }
}

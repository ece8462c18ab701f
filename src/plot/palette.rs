//! Colours that mean the same in every picture: one a processor, one a strategy, shades for kinds of operators.
//!
//! The hues are those of Okabe and Ito (2008), which people with any kind of colour vision tell apart.
//! Grey is for what is no processor: moves, waits and axes.
//! The script of the report page has the same hues in the same order; a test compares them.
//! Colour never stands alone: processors have lanes, names or marks beside it, strategies have marks.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;
use paracompile_plan::plan::Strategy;
use plotters::style::RGBColor;

use super::canvas::Mark;

const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const PINK: RGBColor = RGBColor(204, 121, 167);
const SKY: RGBColor = RGBColor(86, 180, 233);
const VERMILLION: RGBColor = RGBColor(213, 94, 0);
const YELLOW: RGBColor = RGBColor(240, 228, 66);
const GREY: RGBColor = RGBColor(120, 120, 120);

/// For processors; yellow is the last, because it is light.
const HUES: [RGBColor; 7] = [BLUE, ORANGE, GREEN, SKY, PINK, VERMILLION, YELLOW];
/// What has no hue left of its own takes one with so much white.
const LIGHTER: f64 = 0.6;

/// Texts and axes.
pub(super) const INK: RGBColor = RGBColor(38, 38, 38);
/// Secondary texts.
pub(super) const SOFT: RGBColor = RGBColor(100, 100, 100);
/// Grid lines.
pub(super) const FAINT: RGBColor = RGBColor(228, 228, 228);
/// What calls for attention.
pub(super) const ACCENT: RGBColor = VERMILLION;

/// Black or white, whichever is easier to read on `colour`.
pub(super) fn ink_on(colour: RGBColor) -> RGBColor {
    let RGBColor(red, green, blue) = colour;
    let light = 0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue);
    if light < 135.0 {
        RGBColor(255, 255, 255)
    } else {
        INK
    }
}

/// `share` of the colour on white.
pub(super) fn tint(RGBColor(red, green, blue): RGBColor, share: f64) -> RGBColor {
    mix((red, green, blue), 255.0, share)
}

/// `share` of the colour on black.
fn shade(RGBColor(red, green, blue): RGBColor, share: f64) -> RGBColor {
    mix((red, green, blue), 0.0, share)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of two bytes is a byte"
)]
fn mix((red, green, blue): (u8, u8, u8), ground: f64, share: f64) -> RGBColor {
    let mean = |part: u8| (ground + (f64::from(part) - ground) * share).round() as u8;
    RGBColor(mean(red), mean(green), mean(blue))
}

/// Colour and mark of a strategy.
pub(super) const fn strategy(strategy: Strategy) -> (RGBColor, Mark) {
    match strategy {
        Strategy::Single => (GREY, Mark::Circle),
        Strategy::ParaOnly => (BLUE, Mark::Square),
        Strategy::PipeOnly => (ORANGE, Mark::Triangle),
        Strategy::Hybrid => (GREEN, Mark::Diamond),
    }
}

/// Colours and marks of processors by name.
#[derive(Clone, Debug)]
pub(super) struct Processors(BTreeMap<String, (RGBColor, Mark)>);

impl Processors {
    /// Gives every name a look of its own.
    ///
    /// The names that chips mostly use have their colour in every picture; another name takes the one that its letters lead to, or the next that is free.
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_by_key(|name| (usual(name).is_none(), *name));
        names.dedup();
        let mut taken = Vec::new();
        let mut looks = BTreeMap::new();
        for name in names {
            let wanted = usual(name).unwrap_or_else(|| spread(name));
            let slots = (0..).map(|step| wanted + step).take(HUES.len());
            let slot = slots
                .map(|slot| slot % HUES.len())
                .find(|slot| !taken.contains(slot));
            let look = match slot {
                Some(slot) => {
                    taken.push(slot);
                    (HUES[slot], MARKS[slot % MARKS.len()])
                }
                // Past seven, a lighter hue; lanes and labels tell which.
                None => (
                    tint(HUES[looks.len() % HUES.len()], LIGHTER),
                    MARKS[(looks.len() + 1) % MARKS.len()],
                ),
            };
            looks.insert(name.to_owned(), look);
        }
        Self(looks)
    }

    /// The colour of a processor; grey for a name that was not there.
    pub(super) fn colour(&self, name: &str) -> RGBColor {
        self.0.get(name).map_or(GREY, |look| look.0)
    }

    /// The colours of the first two by name, for samples; one stands for both.
    pub(super) fn first_two(&self) -> [RGBColor; 2] {
        let mut colours = self.0.values().map(|look| look.0);
        let first = colours.next().unwrap_or(GREY);
        [first, colours.next().unwrap_or(first)]
    }

    /// The mark of a processor.
    pub(super) fn mark(&self, name: &str) -> Mark {
        self.0.get(name).map_or(Mark::Circle, |look| look.1)
    }
}

const MARKS: [Mark; 5] = [
    Mark::Circle,
    Mark::Square,
    Mark::Triangle,
    Mark::Diamond,
    Mark::Pentagon,
];

/// Names that many chips use, by their hue.
const USUAL: [&[&str]; 6] = [
    &["big", "cpu", "a76", "a73", "a78"],
    &["gpu"],
    &["npu", "npu0", "dla"],
    &["little", "a55", "a53"],
    &["dsp", "dsp0", "mid", "npu1"],
    &["dsp1", "npu2"],
];

/// The hue of a name that many chips use.
fn usual(name: &str) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    USUAL
        .iter()
        .position(|names| names.contains(&name.as_str()))
}

/// A place that depends on the letters alone; yellow is for the last.
fn spread(name: &str) -> usize {
    let sum = name.bytes().fold(0u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    sum as usize % (HUES.len() - 1)
}

/// A colour for the thing at this place of a list of other things than processors; lighter ones past seven.
pub(super) fn hue(place: usize) -> RGBColor {
    let colour = HUES[place % HUES.len()];
    if place < HUES.len() {
        colour
    } else {
        tint(colour, LIGHTER)
    }
}

/// Kinds of operators that are shaded alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// Convolutions and matrix products.
    Products,
    /// Pooling and reductions.
    Pooling,
    /// Element by element, normalisation.
    Pointwise,
    /// What only moves elements.
    Reordering,
    /// Everything else.
    Other,
}

impl Family {
    /// All, in the order of legends.
    pub(super) const ALL: [Self; 5] = [
        Self::Products,
        Self::Pooling,
        Self::Pointwise,
        Self::Reordering,
        Self::Other,
    ];

    /// The family of a class.
    pub(super) const fn of(class: OpClass) -> Self {
        match class {
            OpClass::Conv
            | OpClass::DepthwiseConv
            | OpClass::ConvTranspose
            | OpClass::Gemm
            | OpClass::Matmul
            | OpClass::Recurrent => Self::Products,
            OpClass::MaxPool | OpClass::AveragePool | OpClass::GlobalPool | OpClass::Reduce => {
                Self::Pooling
            }
            OpClass::Activation
            | OpClass::BatchNorm
            | OpClass::LayerNorm
            | OpClass::LocalResponseNorm
            | OpClass::Softmax
            | OpClass::Elementwise => Self::Pointwise,
            OpClass::Concat
            | OpClass::Split
            | OpClass::Transpose
            | OpClass::Pad
            | OpClass::Slice
            | OpClass::Gather
            | OpClass::Resize
            | OpClass::Cast => Self::Reordering,
            OpClass::Other | OpClass::Opaque => Self::Other,
        }
    }

    /// The colour of a processor, in the shade of the family.
    pub(super) fn on(self, colour: RGBColor) -> RGBColor {
        match self {
            Self::Products => colour,
            Self::Pooling => shade(colour, 0.62),
            Self::Pointwise => tint(colour, 0.72),
            Self::Reordering => tint(colour, 0.5),
            Self::Other => shade(colour, 0.4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_seven_processors_have_colours_of_their_own() {
        let names = ["big", "npu", "x", "y", "z", "prozessor_mit_ümlaut", "a"];
        let looks = Processors::of(names);
        let mut colours: Vec<_> = names.iter().map(|name| looks.colour(name)).collect();
        colours.sort_by_key(|&RGBColor(r, g, b)| (r, g, b));
        colours.dedup();
        assert_eq!(colours.len(), names.len());
    }

    #[test]
    fn usual_names_look_the_same_in_every_company() {
        let alone = Processors::of(["gpu"]);
        let among = Processors::of(["aaa", "zzz", "gpu", "big"]);
        assert_eq!(alone.colour("gpu"), among.colour("gpu"));
        assert_eq!(alone.mark("gpu"), among.mark("gpu"));
        // The order in which names come does not matter.
        let turned = Processors::of(["big", "gpu", "zzz", "aaa"]);
        for name in ["aaa", "zzz", "gpu", "big"] {
            assert_eq!(among.colour(name), turned.colour(name));
        }
    }

    #[test]
    fn no_processor_is_grey() {
        let names: Vec<String> = (0..20).map(|index| format!("core{index}")).collect();
        for count in 1..=names.len() {
            let looks = Processors::of(names[..count].iter().map(String::as_str));
            for name in &names[..count] {
                let RGBColor(red, green, blue) = looks.colour(name);
                let spread = red.max(green).max(blue) - red.min(green).min(blue);
                assert!(spread > 40, "{name} of {count}: {red} {green} {blue}");
            }
        }
    }

    #[test]
    fn the_report_page_has_the_same_colours() {
        let script = include_str!("../report/script/run.js");
        let hex = |RGBColor(red, green, blue): RGBColor| format!("#{red:02x}{green:02x}{blue:02x}");
        let list = |name: &str, colours: &[RGBColor]| {
            let colours: Vec<String> = colours
                .iter()
                .map(|&colour| format!("\"{}\"", hex(colour)))
                .collect();
            format!("const {name} = [{}];\n", colours.join(", "))
        };
        let usual: Vec<String> = USUAL.iter().map(|names| format!("{names:?}")).collect();
        for line in [
            list("HUES", &HUES),
            list("LIGHTER", &HUES.map(|hue| tint(hue, LIGHTER))),
            format!("const USUAL = [{}];\n", usual.join(", ")),
        ] {
            assert!(script.contains(&line), "{line}");
        }
        for (of, name) in [
            (Strategy::Single, "single"),
            (Strategy::ParaOnly, "para-only"),
            (Strategy::PipeOnly, "pipe-only"),
            (Strategy::Hybrid, "hybrid"),
        ] {
            let line = format!("\"{name}\": {{ colour: \"{}\"", hex(strategy(of).0));
            assert!(script.contains(&line), "{line}");
        }
    }

    #[test]
    fn sixteen_processors_have_looks() {
        let names: Vec<String> = (0..16).map(|index| format!("core{index}")).collect();
        let looks = Processors::of(names.iter().map(String::as_str));
        assert!(names.iter().all(|name| looks.0.contains_key(name)));
    }
}

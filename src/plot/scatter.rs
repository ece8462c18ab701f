//! Predictions over measurements, both logarithmic: on the line a prediction is right, and the band is a tenth on both sides of it.
//!
//! One panel for each quantity and level, because an operator takes a thousandth of what a network does.
//! What the cost model has not seen the like of is hollow.

use std::collections::BTreeMap;

use paracompile_plan::counted;

use super::axis::{Axis, energy_unit, time_unit};
use super::canvas::{Canvas, HPos, Lettering, Point, VPos, picture, to_f64, to_pixels};
use super::fidelity::{Fidelity, FidelityPoint, Level, Quantity, error};
use super::labels::Area;
use super::palette::{INK, Processors, SOFT, tint};
use super::panel::{Panel, Titles};

const WIDTH: u32 = 1000;
const TOP: f64 = 74.0;
/// A panel with its axes, without its legend.
const CELL: f64 = 500.0;
const SIDE: f64 = 380.0;
const LEFT: f64 = 84.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 64.0;
const ROW: f64 = 19.0;

/// Draws a report as SVG.
pub fn scatter(report: &Fidelity) -> String {
    let looks = Processors::of(report.points.iter().map(|point| point.processor.as_str()));
    let mut groups: BTreeMap<(Quantity, Level), Vec<&FidelityPoint>> = BTreeMap::new();
    for point in &report.points {
        let group = groups.entry((point.quantity, point.level)).or_default();
        group.push(point);
    }
    let processors = |points: &[&FidelityPoint]| -> Vec<String> {
        let mut names: Vec<String> = points.iter().map(|p| p.processor.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let most = groups.values().map(|points| processors(points).len()).max();
    let row = ABOVE + SIDE + BELOW + ROW * to_f64(most.unwrap_or(0)) + 22.0;
    let height = TOP + row * to_f64(groups.len().div_ceil(2).max(1));
    picture(WIDTH, to_pixels(height), |canvas| {
        draw_heading(canvas, report);
        for (index, ((quantity, level), points)) in groups.iter().enumerate() {
            // A panel that is alone in its row stands in the middle.
            let is_alone = index % 2 == 0 && index + 1 == groups.len();
            let column = if is_alone { 0.5 } else { to_f64(index % 2) };
            let origin = (CELL * column, TOP + row * to_f64(index / 2));
            let chart = Chart {
                canvas,
                looks: &looks,
                points,
                origin,
            };
            chart.draw(*quantity, *level);
            chart.draw_legend(&processors(points));
        }
    })
}

struct Chart<'c, 'b> {
    canvas: &'c Canvas<'b>,
    looks: &'c Processors,
    points: &'c [&'c FidelityPoint],
    origin: Point,
}

impl Chart<'_, '_> {
    fn area(&self) -> Area {
        let (x, y) = self.origin;
        Area {
            left: x + LEFT,
            top: y + ABOVE,
            right: x + LEFT + SIDE,
            bottom: y + ABOVE + SIDE,
        }
    }

    fn draw(&self, quantity: Quantity, level: Level) {
        let area = self.area();
        let values = || {
            let pairs = self.points.iter().map(|p| [p.measured, p.predicted]);
            pairs.flatten()
        };
        let (unit, factor) = unit(quantity, values().fold(0.0, f64::max));
        let axis = |ends| Axis::logarithmic(values().map(|value| value * factor), ends);
        let panel = Panel {
            area,
            x: axis((area.left, area.right)),
            y: axis((area.bottom, area.top)),
        };
        let what = match quantity {
            Quantity::Time => "Time",
            Quantity::Energy => "Energy",
            Quantity::Throughput => "Throughput",
        };
        let of = match level {
            Level::Network => "networks",
            Level::Group => "groups of operators",
            Level::Operator => "single operators",
        };
        let heading = Lettering::bold(13.0, INK);
        let at = (area.left, area.top - 14.0);
        let title = format!("{what} of {of}");
        self.canvas
            .text(&title, at, (HPos::Left, VPos::Center), heading);
        self.draw_band(&panel);
        panel.draw(
            self.canvas,
            &Titles {
                x: &format!("measured ({unit})"),
                y: &format!("predicted ({unit})"),
            },
        );
        let (low, high) = panel.x.ends();
        let line = [panel.at(low, low), panel.at(high, high)];
        self.canvas.line(&line, SOFT, 1);
        // What was not covered lies behind what was.
        for covered in [false, true] {
            for point in self.points.iter().filter(|p| p.covered == covered) {
                let at = panel.at(point.measured * factor, point.predicted * factor);
                self.canvas
                    .titled(&tooltip(point), || self.mark(&point.processor, covered, at));
            }
        }
    }

    /// A tenth on both sides of the line, cut to the panel.
    fn draw_band(&self, panel: &Panel) {
        let (low, high) = panel.x.ends();
        let corners = [
            panel.at(low, low),
            panel.at(low, (low * 1.1).min(high)),
            panel.at(high / 1.1, high),
            panel.at(high, high),
            panel.at(high, high * 0.9),
            panel.at(low / 0.9, low),
        ];
        self.canvas.polygon(&corners, tint(INK, 0.1));
    }

    fn mark(&self, processor: &str, covered: bool, at: Point) {
        let (colour, mark) = (self.looks.colour(processor), self.looks.mark(processor));
        if covered {
            self.canvas.mark(mark, at, 4.0, colour);
        } else {
            self.canvas.hollow(mark, at, 4.0, colour);
        }
    }

    fn draw_legend(&self, processors: &[String]) {
        let look = Lettering::plain(11.5, INK);
        let area = self.area();
        let mut y = area.bottom + BELOW;
        for name in processors {
            let own = || self.points.iter().filter(|point| point.processor == *name);
            self.mark(name, true, (area.left + 4.0, y));
            self.mark(name, false, (area.left + 18.0, y));
            let seen = own().filter(|point| point.covered).copied();
            let covered = own().filter(|point| point.covered).count();
            // A network of which a part is covered has a point for the part too.
            let whole = || own().filter(|point| !point.is_part());
            let (covered_error, whole_error) = (error(seen), error(whole().copied()));
            let percent = |error: Option<f64>| {
                error.map_or_else(|| "–".to_owned(), |error| format!("{:.1}%", 100.0 * error))
            };
            let figures = if own().all(|point| point.covered) {
                format!(": error {} over {covered}", percent(covered_error))
            } else {
                format!(
                    ": error {} over {covered} covered, {} over all {}",
                    percent(covered_error),
                    percent(whole_error),
                    whole().count()
                )
            };
            let room = CELL - LEFT - 30.0 - look.width(&figures) - 10.0;
            let name = look.fit(name, room).unwrap_or_default();
            self.canvas.text(
                &format!("{name}{figures}"),
                (area.left + 30.0, y),
                (HPos::Left, VPos::Center),
                look,
            );
            y += ROW;
        }
    }
}

fn tooltip(point: &FidelityPoint) -> String {
    let class = point.class.map_or("", |class| class.name());
    let unit = match point.quantity {
        Quantity::Time => "s",
        Quantity::Energy => "J",
        Quantity::Throughput => "frames/s",
    };
    format!(
        "{} on {}, {} {class}: measured {:e} {unit}, predicted {:e} {unit}, {:+.1}%",
        point.network,
        point.processor,
        point.name,
        point.measured,
        point.predicted,
        100.0 * (point.predicted / point.measured - 1.0)
    )
}

/// The unit that suits values up to `most`, and how many of it the base unit is.
fn unit(quantity: Quantity, most: f64) -> (&'static str, f64) {
    match quantity {
        Quantity::Time => time_unit(most),
        Quantity::Energy => energy_unit(most),
        Quantity::Throughput => ("frames/s", 1.0),
    }
}

fn draw_heading(canvas: &Canvas<'_>, report: &Fidelity) {
    let left = (HPos::Left, VPos::Center);
    let heading = Lettering::bold(17.0, INK);
    canvas.text("Predicted against measured", (LEFT, 26.0), left, heading);
    let look = Lettering::plain(12.0, SOFT);
    let text = format!(
        "{}; band: ±10%; filled: of a kind that the cost model has seen; error: root mean square, relative",
        counted(report.points.len(), "point")
    );
    canvas.text(&text, (LEFT, 50.0), left, look);
}

#[cfg(test)]
mod tests {
    use paracompile_plan::OpClass;

    use super::*;
    use crate::plot::geometry::Picture;

    fn report(processors: &[&str], count: usize) -> Fidelity {
        let levels = [Level::Network, Level::Group, Level::Operator];
        let point = |index: usize| {
            let spread = to_f64(index * 7919 % 1000) / 1000.0;
            let measured = 1e-5 * 10f64.powf(4.0 * spread);
            FidelityPoint {
                processor: processors[index % processors.len()].to_owned(),
                network: "Google <&>".to_owned(),
                level: levels[index % 3],
                quantity: [Quantity::Time, Quantity::Energy][index / 3 % 2],
                name: "conv\u{1}2".to_owned(),
                class: Some(OpClass::Conv),
                covered: !index.is_multiple_of(4),
                measured,
                predicted: measured * (0.8 + 0.4 * to_f64(index * 104_729 % 997) / 997.0),
            }
        };
        Fidelity {
            schema: 1,
            kind: "fidelity".to_owned(),
            points: (0..count).map(point).collect(),
        }
    }

    #[test]
    fn every_point_has_a_mark_that_says_what_it_is() {
        let report = report(&["big", "little", "gpu"], 90);
        let picture = scatter(&report);
        assert_eq!(picture.matches("<title>Google").count(), 90);
        for title in ["Time of networks", "Energy of single operators"] {
            assert!(picture.contains(title), "{title}");
        }
    }

    #[test]
    fn errors_stand_in_the_legend() {
        let mut report = report(&["big"], 6);
        for point in &mut report.points {
            (point.level, point.quantity) = (Level::Network, Quantity::Time);
            point.predicted = point.measured * if point.covered { 1.05 } else { 1.45 };
        }
        // Four covered of six: √((4 · 0.05² + 2 · 0.45²) / 6) = 0.263.
        let picture = scatter(&report);
        assert!(
            picture.contains("big: error 5.0% over 4 covered, 26.3% over all 6"),
            "{picture}"
        );
    }

    #[test]
    fn what_is_covered_of_a_network_counts_once() {
        let mut report = report(&["big"], 3);
        for (index, point) in report.points.iter_mut().enumerate() {
            (point.level, point.quantity) = (Level::Network, Quantity::Time);
            (point.network, point.name) = ("A".to_owned(), "A".to_owned());
            point.covered = index != 1;
            point.predicted = point.measured * if point.covered { 1.1 } else { 1.3 };
        }
        "B".clone_into(&mut report.points[0].network);
        "B".clone_into(&mut report.points[0].name);
        "A, covered classes".clone_into(&mut report.points[2].name);
        // Over all, B with 0.1 and A with 0.3: √((0.1² + 0.3²) / 2) = 0.224.
        let picture = scatter(&report);
        assert!(
            picture.contains("big: error 10.0% over 2 covered, 22.4% over all 2"),
            "{picture}"
        );
    }

    #[test]
    fn nothing_is_clipped_and_no_texts_touch() {
        let many = [
            "a",
            "b",
            "<&\"名前",
            "a_processor_with_a_name_that_goes_on_and_on_and_on",
            "e",
        ];
        for (processors, count) in [(&many[..1], 1), (&many[..3], 7), (&many[..], 500)] {
            let report = report(processors, count);
            let picture = scatter(&report);
            Picture::read(&picture).assert_clean();
            assert_eq!(picture, scatter(&report));
        }
        let mut single = report(&["big"], 1);
        single.points[0].predicted = single.points[0].measured;
        Picture::read(&scatter(&single)).assert_clean();
        single.points.clear();
        assert!(scatter(&single).contains("0 points"));
    }
}

//! The front as a picture of two panels over one axis of latency: throughput, where better is up, and energy, where better is down.
//!
//! The front has three objectives, so a plan of it may lie behind the line of either panel; the line joins the plans that no other beats in the two objectives drawn.
//! It is a staircase, because nothing is known to exist between two plans.

use paracompile_plan::front::{Figures, Front, FrontStage};
use paracompile_plan::plan::{Label, Strategy};
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, energy_unit, round_number, time_unit};
use super::canvas::{Canvas, HPos, Lettering, Mark, Point, VPos, picture};
use super::front_legend::{draw_heading, draw_legend};
use super::labels::{Area, Placement, Side};
use super::palette::{ACCENT, INK, SOFT, strategy, tint};
use super::panel::{Panel, Titles};

pub(super) const WIDTH: u32 = 1000;
const HEIGHT: u32 = 920;
/// Height of a picture whose lower panel would have nothing to show.
const WITHOUT_ENERGY: u32 = 544;
pub(super) const LEFT: f64 = 84.0;
const RIGHT: f64 = 778.0;
pub(super) const UPPER: Area = Area {
    left: LEFT,
    top: 76.0,
    right: RIGHT,
    bottom: 486.0,
};
pub(super) const LOWER: Area = Area {
    left: LEFT,
    top: 522.0,
    right: RIGHT,
    bottom: 862.0,
};
pub(super) const LEGEND: f64 = 796.0;
/// Fronts up to this size have every plan labelled; of larger ones the plans that are best at something.
const LABEL_ALL: usize = 12;
/// Fronts beyond this size have smaller marks.
const MANY: usize = 40;
/// A baseline worse than the worst plan of the front by more than this factor is not drawn.
const NEAR: f64 = 2.0;
/// Share of the strategy's colour in mappings that became no plan.
pub(super) const PALE: f64 = 0.38;
pub(super) const BASELINE: RGBColor = RGBColor(70, 70, 70);
pub(super) const LINE: RGBColor = RGBColor(140, 140, 140);

/// Draws `front` before the mappings that it was filtered from, as SVG.
///
/// Mappings far off the front are left out of the picture and counted in its legend.
pub fn pareto(front: &Front) -> String {
    let height = if Vertical::Energy.is_known(front) {
        HEIGHT
    } else {
        WITHOUT_ENERGY
    };
    picture(WIDTH, height, |canvas| {
        let known = Vertical::BOTH
            .into_iter()
            .filter(|vertical| vertical.is_known(front));
        let charts: Vec<Chart<'_, '_>> = known
            .map(|vertical| Chart::new(canvas, front, vertical))
            .collect();
        draw_heading(canvas, front);
        let mut outside = 0;
        for chart in &charts {
            chart.draw_axes();
            outside = chart.draw_cloud().max(outside);
            let line = chart.staircase();
            if line.len() > 1 {
                canvas.line(&line, LINE, 2);
            }
            chart.draw_marks();
            chart.draw_labels(&line);
        }
        draw_legend(canvas, front, outside);
    })
}

/// What a panel shows over latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vertical {
    Throughput,
    Energy,
}

impl Vertical {
    const BOTH: [Self; 2] = [Self::Throughput, Self::Energy];

    /// Whether there is anything to show: without a meter all energies are zero.
    pub(super) fn is_known(self, front: &Front) -> bool {
        match self {
            Self::Throughput => true,
            Self::Energy => front.plans.is_empty() || knows_energy(front),
        }
    }

    fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::Throughput => figures.throughput_fps,
            Self::Energy => figures.energy_active_j,
        }
    }

    const fn area(self) -> Area {
        match self {
            Self::Throughput => UPPER,
            Self::Energy => LOWER,
        }
    }

    fn beats(self, value: f64, other: f64) -> bool {
        match self {
            Self::Throughput => value > other,
            Self::Energy => value < other,
        }
    }

    const fn worst(self) -> f64 {
        match self {
            Self::Throughput => 0.0,
            Self::Energy => f64::INFINITY,
        }
    }
}

/// Whether any plan takes energy, as far as the profile says.
pub(super) fn knows_energy(front: &Front) -> bool {
    front
        .plans
        .iter()
        .any(|plan| plan.figures.energy_active_j > 0.0)
}

/// Whether a baseline is close enough to the front to be drawn without squeezing it; others are listed in the legend.
pub(super) fn is_near(front: &Front, baseline: &Figures) -> bool {
    let plans = || front.plans.iter().map(|plan| &plan.figures);
    let most = |of: fn(&Figures) -> f64| plans().map(of).fold(0.0, f64::max);
    let fewest = plans()
        .map(|f| f.throughput_fps)
        .fold(f64::INFINITY, f64::min);
    front.plans.is_empty()
        || (baseline.latency_s <= NEAR * most(|f| f.latency_s)
            && baseline.energy_active_j <= NEAR * most(|f| f.energy_active_j)
            && baseline.throughput_fps * NEAR >= fewest)
}

/// The figures of plans and of baselines that are drawn.
fn shown(front: &Front) -> impl Iterator<Item = &Figures> {
    let near = near_baselines(front).map(|(_, figures)| figures);
    front.plans.iter().map(|plan| &plan.figures).chain(near)
}

/// Baselines that are drawn, those of one place under one name.
fn near_baselines(front: &Front) -> impl Iterator<Item = (String, &Figures)> {
    let mut groups: Vec<(String, &Figures)> = Vec::new();
    let near = front.baselines.iter();
    for baseline in near.filter(|baseline| is_near(front, &baseline.figures)) {
        let figures = &baseline.figures;
        let same = groups.iter_mut().find(|(_, other)| {
            let place =
                |f: &Figures| [f.latency_s, f.interval_s, f.energy_active_j].map(f64::to_bits);
            place(other) == place(figures)
        });
        match same {
            Some((names, _)) => *names = format!("{names}, {}", baseline.name),
            None => groups.push((baseline.name.clone(), figures)),
        }
    }
    groups.into_iter()
}

struct Chart<'c, 'b> {
    canvas: &'c Canvas<'b>,
    front: &'c Front,
    vertical: Vertical,
    panel: Panel,
    unit: (&'static str, f64),
    /// Of the vertical axis.
    upward: (&'static str, f64),
}

impl<'c, 'b> Chart<'c, 'b> {
    fn new(canvas: &'c Canvas<'b>, front: &'c Front, vertical: Vertical) -> Self {
        let slowest = shown(front).map(|f| f.latency_s).fold(0.0, f64::max);
        let unit = time_unit(slowest);
        let area = vertical.area();
        // Labels stand on the side of better plans, where nothing is.
        let margins = match vertical {
            Vertical::Throughput => (0.1, 0.16),
            Vertical::Energy => (0.16, 0.1),
        };
        let latencies = shown(front).map(|f| f.latency_s * unit.1);
        let upward = match vertical {
            Vertical::Throughput => ("frames/s", 1.0),
            Vertical::Energy => {
                energy_unit(shown(front).map(|f| f.energy_active_j).fold(0.0, f64::max))
            }
        };
        let values = shown(front).map(|f| vertical.of(f) * upward.1);
        let panel = Panel {
            area,
            x: Axis::around(latencies, (area.left, area.right), (0.2, 0.1)),
            y: Axis::around(values, (area.bottom, area.top), margins),
        };
        Self {
            canvas,
            front,
            vertical,
            panel,
            unit,
            upward,
        }
    }

    fn at(&self, figures: &Figures) -> Point {
        self.panel.at(
            figures.latency_s * self.unit.1,
            self.vertical.of(figures) * self.upward.1,
        )
    }

    fn draw_axes(&self) {
        let latency = format!("latency of one frame ({})", self.unit.0);
        let energy = format!("active energy a frame ({})", self.upward.0);
        let titles = match self.vertical {
            Vertical::Throughput => Titles {
                // The axis is shared with the panel below, if there is one.
                x: if Vertical::Energy.is_known(self.front) {
                    ""
                } else {
                    &latency
                },
                y: "throughput (frames/s)",
            },
            Vertical::Energy => Titles {
                x: &latency,
                y: &energy,
            },
        };
        self.panel.draw(self.canvas, &titles);
    }

    /// Returns how many mappings lie outside.
    fn draw_cloud(&self) -> usize {
        let mappings = self.front.cloud.iter().flat_map(|cloud| &cloud.mappings);
        let mut outside = 0;
        let mut dots: Vec<(i64, i64, Strategy)> = Vec::new();
        for mapping in mappings {
            let value = match self.vertical {
                Vertical::Throughput => 1.0 / mapping.interval_s,
                Vertical::Energy => mapping.energy_active_j * self.upward.1,
            };
            let latency = mapping.latency_s * self.unit.1;
            if value.is_finite() && self.panel.holds(latency, value) {
                let (x, y) = self.panel.at(latency, value);
                dots.push((nearest(x), nearest(y), mapping.strategy));
            } else {
                outside += 1;
            }
        }
        // Many mappings share a pixel: one dot for each strategy is enough.
        dots.sort_unstable();
        dots.dedup();
        for (x, y, of) in dots {
            let (colour, mark) = strategy(of);
            let at = (to_f64(x), to_f64(y));
            self.canvas.mark(mark, at, 2.6, tint(colour, PALE));
        }
        outside
    }

    /// The corners of the line through what no other plan beats in these two objectives.
    fn staircase(&self) -> Vec<Point> {
        let mut plans: Vec<&Figures> = self.front.plans.iter().map(|plan| &plan.figures).collect();
        let value = |figures: &Figures| self.vertical.of(figures);
        plans.sort_by(|a, b| {
            let by_latency = a.latency_s.total_cmp(&b.latency_s);
            by_latency.then(match self.vertical {
                Vertical::Throughput => value(b).total_cmp(&value(a)),
                Vertical::Energy => value(a).total_cmp(&value(b)),
            })
        });
        let mut steps: Vec<Point> = Vec::new();
        let mut best = self.vertical.worst();
        for figures in plans {
            if self.vertical.beats(value(figures), best) {
                best = value(figures);
                let at = self.at(figures);
                if let Some(&(_, before)) = steps.last() {
                    steps.push((at.0, before));
                }
                steps.push(at);
            }
        }
        steps
    }

    /// Of the marks of plans.
    fn radius(&self) -> f64 {
        if self.front.plans.len() > MANY {
            3.5
        } else {
            5.5
        }
    }

    fn draw_marks(&self) {
        for (name, figures) in near_baselines(self.front) {
            self.canvas.titled(&tooltip(&name, figures), || {
                self.canvas
                    .mark(Mark::Cross, self.at(figures), 6.0, BASELINE);
            });
        }
        // Rims first, so that no mark is hidden under the rim of a neighbour.
        for plan in &self.front.plans {
            let at = self.at(&plan.figures);
            self.canvas
                .mark(Mark::Circle, at, self.radius() + 1.5, WHITE);
        }
        for plan in &self.front.plans {
            let (colour, mark) = strategy(plan.strategy);
            self.canvas.titled(&tooltip(&plan.file, &plan.figures), || {
                self.canvas
                    .mark(mark, self.at(&plan.figures), self.radius(), colour);
            });
        }
        if let Some(at) = self.recommended() {
            self.canvas.ring(at, 12.0, ACCENT);
        }
    }

    /// The place of the recommended plan, which is a baseline where the user asked for what no plan of the front is best at.
    fn recommended(&self) -> Option<Point> {
        let front = self.front;
        let plans = front.plans.iter().map(|plan| (&plan.file, &plan.figures));
        let baselines = front
            .baselines
            .iter()
            .filter(|b| is_near(front, &b.figures));
        let all = plans.chain(baselines.map(|baseline| (&baseline.file, &baseline.figures)));
        let mut matching = all.filter(|&(file, _)| *file == front.recommended);
        matching.next().map(|(_, figures)| self.at(figures))
    }

    /// Labels keep clear of marks and of the line.
    fn draw_labels(&self, line: &[Point]) {
        let front = self.front;
        let plans = front.plans.iter().map(|plan| self.at(&plan.figures));
        let mut taken: Vec<Area> = plans
            .map(|at| Area::around(at, self.radius() + 1.5))
            .collect();
        let baselines = near_baselines(front).map(|(_, figures)| self.at(figures));
        taken.extend(baselines.map(|at| Area::around(at, 7.0)));
        taken.extend(line.windows(2).map(|ends| Area::between(ends[0], ends[1])));
        taken.extend(self.recommended().map(|at| Area::around(at, 13.0)));
        let mut placement = Placement::new(self.panel.area, taken);
        let is_recommended = |file: &str| file == front.recommended;
        let mut plans: Vec<_> = front.plans.iter().collect();
        plans.sort_by_key(|plan| (!is_recommended(&plan.file), plan.labels.is_empty()));
        for plan in plans {
            let recommended = is_recommended(&plan.file);
            if recommended || !plan.labels.is_empty() || front.plans.len() <= LABEL_ALL {
                let first = if recommended {
                    Lettering::bold(11.5, INK)
                } else {
                    Lettering::plain(11.5, INK)
                };
                let best: Vec<_> = plan.labels.iter().copied().map(Label::name).collect();
                let lines = [
                    (stages(&plan.figures), first),
                    (best.join(", "), Lettering::plain(10.0, SOFT)),
                ];
                // Nothing beats the front, so the side of better plans is empty.
                self.label(&mut placement, &plan.figures, Side::Left, &lines);
            }
        }
        for (name, figures) in near_baselines(front) {
            let lines = [(name, Lettering::plain(11.0, BASELINE))];
            self.label(&mut placement, figures, Side::Right, &lines);
        }
    }

    fn label(
        &self,
        placement: &mut Placement,
        figures: &Figures,
        side: Side,
        lines: &[(String, Lettering)],
    ) {
        let lines: Vec<_> = lines
            .iter()
            .filter_map(|(text, look)| Some((look.fit(text, 240.0)?, *look)))
            .filter(|(text, _)| !text.is_empty())
            .collect();
        let width = lines
            .iter()
            .map(|(text, look)| look.width(text))
            .fold(0.0, f64::max);
        let height: f64 = lines.iter().map(|(_, look)| look.size + 3.0).sum();
        let point = self.at(figures);
        let Some(area) = placement.place(point, side, (width + 4.0, height + 2.0)) else {
            return;
        };
        let near = (
            point.0.clamp(area.left, area.right),
            point.1.clamp(area.top, area.bottom),
        );
        // From the rim of the mark, or of the ring around the recommended one.
        let distance = (near.0 - point.0).hypot(near.1 - point.1);
        let rim = if self.recommended() == Some(point) {
            13.0
        } else {
            self.radius() + 2.5
        };
        if distance > rim + 5.0 {
            let along = |share: f64| {
                (
                    point.0 + (near.0 - point.0) * share,
                    point.1 + (near.1 - point.1) * share,
                )
            };
            let leader = [along(rim / distance), near];
            self.canvas.line(&leader, tint(INK, 0.5), 1);
        }
        let (anchor, x) = if area.right <= point.0 {
            (HPos::Right, area.right - 2.0)
        } else {
            (HPos::Left, area.left + 2.0)
        };
        let corners = ((area.left, area.top), (area.right, area.bottom));
        self.canvas.fill(corners.0, corners.1, WHITE, 0.75);
        let mut y = area.top + 1.0;
        for (text, look) in &lines {
            self.canvas.text(text, (x, y), (anchor, VPos::Top), *look);
            y += look.size + 3.0;
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "pixels of a picture, and the cast saturates"
)]
fn nearest(pixel: f64) -> i64 {
    pixel.round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "pixels of a picture")]
fn to_f64(pixel: i64) -> f64 {
    pixel as f64
}

/// `big+gpu | little@1000MHz`: processors by stage.
fn stages(figures: &Figures) -> String {
    let places: Vec<_> = figures.stages.iter().map(FrontStage::place).collect();
    places.join(" | ")
}

fn tooltip(name: &str, figures: &Figures) -> String {
    let (unit, per_second) = time_unit(figures.latency_s);
    format!(
        "{name}: {}; latency {} {unit}, {} frames/s{}",
        stages(figures),
        round_number(figures.latency_s * per_second),
        round_number(figures.throughput_fps),
        match figures.energy_active_j {
            energy if energy > 0.0 => format!(", {} J a frame", round_number(energy)),
            _ => String::new(),
        }
    )
}

#[cfg(test)]
mod tests {
    use paracompile_plan::front::{Cloud, CloudMapping};

    use super::*;
    use crate::plot::geometry::Picture;
    use crate::plot::samples;

    fn with_cloud(mut front: Front, count: u32) -> Front {
        let mappings = (0..count)
            .map(|index| {
                let spread = f64::from(index * 7919 % 1000) / 1000.0;
                let other = f64::from(index * 104_729 % 997) / 997.0;
                let interval_s = 0.036 + 0.05 * other;
                CloudMapping {
                    latency_s: (0.062 + 0.2 * spread).max(interval_s),
                    interval_s,
                    energy_active_j: 0.25 + 0.1 * spread,
                    strategy: [Strategy::PipeOnly, Strategy::Hybrid][index as usize % 2],
                }
            })
            .collect();
        front.cloud = Some(Cloud {
            width: 0.004,
            mappings,
        });
        front
    }

    /// Elements of a colour, those of the legend included.
    fn coloured(picture: &str, colour: RGBColor) -> usize {
        let RGBColor(red, green, blue) = colour;
        picture
            .matches(&format!("#{red:02X}{green:02X}{blue:02X}"))
            .count()
    }

    #[test]
    fn every_plan_has_a_mark_of_its_strategy_in_both_panels() {
        let front = with_cloud(samples::front(12), 300);
        let picture = pareto(&front);
        for of in [Strategy::ParaOnly, Strategy::PipeOnly, Strategy::Hybrid] {
            let plans = front.plans.iter().filter(|plan| plan.strategy == of);
            let count = plans.count();
            assert!(count > 0);
            let (colour, _) = strategy(of);
            assert_eq!(coloured(&picture, colour), 2 * count + 1, "{of:?}");
        }
        // The rings and their entry in the legend.
        assert_eq!(coloured(&picture, ACCENT), 3);
        assert_eq!(picture.matches("font-weight=\"bold\"").count(), 3);
    }

    #[test]
    fn small_fronts_have_every_plan_labelled_and_large_ones_the_best() {
        let labelled = |count: u32| {
            let picture = pareto(&samples::front(count));
            let lines = picture.lines().filter(|line| line.contains("gpu"));
            let own = |line: &&str| !line.starts_with("single:") && !line.starts_with('<');
            lines.filter(own).count()
        };
        assert!(labelled(12) >= 20, "{}", labelled(12));
        assert_eq!(labelled(60), 6);
        let picture = pareto(&samples::front(60));
        for label in ["min-latency", "balanced", "max-throughput, min-energy"] {
            assert!(picture.contains(label), "{label}");
        }
    }

    #[test]
    fn a_baseline_far_off_is_named_and_does_not_squeeze_the_front() {
        let picture = pareto(&samples::front(12));
        assert!(picture.contains("single:little"));
        assert!(picture.contains("outside: 320 ms,"));
        assert!(picture.contains("3.125 fps, 0.3 J"));
        assert!(picture.contains("\nsingle:gpu\n"));
    }

    #[test]
    fn points_are_named_and_a_twin_is_explained() {
        let mut front = samples::front(3);
        for plan in &mut front.plans {
            for stage in &mut plan.figures.stages {
                let points = stage.processors.iter().map(|_| "500MHz".to_owned());
                stage.operating_points = points.collect();
            }
        }
        front.baselines[3].name = "twin:2".to_owned();
        let picture = pareto(&front);
        Picture::read(&picture).assert_clean();
        assert!(picture.contains("big@500MHz+gpu@500MHz"));
        assert!(picture.contains("twin:2: plan 2 with"));
        assert!(!pareto(&samples::front(3)).contains("own points"));
    }

    #[test]
    fn baselines_of_one_place_share_a_label() {
        let mut front = samples::front(3);
        front.baselines[3].figures = front.baselines[0].figures.clone();
        let picture = pareto(&front);
        assert!(picture.contains("\nsingle:big, heft\n"));
    }

    #[test]
    fn mappings_outside_are_counted_and_thinning_is_told() {
        let mut front = with_cloud(samples::front(3), 2);
        let cloud = front.cloud.as_mut().unwrap();
        cloud.mappings[0].latency_s = 9.0;
        let near = &front.plans[1].figures;
        cloud.mappings[1] = CloudMapping {
            latency_s: near.latency_s,
            interval_s: near.interval_s,
            energy_active_j: near.energy_active_j,
            strategy: Strategy::Hybrid,
        };
        let picture = pareto(&front);
        assert!(picture.contains("\n1 more lies outside\n"));
        assert!(picture.contains("\nalike within 0.4%:\n"));
    }

    #[test]
    fn energies_that_nobody_knows_have_no_panel() {
        let mut front = samples::front(12);
        for plan in &mut front.plans {
            plan.figures.energy_active_j = 0.0;
        }
        for baseline in &mut front.baselines {
            baseline.figures.energy_active_j = 0.0;
        }
        let picture = pareto(&front);
        assert!(picture.contains("energies are unknown") && !picture.contains("active energy"));
        assert!(picture.contains("latency of one frame") && !picture.contains(" J a frame"));
        Picture::read(&picture).assert_clean();
    }

    #[test]
    fn nothing_is_clipped_and_no_labels_overlap_whatever_the_front() {
        for count in [0, 1, 2, 3, 12, 13, 40] {
            Picture::read(&pareto(&with_cloud(samples::front(count), 300))).assert_clean();
        }
        let mut wide = samples::front(5);
        wide.plans[0].figures.latency_s = 0.001;
        wide.plans[4].figures.throughput_fps = 9000.0;
        wide.plans[4].figures.energy_active_j = 1e-6;
        Picture::read(&pareto(&wide)).assert_clean();
        let mut far = samples::front(4);
        far.baselines = (0..40)
            .map(|index| {
                let mut baseline = far.baselines[1].clone();
                baseline.name = format!("layer-switched:{index}");
                baseline
            })
            .collect();
        Picture::read(&pareto(&far)).assert_clean();
    }

    #[test]
    fn hostile_names_cannot_break_it_and_the_bytes_are_the_same_each_time() {
        let mut front = with_cloud(samples::front(4), 50);
        front.model = "<&\"'\u{1}\u{fffe}]]>".repeat(40);
        front.soc = "日本語チップ".to_owned();
        for plan in &mut front.plans {
            for stage in &mut plan.figures.stages {
                stage.processors = vec!["<&\"\u{7}名前".to_owned(), "x".repeat(300)];
            }
        }
        front.baselines[0].name = "</svg><script>".to_owned();
        let picture = pareto(&front);
        Picture::read(&picture).assert_clean();
        assert_eq!(picture, pareto(&front));
    }
}

//! The front as a picture: latency to the right, throughput upward, so that better is up and to the left.
//!
//! The front has three objectives, and a plan that is only best in energy lies below the line; the line joins the plans that no other beats in the two that are drawn.
//! It is a staircase, because nothing is known to exist between two plans.

use paracompile_plan::front::{EnergyAxis, Figures, Front, FrontStage};
use paracompile_plan::plan::{Label, Strategy};
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, round_number, time_unit};
use super::canvas::{
    Canvas, FAINT, HPos, INK, Lettering, Mark, PALETTE, Point, SOFT, VPos, picture,
};
use super::labels::{Area, Placement, Side};

/// A mapping that the search met: latency in seconds, throughput in frames a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Latency of one frame alone.
    pub latency_s: f64,
    /// Reciprocal of the interval.
    pub throughput_fps: f64,
}

const WIDTH: u32 = 1000;
const HEIGHT: u32 = 620;
const PLOT: Area = Area {
    left: 84.0,
    top: 76.0,
    right: 770.0,
    bottom: 556.0,
};
const LEGEND: f64 = 796.0;
/// Fronts up to this size have every plan labelled; of larger ones the plans that are best at something.
const LABEL_ALL: usize = 12;
/// A baseline worse than the worst plan of the front by more than this factor is not drawn.
const NEAR: f64 = 2.0;
const CANDIDATE: RGBColor = RGBColor(196, 196, 196);
const BASELINE: RGBColor = RGBColor(90, 90, 90);

/// Draws `front` before the candidates that it was filtered from, as SVG.
///
/// Candidates far off the front are left out of the picture and counted in its legend.
pub fn pareto(front: &Front, candidates: &[Candidate]) -> String {
    picture(WIDTH, HEIGHT, |canvas| {
        let chart = Chart::new(canvas, front);
        chart.draw_axes(front);
        let left_out = chart.draw_candidates(candidates);
        chart.draw_staircase(front);
        chart.draw_marks(front);
        chart.draw_labels(front);
        draw_legend(canvas, front, left_out);
    })
}

/// Colour and shape of a strategy.
const fn look(strategy: Strategy) -> (RGBColor, Mark) {
    match strategy {
        Strategy::Single => (PALETTE[6], Mark::Circle),
        Strategy::ParaOnly => (PALETTE[0], Mark::Square),
        Strategy::PipeOnly => (PALETTE[1], Mark::Triangle),
        Strategy::Hybrid => (PALETTE[2], Mark::Diamond),
    }
}

/// Whether a baseline is close enough to the front to be drawn without squeezing it; others are listed in the legend.
fn is_near(front: &Front, baseline: &Figures) -> bool {
    let plans = || front.plans.iter().map(|plan| &plan.figures);
    let slowest = plans().map(|f| f.latency_s).fold(0.0, f64::max);
    let fewest = plans()
        .map(|f| f.throughput_fps)
        .fold(f64::INFINITY, f64::min);
    front.plans.is_empty()
        || (baseline.latency_s <= NEAR * slowest && baseline.throughput_fps * NEAR >= fewest)
}

struct Chart<'c, 'b> {
    canvas: &'c Canvas<'b>,
    x: Axis,
    y: Axis,
    unit: (&'static str, f64),
}

impl<'c, 'b> Chart<'c, 'b> {
    fn new(canvas: &'c Canvas<'b>, front: &Front) -> Self {
        let shown = || {
            let baselines = front.baselines.iter().map(|baseline| &baseline.figures);
            baselines.filter(|figures| is_near(front, figures))
        };
        let figures = || front.plans.iter().map(|plan| &plan.figures).chain(shown());
        let slowest = figures().map(|f| f.latency_s).fold(0.0, f64::max);
        let unit = time_unit(slowest);
        let latencies = figures().map(|f| f.latency_s * unit.1);
        let throughputs = figures().map(|f| f.throughput_fps);
        Self {
            canvas,
            x: Axis::around(latencies, (PLOT.left, PLOT.right), (0.2, 0.1)),
            y: Axis::around(throughputs, (PLOT.bottom, PLOT.top), (0.1, 0.16)),
            unit,
        }
    }

    fn at(&self, figures: &Figures) -> Point {
        self.point(figures.latency_s, figures.throughput_fps)
    }

    fn point(&self, latency_s: f64, throughput_fps: f64) -> Point {
        (
            self.x.pixel(latency_s * self.unit.1),
            self.y.pixel(throughput_fps),
        )
    }

    fn draw_axes(&self, front: &Front) {
        let canvas = self.canvas;
        let numbers = Lettering::plain(12.0, SOFT);
        for tick in self.x.ticks(7) {
            let x = self.x.pixel(tick);
            canvas.line(&[(x, PLOT.top), (x, PLOT.bottom)], FAINT, 1);
            let at = (x, PLOT.bottom + 8.0);
            canvas.text(&round_number(tick), at, (HPos::Center, VPos::Top), numbers);
        }
        for tick in self.y.ticks(6) {
            let y = self.y.pixel(tick);
            canvas.line(&[(PLOT.left, y), (PLOT.right, y)], FAINT, 1);
            let at = (PLOT.left - 8.0, y);
            canvas.text(
                &round_number(tick),
                at,
                (HPos::Right, VPos::Center),
                numbers,
            );
        }
        let corner = (PLOT.left, PLOT.bottom);
        canvas.line(
            &[(PLOT.left, PLOT.top), corner, (PLOT.right, PLOT.bottom)],
            SOFT,
            1,
        );
        let titles = Lettering::plain(13.0, INK);
        let scale = |axis: &Axis| {
            if axis.is_logarithmic() {
                ", logarithmic"
            } else {
                ""
            }
        };
        let x_title = format!("latency of one frame ({}{})", self.unit.0, scale(&self.x));
        let middle = f64::midpoint(PLOT.left, PLOT.right);
        canvas.text(
            &x_title,
            (middle, PLOT.bottom + 32.0),
            (HPos::Center, VPos::Top),
            titles,
        );
        let y_title = format!("throughput (frames/s{})", scale(&self.y));
        canvas.upward(
            &y_title,
            (26.0, f64::midpoint(PLOT.top, PLOT.bottom)),
            titles,
        );

        let left = (HPos::Left, VPos::Center);
        let room = f64::from(WIDTH) - PLOT.left - 20.0;
        let heading = Lettering::bold(17.0, INK);
        let title = format!("{} on {}", front.model, front.soc);
        let title = heading.fit(&title, room).unwrap_or_default();
        canvas.text(&title, (PLOT.left, 28.0), left, heading);
        let energy = match front.energy {
            EnergyAxis::ByProduct => "energy is a by-product",
            EnergyAxis::Objective => "energy is an objective",
        };
        let plans = match front.plans.len() {
            1 => "1 plan".to_owned(),
            count => format!("{count} plans"),
        };
        let subtitle = format!(
            "{plans} on the front of {} mappings; {energy}",
            front.candidates
        );
        canvas.text(
            &subtitle,
            (PLOT.left, 52.0),
            left,
            Lettering::plain(12.0, SOFT),
        );
    }

    /// Returns how many lie outside.
    fn draw_candidates(&self, candidates: &[Candidate]) -> usize {
        let inside = |candidate: &Candidate| {
            self.x.holds(candidate.latency_s * self.unit.1)
                && self.y.holds(candidate.throughput_fps)
        };
        let shown: Vec<_> = candidates
            .iter()
            .filter(|candidate| inside(candidate))
            .collect();
        // Thousands of candidates share few pixels: one dot for each is enough.
        let mut dots: Vec<Point> = shown
            .iter()
            .map(|candidate| self.point(candidate.latency_s, candidate.throughput_fps))
            .map(|(x, y)| (x.round(), y.round()))
            .collect();
        dots.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        dots.dedup();
        for dot in dots {
            self.canvas.dot(dot, CANDIDATE);
        }
        candidates.len() - shown.len()
    }

    fn draw_staircase(&self, front: &Front) {
        let mut plans: Vec<&Figures> = front.plans.iter().map(|plan| &plan.figures).collect();
        plans.sort_by(|a, b| {
            let by_latency = a.latency_s.total_cmp(&b.latency_s);
            by_latency.then(b.throughput_fps.total_cmp(&a.throughput_fps))
        });
        let mut steps: Vec<Point> = Vec::new();
        let mut best = 0.0;
        for figures in plans {
            if figures.throughput_fps > best {
                best = figures.throughput_fps;
                let at = self.at(figures);
                if let Some(&(_, before)) = steps.last() {
                    steps.push((at.0, before));
                }
                steps.push(at);
            }
        }
        if steps.len() > 1 {
            self.canvas.line(&steps, SOFT, 1);
        }
    }

    fn draw_marks(&self, front: &Front) {
        for baseline in front
            .baselines
            .iter()
            .filter(|b| is_near(front, &b.figures))
        {
            self.canvas
                .mark(Mark::Cross, self.at(&baseline.figures), 6.0, BASELINE);
        }
        // Rims first, so that no mark is hidden under the rim of a neighbour.
        for plan in &front.plans {
            self.canvas
                .mark(Mark::Circle, self.at(&plan.figures), 7.5, WHITE);
        }
        for plan in &front.plans {
            let (colour, mark) = look(plan.strategy);
            self.canvas.mark(mark, self.at(&plan.figures), 5.5, colour);
        }
        if let Some(at) = self.recommended(front) {
            self.canvas.ring(at, 12.0, PALETTE[5]);
        }
    }

    /// The place of the recommended plan, which is a baseline where the user asked for what no plan of the front is best at.
    fn recommended(&self, front: &Front) -> Option<Point> {
        let plans = front.plans.iter().map(|plan| (&plan.file, &plan.figures));
        let baselines = front
            .baselines
            .iter()
            .filter(|b| is_near(front, &b.figures));
        let all = plans.chain(baselines.map(|baseline| (&baseline.file, &baseline.figures)));
        let mut matching = all.filter(|&(file, _)| *file == front.recommended);
        matching.next().map(|(_, figures)| self.at(figures))
    }

    fn draw_labels(&self, front: &Front) {
        let near: Vec<_> = front
            .baselines
            .iter()
            .filter(|b| is_near(front, &b.figures))
            .collect();
        let plans = front.plans.iter().map(|plan| &plan.figures);
        let marked = plans.chain(near.iter().map(|baseline| &baseline.figures));
        let mut taken: Vec<Area> = marked.map(|f| Area::around(self.at(f), 7.0)).collect();
        taken.extend(self.recommended(front).map(|at| Area::around(at, 13.0)));
        let mut placement = Placement::new(PLOT, taken);

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
                    (stages(&plan.figures.stages), first),
                    (best.join(", "), Lettering::plain(10.0, SOFT)),
                ];
                // Nothing beats the front, so the side of better plans is empty.
                self.label(&mut placement, &plan.figures, Side::Left, &lines);
            }
        }
        for baseline in near {
            let lines = [(baseline.name.clone(), Lettering::plain(11.0, BASELINE))];
            self.label(&mut placement, &baseline.figures, Side::Right, &lines);
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
        let height = lines.iter().map(|(_, look)| look.size + 3.0).sum();
        let point = self.at(figures);
        let Some(area) = placement.place(point, side, (width, height)) else {
            return;
        };
        let near = (
            point.0.clamp(area.left, area.right),
            point.1.clamp(area.top, area.bottom),
        );
        if (near.0 - point.0).hypot(near.1 - point.1) > 16.0 {
            self.canvas.line(&[point, near], CANDIDATE, 1);
        }
        let (anchor, x) = if area.right <= point.0 {
            (HPos::Right, area.right)
        } else {
            (HPos::Left, area.left)
        };
        let (from, to) = ((area.left - 1.0, area.top), (area.right + 1.0, area.bottom));
        self.canvas.fill(from, to, WHITE, 0.75);
        let mut y = area.top;
        for (text, look) in &lines {
            self.canvas.text(text, (x, y), (anchor, VPos::Top), *look);
            y += look.size + 3.0;
        }
    }
}

/// `big+gpu | little`: processors by stage.
fn stages(stages: &[FrontStage]) -> String {
    let names: Vec<_> = stages
        .iter()
        .map(|stage| stage.processors.join("+"))
        .collect();
    names.join(" | ")
}

fn draw_legend(canvas: &Canvas<'_>, front: &Front, left_out: usize) {
    let text = Lettering::plain(12.0, INK);
    let left = (HPos::Left, VPos::Center);
    let mut y = PLOT.top + 10.0;
    let mut entry = |draw: &dyn Fn(Point), label: &str| {
        draw((LEGEND + 12.0, y));
        let room = f64::from(WIDTH) - LEGEND - 34.0;
        let label = text.fit(label, room).unwrap_or_default();
        canvas.text(&label, (LEGEND + 30.0, y), left, text);
        y += 24.0;
    };
    for strategy in [
        Strategy::Single,
        Strategy::ParaOnly,
        Strategy::PipeOnly,
        Strategy::Hybrid,
    ] {
        let count = front
            .plans
            .iter()
            .filter(|plan| plan.strategy == strategy)
            .count();
        if count > 0 {
            let (colour, mark) = look(strategy);
            let label = format!("{} ({count})", strategy.name());
            entry(&|at| canvas.mark(mark, at, 5.5, colour), &label);
        }
    }
    if !front.baselines.is_empty() {
        entry(
            &|at| canvas.mark(Mark::Cross, at, 6.0, BASELINE),
            "baseline",
        );
    }
    entry(&|at| canvas.ring(at, 9.0, PALETTE[5]), "recommended");
    entry(
        &|(x, y)| canvas.line(&[(x - 9.0, y), (x + 9.0, y)], SOFT, 1),
        "best of these two",
    );
    entry(&|at| canvas.dot(at, CANDIDATE), "other mappings");
    if left_out > 0 {
        entry(&|_| (), &format!("{left_out} lie outside"));
    }
    for far in front
        .baselines
        .iter()
        .filter(|b| !is_near(front, &b.figures))
    {
        let (unit, per_second) = time_unit(far.figures.latency_s);
        let latency = round_number(far.figures.latency_s * per_second);
        let throughput = round_number(far.figures.throughput_fps);
        entry(
            &|at| canvas.mark(Mark::Cross, at, 6.0, CANDIDATE),
            &format!("{}, outside:", far.name),
        );
        entry(&|_| (), &format!("{latency} {unit}, {throughput} fps"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::samples;

    fn scatter(count: u32) -> Vec<Candidate> {
        (0..count)
            .map(|index| {
                let spread = f64::from(index * 7919 % 1000) / 1000.0;
                let other = f64::from(index * 104_729 % 997) / 997.0;
                let interval = 0.036 + 0.05 * other;
                Candidate {
                    latency_s: (0.062 + 0.2 * spread).max(interval),
                    throughput_fps: 1.0 / interval,
                }
            })
            .collect()
    }

    /// Elements of a colour, those of the legend included.
    fn coloured(picture: &str, colour: RGBColor) -> usize {
        let RGBColor(red, green, blue) = colour;
        picture
            .matches(&format!("#{red:02X}{green:02X}{blue:02X}"))
            .count()
    }

    #[test]
    fn every_plan_has_a_mark_of_its_strategy() {
        let front = samples::front(12);
        let picture = pareto(&front, &scatter(500));
        for strategy in [Strategy::ParaOnly, Strategy::PipeOnly, Strategy::Hybrid] {
            let plans = front
                .plans
                .iter()
                .filter(|plan| plan.strategy == strategy)
                .count();
            assert!(plans > 0);
            assert_eq!(
                coloured(&picture, look(strategy).0),
                plans + 1,
                "{strategy:?}"
            );
        }
        // The ring and its entry in the legend.
        assert_eq!(coloured(&picture, PALETTE[5]), 2);
        assert_eq!(picture.matches("font-weight=\"bold\"").count(), 2);
    }

    #[test]
    fn small_fronts_have_every_plan_labelled_and_large_ones_the_best() {
        let labelled = |count: u32| {
            let picture = pareto(&samples::front(count), &[]);
            let lines = picture.lines().filter(|line| line.contains("gpu"));
            lines.filter(|line| !line.starts_with("single:")).count()
        };
        assert_eq!(labelled(12), 12);
        assert_eq!(labelled(60), 3);
        let picture = pareto(&samples::front(60), &[]);
        for label in ["min-latency", "balanced", "max-throughput, min-energy"] {
            assert!(picture.contains(label), "{label}");
        }
    }

    #[test]
    fn a_baseline_far_off_is_named_and_does_not_squeeze_the_front() {
        let picture = pareto(&samples::front(12), &[]);
        assert!(picture.contains("single:little, outside:"));
        assert!(picture.contains("320 ms, 3.125 fps"));
        assert!(picture.contains("\nsingle:gpu\n"));
    }

    #[test]
    fn candidates_outside_are_counted() {
        let far = Candidate {
            latency_s: 9.0,
            throughput_fps: 20.0,
        };
        let near = Candidate {
            latency_s: 0.1,
            throughput_fps: 20.0,
        };
        let picture = pareto(&samples::front(3), &[far, near, near, far]);
        assert!(picture.contains("2 lie outside"));
        // One dot for the two that share a place, one in the legend.
        assert_eq!(picture.matches("r=\"2\"").count(), 2);
    }

    #[test]
    fn nothing_is_clipped_with_few_and_many_plans() {
        for count in [0, 1, 2, 3, 12, 13, 60] {
            let picture = pareto(&samples::front(count), &scatter(300));
            samples::assert_nothing_is_clipped(&picture, f64::from(WIDTH), f64::from(HEIGHT));
        }
    }
}

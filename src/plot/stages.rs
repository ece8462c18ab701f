//! Stages side by side: for each of a stage's queues, how long it computes and what it waits for, against the interval.
//!
//! The parts of a bar are sums, not spans: the time chart shows when, this one how much.

use std::collections::BTreeMap;

use paracompile_plan::{Nanoseconds, Plan};
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, round_number, time_unit};
use super::canvas::{Canvas, HPos, Lettering, Point, VPos, picture, to_pixels};
use super::lanes::{NAMES, POINTS};
use super::legend::Legend;
use super::palette::{ACCENT, FAINT, Family, INK, Processors, SOFT, ink_on, tint};
use super::points::point_of;
use super::stage_use::{QueueUse, stage_use};

const WIDTH: u32 = 1000;
const RIGHT: f64 = 900.0;
const TOP: f64 = 84.0;
const BAR: f64 = 30.0;
const GAP: f64 = 8.0;
const STAGE_GAP: f64 = 26.0;
const MOVES: RGBColor = RGBColor(70, 70, 70);
const WAITING: RGBColor = RGBColor(176, 176, 176);
const DONE: RGBColor = RGBColor(226, 226, 226);

/// Draws how the stages of `plan` spend their time, as SVG.
pub fn stages(plan: &Plan) -> String {
    let uses = stage_use(plan);
    let looks = Processors::of(uses.iter().map(|part| part.processor.as_str()));
    let rows = Rows::of(plan, &uses);
    let interval = plan.pace().to_seconds();
    let slowest = plan.stages.iter().map(|stage| stage.time_ns.to_seconds());
    let span = slowest.fold(interval, f64::max) * 1.02;
    let unit = time_unit(span);
    let axis = Axis::from_zero(span * unit.1, rows.left, RIGHT);
    let legend = legend(&uses, rows.left);
    let top_of_legend = rows.bottom + 52.0;
    let height = top_of_legend + legend.height() + 12.0;
    picture(WIDTH, to_pixels(height), |canvas| {
        draw_heading(canvas, plan, rows.left);
        draw_axis(canvas, &axis, rows.bottom, unit.0);
        for (texts, look) in [(&rows.names, NAMES), (&rows.points, POINTS)] {
            for (text, middle) in texts {
                let text = look.fit(text, rows.left - 20.0).unwrap_or_default();
                let at = (rows.left - 10.0, *middle);
                canvas.text(&text, at, (HPos::Right, VPos::Center), look);
            }
        }
        for (stage, top) in plan.stages.iter().zip(&rows.stage_tops) {
            let (name, time) = (stage.id.saturating_add(1), stage.time_ns);
            let look = Lettering::bold(12.0, INK);
            let text = format!("stage {name}: {}, {time}", stage.processors.join("+"));
            let text = look.fit(&text, RIGHT - rows.left).unwrap_or_default();
            canvas.text(&text, (rows.left, *top), (HPos::Left, VPos::Center), look);
        }
        for (part, &top) in uses.iter().zip(&rows.tops) {
            draw_bar(canvas, part, top, &looks, |time: Nanoseconds| {
                axis.pixel(time.to_seconds() * unit.1)
            });
        }
        draw_interval(canvas, axis.pixel(interval * unit.1), &rows, plan);
        legend.draw(canvas, top_of_legend, |sample, at| {
            draw_sample(canvas, sample, at, &looks);
        });
    })
}

/// Where the bars are.
struct Rows {
    left: f64,
    bottom: f64,
    stage_tops: Vec<f64>,
    tops: Vec<f64>,
    names: Vec<(String, f64)>,
    /// Operating points, below the names of their processors.
    points: Vec<(String, f64)>,
}

impl Rows {
    fn of(plan: &Plan, uses: &[QueueUse]) -> Self {
        let mut rows = Self {
            left: 0.0,
            bottom: TOP,
            stage_tops: Vec::new(),
            tops: Vec::new(),
            names: Vec::new(),
            points: Vec::new(),
        };
        let mut y = TOP;
        for (index, _) in plan.stages.iter().enumerate() {
            y += 10.0;
            rows.stage_tops.push(y);
            y += 14.0;
            for part in uses.iter().filter(|part| part.stage as usize == index) {
                let twice = |other: &&QueueUse| other.processor == part.processor;
                let name = if uses.iter().filter(twice).count() > 1 {
                    format!("{} #{}", part.processor, part.queue)
                } else {
                    part.processor.clone()
                };
                let middle = y + BAR / 2.0;
                if let Some(point) = point_of(plan, &part.processor) {
                    rows.names.push((name, middle - 7.0));
                    rows.points.push((point.to_owned(), middle + 8.0));
                } else {
                    rows.names.push((name, middle));
                }
                rows.tops.push(y);
                y += BAR + GAP;
            }
            y += STAGE_GAP - GAP;
        }
        rows.bottom = y - STAGE_GAP + GAP + 6.0;
        let points = rows.points.iter().map(|(point, _)| POINTS.width(point));
        let names = rows.names.iter().map(|(name, _)| NAMES.width(name));
        let widths = names.chain(points);
        rows.left = widths.fold(60.0, f64::max).min(220.0) + 26.0;
        rows
    }
}

fn draw_heading(canvas: &Canvas<'_>, plan: &Plan, left: f64) {
    let anchor = (HPos::Left, VPos::Center);
    let heading = Lettering::bold(16.0, INK);
    let title = format!("{} on {}: time by stage", plan.model.name, plan.soc.name);
    let title = heading.fit(&title, RIGHT - left).unwrap_or_default();
    canvas.text(&title, (left, 24.0), anchor, heading);
    let look = Lettering::plain(12.0, SOFT);
    let text = format!(
        "{}; a frame every {}; with frames that overlap inside stages, {} at best",
        plan.strategy.name(),
        plan.pace(),
        plan.predicted.interval_bound_ns,
    );
    let text = look.fit(&text, RIGHT - left).unwrap_or_default();
    canvas.text(&text, (left, 48.0), anchor, look);
}

fn draw_axis(canvas: &Canvas<'_>, axis: &Axis, bottom: f64, unit: &str) {
    let numbers = Lettering::plain(11.0, SOFT);
    let mut free_from = f64::NEG_INFINITY;
    for tick in axis.ticks(8) {
        let x = axis.pixel(tick);
        canvas.line(&[(x, TOP), (x, bottom)], FAINT, 1);
        let label = format!("{} {unit}", round_number(tick));
        let half = numbers.width(&label) / 2.0;
        if x - half > free_from {
            let at = (x, bottom + 6.0);
            canvas.text(&label, at, (HPos::Center, VPos::Top), numbers);
            free_from = x + half + 6.0;
        }
    }
    canvas.line(&[(axis.pixel(0.0), bottom), (RIGHT, bottom)], SOFT, 1);
}

fn draw_bar(
    canvas: &Canvas<'_>,
    part: &QueueUse,
    top: f64,
    looks: &Processors,
    x: impl Fn(Nanoseconds) -> f64,
) {
    let colour = looks.colour(&part.processor);
    let mut segments: Vec<(String, Nanoseconds, RGBColor)> = part
        .busy
        .iter()
        .map(|&(class, time)| {
            let name = class.name().replace('_', " ");
            (name, time, Family::of(class).on(colour))
        })
        .collect();
    segments.push(("moves".to_owned(), part.moves, MOVES));
    segments.push(("waits".to_owned(), part.waiting, WAITING));
    segments.push(("done".to_owned(), part.done, DONE));
    let whole: Nanoseconds = segments.iter().map(|(_, time, _)| *time).sum();
    let mut from = Nanoseconds::ZERO;
    for (name, time, colour) in segments {
        if time == Nanoseconds::ZERO {
            continue;
        }
        let (left, right) = (x(from), x(from + time));
        from += time;
        let share = 100.0 * time.to_seconds() / whole.to_seconds();
        let title = format!(
            "{}: {name} {time}, {share:.1}% of the stage",
            part.processor
        );
        canvas.titled(&title, || {
            let corners = ((left, top), (right.max(left + 1.0), top + BAR));
            canvas.fill(corners.0, corners.1, colour, 1.0);
            if right - left >= 4.0 {
                canvas.frame(corners.0, corners.1, WHITE);
            }
        });
        let look = Lettering::plain(10.5, ink_on(colour));
        let text = [format!("{name} {share:.0}%"), name]
            .into_iter()
            .find(|text| look.width(text) + 8.0 <= right - left);
        if let Some(text) = text {
            let middle = (f64::midpoint(left, right), top + BAR / 2.0);
            canvas.text(&text, middle, (HPos::Center, VPos::Center), look);
        }
    }
    let busy = 100.0 * part.busy_time().to_seconds() / whole.to_seconds();
    if busy.is_finite() {
        let look = Lettering::plain(11.0, SOFT);
        let x = f64::from(WIDTH) - 12.0;
        let lines = [format!("computes {busy:.0}%"), "of its stage".to_owned()];
        for (text, y) in lines
            .iter()
            .zip([top + BAR / 2.0 - 7.0, top + BAR / 2.0 + 7.0])
        {
            canvas.text(text, (x, y), (HPos::Right, VPos::Center), look);
        }
    }
}

fn draw_interval(canvas: &Canvas<'_>, x: f64, rows: &Rows, plan: &Plan) {
    if plan.pace() == Nanoseconds::ZERO {
        return;
    }
    canvas.line(&[(x, TOP - 8.0), (x, rows.bottom)], ACCENT, 2);
    let look = Lettering::plain(11.0, ACCENT);
    let text = format!("interval {}", plan.pace());
    let half = look.width(&text) / 2.0;
    let middle = x.clamp(rows.left + half, f64::from(WIDTH) - 10.0 - half);
    let at = (middle, TOP - 16.0);
    canvas.text(&text, at, (HPos::Center, VPos::Center), look);
}

/// What an entry of the legend shows.
#[derive(Clone, Copy)]
enum Sample {
    Family(Family),
    Plain(RGBColor),
}

fn legend(uses: &[QueueUse], left: f64) -> Legend<Sample> {
    let mut classes: BTreeMap<Family, BTreeMap<&str, u64>> = BTreeMap::new();
    for (class, time) in uses.iter().flat_map(|part| &part.busy) {
        let of_family = classes.entry(Family::of(*class)).or_default();
        let sum = of_family.entry(class.name()).or_default();
        *sum = sum.saturating_add(time.count());
    }
    let families = classes
        .into_iter()
        .map(|(family, classes)| {
            let mut classes: Vec<_> = classes.into_iter().collect();
            classes.sort_by_key(|&(name, time)| (std::cmp::Reverse(time), name));
            let names: Vec<String> = classes
                .iter()
                .map(|(name, _)| name.replace('_', " "))
                .collect();
            (Sample::Family(family), names.join(", "))
        })
        .collect();
    let rest = [
        (MOVES, "moves: what the next task reads is on its way"),
        (WAITING, "waits for another processor"),
        (DONE, "done before the stage"),
    ]
    .map(|(colour, text)| (Sample::Plain(colour), text.to_owned()))
    .to_vec();
    Legend::new(vec![families, rest], left, f64::from(WIDTH) - 12.0)
}

fn draw_sample(canvas: &Canvas<'_>, sample: Sample, (x, y): Point, looks: &Processors) {
    let boxed = |from: f64, to: f64, colour| {
        canvas.fill((x + from, y - 6.0), (x + to, y + 6.0), colour, 1.0);
    };
    match sample {
        Sample::Family(family) => {
            let colours = looks.first_two();
            boxed(0.0, 9.0, family.on(colours[0]));
            boxed(9.0, 18.0, family.on(colours[1]));
        }
        Sample::Plain(colour) => {
            boxed(0.0, 18.0, colour);
            canvas.frame((x, y - 6.0), (x + 18.0, y + 6.0), tint(INK, 0.3));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::geometry::Picture;
    use crate::plot::samples;

    #[test]
    fn every_part_that_takes_time_is_drawn_and_named_by_a_tooltip() {
        let plan = samples::plan(40, &[&["big", "little"], &["gpu"]]);
        let picture = stages(&plan);
        for part in stage_use(&plan) {
            for (class, time) in &part.busy {
                let title = format!("<title>{}: {} {time}", part.processor, class.name());
                assert!(picture.contains(&title.replace('_', " ")), "{title}");
            }
        }
        assert!(picture.contains(&format!("interval {}", plan.predicted.interval_ns)));
        for point in ["1000MHz", "1100MHz", "1200MHz"] {
            assert!(picture.contains(&format!("\n{point}\n")), "{point}");
        }
    }

    #[test]
    fn nothing_is_clipped_and_no_texts_touch() {
        let long = ["<&\"\u{1}名前_that_is_long_and_grows_and_grows", "b"];
        let sets: [&[&[&str]]; 4] = [
            &[&["big"]],
            &[&["big"], &["gpu"], &["little"]],
            &[&["big", "little", "gpu"]],
            &[&long, &["gpu"], &["little"], &["dsp0", "dsp1", "npu"]],
        ];
        for (tasks, set) in [1, 30, 200, 60].into_iter().zip(sets) {
            let plan = samples::plan(tasks, set);
            let picture = stages(&plan);
            Picture::read(&picture).assert_clean();
            assert_eq!(picture, stages(&plan));
        }
    }

    #[test]
    fn frames_that_are_admitted_more_rarely_leave_room_behind_the_stages() {
        let mut plan = samples::plan(20, &[&["big"], &["gpu"]]);
        plan.admission_interval_ns = Nanoseconds::new(987_000_000);
        let picture = stages(&plan);
        assert!(picture.contains("\ninterval 987 ms\n"));
        Picture::read(&picture).assert_clean();
    }

    #[test]
    fn a_plan_without_time_is_drawn() {
        let mut plan = samples::plan(4, &[&["big"]]);
        plan.predicted.interval_ns = Nanoseconds::ZERO;
        plan.admission_interval_ns = Nanoseconds::ZERO;
        plan.stages[0].time_ns = Nanoseconds::ZERO;
        for task in &mut plan.tasks {
            (task.start_ns, task.duration_ns) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
        }
        Picture::read(&stages(&plan)).assert_clean();
    }
}

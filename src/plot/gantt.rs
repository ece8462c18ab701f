//! A plan in time: one lane a compute queue, moves below, several frames in steady state.
//!
//! The picture shows the paced pipeline of rule M6: a frame is admitted every interval, and starts in each stage when the stages before have had it.
//! One frame is drawn in full colour from its admission to its end; those before and behind it are pale.

use paracompile_plan::Plan;
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, round_number, time_unit};
use super::canvas::{Canvas, FAINT, HPos, INK, Lettering, PALETTE, SOFT, VPos, ink_on, picture};
use super::lanes::{LANE, Lanes, MOVE_ROW, NAMES, STAGE_LANE, TOP};
use super::stream::Stream;

const WIDTH: u32 = 1200;
const RIGHT: f64 = 1170.0;
/// Opacity of the frame that the picture is about, and share of colour in those around it.
const STRONG: f64 = 0.92;
const PALE: f64 = 0.28;
const SMALL: Lettering = Lettering::plain(10.0, INK);

/// Draws `plan`, which the checker has accepted, as SVG.
///
/// Tasks and moves that refer to what the plan does not have are left out.
pub fn gantt(plan: &Plan) -> String {
    let stream = Stream::of(plan);
    let lanes = Lanes::of(plan, &stream);
    let bottom = lanes.bottom;
    picture(WIDTH, to_pixels(bottom + 98.0), |canvas| {
        let left = lanes.left;
        let scale = time_unit(stream.span);
        let axis = Axis::from_zero(stream.span * scale.1, left, RIGHT);
        let drawing = Drawing {
            canvas,
            axis,
            per_second: scale.1,
            stream: &stream,
        };
        drawing.draw_grid(bottom, scale.0);
        drawing.draw_frame_marks(bottom);
        draw_heading(canvas, plan, left);
        drawing.draw_stages(plan, &lanes);
        drawing.draw_tasks(plan, &lanes);
        drawing.draw_moves(plan, &lanes);
        for (name, middle) in &lanes.names {
            let name = NAMES.fit(name, left - 20.0).unwrap_or_default();
            canvas.text(
                &name,
                (left - 10.0, *middle),
                (HPos::Right, VPos::Center),
                NAMES,
            );
        }
        draw_legend(canvas, plan, left, bottom + 74.0);
    })
}

struct Drawing<'c, 'b, 's> {
    canvas: &'c Canvas<'b>,
    axis: Axis,
    per_second: f64,
    stream: &'s Stream,
}

impl Drawing<'_, '_, '_> {
    fn x(&self, seconds: f64) -> f64 {
        self.axis.pixel(seconds * self.per_second)
    }

    fn draw_grid(&self, bottom: f64, unit: &str) {
        let numbers = Lettering::plain(11.0, SOFT);
        for tick in self.axis.ticks(10) {
            let x = self.axis.pixel(tick);
            self.canvas.line(&[(x, TOP - 4.0), (x, bottom)], FAINT, 1);
            let label = format!("{} {unit}", round_number(tick));
            self.canvas.text(
                &label,
                (x, bottom + 6.0),
                (HPos::Center, VPos::Top),
                numbers,
            );
        }
        self.canvas
            .line(&[(self.x(0.0), bottom), (RIGHT, bottom)], SOFT, 1);
    }

    /// A bar, at least one pixel wide.
    fn bar(
        &self,
        (from, to): (f64, f64),
        top: f64,
        height: f64,
        colour: RGBColor,
        frame: i32,
    ) -> f64 {
        let (left, right) = (self.x(from), self.x(to).max(self.x(from) + 1.0));
        // Pale bars are opaque too, so that no grid line runs through a text.
        let (shade, opacity) = if frame == 0 {
            (colour, STRONG)
        } else {
            (blend(colour, PALE), 1.0)
        };
        let corners = ((left, top), (right, top + height));
        self.canvas.fill(corners.0, corners.1, shade, opacity);
        if right - left >= 4.0 && height > 12.0 {
            self.canvas.frame(corners.0, corners.1, WHITE);
        }
        right - left
    }

    fn draw_stages(&self, plan: &Plan, lanes: &Lanes) {
        for ((stage, &top), &time) in plan
            .stages
            .iter()
            .zip(&lanes.stage_tops)
            .zip(&self.stream.times)
        {
            for frame in self.stream.frames() {
                let Some(span) = self.stream.visible(frame, stage.id, 0.0, time) else {
                    continue;
                };
                let width = self.bar(span, top, STAGE_LANE, colour(stage.id), frame);
                let label = match frame {
                    0 => "frame f".to_owned(),
                    _ => format!("f{frame:+}").replace('-', "−"),
                };
                let look = if frame == 0 {
                    Lettering::bold(10.5, ink_on(colour(stage.id)))
                } else {
                    SMALL
                };
                if let Some(label) = look.fit(&label, width - 6.0) {
                    let middle = (
                        self.x(f64::midpoint(span.0, span.1)),
                        top + STAGE_LANE / 2.0,
                    );
                    self.canvas
                        .text(&label, middle, (HPos::Center, VPos::Center), look);
                }
            }
        }
    }

    fn draw_tasks(&self, plan: &Plan, lanes: &Lanes) {
        for frame in self.stream.frames() {
            for task in &plan.tasks {
                let (start, duration) = (task.start_ns.to_seconds(), task.duration_ns.to_seconds());
                let span = self.stream.visible(frame, task.stage, start, duration);
                let (Some(span), Some(&top)) = (span, lanes.queue_tops.get(&task.queue)) else {
                    continue;
                };
                let width = self.bar(span, top, LANE, colour(task.stage), frame);
                if frame == 0 && width > 12.0 {
                    let look = Lettering::plain(10.0, ink_on(colour(task.stage)));
                    let output = task
                        .operators
                        .first()
                        .map_or("", |operator| &operator.output);
                    let middle = (self.x(f64::midpoint(span.0, span.1)), top + LANE / 2.0);
                    if let Some(name) = tail_that_fits(output, look, width - 6.0) {
                        self.canvas
                            .text(&name, middle, (HPos::Center, VPos::Center), look);
                    }
                }
            }
        }
    }

    fn draw_moves(&self, plan: &Plan, lanes: &Lanes) {
        for frame in self.stream.frames() {
            for (index, transfer) in plan.transfers.iter().enumerate() {
                let start = transfer.start_ns.to_seconds();
                let duration = transfer.duration_ns.to_seconds();
                let span = self.stream.visible(frame, transfer.stage, start, duration);
                if let (Some(span), Some(&top)) = (span, lanes.move_tops.get(&index)) {
                    self.bar(span, top, MOVE_ROW - 2.0, colour(transfer.stage), frame);
                }
            }
        }
    }

    /// When frame f enters and leaves, and when the next one is admitted.
    fn draw_frame_marks(&self, bottom: f64) {
        let small = Lettering::plain(11.0, INK);
        let mut marks = vec![
            (0.0, "frame f admitted", HPos::Left, 24.0),
            (self.stream.passage, "frame f done", HPos::Right, 24.0),
        ];
        if self.stream.interval > 0.0 && self.stream.interval < self.stream.passage * 0.999 {
            // A row of its own: the interval may be close to either end.
            marks.push((self.stream.interval, "f+1 admitted", HPos::Center, 38.0));
        }
        for (at, label, anchor, below) in marks {
            let x = self.x(at);
            self.canvas.dashes((x, TOP - 8.0), (x, bottom), INK);
            self.canvas
                .text(label, (x, bottom + below), (anchor, VPos::Top), small);
        }
    }
}

/// `share` of the colour on white.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of two bytes is a byte"
)]
fn blend(RGBColor(red, green, blue): RGBColor, share: f64) -> RGBColor {
    let mean = |part: u8| (255.0 - (255.0 - f64::from(part)) * share).round() as u8;
    RGBColor(mean(red), mean(green), mean(blue))
}

/// Stages take colours in turn, neighbours different ones.
fn colour(stage: u32) -> RGBColor {
    PALETTE[stage as usize % PALETTE.len()]
}

/// The longest tail of a path-like name that fits, or the start of its last part: the front of such names repeats from task to task.
fn tail_that_fits(name: &str, look: Lettering, width: f64) -> Option<String> {
    let name = name.trim_end_matches("_output_0").trim_matches('/');
    let starts = std::iter::once(0).chain(name.match_indices('/').map(|(slash, _)| slash + 1));
    let mut tails = starts.map(|start| &name[start..]);
    tails
        .find(|tail| look.width(tail) <= width)
        .map(str::to_owned)
        .or_else(|| look.fit(name.rsplit('/').next().unwrap_or(name), width))
}

fn draw_heading(canvas: &Canvas<'_>, plan: &Plan, left: f64) {
    let heading = Lettering::bold(16.0, INK);
    let stages: Vec<_> = plan
        .stages
        .iter()
        .map(|stage| stage.processors.join("+"))
        .collect();
    let title = format!(
        "{} on {}: {}",
        plan.model.name,
        plan.soc.name,
        stages.join(" | ")
    );
    let title = heading.fit(&title, RIGHT - left).unwrap_or_default();
    let anchor = (HPos::Left, VPos::Center);
    canvas.text(&title, (left, 24.0), anchor, heading);
    let figures = &plan.predicted;
    let subtitle = format!(
        "{}; latency {}, interval {}, active energy {} a frame; {} tasks, {} moves; frames admitted every interval",
        plan.strategy.name(),
        figures.latency_ns,
        figures.interval_ns,
        figures.energy_active_nj,
        plan.tasks.len(),
        plan.transfers.len(),
    );
    canvas.text(
        &subtitle,
        (left, 48.0),
        anchor,
        Lettering::plain(12.0, SOFT),
    );
}

fn draw_legend(canvas: &Canvas<'_>, plan: &Plan, left: f64, y: f64) {
    let text = Lettering::plain(12.0, INK);
    let mut x = left;
    for stage in &plan.stages {
        let label = format!("stage {}: {}", stage.id + 1, stage.processors.join("+"));
        let width = text.width(&label) + 42.0;
        if x + width > RIGHT - 120.0 {
            canvas.text("…", (x, y), (HPos::Left, VPos::Center), text);
            x += 24.0;
            break;
        }
        canvas.fill((x, y - 6.0), (x + 16.0, y + 6.0), colour(stage.id), STRONG);
        canvas.text(&label, (x + 22.0, y), (HPos::Left, VPos::Center), text);
        x += width;
    }
    canvas.fill((x, y - 6.0), (x + 16.0, y + 6.0), blend(SOFT, PALE), 1.0);
    canvas.text(
        "other frames",
        (x + 22.0, y),
        (HPos::Left, VPos::Center),
        text,
    );
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "heights are positive and small, and the cast saturates"
)]
fn to_pixels(value: f64) -> u32 {
    value.ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::samples;

    /// Bars in the full colour of a stage, the legend's included.
    fn strong_bars(picture: &str, stage: u32) -> usize {
        let RGBColor(red, green, blue) = colour(stage);
        let fill = format!("opacity=\"0.92\" fill=\"#{red:02X}{green:02X}{blue:02X}\"");
        picture.matches(&fill).count()
    }

    #[test]
    fn one_frame_is_drawn_once_in_full_colour() {
        let plan = samples::plan(40, &[&["big", "little"], &["gpu"]]);
        let picture = gantt(&plan);
        for stage in 0..2 {
            let tasks = plan.tasks.iter().filter(|task| task.stage == stage).count();
            let moves = plan
                .transfers
                .iter()
                .filter(|transfer| transfer.stage == stage)
                .count();
            // Besides: the stage itself and its entry in the legend.
            assert_eq!(strong_bars(&picture, stage), tasks + moves + 2);
        }
    }

    #[test]
    fn in_steady_state_later_stages_have_earlier_frames() {
        let picture = gantt(&samples::plan(30, &[&["big"], &["gpu"], &["little"]]));
        for frame in ["f−2", "f−1", "f+1", "f+2", "frame f"] {
            assert!(picture.contains(&format!("\n{frame}\n")), "{frame}");
        }
        assert!(!picture.contains("f−3"));
    }

    #[test]
    fn nothing_is_clipped_with_few_and_many_tasks() {
        let long = [
            "a_processor_with_a_long_name",
            "and_another_one_that_is_longer_still",
        ];
        let sets: [(u32, &[&[&str]]); 4] = [
            (1, &[&["big"]]),
            (30, &[&["big"], &["gpu"], &["little"]]),
            (200, &[&["big", "little"], &["gpu"]]),
            (
                60,
                &[&long, &["gpu"], &["little"], &["dsp0"], &["dsp1"], &["npu"]],
            ),
        ];
        for (tasks, set) in sets {
            let picture = gantt(&samples::plan(tasks, set));
            let svg = "height=\"";
            let start = picture.find(svg).unwrap() + svg.len();
            let height = &picture[start..start + picture[start..].find('"').unwrap()];
            samples::assert_nothing_is_clipped(&picture, f64::from(WIDTH), height.parse().unwrap());
        }
    }

    #[test]
    fn a_plan_without_time_and_one_with_dangling_references_are_drawn() {
        let mut plan = samples::plan(8, &[&["big"]]);
        plan.admission_interval_ns = paracompile_plan::Nanoseconds::ZERO;
        plan.stages[0].time_ns = paracompile_plan::Nanoseconds::ZERO;
        assert!(gantt(&plan).contains("frame f admitted"));
        let mut plan = samples::plan(8, &[&["big"]]);
        plan.tasks[0].queue = 99;
        plan.tasks[1].stage = 99;
        plan.transfers[0].from_buffer = 99;
        // Six tasks of eight, one move of two, the stage, the legend.
        assert_eq!(strong_bars(&gantt(&plan), 0), 6 + 1 + 2);
    }

    #[test]
    fn names_keep_their_last_parts() {
        let look = Lettering::plain(10.0, INK);
        let name = "/features/mixed_5b/branch/Conv_output_0";
        assert_eq!(
            tail_that_fits(name, look, 500.0).as_deref(),
            Some("features/mixed_5b/branch/Conv")
        );
        assert_eq!(
            tail_that_fits(name, look, 80.0).as_deref(),
            Some("branch/Conv")
        );
        assert_eq!(
            tail_that_fits("loss3/classifier_with_long_name", look, 40.0).as_deref(),
            Some("class…")
        );
        assert_eq!(tail_that_fits(name, look, 8.0), None);
    }
}

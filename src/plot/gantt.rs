//! A plan in time: one lane a compute queue, moves below, several frames in steady state, and the critical path of one.
//!
//! The picture shows the paced pipeline of rule M6: a frame is admitted every interval, and starts in each stage when the stages before have had it.
//! One frame is drawn in full colour from its admission to its end; those before and behind it are pale blocks.
//! A network has hundreds of operators, and most are a few pixels wide: colour tells the processor, shade the kind of operator, a tooltip everything else.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::{QueueKind, Task};
use paracompile_plan::{Nanojoules, Nanoseconds, Plan, counted};
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, round_number, time_unit};
use super::canvas::{Canvas, HPos, Lettering, Point, VPos, picture, to_f64, to_pixels};
use super::lanes::{LANE, Lanes, MOVE_ROW, NAMES, POINTS, STAGE_LANE, TOP};
use super::legend::Legend;
use super::palette::{FAINT, Family, INK, Processors, SOFT, ink_on, tint};
use super::stream::Stream;
use crate::simulate::{Critical, CriticalPath, CriticalWork, critical_path};

const WIDTH: u32 = 1000;
const RIGHT: f64 = 968.0;
/// Shares of colour in frames around the one that the picture is about, by turns.
const PALE: [f64; 2] = [0.30, 0.17];
const MOVE: RGBColor = RGBColor(70, 70, 70);
const SMALL: Lettering = Lettering::plain(10.0, INK);
/// Names of moments, and the height of a row of them.
const MARKS: Lettering = Lettering::plain(11.0, INK);
const ROW_OF_MARKS: f64 = 14.0;

/// Draws `plan`, which the checker has accepted, as SVG.
///
/// Tasks and moves that refer to what the plan does not have are left out.
pub fn gantt(plan: &Plan) -> String {
    gantt_of(plan, Times::Planned, "", 0.0)
}

/// Where the times in a plan come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// From the compiler: what waits for what follows from them, and so does the critical path.
    Planned,
    /// From devices, in the place of the compiler's.
    Measured {
        /// Whether frames were admitted at an interval, or as fast as the first stage took them.
        is_paced: bool,
    },
}

/// The same with `says` before the subtitle, over at least so many seconds.
pub(super) fn gantt_of(plan: &Plan, times: Times, says: &str, seconds: f64) -> String {
    let mut stream = Stream::of(plan);
    stream.span = stream.span.max(seconds);
    let lanes = Lanes::of(plan, &stream);
    // A plan that cannot be simulated has no critical path, but lanes all the same.
    let path = match times {
        Times::Planned => critical_path(plan, Critical::Passage).ok(),
        Times::Measured { .. } => None,
    };
    let names = plan
        .queues
        .iter()
        .filter(|queue| queue.kind == QueueKind::Compute);
    let looks = Processors::of(names.map(|queue| queue.processor.as_str()));
    let legend = legend(plan, &stream, path.is_some(), lanes.left);
    let scale = time_unit(stream.span);
    let axis = Axis::from_zero(stream.span * scale.1, lanes.left, RIGHT);
    let marks = frame_marks(&stream, |seconds| axis.pixel(seconds * scale.1));
    let rows = marks.iter().map(|mark| mark.row + 1).max().unwrap_or(0);
    let top_of_legend = lanes.bottom + 26.0 + ROW_OF_MARKS * to_f64(rows.max(2));
    let height = top_of_legend + legend.height() + 12.0;
    picture(WIDTH, to_pixels(height), |canvas| {
        let left = lanes.left;
        let drawing = Drawing {
            canvas,
            plan,
            lanes: &lanes,
            looks: &looks,
            axis,
            per_second: scale.1,
            stream: &stream,
        };
        drawing.draw_grid(scale.0);
        drawing.draw_frame_marks(&marks);
        draw_heading(canvas, plan, left, times, says);
        drawing.draw_stages();
        drawing.draw_other_frames();
        drawing.draw_tasks();
        drawing.draw_moves();
        drawing.draw_boundaries();
        if let Some(path) = &path {
            drawing.draw_path(path);
        }
        for (texts, look) in [(&lanes.names, NAMES), (&lanes.points, POINTS)] {
            for (text, middle) in texts {
                let text = look.fit(text, left - 20.0).unwrap_or_default();
                let at = (left - 10.0, *middle);
                canvas.text(&text, at, (HPos::Right, VPos::Center), look);
            }
        }
        legend.draw(canvas, top_of_legend, |sample, at| {
            draw_sample(canvas, sample, at, &looks);
        });
    })
}

struct Drawing<'c, 'b> {
    canvas: &'c Canvas<'b>,
    plan: &'c Plan,
    lanes: &'c Lanes,
    looks: &'c Processors,
    axis: Axis,
    per_second: f64,
    stream: &'c Stream,
}

impl Drawing<'_, '_> {
    fn x(&self, seconds: f64) -> f64 {
        self.axis.pixel(seconds * self.per_second)
    }

    fn colour_of_queue(&self, queue: u32) -> RGBColor {
        let queue = self.plan.queues.get(queue as usize);
        queue.map_or(SOFT, |queue| self.looks.colour(&queue.processor))
    }

    fn draw_grid(&self, unit: &str) {
        let bottom = self.lanes.bottom;
        let numbers = Lettering::plain(11.0, SOFT);
        let mut free_from = f64::NEG_INFINITY;
        for tick in self.axis.ticks(9) {
            let x = self.axis.pixel(tick);
            self.canvas.line(&[(x, TOP - 4.0), (x, bottom)], FAINT, 1);
            let label = format!("{} {unit}", round_number(tick));
            let half = numbers.width(&label) / 2.0;
            if x - half > free_from {
                let at = (x, bottom + 6.0);
                self.canvas
                    .text(&label, at, (HPos::Center, VPos::Top), numbers);
                free_from = x + half + 6.0;
            }
        }
        self.canvas
            .line(&[(self.x(0.0), bottom), (RIGHT, bottom)], SOFT, 1);
    }

    /// A bar, at least one pixel wide; returns its width.
    fn bar(&self, (from, to): (f64, f64), top: f64, height: f64, colour: RGBColor) -> f64 {
        let (left, right) = (self.x(from), self.x(to).max(self.x(from) + 1.0));
        // What is too narrow for a border is as high as what has one inside it.
        let inset = if height > 12.0 { 1.0 } else { 0.0 };
        let bordered = right - left >= 4.0 && height > 12.0;
        let corners = if bordered {
            ((left, top), (right, top + height))
        } else {
            ((left, top + inset), (right, top + height - inset))
        };
        self.canvas.fill(corners.0, corners.1, colour, 1.0);
        if bordered {
            self.canvas.frame(corners.0, corners.1, WHITE);
        }
        right - left
    }

    fn draw_stages(&self) {
        let stages = self.plan.stages.iter().zip(&self.lanes.stage_tops);
        for ((stage, &top), &time) in stages.zip(&self.stream.times) {
            for frame in self.stream.frames() {
                let Some(span) = self.stream.visible(frame, stage.id, 0.0, time) else {
                    continue;
                };
                let colour = if frame == 0 { SOFT } else { pale(SOFT, frame) };
                let width = self.bar(span, top, STAGE_LANE, colour);
                let (label, look) = match frame {
                    0 => ("frame f".to_owned(), Lettering::bold(10.5, WHITE)),
                    _ => (format!("f{frame:+}").replace('-', "−"), SMALL),
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

    /// When the queues are busy with frames before and behind; what touches becomes one block.
    fn draw_other_frames(&self) {
        let mut spans: BTreeMap<(u32, i32), Vec<(f64, f64)>> = BTreeMap::new();
        for frame in self.stream.frames().into_iter().filter(|&frame| frame != 0) {
            for task in &self.plan.tasks {
                if let Some(span) = self.span_of(task, frame) {
                    spans.entry((task.queue, frame)).or_default().push(span);
                }
            }
        }
        for ((queue, frame), mut spans) in spans {
            let Some(&top) = self.lanes.queue_tops.get(&queue) else {
                continue;
            };
            let colour = pale(self.colour_of_queue(queue), frame);
            spans.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut block: Option<(f64, f64)> = None;
            for span in spans {
                match &mut block {
                    Some(block) if self.x(span.0) - self.x(block.1) < 1.5 => {
                        block.1 = block.1.max(span.1);
                    }
                    _ => {
                        if let Some(done) = block.replace(span) {
                            self.bar(done, top, LANE, colour);
                        }
                    }
                }
            }
            if let Some(done) = block {
                self.bar(done, top, LANE, colour);
            }
        }
    }

    fn span_of(&self, task: &Task, frame: i32) -> Option<(f64, f64)> {
        let (start, duration) = (task.start_ns.to_seconds(), task.duration_ns.to_seconds());
        self.stream.visible(frame, task.stage, start, duration)
    }

    fn draw_tasks(&self) {
        for task in &self.plan.tasks {
            let top = self.lanes.queue_tops.get(&task.queue);
            let (Some(span), Some(&top)) = (self.span_of(task, 0), top) else {
                continue;
            };
            let colour = Family::of(task.class).on(self.colour_of_queue(task.queue));
            let mut width = 0.0;
            self.canvas.titled(&tooltip(task), || {
                width = self.bar(span, top, LANE, colour);
            });
            if width > 12.0 {
                let look = Lettering::plain(10.0, ink_on(colour));
                let middle = (self.x(f64::midpoint(span.0, span.1)), top + LANE / 2.0);
                let name = tail_that_fits(output(task), look, width - 6.0);
                let class = task.class.name().replace('_', " ");
                let name = name.or_else(|| look.fit(&class, width - 6.0));
                if let Some(name) = name {
                    self.canvas
                        .text(&name, middle, (HPos::Center, VPos::Center), look);
                }
            }
        }
    }

    fn draw_moves(&self) {
        for frame in self.stream.frames() {
            for (index, transfer) in self.plan.transfers.iter().enumerate() {
                let start = transfer.start_ns.to_seconds();
                let duration = transfer.duration_ns.to_seconds();
                let span = self.stream.visible(frame, transfer.stage, start, duration);
                let (Some(span), Some(&top)) = (span, self.lanes.move_tops.get(&index)) else {
                    continue;
                };
                if frame != 0 {
                    self.bar(span, top, MOVE_ROW - 2.0, pale(MOVE, frame));
                    continue;
                }
                let buffer = self.plan.buffers.get(transfer.from_buffer as usize);
                let tensor = buffer.map_or("", |buffer| &buffer.tensor);
                let title = format!(
                    "move of {tensor}: {}, {}",
                    transfer.bytes, transfer.duration_ns
                );
                self.canvas.titled(&title, || {
                    self.bar(span, top, MOVE_ROW - 2.0, MOVE);
                });
            }
        }
    }

    /// Where a stage takes a frame, in the lanes of its processors.
    fn draw_boundaries(&self) {
        for stage in &self.plan.stages {
            let queues: BTreeSet<u32> = self
                .plan
                .tasks
                .iter()
                .filter(|task| task.stage == stage.id)
                .map(|task| task.queue)
                .collect();
            for frame in self.stream.frames() {
                let begin = self.stream.visible(frame, stage.id, 0.0, 1e-12);
                let Some((begin, _)) = begin.filter(|&(begin, _)| begin > 0.0) else {
                    continue;
                };
                for queue in &queues {
                    if let Some(&top) = self.lanes.queue_tops.get(queue) {
                        let x = self.x(begin);
                        self.canvas
                            .line(&[(x, top - 3.0), (x, top + LANE + 2.0)], SOFT, 1);
                    }
                }
            }
        }
    }

    /// A line under what the frame waits for, from its admission to its end.
    fn draw_path(&self, path: &CriticalPath) {
        let mut before: Option<Point> = None;
        for step in &path.steps {
            let bottom = match step.work {
                CriticalWork::Task(id) => {
                    let task = self.plan.tasks.get(id as usize);
                    task.and_then(|task| self.lanes.queue_tops.get(&task.queue))
                        .map(|top| top + LANE + 4.0)
                }
                CriticalWork::Transfer(id) => {
                    let top = self.lanes.move_tops.get(&(id as usize));
                    top.map(|top| top + MOVE_ROW - 1.0)
                }
            };
            let Some(y) = bottom else { continue };
            let (from, to) = (step.start.to_seconds(), step.end.to_seconds());
            if from > self.stream.span {
                break;
            }
            let (from, to) = (self.x(from), self.x(to.min(self.stream.span)));
            if let Some(before) = before.filter(|before| (before.1 - y).abs() > 0.5) {
                self.canvas.line(&[before, (from, y)], INK, 1);
            }
            self.canvas
                .line(&[(from, y), (to.max(from + 1.0), y)], INK, 3);
            before = Some((to, y));
        }
    }

    fn draw_frame_marks(&self, marks: &[FrameMark]) {
        let bottom = self.lanes.bottom;
        for mark in marks {
            self.canvas
                .dashes((mark.x, TOP - 8.0), (mark.x, bottom), INK);
            let y = bottom + 22.0 + ROW_OF_MARKS * to_f64(mark.row);
            self.canvas
                .text(mark.label, (mark.x, y), (mark.anchor, VPos::Top), MARKS);
        }
    }
}

/// A moment of frame f or of the next one, named below the lanes.
struct FrameMark {
    x: f64,
    label: &'static str,
    anchor: HPos,
    row: usize,
}

/// When frame f enters and leaves, and when the next one is admitted; names that would touch stand in different rows.
fn frame_marks(stream: &Stream, x: impl Fn(f64) -> f64) -> Vec<FrameMark> {
    let mut moments = vec![
        (0.0, "frame f admitted", HPos::Left),
        (stream.passage, "frame f done", HPos::Right),
    ];
    if stream.interval > 0.0 && stream.interval < stream.passage * 0.999 {
        moments.push((stream.interval, "f+1 admitted", HPos::Center));
    }
    // The pixels that are taken, by row.
    let mut rows: Vec<Vec<(f64, f64)>> = Vec::new();
    let marks = moments.into_iter().map(|(at, label, anchor)| {
        let at = x(at);
        let width = MARKS.width(label);
        let anchor = match anchor {
            HPos::Right if at - width < x(0.0) => HPos::Left,
            HPos::Left | HPos::Center | HPos::Right => anchor,
        };
        let from = match anchor {
            HPos::Left => at,
            HPos::Center => at - width / 2.0,
            HPos::Right => at - width,
        };
        let free = |row: &Vec<(f64, f64)>| {
            row.iter()
                .all(|&(start, end)| end + 8.0 < from || from + width + 8.0 < start)
        };
        let row = rows.iter().position(free).unwrap_or(rows.len());
        if row == rows.len() {
            rows.push(Vec::new());
        }
        rows[row].push((from, from + width));
        FrameMark {
            x: at,
            label,
            anchor,
            row,
        }
    });
    marks.collect()
}

/// A colour for a frame other than the one that the picture is about; neighbours differ.
fn pale(colour: RGBColor, frame: i32) -> RGBColor {
    tint(colour, PALE[usize::from(frame.rem_euclid(2) == 0)])
}

fn output(task: &Task) -> &str {
    let anchor = task.operators.first();
    anchor.map_or("", |operator| &operator.output)
}

fn tooltip(task: &Task) -> String {
    let fused = match task.operators.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" + {more} fused"),
    };
    format!(
        "{}: {}{fused}, stage {}, {} from {}",
        output(task),
        task.class.name(),
        task.stage + 1,
        task.duration_ns,
        task.start_ns
    )
}

/// The longest tail of a path-like name that fits, or the start of its last part: the front of such names repeats from task to task.
pub(super) fn tail_that_fits(name: &str, look: Lettering, width: f64) -> Option<String> {
    let name = name.trim_end_matches("_output_0").trim_matches('/');
    let starts = std::iter::once(0).chain(name.match_indices('/').map(|(slash, _)| slash + 1));
    let mut tails = starts.map(|start| &name[start..]);
    tails
        .find(|tail| look.width(tail) <= width)
        .map(str::to_owned)
        .or_else(|| look.fit(name.rsplit('/').next().unwrap_or(name), width))
        .filter(|name| !name.is_empty())
}

fn draw_heading(canvas: &Canvas<'_>, plan: &Plan, left: f64, times: Times, says: &str) {
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
    // A frame of the stream takes longer than one alone where stages slow each other.
    let passage: Nanoseconds = plan.stages.iter().map(|stage| stage.time_ns).sum();
    let alone = figures.latency_ns;
    let latency = match times {
        Times::Planned if passage == alone => format!("latency {passage}"),
        Times::Planned | Times::Measured { is_paced: true } => {
            format!("one frame alone {alone}; drawn: a paced stream, {passage}")
        }
        Times::Measured { is_paced: false } => {
            format!("one frame alone {alone}; drawn: a stream without a pace, {passage}")
        }
    };
    // Without a meter nobody knows what a frame takes.
    let energy = if figures.energy_active_nj == Nanojoules::ZERO {
        String::new()
    } else {
        format!(", {} each", figures.energy_active_nj)
    };
    let subtitle = format!(
        "{says}{}; {latency}, a frame every {}{energy}; {}, {}",
        plan.strategy.name(),
        plan.pace(),
        counted(plan.tasks.len(), "task"),
        counted(plan.transfers.len(), "move"),
    );
    let look = Lettering::plain(12.0, SOFT);
    let subtitle = look.fit(&subtitle, RIGHT - left).unwrap_or_default();
    canvas.text(&subtitle, (left, 48.0), anchor, look);
}

/// What an entry of the legend shows.
#[derive(Clone, Copy)]
enum Sample {
    Family(Family),
    Move,
    Path,
    Boundary,
    OtherFrames,
}

/// Families with the classes that occur, most time first; processors are named by their lanes.
fn legend(plan: &Plan, stream: &Stream, has_path: bool, left: f64) -> Legend<Sample> {
    let mut families = Vec::new();
    for family in Family::ALL {
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        for task in &plan.tasks {
            if Family::of(task.class) == family {
                let time = classes.entry(task.class.name()).or_default();
                *time = time.saturating_add(task.duration_ns.count());
            }
        }
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.sort_by_key(|&(name, time)| (std::cmp::Reverse(time), name));
        if !classes.is_empty() {
            let names: Vec<String> = classes
                .iter()
                .map(|(name, _)| name.replace('_', " "))
                .collect();
            families.push((Sample::Family(family), names.join(", ")));
        }
    }
    let mut marks = Vec::new();
    if has_path {
        marks.push((Sample::Path, "critical path of frame f".to_owned()));
    }
    if !plan.transfers.is_empty() {
        marks.push((Sample::Move, "move".to_owned()));
    }
    if plan.stages.len() > 1 || stream.frames().len() > 1 {
        marks.push((Sample::Boundary, "a stage takes a frame".to_owned()));
    }
    marks.push((Sample::OtherFrames, "frames before and behind".to_owned()));
    Legend::new(vec![families, marks], left, RIGHT)
}

/// Families in the colour of each processor side by side would be too much: they are shown in two.
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
        Sample::Boundary => canvas.line(&[(x + 9.0, y - 8.0), (x + 9.0, y + 8.0)], SOFT, 1),
        Sample::Move => canvas.fill((x, y - 3.0), (x + 18.0, y + 4.0), MOVE, 1.0),
        Sample::Path => canvas.line(&[(x, y), (x + 18.0, y)], INK, 3),
        Sample::OtherFrames => {
            let colour = looks.first_two()[0];
            boxed(0.0, 9.0, pale(colour, 1));
            boxed(9.0, 18.0, pale(colour, 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::AS_IT_IS;

    use super::*;
    use crate::plot::geometry::Picture;
    use crate::plot::samples;

    #[test]
    fn one_frame_is_drawn_once_with_tooltips() {
        let plan = samples::plan(40, &[&["big", "little"], &["gpu"]]);
        let picture = gantt(&plan);
        let titles = picture.matches("<title>/features/").count();
        // A box that is wide enough has a border, which has the tooltip too.
        assert!((plan.tasks.len()..=2 * plan.tasks.len()).contains(&titles));
        assert!(picture.matches("<title>move of ").count() >= plan.transfers.len());
    }

    #[test]
    fn lanes_name_the_operating_points_of_their_processors() {
        let plan = samples::plan(20, &[&["big", "little"], &["gpu"]]);
        let picture = gantt(&plan);
        for point in ["1000MHz", "1100MHz", "1200MHz"] {
            assert!(picture.contains(&format!("\n{point}\n")), "{point}");
        }
    }

    /// A prediction on the scale of a measurement that took ten times as long.
    #[test]
    fn names_of_moments_that_lie_close_together_keep_clear_of_the_legend() {
        let plan = samples::plan(20, &[&["big"], &["gpu"]]);
        let seconds = 10.0 * Stream::of(&plan).span;
        Picture::read(&gantt_of(&plan, Times::Planned, "predicted: ", seconds)).assert_clean();
    }

    #[test]
    fn what_is_not_known_is_not_told() {
        let mut plan = samples::plan(20, &[&["big", "little"], &["gpu"]]);
        assert!(gantt(&plan).contains(" each; 20 tasks, "));
        plan.predicted.energy_active_nj = Nanojoules::ZERO;
        for processor in &mut plan.processors {
            processor.operating_point = AS_IT_IS.to_owned();
        }
        let picture = gantt(&plan);
        assert!(!picture.contains(" each"), "no meter, no energy");
        assert!(!picture.contains(&format!("\n{AS_IT_IS}\n")));
        Picture::read(&picture).assert_clean();
    }

    #[test]
    fn the_heading_has_the_interval_at_which_frames_are_admitted() {
        let mut plan = samples::plan(20, &[&["big"], &["gpu"]]);
        plan.admission_interval_ns = Nanoseconds::new(987_000_000);
        let picture = gantt(&plan);
        assert!(picture.contains("a frame every 987 ms"));
        Picture::read(&picture).assert_clean();
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
    fn nothing_is_clipped_and_no_texts_touch_with_few_and_many_tasks() {
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
            Picture::read(&gantt(&samples::plan(tasks, set))).assert_clean();
        }
    }

    #[test]
    fn a_plan_without_time_and_one_with_dangling_references_are_drawn() {
        let mut plan = samples::plan(8, &[&["big"]]);
        plan.admission_interval_ns = Nanoseconds::ZERO;
        plan.stages[0].time_ns = Nanoseconds::ZERO;
        assert!(gantt(&plan).contains("frame f admitted"));
        let mut plan = samples::plan(8, &[&["big"]]);
        plan.tasks[0].queue = 99;
        plan.tasks[1].stage = 99;
        plan.transfers[0].from_buffer = 99;
        plan.admission_interval_ns = Nanoseconds::new(u64::MAX);
        let picture = gantt(&plan);
        Picture::read(&picture).assert_clean();
        assert!(!picture.contains("mixed_0/"), "nowhere to be drawn");
    }

    #[test]
    fn hostile_names_cannot_break_it_and_the_bytes_are_the_same_each_time() {
        let mut plan = samples::plan(20, &[&["<&\"\u{1}", "名前"], &["gpu"]]);
        plan.model.name = "]]></svg>\u{0}".repeat(30);
        for task in &mut plan.tasks {
            task.operators[0].output = "</title><script>\u{b}&é".to_owned();
        }
        let picture = gantt(&plan);
        Picture::read(&picture).assert_clean();
        assert_eq!(picture, gantt(&plan));
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
            Some("classi…")
        );
        assert_eq!(tail_that_fits(name, look, 8.0), None);
    }
}

//! A frame of a kernel graph that a policy scheduled: a row a queue, kernels as bars, copies as thin ones.
//!
//! Colour is the function here, since the rows tell the devices already; copies are grey, as moves are in every picture.
//! Components that have several kernels are brackets with their numbers above the rows of their device.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::device_use::{DeviceUse, Span};
use paracompile_plan::scheduled::{CommandKind, Schedule, ScheduledCommand, ScheduledDevice};
use paracompile_plan::{Nanoseconds, counted};
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, round_number};
use super::canvas::{Canvas, HPos, Lettering, Point, VPos, picture, to_f64, to_pixels};
use super::legend::Legend;
use super::palette::{ACCENT, FAINT, INK, SOFT, hue, ink_on, tint};
use super::stack::stacked;

const WIDTH: u32 = 1000;
const RIGHT: f64 = 968.0;
/// Where the first device begins.
const TOP: f64 = 66.0;
/// The line above the rows of a device.
const HEADER: f64 = 20.0;
/// Brackets of components, with their numbers.
const BRACKETS: f64 = 19.0;
const ROW: f64 = 26.0;
const GAP: f64 = 4.0;
const DEVICE_GAP: f64 = 14.0;
/// Copies are so high, in the middle of the row.
const COPY: f64 = 8.0;
/// Rows of the lines that show the total time and the device span.
const DIMENSION: f64 = 18.0;
const MILLISECONDS: f64 = 1e3;
/// More functions have no sample of their own in the legend.
const MOST_SAMPLES: usize = 21;

const NAMES: Lettering = Lettering::plain(12.0, INK);
const FIGURES: Lettering = Lettering::plain(12.0, SOFT);
const NUMBERS: Lettering = Lettering::plain(11.0, SOFT);
const SMALL: Lettering = Lettering::plain(10.0, INK);

/// Draws a frame of each of `schedules`, which have no faults, as SVG: one below the other on one scale.
pub fn schedules(schedules: &[Schedule]) -> String {
    let ends = schedules.iter().map(|one| {
        let last = one.device_span().map_or(Nanoseconds::ZERO, |span| span.1);
        one.total_ns.max(last)
    });
    let end = ends.max().unwrap_or(Nanoseconds::ZERO);
    let left = schedules.iter().map(left).fold(0.0, f64::max);
    let pictures: Vec<String> = schedules
        .iter()
        .map(|schedule| frame(schedule, left, end))
        .collect();
    stacked(&pictures)
}

/// A frame on a scale that begins at pixel `left` and reaches to `end`.
fn frame(schedule: &Schedule, left: f64, end: Nanoseconds) -> String {
    let rows = Rows::of(schedule, left);
    let uses = schedule.device_use();
    let span = schedule.device_span();
    let drawing = Drawing {
        schedule,
        axis: Axis::from_zero(end.to_seconds() * MILLISECONDS, left, RIGHT),
        colours: colours(schedule),
        rows,
    };
    let legend = drawing.legend(&uses);
    let top_of_legend = drawing.rows.bottom + 28.0 + 2.0 * DIMENSION + 8.0;
    let height = top_of_legend + legend.height() + 12.0;
    picture(WIDTH, to_pixels(height), |canvas| {
        drawing.draw_heading(canvas, span);
        drawing.draw_holes(canvas, &uses);
        drawing.draw_grid(canvas);
        drawing.draw_devices(canvas, &uses);
        drawing.draw_components(canvas);
        for command in &schedule.commands {
            drawing.draw_command(canvas, command);
        }
        let bottom = drawing.rows.bottom + 28.0 + DIMENSION / 2.0;
        let total = (Nanoseconds::ZERO, schedule.total_ns);
        let lines = [("total time", Some(total)), ("device span", span)];
        for (row, (name, span)) in lines.into_iter().enumerate() {
            if let Some((from, to)) = span {
                let y = bottom + DIMENSION * to_f64(row);
                drawing.draw_dimension(canvas, name, (from, to), y);
            }
        }
        legend.draw(canvas, top_of_legend, |sample, at| {
            draw_sample(canvas, sample, at);
        });
    })
}

/// Whether components say more than kernels do.
fn has_components(schedule: &Schedule) -> bool {
    let commands = schedule.commands.iter();
    let mut kernels = commands.filter(|command| command.what == CommandKind::Launch);
    let mut seen = BTreeSet::new();
    kernels.any(|kernel| !seen.insert(kernel.component))
}

/// What kernels that belong together are called.
const fn grouped(schedule: &Schedule) -> &'static str {
    if schedule.rule.is_some() {
        "task"
    } else {
        "component"
    }
}

/// The colour of each function, by its place in the alphabet: the same in all schedules of a graph.
fn colours(schedule: &Schedule) -> BTreeMap<&str, RGBColor> {
    let functions: BTreeSet<&str> = schedule
        .commands
        .iter()
        .map(|command| command.function.as_str())
        .collect();
    let places = functions.into_iter().enumerate();
    places.map(|(place, name)| (name, hue(place))).collect()
}

/// Where the devices and their queues are.
struct Rows {
    left: f64,
    bottom: f64,
    /// The middle of the line above each device.
    headers: Vec<f64>,
    /// The line of the brackets above each device.
    brackets: Vec<f64>,
    /// Tops of the queues of each device.
    queues: Vec<Vec<f64>>,
    /// Names of queues, with their middles.
    names: Vec<(String, f64)>,
}

/// Where names of queues end.
fn left(schedule: &Schedule) -> f64 {
    let names = schedule.devices.iter().flat_map(queue_names);
    let widths = names.map(|name| NAMES.width(&name));
    widths.fold(60.0, f64::max).min(220.0) + 26.0
}

fn queue_names(device: &ScheduledDevice) -> impl Iterator<Item = String> {
    (0..device.queues).map(|queue| match device.queues {
        1 => device.name.clone(),
        _ => format!("{} #{queue}", device.name),
    })
}

impl Rows {
    fn of(schedule: &Schedule, left: f64) -> Self {
        let brackets = if has_components(schedule) {
            BRACKETS
        } else {
            0.0
        };
        let mut rows = Self {
            left,
            bottom: TOP,
            headers: Vec::new(),
            brackets: Vec::new(),
            queues: Vec::new(),
            names: Vec::new(),
        };
        let mut y = TOP;
        for device in &schedule.devices {
            rows.headers.push(y + HEADER / 2.0);
            y += HEADER + brackets;
            rows.brackets.push(y - 4.0);
            let mut tops = Vec::new();
            for name in queue_names(device) {
                rows.names.push((name, y + ROW / 2.0));
                tops.push(y);
                y += ROW + GAP;
            }
            rows.queues.push(tops);
            y += DEVICE_GAP;
        }
        rows.bottom = y - DEVICE_GAP + 2.0;
        rows
    }

    /// Top and bottom of all queues of a device.
    fn of_device(&self, device: usize) -> Option<(f64, f64)> {
        let tops = self.queues.get(device)?;
        Some((*tops.first()?, tops.last()? + ROW))
    }
}

struct Drawing<'s> {
    schedule: &'s Schedule,
    rows: Rows,
    axis: Axis,
    colours: BTreeMap<&'s str, RGBColor>,
}

impl Drawing<'_> {
    fn x(&self, time: Nanoseconds) -> f64 {
        self.axis.pixel(time.to_seconds() * MILLISECONDS)
    }

    fn device(&self, name: &str) -> Option<usize> {
        let mut devices = self.schedule.devices.iter();
        devices.position(|device| device.name == name)
    }

    fn draw_heading(&self, canvas: &Canvas<'_>, span: Option<Span>) {
        let schedule = self.schedule;
        let left = self.rows.left;
        let anchor = (HPos::Left, VPos::Center);
        let rule = schedule.rule.as_ref();
        let rule = rule.map_or_else(String::new, |rule| format!(", tasks by {rule}"));
        let title = format!("{} by {}{rule}", schedule.graph, schedule.policy);
        let span = span.map_or_else(String::new, |(from, to)| {
            format!(", device span {}", to - from)
        });
        let figures = format!(
            "{} in {}; total time {}{span}; devices executing {:.0}%; median of {}",
            counted(schedule.kernels as usize, "kernel"),
            counted(schedule.components as usize, grouped(schedule)),
            schedule.total_ns,
            100.0 * schedule.executing(),
            counted(schedule.frames as usize, "frame"),
        );
        for (text, y, look) in [
            (title, 22.0, Lettering::bold(15.0, INK)),
            (figures, 43.0, FIGURES),
        ] {
            let text = look.fit(&text, RIGHT - left).unwrap_or_default();
            canvas.text(&text, (left, y), anchor, look);
        }
    }

    fn draw_holes(&self, canvas: &Canvas<'_>, uses: &[DeviceUse]) {
        for (device, usage) in uses.iter().enumerate() {
            let rows = self.rows.of_device(device);
            let (Some((from, to)), Some((top, bottom))) = (usage.largest_hole, rows) else {
                continue;
            };
            let title = format!("nothing runs for {} from {from}", to - from);
            canvas.titled(&title, || {
                let corners = ((self.x(from), top), (self.x(to), bottom));
                canvas.fill(corners.0, corners.1, ACCENT, 0.14);
            });
        }
    }

    fn draw_grid(&self, canvas: &Canvas<'_>) {
        let bottom = self.rows.bottom;
        let mut free_from = f64::NEG_INFINITY;
        for tick in self.axis.ticks(9) {
            let x = self.axis.pixel(tick);
            for tops in &self.rows.queues {
                if let (Some(top), Some(last)) = (tops.first(), tops.last()) {
                    canvas.line(&[(x, *top), (x, last + ROW + GAP)], FAINT, 1);
                }
            }
            let label = format!("{} ms", round_number(tick));
            let half = NUMBERS.width(&label) / 2.0;
            if x - half > free_from {
                let at = (x, bottom + 6.0);
                canvas.text(&label, at, (HPos::Center, VPos::Top), NUMBERS);
                free_from = x + half + 6.0;
            }
        }
        canvas.line(&[(self.rows.left, bottom), (RIGHT, bottom)], SOFT, 1);
    }

    fn draw_devices(&self, canvas: &Canvas<'_>, uses: &[DeviceUse]) {
        let left = self.rows.left;
        let devices = self.schedule.devices.iter().zip(uses);
        for ((device, usage), &y) in devices.zip(&self.rows.headers) {
            let look = Lettering::bold(12.0, INK);
            let most = (RIGHT - left) / 4.0;
            let name = look.fit(&device.name, most).unwrap_or_default();
            canvas.text(&name, (left, y), (HPos::Left, VPos::Center), look);
            let from = left + look.width(&name) + 10.0;
            let figures = self.figures(device, usage);
            let figures = FIGURES.fit(&figures, RIGHT - from).unwrap_or_default();
            canvas.text(&figures, (from, y), (HPos::Left, VPos::Center), FIGURES);
        }
        for (name, middle) in &self.rows.names {
            let name = NAMES.fit(name, left - 20.0).unwrap_or_default();
            let at = (left - 10.0, *middle);
            canvas.text(&name, at, (HPos::Right, VPos::Center), NAMES);
        }
    }

    /// What a device does in the frame.
    fn figures(&self, device: &ScheduledDevice, usage: &DeviceUse) -> String {
        let kernels = counted(device.kernels as usize, "kernel");
        let total = self.schedule.total_ns.to_seconds();
        let share = if total > 0.0 {
            format!("{:.0}%", 100.0 * usage.executing.to_seconds() / total)
        } else {
            "0%".to_owned()
        };
        let hole = usage.largest_hole.map_or_else(String::new, |(from, to)| {
            format!(", largest hole {}", to - from)
        });
        format!(
            "{kernels}, executing {share} of the total time{hole} ({})",
            device.device
        )
    }

    /// Brackets from the first start to the last end of each component.
    fn draw_components(&self, canvas: &Canvas<'_>) {
        if !has_components(self.schedule) {
            return;
        }
        let mut spans: BTreeMap<(usize, u32), (Nanoseconds, Nanoseconds)> = BTreeMap::new();
        for command in &self.schedule.commands {
            let Some(device) = self.device(&command.device) else {
                continue;
            };
            let key = (device, command.component);
            let own = (command.start_ns, command.end_ns);
            let span = spans.entry(key).or_insert(own);
            *span = (span.0.min(own.0), span.1.max(own.1));
        }
        let what = grouped(self.schedule);
        for ((device, component), (from, to)) in spans {
            let Some(&y) = self.rows.brackets.get(device) else {
                continue;
            };
            let (left, right) = (self.x(from), self.x(to));
            let (left, right) = (left + 1.0, (right - 1.0).max(left + 2.0));
            let title = format!("{what} {component}: {} from {from}", to - from);
            canvas.titled(&title, || {
                let corners = [(left, y + 3.0), (left, y), (right, y), (right, y + 3.0)];
                canvas.line(&corners, SOFT, 1);
            });
            let long = format!("{what} {component}");
            let short = component.to_string();
            let mut texts = [long, short].into_iter();
            let text = texts.find(|text| SMALL.width(text) < right - left - 4.0);
            if let Some(text) = text {
                let at = (f64::midpoint(left, right), y - 8.0);
                canvas.text(&text, at, (HPos::Center, VPos::Center), SMALL);
            }
        }
    }

    fn draw_command(&self, canvas: &Canvas<'_>, command: &ScheduledCommand) {
        let device = self.device(&command.device);
        let tops = device.and_then(|device| self.rows.queues.get(device));
        let Some(&top) = tops.and_then(|tops| tops.get(command.queue as usize)) else {
            return;
        };
        let from = self.x(command.start_ns);
        let to = self.x(command.end_ns).max(from + 1.0);
        let (top, height, colour) = match command.what {
            CommandKind::Launch => (top, ROW, self.colours[command.function.as_str()]),
            CommandKind::Write => (top + (ROW - COPY) / 2.0, COPY, WRITE),
            CommandKind::Read => (top + (ROW - COPY) / 2.0, COPY, READ),
        };
        let is_bordered = to - from >= 4.0;
        canvas.titled(&tooltip(command, grouped(self.schedule)), || {
            canvas.fill((from, top), (to, top + height), colour, 1.0);
            if is_bordered {
                canvas.frame((from, top), (to, top + height), WHITE);
            }
        });
        if command.what == CommandKind::Launch && to - from > 10.0 {
            let look = Lettering::plain(10.0, ink_on(colour));
            let most = to - from - 6.0;
            let whole = |name: &str| (look.width(name) <= most).then(|| name.to_owned());
            let name = whole(&command.kernel)
                .or_else(|| whole(&command.function))
                .or_else(|| look.fit(&command.kernel, most));
            if let Some(name) = name {
                let middle = (f64::midpoint(from, to), top + height / 2.0);
                canvas.text(&name, middle, (HPos::Center, VPos::Center), look);
            }
        }
    }

    /// A line as long as a span, with what it is.
    fn draw_dimension(
        &self,
        canvas: &Canvas<'_>,
        name: &str,
        (from, to): (Nanoseconds, Nanoseconds),
        y: f64,
    ) {
        let (left, right) = (self.x(from), self.x(to));
        let text = format!("{name} {}", to - from);
        let width = NUMBERS.width(&text) + 12.0;
        let middle = f64::midpoint(left, right);
        let is_inside = right - left > width + 16.0;
        let (at, anchor) = if is_inside {
            (middle, HPos::Center)
        } else if right + 6.0 + width <= RIGHT {
            (right + 6.0, HPos::Left)
        } else {
            (left - 6.0, HPos::Right)
        };
        let half = width / 2.0;
        let lines = if is_inside {
            vec![(left, middle - half), (middle + half, right)]
        } else {
            vec![(left, right.max(left + 1.0))]
        };
        for (from, to) in lines {
            canvas.line(&[(from, y), (to, y)], SOFT, 1);
        }
        for x in [left, right] {
            canvas.line(&[(x, y - 4.0), (x, y + 4.0)], SOFT, 1);
        }
        canvas.text(&text, (at, y), (anchor, VPos::Center), NUMBERS);
    }

    fn legend(&self, uses: &[DeviceUse]) -> Legend<Sample> {
        let launches = |function: &str| {
            let commands = self.schedule.commands.iter();
            commands
                .filter(|one| one.what == CommandKind::Launch && one.function == function)
                .count()
        };
        let mut functions: Vec<(Sample, String)> = Vec::new();
        for (name, &colour) in self.colours.iter().take(MOST_SAMPLES) {
            let text = match launches(name) {
                1 => (*name).to_owned(),
                count => format!("{name} ({count})"),
            };
            functions.push((Sample::Function(colour), text));
        }
        if self.colours.len() > MOST_SAMPLES {
            let more = self.colours.len() - MOST_SAMPLES;
            functions.push((Sample::Nothing, format!("and {more} more functions")));
        }
        let has = |what: CommandKind| self.schedule.commands.iter().any(|one| one.what == what);
        let mut rest = Vec::new();
        if has(CommandKind::Write) {
            rest.push((Sample::Copy(WRITE), "copy to the device".to_owned()));
        }
        if has(CommandKind::Read) {
            rest.push((Sample::Copy(READ), "copy to the host".to_owned()));
        }
        if uses.iter().any(|usage| usage.largest_hole.is_some()) {
            rest.push((Sample::Hole, "largest hole of a device".to_owned()));
        }
        Legend::new(vec![functions, rest], self.rows.left, RIGHT)
    }
}

const WRITE: RGBColor = RGBColor(176, 176, 176);
const READ: RGBColor = RGBColor(70, 70, 70);

/// What a sample of the legend shows.
#[derive(Clone, Copy)]
enum Sample {
    Function(RGBColor),
    Copy(RGBColor),
    Hole,
    Nothing,
}

fn draw_sample(canvas: &Canvas<'_>, sample: Sample, at: Point) {
    let (height, colour) = match sample {
        Sample::Function(colour) => (6.0, colour),
        Sample::Copy(colour) => (COPY / 2.0, colour),
        Sample::Hole => (6.0, tint(ACCENT, 0.14)),
        Sample::Nothing => return,
    };
    let corners = ((at.0, at.1 - height), (at.0 + 18.0, at.1 + height));
    canvas.fill(corners.0, corners.1, colour, 1.0);
}

fn tooltip(command: &ScheduledCommand, grouped: &str) -> String {
    let what = match command.what {
        CommandKind::Write => "copy to the device for ",
        CommandKind::Launch => "",
        CommandKind::Read => "copy to the host of ",
    };
    format!(
        "{what}{} ({}), {grouped} {}, {} #{}: {} from {}",
        command.kernel,
        command.function,
        command.component,
        command.device,
        command.queue,
        command.end_ns - command.start_ns,
        command.start_ns
    )
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Picture;
    use super::*;
    use crate::plot::{png, samples};

    fn drawn(schedule: &Schedule) -> String {
        schedules(std::slice::from_ref(schedule))
    }

    #[test]
    fn the_caption_has_the_figures_of_the_frame_and_of_each_device() {
        let sample = samples::schedule(
            &[("gpu", 2), ("cpu", 1)],
            &[
                ("gpu", 0, 1_000_000, 3_000_000),
                ("gpu", 1, 2_000_000, 5_000_000),
                ("cpu", 0, 6_000_000, 9_000_000),
            ],
        );
        let picture = drawn(&sample);
        for text in [
            "3 kernels in 3 components; total time 10.0 ms, device span 8.00 ms; devices executing 35%; median of 20 frames",
            "2 kernels, executing 40% of the total time, largest hole 5.00 ms",
            "1 kernel, executing 30% of the total time, largest hole 6.00 ms",
            "\ngpu #1\n",
            "\ncpu\n",
            "\ntotal time 10.0 ms\n",
        ] {
            assert!(picture.contains(text), "{text}");
        }
        assert!(!picture.contains("component 0:"), "one kernel each");
        Picture::read(&picture).assert_clean();
    }

    #[test]
    fn components_of_several_kernels_are_bracketed() {
        let mut sample = samples::schedule(
            &[("gpu", 1)],
            &[
                ("gpu", 0, 0, 4_000_000),
                ("gpu", 0, 4_000_000, 9_000_000),
                ("gpu", 0, 9_000_000, 9_800_000),
            ],
        );
        sample.commands[1].component = 0;
        let picture = drawn(&sample);
        assert!(
            picture.contains("component 0: 9.00 ms from 0 s"),
            "{picture}"
        );
        assert!(picture.contains("\ncomponent 0\n"));
        Picture::read(&picture).assert_clean();
    }

    #[test]
    fn several_schedules_have_one_scale_and_say_by_which_rule_tasks_were_made() {
        let mut long = samples::schedule(&[("gpu", 1)], &[("gpu", 0, 0, 9_000_000)]);
        let mut short = samples::schedule(
            &[("gpu", 2), ("a device of a long name", 1)],
            &[("gpu", 0, 0, 2_000_000), ("gpu", 1, 2_000_000, 4_500_000)],
        );
        short.rule = Some("branch x8 /2".to_owned());
        short.commands[1].component = 0;
        short.total_ns = Nanoseconds::new(5_000_000);
        long.rule = Some("stage".to_owned());
        let picture = schedules(&[long, short]);
        for text in [
            "sample by heft, tasks by stage",
            "sample by heft, tasks by branch x8 /2",
            "task 0: 4.50 ms from 0 s",
        ] {
            assert!(picture.contains(text), "{text}");
        }
        assert!(!picture.contains("component"));
        assert!(png(&picture).is_ok());
        let both = Picture::read(&picture);
        both.assert_clean();
        // Each number of one axis stands below the same number of the other.
        let ticks = both.texts.iter().filter_map(|(text, area)| {
            let number: f64 = text.trim().strip_suffix(" ms")?.parse().ok()?;
            Some((number, area[0].round()))
        });
        let ticks: Vec<(f64, f32)> = ticks.collect();
        let twice = |tick: &(f64, f32)| ticks.iter().filter(|other| *other == tick).count() == 2;
        assert!(ticks.len() > 4 && ticks.iter().all(twice), "{ticks:?}");
    }

    #[test]
    fn nothing_is_clipped_with_one_and_with_many_kernels_and_functions() {
        let long = "a_device_with_a_name_that_is_longer_than_any_column_of_names";
        for count in [0u64, 1, 7, 128] {
            let commands: Vec<(&str, u32, u64, u64)> = (0..count)
                .map(|index| {
                    let device = if index % 3 == 0 { long } else { "gpu" };
                    let start = index * 90_000;
                    (device, u32::from(index % 2 == 1), start, start + 80_000)
                })
                .collect();
            let mut sample = samples::schedule(&[("gpu", 2), (long, 2)], &commands);
            for (index, command) in (0u32..).zip(&mut sample.commands) {
                command.function = format!("function{}", index % 40);
                command.component = index / 4;
            }
            let picture = drawn(&sample);
            Picture::read(&picture).assert_clean();
            assert_eq!(picture, drawn(&sample));
            assert!(png(&picture).is_ok());
        }
    }

    #[test]
    fn hostile_names_cannot_break_it() {
        let mut sample = samples::schedule(&[("<&\"\u{1}", 1)], &[("<&\"\u{1}", 0, 5, 9)]);
        sample.graph = "]]></svg>\u{0}".repeat(30);
        sample.commands[0].kernel = "</title><script>\u{b}&é".to_owned();
        sample.commands[0].function = "\u{0}".to_owned();
        Picture::read(&drawn(&sample)).assert_clean();
    }
}

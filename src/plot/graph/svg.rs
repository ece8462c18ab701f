//! The graph as a picture: a box a task in the colour of its processor, stages as bands from top to bottom, what is moved as bold lines, the critical path with a border.

use std::collections::{BTreeMap, BTreeSet};

use paracompile_plan::plan::Task;
use paracompile_plan::{Plan, counted};
use plotters::style::RGBColor;

use super::super::canvas::{Canvas, HPos, Lettering, Point, VPos, picture, to_pixels};
use super::super::gantt::tail_that_fits;
use super::super::legend::Legend;
use super::super::palette::{Family, INK, Processors, SOFT, ink_on, tint};
use super::super::points::place_of;
use super::dataflow::{Dataflow, Edge, Node};
use super::layers::{Layered, Layout, TooLarge};
use crate::simulate::{Critical, CriticalWork, critical_path};

const NODE: f64 = 132.0;
const NODE_HEIGHT: f64 = 32.0;
const MARGIN: f64 = 30.0;
const LEAST_WIDTH: f64 = 720.0;
const TOP: f64 = 70.0;
/// Room of the title of a band, above it.
const BAND_TITLE: f64 = 30.0;
const EDGE: RGBColor = RGBColor(150, 150, 150);

/// Draws the tasks of `plan` as SVG.
pub fn graph_svg(plan: &Plan) -> Result<String, TooLarge> {
    let flow = Dataflow::of(plan);
    let (order, layout) = lay_out(plan, &flow)?;
    let path = critical_path(plan, Critical::Passage).ok();
    let critical: BTreeSet<u32> = path
        .iter()
        .flat_map(|path| &path.steps)
        .filter_map(|step| match step.work {
            CriticalWork::Task(task) => Some(task),
            CriticalWork::Transfer(_) => None,
        })
        .collect();
    let used = plan.tasks.iter().filter_map(|task| processor(plan, task));
    let used: BTreeSet<&str> = used.collect();
    let looks = Processors::of(used.iter().copied());
    let width = (layout.width + 2.0 * MARGIN).max(LEAST_WIDTH);
    let legend = legend(&used, &looks, width, !critical.is_empty());
    let top = TOP + legend.height();
    let height = top + layout.height + MARGIN;
    let drawing = Drawing {
        plan,
        looks: &looks,
        layout: &layout,
        critical: &critical,
        left: (width - layout.width) / 2.0,
        top,
    };
    Ok(picture(to_pixels(width), to_pixels(height), |canvas| {
        drawing.draw_heading(canvas, width);
        legend.draw(canvas, TOP - 8.0, |sample, at| {
            draw_sample(canvas, sample, at);
        });
        drawing.draw_bands(canvas, width);
        // What is moved lies over what is not.
        for moved in [false, true] {
            for (edge, route) in flow.edges.iter().zip(&layout.routes) {
                if edge.moved == moved {
                    drawing.draw_edge(canvas, edge, route);
                }
            }
        }
        drawing.draw_band_titles(canvas, width);
        for (&node, &centre) in order.iter().zip(&layout.centres) {
            drawing.draw_node(canvas, node, centre);
        }
    }))
}

/// The vertices in an order that no edge turns back in, and their places.
///
/// Tasks of a plan stand in an order of time; an edge against it, which no correct plan has, is drawn like the others from top to bottom.
fn lay_out(plan: &Plan, flow: &Dataflow) -> Result<(Vec<Node>, Layout), TooLarge> {
    let mut order = flow.nodes.clone();
    order.sort_by_key(|&node| match node {
        Node::Input(buffer) => (0, buffer),
        Node::Task(task) => (1, task),
        Node::Output(buffer) => (2, buffer),
    });
    let places: BTreeMap<Node, usize> = order.iter().copied().zip(0..).collect();
    let last = plan.stages.len().saturating_sub(1);
    let mut bands: Vec<usize> = order
        .iter()
        .map(|&node| match node {
            Node::Input(_) => usize::MAX,
            Node::Task(task) => (plan.tasks[task as usize].stage as usize).min(last),
            Node::Output(_) => 0,
        })
        .collect();
    // An input stands in the band of its first reader, an output in that of its writer.
    for edge in &flow.edges {
        let (from, to) = (places[&edge.from], places[&edge.to]);
        match (edge.from, edge.to) {
            (Node::Input(_), _) => bands[from] = bands[from].min(bands[to]),
            (_, Node::Output(_)) => bands[to] = bands[to].max(bands[from]),
            (Node::Task(_) | Node::Output(_), Node::Input(_) | Node::Task(_)) => {}
        }
    }
    for band in &mut bands {
        *band = (*band).min(last);
    }
    let edges = flow
        .edges
        .iter()
        .map(|edge| {
            let (from, to) = (places[&edge.from], places[&edge.to]);
            if (bands[from], from) < (bands[to], to) {
                (from, to)
            } else {
                (to, from)
            }
        })
        .collect();
    let layout = Layered {
        widths: vec![NODE; order.len()],
        bands,
        edges,
        height: NODE_HEIGHT,
        gap: 22.0,
        band_gap: BAND_TITLE + 14.0,
    }
    .lay_out()?;
    Ok((order, layout))
}

fn processor<'p>(plan: &'p Plan, task: &Task) -> Option<&'p str> {
    let queue = plan.queues.get(task.queue as usize)?;
    Some(&queue.processor)
}

struct Drawing<'a> {
    plan: &'a Plan,
    looks: &'a Processors,
    layout: &'a Layout,
    critical: &'a BTreeSet<u32>,
    left: f64,
    top: f64,
}

impl Drawing<'_> {
    fn at(&self, point: Point) -> Point {
        (point.0 + self.left, point.1 + self.top)
    }

    fn draw_heading(&self, canvas: &Canvas<'_>, width: f64) {
        let anchor = (HPos::Left, VPos::Center);
        let look = Lettering::bold(16.0, INK);
        let stages: Vec<_> = self
            .plan
            .stages
            .iter()
            .map(|stage| stage.processors.join("+"))
            .collect();
        let title = format!(
            "{} on {}: {}",
            self.plan.model.name,
            self.plan.soc.name,
            stages.join(" | ")
        );
        let title = look.fit(&title, width - 2.0 * MARGIN).unwrap_or_default();
        canvas.text(&title, (MARGIN, 22.0), anchor, look);
        let look = Lettering::plain(12.0, SOFT);
        let text = format!(
            "{}, {}; a box names the first output and the class of a task, and its time",
            counted(self.plan.tasks.len(), "task"),
            counted(self.plan.transfers.len(), "move")
        );
        let text = look.fit(&text, width - 2.0 * MARGIN).unwrap_or_default();
        canvas.text(&text, (MARGIN, 44.0), anchor, look);
    }

    fn draw_bands(&self, canvas: &Canvas<'_>, width: f64) {
        for &(top, bottom) in self.layout.bands.values() {
            let (top, bottom) = (self.at((0.0, top)).1, self.at((0.0, bottom)).1);
            let corners = ((10.0, top - BAND_TITLE), (width - 10.0, bottom + 10.0));
            canvas.fill(corners.0, corners.1, tint(SOFT, 0.07), 1.0);
            canvas.frame(corners.0, corners.1, tint(SOFT, 0.3));
        }
    }

    /// Over the edges that enter the band.
    fn draw_band_titles(&self, canvas: &Canvas<'_>, width: f64) {
        let look = Lettering::bold(12.0, SOFT);
        for (&band, &(top, _)) in &self.layout.bands {
            let top = self.at((0.0, top)).1;
            let Some(stage) = self.plan.stages.get(band) else {
                continue;
            };
            let title = format!(
                "stage {}: {}, {}",
                stage.id.saturating_add(1),
                place_of(self.plan, stage),
                stage.time_ns
            );
            let title = look.fit(&title, width - 40.0).unwrap_or_default();
            let at = (18.0, top - BAND_TITLE + 12.0);
            let ground = (
                (at.0 - 4.0, at.1 - 8.0),
                (at.0 + look.width(&title) + 4.0, at.1 + 8.0),
            );
            canvas.fill(ground.0, ground.1, tint(SOFT, 0.07), 1.0);
            canvas.text(&title, at, (HPos::Left, VPos::Center), look);
        }
    }

    fn draw_edge(&self, canvas: &Canvas<'_>, edge: &Edge, route: &[Point]) {
        let corners: Vec<Point> = route.iter().map(|&point| self.at(point)).collect();
        let Some(&(x, y)) = corners.last() else {
            return;
        };
        let (colour, width, how) = if edge.moved {
            (INK, 3, " moved")
        } else {
            (EDGE, 1, "")
        };
        let title = format!("{}, {}{how}", edge.tensors.join(", "), edge.bytes);
        canvas.titled(&title, || {
            canvas.line(&corners, colour, width);
            canvas.polygon(&[(x, y), (x - 4.0, y - 7.0), (x + 4.0, y - 7.0)], colour);
        });
    }

    fn draw_node(&self, canvas: &Canvas<'_>, node: Node, centre: Point) {
        let (x, y) = self.at(centre);
        let corners = (
            (x - NODE / 2.0, y - NODE_HEIGHT / 2.0),
            (x + NODE / 2.0, y + NODE_HEIGHT / 2.0),
        );
        let middle = (HPos::Center, VPos::Center);
        match node {
            Node::Input(buffer) | Node::Output(buffer) => {
                let what = match node {
                    Node::Input(_) => "input",
                    Node::Output(_) | Node::Task(_) => "output",
                };
                let tensor = &self.plan.buffers[buffer as usize].tensor;
                let look = Lettering::plain(10.0, INK);
                canvas.titled(&format!("{what} {tensor}"), || {
                    canvas.fill(corners.0, corners.1, RGBColor(255, 255, 255), 1.0);
                    canvas.frame(corners.0, corners.1, INK);
                });
                let small = Lettering::plain(9.0, SOFT);
                canvas.text(what, (x, y + 8.0), middle, small);
                if let Some(name) = tail_that_fits(tensor, look, NODE - 10.0) {
                    canvas.text(&name, (x, y - 6.0), middle, look);
                }
            }
            Node::Task(index) => {
                let task = &self.plan.tasks[index as usize];
                let name = processor(self.plan, task).unwrap_or_default();
                let colour = Family::of(task.class).on(self.looks.colour(name));
                canvas.titled(&tooltip(task, name), || {
                    if self.critical.contains(&index) {
                        let (from, to) = corners;
                        let grown = ((from.0 - 3.0, from.1 - 3.0), (to.0 + 3.0, to.1 + 3.0));
                        canvas.fill(grown.0, grown.1, INK, 1.0);
                    }
                    canvas.fill(corners.0, corners.1, colour, 1.0);
                });
                let look = Lettering::plain(10.0, ink_on(colour));
                let small = Lettering::plain(9.0, ink_on(colour));
                let output = task.operators.first().map_or("", |op| &op.output);
                if let Some(text) = tail_that_fits(output, look, NODE - 10.0) {
                    canvas.text(&text, (x, y - 6.0), middle, look);
                }
                let class = task.class.name().replace('_', " ");
                let fused = match task.operators.len().saturating_sub(1) {
                    0 => String::new(),
                    more => format!(" +{more}"),
                };
                let text = format!("{class}{fused}, {}", task.duration_ns);
                if let Some(text) = small.fit(&text, NODE - 10.0) {
                    canvas.text(&text, (x, y + 8.0), middle, small);
                }
            }
        }
    }
}

fn tooltip(task: &Task, processor: &str) -> String {
    let outputs: Vec<&str> = task.operators.iter().map(|op| op.output.as_str()).collect();
    format!(
        "{}: {} on {processor}, {} from {}",
        outputs.join(" + "),
        task.class.name(),
        task.duration_ns,
        task.start_ns
    )
}

/// What an entry of the legend shows.
#[derive(Clone, Copy)]
enum Sample {
    Processor(RGBColor),
    Kept,
    Moved,
    Critical,
}

fn legend(
    processors: &BTreeSet<&str>,
    looks: &Processors,
    width: f64,
    has_path: bool,
) -> Legend<Sample> {
    let mut entries: Vec<(Sample, String)> = processors
        .iter()
        .map(|name| (Sample::Processor(looks.colour(name)), (*name).to_owned()))
        .collect();
    entries.push((Sample::Kept, "tensor".to_owned()));
    entries.push((Sample::Moved, "moved tensor".to_owned()));
    if has_path {
        entries.push((Sample::Critical, "on the critical path".to_owned()));
    }
    Legend::new(vec![entries], MARGIN, width - MARGIN)
}

fn draw_sample(canvas: &Canvas<'_>, sample: Sample, (x, y): Point) {
    match sample {
        Sample::Processor(colour) => {
            canvas.fill((x, y - 6.0), (x + 18.0, y + 6.0), colour, 1.0);
        }
        Sample::Kept => canvas.line(&[(x, y), (x + 18.0, y)], EDGE, 1),
        Sample::Moved => canvas.line(&[(x, y), (x + 18.0, y)], INK, 3),
        Sample::Critical => {
            canvas.fill((x, y - 7.0), (x + 18.0, y + 7.0), INK, 1.0);
            let white = RGBColor(255, 255, 255);
            canvas.fill((x + 3.0, y - 4.0), (x + 15.0, y + 4.0), white, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::fixtures::Scenario;
    use crate::plot::geometry::Picture;
    use crate::plot::samples;

    #[test]
    fn every_task_is_a_box_with_its_members_and_nothing_overlaps() {
        for seed in 0..40 {
            let scenario = Scenario::random(seed);
            let plan = scenario.plan(&scenario.estimate());
            let picture = graph_svg(&plan).unwrap();
            Picture::read(&picture).assert_clean();
            assert_eq!(picture, graph_svg(&plan).unwrap());
            for task in &plan.tasks {
                let members: Vec<&str> = task.operators.iter().map(|op| &*op.output).collect();
                let title = format!("<title>{}: ", members.join(" + "));
                assert!(picture.contains(&title), "{title}");
            }
        }
    }

    #[test]
    fn hostile_names_and_references_are_drawn() {
        let mut plan = samples::plan(20, &[&["<&\"\u{1}", "名前"], &["gpu"]]);
        plan.model.name = "]]></svg>".repeat(30);
        plan.tasks[0].queue = 99;
        plan.tasks[1].stage = 99;
        plan.tasks[2].reads = vec![77, 1];
        plan.tasks[3].writes = vec![1, 77];
        plan.tasks[3].reads = vec![0];
        plan.tasks[2].writes = vec![0];
        plan.tasks[4].operators[0].output = "</title>\u{b}&é".repeat(20);
        Picture::read(&graph_svg(&plan).unwrap()).assert_clean();
        plan.tasks.clear();
        plan.stages.clear();
        assert!(graph_svg(&plan).is_ok());
    }
}

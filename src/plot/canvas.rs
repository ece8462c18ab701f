//! A drawing surface in pixels over plotters' SVG backend.
//!
//! Plotters' own charts are not used: they know no labels that avoid each other and no lanes.
//! Its SVG has no tooltips either; [`picture`] puts them into the elements that were drawn with one.

use std::cell::{Cell, RefCell};
use std::fmt::Write;

use plotters::coord::Shift;
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::Pos;
pub(super) use plotters::style::text_anchor::{HPos, VPos};

use super::font;

/// A point in pixels from the upper left corner.
pub(super) type Point = (f64, f64);

/// The look of a text.
#[derive(Clone, Copy)]
pub(super) struct Lettering {
    /// Height in pixels.
    pub(super) size: f64,
    /// Colour.
    pub(super) colour: RGBColor,
    /// Weight.
    pub(super) style: FontStyle,
}

impl Lettering {
    pub(super) const fn plain(size: f64, colour: RGBColor) -> Self {
        Self {
            size,
            colour,
            style: FontStyle::Normal,
        }
    }

    pub(super) const fn bold(size: f64, colour: RGBColor) -> Self {
        Self {
            size,
            colour,
            style: FontStyle::Bold,
        }
    }

    /// Width of `text` in pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        let bold = match self.style {
            FontStyle::Bold => true,
            FontStyle::Normal | FontStyle::Oblique | FontStyle::Italic => false,
        };
        font::width(text, bold) * self.size
    }

    /// `text`, or its start and an ellipsis, so that it fits `width`; `None` where not even three characters do.
    pub(super) fn fit(self, text: &str, width: f64) -> Option<String> {
        if self.width(text) <= width {
            return Some(text.to_owned());
        }
        let mut kept = String::new();
        for character in text.chars() {
            kept.push(character);
            if self.width(&kept) + self.width("…") > width {
                kept.pop();
                break;
            }
        }
        (kept.chars().count() >= 3).then(|| kept + "…")
    }
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Pentagon,
    Cross,
}

impl Mark {
    /// Its corners around `at`; of a cross, the ends of its arms.
    fn corners(self, at: Point, radius: f64) -> Vec<Point> {
        let shape: &[Point] = match self {
            Self::Circle => &[],
            Self::Cross => &[(-0.85, -0.85), (0.85, 0.85), (-0.85, 0.85), (0.85, -0.85)],
            Self::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Self::Triangle => &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
            Self::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Self::Pentagon => &[
                (0.0, -1.15),
                (1.1, -0.35),
                (0.7, 0.95),
                (-0.7, 0.95),
                (-1.1, -0.35),
            ],
        };
        let corner = |&(x, y): &Point| (at.0 + x * radius, at.1 + y * radius);
        shape.iter().map(corner).collect()
    }
}

/// A picture in the making.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    /// How many elements there are.
    drawn: Cell<usize>,
    /// Tooltips, and the elements that they belong to, ascending.
    tooltips: RefCell<Vec<(usize, String)>>,
}

/// Whole pixels that hold a length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths are positive and small, and the cast saturates"
)]
pub(super) fn to_pixels(length: f64) -> u32 {
    length.ceil() as u32
}

/// A count of a picture's parts, to place them by.
#[expect(clippy::cast_precision_loss, reason = "counts of a picture's parts")]
pub(super) fn to_f64(count: usize) -> f64 {
    count as f64
}

/// Draws a picture of `width` × `height` pixels and returns it as SVG.
pub(super) fn picture(width: u32, height: u32, draw: impl FnOnce(&Canvas<'_>)) -> String {
    let mut text = String::new();
    let tooltips = {
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        let canvas = Canvas {
            area,
            drawn: Cell::new(0),
            tooltips: RefCell::default(),
        };
        canvas.put(&Rectangle::new(
            [(0, 0), (pixel(f64::from(width)), pixel(f64::from(height)))],
            WHITE.filled(),
        ));
        draw(&canvas);
        canvas.area.present().expect(NO_FILE);
        canvas.tooltips.into_inner()
    };
    with_tooltips(text, &tooltips)
}

/// Puts tooltips into the elements that they belong to; each element of the backend stands on a line of its own.
fn with_tooltips(text: String, tooltips: &[(usize, String)]) -> String {
    if tooltips.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut element = 0;
    let mut tooltips = tooltips.iter().peekable();
    for line in text.lines() {
        let shape = [
            "<rect ",
            "<circle ",
            "<polygon ",
            "<polyline ",
            "<line ",
            "<text ",
        ]
        .iter()
        .find(|tag| line.starts_with(**tag));
        match (shape, line.strip_suffix("/>")) {
            (Some(tag), Some(open)) => {
                let mut titles = String::new();
                while let Some((_, title)) = tooltips.next_if(|(of, _)| *of == element) {
                    let _ = write!(titles, "<title>{}</title>", escaped(title));
                }
                if titles.is_empty() {
                    out.push_str(line);
                } else {
                    let _ = write!(out, "{open}>{titles}</{}>", tag[1..].trim_end());
                }
                element += 1;
            }
            (Some(_), None) => {
                out.push_str(line);
                element += 1;
            }
            (None, _) => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// Why drawing cannot fail.
const NO_FILE: &str = "the picture is a string, so no file can fail";

impl Canvas<'_> {
    /// Draws with a tooltip on each element.
    pub(super) fn titled(&self, title: &str, draw: impl FnOnce()) {
        let from = self.drawn.get();
        draw();
        let title = printable(title);
        let elements = from..self.drawn.get();
        let mut tooltips = self.tooltips.borrow_mut();
        tooltips.extend(elements.map(|element| (element, title.clone())));
    }

    /// A line through `points`.
    pub(super) fn line(&self, points: &[Point], colour: RGBColor, width: u32) {
        let points: Vec<_> = points.iter().map(|&at| pixels(at)).collect();
        self.put(&PathElement::new(points, colour.stroke_width(width)));
    }

    /// Straight dashes between two points of one row or column.
    pub(super) fn dashes(&self, from: Point, to: Point, colour: RGBColor) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while done < length {
            let at = |along: f64| (from.0 + dx * along / length, from.1 + dy * along / length);
            self.line(&[at(done), at((done + 4.0).min(length))], colour, 1);
            done += 7.0;
        }
    }

    /// A filled box; `opacity` in `[0, 1]`.
    pub(super) fn fill(&self, from: Point, to: Point, colour: RGBColor, opacity: f64) {
        let corners = [pixels(from), pixels(to)];
        self.put(&Rectangle::new(corners, colour.mix(opacity).filled()));
    }

    /// The border of a box.
    pub(super) fn frame(&self, from: Point, to: Point, colour: RGBColor) {
        let corners = [pixels(from), pixels(to)];
        self.put(&Rectangle::new(corners, colour.stroke_width(1)));
    }

    /// A filled polygon.
    pub(super) fn polygon(&self, corners: &[Point], colour: RGBColor) {
        let corners: Vec<_> = corners.iter().map(|&at| pixels(at)).collect();
        self.put(&Polygon::new(corners, colour.filled()));
    }

    /// The outline of a mark.
    pub(super) fn hollow(&self, mark: Mark, at: Point, radius: f64, colour: RGBColor) {
        let mut corners: Vec<_> = mark.corners(at, radius).into_iter().map(pixels).collect();
        match (mark, corners.first()) {
            (Mark::Circle, _) => self.ring(at, radius, colour),
            (Mark::Cross, _) | (_, None) => self.mark(mark, at, radius, colour),
            (Mark::Square | Mark::Triangle | Mark::Diamond | Mark::Pentagon, Some(&first)) => {
                corners.push(first);
                self.put(&PathElement::new(corners, colour.stroke_width(2)));
            }
        }
    }

    /// A mark of `radius` around `at`.
    pub(super) fn mark(&self, mark: Mark, at: Point, radius: f64, colour: RGBColor) {
        let corners: Vec<_> = mark.corners(at, radius).into_iter().map(pixels).collect();
        match mark {
            Mark::Circle => self.put(&Circle::new(pixels(at), pixel(radius), colour.filled())),
            Mark::Cross => {
                for arm in corners.chunks(2) {
                    self.put(&PathElement::new(arm.to_vec(), colour.stroke_width(2)));
                }
            }
            Mark::Square | Mark::Triangle | Mark::Diamond | Mark::Pentagon => {
                self.put(&Polygon::new(corners, colour.filled()));
            }
        }
    }

    /// A ring.
    pub(super) fn ring(&self, at: Point, radius: f64, colour: RGBColor) {
        let style = colour.stroke_width(2);
        self.put(&Circle::new(pixels(at), pixel(radius), style));
    }

    /// A text whose anchor is at `at`.
    pub(super) fn text(&self, text: &str, at: Point, anchor: (HPos, VPos), look: Lettering) {
        self.letter(text, at, anchor, look, FontTransform::None);
    }

    /// A text from bottom to top, centred at `at`.
    pub(super) fn upward(&self, text: &str, at: Point, look: Lettering) {
        let anchor = (HPos::Center, VPos::Center);
        self.letter(text, at, anchor, look, FontTransform::Rotate270);
    }

    fn letter(
        &self,
        text: &str,
        at: Point,
        (horizontal, vertical): (HPos, VPos),
        look: Lettering,
        transform: FontTransform,
    ) {
        // The backend divides by this when it writes the size.
        let font = (font::FAMILY, look.size * 1.24, look.style).into_font();
        let style = font
            .transform(transform)
            .color(&look.colour)
            .pos(Pos::new(horizontal, vertical));
        self.put(&Text::new(printable(text), pixels(at), style));
    }

    fn put<E>(&self, element: &E)
    where
        for<'e> &'e E: PointCollection<'e, (i32, i32)>,
        for<'b> E: Drawable<SVGBackend<'b>>,
    {
        self.area.draw(element).expect(NO_FILE);
        self.drawn.set(self.drawn.get() + 1);
    }
}

/// Names come from files: what XML does not allow becomes a space.
fn printable(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars()
        .map(|c| if allowed(c) { c } else { ' ' })
        .collect()
}

fn pixels(at: Point) -> (i32, i32) {
    (pixel(at.0), pixel(at.1))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and pictures are a few thousand pixels wide"
)]
fn pixel(value: f64) -> i32 {
    value.round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_fit() {
        let look = Lettering::plain(10.0, BLACK);
        assert_eq!(look.fit("abc", 100.0).as_deref(), Some("abc"));
        let cut = look.fit("a_rather_long_name", 60.0).unwrap();
        assert!(cut.ends_with('…') && look.width(&cut) <= 60.0, "{cut}");
        assert_eq!(look.fit("a_rather_long_name", 12.0), None);
    }

    #[test]
    fn names_from_files_cannot_break_the_picture() {
        let text = picture(100, 50, |canvas| {
            let look = Lettering::plain(10.0, BLACK);
            let middle = (HPos::Center, VPos::Center);
            canvas.text("<a&b>\u{0}\u{1b}\"", (50.0, 25.0), middle, look);
        });
        assert!(text.contains("&lt;a&amp;b&gt;  &quot;"), "{text}");
        assert!(text.ends_with("</svg>\n"));
    }
}

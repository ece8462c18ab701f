//! A drawing surface in pixels over plotters' SVG backend.
//!
//! Plotters' own charts are not used: they know no labels that avoid each other and no lanes.
//! No font library is linked, so widths of texts are estimated; the estimate is generous, because a label with too much room looks better than two that touch.

use plotters::coord::Shift;
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::Pos;
pub(super) use plotters::style::text_anchor::{HPos, VPos};

/// A point in pixels from the upper left corner.
pub(super) type Point = (f64, f64);

/// Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008), without the yellow that is too light for lines.
pub(super) const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(110, 110, 110),
];

/// Texts and axes.
pub(super) const INK: RGBColor = RGBColor(38, 38, 38);
/// Secondary texts.
pub(super) const SOFT: RGBColor = RGBColor(105, 105, 105);
/// Grid lines.
pub(super) const FAINT: RGBColor = RGBColor(228, 228, 228);

/// Black or white, whichever is easier to read on `colour`.
pub(super) fn ink_on(colour: RGBColor) -> RGBColor {
    let RGBColor(red, green, blue) = colour;
    let light = 0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue);
    if light < 140.0 { WHITE } else { INK }
}

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

    /// Estimated width of `text` in pixels.
    pub(super) fn width(self, text: &str) -> f64 {
        let em: f64 = text.chars().map(width_in_em).sum();
        let weight = match self.style {
            FontStyle::Bold => 1.1,
            FontStyle::Normal | FontStyle::Oblique | FontStyle::Italic => 1.0,
        };
        em * self.size * weight
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

fn width_in_em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.32,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '…' | '→' | '@' => 0.98,
        other if other.is_uppercase() => 0.72,
        other if other.is_ascii() => 0.62,
        _ => 1.0,
    }
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

/// A picture in the making.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Draws a picture of `width` × `height` pixels and returns it as SVG.
pub(super) fn picture(width: u32, height: u32, draw: impl FnOnce(&Canvas<'_>)) -> String {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        let canvas = Canvas { area };
        canvas.put(&Rectangle::new(
            [(0, 0), (pixel(f64::from(width)), pixel(f64::from(height)))],
            WHITE.filled(),
        ));
        draw(&canvas);
        canvas.area.present().expect(NO_FILE);
    }
    text
}

/// Why drawing cannot fail.
const NO_FILE: &str = "the picture is a string, so no file can fail";

impl Canvas<'_> {
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

    /// A mark of `radius` around `at`.
    pub(super) fn mark(&self, mark: Mark, at: Point, radius: f64, colour: RGBColor) {
        let around = |corners: &[Point]| -> Vec<(i32, i32)> {
            let corner = |&(x, y): &Point| pixels((at.0 + x * radius, at.1 + y * radius));
            corners.iter().map(corner).collect()
        };
        let shape: &[Point] = match mark {
            Mark::Circle => {
                self.put(&Circle::new(pixels(at), pixel(radius), colour.filled()));
                return;
            }
            Mark::Cross => {
                for arm in [
                    [(-0.85, -0.85), (0.85, 0.85)],
                    [(-0.85, 0.85), (0.85, -0.85)],
                ] {
                    self.put(&PathElement::new(around(&arm), colour.stroke_width(2)));
                }
                return;
            }
            Mark::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Mark::Triangle => &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
            Mark::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        };
        self.put(&Polygon::new(around(shape), colour.filled()));
    }

    /// A small dot.
    pub(super) fn dot(&self, at: Point, colour: RGBColor) {
        self.put(&Circle::new(pixels(at), 2, colour.filled()));
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
        let font = ("sans-serif", look.size * 1.24, look.style).into_font();
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
        let look = Lettering::plain(10.0, INK);
        assert_eq!(look.fit("abc", 100.0).as_deref(), Some("abc"));
        let cut = look.fit("a_rather_long_name", 60.0).unwrap();
        assert!(cut.ends_with('…') && look.width(&cut) <= 60.0, "{cut}");
        assert_eq!(look.fit("a_rather_long_name", 12.0), None);
    }

    #[test]
    fn names_from_files_cannot_break_the_picture() {
        let text = picture(100, 50, |canvas| {
            let look = Lettering::plain(10.0, INK);
            let middle = (HPos::Center, VPos::Center);
            canvas.text("<a&b>\u{0}\u{1b}\"", (50.0, 25.0), middle, look);
        });
        assert!(text.contains("&lt;a&amp;b&gt;  &quot;"), "{text}");
        assert!(text.ends_with("</svg>\n"));
    }
}

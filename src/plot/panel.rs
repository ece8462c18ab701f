//! A pair of axes with grid, numbers and titles.

use super::axis::{Axis, round_number};
use super::canvas::{Canvas, HPos, Lettering, Point, VPos};
use super::labels::Area;
use super::palette::{FAINT, INK, SOFT};

/// A rectangle of pixels and the values that it shows.
pub(super) struct Panel {
    pub(super) area: Area,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

/// What stands beside the axes.
pub(super) struct Titles<'t> {
    pub(super) x: &'t str,
    pub(super) y: &'t str,
}

impl Panel {
    /// The pixels of a pair of values.
    pub(super) fn at(&self, x: f64, y: f64) -> Point {
        (self.x.pixel(x), self.y.pixel(y))
    }

    /// Whether both lie on their axes.
    pub(super) fn holds(&self, x: f64, y: f64) -> bool {
        self.x.holds(x) && self.y.holds(y)
    }

    pub(super) fn draw(&self, canvas: &Canvas<'_>, titles: &Titles<'_>) {
        let area = self.area;
        let numbers = Lettering::plain(11.5, SOFT);
        let mut free_from = f64::NEG_INFINITY;
        for tick in self.x.ticks(ticks(area.right - area.left, 90.0)) {
            let x = self.x.pixel(tick);
            canvas.line(&[(x, area.top), (x, area.bottom)], FAINT, 1);
            let number = round_number(tick);
            let half = numbers.width(&number) / 2.0;
            // On a logarithmic axis ticks stand closer to each other toward the end of a decade.
            if x - half > free_from {
                let at = (x, area.bottom + 8.0);
                canvas.text(&number, at, (HPos::Center, VPos::Top), numbers);
                free_from = x + half + 6.0;
            }
        }
        let mut free_below = f64::INFINITY;
        for tick in self.y.ticks(ticks(area.bottom - area.top, 55.0)) {
            let y = self.y.pixel(tick);
            canvas.line(&[(area.left, y), (area.right, y)], FAINT, 1);
            if y + 6.0 < free_below {
                let at = (area.left - 8.0, y);
                canvas.text(
                    &round_number(tick),
                    at,
                    (HPos::Right, VPos::Center),
                    numbers,
                );
                free_below = y - 8.0;
            }
        }
        let corner = (area.left, area.bottom);
        canvas.line(
            &[(area.left, area.top), corner, (area.right, area.bottom)],
            SOFT,
            1,
        );
        let look = Lettering::plain(13.0, INK);
        let scale = |axis: &Axis| {
            if axis.is_logarithmic() {
                ", logarithmic"
            } else {
                ""
            }
        };
        if !titles.x.is_empty() {
            canvas.text(
                &format!("{}{}", titles.x, scale(&self.x)),
                (f64::midpoint(area.left, area.right), area.bottom + 28.0),
                (HPos::Center, VPos::Top),
                look,
            );
        }
        canvas.upward(
            &format!("{}{}", titles.y, scale(&self.y)),
            (area.left - 60.0, f64::midpoint(area.top, area.bottom)),
            look,
        );
    }
}

/// How many ticks a length has room for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths are a few hundred pixels, and the cast saturates"
)]
fn ticks(length: f64, each: f64) -> u32 {
    (length / each).max(2.0) as u32
}

//! A legend that flows from left to right and wraps.

use super::canvas::{Canvas, HPos, Lettering, Point, VPos};
use super::palette::INK;

const TEXT: Lettering = Lettering::plain(12.0, INK);
const ROW: f64 = 22.0;
/// From the left edge of a sample to its text.
const SAMPLE: f64 = 24.0;
const GAP: f64 = 20.0;

/// Entries with their places.
pub(super) struct Legend<S> {
    entries: Vec<(S, String, Point)>,
    rows: u16,
}

impl<S: Copy> Legend<S> {
    /// Lays entries out between `left` and `right`, each group in a row of its own.
    pub(super) fn new(groups: Vec<Vec<(S, String)>>, left: f64, right: f64) -> Self {
        let mut entries = Vec::new();
        let mut rows: u16 = 0;
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let mut x = left;
            for (sample, label) in group {
                let label = TEXT.fit(&label, right - left - SAMPLE).unwrap_or_default();
                let width = SAMPLE + TEXT.width(&label);
                if x > left && x + width > right {
                    x = left;
                    rows = rows.saturating_add(1);
                }
                entries.push((sample, label, (x, f64::from(rows) * ROW)));
                x += width + GAP;
            }
            rows = rows.saturating_add(1);
        }
        Self { entries, rows }
    }

    pub(super) fn height(&self) -> f64 {
        f64::from(self.rows) * ROW
    }

    /// Draws it below `top`; `draw` gets the middle of the left edge of each sample, which is 18 pixels wide.
    pub(super) fn draw(&self, canvas: &Canvas<'_>, top: f64, draw: impl Fn(S, Point)) {
        for (sample, label, (x, y)) in &self.entries {
            let y = top + y + ROW / 2.0;
            draw(*sample, (*x, y));
            canvas.text(label, (x + SAMPLE, y), (HPos::Left, VPos::Center), TEXT);
        }
    }
}

//! The font of all pictures: it measures texts for the layout and draws them in bitmaps.
//!
//! `DejaVu` Sans is wider than what a reader of an SVG is likely to have instead, so that what fits in it fits everywhere.
//! It is part of the program, because a picture must not depend on the fonts of the machine that draws it.
//! Letters that it lacks (it has Latin, Greek and Cyrillic) count as an em wide; a bitmap shows a box for them.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb::Database;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::{FontRef, MetadataProvider};

/// What an SVG asks for: this font, one of the same widths, or whatever stands for it.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

static REGULAR: &[u8] = include_bytes!("font/DejaVuSans.ttf");
static BOLD: &[u8] = include_bytes!("font/DejaVuSans-Bold.ttf");

/// Width of each character of the basic plane in thousandths of an em.
static REGULAR_WIDTHS: LazyLock<Vec<u16>> = LazyLock::new(|| widths(REGULAR));
static BOLD_WIDTHS: LazyLock<Vec<u16>> = LazyLock::new(|| widths(BOLD));

/// Both faces, for whoever draws a bitmap.
pub(super) fn database() -> Arc<Database> {
    static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut database = Database::new();
        database.load_font_data(REGULAR.to_vec());
        database.load_font_data(BOLD.to_vec());
        database.set_sans_serif_family("DejaVu Sans");
        Arc::new(database)
    });
    Arc::clone(&DATABASE)
}

/// Width of `text` in em.
pub(super) fn width(text: &str, bold: bool) -> f64 {
    let widths: &[u16] = if bold { &BOLD_WIDTHS } else { &REGULAR_WIDTHS };
    let of = |character: char| {
        let known = widths.get(character as usize).copied();
        known.filter(|&width| width > 0).unwrap_or(1000)
    };
    text.chars()
        .map(|character| f64::from(of(character)) / 1000.0)
        .sum()
}

/// Zero for what the face lacks.
fn widths(face: &[u8]) -> Vec<u16> {
    const LAST: u32 = 0x2300;
    let font =
        FontRef::new(face).expect("the font is part of the program and was read by the tests");
    let charmap = font.charmap();
    let metrics = GlyphMetrics::new(&font, Size::new(1000.0), LocationRef::default());
    (0..LAST)
        .map(|code| {
            let glyph = charmap.map(code)?;
            metrics.advance_width(glyph)
        })
        .map(|width| thousandths(width.unwrap_or(0.0)))
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "advances are a few em at most, and the cast saturates"
)]
fn thousandths(width: f32) -> u16 {
    width.ceil() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_the_widths_of_the_face() {
        // From the published metrics of `DejaVu` Sans, in units of 2048 an em: i 569, m 1995, space 651.
        let em = |units: f64| units / 2048.0;
        for (text, units) in [("i", 569.0), ("m", 1995.0), (" ", 651.0)] {
            assert!((width(text, false) - em(units)).abs() < 2e-3, "{text}");
        }
        assert!(width("abc", true) > width("abc", false));
    }

    #[test]
    fn what_pictures_write_is_in_both_faces() {
        for character in "→…−±×≤µκ·–%|+#äöüßéžΩж".chars() {
            for widths in [&REGULAR_WIDTHS, &BOLD_WIDTHS] {
                assert!(widths[character as usize] > 0, "{character}");
            }
        }
        assert!((width("日本", false) - 2.0).abs() < 1e-9);
    }
}

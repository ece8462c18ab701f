//! A picture as PNG: the SVG, drawn with the embedded font, so that both look the same on every machine.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::font;

/// A picture is drawn at this many dots a pixel, so that small letters stay sharp.
const DENSITY: f32 = 2.0;
/// Less than this many dots a pixel cannot be read.
const LEAST_DENSITY: f32 = 0.75;
/// The most dots of a bitmap: 4 bytes each in memory.
const DOTS: f32 = 120e6;
/// The longest side; many viewers refuse more.
const SIDE: f32 = 32_000.0;

/// Why a picture has no bitmap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BitmapError {
    /// Not a picture.
    #[error("picture: not a readable SVG")]
    Unreadable(#[from] resvg::usvg::Error),
    /// Legible letters would take too many dots.
    #[error("picture: {width:.0} × {height:.0} pixels are too large for a bitmap")]
    TooLarge {
        /// Of the picture.
        width: f32,
        /// Of the picture.
        height: f32,
    },
    /// The encoder failed.
    #[error("picture: cannot be encoded as PNG: {0}")]
    Encoding(String),
}

/// Draws an SVG picture of this module as PNG, two dots a pixel, or fewer if it is very large.
pub fn png(svg: &str) -> Result<Vec<u8>, BitmapError> {
    let options = Options {
        fontdb: font::database(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options)?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let density = DENSITY
        .min((DOTS / (width * height)).sqrt())
        .min(SIDE / width.max(height));
    let pixmap = if density >= LEAST_DENSITY {
        Pixmap::new(dots(width * density), dots(height * density))
    } else {
        None
    };
    let mut pixmap = pixmap.ok_or(BitmapError::TooLarge { width, height })?;
    resvg::render(
        &tree,
        Transform::from_scale(density, density),
        &mut pixmap.as_mut(),
    );
    pixmap
        .encode_png()
        .map_err(|error| BitmapError::Encoding(error.to_string()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are positive and limited by the caller"
)]
fn dots(length: f32) -> u32 {
    length.floor().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_has_two_dots_a_pixel_and_the_letters_of_the_font() {
        let svg = |text: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" viewBox=\"0 0 60 20\">\
                 <text x=\"5\" y=\"15\" font-family=\"{}\" font-size=\"12\">{text}</text></svg>",
                font::FAMILY
            )
        };
        let (one, other) = (png(&svg("ab")).unwrap(), png(&svg("cd")).unwrap());
        assert_eq!(one[16..24], [0, 0, 0, 120, 0, 0, 0, 40], "width and height");
        assert_ne!(one, other);
        assert_eq!(one, png(&svg("ab")).unwrap());
    }

    #[test]
    fn what_no_viewer_would_open_is_refused() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90000\" height=\"900\"/>";
        assert!(matches!(png(svg), Err(BitmapError::TooLarge { .. })));
        assert!(matches!(png("<svg"), Err(BitmapError::Unreadable(_))));
    }
}

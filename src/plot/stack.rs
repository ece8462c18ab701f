//! Pictures one below the other.

use std::fmt::Write;

/// `pictures`, the first on top; one by itself stays as it is.
pub(super) fn stacked(pictures: &[String]) -> String {
    if let [only] = pictures {
        return only.clone();
    }
    let sizes: Vec<(u32, u32)> = pictures.iter().map(|one| size(one)).collect();
    let width = sizes.iter().map(|size| size.0).max().unwrap_or(0);
    let height: u32 = sizes.iter().map(|size| size.1).sum();
    let mut text = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
    );
    let mut top = 0;
    for (picture, (_, height)) in pictures.iter().zip(sizes) {
        if top == 0 {
            text.push_str(picture);
        } else {
            text.push_str(&picture.replacen("<svg ", &format!("<svg y=\"{top}\" "), 1));
        }
        text.push('\n');
        top += height;
    }
    let _ = writeln!(text, "</svg>");
    text
}

/// Width and height that a picture states.
fn size(svg: &str) -> (u32, u32) {
    let stated = |name: &str| {
        let (_, rest) = svg.split_once(&format!("{name}=\""))?;
        let (number, _) = rest.split_once('"')?;
        number.parse().ok()
    };
    (stated("width").unwrap_or(0), stated("height").unwrap_or(0))
}

//! For tests: a picture as a renderer sees it, with the boxes of its texts and shapes.

use resvg::usvg::{Group, Node, Options, TextChunk, Tree, roxmltree};

use super::font;

/// A picture that was read back.
pub(super) struct Picture {
    width: f32,
    height: f32,
    /// What is written and its box of ink: left, top, right, bottom.
    pub(super) texts: Vec<(String, [f32; 4])>,
    shapes: Vec<[f32; 4]>,
}

impl Picture {
    /// Reads it; fails unless it is well-formed.
    pub(super) fn read(svg: &str) -> Self {
        roxmltree::Document::parse(svg).expect("well-formed XML");
        let options = Options {
            fontdb: font::database(),
            ..Options::default()
        };
        let tree = Tree::from_str(svg, &options).expect("an SVG");
        let mut picture = Self {
            width: tree.size().width(),
            height: tree.size().height(),
            texts: Vec::new(),
            shapes: Vec::new(),
        };
        picture.collect(tree.root());
        picture
    }

    fn collect(&mut self, group: &Group) {
        let mut open = vec![group];
        while let Some(group) = open.pop() {
            for node in group.children() {
                match node {
                    Node::Group(inner) => open.push(inner),
                    Node::Path(path) => {
                        let area = path.abs_stroke_bounding_box();
                        self.shapes
                            .push([area.left(), area.top(), area.right(), area.bottom()]);
                    }
                    Node::Image(_) => panic!("pictures embed no images"),
                    Node::Text(text) => {
                        let content = text.chunks().iter().map(TextChunk::text).collect();
                        let area = text.flattened().abs_bounding_box();
                        let area = [area.left(), area.top(), area.right(), area.bottom()];
                        self.texts.push((content, area));
                    }
                }
            }
        }
    }

    /// Fails unless everything lies inside the picture and no two texts touch.
    pub(super) fn assert_clean(&self) {
        assert!(self.shapes.len() > 4, "a picture has shapes");
        let inside = |[left, top, right, bottom]: [f32; 4]| {
            left >= -0.6 && top >= -0.6 && right <= self.width + 0.6 && bottom <= self.height + 0.6
        };
        for &shape in &self.shapes {
            assert!(inside(shape), "a shape is clipped: {shape:?}");
        }
        for (index, (text, area)) in self.texts.iter().enumerate() {
            assert!(inside(*area), "`{text}` is clipped: {area:?}");
            for (other, place) in &self.texts[..index] {
                let apart = area[2] <= place[0]
                    || place[2] <= area[0]
                    || area[3] <= place[1]
                    || place[3] <= area[1];
                assert!(apart, "`{text}` {area:?} and `{other}` {place:?} overlap");
            }
        }
    }
}

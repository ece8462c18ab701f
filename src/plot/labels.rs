//! Labels that do not overlap: each is put at the nearest free place around its point, or left out.

use super::canvas::Point;

/// A box in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// The box around a mark.
    pub(super) fn around(at: Point, radius: f64) -> Self {
        Self {
            left: at.0 - radius,
            top: at.1 - radius,
            right: at.0 + radius,
            bottom: at.1 + radius,
        }
    }

    /// The box around a horizontal or vertical line.
    pub(super) fn between(from: Point, to: Point) -> Self {
        Self {
            left: from.0.min(to.0) - 2.0,
            top: from.1.min(to.1) - 2.0,
            right: from.0.max(to.0) + 2.0,
            bottom: from.1.max(to.1) + 2.0,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn contains(&self, other: &Self) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// On which side of its point a label would rather be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Places labels inside a picture, first come, first served.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    within: Area,
    taken: Vec<Area>,
}

impl Placement {
    /// Labels lie in `within` and cover nothing of `taken`.
    pub(super) fn new(within: Area, taken: Vec<Area>) -> Self {
        Self { within, taken }
    }

    /// A free place for a label of `width` × `height` near `point`, on the side that it prefers if there is one, then farther away.
    pub(super) fn place(
        &mut self,
        point: Point,
        side: Side,
        (width, height): (f64, f64),
    ) -> Option<Area> {
        let place = candidates(point, side, width, height).find(|area| {
            self.within.contains(area) && !self.taken.iter().any(|taken| taken.overlaps(area))
        })?;
        self.taken.push(place);
        Some(place)
    }
}

fn candidates(point: Point, side: Side, width: f64, height: f64) -> impl Iterator<Item = Area> {
    // Directions for `Side::Right` in the order of preference; a label touches the ray from its point with its nearest side.
    const DIRECTIONS: [(f64, f64); 12] = [
        (1.0, 0.0),
        (1.0, -0.6),
        (1.0, 0.6),
        (-1.0, 0.0),
        (-1.0, -0.6),
        (-1.0, 0.6),
        (0.0, -1.0),
        (0.0, 1.0),
        (0.5, -1.0),
        (0.5, 1.0),
        (-0.5, -1.0),
        (-0.5, 1.0),
    ];
    const DISTANCES: [f64; 5] = [10.0, 18.0, 30.0, 46.0, 66.0];
    let towards = match side {
        Side::Left => -1.0,
        Side::Right => 1.0,
    };
    DISTANCES.into_iter().flat_map(move |distance| {
        DIRECTIONS.into_iter().map(move |(dx, dy)| {
            let dx = dx * towards;
            let (x, y) = (point.0 + dx * distance, point.1 + dy * distance);
            let left = if dx > 0.0 {
                x
            } else if dx < 0.0 {
                x - width
            } else {
                x - width / 2.0
            };
            // Directions that are rather up or down than sideways put the label above or below.
            let top = if dy.abs() > 0.9 {
                y - height * (1.0 - dy) / 2.0
            } else {
                y - height / 2.0
            };
            Area {
                left,
                top,
                right: left + width,
                bottom: top + height,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_one_place_do_not_overlap_and_stay_inside() {
        let within = Area {
            left: 0.0,
            top: 0.0,
            right: 400.0,
            bottom: 300.0,
        };
        let marks = vec![Area::around((200.0, 150.0), 6.0)];
        let mut placement = Placement::new(within, marks.clone());
        let places: Vec<_> = (0..100)
            .filter_map(|_| placement.place((200.0, 150.0), Side::Left, (70.0, 14.0)))
            .collect();
        assert!(places.len() > 8, "{}", places.len());
        for (index, place) in places.iter().enumerate() {
            assert!(within.contains(place));
            let others = places[..index].iter().chain(&marks);
            assert!(!others.into_iter().any(|other| other.overlaps(place)));
        }
    }

    #[test]
    fn a_label_in_the_corner_turns_inward() {
        let within = Area {
            left: 0.0,
            top: 0.0,
            right: 100.0,
            bottom: 100.0,
        };
        let mut placement = Placement::new(within, Vec::new());
        let place = placement
            .place((98.0, 2.0), Side::Right, (60.0, 12.0))
            .unwrap();
        assert!(place.right < 98.0);
    }
}

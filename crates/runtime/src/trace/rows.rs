//! Lanes split into rows in which nothing overlaps.

use super::event::{Trace, TraceEvent};

/// Events of one lane that do not overlap, in order.
#[derive(Clone, Debug)]
pub struct Row<'t> {
    /// Index of the lane.
    pub lane: usize,
    /// How many rows of the lane come before it.
    pub number: usize,
    /// In the order of their starts; none starts before the one before it has ended.
    pub events: Vec<&'t TraceEvent>,
}

impl Trace {
    /// Rows of all lanes, in the order of the lanes; each lane has as few as possible, and one at least.
    ///
    /// An event that ends before it starts, as clocks of two devices can have it, counts as one without length.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let mut all = Vec::new();
        for lane in 0..self.lanes.len() {
            let mut events: Vec<&TraceEvent> = self
                .events
                .iter()
                .filter(|event| event.lane == lane)
                .collect();
            events.sort_by_key(|event| (event.start_ns, event.end_ns, event.frame));
            let mut rows = vec![Row {
                lane,
                number: 0,
                events: Vec::new(),
            }];
            for event in events {
                let is_free = |row: &&mut Row<'_>| {
                    row.events
                        .last()
                        .is_none_or(|last| last.end() <= event.start_ns)
                };
                if let Some(row) = rows.iter_mut().find(is_free) {
                    row.events.push(event);
                } else {
                    let number = rows.len();
                    rows.push(Row {
                        lane,
                        number,
                        events: vec![event],
                    });
                }
            }
            all.append(&mut rows);
        }
        all
    }
}

impl TraceEvent {
    /// Its end, which is not before its start.
    pub(super) fn end(&self) -> u64 {
        self.end_ns.max(self.start_ns)
    }
}

impl Row<'_> {
    /// The queue, and which row of it this is.
    pub(super) fn title(&self, trace: &Trace) -> String {
        let queue = &trace.lanes[self.lane].queue;
        match self.number {
            0 => queue.clone(),
            number => format!("{queue} ({})", number + 1),
        }
    }
}

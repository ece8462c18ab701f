//! Pairs of operator and processor that no schedule below the horizon has: by their reduced costs, and by trying them (Savelsbergh 1994).
//!
//! Fewer pairs make windows smaller, and smaller windows make rows stronger, so that a horizon may fall that no row alone refutes.
//! Every exclusion is certified in integers, like the bound itself.

use crate::milp::{LinearProgram, MilpError, Priced};

use super::statement::Statement;
use super::trials::Search;

/// Simplex iterations of a probe.
const PROBE: u32 = 500;

impl Search<'_, '_> {
    /// Leaves out the pairs that cost too much to be in a schedule that fits the horizon (reduced-cost fixing); how many.
    pub(super) fn drop_costly_pairs(
        &mut self,
        statement: &Statement<'_>,
        priced: &Priced,
    ) -> usize {
        let horizon = statement.windows.horizon;
        let mut dropped = 0;
        for (columns, out_below) in statement.x.iter().zip(&mut self.relaxation.out_below) {
            let must = columns
                .iter()
                .position(|column| column.is_some_and(|x| priced.bound_without(x) > horizon));
            for (p, &column) in columns.iter().enumerate() {
                let Some(x) = column else { continue };
                let is_elsewhere = must.is_some_and(|must| must != p);
                if is_elsewhere || priced.bound_with(x) > horizon {
                    out_below[p] = horizon;
                    dropped += 1;
                }
            }
        }
        dropped
    }

    /// Tries pairs one by one, those that cost most first, and leaves out those with which no schedule fits the horizon (probing); how many.
    pub(super) fn probe(
        &mut self,
        statement: &mut Statement<'_>,
        mut program: LinearProgram,
        proof: &Priced,
    ) -> Result<usize, MilpError> {
        let horizon = statement.windows.horizon;
        let mut pairs: Vec<(i64, usize, usize, usize)> = Vec::new();
        for (i, columns) in statement.x.iter().enumerate() {
            if columns.iter().flatten().count() < 2 {
                continue;
            }
            for (p, column) in columns.iter().enumerate() {
                if let Some(x) = *column
                    && self.relaxation.out_below[i][p] < horizon
                {
                    pairs.push((-proof.bound_with(x), i, p, x));
                }
            }
        }
        pairs.sort_unstable();
        let (mut dropped, mut failed) = (0, 0);
        for (_, i, p, x) in pairs {
            if failed >= self.work.probes || self.budget.should_stop() {
                break;
            }
            program.hold(x, 1, 1);
            statement.program.columns[x].lower = 1;
            let (next, suggestion) = program.solve(PROBE, self.budget.left())?;
            program = next;
            let bound = statement.program.bound(&suggestion.multipliers);
            statement.program.columns[x].lower = 0;
            if bound.is_some_and(|bound| bound > horizon) {
                program.hold(x, 0, 0);
                statement.program.columns[x].upper = 0;
                self.relaxation.out_below[i][p] = horizon;
                dropped += 1;
                failed = 0;
            } else {
                program.hold(x, 0, 1);
                failed += 1;
            }
        }
        Ok(dropped)
    }
}

//! Energy of a frame (rule M11).

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::soc::ProcessorSet;
use paracompile_plan::{Milliwatts, Nanojoules, Nanoseconds};

/// `E_active` and `E_board`, each static share rounded once.
pub(crate) fn with_static_shares(
    table: &CostTable,
    used: ProcessorSet,
    dynamic: Nanojoules,
    interval: Nanoseconds,
) -> (Nanojoules, Nanojoules) {
    let power: Milliwatts = used
        .iter()
        .map(|processor| table.static_power(processor))
        .sum();
    let active = dynamic + power.over(interval);
    (active, active + table.base_power().over(interval))
}

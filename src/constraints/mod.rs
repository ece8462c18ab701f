//! What a user demands of every plan: operators pinned to processors or kept away from them, and figures that must be met.
//!
//! A placement becomes eligibility (what is not allowed does not exist for the search), a limit on memory a label of the search, and every other requirement a filter over all that was found, so that none is traded against an objective.

mod pattern;
mod select;

mod placement;

mod quantity;
mod requirement;

mod judged;

mod demands;

pub use demands::Constraints;
pub use judged::Judged;
pub use pattern::Pattern;
pub use placement::{
    Eligibility, PlacementError, PlacementFault, PlacementKind, PlacementRule, Stranded, eligible,
};
pub use requirement::{Requirement, RequirementError, RequirementFault};
pub use select::{Unselected, find, near, select};

//! From mappings to plan files, none of which breaks the checker's rules.

use paracompile_frontend::cost::cost_facts;
use paracompile_frontend::facts::model_facts;
use paracompile_plan::facts::CostFacts;
use paracompile_plan::plan::{Constraint, Label, StoppedBy};
use paracompile_plan::{Nanoseconds, check};
use rayon::prelude::*;

use super::arrow::Inputs;
use super::{CompileError, PlanFile};
use crate::emit::{self, Claim, Emission};
use crate::estimate::evaluate;
use crate::mapping::PipelineMapping;

/// What a plan owes to the user's demands.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// The demands that it meets.
    pub(super) constraints: Vec<Constraint>,
    /// How often a frame is admitted; anything below the interval is the interval.
    pub(super) admission: Nanoseconds,
    /// What limits the claims of its proof, if anything does.
    pub(super) scope: &'static str,
}

impl Terms {
    /// Nothing was demanded.
    pub(super) const NONE: Self = Self {
        constraints: Vec::new(),
        admission: Nanoseconds::ZERO,
        scope: "",
    };
}

/// Times `mapping` and writes its plan.
pub(super) fn plan_file(
    inputs: &Inputs<'_>,
    file: String,
    mapping: &PipelineMapping,
    labels: &[Label],
    stopped_by: StoppedBy,
    terms: &Terms,
) -> PlanFile {
    let Inputs {
        graph,
        segments,
        table,
        ..
    } = inputs;
    let estimate = evaluate(&segments.graph, graph, table, mapping).admitted_every(
        terms.admission,
        table,
        mapping,
    );
    let claim = Claim {
        method: "the sum of the stages' own proofs".to_owned(),
        scope: format!(
            "these stages on these processors, each for the places where it leaves its tensors{}",
            terms.scope
        ),
        stopped_by,
    };
    let plan = emit::plan(&Emission {
        graph,
        fused: &segments.graph,
        table,
        mapping,
        estimate: &estimate,
        labels,
        claim: &claim,
        constraints: &terms.constraints,
        tasks: inputs.tasks,
    });
    PlanFile {
        file,
        plan,
        mapping: mapping.clone(),
        estimate,
        table: inputs.own_table.clone(),
    }
}

/// Holds every plan against model and costs; the first that breaks a rule is an error.
pub(super) fn check_all(inputs: &Inputs<'_>, files: &[PlanFile]) -> Result<(), CompileError> {
    let model = model_facts(inputs.graph);
    let own = cost_facts(inputs.graph, inputs.table);
    let costs: Vec<Option<CostFacts>> = files
        .iter()
        .map(|file| Some(cost_facts(inputs.graph, file.table.as_deref()?)))
        .collect();
    let wrong = files
        .par_iter()
        .zip(&costs)
        .map(|(file, costs)| {
            let costs = costs.as_ref().unwrap_or(&own);
            (file, check(&file.plan, &model, costs))
        })
        .find_first(|(_, violations)| !violations.is_empty());
    match wrong {
        None => Ok(()),
        Some((file, violations)) => Err(CompileError::Wrong {
            file: file.file.clone(),
            violations,
        }),
    }
}

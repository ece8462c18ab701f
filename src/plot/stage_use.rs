//! What each compute queue does while its stage has a frame: compute, wait for a move, wait for others, or be done before them.

use std::collections::BTreeMap;

use paracompile_plan::plan::{QueueKind, Transfer};
use paracompile_plan::{Nanoseconds, OpClass, Plan};

/// How a compute queue spends the time of its stage; the parts add up to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUse {
    /// Index of the stage in the plan.
    pub stage: u32,
    /// Index of the queue in the plan.
    pub queue: u32,
    /// The processor's name.
    pub processor: String,
    /// Time in tasks by the class of their anchor, most first.
    pub busy: Vec<(OpClass, Nanoseconds)>,
    /// Time without a task while a tensor that the next task reads is on its way.
    pub moves: Nanoseconds,
    /// Other time before the next task: it waits for what another queue computes.
    pub waiting: Nanoseconds,
    /// From its last task to the end of the stage.
    pub done: Nanoseconds,
}

impl QueueUse {
    /// Time in tasks.
    pub fn busy_time(&self) -> Nanoseconds {
        self.busy.iter().map(|&(_, time)| time).sum()
    }
}

/// The use of every compute queue that a plan gives tasks, by stage, then by queue.
///
/// Tasks on queues that the plan does not have are left out.
pub fn stage_use(plan: &Plan) -> Vec<QueueUse> {
    let mut tasks: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (index, task) in plan.tasks.iter().enumerate() {
        let queue = plan.queues.get(task.queue as usize);
        let computes = queue.is_some_and(|queue| queue.kind == QueueKind::Compute);
        if computes && (task.stage as usize) < plan.stages.len() {
            let list = tasks.entry((task.stage, task.queue)).or_default();
            list.push(index);
        }
    }
    let mut arrivals: BTreeMap<u32, Vec<&Transfer>> = BTreeMap::new();
    for transfer in &plan.transfers {
        let list = arrivals.entry(transfer.to_buffer).or_default();
        list.push(transfer);
    }
    tasks
        .into_iter()
        .map(|((stage, queue), list)| of_queue(plan, stage, queue, &list, &arrivals))
        .collect()
}

fn of_queue(
    plan: &Plan,
    stage: u32,
    queue: u32,
    tasks: &[usize],
    arrivals: &BTreeMap<u32, Vec<&Transfer>>,
) -> QueueUse {
    let mut busy: BTreeMap<OpClass, Nanoseconds> = BTreeMap::new();
    let (mut moves, mut waiting) = (Nanoseconds::ZERO, Nanoseconds::ZERO);
    let mut free = Nanoseconds::ZERO;
    for &index in tasks {
        let task = &plan.tasks[index];
        *busy.entry(task.class).or_default() += task.duration_ns;
        if task.start_ns > free {
            let incoming = task.reads.iter().filter_map(|buffer| arrivals.get(buffer));
            let spans = incoming
                .flatten()
                .filter(|transfer| transfer.stage == stage)
                .map(|transfer| (transfer.start_ns, transfer.start_ns + transfer.duration_ns));
            let moving = covered(spans.collect(), (free, task.start_ns));
            moves += moving;
            waiting += (task.start_ns - free).saturating_sub(moving);
        }
        free = free.max(task.start_ns + task.duration_ns);
    }
    let mut busy: Vec<_> = busy.into_iter().collect();
    busy.sort_by_key(|&(class, time)| (std::cmp::Reverse(time), class));
    QueueUse {
        stage,
        queue,
        processor: plan.queues[queue as usize].processor.clone(),
        busy,
        moves,
        waiting,
        done: plan.stages[stage as usize].time_ns.saturating_sub(free),
    }
}

/// How much of `window` the spans cover together.
fn covered(
    mut spans: Vec<(Nanoseconds, Nanoseconds)>,
    (from, to): (Nanoseconds, Nanoseconds),
) -> Nanoseconds {
    spans.sort_unstable();
    let mut sum = Nanoseconds::ZERO;
    let mut done = from;
    for (start, end) in spans {
        let (start, end) = (start.max(done), end.min(to));
        if end > start {
            sum += end - start;
            done = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::samples;

    fn ns(count: u64) -> Nanoseconds {
        Nanoseconds::new(count)
    }

    #[test]
    fn parts_add_up_to_the_stage() {
        let plan = samples::plan(40, &[&["big", "little"], &["gpu"]]);
        let uses = stage_use(&plan);
        assert_eq!(uses.len(), 3);
        for part in uses {
            let sum = part.busy_time() + part.moves + part.waiting + part.done;
            assert_eq!(sum, plan.stages[part.stage as usize].time_ns);
            assert!(part.busy.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }

    #[test]
    fn a_gap_is_split_into_what_moves_and_what_others_compute() {
        let mut plan = samples::plan(2, &[&["gpu"]]);
        plan.stages[0].time_ns = ns(100);
        let times = [(0, 10), (40, 20)];
        for (task, (start, duration)) in plan.tasks.iter_mut().zip(times) {
            (task.start_ns, task.duration_ns) = (ns(start), ns(duration));
        }
        plan.tasks[1].reads = vec![1];
        plan.transfers.truncate(1);
        plan.transfers[0].to_buffer = 1;
        (plan.transfers[0].start_ns, plan.transfers[0].duration_ns) = (ns(25), ns(15));
        let part = &stage_use(&plan)[0];
        assert_eq!(part.busy_time(), ns(30));
        assert_eq!(
            (part.moves, part.waiting, part.done),
            (ns(15), ns(15), ns(40))
        );
    }

    #[test]
    fn moves_beside_each_other_count_once() {
        let spans = vec![(ns(0), ns(10)), (ns(5), ns(20)), (ns(30), ns(90))];
        assert_eq!(covered(spans, (ns(4), ns(40))), ns(16 + 10));
        assert_eq!(covered(Vec::new(), (ns(4), ns(40))), ns(0));
    }
}

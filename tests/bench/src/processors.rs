//! Gives the hosts processors of their own, as the limits of a container do in a cluster. Otherwise
//! a host under attack would slow down the API server and the load.

use anyhow::Context as _;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The usable processors in two parts, which may share cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    hosts: CpuSet,
    rest: CpuSet,
}

impl Processors {
    /// Gives half of the processors to the hosts. Returns `None` if there is only one.
    pub(crate) fn divide() -> anyhow::Result<Option<Self>> {
        let all = sched_getaffinity(None).context("cannot find out the processors of this program")?;
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&number| all.is_set(number)).collect();
        let (hosts, rest) = usable.split_at(usable.len() / 2);
        let set = |numbers: &[usize]| {
            let mut set = CpuSet::new();
            numbers.iter().for_each(|&number| set.set(number));
            set
        };
        Ok((!hosts.is_empty()).then(|| Self { hosts: set(hosts), rest: set(rest) }))
    }

    pub(crate) fn run_on_rest<T>(&self, work: impl FnOnce() -> T) -> anyhow::Result<T> {
        run_on(&self.rest, work)
    }

    pub(crate) fn run_on_hosts<T>(&self, start: impl FnOnce() -> T) -> anyhow::Result<T> {
        run_on(&self.hosts, start)
    }
}

fn run_on<T>(processors: &CpuSet, work: impl FnOnce() -> T) -> anyhow::Result<T> {
    let before = sched_getaffinity(None).context("cannot find out the processors of a thread")?;
    let select = |set| sched_setaffinity(None, set).context("cannot select the processors of a thread");
    select(processors)?;
    let result = work();
    select(&before)?;
    Ok(result)
}

//! A case: a server and the steps that follow from a seed.

use gyre_devcluster::random::Random;
use gyre_devcluster::{Options, Server};
use http::Method;
use jiff::Timestamp;
use serde_json::json;

use super::request::Memory;
use super::session::{Session, write};
use super::{apply, request, wire};
use crate::mutate::Draw as _;
use crate::outcome::{Failure, Log, Tally};
use crate::{corpus, mutate};

/// The number of steps: enough for interactions, few enough to read.
const STEPS: usize = 80;

/// Runs the case of this seed, and counts the answers by status.
pub(crate) fn run(seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut random = Random::new(seed);
    if random.chance(0.1) {
        return wire::run(&mut random, log);
    }
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().map_err(|error| Failure(format!("{error}")))?;
    let history_limit = *random.pick(&[1, 20, 10_000]);
    let server = Server::new(&Options { seed, history_limit, ..Options::default() }, now);
    let mut session = Session { server, now, watches: Vec::new(), memory: Memory::default(), tally: Tally::new(), log };
    session.prepare(&mut random)?;
    for _ in 0..STEPS {
        session.step(&mut random)?;
    }
    session.read_watches()?;
    Ok(session.tally)
}

impl Session<'_> {
    fn prepare(&mut self, random: &mut Random) -> Result<(), Failure> {
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for definition in corpus::definitions() {
            let mut definition = definition.clone();
            if random.chance(0.3) {
                mutate::structure(random, &mut definition["spec"]["versions"]);
            }
            self.send(&write(Method::POST, definitions, "application/json", &definition))?;
        }
        let work = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}});
        self.send(&write(Method::POST, "/api/v1/namespaces", "application/json", &work))?;
        self.controllers()
    }

    fn step(&mut self, random: &mut Random) -> Result<(), Failure> {
        match random.below(100) {
            0..70 => {
                let request = request::draw(random, &self.memory);
                let answer = self.send(&request)?;
                if let Some(value) = &answer.value {
                    self.memory.learn(random, value);
                }
                self.repeat(&request, &answer)
            }
            70..82 => apply::step(random, self),
            82..85 => self.redefine(random),
            85..95 => self.advance(random),
            95..99 => self.read_watches(),
            _ => {
                self.server.compact();
                Ok(())
            }
        }
    }
}

//! The actions of people, drawn from the seed in advance, so that they do not depend on faults.

use std::collections::{BTreeSet, VecDeque};

use gyre_devcluster::random::Random;
use serde_json::{Value, json};

use crate::kinds::{self, Kind, Name};
use crate::people::{Action, Cascade};

const STAYING: [&str; 2] = ["default", "team-a"];
/// A namespace that is deleted and created again.
pub const DOOMED: &str = "doomed";
const NAMES: u64 = 2;
/// The number of kinds of parents in a script. With few, more happens to each.
const KINDS: usize = 2;
const AT_ONCE: u64 = 6;

/// The kinds of parents in scripts, with the prefixes of their names.
pub const PARENTS: [(Kind, &str); 7] = [
    (kinds::ECHO, "echo"),
    (kinds::SCHEDULED_ECHO, "scheduled"),
    (kinds::WEBSITE, "site"),
    (kinds::FINALIZING, "final"),
    (kinds::CROSS_NAMESPACE, "cross"),
    (kinds::STRATEGIES, "strat"),
    (kinds::READER, "reader"),
];

/// The time for the host to come to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rest {
    /// Watches report all changes.
    Short,
    /// The host learns some changes only by a retry after its longest back-off.
    Long,
}

/// Concurrent actions on different objects, so that their order does not matter.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The actions.
    pub actions: Vec<Action>,
    /// The time that follows.
    pub rest: Rest,
}

/// Whether a name became free without a notification of the host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freed {
    Yes,
    No,
}

/// Draws actions.
pub struct Author {
    random: Random,
    parents: Vec<(Kind, &'static str)>,
    is_doomed_there: bool,
    /// Unrelated objects with the names of children.
    foreign: BTreeSet<Name>,
    next: VecDeque<Action>,
}

/// Returns the actions that prepare a cluster.
pub fn set_up() -> Vec<Action> {
    let namespaces = ["team-a", DOOMED].map(Action::CreateNamespace);
    let templates = STAYING.into_iter().chain([DOOMED]).map(|namespace| template(namespace, "tpl-0", 0, "a"));
    namespaces.into_iter().chain(templates).collect()
}

/// Returns a script in which hosts do everything once, with children of every kind and strategy.
pub fn story() -> Vec<Batch> {
    let name = |kind, name: &str| Name::new(kind, "default", name);
    let put = |kind, of: &str, spec: Value| Action::Put(name(kind, of), json!({ "spec": spec }));
    let in_doomed = |kind, of: &str, spec: Value| Action::Put(Name::new(kind, DOOMED, of), json!({ "spec": spec }));
    let made = vec![
        put(kinds::ECHO, "echo-0", json!({ "message": "one" })),
        put(kinds::SCHEDULED_ECHO, "scheduled-0", json!({ "message": "one", "schedule": "0 0 1 6 *" })),
        put(kinds::WEBSITE, "site-0", json!({ "template": "tpl-0", "title": "one", "host": "example.com" })),
        put(kinds::FINALIZING, "final-0", json!({ "finalize": "" })),
        put(kinds::CROSS_NAMESPACE, "cross-0", json!({ "namespace": "team-a", "clusterScoped": true })),
        put(kinds::CROSS_NAMESPACE, "cross-1", json!({ "namespace": DOOMED })),
        put(kinds::STRATEGIES, "strat-0", json!({ "text": "one", "image": "busybox:1.0" })),
        put(kinds::READER, "reader-0", json!({ "get": "tpl-1", "list": "set", "secret": "sec-0" })),
        in_doomed(kinds::FINALIZING, "final-1", json!({ "finalize": "" })),
        in_doomed(kinds::CROSS_NAMESPACE, "cross-0", json!({ "namespace": "team-a" })),
    ];
    let changed = vec![
        put(kinds::ECHO, "echo-0", json!({ "message": "two" })),
        put(kinds::SCHEDULED_ECHO, "scheduled-0", json!({ "message": "two", "schedule": "1 0 1 6 *" })),
        put(kinds::WEBSITE, "site-0", json!({ "template": "tpl-0", "title": "two", "host": "example.com" })),
        put(kinds::CROSS_NAMESPACE, "cross-0", json!({ "namespace": DOOMED })),
        put(kinds::STRATEGIES, "strat-0", json!({ "text": "two", "image": "busybox:1.1" })),
        put(kinds::READER, "reader-0", json!({ "get": "tpl-0", "list": "set=a" })),
    ];
    let [content, far] = ["site-0-content", "default-cross-0"].map(|of| name(kinds::CONFIG_MAP, of));
    let edited = vec![
        Action::Edit(name(kinds::CRON_JOB, "scheduled-0"), json!({ "spec": { "schedule": "0 0 1 7 *" } })),
        Action::Edit(content, json!({ "data": { "index.html": "edited" } })),
        Action::Edit(name(kinds::SECRET, "strat-0"), json!({ "metadata": { "labels": { "gyre.dev/plugin": null } } })),
        Action::DeleteChild(name(kinds::JOB, "echo-0")),
        Action::DeleteChild(name(kinds::CONFIG_MAP, "final-0-b")),
        Action::DeleteChild(Name { namespace: Some(DOOMED.to_owned()), ..far }),
        Action::EditStatus(name(kinds::READER, "reader-0"), json!({ "status": { "conditions": [] } })),
    ];
    let defaults = json!({ "spec": { "replicas": 3, "labels": { "team": "web" } } });
    let deleted = [
        (kinds::ECHO, "echo-0"),
        (kinds::SCHEDULED_ECHO, "scheduled-0"),
        (kinds::WEBSITE, "site-0"),
        (kinds::FINALIZING, "final-0"),
        (kinds::CROSS_NAMESPACE, "cross-0"),
        (kinds::STRATEGIES, "strat-0"),
    ];
    let deleted = deleted.map(|(kind, of)| Action::Delete(name(kind, of), Cascade::Background));
    let short = |actions| Batch { actions, rest: Rest::Short };
    vec![
        short(made),
        short(changed),
        short(edited),
        short(vec![template("default", "tpl-0", 2, "b")]),
        short(vec![Action::Put(Name::cluster(kinds::WEBSITE_DEFAULTS, "defaults-0"), defaults)]),
        Batch { actions: vec![Action::DeleteNamespace(DOOMED)], rest: Rest::Long },
        Batch { actions: vec![Action::CreateNamespace(DOOMED)], rest: Rest::Long },
        short(deleted.to_vec()),
    ]
}

impl Author {
    /// Returns the author for a seed.
    pub fn new(seed: u64) -> Self {
        // The cluster draws from another sequence.
        let mut random = Random::new(seed ^ 0x5eed);
        let mut parents = PARENTS.map(|(kind, _)| kind).to_vec();
        while parents.len() > KINDS {
            let index = usize::try_from(random.below(parents.len() as u64)).expect("an index");
            parents.remove(index);
        }
        Self { random, ..Self::about(seed, &parents) }
    }

    /// Returns the author for a seed and these kinds of parents.
    pub fn about(seed: u64, kinds: &[Kind]) -> Self {
        let parents = PARENTS.into_iter().filter(|(kind, _)| kinds.contains(kind)).collect();
        Self {
            random: Random::new(seed ^ 0x5eed),
            parents,
            is_doomed_there: true,
            foreign: BTreeSet::new(),
            next: VecDeque::new(),
        }
    }

    /// Returns the random generator, for other decisions.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Tells whether the namespace that comes and goes is there, after a restore from a backup.
    pub fn find_doomed(&mut self, is_there: bool) {
        self.is_doomed_there = is_there;
    }

    /// Returns the unrelated objects that must be unchanged in the end.
    pub fn foreign(&self) -> Vec<Name> {
        self.foreign.iter().cloned().collect()
    }

    /// Draws an action.
    pub fn action(&mut self) -> Action {
        if self.next.is_empty() {
            self.next = match self.random.below(6) {
                0 => [self.surroundings().0].into(),
                _ => {
                    let (kind, namespace, name) = self.parent();
                    self.about_one(kind, namespace, &name).into()
                }
            };
        }
        let action = self.next.pop_front().expect("something to do");
        self.track_foreign(&action);
        action
    }

    /// Draws the first batch: some parents of each kind.
    pub fn beginning(&mut self) -> Batch {
        let mut actions = Vec::new();
        for (kind, prefix) in self.parents.clone() {
            for number in 0..NAMES {
                let name = format!("{prefix}-{number}");
                let spec = self.spec(kind, STAYING[0], &name);
                actions.push(Action::Put(Name::new(kind, STAYING[0], &name), json!({ "spec": spec })));
            }
        }
        Batch { actions, rest: Rest::Short }
    }

    /// Draws a batch.
    pub fn batch(&mut self) -> Batch {
        if self.random.below(4) == 0 {
            let (action, rest) = self.surroundings();
            self.track_foreign(&action);
            return Batch { actions: vec![action], rest };
        }
        let (mut actions, mut rest) = (Vec::new(), Rest::Short);
        let mut touched = Vec::new();
        for _ in 0..=self.random.below(AT_ONCE) {
            let parent = self.parent();
            if !touched.contains(&parent) {
                let (kind, namespace, name) = parent.clone();
                for action in self.about_one(kind, namespace, &name) {
                    if self.track_foreign(&action) == Freed::Yes {
                        rest = Rest::Long;
                    }
                    actions.push(action);
                }
                touched.push(parent);
            }
        }
        Batch { actions, rest }
    }

    fn track_foreign(&mut self, action: &Action) -> Freed {
        let was_foreign = match action {
            Action::Usurp(name) => {
                self.foreign.insert(name.clone());
                false
            }
            Action::Delete(name, _) | Action::DeleteChild(name) => self.foreign.remove(name),
            Action::DeleteNamespace(namespace) => {
                self.foreign.retain(|name| name.namespace.as_deref() != Some(*namespace));
                false
            }
            _ => false,
        };
        if was_foreign { Freed::Yes } else { Freed::No }
    }

    /// Draws a parent, which may not exist.
    fn parent(&mut self) -> (Kind, &'static str, String) {
        let index = self.pick(self.parents.len());
        let (kind, prefix) = self.parents[index];
        let namespace = self.namespace();
        (kind, namespace, format!("{prefix}-{}", self.random.below(NAMES)))
    }

    fn surroundings(&mut self) -> (Action, Rest) {
        let namespace = self.namespace();
        let number = self.random.below(2);
        match self.random.below(8) {
            0 | 1 => {
                let set = ["a", "b", "c"][self.pick(3)];
                (template(namespace, &format!("tpl-{number}"), self.random.below(4), set), Rest::Short)
            }
            2 => (Action::Delete(Name::new(kinds::CONFIG_MAP, namespace, "tpl-1"), Cascade::Background), Rest::Short),
            3 => {
                let spec = json!({
                    "priority": self.random.below(3),
                    "replicas": self.random.below(3) + 1,
                    "labels": { "team": format!("team-{}", self.random.below(2)) },
                });
                let name = Name::cluster(kinds::WEBSITE_DEFAULTS, &format!("defaults-{number}"));
                (Action::Put(name, json!({ "spec": spec })), Rest::Short)
            }
            4 => {
                let name = Name::cluster(kinds::WEBSITE_DEFAULTS, &format!("defaults-{number}"));
                (Action::Delete(name, Cascade::Background), Rest::Short)
            }
            5 => {
                let labels = json!({ "colour": format!("c{}", self.random.below(3)) });
                let secret = json!({ "metadata": { "labels": labels }, "stringData": { "key": "value" } });
                (Action::Put(Name::new(kinds::SECRET, namespace, "sec-0"), secret), Rest::Short)
            }
            _ if self.is_doomed_there => {
                self.is_doomed_there = false;
                (Action::DeleteNamespace(DOOMED), Rest::Long)
            }
            _ => {
                self.is_doomed_there = true;
                (Action::CreateNamespace(DOOMED), Rest::Long)
            }
        }
    }

    fn about_one(&mut self, kind: Kind, namespace: &str, name: &str) -> Vec<Action> {
        let parent = Name::new(kind, namespace, name);
        let children = children(kind, namespace, name);
        vec![match self.random.below(13) {
            0..=5 => {
                let spec = self.spec(kind, namespace, name);
                Action::Put(parent, json!({ "spec": spec }))
            }
            6 => Action::Delete(parent, Cascade::Background),
            7 => Action::Delete(parent, Cascade::Foreground),
            8 | 9 => Action::DeleteChild(children[self.pick(children.len())].clone()),
            10 => {
                let edits = edits(kind, namespace, name);
                let (child, patch) = edits[self.pick(edits.len())].clone();
                Action::Edit(child, patch)
            }
            11 => Action::EditStatus(parent, json!({ "status": { "conditions": [], "observedGeneration": 0 } })),
            _ => return self.usurpation(parent, &children),
        }]
    }

    /// Draws the replacement of a child, which the parent may stop wanting at the same time.
    fn usurpation(&mut self, parent: Name, children: &[Name]) -> Vec<Action> {
        let plain = |child: &&Name| child.kind == kinds::CONFIG_MAP;
        let children: Vec<&Name> = children.iter().filter(plain).collect();
        if children.is_empty() {
            return vec![Action::Delete(parent, Cascade::Background)];
        }
        let usurped = Action::Usurp(children[self.pick(children.len())].clone());
        match self.random.below(3) {
            0 => vec![usurped],
            1 => vec![usurped, Action::Delete(parent, Cascade::Background)],
            _ => {
                let spec = self.spec(parent.kind, parent.namespace.as_deref().unwrap_or_default(), &parent.name);
                vec![usurped, Action::Put(parent, json!({ "spec": spec }))]
            }
        }
    }

    fn spec(&mut self, kind: Kind, namespace: &str, name: &str) -> Value {
        let number = self.random.below(4);
        let text = format!("text {number}");
        let some_namespace = [Some("team-a"), Some("default"), Some(DOOMED), None][self.pick(4)];
        match kind {
            kinds::ECHO => json!({ "message": text }),
            // No CronJob is due during the simulation, because its Jobs would not be the host's.
            kinds::SCHEDULED_ECHO => json!({ "message": text, "schedule": format!("{number} 0 1 6 *") }),
            kinds::WEBSITE => {
                let template = if self.random.below(4) == 0 { "tpl-1" } else { "tpl-0" };
                let mut spec = json!({ "template": template, "title": text, "host": "example.com" });
                if self.random.below(3) == 0 {
                    spec["replicas"] = json!(number);
                }
                spec
            }
            kinds::FINALIZING => {
                let finalize = ["", "", "", "", "never", "fail"][self.pick(6)];
                json!({ "finalize": finalize })
            }
            kinds::CROSS_NAMESPACE => {
                json!({ "namespace": some_namespace, "clusterScoped": self.random.below(2) == 0 })
            }
            kinds::STRATEGIES => {
                json!({ "text": text, "image": format!("busybox:1.{number}"), "keep": self.random.below(6) == 0 })
            }
            kinds::READER => {
                let read = match self.random.below(6) {
                    0 => "strat-0".to_owned(),
                    1 => "site-0-content".to_owned(),
                    // Only in one direction, to avoid a cycle.
                    2 if name > "reader-0" => "reader-0-copy".to_owned(),
                    _ => format!("tpl-{}", self.random.below(2)),
                };
                let list = ["set=a", "set in (a,b)", "gyre.dev/plugin=finalizing", "set"][self.pick(4)];
                let mut spec = json!({ "get": read });
                match self.random.below(3) {
                    0 => spec["list"] = json!(list),
                    1 => spec["secret"] = json!("sec-0"),
                    _ => {}
                }
                if let Some(other) = some_namespace.filter(|other| *other != namespace) {
                    spec["getNamespace"] = json!(other);
                }
                if self.random.below(2) == 0 {
                    spec["listNamespace"] = json!(namespace);
                }
                spec
            }
            other => panic!("nobody makes a {}", other.kind),
        }
    }

    fn namespace(&mut self) -> &'static str {
        match self.random.below(5) {
            0 if self.is_doomed_there => DOOMED,
            1 | 2 => STAYING[1],
            _ => STAYING[0],
        }
    }

    fn pick(&mut self, length: usize) -> usize {
        usize::try_from(self.random.below(length as u64)).expect("an index")
    }
}

fn template(namespace: &str, name: &str, number: u64, set: &str) -> Action {
    let object = json!({
        "metadata": { "labels": { "set": set } },
        "data": { "index.html": format!("{number}: {{{{title}}}} at {{{{host}}}}") },
    });
    Action::Put(Name::new(kinds::CONFIG_MAP, namespace, name), object)
}

fn children(kind: Kind, namespace: &str, name: &str) -> Vec<Name> {
    let child = |kind: Kind, name: &str| Name::new(kind, namespace, name);
    match kind {
        kinds::ECHO => vec![child(kinds::JOB, name)],
        kinds::SCHEDULED_ECHO => vec![child(kinds::CRON_JOB, name)],
        kinds::WEBSITE => vec![
            child(kinds::CONFIG_MAP, &format!("{name}-content")),
            child(kinds::DEPLOYMENT, name),
            child(kinds::SERVICE, name),
        ],
        kinds::FINALIZING => ["a", "b"].map(|end| child(kinds::CONFIG_MAP, &format!("{name}-{end}"))).to_vec(),
        kinds::CROSS_NAMESPACE => {
            let far = format!("{namespace}-{name}");
            vec![
                child(kinds::CONFIG_MAP, name),
                Name::new(kinds::CONFIG_MAP, "team-a", &far),
                Name::new(kinds::CONFIG_MAP, "default", &far),
                Name::cluster(kinds::CLUSTER_ROLE, &far),
            ]
        }
        kinds::STRATEGIES => vec![child(kinds::CONFIG_MAP, name), child(kinds::JOB, name), child(kinds::SECRET, name)],
        kinds::READER => vec![child(kinds::CONFIG_MAP, &format!("{name}-copy"))],
        other => panic!("nothing is known of the children of a {}", other.kind),
    }
}

/// Returns edits of children that the host reverts.
fn edits(kind: Kind, namespace: &str, name: &str) -> Vec<(Name, Value)> {
    let child = |kind: Kind, name: &str| Name::new(kind, namespace, name);
    let unlabelled = || json!({ "metadata": { "labels": { "gyre.dev/plugin": null } } });
    match kind {
        kinds::ECHO => vec![(child(kinds::JOB, name), unlabelled())],
        kinds::SCHEDULED_ECHO => vec![
            (child(kinds::CRON_JOB, name), json!({ "spec": { "schedule": "0 0 1 7 *" } })),
            (child(kinds::CRON_JOB, name), unlabelled()),
        ],
        kinds::WEBSITE => vec![
            (child(kinds::DEPLOYMENT, name), json!({ "spec": { "replicas": 7 } })),
            (child(kinds::CONFIG_MAP, &format!("{name}-content")), json!({ "data": { "index.html": "edited" } })),
            (child(kinds::SERVICE, name), unlabelled()),
        ],
        kinds::FINALIZING => vec![(child(kinds::CONFIG_MAP, &format!("{name}-a")), unlabelled())],
        kinds::CROSS_NAMESPACE => vec![(child(kinds::CONFIG_MAP, name), unlabelled())],
        kinds::STRATEGIES => vec![
            (child(kinds::CONFIG_MAP, name), json!({ "data": { "text": "edited" } })),
            (child(kinds::SECRET, name), unlabelled()),
            (child(kinds::JOB, name), unlabelled()),
        ],
        kinds::READER => {
            vec![(child(kinds::CONFIG_MAP, &format!("{name}-copy")), json!({ "data": { "get": "edited" } }))]
        }
        other => panic!("nothing is known of the children of a {}", other.kind),
    }
}

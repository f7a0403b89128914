//! Conversions from the types of the SDK to those of the contract, for components. Native plugins
//! in tests speak JSON: `testkit/src/native.rs`.

/// Defines functions that convert to the types of module `$types`, which calls a kind `$kind`.
#[doc(hidden)]
#[macro_export]
macro_rules! conversions {
    ($types:ident, $kind:ident) => {
        fn kind(kind: $crate::Kind) -> $types::$kind {
            $types::$kind { group: kind.group().into(), version: kind.version().into(), kind: kind.kind.into() }
        }

        fn propagation(propagation: $crate::Propagation) -> $types::Propagation {
            match propagation {
                $crate::Propagation::Background => $types::Propagation::Background,
                $crate::Propagation::Foreground => $types::Propagation::Foreground,
                $crate::Propagation::Orphan => $types::Propagation::Orphan,
            }
        }

        fn strategy(strategy: $crate::Strategy) -> $types::Strategy {
            match strategy {
                $crate::Strategy::Apply => $types::Strategy::Apply,
                $crate::Strategy::Recreate => $types::Strategy::Recreate,
                $crate::Strategy::CreateOnly => $types::Strategy::CreateOnly,
            }
        }

        pub(super) fn manifest(manifest: $crate::Manifest) -> $types::Manifest {
            let child = |child: $crate::ChildKind| $types::ChildKind {
                kind: kind(child.kind),
                strategy: strategy(child.strategy),
                strongest_strategy: child.strongest_strategy.map(strategy),
                propagation: propagation(child.propagation),
            };
            let read = |read: $crate::ReadKind| $types::ReadKind {
                kind: kind(read.kind),
                namespace: read.namespace,
                label_selector: read.label_selector,
                metadata_only: read.metadata_only,
            };
            $types::Manifest {
                name: manifest.name,
                version: manifest.version,
                description: manifest.description,
                parent: kind(manifest.parent),
                children: manifest.children.into_iter().map(child).collect(),
                reads: manifest.reads.into_iter().map(read).collect(),
                deletes_parent: manifest.deletes_parent,
                finalizes: manifest.finalizes,
                settings_schema: manifest.settings_schema,
                crds: manifest.crds,
            }
        }

        /// Not inlined, so that a component contains it only once.
        #[inline(never)]
        pub(super) fn response(plan: $crate::Plan) -> $types::Response {
            let apply = |object, strategy| $types::Child::Apply($types::DesiredChild { object, strategy });
            let child = |child: $crate::Child| match child {
                $crate::Child::Apply($crate::DesiredChild { object, strategy: named }) => {
                    apply($crate::typed::fields::to_json(&object), named.map(strategy))
                }
                $crate::Child::Keep($crate::ObjectRef { kind: kept, namespace, name }) => {
                    $types::Child::Keep($types::ObjectRef { kind: kind(kept), namespace, name })
                }
                $crate::Child::Bytes(bytes) => apply(bytes, None),
            };
            let condition = |condition: $crate::Condition| $types::Condition {
                type_: condition.kind,
                status: match condition.status {
                    $crate::ConditionStatus::True => $types::Truth::Yes,
                    $crate::ConditionStatus::False => $types::Truth::No,
                    $crate::ConditionStatus::Unknown => $types::Truth::Unknown,
                },
                reason: condition.reason,
                message: condition.message,
            };
            let event = |event: $crate::Event| $types::Event {
                severity: match event.severity {
                    $crate::Severity::Normal => $types::Severity::Normal,
                    $crate::Severity::Warning => $types::Severity::Warning,
                },
                reason: event.reason,
                message: event.message,
            };
            $types::Response {
                children: plan.children.map(|children| children.into_iter().map(child).collect()),
                status: plan.status.and_then(Result::ok),
                conditions: plan.conditions.into_iter().map(condition).collect(),
                events: plan.events.into_iter().map(event).collect(),
                requeue_after_ms: plan.requeue_after.map(milliseconds),
                delete_parent: plan.delete_parent.map(|deletion| $types::ParentDeletion {
                    after_ms: milliseconds(deletion.after),
                    propagation: propagation(deletion.propagation),
                }),
            }
        }

        pub(super) fn teardown(teardown: $crate::Teardown) -> $types::Teardown {
            $types::Teardown { response: response(teardown.plan), done: teardown.done }
        }

        pub(super) fn failure(failure: $crate::Failure) -> $types::Failure {
            match failure {
                $crate::Failure::Transient(message) => $types::Failure::Transient(message),
                $crate::Failure::RetryAfter(delay, message) => {
                    $types::Failure::RetryAfter($types::RetryAfter { delay_ms: milliseconds(delay), message })
                }
                $crate::Failure::Terminal(message) => $types::Failure::Terminal(message),
            }
        }

        /// The maximum is half a billion years. Without numbers of 128 bits, whose code a component
        /// would contain.
        #[inline(never)]
        fn milliseconds(duration: ::std::time::Duration) -> u64 {
            let seconds = duration.as_secs().min(u64::MAX / 1_000 - 1);
            seconds * 1_000 + u64::from(duration.subsec_millis())
        }
    };
}

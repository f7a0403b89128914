"""Methods of built-in kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from . import Container, Deployment, Job, LabelSelector, PodSpec


class PodMethods:
    """Methods of a Pod."""

    @property
    def is_ready(self) -> bool:
        """Whether the pod can serve requests."""
        return bool(self.condition("Ready"))  # type: ignore[attr-defined]


class JobMethods:
    """Methods of a Job."""

    @classmethod
    def running(
        cls,
        name: str,
        container: Container,
        *,
        restart_policy: Literal["Never", "OnFailure"] = "Never",
        **spec: Any,
    ) -> Job:
        """Returns a Job that runs a container, which is not restarted by default.

        Args:
            name: The name of the Job.
            container: The Container.
            restart_policy: ``Never`` or ``OnFailure``.
            spec: Further fields of the JobSpec, e.g. ``backoff_limit=2``.
        """
        from . import JobSpec, PodSpec, PodTemplateSpec

        pod = PodSpec([container], restart_policy=restart_policy)
        made: type[Job] = cls  # type: ignore[assignment]
        return made(name, spec=JobSpec(PodTemplateSpec(spec=pod), **spec))

    @property
    def is_complete(self) -> bool:
        """Whether the Job has ended and its pods have succeeded."""
        return bool(self.condition("Complete"))  # type: ignore[attr-defined]

    @property
    def is_failed(self) -> bool:
        """Whether the Job has ended and failed."""
        return bool(self.condition("Failed"))  # type: ignore[attr-defined]


class DeploymentMethods:
    """Methods of a Deployment."""

    @classmethod
    def running(
        cls,
        name: str,
        container: Container,
        *,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Deployment:
        """Returns a Deployment whose pods run a container.

        Args:
            name: The name of the Deployment.
            container: The Container.
            labels: The labels of the pods, by which it selects them: by default, ``app`` with its
                name.
            spec: Further fields of the DeploymentSpec, e.g. ``replicas=2``.
        """
        from . import DeploymentSpec, LabelSelector, ObjectMeta, PodSpec, PodTemplateSpec

        labels = dict(labels or {"app": name})
        template = PodTemplateSpec(
            metadata=ObjectMeta(labels=dict(labels)), spec=PodSpec([container])
        )
        selector = LabelSelector.matching(labels)
        made: type[Deployment] = cls  # type: ignore[assignment]
        return made(name, spec=DeploymentSpec(selector=selector, template=template, **spec))


class LabelSelectorMethods:
    """Methods of a LabelSelector."""

    @classmethod
    def matching(cls, labels: Mapping[str, str]) -> LabelSelector:
        """Returns a selector of objects with these labels."""
        made: type[LabelSelector] = cls  # type: ignore[assignment]
        return made(match_labels=dict(labels))


class PodSpecMethods:
    """Methods of a PodSpec."""

    def restricted(self) -> PodSpec:
        """Adds what the restricted Pod Security Standard demands of the pod and of the containers
        that it has so far, and returns it."""
        from . import Capabilities, SeccompProfile

        pod: PodSpec = self  # type: ignore[assignment]
        pod.security_context.run_as_non_root = True
        pod.security_context.seccomp_profile = SeccompProfile("RuntimeDefault")
        for container in [*pod.containers, *pod.init_containers]:
            container.security_context.allow_privilege_escalation = False
            container.security_context.capabilities = Capabilities(drop=["ALL"])
        return pod

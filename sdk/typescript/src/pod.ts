/** Pods that fulfil the restricted Pod Security Standard. */

import type { Container, PodSpec } from "./k8s/core.ts";

/**
 * Returns a pod with what the restricted Pod Security Standard demands of it and of its containers.
 */
export function restricted(pod: PodSpec): PodSpec {
  return {
    ...pod,
    securityContext: { ...pod.securityContext, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    ...(pod.containers && { containers: pod.containers.map(restrictedContainer) }),
    ...(pod.initContainers && { initContainers: pod.initContainers.map(restrictedContainer) }),
  };
}

function restrictedContainer(container: Container): Container {
  const securityContext = {
    ...container.securityContext,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  };
  return { ...container, securityContext };
}

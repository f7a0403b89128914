# Copyright 2017 Google Inc.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
#
# This file was changed from examples/indexedjob/manifest/sync.py of Metacontroller: it is a plugin
# of gyre in place of a web server. README.md lists the changes.

"""An IndexedJob runs Pods, each with an index of its own in the variable JOB_INDEX."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Annotated

from gyre import ChildKind, Cluster, Column, Kind, Object, Plan, Rules, Strategy, children, plugin
from gyre.k8s import PodTemplateSpec


ANYTHING = {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}

# The parts of a template that new_pod relies on. The API server validates the rest in each Pod.
CONTAINER = {**ANYTHING, 'properties': {'env': {'type': 'array', 'items': ANYTHING}}}
CONTAINERS = {'type': 'array', 'minItems': 1, 'items': CONTAINER}
POD_SPEC = {**ANYTHING, 'required': ['containers'], 'properties': {'containers': CONTAINERS}}
TEMPLATE = {'required': ['spec'], 'properties': {'metadata': ANYTHING, 'spec': POD_SPEC}}


@dataclass
class IndexedJobSpec:
    """Pods that run a number of times, each with an index of its own."""

    template: Annotated[PodTemplateSpec, 'The template of the Pods.', Rules(json=TEMPLATE)]
    # The limit is there because each Pod stays a child, and each call returns all children.
    completions: Annotated[int, 'How many Pods must succeed.', Rules(minimum=0, maximum=1000)] = 1
    parallelism: Annotated[int, 'How many Pods run at the same time.', Rules(minimum=0)] = 1


@dataclass
class IndexedJobStatus:
    """The number of Pods by phase."""

    active: Annotated[int, 'How many Pods have not ended.']
    succeeded: Annotated[int, 'How many Pods have succeeded.']
    failed: Annotated[int, 'How many Pods have failed.']


POD = Kind('v1', 'Pod')


def is_job_finished(job):
    for condition in job.get('status', {}).get('conditions', []):
        if (condition['type'] == 'Complete' or condition['type'] == 'Failed') and condition['status'] == 'True':
            return True
    return False


def get_index(base_name, name):
    m = re.match(r'^(.*)-(\d+)$', name)
    if m and m.group(1) == base_name:
        return int(m.group(2))
    return -1


def new_pod(job, index):
    pod = copy.deepcopy(job['spec']['template'])
    pod['apiVersion'] = 'v1'
    pod['kind'] = 'Pod'
    pod['metadata'] = pod.get('metadata', {})
    pod['metadata']['name'] = '%s-%d' % (job['metadata']['name'], index)

    # Add env var to every container.
    for container in pod['spec']['containers']:
        env = container.get('env', [])
        env.append({'name': 'JOB_INDEX', 'value': str(index)})
        container['env'] = env

    return pod


@plugin(
    name='indexed-job',
    group='ctl.enisoc.com',
    version='v1',
    kind='IndexedJob',
    short_names=['ij', 'idxj'],
    children=[ChildKind(POD, Strategy.CREATE_ONLY)],
    columns=[Column.condition('Complete'), Column.age()],
)
def sync(parent: Object[IndexedJobSpec, IndexedJobStatus], cluster: Cluster) -> Plan:
    """Runs Pods, each with an index of its own."""
    job = parent.to_json()

    # Arrange observed Pods by index, and count by phase.
    observed_pods = {}
    (active, succeeded, failed) = (0, 0, 0)
    for pod in cluster.children(POD):
        pod_index = get_index(job['metadata']['name'], pod['metadata']['name'])
        if pod_index >= 0:
            phase = pod.get('status', {}).get('phase')
            if phase == 'Succeeded':
                succeeded += 1
            elif phase == 'Failed':
                failed += 1
            else:
                active += 1
            observed_pods[pod_index] = pod

    # If the job already finished (either completed or failed) at some point,
    # stop actively managing Pods since they might get deleted by Pod GC.
    # Just generate a desired state for any observed Pods. The status stays.
    if is_job_finished(job):
        return children(*[new_pod(job, i) for i, pod in observed_pods.items()])

    # Compute status based on what we observed, before building desired state.
    spec_completions = job['spec'].get('completions', 1)
    desired_status = {'active': active, 'succeeded': succeeded, 'failed': failed}
    is_complete = succeeded == spec_completions
    reason = 'PodsSucceeded' if is_complete else 'PodsRemain'
    message = f'{succeeded} of {spec_completions} Pods have succeeded'

    # Generate desired state for existing Pods.
    desired_pods = {}
    for pod_index, pod in observed_pods.items():
        desired_pods[pod_index] = new_pod(job, pod_index)

    # Create more Pods as needed.
    spec_parallelism = job['spec'].get('parallelism', 1)
    for pod_index in range(spec_completions):
        if pod_index not in desired_pods and active < spec_parallelism:
            desired_pods[pod_index] = new_pod(job, pod_index)
            active += 1

    plan = children(*desired_pods.values()).status(desired_status)
    return plan.condition('Complete', is_complete, reason, message)

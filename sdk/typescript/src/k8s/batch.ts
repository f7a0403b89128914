// Types of `batch`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.

import { type Kind, kind } from "../object.ts";
import type {
  ObjectReference,
  PodTemplateSpec,
} from "./core.ts";
import type {
  LabelSelector,
  ObjectMeta,
} from "./meta.ts";

/** CronJob represents the configuration of a single cron job. */
export interface CronJob {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** Specification of the desired behavior of a cron job, including the schedule. */
  spec?: CronJobSpec;
  /** Current status of a cron job. */
  status?: CronJobStatus;
}

/** The kind CronJob of batch/v1. */
export const CronJob: Kind<CronJob> = /* @__PURE__ */ kind<CronJob>("batch/v1", "CronJob");

/** CronJobSpec describes how the job execution will look like and when it will actually run. */
export interface CronJobSpec {
  /** Specifies how to treat concurrent executions of a Job. */
  concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
  /** The number of failed finished jobs to retain. */
  failedJobsHistoryLimit?: number;
  /** Specifies the job that will be created when executing a CronJob. */
  jobTemplate?: JobTemplateSpec;
  /** The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron. */
  schedule?: string;
  /**
   * Optional deadline in seconds for starting the job if it misses scheduled time for any reason.
   */
  startingDeadlineSeconds?: number;
  /** The number of successful finished jobs to retain. */
  successfulJobsHistoryLimit?: number;
  /**
   * This flag tells the controller to suspend subsequent executions, it does not apply to already
   * started executions.
   */
  suspend?: boolean;
  /**
   * The time zone name for the given schedule, see
   * https://en.wikipedia.org/wiki/List_of_tz_database_time_zones.
   */
  timeZone?: string;
}

/** CronJobStatus represents the current state of a cron job. */
export interface CronJobStatus {
  /** A list of pointers to currently running jobs. */
  active?: ObjectReference[];
  /** Information when was the last time the job was successfully scheduled. */
  lastScheduleTime?: string;
  /** Information when was the last time the job successfully completed. */
  lastSuccessfulTime?: string;
}

/** Job represents the configuration of a single job. */
export interface Job {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** Specification of the desired behavior of a job. */
  spec?: JobSpec;
  /** Current status of a job. */
  status?: JobStatus;
}

/** The kind Job of batch/v1. */
export const Job: Kind<Job> = /* @__PURE__ */ kind<Job>("batch/v1", "Job");

/** JobCondition describes current state of a job. */
export interface JobCondition {
  /** Last time the condition was checked. */
  lastProbeTime?: string;
  /** Last time the condition transit from one status to another. */
  lastTransitionTime?: string;
  /** Human readable message indicating details about last transition. */
  message?: string;
  /** (brief) reason for the condition's last transition. */
  reason?: string;
  /** Status of the condition, one of True, False, Unknown. */
  status?: string;
  /** Type of job condition, Complete or Failed. */
  type?: string;
}

/** JobSpec describes how the job execution will look like. */
export interface JobSpec {
  /**
   * Specifies the duration in seconds relative to the startTime that the job may be continuously
   * active before the system tries to terminate it; value must be positive integer.
   */
  activeDeadlineSeconds?: number;
  /** Specifies the number of retries before marking this job failed. */
  backoffLimit?: number;
  /**
   * Specifies the limit for the number of retries within an index before marking this index as
   * failed.
   */
  backoffLimitPerIndex?: number;
  /** completionMode specifies how Pod completions are tracked. */
  completionMode?: "Indexed" | "NonIndexed";
  /** Specifies the desired number of successfully finished pods the job should be run with. */
  completions?: number;
  /** ManagedBy field indicates the controller that manages a Job. */
  managedBy?: string;
  /** manualSelector controls generation of pod labels and pod selectors. */
  manualSelector?: boolean;
  /**
   * Specifies the maximal number of failed indexes before marking the Job as failed, when
   * backoffLimitPerIndex is set.
   */
  maxFailedIndexes?: number;
  /** Specifies the maximum desired number of pods the job should run at any given time. */
  parallelism?: number;
  /** Specifies the policy of handling failed pods. */
  podFailurePolicy?: PodFailurePolicy;
  /** podReplacementPolicy specifies when to create replacement Pods. */
  podReplacementPolicy?: "Failed" | "TerminatingOrFailed";
  /** A label query over pods that should match the pod count. */
  selector?: LabelSelector;
  /** successPolicy specifies the policy when the Job can be declared as succeeded. */
  successPolicy?: SuccessPolicy;
  /** suspend specifies whether the Job controller should create Pods or not. */
  suspend?: boolean;
  /** Describes the pod that will be created when executing a job. */
  template?: PodTemplateSpec;
  /**
   * ttlSecondsAfterFinished limits the lifetime of a Job that has finished execution (either
   * Complete or Failed).
   */
  ttlSecondsAfterFinished?: number;
}

/** JobStatus represents the current state of a Job. */
export interface JobStatus {
  /**
   * The number of pending and running pods which are not terminating (without a deletionTimestamp).
   */
  active?: number;
  /**
   * completedIndexes holds the completed indexes when .spec.completionMode = "Indexed" in a text
   * format.
   */
  completedIndexes?: string;
  /** Represents time when the job was completed. */
  completionTime?: string;
  /** The latest available observations of an object's current state. */
  conditions?: JobCondition[];
  /** The number of pods which reached phase Failed. */
  failed?: number;
  /** FailedIndexes holds the failed indexes when spec.backoffLimitPerIndex is set. */
  failedIndexes?: string;
  /**
   * The number of active pods which have a Ready condition and are not terminating (without a
   * deletionTimestamp).
   */
  ready?: number;
  /** Represents time when the job controller started processing a job. */
  startTime?: string;
  /** The number of pods which reached phase Succeeded. */
  succeeded?: number;
  /**
   * The number of pods which are terminating (in phase Pending or Running and have a
   * deletionTimestamp).
   */
  terminating?: number;
  /**
   * uncountedTerminatedPods holds the UIDs of Pods that have terminated but the job controller
   * hasn't yet accounted for in the status counters.
   */
  uncountedTerminatedPods?: UncountedTerminatedPods;
}

/** JobTemplateSpec describes the data a Job should have when created from a template. */
export interface JobTemplateSpec {
  /** Standard object's metadata of the jobs created from this template. */
  metadata?: ObjectMeta;
  /** Specification of the desired behavior of the job. */
  spec?: JobSpec;
}

/** PodFailurePolicy describes how failed pods influence the backoffLimit. */
export interface PodFailurePolicy {
  /** A list of pod failure policy rules. */
  rules?: PodFailurePolicyRule[];
}

/**
 * PodFailurePolicyOnExitCodesRequirement describes the requirement for handling a failed pod based
 * on its container exit codes.
 */
export interface PodFailurePolicyOnExitCodesRequirement {
  /** Restricts the check for exit codes to the container with the specified name. */
  containerName?: string;
  /** Represents the relationship between the container exit code(s) and the specified values. */
  operator?: "In" | "NotIn";
  /** Specifies the set of values. */
  values?: number[];
}

/**
 * PodFailurePolicyOnPodConditionsPattern describes a pattern for matching an actual pod condition
 * type.
 */
export interface PodFailurePolicyOnPodConditionsPattern {
  /** Specifies the required Pod condition status. */
  status?: string;
  /** Specifies the required Pod condition type. */
  type?: string;
}

/** PodFailurePolicyRule describes how a pod failure is handled when the requirements are met. */
export interface PodFailurePolicyRule {
  /** Specifies the action taken on a pod failure when the requirements are satisfied. */
  action?: "Count" | "FailIndex" | "FailJob" | "Ignore";
  /** Represents the requirement on the container exit codes. */
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  /** Represents the requirement on the pod conditions. */
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
}

/**
 * SuccessPolicy describes when a Job can be declared as succeeded based on the success of some
 * indexes.
 */
export interface SuccessPolicy {
  /**
   * rules represents the list of alternative rules for the declaring the Jobs as successful before
   * `.status.succeeded >= .spec.completions`.
   */
  rules?: SuccessPolicyRule[];
}

/** SuccessPolicyRule describes rule for declaring a Job as succeeded. */
export interface SuccessPolicyRule {
  /**
   * succeededCount specifies the minimal required size of the actual set of the succeeded indexes
   * for the Job.
   */
  succeededCount?: number;
  /**
   * succeededIndexes specifies the set of indexes which need to be contained in the actual set of
   * the succeeded indexes for the Job.
   */
  succeededIndexes?: string;
}

/**
 * UncountedTerminatedPods holds UIDs of Pods that have terminated but haven't been accounted in Job
 * status counters.
 */
export interface UncountedTerminatedPods {
  /** failed holds UIDs of failed Pods. */
  failed?: string[];
  /** succeeded holds UIDs of succeeded Pods. */
  succeeded?: string[];
}

package k8s

// The names of two conditions of a Job that has ended.
const (
	JobComplete = "Complete"
	JobFailed   = "Failed"
)

// Matching returns a selector of objects with these labels.
func Matching(labels map[string]string) *LabelSelector { return &LabelSelector{MatchLabels: labels} }

// IsComplete returns whether the Job has ended and its pods have succeeded.
func (j Job) IsComplete() bool { return j.has(JobComplete) }

// IsFailed returns whether the Job has ended and failed.
func (j Job) IsFailed() bool { return j.has(JobFailed) }

func (j Job) has(conditionType string) bool {
	for _, condition := range j.Status.Conditions {
		if condition.Type == conditionType && condition.Status == "True" {
			return true
		}
	}
	return false
}

// IsReady returns whether the pod can serve requests.
func (p Pod) IsReady() bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return true
		}
	}
	return false
}

// Restricted returns the pod with what the restricted Pod Security Standard demands of it and of its
// containers.
func (p PodSpec) Restricted() PodSpec {
	security := PodSecurityContext{}
	if p.SecurityContext != nil {
		security = *p.SecurityContext
	}
	security.RunAsNonRoot = Ptr(true)
	security.SeccompProfile = &SeccompProfile{Type: SeccompProfileTypeRuntimeDefault}
	p.SecurityContext = &security
	p.Containers = restricted(p.Containers)
	p.InitContainers = restricted(p.InitContainers)
	return p
}

func restricted(containers []Container) []Container {
	var all []Container
	for _, container := range containers {
		security := SecurityContext{}
		if container.SecurityContext != nil {
			security = *container.SecurityContext
		}
		security.AllowPrivilegeEscalation = Ptr(false)
		security.Capabilities = &Capabilities{Drop: []string{"ALL"}}
		container.SecurityContext = &security
		all = append(all, container)
	}
	return all
}

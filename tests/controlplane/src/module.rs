//! Reads `go.mod`, the only place with the versions of the control plane.

/// Compiled in, so that the key of the cache matches what is built.
pub(crate) const GO_MOD: &str = include_str!("../go.mod");
pub(crate) const GO_SUM: &str = include_str!("../go.sum");

pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The Go package, as in the `tool` lines of `go.mod`.
    pub(crate) package: &'static str,
    pub(crate) module: &'static str,
}

/// Every program; the one that takes longest is first.
pub(crate) const PROGRAMS: [Program; 5] = [
    Program { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver", module: "k8s.io/kubernetes" },
    Program {
        name: "kube-controller-manager",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
        module: "k8s.io/kubernetes",
    },
    Program { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", module: "k8s.io/kubernetes" },
    Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: "go.etcd.io/etcd/server/v3" },
    Program { name: "helm", package: "helm.sh/helm/v4/cmd/helm", module: "helm.sh/helm/v4" },
];

impl Program {
    pub(crate) fn version(&self, go_mod: &str) -> Option<String> {
        required_version(go_mod, self.module)
    }

    /// The linker flags, with the versions. Charts with a minimum version refuse the default one.
    pub(crate) fn ldflags(&self, go_mod: &str) -> Option<String> {
        let version = self.version(go_mod)?;
        let kubernetes = required_version(go_mod, "k8s.io/kubernetes")?;
        let mut parts = kubernetes.trim_start_matches('v').split('.');
        let (major, minor) = (parts.next()?, parts.next()?);
        let mut flags = "-s -w".to_string();
        for path in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            for (variable, value) in [("gitVersion", kubernetes.as_str()), ("gitMajor", major), ("gitMinor", minor)] {
                flags.push_str(&format!(" -X {path}.{variable}={value}"));
            }
        }
        if self.name == "helm" {
            flags.push_str(&format!(" -X helm.sh/helm/v4/internal/version.version={version}"));
        }
        Some(flags)
    }
}

pub(crate) fn required_version(go_mod: &str, module: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let line = line.trim().trim_start_matches("require ");
        let mut words = line.split_whitespace();
        if words.next()? != module {
            return None;
        }
        words.next().filter(|word| word.starts_with('v')).map(str::to_string)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_the_tool_lines_of_go_mod() {
        let block = GO_MOD.split("tool (").nth(1).unwrap().split(')').next().unwrap();
        let mut lines: Vec<&str> = block.split_whitespace().collect();
        let mut packages: Vec<&str> = PROGRAMS.iter().map(|program| program.package).collect();
        lines.sort_unstable();
        packages.sort_unstable();
        assert_eq!(lines, packages);
    }

    #[test]
    fn every_program_has_a_version_and_kubernetes_programs_are_built_with_theirs() {
        let go_mod = "require (\n\tk8s.io/kubernetes v1.40.2 // indirect\n\tgo.etcd.io/etcd/server/v3 v3.9.1\n\
                      \thelm.sh/helm/v4 v4.9.0\n)\nreplace (\n\tk8s.io/kubernetes => x v9.9.9\n)\n";
        for program in &PROGRAMS {
            assert!(program.version(GO_MOD).is_some(), "{}", program.name);
            let flags = program.ldflags(go_mod).unwrap();
            assert!(flags.contains("component-base/version.gitVersion=v1.40.2"), "{flags}");
            assert!(flags.contains("gitMinor=40"), "{flags}");
        }
    }
}

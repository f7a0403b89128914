//! The memory limit of this process, from its cgroup (version 1 or 2).

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The limit with the least memory left, and the memory that counts towards it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) limit: u64,
    pub(crate) used: u64,
}

/// The names of one version's files, and of the file pages that the kernel drops first.
struct Version {
    controller: &'static str,
    folder: &'static str,
    limit: &'static str,
    used: &'static str,
    inactive: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version { controller: "", folder: "", limit: "memory.max", used: "memory.current", inactive: "inactive_file" },
    Version {
        controller: "memory",
        folder: "memory",
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        inactive: "total_inactive_file",
    },
];

/// The memory limit of this process, or `None` without a limit.
pub(crate) fn memory() -> Option<Memory> {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    memory_of(Path::new("/sys/fs/cgroup"), &groups)
}

fn memory_of(root: &Path, groups: &str) -> Option<Memory> {
    let found = VERSIONS.iter().flat_map(|version| {
        let folders = folders(&root.join(version.folder), groups, version.controller);
        folders.into_iter().filter_map(|folder| read(&folder, version))
    });
    found.min_by_key(|memory| memory.limit.saturating_sub(memory.used))
}

/// The folders of the process's group and its ancestors. A container may see only its own group,
/// at the root, although its path has more parts.
fn folders(root: &Path, groups: &str, controller: &str) -> Vec<PathBuf> {
    let path = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(path)
    });
    let own = root.join(path.unwrap_or_default().trim_start_matches('/'));
    own.ancestors().take_while(|folder| folder.starts_with(root)).map(Path::to_owned).collect()
}

fn read(folder: &Path, version: &Version) -> Option<Memory> {
    let number = |file: &str| read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    // Version 2 says "max" without a limit; version 1 says a number near the largest one.
    let limit = number(version.limit).filter(|limit| *limit < 1 << 60)?;
    let statistics = read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let inactive = statistics.lines().find_map(|line| line.strip_prefix(version.inactive)?.trim().parse::<u64>().ok());
    Some(Memory { limit, used: number(version.used)?.saturating_sub(inactive.unwrap_or_default()) })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)], groups: &str, expected: Option<(u64, u64)>) {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let expected = expected.map(|(limit, used)| Memory { limit, used });
        assert_eq!(memory_of(root.path(), groups), expected, "{files:?}");
    }

    #[test]
    fn the_tightest_limit_of_the_group_and_its_ancestors_counts() {
        let own = [("memory.max", "1000\n"), ("memory.current", "300\n"), ("memory.stat", "anon 1\ninactive_file 100\n")];
        check(&own, "0::/\n", Some((1000, 200)));
        // A path that a container does not see.
        check(&own, "0::/kubepods/pod1/container\n", Some((1000, 200)));
        let nested = [("a/memory.max", "500"), ("a/memory.current", "100"), ("a/b/memory.max", "max")];
        check(&nested, "0::/a/b\n", Some((500, 100)));
        check(&nested, "0::/other\n", None);
        let first = "memory/c/";
        let files = [
            (format!("{first}memory.limit_in_bytes"), "800\n"),
            (format!("{first}memory.usage_in_bytes"), "700\n"),
            (format!("{first}memory.stat"), "inactive_file 1\ntotal_inactive_file 50\n"),
            ("memory/memory.limit_in_bytes".to_owned(), "9223372036854771712\n"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, content)| (path.as_str(), *content)).collect();
        check(&files, "9:name=systemd:/\n4:memory:/c\n0::/\n", Some((800, 650)));
        check(&[], "", None);
    }
}

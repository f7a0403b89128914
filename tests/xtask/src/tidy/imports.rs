//! Modules that import each other, and crates that import from higher layers.
//!
//! At each level of a crate, an import from one subtree of modules into another is an arrow between
//! two siblings. Arrows must not form a cycle. A module may use what the file of its parent
//! declares, as is usual in Rust. The root is the exception: lib.rs and main.rs count as siblings
//! of their modules, so a module cannot import their declarations if they import from the module.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::crates::{Crate, on_disk};
use crate::build::{metadata, root};

/// The number of imports on cycles in each target. Lower it when it falls.
const LEFT: [(&str, usize); 3] =
    [("tests/contract/main.rs", 2), ("tests/e2e/main.rs", 9), ("tests/sim/tests/simulation/main.rs", 4)];

/// The crates of the product from the lowest layer on, with the crates that each may import.
const LAYERS: [(&str, &[&str]); 15] = [
    ("gyre-core", &[]),
    ("gyre-types", &[]),
    ("gyre-sdk-bundle", &[]),
    ("gyre-sandbox", &["gyre-core"]),
    ("gyre-devcluster", &["gyre-core"]),
    ("gyre-values", &["gyre-core"]),
    ("gyre-signatures", &[]),
    ("gyre-registry", &["gyre-core"]),
    ("gyre-engine", &["gyre-core", "gyre-sandbox", "gyre-values"]),
    ("gyre-input", &["gyre-core", "gyre-sandbox"]),
    ("gyre-offline", &["gyre-core", "gyre-sandbox", "gyre-devcluster", "gyre-engine", "gyre-input"]),
    (
        "gyre",
        &[
            "gyre-core",
            "gyre-types",
            "gyre-sandbox",
            "gyre-devcluster",
            "gyre-engine",
            "gyre-input",
            "gyre-offline",
            "gyre-registry",
            "gyre-sdk-bundle",
            "gyre-signatures",
        ],
    ),
    ("gyre-sdk-derive", &[]),
    ("gyre-sdk", &["gyre-core", "gyre-sdk-derive"]),
    ("gyre-test", &["gyre-sdk"]),
];

/// An import between siblings, with the two files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arrow {
    from: String,
    to: String,
    path: String,
    importer: PathBuf,
    imported: PathBuf,
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, path, importer, imported } = self;
        write!(f, "{from} -> {to}: {} imports {path} from {}", importer.display(), imported.display())
    }
}

/// Returns the arrows of a crate that are on a cycle.
fn cyclic(read: &Crate) -> Vec<Arrow> {
    let mut levels: BTreeMap<&[String], BTreeMap<(&str, &str), Arrow>> = BTreeMap::new();
    for (index, importer) in read.modules.iter().enumerate() {
        for (target, path) in read.imports_of(index) {
            let imported = &read.modules[target];
            let level = importer.path.iter().zip(&imported.path).take_while(|(one, other)| one == other).count();
            let (from, to) = match (importer.path.get(level), imported.path.get(level)) {
                (Some(from), Some(to)) => (from.as_str(), to.as_str()),
                (Some(from), None) if level == 0 => (from.as_str(), ROOT),
                (None, Some(to)) if level == 0 => (ROOT, to.as_str()),
                _ => continue,
            };
            let above = &importer.path[..level];
            let named = |name: &str| above.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::");
            levels.entry(above).or_default().entry((from, to)).or_insert_with(|| Arrow {
                from: named(from),
                to: named(to),
                path,
                importer: importer.file.clone(),
                imported: imported.file.clone(),
            });
        }
    }
    let on_cycles = levels.into_values().flat_map(|arrows| {
        let pairs: BTreeSet<(&str, &str)> = arrows.keys().copied().collect();
        arrows.into_iter().filter(move |((from, to), _)| leads(&pairs, to, from)).map(|(_, arrow)| arrow).collect::<Vec<_>>()
    });
    on_cycles.collect()
}

const ROOT: &str = "the root";

/// Returns whether arrows lead from one sibling to another.
fn leads(arrows: &BTreeSet<(&str, &str)>, from: &str, to: &str) -> bool {
    let (mut reached, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(here) = next.pop() {
        let further = arrows.iter().filter(|(start, _)| *start == here).map(|(_, end)| *end);
        next.extend(further.filter(|end| reached.insert(*end)).collect::<Vec<_>>());
    }
    reached.contains(to)
}

struct Target {
    package: String,
    /// True for libraries and programs, false for tests and benchmarks.
    is_product: bool,
    root: PathBuf,
}

fn targets() -> Vec<Target> {
    let metadata = metadata().unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let targets = packages.flat_map(|package| {
        let name = package["name"].as_str().unwrap();
        package["targets"].as_array().unwrap().iter().map(move |target| {
            let is_product = target["kind"].as_array().unwrap().iter().all(|kind| kind != "test" && kind != "bench");
            let path = std::fs::canonicalize(target["src_path"].as_str().unwrap()).unwrap();
            Target { package: name.to_owned(), is_product, root: path }
        })
    });
    targets.collect()
}

fn relative(path: &Path) -> PathBuf {
    let root = std::fs::canonicalize(root()).unwrap();
    path.strip_prefix(&root).map_or_else(|_| path.to_path_buf(), Path::to_path_buf)
}

fn read_target(target: &Target) -> Crate {
    let mut read = Crate::read(&target.root, &on_disk);
    for module in &mut read.modules {
        module.file = relative(&module.file);
    }
    read
}

#[test]
fn no_modules_import_each_other() {
    let mut wrong = Vec::new();
    for target in targets() {
        let name = relative(&target.root).display().to_string();
        let found = cyclic(&read_target(&target));
        let left = LEFT.iter().find(|(listed, _)| *listed == name).map_or(0, |(_, count)| *count);
        if found.len() != left {
            let lines: Vec<String> = found.iter().map(|arrow| format!("\n    {arrow}")).collect();
            wrong.push(format!("{name}: {} imports lie on cycles, and LEFT says {left}:{}", found.len(), lines.concat()));
        }
    }
    assert!(wrong.is_empty(), "cut the cycles, or lower the numbers:\n  {}", wrong.join("\n  "));
}

/// Returns the imports of a crate that violate the layers.
fn against_the_layers(read: &Crate, others: &BTreeMap<String, Crate>, allowed: &[&str]) -> Vec<String> {
    let forbidden = others.iter().filter(|(name, _)| !allowed.contains(&name.as_str()));
    let findings = forbidden.flat_map(|(name, other)| {
        let ident = name.replace('-', "_");
        let found = read.modules.iter().flat_map(move |module| {
            let paths: Vec<_> =
                Crate::paths_into(module, &ident).map(|path| (path.join("::"), other.declaring(path))).collect();
            let ident = ident.clone();
            paths.into_iter().map(move |(path, declaring)| {
                format!("{} imports {ident}::{path} from {}", module.file.display(), declaring.file.display())
            })
        });
        found.collect::<Vec<_>>()
    });
    findings.collect()
}

#[test]
fn no_crate_imports_against_the_order_of_layers() {
    let products: Vec<Target> = targets().into_iter().filter(|target| target.is_product).collect();
    let is_library = |target: &&Target| target.root.ends_with("lib.rs");
    let libraries: BTreeMap<String, Crate> =
        products.iter().filter(is_library).map(|target| (target.package.clone(), read_target(target))).collect();
    let mut findings = Vec::new();
    for (name, allowed) in LAYERS {
        for target in products.iter().filter(|target| target.package == name) {
            let allowed: Vec<&str> = allowed.iter().copied().chain([name]).collect();
            findings.extend(against_the_layers(&read_target(target), &libraries, &allowed));
        }
    }
    assert!(findings.is_empty(), "these crates lie above:\n  {}", findings.join("\n  "));
}

#[test]
fn every_crate_of_the_host_has_a_layer() {
    let is_of_the_host = |target: &Target| relative(&target.root).starts_with("host");
    let names: BTreeSet<String> = targets().into_iter().filter(is_of_the_host).map(|target| target.package).collect();
    let missing: Vec<&String> = names.iter().filter(|name| !LAYERS.iter().any(|(listed, _)| listed == name)).collect();
    assert!(missing.is_empty(), "add to LAYERS: {missing:?}");
    for (index, (name, allowed)) in LAYERS.iter().enumerate() {
        let below: Vec<&str> = LAYERS[..index].iter().map(|(below, _)| *below).collect();
        assert!(allowed.iter().all(|allowed| below.contains(allowed)), "{name} may import what is not below it");
    }
}

/// Returns the arrows on cycles in a crate of these files, as `from -> to`.
fn check(files: &[(&str, &str)]) -> Vec<String> {
    let arrows = cyclic(&Crate::read(Path::new("src/lib.rs"), &source_of(files)));
    arrows.iter().map(|arrow| format!("{} -> {}", arrow.from, arrow.to)).collect()
}

fn source_of<'a>(files: &'a [(&str, &str)]) -> impl Fn(&Path) -> Option<String> + 'a {
    |path| files.iter().find(|(file, _)| Path::new("src").join(file) == path).map(|(_, text)| (*text).to_owned())
}

const BOTH: [&str; 2] = ["a -> b", "b -> a"];

#[test]
fn a_cycle_is_found_for_each_form_of_import() {
    let imports = [
        "use crate::b::B;",
        "use super::b::B;",
        "use crate::{b::B, c};",
        "use crate::b;",
        "use crate::b as other;",
        "use crate::b::*;",
        "use crate::b::{self as other, B as _};",
        "use self::super::b::B;",
        "fn f() { use crate::b::B; }",
        "fn f() { crate::b::f(); }",
        "fn f() -> Vec<crate::b::B> { Vec::new() }",
        "impl crate::b::T for A {}",
        "fn f() { println!(\"{}\", [crate::b::f()].len()); }",
        "macro_rules! m { () => { $crate::b::f() }; }",
        "#[serde(with = \"crate::b::text\")] struct A2;",
        "#[arg(value_parser = crate::b::parse)] struct A2;",
        // Through the root's re-export, and through its glob.
        "use crate::B;",
        "use crate::FromGlob;",
        "use super::*; fn f(_: B) {}",
    ];
    for import in imports {
        let a = format!("pub struct A;\n{import}");
        let b = "use crate::a::A;\npub struct B; pub struct FromGlob; pub trait T {} pub fn f() {}";
        let lib = "mod a; mod b; mod c; pub use b::B; pub use b::*;";
        assert_eq!(check(&[("lib.rs", lib), ("a.rs", a.as_str()), ("b.rs", b), ("c.rs", "")]), BOTH, "{import}");
    }
}

#[test]
fn code_that_a_procedural_macro_generates_is_no_import() {
    let a = "fn f() -> TokenStream { quote!(crate::b::B) }";
    assert_eq!(check(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", "use crate::a; pub struct B;")]), BOTH[..0]);
}

#[test]
fn a_cycle_of_three_modules_is_found() {
    let lib = "mod a; mod b; mod c; mod d;";
    let files = [
        ("lib.rs", lib),
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "use crate::a;"),
        ("d.rs", "use crate::a;"),
    ];
    assert_eq!(check(&files), ["a -> b", "b -> c", "c -> a"]);
}

#[test]
fn a_cycle_is_found_at_each_level_of_nesting() {
    let lib = "mod a; mod b;";
    // The files do not import each other, but their parent modules do.
    let files = [
        ("lib.rs", lib),
        ("a.rs", "mod x; pub mod y;"),
        ("b.rs", "mod z; pub mod w;"),
        ("a/x.rs", "use crate::b::w::W;"),
        ("a/y.rs", "pub struct Y;"),
        ("b/z.rs", "use crate::a::y::Y;"),
        ("b/w.rs", "pub struct W;"),
    ];
    assert_eq!(check(&files), BOTH);
    // Two levels down, in files and inline.
    let files = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod x;"),
        ("a/x.rs", "mod p; mod q;"),
        ("a/x/p.rs", "use super::q::Q;"),
        ("a/x/q.rs", "use super::super::x::p;"),
    ];
    assert_eq!(check(&files), ["a::x::p -> a::x::q", "a::x::q -> a::x::p"]);
    assert_eq!(check(&[("lib.rs", "mod a { use super::b::B; } mod b { use super::a::A; }")]), BOTH);
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "use crate::b::B;"),
        ("b.rs", "#[path = \"other.rs\"] mod c;"),
        ("other.rs", "use crate::a::A;"),
    ];
    assert_eq!(check(&files), BOTH);
}

#[test]
fn a_cycle_through_a_facade_is_found() {
    // The parent imports the name from a sibling.
    let files = [
        ("lib.rs", "mod a;"),
        ("a.rs", "mod x; mod y; use y::Y;"),
        ("a/x.rs", "pub struct X; use super::Y;"),
        ("a/y.rs", "pub struct Y; use super::x::X;"),
    ];
    assert_eq!(check(&files), ["a::x -> a::y", "a::y -> a::x"]);
    // An import of a re-exported name is an import from the re-exporting module, too.
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::C;"),
        ("b.rs", "pub use crate::c::C; use crate::a::A;"),
        ("c.rs", "pub struct C;"),
    ];
    assert_eq!(check(&files), BOTH);
    // A re-export of a re-export, with another name.
    let lib = "mod a; mod b; mod f { pub use super::g::Other as Last; } mod g { pub use crate::b::B as Other; }";
    let files = [("lib.rs", lib), ("a.rs", "pub struct A; use crate::f::Last;"), ("b.rs", "pub struct B; use crate::a::A;")];
    assert_eq!(check(&files), ["a -> b", "a -> f", "a -> g", "b -> a", "f -> b", "f -> g", "g -> b"]);
}

#[test]
fn a_module_may_not_import_from_a_root_that_imports_it() {
    assert_eq!(
        check(&[("lib.rs", "mod a; pub struct Own; fn f() { a::f(); }"), ("a.rs", "use crate::Own; pub fn f() {}")]),
        ["a -> the root", "the root -> a"]
    );
    assert_eq!(check(&[("lib.rs", "mod a; pub struct Own;"), ("a.rs", "use crate::Own;")]), [""; 0]);
}

#[test]
fn one_way_imports_and_test_code_are_accepted() {
    let lib = "mod a; mod b; mod tests_of_b;";
    let one_way = ("b.rs", "pub struct B;");
    for a in [
        "use crate::b::B;",
        // Another crate with the same name.
        "use ::b::B; use std::a::A;",
        "use c::c; use d::e; use e::d; fn f() { c::f(); d::f(); }",
        "mod inner { use super::super::b::B; use super::A; } pub struct A; use inner::I;",
        "// use crate::b;\n/// [`crate::b`]\nfn f() { let text = \"crate::b::f()\"; }",
    ] {
        assert_eq!(check(&[("lib.rs", lib), ("a.rs", a), one_way]), [""; 0], "{a}");
    }
    for test_code in [
        "#[cfg(test)] mod tests { use crate::a::A; }",
        "#[cfg(test)] use crate::a::A;",
        "#[cfg(all(test, unix))] fn f() { crate::a::f(); }",
    ] {
        assert_eq!(check(&[("lib.rs", lib), ("a.rs", "use crate::b::B;"), ("b.rs", test_code)]), [""; 0], "{test_code}");
    }
    // Code that is not only compiled for tests.
    for code in ["#[cfg(not(test))] use crate::a::A;", "#[cfg(any(test, unix))] use crate::a::A;"] {
        assert_eq!(check(&[("lib.rs", lib), ("a.rs", "use crate::b::B;"), ("b.rs", code)]), BOTH, "{code}");
    }
}

#[test]
fn an_import_against_the_order_of_layers_is_found() {
    let read = |files: &[(&str, &str)]| Crate::read(Path::new("src/lib.rs"), &source_of(files));
    let above = read(&[("lib.rs", "mod plan; pub use plan::Plan;"), ("plan.rs", "pub struct Plan;")]);
    let others = BTreeMap::from([("the-host".to_owned(), above)]);
    let finding = "src/a.rs imports the_host::Plan from src/plan.rs";
    for import in ["use the_host::Plan;", "fn f(_: the_host::Plan) {}", "fn f() { vec![the_host::Plan]; }"] {
        let below = read(&[("lib.rs", "mod a;"), ("a.rs", import)]);
        assert_eq!(against_the_layers(&below, &others, &[]), [finding], "{import}");
        assert_eq!(against_the_layers(&below, &others, &["the-host"]), [""; 0], "{import}");
    }
    let below = read(&[("lib.rs", "mod a;"), ("a.rs", "#[cfg(test)] use the_host::Plan;")]);
    assert_eq!(against_the_layers(&below, &others, &[]), [""; 0]);
}

#[test]
fn a_finding_names_both_files() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod x;"),
        ("a/x.rs", "use crate::b::B;"),
        ("b.rs", "pub struct B; use crate::a;"),
    ];
    let arrows = cyclic(&Crate::read(Path::new("src/lib.rs"), &source_of(&files)));
    assert_eq!(arrows[0].to_string(), "a -> b: src/a/x.rs imports crate::b::B from src/b.rs");
}

#[test]
fn the_check_reads_the_imports_of_the_tree() {
    let target = targets().into_iter().find(|target| target.package == "gyre-core" && target.root.ends_with("lib.rs")).unwrap();
    let core = read_target(&target);
    let index = core.modules.iter().position(|module| module.path == ["plan", "deletion"]).unwrap();
    let imported: Vec<_> = core.imports_of(index).into_keys().map(|index| core.modules[index].file.clone()).collect();
    assert!(imported.contains(&PathBuf::from("host/core/src/plan/desired.rs")), "{imported:?}");
    assert!(LEFT.iter().all(|(_, count)| *count > 0), "a target without cycles is not listed");
}

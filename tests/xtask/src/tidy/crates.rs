//! The modules of a crate and their imports, read from its source.
//!
//! An import is a path in code: in a `use`, an expression, a type, the arguments of a macro, or an
//! attribute. It is an import from the module that declares the name, and from each module that
//! re-exports the name on the way.
//!
//! What is absent: test code (`#[cfg(test)]`), which may import anything; code that procedural
//! macros generate; and methods, which are called without a path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, Token, UseTree};

/// Returns the text of a source file, or `None` if there is no such file.
pub(super) type Source<'a> = &'a dyn Fn(&Path) -> Option<String>;

pub(super) fn on_disk(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Segments, e.g. `["crate", "plan", "Step"]`.
type Names = Vec<String>;

#[derive(Debug, Default)]
pub(super) struct Module {
    /// The path in the crate; empty for the root.
    pub(super) path: Names,
    pub(super) file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names that it declares.
    items: BTreeSet<String>,
    /// The paths behind each imported name, which may be imported more than once.
    uses: BTreeMap<String, BTreeSet<Names>>,
    globs: BTreeSet<Names>,
    paths: BTreeSet<Names>,
    /// Single names, which may come from a glob.
    names: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

impl Crate {
    pub(super) fn read(root: &Path, source: Source<'_>) -> Self {
        let mut read = Self::default();
        let folder = root.parent().unwrap_or(root).to_path_buf();
        read.add_file(ModuleLocation { path: Vec::new(), parent: None, folder }, root, source);
        read
    }

    /// Adds the module in a file; `None` if there is no such file, or if it is for tests only.
    fn add_file(&mut self, location: ModuleLocation, file: &Path, source: Source<'_>) -> Option<usize> {
        let text = source(file)?;
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (!is_for_tests(&parsed.attrs)).then(|| self.add(location, file, &parsed.items, source))
    }

    fn add(&mut self, location: ModuleLocation, file: &Path, items: &[Item], source: Source<'_>) -> usize {
        let index = self.modules.len();
        let ModuleLocation { path, parent, folder } = location;
        let mut reader =
            Reader { nested: Vec::new(), module: Module { path, file: file.to_path_buf(), parent, ..Module::default() } };
        items.iter().for_each(|item| reader.visit_item(item));
        let Reader { module, nested } = reader;
        let path = module.path.clone();
        self.modules.push(module);
        for nested in nested {
            let name = name_of(&nested.ident);
            let location = |folder| ModuleLocation {
                path: path.iter().cloned().chain([name.clone()]).collect(),
                parent: Some(index),
                folder,
            };
            let child = match (&nested.content, path_attribute(&nested.attrs)) {
                (Some((_, items)), _) => Some(self.add(location(folder.join(&name)), file, items, source)),
                (None, Some(named)) => {
                    let file = file.with_file_name(named);
                    self.add_file(location(file.parent().unwrap_or(&folder).to_path_buf()), &file, source)
                }
                (None, None) => {
                    let inside = folder.join(&name);
                    let beside = self.add_file(location(inside.clone()), &folder.join(format!("{name}.rs")), source);
                    beside.or_else(|| self.add_file(location(inside.clone()), &inside.join("mod.rs"), source))
                }
            };
            if let Some(child) = child {
                self.modules[index].children.insert(name.clone(), child);
            }
        }
        index
    }

    /// Returns the indices of the modules that a module imports from, each with one of its paths.
    pub(super) fn imports_of(&self, from: usize) -> BTreeMap<usize, String> {
        let module = &self.modules[from];
        let mut imports = BTreeMap::new();
        let mut add = |path: &[String], unknown: Unknown| {
            let mut found = BTreeSet::new();
            self.resolve(from, path, unknown, &mut BTreeSet::new(), &mut found);
            for target in found.into_iter().filter(|target| *target != from) {
                imports.entry(target).or_insert_with(|| path.join("::"));
            }
        };
        module.paths.iter().for_each(|path| add(path, Unknown::OfAnotherCrate));
        for (glob, name) in module.globs.iter().flat_map(|glob| module.names.iter().map(move |name| (glob, name))) {
            add(&joined(glob, std::slice::from_ref(name)), Unknown::Absent);
        }
        imports
    }

    /// Returns the paths of a module's code into the crate with this name.
    pub(super) fn paths_into<'a>(module: &'a Module, name: &'a str) -> impl Iterator<Item = &'a [String]> {
        let stands_for_another = |path: &Names| path.len() > 1 || path.first().is_none_or(|first| first != name);
        let is_imported = module.uses.get(name).into_iter().flatten().any(stands_for_another);
        let is_own = is_imported || module.children.contains_key(name) || module.items.contains(name);
        let paths = module.paths.iter().filter(move |path| !is_own && path.first().is_some_and(|first| first == name));
        paths.filter_map(|path| path.get(1..))
    }

    pub(super) fn declaring(&self, path: &[String]) -> &Module {
        let mut found = BTreeSet::new();
        let path = joined(&["crate".to_owned()], path);
        self.resolve(0, &path, Unknown::OfAnotherCrate, &mut BTreeSet::new(), &mut found);
        &self.modules[found.into_iter().next_back().unwrap_or(0)]
    }

    /// Resolves a path in the module at `at`, and collects the modules that it imports from.
    /// Returns whether it names an item of this crate.
    fn resolve(
        &self,
        at: usize,
        path: &[String],
        unknown: Unknown,
        seen: &mut BTreeSet<(usize, Names)>,
        found: &mut BTreeSet<usize>,
    ) -> bool {
        // Imports that name each other would make an endless path.
        if path.len() > LONGEST_PATH || !seen.insert((at, path.to_vec())) {
            return false;
        }
        let module = &self.modules[at];
        let Some((name, rest)) = path.split_first() else {
            // Every path contains the root: only declarations of the root are imports from it.
            if at != 0 {
                found.insert(at);
            }
            return true;
        };
        // In a module of this crate, an unknown name is declared by a macro.
        let inside = if unknown == Unknown::Absent { Unknown::Absent } else { Unknown::OfThisModule };
        match name.as_str() {
            "crate" => return self.resolve(0, rest, inside, seen, found),
            "self" => return self.resolve(at, rest, inside, seen, found),
            "super" => return module.parent.is_some_and(|parent| self.resolve(parent, rest, inside, seen, found)),
            _ => {}
        }
        if rest.is_empty() && module.items.contains(name) {
            found.insert(at);
            return true;
        }
        if let Some(child) = module.children.get(name) {
            return self.resolve(*child, rest, inside, seen, found);
        }
        if module.items.contains(name) {
            found.insert(at);
            return true;
        }
        // `use anyhow::anyhow` imports from the crate, not from an import of the crate.
        let imports = module.uses.get(name).into_iter().flatten().filter(|path| path.first() != Some(name));
        let imported = imports.map(|path| joined(path, rest));
        let by_glob = module.globs.iter().map(|glob| (joined(glob, path), Unknown::Absent));
        let mut is_own = false;
        for (path, unknown) in imported.map(|path| (path, Unknown::OfAnotherCrate)).chain(by_glob) {
            is_own |= self.resolve(at, &path, unknown, seen, found);
        }
        is_own |= unknown == Unknown::OfThisModule && !module.uses.contains_key(name);
        // The root does not own what it only re-exports.
        if is_own && at != 0 {
            found.insert(at);
        }
        is_own
    }
}

/// Longer than any real path.
const LONGEST_PATH: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// An item of another crate.
    OfAnotherCrate,
    /// An item that a macro declares in the module.
    OfThisModule,
    /// Nothing: it is searched for behind a glob, and may be elsewhere.
    Absent,
}

/// The position of a module in its crate, and the folder of its child modules.
struct ModuleLocation {
    path: Names,
    parent: Option<usize>,
    folder: PathBuf,
}

fn joined(first: &[String], second: &[String]) -> Names {
    first.iter().chain(second).cloned().collect()
}

fn name_of(ident: &proc_macro2::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    fn is_test(meta: &Meta) -> bool {
        let nested = |list: &syn::MetaList| {
            let parser = syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated;
            list.parse_args_with(parser).into_iter().flatten().collect::<Vec<_>>()
        };
        match meta {
            Meta::Path(path) => path.is_ident("test"),
            Meta::List(list) if list.path.is_ident("all") => nested(list).iter().any(is_test),
            Meta::List(list) if list.path.is_ident("any") => nested(list).iter().all(is_test),
            Meta::List(_) | Meta::NameValue(_) => false,
        }
    }
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|attribute| attribute.parse_args::<Meta>().ok()).any(|meta| is_test(&meta))
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(file), .. }) => Some(file.value()),
            _ => None,
        },
        _ => None,
    })
}

/// Reads the code of one module, and collects its inner modules.
struct Reader {
    module: Module,
    nested: Vec<ItemMod>,
}

impl Reader {
    fn refer(&mut self, mut path: Names) {
        match path.len() {
            0 => {}
            1 => self.module.names.extend(path.pop()),
            _ => {
                self.module.paths.insert(path);
            }
        }
    }

    fn import(&mut self, path: &[String], name: Option<String>) {
        self.refer(path.to_vec());
        if let Some(name) = name {
            self.module.uses.entry(name).or_default().insert(path.to_vec());
        }
    }

    fn import_tree(&mut self, tree: &UseTree, prefix: &mut Names) {
        let full = |prefix: &Names, ident: &proc_macro2::Ident| match name_of(ident) {
            name if name == "self" => prefix.clone(),
            name => joined(prefix, &[name]),
        };
        match tree {
            UseTree::Path(path) => {
                prefix.push(name_of(&path.ident));
                self.import_tree(&path.tree, prefix);
                prefix.pop();
            }
            UseTree::Name(name) => {
                let path = full(prefix, &name.ident);
                self.import(&path, path.last().cloned());
            }
            UseTree::Rename(rename) => {
                let name = name_of(&rename.rename);
                self.import(&full(prefix, &rename.ident), (name != "_").then_some(name));
            }
            UseTree::Glob(_) => {
                self.refer(prefix.clone());
                self.module.globs.insert(prefix.clone());
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import_tree(tree, prefix)),
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Names::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.refer(std::mem::take(&mut path));
                    }
                    path.push(name_of(&ident));
                    colons = 0;
                }
                other => {
                    self.refer(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.refer(path);
    }

    /// Finds paths in strings, as in serde's `with = "crate::quantity"`.
    fn texts(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.texts(group.stream()),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    if let Ok(path) = syn::parse_str::<syn::Path>(text.trim_matches('"')) {
                        self.visit_path(&path);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = described(item);
        if is_for_tests(attributes) {
            return;
        }
        self.module.items.extend(name.map(name_of));
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.nested.push(module.clone());
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        if import.leading_colon.is_none() {
            self.import_tree(&import.tree, &mut Names::new());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.refer(path.segments.iter().map(|segment| name_of(&segment.ident)).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        visit::visit_macro(self, called);
        // The argument of `quote!` is code of the crate that uses the procedural macro.
        if called.path.segments.last().is_none_or(|last| last.ident != "quote") {
            self.tokens(called.tokens.clone());
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
            self.texts(list.tokens.clone());
        }
    }
}

/// Returns an item's attributes and declared name; `None` for modules, which are in `children`.
fn described(item: &Item) -> (&[Attribute], Option<&proc_macro2::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

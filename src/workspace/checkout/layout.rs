//! The stacks that a checkout uses, and the packages of its workspaces, as the manifests at its root name them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::model::RepoPath;
use crate::store::data_tree::toml_values;
use crate::store::settings::colony_toml::SettingsProblem;
use crate::store::yaml;

use super::member_patterns::MemberSearch;
use super::root_files::RootFiles;

/// The stacks and settings at the root of a checkout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the answer")]
pub struct Capabilities {
    /// `.colony/manifest.json`, `.colony/colony.toml` or `Vox.toml`.
    pub colony_project: bool,
    /// A `Cargo.toml` with a table `workspace`.
    pub cargo_workspace: bool,
    /// A `Cargo.toml` with a table `package`.
    pub cargo_package: bool,
    /// `package.json` or `pnpm-workspace.yaml`.
    pub node_workspace: bool,
    /// `pyproject.toml` or `setup.py`.
    pub python_project: bool,
    /// `go.mod`.
    pub go_module: bool,
    /// A repository of git.
    pub git: bool,
}

/// The stack of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    /// Rust, by `Cargo.toml`.
    Cargo,
    /// JavaScript, by `package.json`.
    Node,
}

/// A package of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Member {
    /// Its directory below the root; `.` is the root.
    pub path: RepoPath,
    /// Its stack.
    pub kind: MemberKind,
}

impl Member {
    /// Returns its directory; `None` for the root.
    pub(super) fn directory(&self) -> Option<RepoPath> {
        (self.path.as_bytes() != b".").then(|| self.path.clone())
    }
}

/// The layout of a checkout.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The stacks and settings at its root.
    pub capabilities: Capabilities,
    /// The packages of its workspaces, by stack, each sorted by path.
    pub members: Vec<Member>,
    /// The manifests that cannot be used.
    pub warnings: Vec<SettingsProblem>,
}

/// Reads the layout of a checkout; `git` is whether git knows it.
pub fn read(files: RootFiles<'_>, git: bool) -> Layout {
    let mut layout = Layout::default();
    let cargo = files.parsed("Cargo.toml", toml_values::parse, &mut layout.warnings);
    let table = |name: &str| cargo.as_ref()?.get(name).filter(|value| value.is_object());
    let has = |names: &[&str]| names.iter().any(|name| files.has_file(name));
    layout.capabilities = Capabilities {
        colony_project: has(&[".colony/manifest.json", ".colony/colony.toml", "Vox.toml"]),
        cargo_workspace: table("workspace").is_some(),
        cargo_package: table("package").is_some(),
        node_workspace: has(&["package.json", "pnpm-workspace.yaml"]),
        python_project: has(&["pyproject.toml", "setup.py"]),
        go_module: has(&["go.mod"]),
        git,
    };
    if let Some(workspace) = table("workspace") {
        layout.add_cargo(files, workspace);
    }
    layout.add_node(files);
    layout
}

impl Layout {
    /// Returns the members of a stack.
    pub(super) fn members_of(&self, kind: MemberKind) -> impl Iterator<Item = &Member> {
        let is_of = move |member: &&Member| member.kind == kind;
        self.members.iter().filter(is_of)
    }

    /// Adds the members of a Cargo workspace. As for cargo, a member that is named in full is one even if a
    /// directory around it is excluded.
    fn add_cargo(&mut self, files: RootFiles<'_>, workspace: &Value) {
        let (mut globs, mut named) = (texts(workspace.get("members")), Vec::new());
        globs.retain(|pattern| {
            let is_glob = pattern.contains(['*', '?', '[']);
            if !is_glob {
                named.push(pattern.clone());
            }
            is_glob
        });
        let mut search = MemberSearch::new(files, "Cargo.toml");
        let mut paths = search.find(&globs, &texts(workspace.get("exclude")));
        paths.extend(search.find(&named, &[]));
        self.add(&search, paths, MemberKind::Cargo);
    }

    /// Adds the packages that `package.json` and pnpm name; `!` excludes.
    fn add_node(&mut self, files: RootFiles<'_>) {
        let json = |text: &str| {
            serde_json::from_str::<Value>(text).map_err(|error| format!("it is not JSON: {error}"))
        };
        let yaml = |text: &str| {
            yaml::find_value(text)
                .ok_or_else(|| "it is not a YAML document of plain data".to_owned())
        };
        let package = files.parsed("package.json", json, &mut self.warnings);
        let pnpm = files.parsed("pnpm-workspace.yaml", yaml, &mut self.warnings);
        let workspaces = package.as_ref().and_then(|package| package.get("workspaces"));
        let packages = |of: &Value| of.get("packages").cloned();
        let mut patterns = texts(workspaces);
        patterns.extend(texts(workspaces.and_then(packages).as_ref()));
        patterns.extend(texts(pnpm.as_ref().and_then(packages).as_ref()));
        let (excluded, included): (Vec<String>, Vec<String>) =
            patterns.into_iter().partition(|pattern| pattern.starts_with('!'));
        let excluded: Vec<String> =
            excluded.iter().map(|pattern| pattern.trim_start_matches('!').to_owned()).collect();
        let mut search = MemberSearch::new(files, "package.json");
        let paths = search.find(&included, &excluded);
        self.add(&search, paths, MemberKind::Node);
    }

    fn add(&mut self, search: &MemberSearch<'_>, mut paths: Vec<RepoPath>, kind: MemberKind) {
        paths.sort();
        paths.dedup();
        let members = paths.into_iter().map(|path| {
            let is_root = path.as_bytes().is_empty();
            let path = if is_root { RepoPath::from(".") } else { path };
            Member { path, kind }
        });
        self.members.extend(members);
        if search.is_cut() {
            let message = "its members are in too many directories; some are left out";
            let path = search.manifest_of_root();
            self.warnings.push(SettingsProblem::at(&path, None, message));
        }
    }
}

/// Returns the texts of a list; other values are left out.
fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    let texts = items.filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

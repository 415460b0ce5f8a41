//! Where PJRT plugins are looked for.

use std::env;
use std::path::{Path, PathBuf};

/// The variable that names plugins: a path, or `name=path` pairs separated by commas.
pub(crate) const PLUGIN_VARIABLE: &str = "ARRAYBRIDGE_XLA_PLUGIN";

/// What a plugin is for, which decides its options and how its devices are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Platform {
    Cpu,
    Gpu,
    Other,
}

/// A plugin's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Plugin {
    fn new(name: Option<&str>, path: PathBuf) -> Plugin {
        let file = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let guessed = file.as_deref().map_or("xla", |file| {
            ["cpu", "cuda", "rocm", "gpu", "tpu"]
                .into_iter()
                .find(|known| file.contains(known))
                .unwrap_or("xla")
        });
        Plugin { name: name.unwrap_or(guessed).to_owned(), path }
    }

    pub(crate) fn platform(&self) -> Platform {
        match self.name.as_str() {
            "cpu" => Platform::Cpu,
            "cuda" | "rocm" | "gpu" => Platform::Gpu,
            _ => Platform::Other,
        }
    }
}

/// Returns the plugins of this machine: those that the variable names, else those in the cache
/// folder of `cargo xtask setup xla` and in the active Python environment.
pub(crate) fn discover() -> Vec<Plugin> {
    if let Some(stated) = env::var_os(PLUGIN_VARIABLE) {
        return parse(&stated.to_string_lossy());
    }
    let mut plugins = cache_folder().map_or_else(Vec::new, |folder| shared_objects(&folder));
    for environment in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(root) = env::var_os(environment) {
            plugins.extend(python_plugins(Path::new(&root)));
        }
    }
    plugins
}

/// Reads the variable's value. A path may hold `=`, a plugin's name holds no separator of paths.
fn parse(stated: &str) -> Vec<Plugin> {
    let parts = stated.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.split_once('=') {
            Some((name, path)) if !name.contains(std::path::is_separator) => {
                Plugin::new(Some(name.trim()), PathBuf::from(path.trim()))
            }
            _ => Plugin::new(None, PathBuf::from(part)),
        })
        .collect()
}

/// Returns the folder that `cargo xtask setup xla` fills.
fn cache_folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = variable("ARRAYBRIDGE_CACHE") {
        return Some(own.join("xla"));
    }
    let caches = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA"));
    let caches = caches.or_else(|| {
        let below = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        variable("HOME").map(|home| home.join(below))
    });
    caches.map(|caches| caches.join("arraybridge/xla"))
}

/// Returns plugins installed as packages `jax_plugins/*` of a Python environment.
fn python_plugins(root: &Path) -> Vec<Plugin> {
    entries(&root.join("lib"))
        .into_iter()
        .filter(|entry| {
            entry.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python"))
        })
        .flat_map(|python| shared_objects(&python.join("site-packages/jax_plugins")))
        .collect()
}

/// Returns the plugins in the folders of a folder.
fn shared_objects(folder: &Path) -> Vec<Plugin> {
    entries(folder)
        .into_iter()
        .flat_map(|package| entries(&package))
        .filter(|file| {
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            name.ends_with(".so") && (name.contains("pjrt") || name.contains("_plugin"))
        })
        .map(|file| Plugin::new(None, file))
        .collect()
}

/// Returns a folder's entries in order; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_one_plugin_or_several() {
        let one = parse("/opt/pjrt_c_api_cpu_plugin.so");
        assert_eq!(
            one,
            [Plugin { name: "cpu".into(), path: "/opt/pjrt_c_api_cpu_plugin.so".into() }]
        );
        let two = parse("cpu=/a.so, cuda = /b.so,");
        assert_eq!(two[0].platform(), Platform::Cpu);
        assert_eq!((two[1].platform(), two[1].path.as_path()), (Platform::Gpu, Path::new("/b.so")));
        let unnamed = parse("/opt/v=1/cpu.so");
        assert_eq!(unnamed, [Plugin { name: "cpu".into(), path: "/opt/v=1/cpu.so".into() }]);
        assert!(parse("").is_empty());
    }

    #[test]
    fn plugins_of_a_python_environment_are_those_in_jax_plugins() {
        let root = env::temp_dir().join(format!("arraybridge-xla-venv-{}", std::process::id()));
        let packages = root.join("lib/python3.12/site-packages");
        let make = |file: &str| {
            let file = packages.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            file
        };
        let cuda = make("jax_plugins/xla_cuda13/xla_cuda_plugin.so");
        let other = make("jax_plugins/vendor/pjrt_c_api_vendor.so");
        make("jax_plugins/xla_cuda13/__init__.py");
        make("jax_plugins/xla_cuda13/libhelper.so");
        make("jax_plugins/pjrt_beside.so");
        make("elsewhere/pjrt_c_api_cpu_plugin.so");
        let found = python_plugins(&root);
        let none = python_plugins(&root.join("missing"));
        std::fs::remove_dir_all(&root).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|plugin| (plugin.path.clone(), plugin.name.as_str(), plugin.platform()))
            .collect();
        assert_eq!(found, [(other, "xla", Platform::Other), (cuda, "cuda", Platform::Gpu)]);
        assert!(none.is_empty());
    }
}

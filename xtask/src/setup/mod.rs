//! `cargo xtask setup`: brings in what Cargo does not. One file per thing to set up.

mod cache;
mod environment;
pub(crate) mod opencl;
pub(crate) mod peers;
pub(crate) mod python;
pub(crate) mod tch;
mod wheel;
pub(crate) mod xla;

use std::path::PathBuf;

use anyhow::{Result, bail};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to set up; everything if nothing is named
    names: Vec<String>,
    /// Only list what there is and whether it is there
    #[arg(long)]
    list: bool,
    /// Also PyTorch, for `python` and for `peers`: gigabytes on Linux
    #[arg(long)]
    with_torch: bool,
    /// Which libtorch `tch` is
    #[arg(long, value_name = "VERSION", default_value = "2.13", value_parser = ["2.13", "2.11"])]
    torch: String,
}

/// One thing to set up. A new one is a file with a `SETUP`, and a line in [`SETUPS`].
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    /// What it is and what it is for.
    pub(crate) what: &'static str,
    /// What is downloaded, in words for people.
    pub(crate) download: &'static str,
    /// Whether `demo` and `test` bring it: small, and without root (or where they run as root).
    pub(crate) small: bool,
    /// Whether the system's package manager brings it, and not into the cache folder.
    pub(crate) is_of_the_system: bool,
    /// Whether it is brought only where it is named in full.
    pub(crate) only_by_name: bool,
    /// Returns where it is, if it is there already.
    pub(crate) found: fn(Options) -> Option<PathBuf>,
    /// Brings it in; started again after a failure or an interruption, it goes on.
    pub(crate) install: fn(Options) -> Result<()>,
}

/// What the user chose.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) with_torch: bool,
}

impl Setup {
    /// Returns whether a name means this: its own, or that before a version (`xla` is all of `xla`
    /// and `xla-0.106`).
    fn is_named(&self, name: &str) -> bool {
        let versioned = self.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        self.name == name || (versioned && !self.only_by_name)
    }
}

const SETUPS: &[&Setup] = &[
    &opencl::SETUP,
    &peers::SETUP,
    &python::SETUP,
    &python::OLDER_SETUP,
    &tch::SETUP,
    &tch::OLDER_SETUP,
    &xla::SETUP,
    &xla::OLDER_SETUP,
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = Options { with_torch: arguments.with_torch };
    let older_torch = arguments.torch != "2.13";
    let named = |name: &String| match name.as_str() {
        "tch" if older_torch => tch::OLDER_SETUP.name.to_owned(),
        _ => name.clone(),
    };
    let wanted: Vec<String> = arguments.names.iter().map(named).collect();
    for name in &wanted {
        if !SETUPS.iter().any(|setup| setup.name == name) {
            let names: Vec<&str> = SETUPS.iter().map(|setup| setup.name).collect();
            bail!("there is no set-up named `{name}`; there is: {}", names.join(", "));
        }
    }
    let everything = wanted.is_empty();
    let chosen = SETUPS.iter().filter(|setup| match everything {
        true => arguments.list || !setup.only_by_name,
        false => wanted.iter().any(|name| setup.is_named(name)),
    });
    for setup in chosen {
        println!("{}: {}", setup.name, setup.what);
        if let Some(place) = (setup.found)(options) {
            println!("  is there, in {}", place.display());
            continue;
        }
        let (name, download) = (setup.name, setup.download);
        if arguments.list {
            println!("  is not there; `cargo xtask setup {name}` downloads {download}");
            continue;
        }
        match setup.is_of_the_system {
            true => println!("  downloads {download}"),
            false => println!("  downloads {download} into {}", cache::folder(name)?.display()),
        }
        (setup.install)(options)?;
        println!("  done");
    }
    Ok(())
}

/// Brings what is small and needs no root; what fails is said and left out.
pub(crate) fn bring_small() -> Result<()> {
    for setup in SETUPS.iter().filter(|setup| setup.small) {
        if (setup.found)(Options::default()).is_some() {
            continue;
        }
        eprintln!("setting up {}: downloads {}", setup.name, setup.download);
        if let Err(error) = (setup.install)(Options::default()) {
            eprintln!("going on without {}: {error:#}", setup.name);
        }
    }
    Ok(())
}

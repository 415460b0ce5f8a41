//! Wheels: archives of Python packages, here for the shared libraries in them. No Python runs them.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::task::Task;

/// A wheel that is exactly known.
pub(super) struct Wheel {
    /// Its file name, which by the wheel format gives the package, its version and its platform.
    pub(super) file: &'static str,
    /// The hash of the file.
    pub(super) sha256: &'static str,
}

/// The parts of a wheel's file name.
struct Name<'a> {
    distribution: String,
    version: &'a str,
    python: &'a str,
    abi: &'a str,
    platforms: Vec<&'a str>,
}

impl Wheel {
    /// Fetches the wheel into a folder, with what the machine has, and checks its hash.
    ///
    /// pip comes first, since it knows the index that the machine's owner has configured.
    ///
    /// # Errors
    /// If the machine has neither pip nor curl, or a download fails, or the file is another.
    pub(super) fn fetch(&self, folder: &Path) -> Result<PathBuf> {
        let file = folder.join(self.file);
        let pip = ["python3", "python"].into_iter().find(|python| has_pip(python));
        if let Some(python) = pip {
            self.fetch_by_pip(python, folder)?;
        } else if Task::new("curl").args(["--version"]).succeeds() {
            self.fetch_by_curl(&file)?;
        } else {
            bail!(
                "nothing here can download {}: it takes python3 with pip, or curl \
                 (Debian: sudo apt-get install curl)",
                self.file
            );
        }
        self.check(&file)?;
        Ok(file)
    }

    fn fetch_by_pip(&self, python: &str, folder: &Path) -> Result<()> {
        let name = self.name()?;
        let (implementation, version) = name.python.split_at(2);
        let mut pip = Task::new(python)
            .args("-m pip download --disable-pip-version-check --no-deps".split_whitespace())
            .args(["--only-binary=:all:", "--implementation", implementation])
            .args(["--python-version", version, "--abi", name.abi])
            // A tag such as py3 says too little, and no Python runs it.
            .args(["--ignore-requires-python"]);
        for platform in &name.platforms {
            pip = pip.args(["--platform", platform]);
        }
        let requirement = format!("{}=={}", name.distribution, name.version);
        let pip = pip.args(["--dest".as_ref(), folder.as_os_str(), requirement.as_ref()]);
        let status = pip.run_attached()?;
        if !status.success() {
            bail!("pip could not download {requirement} ({status})");
        }
        Ok(())
    }

    /// Finds the file in the index, by the index's JSON form (PEP 691), and downloads it.
    fn fetch_by_curl(&self, file: &Path) -> Result<()> {
        let index = std::env::var("PIP_INDEX_URL").ok().filter(|index| !index.is_empty());
        let index = index.unwrap_or_else(|| "https://pypi.org/simple".to_owned());
        let page = format!("{}/{}/", index.trim_end_matches('/'), self.name()?.distribution);
        let listing = Task::new("curl")
            .args(["--fail", "--silent", "--show-error", "--location", "--header"])
            .args(["Accept: application/vnd.pypi.simple.v1+json", &page])
            .output()?;
        let listing: serde_json::Value = serde_json::from_str(&listing)
            .with_context(|| format!("{page} is not in the form that PEP 691 describes"))?;
        let files = listing["files"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = files.iter().find(|entry| entry["filename"] == self.file);
        let Some(address) = found.and_then(|entry| entry["url"].as_str()) else {
            bail!("{page} does not list {}", self.file);
        };
        let curl = Task::new("curl")
            .args(["--fail", "--location", "--progress-bar", "--output"])
            .args([file.as_os_str(), address.as_ref()]);
        let status = curl.run_attached()?;
        if !status.success() {
            bail!("curl could not download {address} ({status})");
        }
        Ok(())
    }

    fn check(&self, file: &Path) -> Result<()> {
        let opened = File::open(file);
        let mut opened = opened.with_context(|| format!("{} did not arrive", self.file))?;
        let mut hasher = Sha256::new();
        let mut part = vec![0; 1 << 20];
        loop {
            let count = opened.read(&mut part).context("reading a download")?;
            if count == 0 {
                break;
            }
            hasher.update(&part[..count]);
        }
        let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found != self.sha256 {
            bail!("{} is not the file that is known: its SHA-256 is {found}", self.file);
        }
        Ok(())
    }

    fn name(&self) -> Result<Name<'static>> {
        let parts: Vec<&str> = self.file.trim_end_matches(".whl").split('-').collect();
        let [distribution, version, python, abi, platforms] = parts[..] else {
            bail!("{} is not the name of a wheel", self.file);
        };
        let distribution = distribution.replace('_', "-");
        Ok(Name { distribution, version, python, abi, platforms: platforms.split('.').collect() })
    }
}

/// Unpacks those files of a wheel for which `place` names one, and shows how far it is.
///
/// # Errors
/// If the archive is damaged or a file cannot be written.
pub(super) fn unpack(wheel: &Path, place: impl Fn(&str) -> Option<PathBuf>) -> Result<()> {
    let opened = File::open(wheel).with_context(|| format!("opening {}", wheel.display()))?;
    let mut archive = ZipArchive::new(BufReader::new(opened)).context("reading the wheel")?;
    let mut chosen = Vec::new();
    let mut total = 0;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).context("reading the wheel")?;
        if !entry.is_file() {
            continue;
        }
        let name = entry.name().context("reading the name of a file in the wheel")?;
        if let Some(place) = place(&name) {
            total += entry.size();
            chosen.push((index, place));
        }
    }
    let progress = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}") {
        progress.set_style(style);
    }
    progress.set_message("unpacking");
    for (index, place) in chosen {
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not make {}", folder.display()))?;
        }
        let mut written =
            File::create(&place).with_context(|| format!("could not write {}", place.display()))?;
        let entry = archive.by_index(index).context("reading the wheel")?;
        std::io::copy(&mut progress.wrap_read(entry), &mut written)
            .with_context(|| format!("unpacking {}", place.display()))?;
    }
    progress.finish_and_clear();
    Ok(())
}

fn has_pip(python: &str) -> bool {
    Task::new(python).args(["-m", "pip", "--version"]).succeeds()
}

//! The example tree that ships inside the binary.

#![expect(
    clippy::disallowed_methods,
    reason = "the example is written into a temporary folder of its own"
)]

use std::{fs, io};

use tempfile::TempDir;

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        /// Every file of `examples/skills-content`, by path; a test compares it with the folder.
        pub(super) const FILES: &[(&str, &[u8])] =
            &[$(($path, include_bytes!(concat!("../../../../examples/skills-content/", $path)))),+];
    };
}

files![
    "config.yaml",
    "README.md",
    "skills/_root.md",
    "skills/api/_index.md",
    "skills/api/_index/assets/api-schema.openapi.yaml",
    "skills/api/_index/scripts/generate-endpoint.sh",
    "skills/api/auth.md",
    "skills/api/database.md",
    "skills/deploy/_index.md",
    "skills/deploy/docker.md",
    "skills/deploy/docker/assets/Dockerfile.template",
    "skills/deploy/docker/assets/docker-compose.example.yaml",
    "skills/deploy/docker/scripts/setup-docker.sh",
    "skills/routing.yaml",
    "skills/ui/_index.md",
    "skills/ui/react/_index.md",
    "skills/ui/react/_index/assets/component-base.tsx.template",
    "skills/ui/react/auth.md",
    "skills/ui/react/auth/assets/AuthProvider.tsx.template",
    "skills/ui/react/auth/assets/auth-config.example.ts",
    "skills/ui/react/auth/assets/auth-flow.svg",
    "skills/ui/react/auth/scripts/scaffold-auth.sh",
    "skills/ui/react/auth/scripts/validate-auth-config.js",
    "skills/ui/react/testing.md",
];

/// Writes the example into a temporary folder, which goes when the value does.
pub(super) fn unpack() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("skills-mcp-demo-").tempdir()?;
    for (path, content) in FILES {
        let file = folder.path().join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, content)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn below(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { below(&path, files) } else { files.push(path) }
        }
    }

    #[test]
    fn the_embedded_example_is_the_example_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills-content");
        let mut found = Vec::new();
        below(&root, &mut found);
        let mut found: Vec<String> = found
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
            .collect();
        found.sort();
        let mut embedded: Vec<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        embedded.sort();
        assert_eq!(embedded, found);
    }
}

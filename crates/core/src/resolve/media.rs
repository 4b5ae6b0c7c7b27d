//! Binary or text, and the MIME type of what is binary: by extension alone (ASSET-2).

/// Extension, MIME type. What is not in the table is text.
const BINARY_TYPES: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("ico", OCTET_STREAM),
    ("webp", OCTET_STREAM),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
];

const OCTET_STREAM: &str = "application/octet-stream";

/// Whether a file of this name is served as base64.
pub fn is_binary(file: &str) -> bool {
    known(file).is_some()
}

/// The MIME type of a binary file.
pub fn mime_type(file: &str) -> &'static str {
    known(file).unwrap_or(OCTET_STREAM)
}

fn known(file: &str) -> Option<&'static str> {
    let (_, extension) = file.rsplit('/').next()?.rsplit_once('.')?;
    BINARY_TYPES
        .iter()
        .find(|(known, _)| extension.eq_ignore_ascii_case(known))
        .map(|(_, mime)| *mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asset_2_extensions_say_what_is_binary() {
        for name in [
            "a.png", "a.jpg", "a.JPEG", "a.gif", "a.svg", "a.ico", "a.webp", "a.pdf", "a.zip",
            "a.woff", "a.woff2",
        ] {
            assert!(is_binary(name), "{name}");
        }
        for name in [
            "a.ts",
            "a.tsx",
            "a.js",
            "a.sh",
            "a.yaml",
            "a.json",
            "a.tsx.template",
            "a.example",
            "a.md",
            "svg",
            "png/a",
            ".svgz",
        ] {
            assert!(!is_binary(name), "{name}");
        }
        assert_eq!(mime_type("x/flow.svg"), "image/svg+xml");
        assert_eq!(mime_type("favicon.ico"), "application/octet-stream");
        assert_eq!(mime_type("unknown.bin"), "application/octet-stream");
    }
}

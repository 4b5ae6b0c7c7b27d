//! [`WebhookSecret`]: knows a git host by a secret that both have. Compared in constant time.

use std::fmt;

use ring::hmac;

use crate::guard::{TokenDigest, digest, is_same};

/// A shorter secret can be guessed.
const MIN_SECRET_CHARS: usize = 16;

/// The secret of a webhook.
pub struct WebhookSecret {
    key: hmac::Key,
    digest: TokenDigest,
}

impl WebhookSecret {
    /// This secret; none where it is too short.
    pub fn new(secret: &str) -> Option<Self> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let digest = digest(secret);
        (secret.chars().count() >= MIN_SECRET_CHARS).then_some(Self { key, digest })
    }

    /// A signature with it, over a body that is still to come.
    pub fn sign(&self) -> BodySignature {
        BodySignature(hmac::Context::with_key(&self.key))
    }

    /// Whether this is the secret itself, as GitLab sends it.
    pub fn is(&self, token: &str) -> bool {
        is_same(&self.digest, &digest(token))
    }
}

/// The signature of a body, made while the body comes: no part of it is kept.
pub struct BodySignature(hmac::Context);

impl BodySignature {
    /// Adds the next part of the body.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// Whether it is this one: `sha256=` and the signature in hexadecimal, as GitHub writes it.
    pub fn is(self, written: &str) -> bool {
        let hex = written.strip_prefix("sha256=").map(str::as_bytes).unwrap_or_default();
        let digit =
            |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let bytes: Option<Vec<u8>> = (hex.chunks(2))
            .map(|pair| match pair {
                [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                _ => None,
            })
            .collect();
        let own = TokenDigest::try_from(self.0.sign().as_ref());
        let written = bytes.map(TokenDigest::try_from);
        matches!((own, written), (Ok(own), Some(Ok(written))) if is_same(&own, &written))
    }
}

impl fmt::Debug for BodySignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodySignature")
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_known_by_its_signature_and_a_host_by_its_token() {
        let secret = WebhookSecret::new("It's a Secret to Everybody").unwrap();
        let signed = |body: &[u8], written: &str| {
            let mut signature = secret.sign();
            body.chunks(5).for_each(|part| signature.add(part));
            signature.is(written)
        };
        // The example in GitHub's documentation.
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(signed(b"Hello, World!", right));
        assert!(!signed(b"Hello, World?", right));
        for wrong in
            ["", "sha256=", "sha1=75", "sha256=7", "sha256=zz", right.trim_end_matches('7')]
        {
            assert!(!signed(b"Hello, World!", wrong), "{wrong}");
        }
        assert!(secret.is("It's a Secret to Everybody") && !secret.is("It's a Secret to Everybod"));
        assert!(WebhookSecret::new("short").is_none());
    }
}
